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

}  // namespace reductio
