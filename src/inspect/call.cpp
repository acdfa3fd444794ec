#include "inspect/call.h"

#include "device/sim/schedule.h"

namespace reductio::inspect {

SimulatedCall::SimulatedCall(Backend& backend, const Variant& v, const Problem& p, const Settings& s,
                             std::span<const std::byte> input)
    : backend_(backend),
      data_(input.begin(), input.end()),
      plan_(v, p, s, backend.info()),
      stream_(backend),
      output_(backend, p.result_bytes(), stream_),
      in_(backend, data_.size()),
      drain_(backend, {stream_}) {
  sim::set_schedule(sim::Order::forward);
}

void SimulatedCall::run() {
  backend_.copy_in(in_.get(), data_.data(), data_.size(), stream_);
  output_.poison(stream_);
  plan_.begin_call(stream_);
  plan_.enqueue(in_.get(), output_.get(), stream_);
  Result result(output_.bytes());
  if (plan_.info().result == ResultLocation::on_device)
    backend_.synchronize(stream_);
  else
    plan_.finish(result.data(), stream_);
}

}  // namespace reductio::inspect
