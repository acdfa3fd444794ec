"""No line of C++ or of a page is longer than clang-format's limit. A page's tables and addresses may be."""

import pathlib

from source import CPP, files

LONGEST = 120


def violations(root: pathlib.Path) -> list[str]:
    return [f"{path.relative_to(root)}:{number}: {len(line)} columns, at most {LONGEST}: "
            + ("break it" if path.suffix == ".md" else "clang-format --lines breaks it")
            for path in files(root, *CPP, "*.md") for number, line in enumerate(path.read_text().splitlines(), 1)
            if len(line) > LONGEST and "://" not in line and not (path.suffix == ".md" and line.startswith("|"))]


PLANTED = [{"src/core/a.h": "/// " + "a" * 117 + "\n"}, {"tests/core/a_test.cpp": "int a;\n" + "b" * 121},
           {"docs/a.md": "a " * 61}]
CLEAN = [{"src/core/a.h": "a" * 120 + "\n"}, {"src/kernels/a.cu": "/// https://" + "a" * 120 + "\n"},
         {"docs/a.md": "| " + "a " * 61}]
