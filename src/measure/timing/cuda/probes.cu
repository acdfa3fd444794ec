/// Kernels that read the clocks of every SM and follow chains of loads, and what is made of their readings.

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <string>

#include "device/kernel.h"
#include "measure/timing/cuda/timed_stream.h"
#include "measure/timing/probes.h"

namespace reductio {
namespace cuda {
namespace {

using device::globaltimer;
using device::load_acquire;
using device::load_relaxed;
using device::store_relaxed;
using device::store_release;

constexpr int repeats = 15;
constexpr std::size_t line_bytes = 256;  ///< between the chain's elements: two cache lines, so that none brings another

__device__ unsigned this_sm() {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  return sm;
}

/// The GPU's one clock right after its step, so that what is read next belongs to this time.
__device__ std::uint64_t next_step() {
  const std::uint64_t before = globaltimer();
  std::uint64_t now = before;
  while (now == before) now = globaltimer();
  return now;
}

/// Launch: one thread a block, a block an SM. Block b stores what it read in out[b].
__global__ void read_sm_clocks(SmClocks* out, std::uint64_t apart_ns) {
  SmClocks r;
  r.sm = this_sm();
  r.first_ns = next_step();
  r.first_cycles = static_cast<std::uint64_t>(clock64());
  do {
    r.last_ns = next_step();
    r.last_cycles = static_cast<std::uint64_t>(clock64());
  } while (r.last_ns - r.first_ns < apart_ns);
  out[blockIdx.x] = r;
}

/// Of two blocks that ask and answer, each in a cache line of its own.
struct alignas(128) Mailbox {
  unsigned asked, answered;
  std::uint64_t at_ns;
};

/// Waits until *p is `wanted`; false after seconds, so that no fault hangs the GPU. Acquires what was stored before, or
/// is relaxed.
template <bool acquire = true>
__device__ bool becomes(unsigned* p, unsigned wanted) {
  for (unsigned i = 0; i < 1u << 22; ++i)
    if ((acquire ? load_acquire(p) : load_relaxed(p)) == wanted) return true;
  return false;
}

/// Block 0 asks every other block in turn `count` times; that block answers with its reading of the clock. The middle
/// of question and answer tells which clock is ahead, as NTP does. Launch: cooperative, as blocks wait for each other;
/// one thread a block, a block an SM; mailboxes of zeros.
__global__ void exchange_clocks(Mailbox* boxes, Exchanges* out, unsigned count) {
  Exchanges& own = out[blockIdx.x];
  own.sm = this_sm();
  if (blockIdx.x > 0) {
    Mailbox& box = boxes[blockIdx.x];
    // Waits for all the blocks before it.
    for (unsigned i = 1; i <= count; ++i) {
      if (!becomes(&box.asked, i)) return;
      box.at_ns = globaltimer();
      store_release(&box.answered, i);  // with the reading
    }
    return;
  }
  own.count = own.twice_offset_ns = own.round_trip_ns = 0;
  for (unsigned b = 1; b < gridDim.x; ++b) {
    Exchanges& other = out[b];
    std::int64_t twice_offset = 0, round_trip = 0, done = 0;
    for (unsigned i = 1; i <= count; ++i) {
      const std::uint64_t asked = globaltimer();
      store_release(&boxes[b].asked, i);
      if (!becomes(&boxes[b].answered, i)) break;
      const std::uint64_t answered = globaltimer();
      const std::uint64_t at = boxes[b].at_ns;
      twice_offset += static_cast<std::int64_t>(at - asked) - static_cast<std::int64_t>(answered - at);
      round_trip += static_cast<std::int64_t>(answered - asked);
      ++done;
    }
    other.count = done;
    other.twice_offset_ns = twice_offset;
    other.round_trip_ns = round_trip;
  }
}

/// Block 0 sends every other block in turn `count` words, which that block sends back, by relaxed accesses as
/// tuned/finish.h uses, without reading a clock. Launch: as exchange_clocks.
__global__ void pass_words(Mailbox* boxes, Exchanges* out, unsigned count) {
  Exchanges& own = out[blockIdx.x];
  own.sm = this_sm();
  if (blockIdx.x > 0) {
    Mailbox& box = boxes[blockIdx.x];
    for (unsigned i = 1; i <= count; ++i) {
      if (!becomes<false>(&box.asked, i)) return;
      store_relaxed(&box.answered, i);
    }
    return;
  }
  own.count = own.twice_offset_ns = own.round_trip_ns = 0;
  for (unsigned b = 1; b < gridDim.x; ++b) {
    Mailbox& box = boxes[b];
    unsigned i = 1;
    const std::uint64_t first = next_step();
    for (; i <= count; ++i) {
      store_relaxed(&box.asked, i);
      if (!becomes<false>(&box.answered, i)) break;
    }
    out[b].round_trip_ns = static_cast<std::int64_t>(globaltimer() - first);
    out[b].count = i - 1;
    out[b].twice_offset_ns = 0;
  }
}

/// A chain: each line begins with the address of the next.
struct Link {
  const Link* next;
};

struct Chase {
  const Link* at;  ///< where the chain continues
  std::uint64_t cycles, ns;
};

/// `timed` atomic updates of words in `lines` lines in turn, of which each waits for the one before.
__global__ void update_in_turn(Chase* chase, unsigned long long* words, std::uint32_t lines, std::uint32_t timed) {
  constexpr std::uint32_t words_per_line = line_bytes / sizeof(unsigned long long);
  unsigned long long before = 0;
  std::uint64_t ns = 0;
  long long cycles = 0;
  for (std::uint32_t i = 0; i < 2 * timed; ++i) {  // the first half warms
    if (i == timed) {
      ns = next_step();
      cycles = clock64();
    }
    before = atomicAdd(words + i % lines * words_per_line, (before >> 63) + 1);
  }
  chase->cycles = static_cast<std::uint64_t>(clock64() - cycles) + (before >> 63);
  chase->ns = globaltimer() - ns;
}

/// Joins `lines` lines from `chain` on in this order, the last with the first.
__global__ void join_lines(std::byte* chain, const std::uint32_t* order, std::uint32_t lines) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x)
    reinterpret_cast<Link*>(chain + order[i] * line_bytes)->next =
        reinterpret_cast<const Link*>(chain + order[i + 1 < lines ? i + 1 : 0] * line_bytes);
}

/// A load that L1 may answer, and one that it may not.
struct ByL1 {
  static __device__ const Link* load(const Link* p) {
    const Link* next;
    asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(p) : "memory");
    return next;
  }
};
struct ByL2 {
  static __device__ const Link* load(const Link* p) {
    const Link* next;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(next) : "l"(p) : "memory");
    return next;
  }
};

/// Follows the chain for `warm` loads, and then for `timed`, a multiple of 16, of which each waits for the one before;
/// nothing is computed in between.
template <class Load>
__global__ void follow(Chase* chase, std::uint32_t warm, std::uint32_t timed) {
  const Link* p = chase->at;
  for (std::uint32_t i = 0; i < warm; ++i) p = Load::load(p);
  const std::uint64_t ns = next_step();
  const long long cycles = clock64();
  for (std::uint32_t i = 0; i < timed; i += 16) {
#pragma unroll
    for (int k = 0; k < 16; ++k) p = Load::load(p);
  }
  chase->at = p;  // so that it is waited for
  chase->cycles = static_cast<std::uint64_t>(clock64() - cycles);
  chase->ns = globaltimer() - ns;
}

class Probing {
 public:
  explicit Probing(Backend& backend) : backend_(backend), stream_(backend, 0.3) {
    int gpu = 0, most = 0;
    check(cudaGetDevice(&gpu), "asking for the GPU in use");
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu), "asking for the shared memory");
    shared_bytes_ = static_cast<std::size_t>(most);
  }

  std::vector<Probe> all() {
    for (int r = 0; r < repeats; ++r)
      add({"globaltimer_resolution", std::nullopt, r, 1e9 * stream_.clocks().globaltimer_resolution_s(), "ns"});
    clocks();
    exchanges<exchange_clocks>(exchange_probes);
    exchanges<pass_words>(message_probes);
    updates();
    const std::size_t l2 = std::max<std::size_t>(backend_.info().l2_bytes, 1u << 20);
    // A part of L1; an eighth of L2, which either half of a divided L2 holds; and more than L2, or a flushed part of
    // it, on few pages.
    latency<ByL1>("load_latency_l1", 16 << 10, false, 4096);
    latency<ByL2>("load_latency_l2", l2 / 8, false, 8192);
    latency<ByL2>("load_latency_memory", 5 * l2, true, 8192);
    latency<ByL2>("load_latency_memory_few_pages", 4 << 20, true, 8192);
    return out_;
  }

 private:
  void add(Probe p) { out_.push_back(std::move(p)); }
  void add(std::vector<Probe> probes) { out_.insert(out_.end(), probes.begin(), probes.end()); }
  cudaStream_t native_stream() const { return native(stream_.get()); }
  unsigned sms() const { return static_cast<unsigned>(backend_.info().sm_count); }

  template <class T>
  std::vector<T> copied(const DeviceMemory& memory, std::size_t count) {
    std::vector<T> out(count);
    backend_.copy_out(out.data(), memory.get(), count * sizeof(T), stream_.get());
    return out;
  }
  /// Gives each block an SM of its own: with all of the shared memory, no two fit.
  template <class Kernel>
  void take_whole_sms(Kernel* kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes_)),
          "asking for all of the shared memory");
  }
  template <class Reading>
  void must_cover_all_sms(std::vector<Reading> readings) {
    std::vector<unsigned> numbers;
    for (const Reading& r : readings) numbers.push_back(r.sm);
    std::sort(numbers.begin(), numbers.end());
    if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end())
      throw DeviceError("two blocks of a probe shared an SM; is something else running on this GPU?");
  }

  void clocks() {
    const DeviceMemory memory(backend_, sms() * sizeof(SmClocks));
    take_whole_sms(read_sm_clocks);
    for (int r = -1; r < repeats; ++r) {  // the first launch loads the kernel, which counts for nothing
      read_sm_clocks<<<sms(), 1, shared_bytes_, native_stream()>>>(static_cast<SmClocks*>(memory.get()), 200'000);
      check(cudaGetLastError(), "reading the clocks of all SMs");
      const auto readings = copied<SmClocks>(memory, sms());
      must_cover_all_sms(readings);
      if (r >= 0) add(clock_probes(readings, r));
    }
  }

  template <void (*kernel)(Mailbox*, Exchanges*, unsigned)>
  void exchanges(std::vector<Probe> (*probes_of)(std::span<const Exchanges>, int)) {
    const DeviceMemory boxes(backend_, sms() * sizeof(Mailbox)), memory(backend_, sms() * sizeof(Exchanges));
    take_whole_sms(kernel);
    for (int r = -1; r < repeats; ++r) {
      backend_.fill(boxes.get(), 0, boxes.size(), stream_.get());
      device::launch_cooperative<kernel>({sms(), 1, shared_bytes_, stream_.get().handle},
                                         static_cast<Mailbox*>(boxes.get()), static_cast<Exchanges*>(memory.get()),
                                         asked_);
      const auto counted = copied<Exchanges>(memory, sms());
      must_cover_all_sms(counted);
      for (std::size_t b = 1; b < counted.size(); ++b)
        if (counted[b].count != asked_)
          throw DeviceError("an SM did not answer in time; is something else running on this GPU?");
      if (r >= 0) add(probes_of(counted, r));
    }
  }

  /// Of one dependent atomic update, in cycles and in ns, as two records.
  void updates() {
    constexpr std::uint32_t lines = 64, timed = 4096;
    const DeviceMemory words(backend_, lines * line_bytes), chase(backend_, sizeof(Chase));
    backend_.fill(words.get(), 0, words.size(), stream_.get());
    for (int r = 0; r < repeats; ++r) {
      update_in_turn<<<1, 1, 0, native_stream()>>>(static_cast<Chase*>(chase.get()),
                                                   static_cast<unsigned long long*>(words.get()), lines, timed);
      check(cudaGetLastError(), "timing atomic updates");
      const Chase took = copied<Chase>(chase, 1).front();
      add({"atomic_latency_l2", std::nullopt, r, static_cast<double>(took.cycles) / timed, "cycles"});
      add({"atomic_latency_l2", std::nullopt, r, static_cast<double>(took.ns) / timed, "ns"});
    }
  }

  /// Of one dependent load, in cycles and in ns, as two records. `flushed`: of lines that no cache holds. Else the
  /// whole chain is followed before.
  template <class Load>
  void latency(const std::string& quantity, std::size_t bytes, bool flushed, std::uint32_t timed) {
    const auto lines = static_cast<std::uint32_t>(bytes / line_bytes);
    const DeviceMemory chain = memory_for("the chain of " + quantity, backend_, lines * line_bytes);
    const DeviceMemory chase(backend_, sizeof(Chase)), joined(backend_, lines * sizeof(std::uint32_t));
    // In random order, so that nothing can be fetched ahead.
    std::vector<std::uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    backend_.copy_in(joined.get(), order.data(), joined.size(), stream_.get());
    join_lines<<<sms(), 256, 0, native_stream()>>>(chain.bytes_at(0), static_cast<std::uint32_t*>(joined.get()), lines);
    check(cudaGetLastError(), "joining a chain of loads");
    Chase next{.at = static_cast<const Link*>(chain.get()), .cycles = 0, .ns = 0};
    backend_.copy_in(chase.get(), &next, sizeof next, stream_.get());
    for (int r = -1; r < repeats; ++r) {
      if (flushed) {
        stream_.l2().overwrite();
        stream_.l2().clean();
      }
      follow<Load><<<1, 1, 0, native_stream()>>>(static_cast<Chase*>(chase.get()), flushed ? 0 : lines, timed);
      check(cudaGetLastError(), "following a chain of loads");
      next = copied<Chase>(chase, 1).front();
      if (r < 0) continue;
      add({quantity, std::nullopt, r, static_cast<double>(next.cycles) / timed, "cycles"});
      add({quantity, std::nullopt, r, static_cast<double>(next.ns) / timed, "ns"});
    }
  }

  static constexpr unsigned asked_ = 64;  ///< questions to each SM
  Backend& backend_;
  TimedStream stream_;
  std::size_t shared_bytes_ = 0;
  std::vector<Probe> out_;
};

}  // namespace
}  // namespace cuda

std::vector<Probe> probe_gpu(Backend& backend) { return cuda::Probing(backend).all(); }

}  // namespace reductio
