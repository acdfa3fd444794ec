"""No line of C++ is longer than clang-format's limit."""

import pathlib

from source import CPP, files

LONGEST = 120


def violations(root: pathlib.Path) -> list[str]:
    return [f"{path.relative_to(root)}:{number}: {len(line)} columns, at most {LONGEST}: clang-format --lines breaks it"
            for path in files(root, *CPP) for number, line in enumerate(path.read_text().splitlines(), 1)
            if len(line) > LONGEST and "://" not in line]


PLANTED = [{"src/core/a.h": "/// " + "a" * 117 + "\n"}, {"tests/core/a_test.cpp": "int a;\n" + "b" * 121}]
CLEAN = [{"src/core/a.h": "a" * 120 + "\n"}, {"src/kernels/a.cu": "/// https://" + "a" * 120 + "\n"}]
