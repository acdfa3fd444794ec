/// Stands in for cuda/ in a build without CUDA; a GPU cannot have been opened there.

#include "measure/timing/instruments.h"
#include "measure/timing/probes.h"

namespace reductio {

Instruments make_cuda_instruments(Backend&, const Seen&) { throw NoGpu("this program was built without CUDA"); }
std::vector<Probe> probe_gpu(Backend&) { throw NoGpu("this program was built without CUDA"); }

}  // namespace reductio
