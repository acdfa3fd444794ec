/// A shared module of its own, because TBB has no static library: the program loads it when it is asked for, and starts
/// without it where TBB is absent.

#include "baselines/std_parallel.h"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <execution>
#include <functional>
#include <numeric>

namespace reductio {
namespace {

template <class T>
void reduce(Operation operation, const void* in, void* out, std::size_t n) {
  const T* const x = static_cast<const T*>(in);
  *static_cast<T*>(out) =
      operation == Operation::sum
          ? std::reduce(std::execution::par, x, x + n, T{0})
          : std::transform_reduce(std::execution::par, x, x + n, T{0}, std::plus<T>(), [](T v) { return v * v; });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void reductio_std_parallel_reduce(Operation operation,
                                                                                    ElementType type, const void* in,
                                                                                    void* out, std::size_t n,
                                                                                    char* error, std::size_t size) {
  try {
    error[0] = '\0';
    switch (type) {
      case ElementType::i32: return reduce<std::uint32_t>(operation, in, out, n);
      case ElementType::f32: return reduce<float>(operation, in, out, n);
      case ElementType::f64: return reduce<double>(operation, in, out, n);
      default: std::snprintf(error, size, "element type is not supported");
    }
  } catch (const std::exception& e) {
    std::snprintf(error, size, "%s", e.what());
  }
}

static_assert(std::is_same_v<decltype(reductio_std_parallel_reduce), StdParallelReduce>);

}  // namespace reductio
