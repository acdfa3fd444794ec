#pragma once
/// A .cu file as a compiler of plain C++ takes it.

#include <string>

namespace reductio {

/// Of a preprocessed CUDA source: each `kernel<<<...>>>(...)` becomes a call of src/device/sim/cuda/launches.h, and
/// casts of kernels to void* go, which would lose their parameters' types. Nothing moves to another line. Throws
/// UsageError, with file and line, for what is not simulated: inline PTX, textures, tensor cores, libraries.
std::string with_launches_as_calls(const std::string& preprocessed);

/// Whether a header is of a library that is not simulated: "cub/cub.cuh", "/usr/local/cuda/include/mma.h".
bool is_refused_header(const std::string& path);
/// "prog.cu:3: <cub/cub.cuh> is not simulated: ...".
std::string refusal_of_header(const std::string& place, const std::string& header);

}  // namespace reductio
