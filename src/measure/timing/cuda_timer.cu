/// The timer of an NVIDIA GPU. Everything that a sample does is ordered in one stream of its own, which does not wait
/// for the default stream:
///
///   device       restore, poison, set the cache state, hold | start event, call, stop event | release the hold, wait
///   end_to_end   restore, poison, set the cache state, wait until idle | call, copy 16 bytes to pinned memory, wait
///   graph        as device, with a graph of many calls, each of which waits for the one before, as the call. Warm, all
///                read the same input; cold_clean, each reads another copy of it, twice L2 in all, so that what one call
///                leaves in L2 is evicted before a call wants it again
///   globaltimer  the kernels' own readings of the GPU's one clock; clock: of their SMs' cycles
///
/// The hold is a kernel that spins until the host says go. Until then nothing behind it starts, so when it ends, the
/// start event, the call's launches and the stop event are all queued already and no host latency lies between them.

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "device/device.h"
#include "measure/stats/statistics.h"
#include "measure/timing/timer.h"

namespace reductio {
namespace {

using device::check;
using device::native;

// ------------------------------------------------------------------------------------------------- memory of the timer

struct CudaFree {
  void operator()(void* p) const { cudaFree(p); }
};
struct CudaFreeHost {
  void operator()(void* p) const { cudaFreeHost(p); }
};
using DeviceBytes = std::unique_ptr<void, CudaFree>;

DeviceBytes device_bytes(std::size_t bytes) {
  void* p = nullptr;
  if (cudaMalloc(&p, bytes) != cudaSuccess) {
    cudaGetLastError();
    throw DeviceError("not enough GPU memory to flush the cache: " + std::to_string(bytes >> 20) + " MiB are needed");
  }
  return DeviceBytes(p);
}

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "making an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  void record(cudaStream_t s) { check(cudaEventRecord(event_, s), "recording an event"); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// -------------------------------------------------------------------------------------------------- holding the stream

/// Shared between host and GPU, in pinned host memory. Tickets only grow, so nothing is ever reset: a hold ends when
/// `released` has reached its ticket.
struct HoldControl {
  std::uint64_t released;
  std::uint64_t timed_out;  ///< the last ticket whose hold ended by its limit
};

/// One thread. The limit makes a call that waits for the device inside enqueue() an error instead of a deadlock.
__global__ void hold(volatile HoldControl* control, std::uint64_t ticket, std::uint64_t limit_ns) {
  const std::uint64_t start = device::globaltimer();
  while (control->released < ticket) {
    if (device::globaltimer() - start > limit_ns) {
      control->timed_out = ticket;
      __threadfence_system();  // visible to the host before the events behind this kernel complete
      return;
    }
  }
}

// ------------------------------------------------------------------------------------------- kernels that bound others

/// What one thread reads of both clocks. The GPU's one clock advances in ticks, so both readings wait for one.
struct ClockPair {
  std::uint64_t cycles, ns;
};
__global__ void read_clocks(volatile ClockPair* out, std::uint64_t at_least_ns) {
  std::uint64_t start = device::globaltimer(), now = start;
  while (now == start) now = device::globaltimer();
  const long long first = clock64();
  start = now;
  while (now - start < at_least_ns) now = device::globaltimer();
  out->cycles = static_cast<std::uint64_t>(clock64() - first);
  out->ns = now - start;
}

/// The least step of the GPU's one clock, over many.
__global__ void read_resolution(volatile ClockPair* out) {
  std::uint64_t least = ~std::uint64_t{0}, last = device::globaltimer();
  for (int i = 0; i < 200; ++i) {
    std::uint64_t now = last;
    while (now == last) now = device::globaltimer();
    if (i > 0 && now - last < least) least = now - last;  // the first step began before this kernel
    last = now;
  }
  out->ns = least;
}

__global__ void empty() {}

/// Runs for about `ns`; intervals of many lengths show the tick of the events' clock.
__global__ void busy(std::uint64_t ns) {
  const std::uint64_t start = device::globaltimer();
  while (device::globaltimer() - start < ns) {
  }
}

struct Cached {
  static __device__ uint4 load(const uint4* p) { return __ldg(p); }
};
/// Past L1, which a sum has no use for: better between 2^20 and 2^24 elements on an H200, worse beyond.
struct PastL1 {
  static __device__ uint4 load(const uint4* p) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
  }
};

/// Reads every vector once, Unroll of them in flight per thread, and adds them up, so that the loads are needed. The
/// sum is stored only where it equals `never`, which the compiler cannot rule out.
template <int Block, int Unroll, class Load>
__global__ void __launch_bounds__(Block)
    read_only(const uint4* in, std::size_t vectors, unsigned* out, unsigned never) {
  constexpr std::size_t tile = std::size_t{Block} * Unroll;
  unsigned sum = 0;
  for (std::size_t first = blockIdx.x * tile; first < vectors; first += gridDim.x * tile) {
    uint4 v[Unroll];
    if (first + tile <= vectors) {
#pragma unroll
      for (int u = 0; u < Unroll; ++u) v[u] = Load::load(in + first + u * Block + threadIdx.x);
    } else {
#pragma unroll
      for (int u = 0; u < Unroll; ++u) {
        const std::size_t i = first + u * Block + threadIdx.x;
        v[u] = i < vectors ? Load::load(in + i) : uint4{0, 0, 0, 0};
      }
    }
#pragma unroll
    for (int u = 0; u < Unroll; ++u) sum += v[u].x + v[u].y + v[u].z + v[u].w;
  }
  if (sum == never) *out = sum;
}

class EmptyPlan final : public Plan {
 public:
  PlanInfo info() const override { return {.grid_blocks = 1, .block_threads = 32}; }
  void enqueue(void*, void*, Stream s) override {
    empty<<<1, 32, 0, native(s)>>>();
    check(cudaGetLastError(), "launching an empty kernel");
  }
};

class BusyPlan final : public Plan {
 public:
  explicit BusyPlan(std::uint64_t ns) : ns_(ns) {}
  PlanInfo info() const override { return {.grid_blocks = 1, .block_threads = 1}; }
  void enqueue(void*, void*, Stream s) override {
    busy<<<1, 1, 0, native(s)>>>(ns_);
    check(cudaGetLastError(), "launching a spinning kernel");
  }

 private:
  std::uint64_t ns_;
};

/// A shape of read_only. Any alignment: the vectors that hold the first and the last byte are read whole, which stays
/// inside the allocation because allocations are aligned to, and padded to, more than one vector.
struct ReadShape {
  std::string name;
  void (*kernel)(const uint4*, std::size_t, unsigned*, unsigned);
  int block, unroll;
  int blocks_per_sm;  ///< most blocks of the grid for each SM; 0: a block for every tile
};

template <int Block, int Unroll, class Load>
ReadShape read_shape(std::string name, int blocks_per_sm) {
  return {std::move(name), read_only<Block, Unroll, Load>, Block, Unroll, blocks_per_sm};
}

/// One for each end of what is fast: one or many loads in flight, a grid that stays or a block for every tile, small
/// blocks for inputs of few vectors.
std::vector<ReadShape> read_shapes() {
  return {read_shape<512, 4, Cached>("read/512x4", 4),       read_shape<512, 4, PastL1>("read/512x4/past-l1", 4),
          read_shape<256, 8, Cached>("read/256x8/tiles", 0), read_shape<256, 8, PastL1>("read/256x8/tiles/past-l1", 0),
          read_shape<1024, 1, Cached>("read/1024x1", 2),     read_shape<128, 1, Cached>("read/128x1", 16)};
}

class ReadPlan final : public Plan {
 public:
  ReadPlan(ReadShape shape, std::size_t bytes, int sm_count) : shape_(std::move(shape)), bytes_(bytes) {
    const std::size_t vectors = bytes / sizeof(uint4) + 1, tile = std::size_t(shape_.block) * shape_.unroll;
    grid_ = (vectors + tile - 1) / tile;
    if (shape_.blocks_per_sm) grid_ = std::min<std::size_t>(grid_, std::size_t(shape_.blocks_per_sm) * sm_count);
    grid_ = std::min<std::size_t>(grid_, 0x7fffffff);
  }
  PlanInfo info() const override {
    return {.grid_blocks = grid_, .block_threads = static_cast<unsigned>(shape_.block)};
  }
  void enqueue(void* in, void* out, Stream s) override {
    const auto address = reinterpret_cast<std::uintptr_t>(in), first = address / sizeof(uint4) * sizeof(uint4);
    const std::size_t vectors = (address + bytes_ - first + sizeof(uint4) - 1) / sizeof(uint4);
    shape_.kernel<<<static_cast<unsigned>(grid_), shape_.block, 0, native(s)>>>(
        reinterpret_cast<const uint4*>(first), vectors, static_cast<unsigned*>(out), 0x9e3779b9u);
    check(cudaGetLastError(), "launching a read-only kernel");
  }

 private:
  ReadShape shape_;
  std::size_t bytes_, grid_ = 1;
};

// ----------------------------------------------------------------------------------------------------------- the timer

class CudaTimer final : public Timer {
 public:
  explicit CudaTimer(Backend& backend)
      : backend_(backend),
        stream_(backend.create_stream()),
        flush_bytes_(2 * std::max<std::size_t>(backend.info().l2_bytes, 1u << 20)),
        written_(device_bytes(flush_bytes_)),
        read_(device_bytes(flush_bytes_)),
        scratch_(device_bytes(256)),
        evict_by_reading_(read_shapes().front(), flush_bytes_, backend.info().sm_count) {
    void* p = nullptr;
    check(cudaHostAlloc(&p, sizeof(Pinned), cudaHostAllocMapped), "allocating pinned memory");
    pinned_.reset(static_cast<Pinned*>(p));
    *pinned_ = {};
    // Lines that an earlier program pinned would survive every flush. This touches this process's own context only.
    if (cudaCtxResetPersistingL2Cache() != cudaSuccess) cudaGetLastError();  // GPUs without such lines
    check(cudaMemsetAsync(read_.get(), 1, flush_bytes_, native(stream_)), "filling GPU memory");
    load_kernels();
    wake_up();
    // What memory can do is seen before this timer's samples free any; the last run's may still be overwritten.
    for (int i = 0; i < 20; ++i) {
      wait_until_memory_idle();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    host_resolution_s_ = reductio::host_clock_resolution_s();
    event_resolution_s_ = measure_event_resolution();
    read_resolution<<<1, 1, 0, native(stream_)>>>(&pinned_->clocks);
    check(cudaGetLastError(), "reading the GPU's clock");
    synchronize();
    globaltimer_resolution_s_ = 1e-9 * static_cast<double>(pinned_->clocks.ns);
  }
  CudaTimer(const CudaTimer&) = delete;

  ~CudaTimer() override {
    for (auto& [key, graph] : graphs_) cudaGraphExecDestroy(graph.exec);
    cudaStreamSynchronize(native(stream_));  // nothing that still runs may read what is freed next
    backend_.destroy_stream(stream_);
  }

  std::string refusal(TimingMode mode, CacheState cache) const override {
    if (mode == TimingMode::graph && cache == CacheState::cold_dirty)
      return "nothing can dirty the cache between a graph's calls without being timed; timed warm and cold_clean";
    return {};
  }

  double run(const Call& c) override {
    restore_and_poison(c);
    synchronize();
    const double start = host_now();
    c.plan->enqueue(c.in, c.out, stream_);
    stop_.record(native(stream_));
    wait_patiently(stop_);
    collect(c);
    return host_now() - start;
  }

  Sample sample(const Call& c, TimingMode mode, CacheState cache) override {
    const double begin = host_now();
    Sample s;
    prepared_s_ = 0;
    switch (mode) {
      case TimingMode::device:
        s.seconds = s.timed_s = device_interval(c, cache);
        collect(c);
        break;
      case TimingMode::graph: {
        const Graph& graph = graph_of(c, cache);
        s.timed_s = graph_interval(c, graph, cache);
        s.seconds = s.timed_s / graph.calls;
        collect(c);
        break;
      }
      case TimingMode::end_to_end:
        s.seconds = s.timed_s = end_to_end_interval(c, cache);
        if (c.info.result == ResultLocation::host_part) {
          // A call of its own, so that events do not disturb the end-to-end time. The value that counts is the timed
          // call's.
          if (const auto reading = c.plan->clock_reading()) s.cycles = reading->cycles;
          std::array<std::byte, 16> value{};
          std::memcpy(value.data(), c.result, c.result_bytes);
          s.device_part_s = device_interval(c, cache);
          s.timed_s += *s.device_part_s;
          collect(c);
          std::memcpy(c.result, value.data(), c.result_bytes);
        }
        break;
      case TimingMode::clock:
      case TimingMode::globaltimer:
        s.timed_s = end_to_end_interval(c, cache);
        if (const auto reading = c.plan->clock_reading(); reading && mode == TimingMode::globaltimer)
          s.seconds = reading->seconds;
        break;
    }
    if (!s.cycles)
      if (const auto reading = c.plan->clock_reading()) s.cycles = reading->cycles;
    s.prepared_s = prepared_s_;
    s.cost_s = host_now() - begin;
    return s;
  }

  double resolution_s(TimingMode mode) const override {
    switch (mode) {
      case TimingMode::device: return event_resolution_s_;
      case TimingMode::graph: return event_resolution_s_;  // of the whole graph; a call's share is finer
      case TimingMode::end_to_end: return host_resolution_s_;
      case TimingMode::globaltimer: return globaltimer_resolution_s_;
      case TimingMode::clock: return 0;  // in cycles, not in seconds
    }
    return 0;
  }

  std::unique_ptr<Plan> empty_plan() override { return std::make_unique<EmptyPlan>(); }

  std::vector<HarnessPlan> read_plans(std::size_t bytes, TimingMode mode) override {
    std::vector<HarnessPlan> out;
    if ((mode != TimingMode::device && mode != TimingMode::graph) || bytes == 0) return out;
    for (auto& shape : read_shapes())
      out.push_back({shape.name, std::make_unique<ReadPlan>(shape, bytes, backend_.info().sm_count)});
    return out;
  }

  std::unique_ptr<Plan> followed_by_spin(std::unique_ptr<Plan> plan, double seconds) override {
    auto spin = std::make_shared<BusyPlan>(static_cast<std::uint64_t>(seconds * 1e9 + 0.5));
    return followed_by(std::move(plan), [spin](Stream s) { spin->enqueue(nullptr, nullptr, s); });
  }

  std::optional<CacheProbe> probe_cache() override {
    const std::size_t bytes = std::max<std::size_t>(backend_.info().l2_bytes / 4, 1u << 20);
    const DeviceBytes memory = device_bytes(bytes);
    check(cudaMemsetAsync(memory.get(), 1, bytes, native(stream_)), "filling GPU memory");
    ReadPlan plan(read_shapes().front(), bytes, backend_.info().sm_count);
    const Call c{.plan = &plan, .info = plan.info(), .in = memory.get(), .out = scratch_.get()};
    return probe_of(bytes, 21, [&](CacheState cache) { return device_interval(c, cache); });
  }

  std::optional<double> clock_hz() override {
    // Twenty microseconds are several hundred ticks of the GPU's one clock: a quarter of a percent.
    read_clocks<<<1, 1, 0, native(stream_)>>>(&pinned_->clocks, 20000);
    check(cudaGetLastError(), "reading the GPU's clocks");
    synchronize();
    return 1e9 * static_cast<double>(pinned_->clocks.cycles) / static_cast<double>(pinned_->clocks.ns);
  }

  void let_clock_recover() override { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

  /// After cudaFree the driver's scrubber overwrites what was given back, for milliseconds a gigabyte, while kernels
  /// run already: they miss the bandwidth.
  bool wait_until_memory_idle() override {
    const bool rests = memory_settled_.wait(
        [&] {
          overwrite_cache();  // so that what must be written back is the same each time: L2 full of dirty lines
          return held_interval([&] {
            for (int i = 0; i < 4; ++i) overwrite_cache();  // what is noise in one is none in four
          });
        },
        [&] {
          for (int i = 0; i < 20; ++i) overwrite_cache();  // a GPU that only slept would lower its clock
          synchronize();
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    clean_cache();  // a warm sample shall not write it back
    return rests;
  }

  void forget(const Plan* plan) override {
    std::erase_if(graphs_, [&](const auto& entry) {
      if (std::get<0>(entry.first) != plan) return false;
      cudaGraphExecDestroy(entry.second.exec);
      return true;
    });
    if (graphs_.empty()) copies_.reset();  // the next visit's shall lie elsewhere, too
  }

  void in_range(const std::string& name, const std::function<void()>& body) override {
    nvtxRangePushA(name.c_str());
    struct Pop {
      ~Pop() { nvtxRangePop(); }
    } pop;
    body();
  }

 private:
  struct Pinned {
    HoldControl control;
    ClockPair clocks;
    std::array<std::byte, 16> result;
  };
  struct Graph {
    cudaGraphExec_t exec = nullptr;
    int calls = 0;
  };

  /// Ends the hold at the latest when it goes out of scope, so that an exception in between cannot leave it spinning.
  class Hold {
   public:
    Hold(CudaTimer& t) : control_(&t.pinned_->control), ticket_(++t.ticket_) {
      hold<<<1, 1, 0, native(t.stream_)>>>(control_, ticket_, hold_limit_ns);
      check(cudaGetLastError(), "launching the kernel that holds the stream");
    }
    ~Hold() { release(); }
    Hold(const Hold&) = delete;
    void release() { __atomic_store_n(&control_->released, ticket_, __ATOMIC_RELEASE); }
    /// Call after the work behind the hold is done.
    void must_not_have_timed_out() const {
      if (__atomic_load_n(&control_->timed_out, __ATOMIC_ACQUIRE) == ticket_)
        throw DeviceError("enqueue() waits for the device: the stream was held back for a second and the call was "
                          "still not queued");
    }

   private:
    HoldControl* control_;
    std::uint64_t ticket_;
  };

  static constexpr std::uint64_t hold_limit_ns = 1'000'000'000;

  void synchronize() { check(cudaStreamSynchronize(native(stream_)), "waiting for the stream"); }

  /// Polls, so that a call that never ends becomes a message.
  void wait_patiently(Event& event) {
    const double start = host_now();
    cudaError_t status;
    while ((status = cudaEventQuery(event.get())) == cudaErrorNotReady)
      if (host_now() - start > patience_s)
        throw CallTimeout("no result within " + std::to_string(static_cast<int>(patience_s)) + " s");
    cudaGetLastError();  // "not ready" is kept as the last error, which the next launch would take for its own
    check(status, "waiting for a call");
  }

  void restore_and_poison(const Call& c) {
    if (c.pristine)
      check(cudaMemcpyAsync(c.in, c.pristine, c.input_bytes, cudaMemcpyDeviceToDevice, native(stream_)),
            "restoring the input");
    poison(c);
  }

  void poison(const Call& c) {
    if (c.out && c.result_bytes)
      check(cudaMemsetAsync(c.out, 0xFF, c.result_bytes, native(stream_)), "poisoning the output");
    if (c.result) std::memset(c.result, 0xFF, c.result_bytes);
  }

  /// Leaves the call's value in c.result and the stream idle.
  void collect(const Call& c) {
    if (c.info.result != ResultLocation::on_device) {
      c.plan->finish(c.result, stream_);
      return;
    }
    if (c.result)
      check(cudaMemcpyAsync(pinned_->result.data(), c.out, c.result_bytes, cudaMemcpyDeviceToHost, native(stream_)),
            "copying the result");
    synchronize();
    if (c.result) std::memcpy(c.result, pinned_->result.data(), c.result_bytes);
  }

  /// Everything before the timed interval, between two events of its own. Asynchronous, except that plans which finish on
  /// the host wait when warm.
  void set_up(const Call& c, CacheState cache) {
    begin_.record(native(stream_));
    bring_into_state(c, cache);
    ready_.record(native(stream_));
  }

  void bring_into_state(const Call& c, CacheState cache) {
    restore_and_poison(c);
    if (cache == CacheState::warm) {
      c.plan->enqueue(c.in, c.out, stream_);
      if (c.info.result != ResultLocation::on_device) c.plan->finish(c.result, stream_);
      poison(c);
      return;
    }
    overwrite_cache();
    if (cache == CacheState::cold_clean) clean_cache();
  }

  /// Leaves L2 full of dirty lines of other memory.
  void overwrite_cache() {
    check(cudaMemsetAsync(written_.get(), 0x5A, flush_bytes_, native(stream_)), "flushing the cache");
  }
  /// Evicts the dirty lines: their write-back is paid here and not inside the next timed interval.
  void clean_cache() { evict_by_reading_.enqueue(read_.get(), scratch_.get(), stream_); }

  static double elapsed_s(const Event& from, const Event& to) {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, from.get(), to.get()), "reading the events");
    return static_cast<double>(ms) * 1e-3;
  }

  /// The stream is idle when this returns, unless the call itself failed.
  template <class Enqueue>
  double held_interval(Enqueue&& enqueue) {
    Hold holding(*this);
    start_.record(native(stream_));
    enqueue();
    stop_.record(native(stream_));
    holding.release();
    wait_patiently(stop_);
    holding.must_not_have_timed_out();
    return elapsed_s(start_, stop_);
  }

  template <class Enqueue>
  double prepared_interval(const Call& c, CacheState cache, Enqueue&& enqueue) {
    set_up(c, cache);
    const double s = held_interval(enqueue);
    prepared_s_ += elapsed_s(begin_, ready_);
    return s;
  }

  double device_interval(const Call& c, CacheState cache) {
    return prepared_interval(c, cache, [&] { c.plan->enqueue(c.in, c.out, stream_); });
  }

  double end_to_end_interval(const Call& c, CacheState cache) {
    set_up(c, cache);
    synchronize();
    const double start = host_now();
    c.plan->enqueue(c.in, c.out, stream_);
    if (c.info.result != ResultLocation::on_device) {
      c.plan->finish(c.result, stream_);
    } else {
      check(cudaMemcpyAsync(pinned_->result.data(), c.out, c.result_bytes, cudaMemcpyDeviceToHost, native(stream_)),
            "copying the result");
      synchronize();
    }
    const double end = host_now();
    if (c.info.result == ResultLocation::on_device && c.result)
      std::memcpy(c.result, pinned_->result.data(), c.result_bytes);
    prepared_s_ += elapsed_s(begin_, ready_);
    return end - start;
  }

  /// Time of all calls of a graph.
  double graph_interval(const Call& c, const Graph& graph, CacheState cache) {
    return prepared_interval(
        c, cache, [&] { check(cudaGraphLaunch(graph.exec, native(stream_)), "launching a graph"); });
  }

  /// Copies of an input, aligned as it is, that together are more than twice L2: who reads one after the other finds none
  /// of them there. An input larger than that evicts itself and is its own only copy.
  std::vector<void*> copies_of(const Call& c) {
    if (c.input_bytes == 0 || c.input_bytes >= flush_bytes_) return {c.in};
    constexpr std::size_t alignment = 256, most = 1024;
    const std::size_t offset = reinterpret_cast<std::uintptr_t>(c.in) % alignment;
    const std::size_t stride = (offset + c.input_bytes + sizeof(uint4) + alignment - 1) / alignment * alignment;
    const std::size_t count = flush_bytes_ / c.input_bytes + 2;
    if (count > most)
      throw Refused("a cold graph would need " + std::to_string(count) + " copies of this input to pass through twice L2, "
                    "more than " + std::to_string(most) + " calls");
    // As large as it can ever be needed, so that graphs which are captured already keep their copies.
    if (!copies_) copies_ = device_bytes(4 * flush_bytes_ + (std::size_t{1} << 20));
    std::vector<void*> out;
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(static_cast<std::byte*>(copies_.get()) + i * stride + offset);
      check(cudaMemcpyAsync(out.back(), c.in, c.input_bytes, cudaMemcpyDeviceToDevice, native(stream_)),
            "copying the input");
    }
    return out;
  }

  const Graph& graph_of(const Call& c, CacheState cache) {
    const std::tuple key(static_cast<const Plan*>(c.plan), static_cast<const void*>(c.in), cache);
    if (const auto at = graphs_.find(key); at != graphs_.end()) return at->second;
    const std::vector<void*> inputs = cache == CacheState::warm ? std::vector<void*>{c.in} : copies_of(c);
    // About two milliseconds, so that the graph's own launch is a small part and large inputs do not take for ever;
    // every copy the same number of times.
    const double one = std::max(device_interval(c, cache), 1e-7);
    Graph graph;
    const int wanted = static_cast<int>(std::clamp(2e-3 / one, 10.0, 100.0)), copies = static_cast<int>(inputs.size());
    graph.calls = (wanted + copies - 1) / copies * copies;
    cudaGraph_t captured = nullptr;
    check(cudaStreamBeginCapture(native(stream_), cudaStreamCaptureModeThreadLocal), "capturing a graph");
    try {
      for (int i = 0; i < graph.calls; ++i) c.plan->enqueue(inputs[static_cast<std::size_t>(i % copies)], c.out, stream_);
    } catch (...) {
      if (cudaStreamEndCapture(native(stream_), &captured) == cudaSuccess) cudaGraphDestroy(captured);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(native(stream_), &captured), "capturing a graph");
    const cudaError_t status = cudaGraphInstantiate(&graph.exec, captured, 0);
    cudaGraphDestroy(captured);
    check(status, "instantiating a graph");
    // The first launch uploads the graph; that is no part of a call.
    const cudaError_t first = cudaGraphLaunch(graph.exec, native(stream_));
    const cudaError_t done = first == cudaSuccess ? cudaStreamSynchronize(native(stream_)) : first;
    if (done != cudaSuccess) cudaGraphExecDestroy(graph.exec);
    check(done, "running a graph");
    return graphs_.emplace(key, graph).first->second;
  }

  /// Kernels are loaded when first launched, and loading may wait for the device: under a hold that would be a
  /// deadlock. Every kernel of the harness is launched once before any hold; plans are by run().
  void load_kernels() {
    EmptyPlan().enqueue(nullptr, nullptr, stream_);
    BusyPlan(0).enqueue(nullptr, nullptr, stream_);
    for (auto& shape : read_shapes())
      ReadPlan(shape, flush_bytes_, backend_.info().sm_count).enqueue(read_.get(), scratch_.get(), stream_);
    read_clocks<<<1, 1, 0, native(stream_)>>>(&pinned_->clocks, 0);
    pinned_->control.released = ++ticket_;
    hold<<<1, 1, 0, native(stream_)>>>(&pinned_->control, ticket_, hold_limit_ns);
    check(cudaGetLastError(), "launching the kernel that holds the stream");
    overwrite_cache();
    synchronize();
  }

  /// An idle GPU runs at a fraction of its clock and takes a while to notice that there is work.
  void wake_up() {
    for (const double start = host_now(); host_now() - start < 0.3;) {
      for (int i = 0; i < 20; ++i) overwrite_cache();
      synchronize();
    }
  }

  /// The least difference between two of many intervals of different lengths.
  double measure_event_resolution() {
    std::vector<double> s;
    for (int i = 0; i < 200; ++i) {
      BusyPlan plan(static_cast<std::uint64_t>(1000 + 37 * i));
      s.push_back(held_interval([&] { plan.enqueue(nullptr, nullptr, stream_); }));
    }
    std::sort(s.begin(), s.end());
    double resolution = 1e-3;
    // Differences below a tenth of a nanosecond are the rounding of the events' own float milliseconds.
    for (std::size_t i = 1; i < s.size(); ++i)
      if (const double d = s[i] - s[i - 1]; d > 1e-10) resolution = std::min(resolution, d);
    return resolution;
  }

  Backend& backend_;
  Stream stream_;
  std::size_t flush_bytes_;
  DeviceBytes written_, read_, scratch_;
  DeviceBytes copies_;  ///< of inputs of cold graphs; allocated when the first is captured
  ReadPlan evict_by_reading_;
  std::unique_ptr<Pinned, CudaFreeHost> pinned_;
  Event begin_, ready_;  ///< about bringing the cache into its state
  Event start_, stop_;   ///< about the call
  SettleDetector memory_settled_;
  std::uint64_t ticket_ = 0;
  std::map<std::tuple<const Plan*, const void*, CacheState>, Graph> graphs_;  ///< by plan, input and state
  double event_resolution_s_ = 0, host_resolution_s_ = 0, globaltimer_resolution_s_ = 0;
  double prepared_s_ = 0;  ///< of the sample under way
};

}  // namespace

std::unique_ptr<Timer> make_cuda_timer(Backend& backend) { return std::make_unique<CudaTimer>(backend); }

}  // namespace reductio
