#include "measure/timing/cuda/timed_stream.h"

#include <cstring>
#include <exception>
#include <random>
#include <vector>

#include "measure/timing/host_clock.h"

namespace reductio::cuda {
namespace {

constexpr int patience_s = 60;

}  // namespace

TimedStream::TimedStream(Backend& backend, double awake_s)
    : backend_(backend),
      stream_(backend.stream()),
      turns_(std::random_device{}()),
      l2_(backend, stream_, turns_),
      holds_(stream_, turns_),
      clocks_(stream_, turns_),
      empty_(empty_kernel()),
      result_(pinned<std::array<std::byte, 16>>()),
      arrival_(pinned<std::array<std::uint64_t, polled_words>>()),
      claims_(backend, sizeof(std::uint64_t)) {
  check(cudaMemsetAsync(claims_.get(), 0, claims_.size(), native(stream_)), "clearing GPU memory");
  // Lines that an earlier program pinned would survive every flush. This touches this process's own context only.
  if (cudaCtxResetPersistingL2Cache() != cudaSuccess) cudaGetLastError();  // GPUs without such lines
  l2_.fill();
  load_kernels();
  wake_up(awake_s);
}

TimedStream::~TimedStream() {
  cudaStreamSynchronize(native(stream_));  // nothing that still runs may read what is freed next
}

/// A kernel is loaded at its first launch, and loading may wait for the device: behind a hold, a deadlock. So every
/// kernel of the harness is launched once before any hold; run() does it for plans.
void TimedStream::load_kernels() {
  empty_->enqueue(nullptr, nullptr, stream_);
  polled_empty_kernel(arrival())->enqueue(nullptr, nullptr, stream_);
  spinning_kernel(0)->enqueue(nullptr, nullptr, stream_);
  for (const std::size_t bytes : {1u, 2u, 4u, 8u}) store_element({.copies = 0}, {}, bytes, stream_);
  for (const std::size_t bytes : {std::size_t{4096}, l2_.bytes()})  // little is read by another kernel of tuned's
    for (auto& reader : reading_kernels(bytes, gpu(), claims()))
      reader.plan->enqueue(l2_.memory(), l2_.sum(), stream_);
  reading_by_claims(l2_.bytes(), gpu(), claims())->enqueue(l2_.memory(), l2_.sum(), stream_);
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

TimedStream::Changed::~Changed() {
  if (!made_) return;
  try {
    store_element(place_, element_->was, element_->bytes, stream_.stream_);
    stream_.turns_.launched();
  } catch (const std::exception&) {
    // The call has failed, or the next one will.
  }
}

void TimedStream::Changed::make() {
  if (!element_) return;
  store_element(place_, element_->is, element_->bytes, stream_.stream_);
  stream_.turns_.launched();
  made_ = true;
}

double TimedStream::run(const Call& c) {
  Changed changed(*this, c, place_of_change(c));
  changed.make();
  restore_and_poison(c);
  synchronize();
  const double start = host_now();
  c.plan->enqueue(c.in, c.out, stream_);
  turns_.called(c.plan);
  stop_.record(stream_);
  wait_for(stop_);
  collect(c);
  return host_now() - start;
}

double TimedStream::launch_to_idle_interval(const Call& c, CacheState cache) {
  Changed changed(*this, c, place_of_change(c));
  prepare(c, cache, Sampled::by_host, [&] { c.plan->enqueue(c.in, c.out, stream_); }, changed);
  synchronize();
  const double start = host_now();
  c.plan->enqueue(c.in, c.out, stream_);
  check(cudaDeviceSynchronize(), "waiting for the device");  // as the documents wait; nothing else runs there
  const double end = host_now();
  turns_.called(c.plan);
  prepared_s_ += elapsed_s(begin_, ready_);
  return end - start;
}

double TimedStream::end_to_end_interval(const Call& c, CacheState cache) {
  Changed changed(*this, c, place_of_change(c));
  prepare(c, cache, Sampled::by_host, [&] { call_to_result(c); }, changed);
  synchronize();
  const double start = host_now();
  call_to_result(c);
  const double end = host_now();
  turns_.called(c.plan);
  if (c.info.result == ResultLocation::on_device) take_result(c);
  prepared_s_ += elapsed_s(begin_, ready_);
  return end - start;
}

/// Until the result is in page-locked host memory.
void TimedStream::call_to_result(const Call& c) {
  c.plan->enqueue(c.in, c.out, stream_);
  if (c.info.result != ResultLocation::on_device) return c.plan->finish(c.result, stream_);
  copy_result(c);
  synchronize();
}

void TimedStream::warm_up_host() {
  std::array<std::byte, 4> value{};
  const Call call{
      .plan = empty_.get(), .info = empty_->info(), .out = l2_.sum(), .result_bytes = 4, .result = value.data()};
  for (int i = 0; i < 32; ++i) call_to_result(call);  // a multiple of eight kernels: no turn is lost
}

void TimedStream::collect(const Call& c) {
  if (c.info.result != ResultLocation::on_device) {
    c.plan->finish(c.result, stream_);
    return;
  }
  if (c.result) copy_result(c);
  synchronize();
  take_result(c);
}

/// One output arrives in page-locked memory; many, of rows and the like, where they are wanted.
void TimedStream::copy_result(const Call& c) {
  void* const to = c.result_bytes <= result_->size() ? result_->data() : c.result;
  check(cudaMemcpyAsync(to, c.out, c.result_bytes, cudaMemcpyDeviceToHost, native(stream_)), "copying the result");
}

void TimedStream::take_result(const Call& c) {
  if (c.result && c.result_bytes <= result_->size()) std::memcpy(c.result, result_->data(), c.result_bytes);
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
void TimedStream::prepare(const Call& c, CacheState cache, Sampled what, const std::function<void()>& enqueue,
                          Changed& changed) {
  if (!turns_.knows(c.plan)) turns_.learn(c.plan, kernels_of(c));
  begin_.record(stream_);
  bring_into_state(c, cache, what, enqueue, changed);
  ready_.record(stream_);
}

void TimedStream::bring_into_state(const Call& c, CacheState cache, Sampled what,
                                   const std::function<void()>& enqueue, Changed& changed) {
  if (cache == CacheState::warm) {
    restore_and_poison(c);
    take_next_turn(c, turns_.kernels_of(c.plan) + changed.kernels(), what);
    enqueue();
    called(c, what);
    changed.make();
    return poison(c);
  }
  if (c.in_loop) {
    restore_and_poison(c);
    enqueue();
    called(c, what);
  }
  changed.make();
  restore_and_poison(c);
  const bool clean = cache == CacheState::cold_clean;
  take_next_turn(c, 1 + clean, what);
  l2_.overwrite();
  if (clean) l2_.clean();
}

void TimedStream::called(const Call& c, Sampled what) {
  if (what == Sampled::graph_behind_hold)
    turns_.launched_uncounted();
  else
    turns_.called(c.plan);
}

/// A call of two launches takes one of two times (cub/sum at 2^16 on an H200: 6.2 or 7.3 us), by how many launches its
/// stream saw before, modulo eight. Calls of the same few plans in turn would each keep one of the eight turns for
/// ever. So up to seven empty kernels precede each sample and bring it into a turn that it has not had yet.
void TimedStream::take_next_turn(const Call& c, unsigned between, Sampled what) {
  if (what == Sampled::graph_behind_hold) return;
  const bool held = what == Sampled::behind_hold;
  const unsigned kernels = turns_.missing_before(c.plan, between + held, held);
  for (unsigned i = 0; i < kernels; ++i) empty_->enqueue(nullptr, nullptr, stream_);
  turns_.launched(kernels);
}

/// How many kernels one call launches, counted in a captured graph that never runs. Copies within the device and
/// memsets are kernels, too, unless small enough to be set with the launch. Nothing where the call waits for the device
/// and cannot be captured.
std::optional<unsigned> TimedStream::kernels_of(const Call& c) {
  if (c.info.result == ResultLocation::on_host) return std::nullopt;
  constexpr std::size_t set_with_the_launch = 4096;  // bytes; so much is, on an H200
  if (cudaStreamBeginCapture(native(stream_), cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  bool captured = true;
  try {
    c.plan->enqueue(c.in, c.out, stream_);
  } catch (const std::exception&) {
    captured = false;  // the timed call will say so
  }
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(native(stream_), &graph) != cudaSuccess || !captured) {
    cudaGetLastError();
    if (graph) cudaGraphDestroy(graph);
    return std::nullopt;
  }
  std::size_t count = 0;
  cudaGraphGetNodes(graph, nullptr, &count);
  std::vector<cudaGraphNode_t> nodes(count);
  cudaGraphGetNodes(graph, nodes.data(), &count);
  unsigned kernels = 0;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    cudaGraphNodeGetType(node, &type);
    if (type == cudaGraphNodeTypeKernel) {
      ++kernels;
    } else if (type == cudaGraphNodeTypeMemset) {
      cudaMemsetParams set{};
      cudaGraphMemsetNodeGetParams(node, &set);
      kernels += set.elementSize * set.width * set.height > set_with_the_launch;
    } else if (type == cudaGraphNodeTypeMemcpy) {
      cudaMemcpy3DParms copy{};
      cudaGraphMemcpyNodeGetParams(node, &copy);
      kernels += copy.kind == cudaMemcpyDeviceToDevice;
    }
  }
  cudaGraphDestroy(graph);
  cudaGetLastError();
  return kernels;
}

void TimedStream::restore_and_poison(const Call& c) {
  if (c.pristine) {
    check(cudaMemcpyAsync(c.in, c.pristine, c.input_bytes, cudaMemcpyDeviceToDevice, native(stream_)),
          "restoring the input");
    turns_.launched();
  }
  poison(c);
}

void TimedStream::poison(const Call& c) {
  if (c.out && c.result_bytes)
    check(cudaMemsetAsync(c.out, 0xFF, c.result_bytes, native(stream_)), "poisoning the output");
  if (c.result) std::memset(c.result, 0xFF, c.result_bytes);
}

}  // namespace reductio::cuda
