/// What a call that finishes on the host copies there, on the simulated device, which counts it. Everything that
/// finish() copies is in the end-to-end time: that shall be the partial results, and not the readings of clocks, which
/// no sum needs.

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <map>
#include <string>

#include "core/variant.h"
#include "device/backend.h"
#include "device/sim/streams.h"

namespace reductio {
namespace {

/// A plan on the simulated device and memory to call it on.
class OnSim {
 public:
  OnSim(const Variant& v, std::size_t n)
      : plan(make_plan(v, {v.operations.front(), ElementType::i32, n}, v.settings(), device_->info())),
        in_(*device_, n * 4),
        out_(*device_, 16),
        stream_(device_->create_stream()) {
    device_->fill(in_.get(), 0, in_.size(), stream_);
  }
  ~OnSim() { device_->destroy_stream(stream_); }
  OnSim(const OnSim&) = delete;

  void enqueue() { plan->enqueue(in_.get(), out_.get(), stream_); }
  void finish() { plan->finish(value_.data(), stream_); }
  /// What `body` copies to the host.
  template <class Body>
  static sim::CopiedOut copied_by(Body&& body) {
    const sim::CopiedOut before = sim::copied_out();
    body();
    const sim::CopiedOut after = sim::copied_out();
    return {after.copies - before.copies, after.bytes - before.bytes};
  }

 private:
  std::unique_ptr<Backend> device_ = open_sim();

 public:
  std::unique_ptr<Plan> plan;

 private:
  DeviceMemory in_, out_;
  Stream stream_;
  alignas(16) std::array<std::byte, 16> value_{};
};

TEST(ClockReading, NoCallsEndToEndTimeHoldsTheCopyOfTheReadings) {
  // How many results the document leaves to the host.
  const std::map<std::string, std::size_t> results{{"squares/chunked", 256}, {"squares/strided", 256},
                                                   {"squares/multi-block", 8192}, {"squares/multi-block-tree", 32}};
  std::size_t seen = 0;
  for (const Variant& v : variants()) {
    if (!v.reads_clock || !v.runs_on(DeviceKind::sim)) continue;
    OnSim call(v, 20000);
    if (call.plan->info().result != ResultLocation::host_part) continue;
    call.enqueue();
    const sim::CopiedOut copied = OnSim::copied_by([&] { call.finish(); });
    EXPECT_EQ(copied.copies, 1u) << v.id;
    if (const auto own = results.find(v.id); own != results.end()) {
      EXPECT_EQ(copied.bytes, 4 * own->second) << v.id;
      ++seen;
    }
  }
  EXPECT_EQ(seen, results.size());
}

TEST(ClockReading, IsOfTheLastFinishedCallAndFetchedWhenItIsAskedFor) {
  for (const Variant& v : variants()) {
    if (!v.reads_clock || !v.runs_on(DeviceKind::sim)) continue;
    OnSim call(v, 20000);
    EXPECT_FALSE(call.plan->clock_reading()) << v.id << ": nothing has been called";
    for (int i = 0; i < 2; ++i) {
      call.enqueue();
      call.finish();
      std::optional<ClockReading> reading;
      EXPECT_GT(OnSim::copied_by([&] { reading = call.plan->clock_reading(); }).copies, 0u) << v.id;
      ASSERT_TRUE(reading && reading->seconds) << v.id;
      EXPECT_GT(reading->cycles, 0) << v.id;  // the simulated clock counts steps
      EXPECT_GT(*reading->seconds, 0) << v.id;
    }
  }
}

}  // namespace
}  // namespace reductio
