#include "measure/timing/instruments.h"

namespace reductio {

Instruments make_instruments(Backend& backend) {
  switch (backend.info().kind) {
    case DeviceKind::cuda: return make_cuda_instruments(backend);
    case DeviceKind::sim: return make_sim_instruments(backend);
    case DeviceKind::cpu: return make_host_instruments(backend);
  }
  throw DeviceError("unknown device");
}

void keep_for_ever(Instruments&& instruments) {
  keep_for_ever(instruments.timer.release());
  keep_for_ever(instruments.harness_calls.release());
  keep_for_ever(instruments.monitor.release());
}

}  // namespace reductio
