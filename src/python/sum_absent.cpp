#include <string>

#include "core/error.h"
#include "python/sum.h"

namespace reductio {

void sum_on_gpu(std::uint32_t, const void*, std::size_t, void*, void*) {
  throw UsageError("this build has no CUDA, which reductio.sum needs");
}

void exact_on_gpu(Operation operation, std::uint32_t, const void*, std::size_t, void*, void*) {
  throw UsageError("this build has no CUDA, which reductio.exact_" + std::string(name(operation)) +
                   " needs for an array on a GPU");
}

void along_axis_on_gpu(Along what, std::uint32_t, const void*, std::size_t, std::size_t, std::size_t, std::size_t,
                       void*, void*) {
  throw UsageError(std::string("this build has no CUDA, which reductio.") +
                   (what == Along::squares     ? "norm needs"
                    : what == Along::exact_sum ? "exact_sum needs for an array on a GPU"
                                               : "sum needs"));
}

}  // namespace reductio
