"""Kernel files, and the strategies that they are composed of, are plain CUDA C++ that two compilers read alike: what
only one of them understands is in device/, or in a file of src/kernels/cuda_only, which only nvcc compiles."""

import pathlib
import re

from source import code, files, line_of

FORBIDDEN = {
    r"\b(asm|__asm__)\b": "asm belongs in device/cuda behind a name that kernel.h declares",
    r"\bcuda::": "cuda:: belongs in device/cuda behind a name that kernel.h declares",
    r"__CUDA_ARCH__|__CUDACC__|__NVCC__|__CUDA__|__GNUC__|__clang__|\bNV_IF_TARGET\b|\b__builtin_is_device\w*":
        "a kernel does not ask who compiles it",
    r"\bdevice_kind\b|\bDeviceKind\b|\bon_sim\b|\bon_cuda\b|\bsim::|(\.|->)(kind|name)\b(?!\s*=[^=])":
        "what is verified on the simulated device must be what runs on the GPU: no file asks which of them it is for",
    r"<<<": "launch<kernel>(Launch{...}, ...) is the only launch",
    r"\bREDUCTIO_(?!DEVICE_NAMESPACE\b)\w+": "no project macro appears in a kernel file",
    r"^[ \t]*#[ \t]*(define|undef|if|ifdef|ifndef|elif|else)\b": "both devices read the same source: no macros, no #if",
}


def violations(root: pathlib.Path) -> list[str]:
    problems = []
    folders = (root / "src" / "kernels", root / "src" / "strategies")
    for path in (path for folder in folders for path in files(folder, "*.cu", "*.cuh", "*.h")):
        if "cuda_only" in path.relative_to(root).parts:
            continue
        text = code(path.read_text())
        for pattern, why in FORBIDDEN.items():
            for match in re.finditer(pattern, text, re.MULTILINE):
                where = f"{path.relative_to(root)}:{line_of(text, match.start())}"
                problems.append(f"{where}: {match.group().strip()}: {why}")
    return problems


PLANTED = [{"src/kernels/a.cu": line + "\n"} for line in (
    'asm volatile("bar.sync 0;");',
    "cuda::atomic_ref<int> r(*p);",
    "  ::cuda::std::min(a, b);",
    "#if __CUDA_ARCH__ >= 900",
    "kernel<<<1, 32>>>(p);",
    "REDUCTIO_LOOP(i, n)",
    "# define WARP 32",
    "#ifdef __CUDACC__",
    "if (device_kind == DeviceKind::cuda) return;",
    "if constexpr (on_sim::device_kind != kind) x = 1;",
    "const int share = gpu.kind == k ? 1 : 2;",
    'if (info->name == "simulated GPU") return 0;',
    "sim::set_schedule(order, 1);",
    "if (defined_by(__GNUC__)) f();",
)] + [{"src/strategies/a.h": '#ifdef __CUDACC__\n'}]
CLEAN = [
    {"src/strategies/a.h": "#pragma once\ninline namespace REDUCTIO_DEVICE_NAMESPACE {}\n"},
    {"src/kernels/a.cu": "// the text's <<<grid, block>>> and asm\n__shared__ float buffer[256];\nint n = 1'000'000;\n"
                         "#pragma unroll\nconst char* s = \"cuda::\";\n"
                         "__shared__ float sums[256];\nextern __shared__ unsigned char raw[];\n"
                         "const Strategy how{.name = 1};  // gpu.kind\nint kind = similar(gpu.sm_count);\n"},
    {"src/kernels/a.cu": "__shared__ float buffer[256];\n"},
    {"src/device/cuda/cuda.cuh": "kernel<<<1, 32>>>(p);\n"},
    {"src/kernels/cuda_only/a.cu": 'asm volatile("bar.sync 0;");\n'},
]
