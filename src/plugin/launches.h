#pragma once
/// A .cu file as a compiler of plain C++ takes it.

#include <string>

namespace reductio {

/// Of a preprocessed CUDA source: each `kernel<<<...>>>(...)` becomes a call of src/device/sim/cuda/launches.h, and casts
/// of kernels to void* go, which would lose their parameters' types. Nothing moves to another line. Throws UsageError,
/// with file and line, for what is not simulated: inline PTX, textures, tensor cores.
std::string with_launches_as_calls(const std::string& preprocessed);

}  // namespace reductio
