"""Who may include whom. The direction of dependencies is fixed; CONTRIBUTING.md explains it."""

import pathlib
import re

from source import CPP, files, line_of, without_comments

# A part of the house, and the parts whose headers it may include.
MAY_INCLUDE = {
    "core": {"core"},
    "device": {"core", "device"},
    "kernels": {"core", "device"},
    "strategies": {"core", "device", "strategies"},
    "tuned": {"tuned"},
    "measure": {"core", "device", "measure"},
    "verify": {"core", "device", "verify"},
    "baselines": {"core", "device", "baselines"},
    "experiments": {"core", "device", "measure", "verify", "experiments"},
    "tests": {"core", "device", "strategies", "tuned", "measure", "verify", "experiments", "tests"},
}

# Third-party headers by their beginning, and the only parts that may include them.
ONLY_IN = {
    r"(thrust|cub|nvbench)/|cublas": {"baselines"},
    r"boost/math/": {"measure"},
    r"boost/context/": {"device"},
    r"CLI/": {"experiments", "tests"},
    r"nlohmann/": {"measure", "experiments", "tests"},
    r"fmt/": {"measure", "verify", "baselines", "experiments", "tests"},
    r"Eigen/": {"core", "measure", "verify", "baselines", "experiments", "tests"},
    r"(cuda|cooperative_groups)\w*(\.h|/)": {"device", "measure", "baselines"},
    r"(gtest|gmock)/": {"tests"},
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def part_of(path: pathlib.PurePath) -> str:
    """src/core/types.h -> core; baselines/host.cpp -> baselines."""
    parts = path.parts
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else ""
    return parts[0]


def included_part(root: pathlib.Path, includer: pathlib.Path, header: str) -> tuple[str, str]:
    """The part of the house that a quoted include reaches ("" if none), and the file's path from the root."""
    for folder in (includer.parent, root / "src", root):
        path = (folder / header).resolve()
        if path.is_file() and path.is_relative_to(root.resolve()):
            relative = path.relative_to(root.resolve())
            return part_of(relative), relative.as_posix()
    first = pathlib.PurePosixPath(header).parts[0]
    return (first if first in MAY_INCLUDE else ""), header


def violations(root: pathlib.Path) -> list[str]:
    found = []
    for path in files(root, *CPP):
        relative = path.relative_to(root)
        part = part_of(relative)
        if part not in MAY_INCLUDE:
            continue
        text = without_comments(path.read_text())
        for match in INCLUDE.finditer(text):
            where = f"{relative}:{line_of(text, match.start())}"
            header = match.group(1) or match.group(2)
            target, target_path = included_part(root, path, header)
            if match.group(2) and target_path == header:
                target = ""  # <cuda/atomic> is no folder of ours
            if target and target not in MAY_INCLUDE[part]:
                found.append(f"{where}: {part} may not include {header} (only: {', '.join(sorted(MAY_INCLUDE[part]))})")
            elif target_path.endswith((".cu", ".cpp")):
                found.append(f"{where}: includes the source file {header}; variants are reached through the registry")
            for beginning, parts in ONLY_IN.items():
                if not target and re.match(beginning, header) and part not in parts:
                    found.append(f"{where}: {part} may not include {header} (only {', '.join(sorted(parts))} may)")
    return found


PLANTED = [
    {"src/core/a.h": '#include "device/backend.h"\n'},
    {"src/core/a.h": "#include <fmt/format.h>\n"},
    {"src/core/b.h": "", "src/device/x.h": "", "src/core/a.h": '#include "../device/x.h"\n'},
    {"src/device/a.h": '#include "measure/plan/experiment.h"\n'},
    {"src/kernels/a.cu": '#include "strategies/block.cuh"\n'},
    {"src/kernels/b.cu": "", "src/kernels/a.cu": '#include "kernels/b.cu"\n'},
    {"src/kernels/b.cu": "", "src/kernels/a.cu": '  #  include "b.cu"\n'},
    {"src/kernels/a.cu": "#include <cub/cub.cuh>\n"},
    {"src/kernels/a.cu": "#include <cuda/atomic>\n"},
    {"src/strategies/a.cuh": '#include "measure/timing/timer.h"\n'},
    {"src/tuned/a.cuh": '#include "device/device.h"\n'},
    {"src/verify/a.cpp": '#include "measure/timing/timer.h"\n'},
    {"src/measure/a.cu": "#include <thrust/reduce.h>\n"},
    {"experiments/a.cpp": "#include <cublas_v2.h>\n"},
    {"experiments/a.cpp": '#include "kernels/levels.cuh"\n'},
    {"tests/a_test.cpp": '#include "kernels/levels.cuh"\n'},
    {"src/kernels/b.cu": "", "tests/kernels/a_test.cpp": '#include "../../src/kernels/b.cu"\n'},
    {"src/device/b.cpp": "", "tests/a_test.cpp": '#include "device/b.cpp"\n'},
]
CLEAN = [
    {"src/kernels/a.cu": '#include "device/device.h"\n#include <cstdint>\n// #include <cub/cub.cuh>\n'},
    {"baselines/a.cu": '#include <cub/cub.cuh>\n#include "device/cuda/cuda.cuh"\n'},
    {"src/device/cuda.cuh": "#include <cuda/atomic>\n"},
    {"tests/a_test.cpp": '#include <gtest/gtest.h>\n#include "core/variant.h"\n'},
]
