#pragma once
/// What libreductio_std_parallel.so exports: the parallel algorithms of the C++ library, which need TBB.

#include <cstddef>

#include "core/types.h"

namespace reductio {

/// Reduces n elements at `in` into one accumulator at `out`, on all cores. No exception leaves it: the message of one
/// is put into the `size` bytes at `error`, which are otherwise left empty.
using StdParallelReduce = void(Operation, ElementType, const void* in, void* out, std::size_t n, char* error,
                               std::size_t size);

inline constexpr const char* std_parallel_file = "libreductio_std_parallel.so";
inline constexpr const char* std_parallel_symbol = "reductio_std_parallel_reduce";

}  // namespace reductio
