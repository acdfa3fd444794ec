/// The CPU's twin of exact/sum (tuned/exact.h): the real sum, rounded once, so it has the same bits.
///
///   exact/cpu  sum, wide sum
///
/// A block of 1024 elements whose exponents are close is added up in double lanes, exactly: floats as they are, doubles
/// split in two. Each lane's sum, and each element of other blocks, goes to a long accumulator (tuned/partial.h).
/// Threads take even shares; adding up their accumulators rounds nothing, so `threads` changes no bit.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "baselines/cpu_types.h"
#include "core/variant.h"
#include "tuned/partial.h"

namespace reductio {
namespace {

using tuned::exact::Partial;

constexpr std::size_t lanes = 16, block_elements = 1024;
constexpr int log2_of_chain = 6;  // of block_elements / lanes
static_assert(lanes << log2_of_chain == block_elements);

/// The largest and the least exponent of |x|, as the bits of |x|; zeros do not count for the least.
template <class T>
struct Magnitudes {
  using Bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  Bits most = 0, least = std::numeric_limits<Bits>::max();

  explicit Magnitudes(const T* x) {
    Bits most_of[lanes] = {}, least_of[lanes];
    std::fill_n(least_of, lanes, least);
    for (std::size_t i = 0; i < block_elements; i += lanes)
      for (std::size_t k = 0; k < lanes; ++k) {
        const Bits size = std::bit_cast<Bits>(x[i + k]) & std::numeric_limits<Bits>::max();
        most_of[k] = std::max(most_of[k], size);
        least_of[k] = std::min(least_of[k], size == 0 ? std::numeric_limits<Bits>::max() : size);
      }
    most = *std::max_element(most_of, most_of + lanes);
    least = *std::min_element(least_of, least_of + lanes);
  }
  static int exponent(Bits size) {
    const int field = static_cast<int>(size >> (std::numeric_limits<T>::digits - 1));
    return std::max(field, 1) + std::numeric_limits<T>::min_exponent - 2;
  }
};

/// Whether a block's sums are exact in double: 2^6 numbers below 2^top, all multiples of the least one's unit.
bool add_block(const float* x, Partial& sum) {
  constexpr int window = 53 - log2_of_chain - std::numeric_limits<float>::digits;
  const Magnitudes<float> m(x);
  const int highest = Magnitudes<float>::exponent(m.most);
  if (m.most == 0 || highest == 128 || Magnitudes<float>::exponent(m.least) < highest - window) return false;
  double of_lane[lanes] = {};
  for (std::size_t i = 0; i < block_elements; i += lanes)
    for (std::size_t k = 0; k < lanes; ++k) of_lane[k] += static_cast<double>(x[i + k]);
  for (const double s : of_lane) sum.add(s);
  return true;
}

/// Each is split at 2^unit: 2^6 multiples of it are exact below 2^(unit + 53), and so are the rests above.
bool add_block(const double* x, Partial& sum) {
  const Magnitudes<double> m(x);
  const int highest = Magnitudes<double>::exponent(m.most), unit = highest + 1 + log2_of_chain - 52;
  // One bit of each is for the rounding of the split, in any direction.
  const int least_bit = unit + log2_of_chain - 53;
  if (m.most == 0 || highest > 1000 || highest < -900 || Magnitudes<double>::exponent(m.least) - 52 < least_bit)
    return false;
  const double splitter = std::ldexp(1.5, unit + 52);
  double high[lanes] = {}, rest[lanes] = {};
  for (std::size_t i = 0; i < block_elements; i += lanes)
    for (std::size_t k = 0; k < lanes; ++k) {
      const double part = (x[i + k] + splitter) - splitter;
      high[k] += part;
      rest[k] += x[i + k] - part;
    }
  for (const double s : high) sum.add(s);
  for (const double s : rest) sum.add(s);
  return true;
}

template <class T>
void add_share(const T* x, std::size_t n, Partial& sum) {
  std::size_t i = 0;
  for (; i + block_elements <= n; i += block_elements)
    if (!add_block(x + i, sum))
      for (std::size_t k = 0; k < block_elements; ++k) sum.add(static_cast<double>(x[i + k]));
  for (; i < n; ++i) sum.add(static_cast<double>(x[i]));
}

template <class T>
Partial exact_sum_of(const T* x, std::size_t n, std::size_t threads) {
  std::vector<Partial> sums(threads);
  std::vector<std::jthread> others;
  others.reserve(threads - 1);
  const std::size_t share = n / threads;
  for (std::size_t t = 1; t < threads; ++t)
    others.emplace_back([=, &sums] { add_share(x + (t - 1) * share, share, sums[t]); });
  add_share(x + (threads - 1) * share, n - (threads - 1) * share, sums[0]);
  for (std::jthread& t : others) t.join();
  for (std::size_t t = 1; t < threads; ++t) sums[0] += sums[t];
  return sums[0];
}

template <class In, class Acc>
std::unique_ptr<Plan> exact_on_cpu(std::size_t n, std::size_t threads) {
  return plan_of({.longest_chain = 0}, [=](void* in, void* out, Stream) {
    *static_cast<Acc*>(out) = exact_sum_of(static_cast<const In*>(in), n, threads).template rounded<Acc>();
  });
}

std::unique_ptr<Plan> prepare_exact(const Problem& p, const Settings& s, const DeviceInfo&) {
  constexpr std::size_t least_share = 1 << 16;  // starting a thread takes longer than adding up fewer
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const auto automatic = static_cast<int>(std::clamp<std::size_t>(p.n / least_share, 1, cores));
  const int wanted = s.text("threads") == "auto" ? automatic : static_cast<int>(s.integer("threads"));
  require_threads(wanted, "choose fewer threads");
  const auto threads = static_cast<std::size_t>(wanted);
  if (p.operation == Operation::wide_sum) return exact_on_cpu<float, double>(p.n, threads);
  if (p.type == ElementType::f32) return exact_on_cpu<float, float>(p.n, threads);
  return exact_on_cpu<double, double>(p.n, threads);
}

const RegisterCpu exact_cpu({.id = "exact/cpu",
                             .title = "exact, on the CPU",
                             .cites = "src/tuned/partial.h",
                             .kind = VariantKind::cpu,
                             .own_experiment = "compare",
                             .how = {.thread = "SIMD sums without rounding", .block = "", .grid = "all cores"},
                             .operations = {Operation::sum, Operation::wide_sum},
                             .types = {ElementType::f32, ElementType::f64},
                             .tunables = {Tunable::integer("threads", 1, most_threads, {"auto", "1", "2", "3"},
                                                           "auto")},
                             .determinism = Determinism::always},
                            prepare_exact);

}  // namespace
}  // namespace reductio
