#pragma once
/// One stream of the GPU and the intervals timed in it. All of a sample is ordered in this stream, which does not wait
/// for the default stream.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "measure/timing/cuda/gpu_clocks.h"
#include "measure/timing/cuda/harness_kernels.h"
#include "measure/timing/cuda/hold.h"
#include "measure/timing/cuda/l2_flush.h"
#include "measure/timing/cuda/stream_turns.h"
#include "measure/timing/timer.h"

namespace reductio::cuda {

class TimedStream {
 public:
  /// Returns once the GPU was kept busy for `awake_s` seconds and all of the harness's kernels are loaded.
  TimedStream(Backend&, double awake_s);
  ~TimedStream();
  TimedStream(const TimedStream&) = delete;

  Stream get() const { return stream_; }
  Backend& backend() const { return backend_; }
  const DeviceInfo& gpu() const { return backend_.info(); }
  void synchronize() { check(cudaStreamSynchronize(native(stream_)), "waiting for the stream"); }

  /// Seconds of a plain call, from the host's view, its result in c.result.
  double run(const Call& c);
  /// Seconds of what `enqueue` queues, between two events behind a hold. The stream is idle afterwards, unless the call
  /// failed.
  template <class Enqueue>
  double held_interval(Enqueue&& enqueue) {
    Hold hold(holds_);
    start_.record(stream_);
    enqueue();
    stop_.record(stream_);
    hold.release();
    wait_for(stop_);
    hold.must_not_have_timed_out();
    return elapsed_s(start_, stop_);
  }
  /// The same of one call, after restoring the input, poisoning the output and setting the cache. A loop caller, or a
  /// warm cache, takes one untimed call first.
  double device_interval(const Call& c, CacheState cache) {
    return held_interval(c, cache, Sampled::behind_hold, [&] { c.plan->enqueue(c.in, c.out, stream_); },
                         place_of_change(c));
  }
  /// The same of a graph of many such calls. `changed`: where its changed element is.
  double graph_interval(const Call& c, CacheState cache, cudaGraphExec_t graph, const ElementPlace& changed) {
    return held_interval(c, cache, Sampled::graph_behind_hold,
                         [&] { check(cudaGraphLaunch(graph, native(stream_)), "launching a graph"); }, changed);
  }
  /// Seconds of the host's clock from the call until the device is idle. The host's part is left to collect().
  double launch_to_idle_interval(const Call& c, CacheState cache);
  /// Seconds of the host's clock from the call to its result in host memory, in c.result.
  double end_to_end_interval(const Call& c, CacheState cache);
  /// Leaves the call's value in c.result and the stream idle.
  void collect(const Call& c);

  /// Some empty calls to a result in host memory: they warm the current CPU's caches with the driver's data.
  void warm_up_host();

  /// Seconds that preparing took since this was asked last.
  double take_prepared_s() { return std::exchange(prepared_s_, 0); }

  /// Called before the plan goes.
  void forget(const Plan* plan) { turns_.forget(plan); }

  /// Page-locked memory for a call that the host polls for.
  std::uint64_t* arrival() { return arrival_->data(); }

  /// Where tuned's reading counts claims.
  std::uint64_t* claims() { return static_cast<std::uint64_t*>(claims_.get()); }

  L2Flush& l2() { return l2_; }
  GpuClocks& clocks() { return clocks_; }

 private:
  /// What a sample times, by the host's clock or behind a hold, whose kernel runs between preparing and the call. A
  /// graph's kernels meet all turns by themselves.
  enum class Sampled { by_host, behind_hold, graph_behind_hold };

  static ElementPlace place_of_change(const Call& c) { return {.first = c.changed ? c.changed_place() : nullptr}; }

  /// A call's changed element, from make() on as long as this lives.
  class Changed {
   public:
    Changed(TimedStream& stream, const Call& c, const ElementPlace& place)
        : stream_(stream), element_(c.changed), place_(place) {}
    ~Changed();
    Changed(const Changed&) = delete;
    void make();
    /// Kernels that make() launches.
    unsigned kernels() const { return element_ ? 1 : 0; }

   private:
    TimedStream& stream_;
    const ChangedElement* element_;
    ElementPlace place_;
    bool made_ = false;
  };

  template <class Enqueue>
  double held_interval(const Call& c, CacheState cache, Sampled what, Enqueue&& enqueue, const ElementPlace& place) {
    Changed changed(*this, c, place);
    prepare(c, cache, what, enqueue, changed);
    const double s = held_interval(enqueue);
    called(c, what);
    prepared_s_ += elapsed_s(begin_, ready_);
    return s;
  }
  void wait_for(Event&);
  void prepare(const Call&, CacheState, Sampled, const std::function<void()>& enqueue, Changed&);
  void bring_into_state(const Call&, CacheState, Sampled, const std::function<void()>& enqueue, Changed&);
  void call_to_result(const Call&);
  void called(const Call&, Sampled);
  void take_next_turn(const Call&, unsigned between, Sampled);
  std::optional<unsigned> kernels_of(const Call&);
  void restore_and_poison(const Call&);
  void poison(const Call&);
  void copy_result(const Call&);
  void take_result(const Call&);
  void load_kernels();
  void wake_up(double seconds);

  Backend& backend_;
  Stream stream_;
  StreamTurns turns_;
  L2Flush l2_;
  Holds holds_;
  GpuClocks clocks_;
  std::unique_ptr<Plan> empty_;
  Pinned<std::array<std::byte, 16>> result_;
  Pinned<std::array<std::uint64_t, polled_words>> arrival_;
  DeviceMemory claims_;
  Event begin_, ready_;  ///< about preparing
  Event start_, stop_;   ///< about the call
  double prepared_s_ = 0;
};

}  // namespace reductio::cuda
