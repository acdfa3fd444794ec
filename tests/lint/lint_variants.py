"""The list of variants that opens a kernel file is the list that the file registers; no header drifts from the code."""

import pathlib
import re

from source import files, opening_comment, without_comments

ID = r"[a-z0-9-]+/[a-z0-9-]+"
COMPOSED = r"[a-z0-9-]+/"


def listed(text: str) -> list[str]:
    """The ids of an opening comment: lines `///   id   its idea`, or one line `/// Variants: id, id`. Of ids that are
    composed, `/// Variants: group/<part>+<part>`, the beginning."""
    ids = []
    for line in opening_comment(text).splitlines():
        if match := re.match(rf"///\s{{2,}}({ID})(?=\s\s|\s*$)", line):
            ids.append(match.group(1))
        elif match := re.match(r"/// Variants?:(.*)", line):
            ids += re.findall(rf"{ID}|{COMPOSED}(?=<)", match.group(1))
    return ids


def registered(text: str) -> list[str]:
    """The ids of the code: string literals of their form, or of the beginning of ids that are composed."""
    return re.findall(rf'"({ID}|{COMPOSED})"', without_comments(text))


def violations(root: pathlib.Path) -> list[str]:
    problems = []
    owner = {}
    for path in files(root / "src" / "kernels", "*.cu"):
        where, text = path.relative_to(root), path.read_text()
        said, does = listed(text), registered(text)
        if not does:
            problems.append(f"{where}: registers no variant")
        reason = re.search(r"\.cuda_only\s*=", without_comments(text))
        if bool(reason) != (path.parent.name == "cuda_only"):
            problems.append(f"{where}: .cuda_only = \"why\" is said in every descriptor of src/kernels/cuda_only, and there alone")
        for variant in sorted(set(does) - set(said)):
            problems.append(f"{where}: registers {variant}, which its opening list does not name")
        for variant in sorted(set(said) - set(does)):
            problems.append(f"{where}: its opening list names {variant}, which it does not register")
        for variant in sorted({v for v in said if said.count(v) > 1}):
            problems.append(f"{where}: its opening list names {variant} twice")
        for variant in does:
            if owner.setdefault(variant, where) != where:
                problems.append(f"{where}: {variant} is registered in {owner[variant]} too")
    return problems


PLANTED = [
    {"src/kernels/a.cu": '/// a\n///\n///   a/x  one\n\nRegister r({.id = "a/x"}), s({.id = "a/y"});\n'},
    {"src/kernels/a.cu": '///   a/x  one\n///   a/y  two\n\nRegister r({.id = "a/x"});\n'},
    {"src/kernels/a.cu": '///   a/x  one\n///   a/x  again\n\nRegister r({.id = "a/x"});\n'},
    {"src/kernels/a.cu": "///   a/x  one\n\nint x;  // \"a/x\"\n"},
    {"src/kernels/a.cu": '/// Variants: a/x\nr("a/x", .cuda_only = "uses CUB");\n'},
    {"src/kernels/cuda_only/a.cu": '/// Variants: a/x\nr("a/x");  // .cuda_only = "uses CUB"\n'},
    {"src/kernels/a.cu": '/// Variants: a/x\nr("a/x");\n', "src/kernels/b.cu": '/// Variants: a/x\nr("a/x");\n'},
]
PLANTED += [
    {"src/kernels/a.cu": '/// Variants: a/<one>+<other>\nr("b/" + one + other);\n'},
    {"src/kernels/a.cu": '/// Variants: a/<one>+<other>\nr("a/x");\n'},
]
CLEAN = [
    {"src/kernels/a.cu": '/// a: this and/or that\n///\n///   a/x  one, before b/z\n///   a/y\n\nr("a/x"); r("a/y");\n'},
    {"src/kernels/a.cu": '/// Variants: a/<one>+<other>\nr("a/" + one + "+" + other);\n'},
    {"src/kernels/cuda_only/a.cu": '/// Variants: a/x\nr("a/x", .cuda_only = "uses CUB");\n'},
    {"src/kernels/a.cu": '/// Variants: a/x, a/y\n///   build/bin/reductio verify\n#include "device/device.h"\n'
                         'r("a/x"); r("a/y");\n'},
]
