"""Includes and imports form no circle: neither of files, nor of rooms, which are src's folders and those beside src."""

import ast
import pathlib

from lint_includes import INCLUDE, included
from source import CPP, files, without_comments

# Where Python's own scripts and packages lie, from the root.
PACKAGES = ("src", "src/python", "paper", "experiments", "tools", "tests", "tests/lint")


def modules(root: pathlib.Path, importer: pathlib.Path) -> set[pathlib.Path]:
    """The files of ours that a file of Python imports, inside functions, too."""
    reached = set()
    for node in ast.walk(ast.parse(importer.read_text())):
        if isinstance(node, ast.Import):
            names = [(alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "", tuple(alias.name for alias in node.names))]
        else:
            continue
        level = getattr(node, "level", 0)
        folders = [importer.parents[level - 1]] if level else [importer.parent, *(root / p for p in PACKAGES)]
        for module, members in names:
            for folder in folders:
                path = folder.joinpath(*filter(None, module.split(".")))
                hits = {p for p in [path.with_suffix(".py"), *(path / f"{name}.py" for name in members)] if p.is_file()}
                if hits:
                    reached |= hits
                    break
    return reached - {importer}


def headers(root: pathlib.Path, includer: pathlib.Path) -> set[pathlib.Path]:
    """The files of ours that a file of C++ includes; <cooperative_groups.h> is CUDA's."""
    quoted = [own for own, _ in INCLUDE.findall(without_comments(includer.read_text())) if own]
    paths = {root / included(root, includer, header)[1] for header in quoted}
    return {path for path in paths if path.is_file()}


def room(path: str) -> str:
    return "/".join(path.split("/")[:2 if path.startswith("src/") else 1])


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """One circle, its first member again at the end; empty if there is none."""
    done, way = set(), []

    def walk(at: str) -> list[str]:
        if at in way:
            return [*way[way.index(at):], at]
        if at in done:
            return []
        way.append(at)
        for target in sorted(arrows.get(at, ())):
            if loop := walk(target):
                return loop
        way.pop()
        done.add(at)
        return []

    return next(filter(None, map(walk, sorted(arrows))), [])


def violations(root: pathlib.Path) -> list[str]:
    arrows = {}
    for patterns, reached in ((CPP, headers), (("*.py",), modules)):
        for path in files(root, *patterns):
            arrows[path.relative_to(root).as_posix()] = {p.relative_to(root).as_posix() for p in reached(root, path)}
    rooms = {}
    for path, targets in arrows.items():
        rooms.setdefault(room(path), set()).update({room(t) for t in targets} - {room(path)})
    return [f"{what} in a circle: {' -> '.join(loop)}; move what both need below them"
            for what, loop in (("files", circle(arrows)), ("rooms", circle(rooms))) if loop]


PLANTED = [
    {"src/core/a.h": '#include "b.h"\n', "src/core/b.h": '#include "core/a.h"\n'},
    {"src/core/a.h": '#include "device/b.h"\n', "src/device/b.h": "", "src/device/c.h": '#include "core/d.h"\n', "src/core/d.h": ""},
    {"paper/a.py": "import b\n", "paper/b.py": "def f():\n    import a\n"},
    {"src/report/a.py": "from . import b\n", "src/report/b.py": "from .a import x\n"},
    {"src/report/__init__.py": "", "src/report/a.py": "import goals\n", "paper/goals.py": "from report import a\n"},
]
CLEAN = [
    {"src/core/a.h": '#include "b.h"\n// #include "core/c.h"\n', "src/core/b.h": "", "src/core/c.h": '#include "a.h"\n'},
    {"src/report/a.py": "from . import b\nimport json\n", "src/report/b.py": "", "paper/c.py": "from report import a\n"},
]
