#include "inspect/call.h"

#include <string>

#include "core/error.h"
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

Result SimulatedCall::run() { return run(data_); }

Result SimulatedCall::run(std::span<const std::byte> input) {
  backend_.copy_in(in_.get(), input.data(), input.size(), stream_);
  output_.poison(stream_);
  plan_.begin_call(stream_);
  plan_.enqueue(in_.get(), output_.get(), stream_);
  Result result(output_.bytes());
  if (plan_.info().result != ResultLocation::on_device)
    plan_.finish(result.data(), stream_);
  else if (const std::string why = output_.read(result.data(), stream_); !why.empty())
    throw DeviceError(why);
  return result;
}

}  // namespace reductio::inspect
