"""Who may include whom. The direction of dependencies is fixed; CONTRIBUTING.md explains it."""

import pathlib
import re

from source import CPP, files, line_of, without_comments

# The rooms of src/measure, lowest first: each may include those before it. `session` and `analysis` stand side by side.
MEASURE = ["measure/stats", "measure/plan", "measure/timing", "measure/results", "measure/sampling", "measure/session"]
ALL_OF_MEASURE = {*MEASURE, "measure/analysis"}
# `device` are the files that every device shares: the headers of kernels and the backend's interface.
DEVICES = {"device/cpu", "device/cuda", "device/sim"}


def below(room: str) -> set[str]:
    return set(MEASURE[:MEASURE.index(room) + 1])


# A part of the house, and the parts whose headers it may include. A folder belongs to the longest part that its path
# begins with; the rooms of src/device and src/measure are all named here.
MAY_INCLUDE = {
    "core": {"core"},
    "device": {"core", "device", "device/cuda", "device/sim"},
    "device/cpu": {"core", "device", "device/cpu"},
    "device/cuda": {"core", "device", "device/cuda"},
    "device/sim": {"core", "device", "device/sim"},
    "tuned": {"device", "tuned"},  # and of `device` only what is installed with it: tests/tuned
    "exact": {"device", "exact", "tuned"},  # likewise
    "strategies": {"device", "strategies", "tuned"},
    "kernels": {"core", "device", "exact", "strategies", "tuned"},
    "kernels/cuda_only": {"core", "device", "tuned"},
    "verify": {"core", "device", "device/sim", "verify"},
    "inspect": {"core", "device", "device/sim", "inspect", "verify"},
    "plugin": {"core", "device", "plugin"},
    "measure/stats": {"core"} | below("measure/stats"),
    "measure/plan": {"core"} | below("measure/plan"),
    "measure/timing": {"core", "device", "tuned"} | below("measure/timing"),
    "measure/results": {"core", "device"} | below("measure/results"),
    "measure/sampling": {"core", "device"} | below("measure/sampling"),
    "measure/session": {"core", "device"} | below("measure/session"),
    "measure/analysis": {"core", "device", "measure/analysis"} | below("measure/sampling"),
    "baselines": {"core", "device", "device/cuda", "baselines"},
    "baselines/nvbench": set(),  # but ALONE below
    "baselines/vector_add": {"core", "device", "baselines"} | below("measure/sampling"),
    "experiments": {"core", "device", "experiments"} | ALL_OF_MEASURE,
    "cli": {"core", "device", "inspect", "plugin", "verify", "cli", "device/sim"} | ALL_OF_MEASURE,
    "python": {"core", "plugin", "exact", "tuned", "cli", "python"},
    "tests": {"core", "device", "inspect", "plugin", "strategies", "tuned", "exact", "verify", "experiments", "cli", "tests"} | DEVICES
             | ALL_OF_MEASURE,
}
LAYERED = {"device", "measure"}
# Single headers that a part may include besides.
ALONE = {"baselines": {"exact/partial.h"}, "baselines/nvbench": {"measure/timing/quiet_cpu.h"},
         "tests": {"baselines/cccl_release.h"}}

# Third-party headers by their beginning, and the only parts that may include them.
ONLY_IN = {
    r"(thrust|cub)/|cublas": {"baselines", "baselines/nvbench", "kernels/cuda_only"},
    r"nvbench/": {"baselines/nvbench"},
    r"boost/math/": {"measure/stats"},
    r"boost/context/": {"device/sim"},
    r"boost/(?!math/|context/)": set(),
    r"CLI/": {"cli", "tests"},
    r"nlohmann/": {"baselines/vector_add", "measure/results", "measure/session", "measure/analysis", "cli", "tests"},
    r"zlib": {"measure/results"},
    r"fmt/": {"inspect", "verify", "baselines", "baselines/vector_add", "experiments", "cli", "tests"} | ALL_OF_MEASURE,
    r"Eigen/": {"core", "measure/stats", "verify", "baselines", "experiments", "tests"},
    r"(cuda|cooperative_groups)\w*(\.h|/)": {"python", "device", "device/cuda", "measure/timing", "measure/results", "baselines",
                                                "baselines/nvbench", "kernels/cuda_only"},
    r"(gtest|gmock)/": {"tests"},
}

# Headers of many thousand lines, which what includes a header of ours must not read: what a header names of them is
# declared, in nlohmann/json_fwd.hpp or by hand.
IN_NO_HEADER = r"nlohmann/json\.hpp|CLI/CLI\.hpp"

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def part_of(path: pathlib.PurePath) -> str:
    """src/core/types.h -> core; src/device/sim/warp.h -> device/sim; tests/core/types_test.cpp -> tests.
    A folder of src that no part names is its own part, which may include nothing; "" is no part of the house."""
    folders = path.parts[:-1]
    in_src = folders[:1] == ("src",)
    if in_src:
        folders = folders[1:]
    for length in range(len(folders), 0, -1):
        name = "/".join(folders[:length])
        if name in MAY_INCLUDE and not (name in LAYERED and length < len(folders)):
            return name
    return "/".join(folders) if in_src else ""


def included(root: pathlib.Path, includer: pathlib.Path, header: str) -> tuple[str, str]:
    """The part of the house that a quoted include reaches ("" if none), and the file's path from the root."""
    for folder in (includer.parent, root / "src", root):
        path = (folder / header).resolve()
        if path.is_file() and path.is_relative_to(root.resolve()):
            relative = path.relative_to(root.resolve())
            return part_of(relative), relative.as_posix()
    path = pathlib.PurePosixPath(header)
    for candidate in ("src" / path, path):
        if part_of(candidate) in MAY_INCLUDE:
            return part_of(candidate), header
    return "", header


def violations(root: pathlib.Path) -> list[str]:
    problems = []
    for path in files(root, *CPP):
        relative = path.relative_to(root)
        part = part_of(relative)
        if not part:
            continue
        if part not in MAY_INCLUDE:
            problems.append(f"{relative}: src/{part} is no room of the house; put the file into one, or name its room "
                            "and what that may include in tests/lint/lint_includes.py")
            continue
        text = without_comments(path.read_text())
        for match in INCLUDE.finditer(text):
            where = f"{relative}:{line_of(text, match.start())}"
            header = match.group(1) or match.group(2)
            target, target_path = included(root, path, header)
            if match.group(2) and target_path == header:
                target = ""  # <cuda/atomic> is no folder of ours
            if target and target not in MAY_INCLUDE[part] and header not in ALONE.get(part, ()):
                problems.append(f"{where}: {part} may not include {header} "
                                f"(only: {', '.join(sorted(MAY_INCLUDE[part])) or 'nothing of ours'})")
            elif target_path.endswith((".cu", ".cpp")):
                problems.append(f"{where}: includes the source file {header}; variants are reached through the registry")
            if re.fullmatch(IN_NO_HEADER, header) and path.suffix in (".h", ".cuh"):
                problems.append(f"{where}: {header} is in no header of ours: declare what you name of it "
                                "(nlohmann/json_fwd.hpp, class CLI::App;)")
            for beginning, parts in ONLY_IN.items():
                if not target and re.match(beginning, header) and part not in parts:
                    problems.append(f"{where}: {part} may not include {header} "
                                    f"({'only ' + ', '.join(sorted(parts)) if parts else 'no part'} may)")
    return problems


# Each room of src/measure that includes one after it, and each device that includes another.
UPWARDS = [{f"src/{low}/a.h": f'#include "{high}/b.h"\n', f"src/{high}/b.h": ""}
           for i, low in enumerate(MEASURE) for high in [*MEASURE[i + 1:], "measure/analysis"]]
ASIDE = [{f"src/{a}/a.h": f'#include "{b}/b.h"\n', f"src/{b}/b.h": ""} for a in sorted(DEVICES) for b in sorted(DEVICES - {a})]
PLANTED = UPWARDS + ASIDE + [
    {"baselines/nvbench/a.cu": '#include "measure/timing/host_timer.h"\n'},
    {"src/measure/analysis/a.h": '#include "measure/session/run_experiment.h"\n'},
    {"src/measure/plan/a.h": '#include "device/backend.h"\n'},
    {"src/measure/stats/a.h": '#include "device/backend.h"\n'},
    {"src/measure/timing/a.h": '#include "device/sim/sim.h"\n'},
    {"src/measure/sampling/a.h": '#include "tuned/tuned.h"\n', "src/tuned/tuned.h": ""},
    {"src/device/a.h": '#include "device/cpu/b.h"\n'},
    {"src/kernels/a.cu": '#include "device/sim/sim.h"\n'},
    {"src/kernels/cuda_only/a.cu": '#include "device/sim/sim.h"\n'},
    {"src/tuned/a.h": '#include "core/types.h"\n'},
    {"src/device/a.h": '#include "tuned/tuned.h"\n', "src/tuned/tuned.h": ""},
    {"src/tuned/a.h": '#include "exact/exact.h"\n', "src/exact/exact.h": ""},
    {"src/strategies/a.h": '#include "core/types.h"\n'},
    {"src/tuned/a.h": '#include "strategies/a.h"\n', "src/strategies/a.h": ""},
    {"src/kernels/cuda_only/b.cu": "", "src/kernels/a.cu": '#include "cuda_only/b.cu"\n'},
    {"src/measure/a.h": ""},
    {"src/measure/misc/a.h": ""},
    {"src/device/opencl/a.h": ""},
    {"src/misc/a.cuh": ""},
    {"src/core/a.h": '#include "device/backend.h"\n'},
    {"src/core/b.h": "", "src/device/x.h": "", "src/core/a.h": '#include "../device/x.h"\n'},
    {"src/device/a.h": '#include "measure/plan/experiment.h"\n'},
    {"src/kernels/b.cu": "", "src/kernels/a.cu": '#include "kernels/b.cu"\n'},
    {"src/kernels/b.cu": "", "src/kernels/a.cu": '  #  include "b.cu"\n'},
    {"src/verify/a.cpp": '#include "measure/timing/timer.h"\n'},
    {"src/verify/a.cpp": '#include "cli/cli.h"\n'},
    {"baselines/nvbench/a.cu": '#include "core/types.h"\n'},
    {"experiments/a.cpp": '#include "kernels/levels.cuh"\n'},
    {"tests/a_test.cpp": '#include "kernels/levels.cuh"\n'},
    {"src/kernels/b.cu": "", "tests/kernels/a_test.cpp": '#include "../../src/kernels/b.cu"\n'},
    {"src/device/b.cpp": "", "tests/a_test.cpp": '#include "device/b.cpp"\n'},
] + [{path: f"#include <{header}>\n"} for path, header in (
    ("src/kernels/a.cu", "cub/cub.cuh"),
    ("src/measure/timing/a.cu", "thrust/reduce.h"),
    ("experiments/a.cpp", "cublas_v2.h"),
    ("baselines/a.cu", "nvbench/nvbench.cuh"),
    ("src/measure/sampling/a.cpp", "boost/math/distributions/binomial.hpp"),
    ("src/cli/a.cpp", "boost/math/distributions/binomial.hpp"),
    ("src/device/cuda/a.cpp", "boost/context/fiber.hpp"),
    ("src/core/a.h", "boost/optional.hpp"),
    ("src/measure/session/a.cpp", "CLI/CLI.hpp"),
    ("experiments/a.cpp", "CLI/CLI.hpp"),
    ("src/measure/sampling/a.cpp", "nlohmann/json.hpp"),
    ("src/measure/plan/a.h", "nlohmann/json_fwd.hpp"),
    ("src/measure/results/a.h", "nlohmann/json.hpp"),
    ("tests/measure/a.h", "nlohmann/json.hpp"),
    ("src/cli/a.h", "CLI/CLI.hpp"),
    ("src/cli/a.cpp", "zlib.h"),
    ("src/core/a.h", "fmt/format.h"),
    ("src/device/sim/a.cpp", "fmt/format.h"),
    ("src/measure/analysis/a.cpp", "Eigen/Dense"),
    ("src/kernels/a.cu", "cuda/atomic"),
    ("src/device/sim/a.h", "cuda_runtime.h"),
    ("src/measure/sampling/a.cu", "cuda_runtime.h"),
    ("src/verify/a.cpp", "gtest/gtest.h"),
)]
CLEAN = [
    {"src/kernels/a.cu": '#include "device/device.h"\n#include <cstdint>\n// #include <cub/cub.cuh>\n'},
    {"src/kernels/cuda_only/a.cu": '#include <cub/block/block_reduce.cuh>\n#include "device/device.h"\n'},
    {"baselines/a.cu": '#include <cub/cub.cuh>\n#include "device/cuda/cuda.cuh"\n'},
    {"src/device/cuda/cuda.cuh": "#include <cuda/atomic>\n"},
    {"src/device/device.h": '#include "device/cuda/cuda.cuh"\n#include "device/sim/sim.h"\n'},
    {"src/measure/stats/a.cpp": "#include <boost/math/distributions/binomial.hpp>\n"},
    {"src/measure/session/a.cpp": '#include "measure/sampling/b.h"\n#include "measure/stats/c.h"\n#include "core/d.h"\n'},
    {"src/cli/compare/a.cpp": '#include <CLI/CLI.hpp>\n#include "measure/analysis/compare.h"\n'},
    {"src/measure/results/a.cpp": "#include <nlohmann/json.hpp>\n", "src/measure/results/a.h": "#include <nlohmann/json_fwd.hpp>\n"},
    {"tests/a_test.cpp": '#include <gtest/gtest.h>\n#include "core/variant.h"\n#include "device/sim/fault.h"\n'},
]
