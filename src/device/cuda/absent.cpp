#include "core/error.h"
#include "device/backend.h"

namespace reductio {

std::unique_ptr<Backend> open_cuda(const std::string&) {
  throw NoGpu("this program was built without CUDA; rebuild it where nvcc is installed");
}

std::shared_ptr<void> cuda_workspace(std::size_t) { throw Unavailable("this program was built without CUDA"); }

}  // namespace reductio
