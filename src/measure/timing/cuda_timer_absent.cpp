/// Stands in for cuda_timer.cu and cuda_machine.cu in a build without CUDA; a GPU cannot have been opened there.

#include "measure/results/machine.h"
#include "measure/timing/timer.h"

namespace reductio {

std::unique_ptr<Timer> make_cuda_timer(Backend&) { throw NoGpu("this program was built without CUDA"); }
GpuDescription describe_gpu() { throw NoGpu("this program was built without CUDA"); }

}  // namespace reductio
