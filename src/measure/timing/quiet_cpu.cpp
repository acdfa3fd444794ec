#include "measure/timing/quiet_cpu.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "measure/timing/host_clock.h"

namespace reductio {
namespace {

constexpr double tolerance = 1.08;
constexpr std::size_t most_surveyed = 32, looks_each = 8;

/// Keeps a value in a register, and the compiler from knowing it.
inline void hide(std::uint32_t& value) { asm volatile("" : "+r"(value)); }

volatile std::uint32_t result_of_work;

/// Each step waits for the one before, so a busy sibling takes nothing from it.
double dependent_s() {
  std::uint32_t x = 1;
  const double start = host_now();
  for (int i = 0; i < 4000; ++i) {
    x = x * 1664525u + 1013904223u;
    hide(x);
  }
  const double end = host_now();
  result_of_work = x;
  return end - start;
}

/// As many instructions at once as a core can issue.
double independent_s() {
  std::uint32_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  const double start = host_now();
  for (std::uint32_t i = 0; i < 1500; ++i) {
    a += i, c += i, e += i, g += i;
    b ^= a, d ^= c, f ^= e, h ^= g;
    a ^= h, c ^= b, e ^= d, g ^= f;
    hide(a), hide(b), hide(c), hide(d), hide(e), hide(f), hide(g), hide(h);
  }
  const double end = host_now();
  result_of_work = a + b + c + d + e + f + g + h;
  return end - start;
}

constexpr std::size_t line = 64 / sizeof(std::uint32_t);

std::size_t half_of_l2_bytes() {
  long l2 = -1;
#ifdef _SC_LEVEL2_CACHE_SIZE
  l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return std::clamp<std::size_t>(l2 > 0 ? static_cast<std::size_t>(l2) / 2 : 0, 128u << 10, 1u << 20);
}

/// One word of each line; all lines are in L2 unless another thread evicted them.
double reading_s() {
  static const std::vector<std::uint32_t> words(half_of_l2_bytes() / sizeof(std::uint32_t), 1);
  std::uint32_t sum = 0;
  const double start = host_now();
  for (std::size_t i = 0; i < words.size(); i += line) {
    sum += words[i];
    hide(sum);
  }
  const double end = host_now();
  result_of_work = sum;
  return end - start;
}

/// The minimum, so interrupts do not count.
double least_of(int times, double (*seconds)()) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < times; ++i) least = std::min(least, seconds());
  return least;
}

bool calmer(const CpuContention& a, const CpuContention& b) {
  return a.instruction_slots * a.cache < b.instruction_slots * b.cache;
}

}  // namespace

CpuContention read_cpu_contention() {
  const double alone = std::max(least_of(2, dependent_s), 1e-9);
  return {.chain_s = alone,
          .instruction_slots = least_of(4, independent_s) / alone,
          .cache = least_of(2, reading_s) / alone};
}

QuietCpu::QuietCpu(std::vector<int> cpus)
    : QuietCpu(std::move(cpus),
               {.go_to =
                    [this](int cpu) {
                      here_.reset();  // the new one keeps what the thread was allowed before the first
                      here_.emplace(cpu);
                    },
                .contention = read_cpu_contention,
                .now = host_now},
               std::random_device{}()) {}

QuietCpu::QuietCpu(std::vector<int> cpus, Actions actions, unsigned seed)
    : cpus_(std::move(cpus)), actions_(std::move(actions)), order_(seed) {}

double QuietCpu::disturbance(const CpuContention& c) const {
  return std::max(c.instruction_slots / quiet_.instruction_slots, c.cache / quiet_.cache);
}

void QuietCpu::go_to(int cpu) {
  if (cpu != at_) actions_.go_to(cpu);
  at_ = cpu;
}

QuietCpu::Found QuietCpu::survey() {
  if (cpus_.empty()) return {};
  last_.reset();
  std::shuffle(cpus_.begin(), cpus_.end(), order_);
  for (std::size_t i = 0; i < std::min(cpus_.size(), most_surveyed); ++i) {
    go_to(cpus_[i]);
    for (std::size_t look = 0; look < looks_each; ++look) seen_.push_back(actions_.contention());
  }
  const auto at = seen_.begin() + static_cast<std::ptrdiff_t>(seen_.size() / 20);
  std::nth_element(seen_.begin(), at, seen_.end(), calmer);
  quiet_ = *at;
  Found found = search();
  found.moved = true;  // from wherever the system had put this thread
  return found;
}

QuietCpu::Found QuietCpu::settle() {
  if (seen_.empty()) return {};
  if (last_ && actions_.now() - last_at_s_ < holds_s) return *last_;
  const Found found = look();
  last_ = {.quiet = found.quiet, .moved = false, .chain_s = found.chain_s};
  last_at_s_ = actions_.now();
  return found;
}

QuietCpu::Found QuietCpu::look() {
  const CpuContention c = actions_.contention();
  if (disturbance(c) <= tolerance) return {.chain_s = c.chain_s};
  if (no_search_ == 0) return search();
  --no_search_;
  return {.quiet = false, .chain_s = c.chain_s};
}

QuietCpu::Found QuietCpu::search() {
  std::shuffle(cpus_.begin(), cpus_.end(), order_);
  const int from = at_;
  int calmest = cpus_.front();
  double least = std::numeric_limits<double>::infinity(), chain_s = 0;
  no_search_ = 0;
  for (std::size_t i = 0; i < std::min(cpus_.size(), most_surveyed); ++i) {
    go_to(cpus_[i]);
    const CpuContention c = actions_.contention();
    const double here = disturbance(c);
    if (here <= tolerance) return {.moved = at_ != from, .chain_s = c.chain_s};
    if (here < least) least = here, calmest = cpus_[i], chain_s = c.chain_s;
  }
  go_to(calmest);
  no_search_ = 15;
  return {.quiet = false, .moved = at_ != from, .chain_s = chain_s};
}

}  // namespace reductio
