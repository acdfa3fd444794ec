#include "measure/timing/cuda/timed_stream.h"

#include <cstring>

#include "measure/stats/statistics.h"
#include "measure/timing/host_clock.h"

namespace reductio::cuda {
namespace {

constexpr int patience_s = 60;

}  // namespace

TimedStream::TimedStream(Backend& backend, double awake_s)
    : backend_(backend),
      stream_(backend.stream()),
      l2_(backend, stream_),
      holds_(stream_),
      clocks_(stream_),
      empty_(empty_kernel()),
      result_(pinned<std::array<std::byte, 16>>()) {
  // Lines that an earlier program pinned would survive every flush. This touches this process's own context only.
  if (cudaCtxResetPersistingL2Cache() != cudaSuccess) cudaGetLastError();  // GPUs without such lines
  l2_.fill();
  load_kernels();
  wake_up(awake_s);
}

TimedStream::~TimedStream() {
  cudaStreamSynchronize(native(stream_));  // nothing that still runs may read what is freed next
}

/// Kernels are loaded when first launched, and loading may wait for the device: under a hold that would be a deadlock.
/// Every kernel of the harness is launched once before any hold; plans are by run().
void TimedStream::load_kernels() {
  empty_->enqueue(nullptr, nullptr, stream_);
  spinning_kernel(0)->enqueue(nullptr, nullptr, stream_);
  for (auto& reader : reading_kernels(l2_.bytes(), gpu().sm_count))
    reader.plan->enqueue(l2_.memory(), l2_.sum(), stream_);
  clocks_.load();
  holds_.load();
  l2_.overwrite();
  synchronize();
}

/// An idle GPU runs at a fraction of its clock and takes a while to notice that there is work.
void TimedStream::wake_up(double seconds) {
  for (const double start = host_now(); host_now() - start < seconds;) {
    for (int i = 0; i < 20; ++i) l2_.overwrite();
    synchronize();
  }
}

double TimedStream::run(const Call& c) {
  restore_and_poison(c);
  synchronize();
  const double start = host_now();
  c.plan->enqueue(c.in, c.out, stream_);
  stop_.record(stream_);
  wait_for(stop_);
  collect(c);
  return host_now() - start;
}

double TimedStream::launch_to_idle_interval(const Call& c, CacheState cache) {
  prepare(c, cache, [&] { c.plan->enqueue(c.in, c.out, stream_); });
  synchronize();
  const double start = host_now();
  c.plan->enqueue(c.in, c.out, stream_);
  check(cudaDeviceSynchronize(), "waiting for the device");  // as the documents wait; nothing else runs there
  const double end = host_now();
  prepared_s_ += elapsed_s(begin_, ready_);
  return end - start;
}

double TimedStream::end_to_end_interval(const Call& c, CacheState cache) {
  prepare(c, cache, [&] { call_to_result(c); });
  synchronize();
  const double start = host_now();
  call_to_result(c);
  const double end = host_now();
  if (c.info.result == ResultLocation::on_device && c.result) std::memcpy(c.result, result_->data(), c.result_bytes);
  if (c.info.result == ResultLocation::array) c.plan->finish(c.result, stream_);
  prepared_s_ += elapsed_s(begin_, ready_);
  return end - start;
}

/// Until the result is in host memory, but for the last few bytes' way out of the page-locked ones.
void TimedStream::call_to_result(const Call& c) {
  c.plan->enqueue(c.in, c.out, stream_);
  if (c.info.result == ResultLocation::on_device) copy_result(c);
  if (c.info.result == ResultLocation::on_device || c.info.result == ResultLocation::array) synchronize();
  else c.plan->finish(c.result, stream_);
}

double TimedStream::host_pace_s() {
  std::array<std::byte, 4> value{};
  const Call call{.plan = empty_.get(), .info = empty_->info(), .out = l2_.sum(), .result_bytes = 4, .result = value.data()};
  std::array<double, 31> s;
  for (double& seconds : s) {
    const double start = host_now();
    call_to_result(call);
    seconds = host_now() - start;
  }
  return median(s);
}

void TimedStream::collect(const Call& c) {
  if (c.info.result != ResultLocation::on_device) {
    c.plan->finish(c.result, stream_);
    return;
  }
  if (c.result) copy_result(c);
  synchronize();
  if (c.result) std::memcpy(c.result, result_->data(), c.result_bytes);
}

void TimedStream::copy_result(const Call& c) {
  check(cudaMemcpyAsync(result_->data(), c.out, c.result_bytes, cudaMemcpyDeviceToHost, native(stream_)),
        "copying the result");
}

/// Polls, so that a call that never ends becomes a message.
void TimedStream::wait_for(Event& event) {
  const double start = host_now();
  cudaError_t status;
  while ((status = cudaEventQuery(event.get())) == cudaErrorNotReady)
    if (host_now() - start > patience_s) throw CallTimeout("no result within " + std::to_string(patience_s) + " s");
  cudaGetLastError();  // "not ready" is kept as the last error, which the next launch would take for its own
  check(status, "waiting for a call");
}

/// Everything before the timed interval, between two events of its own. As asynchronous as `enqueue` is.
void TimedStream::prepare(const Call& c, CacheState cache, const std::function<void()>& enqueue) {
  begin_.record(stream_);
  bring_into_state(c, cache, enqueue);
  ready_.record(stream_);
}

void TimedStream::bring_into_state(const Call& c, CacheState cache, const std::function<void()>& enqueue) {
  take_any_position();
  restore_and_poison(c);
  if (cache == CacheState::warm || c.in_loop) {
    enqueue();
    if (cache == CacheState::warm) return poison(c);
    restore_and_poison(c);
  }
  l2_.overwrite();
  if (cache == CacheState::cold_clean) l2_.clean();
}

/// The kernels of a stream take turns in fours: a call of two launches takes one of two times, on an H200 4.3 and 5.0 us
/// where both are empty, by how many launches came before it. Calls of the same few plans in turn would each stand in a
/// place of its own, for ever. So up to three empty kernels come before each sample, as many as chance says: every call
/// meets all four places alike.
void TimedStream::take_any_position() {
  for (auto kernels = random_() % 4; kernels > 0; --kernels) empty_->enqueue(nullptr, nullptr, stream_);
}

void TimedStream::restore_and_poison(const Call& c) {
  if (c.pristine)
    check(cudaMemcpyAsync(c.in, c.pristine, c.input_bytes, cudaMemcpyDeviceToDevice, native(stream_)),
          "restoring the input");
  poison(c);
}

void TimedStream::poison(const Call& c) {
  if (c.out && c.result_bytes)
    check(cudaMemsetAsync(c.out, 0xFF, c.result_bytes, native(stream_)), "poisoning the output");
  if (c.result) std::memset(c.result, 0xFF, c.result_bytes);
}

}  // namespace reductio::cuda
