/// Stands in for cuda_machine.cu in a build without CUDA; a GPU cannot have been opened there.

#include "core/error.h"
#include "measure/results/machine.h"

namespace reductio {

GpuDescription describe_gpu() { throw NoGpu("this program was built without CUDA"); }

}  // namespace reductio
