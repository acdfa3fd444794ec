/// Stands in for cuda_timer.cu in a build without CUDA; a GPU cannot have been opened there.

#include "measure/timing/timer.h"

namespace reductio {

std::unique_ptr<Timer> make_cuda_timer(Backend&) { throw NoGpu("this program was built without CUDA"); }

}  // namespace reductio
