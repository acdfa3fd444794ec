/// A release of CUB and Thrust from before 2.1, for baselines_test.cpp. Its calls are never made.

#include "baselines/cccl_release.h"

namespace reductio::baselines_tests {

void register_early_release() {
  CcclRelease early{.name = "0.9", .toolkit = "9.0", .version = 900};
  for (ByType<CubFunction>* calls : {&early.sum, &early.transform_reduce})
    (*calls)[ElementType::i32] = [](void*, std::size_t&, const void*, void*, std::size_t, cudaStream_t) {
      return cudaErrorNotSupported;
    };
  early.reduce[ElementType::i32] = [](const void*, std::size_t, void*, cudaStream_t) {};
  RegisterCcclRelease{early};
}

}  // namespace reductio::baselines_tests
