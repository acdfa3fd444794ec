#include "core/outputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "core/narrow_float.h"

namespace reductio {
namespace {

template <class In>
std::vector<In> elements(std::span<const std::byte> bytes) {
  std::vector<In> out(bytes.size() / sizeof(In));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

/// A sum, and that of its terms' magnitudes.
struct Pair {
  UInt128 sum = 0, magnitude = 0;
};

}  // namespace

/// Exact sums of any part of the input at the cost of an addition or two: of integers modulo 2^128, of floats in units
/// of the tile's finest bit. There are none where a float's exponents differ too much for that, or it is no number.
struct ExactOutputs::Sums {
  bool known = true;
  bool floating;
  int finest = 0;
  std::vector<Pair> up_to;  ///< the first so many elements of a tile; one more than it has

  Sums(ElementType type, std::span<const std::byte> tile, std::size_t extent) : floating(is_floating(type)) {
    with_element(type, [&]<class In>(In) {
      const std::vector<In> all = elements<In>(tile);
      if constexpr (is_integer<In>) {
        add(all, [](In x) { return static_cast<UInt128>(x); });
      } else {
        int lowest = std::numeric_limits<int>::max(), highest = std::numeric_limits<int>::min();
        for (const In e : all) {
          const auto x = static_cast<double>(e);
          if (!std::isfinite(x)) return void(known = false);
          if (x == 0) continue;
          lowest = std::min(lowest, lowest_bit(x));
          highest = std::max(highest, std::ilogb(x));
        }
        if (highest >= lowest) finest = lowest;
        known = highest < lowest || highest - lowest + 1 + static_cast<int>(std::bit_width(extent)) <= 126;
        if (known)
          add(all, [this](In e) {
            const double x = static_cast<double>(e);
            return static_cast<UInt128>(static_cast<Int128>(std::ldexp(x, -finest)));
          });
      }
    });
  }

  template <class In, class Value>
  void add(const std::vector<In>& all, Value value) {
    up_to.resize(all.size() + 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const UInt128 x = value(all[i]);
      up_to[i + 1].sum = up_to[i].sum + x;
      up_to[i + 1].magnitude = up_to[i].magnitude + (static_cast<Int128>(x) < 0 ? -x : x);
    }
  }
  std::size_t period() const { return up_to.size() - 1; }
  Pair first(std::size_t count) const {
    const UInt128 tiles = period() ? count / period() : 0;
    const Pair& rest = up_to[period() ? count % period() : 0];
    return {tiles * up_to.back().sum + rest.sum, tiles * up_to.back().magnitude + rest.magnitude};
  }
  Pair between(std::size_t begin, std::size_t end) const {
    const Pair a = first(begin), b = first(end);
    return {b.sum - a.sum, b.magnitude - a.magnitude};
  }
  Pair element(std::size_t i) const {
    const std::size_t at = i % period();
    return {up_to[at + 1].sum - up_to[at].sum, up_to[at + 1].magnitude - up_to[at].magnitude};
  }

  Reference reference(ElementType accumulator, const Pair& p) const {
    if (floating)
      return reference_of_multiple(accumulator, finest, static_cast<Int128>(p.sum), static_cast<Int128>(p.magnitude));
    const std::size_t above = 8 * (sizeof(UInt128) - size_of(accumulator));
    return {.type = accumulator, .integer = p.sum << above >> above, .exact_in_any_order = true};
  }
};

/// One output's elements: a tile that repeats.
struct ExactOutputs::Line {
  std::size_t output;
  std::vector<std::byte> tile;
  ExactReference exact;
};

ExactOutputs::ExactOutputs(const Problem& problem, std::span<const std::byte> tile)
    : problem_(problem),
      sums_(has_shape(problem.operation) ? std::make_unique<Sums>(problem.type, tile, problem.extent()) : nullptr),
      tile_(sums_ ? tile.begin() : tile.end(), tile.end()),
      first_(!sums_                 ? ExactReference(problem.operation, problem.type, tile, problem.n)
             : problem.outputs() > 0 ? line_of(0).exact
                                     : ExactReference(Operation::sum, problem.type, {}, 0)) {}
ExactOutputs::~ExactOutputs() = default;
ExactOutputs::ExactOutputs(ExactOutputs&&) noexcept = default;

std::size_t ExactOutputs::elements_of(std::size_t output) const {
  if (problem_.operation == Operation::row_sums) return problem_.columns();
  if (problem_.operation == Operation::column_sums) return problem_.rows();
  if (!problem_.shape.offsets) return problem_.n;
  const auto& offsets = *problem_.shape.offsets;
  return static_cast<std::size_t>(offsets[output + 1] - offsets[output]);
}

std::size_t ExactOutputs::place_of(std::size_t output, std::size_t k) const {
  if (problem_.operation == Operation::row_sums) return output * problem_.pitch() + k;
  if (problem_.operation == Operation::column_sums) return k * problem_.pitch() + output;
  return (problem_.shape.offsets ? static_cast<std::size_t>((*problem_.shape.offsets)[output]) : 0) + k;
}

/// Element k repeats when k has grown by the tile's length, whatever the stride.
ExactOutputs::Line ExactOutputs::line_of(std::size_t output) const {
  const std::size_t size = size_of(problem_.type), period = tile_.size() / size, count = elements_of(output);
  std::vector<std::byte> line(std::min(count, period) * size);
  for (std::size_t k = 0; k * size < line.size(); ++k)
    std::memcpy(line.data() + k * size, tile_.data() + place_of(output, k) % period * size, size);
  ExactReference exact(Operation::sum, problem_.type, line, count);
  return {output, std::move(line), std::move(exact)};
}

std::string ExactOutputs::name_of(std::size_t output) const {
  const std::string of = std::to_string(output) + " of " + std::to_string(problem_.outputs());
  if (problem_.operation == Operation::row_sums) return "row " + of;
  if (problem_.operation == Operation::column_sums) return "column " + of;
  return "segment " + of + ", of " + std::to_string(elements_of(output)) + " elements";
}

bool ExactOutputs::all_exact() const {
  if (!sums_) return first().all_exact();
  if (!is_floating(problem_.type)) return true;
  const auto of_all = [&] { return Pair{0, sums_->first(problem_.extent()).magnitude}; };
  if (sums_->known && sums_->reference(problem_.accumulator(), of_all()).exact_in_any_order) return true;
  for (std::size_t i = 0; i < problem_.outputs(); ++i)
    if (!line_of(i).exact.reference().all_exact()) return false;
  return true;
}

std::optional<ChangedElement> ExactOutputs::draw_change(std::span<const std::byte> tile, std::mt19937_64& random,
                                                        std::size_t longest_chain,
                                                        std::optional<std::size_t> last) const {
  if (!sums_) return first_.draw_change(tile, random, longest_chain);
  if (problem_.n == 0) return std::nullopt;
  constexpr std::size_t is_long = 1 << 12, draws_of_one = 16;
  std::size_t output = last.value_or(0);
  if (!last || elements_of(output) < is_long || random() % draws_of_one == 0) {
    const std::size_t at = random() % problem_.n;
    if (problem_.operation == Operation::row_sums) output = at / problem_.columns();
    else if (problem_.operation == Operation::column_sums) output = at % problem_.columns();
    else if (const auto& offsets = problem_.shape.offsets)
      output = static_cast<std::size_t>(
          std::upper_bound(offsets->begin(), offsets->end(), static_cast<std::int64_t>(at)) - offsets->begin() - 1);
  }
  if (!drawn_ || drawn_->output != output) drawn_ = std::make_shared<Line>(line_of(output));
  auto change = drawn_->exact.draw_change(drawn_->tile, random, longest_chain);
  if (!change) return change;
  change->index = place_of(drawn_->output, change->index);
  change->output = drawn_->output;
  return change;
}

Check ExactOutputs::check(const void* result, const ChangedElement* changed, std::size_t longest_chain,
                          bool flushes_subnormals, const void* right) const {
  const auto* bytes = static_cast<const std::byte*>(result);
  if (!sums_) return check_call(result, first(), changed, longest_chain, problem_.operation, flushes_subnormals);
  Check c = check_each(bytes, changed, longest_chain, flushes_subnormals, static_cast<const std::byte*>(right));
  c.text = hash_of({bytes, problem_.result_bytes()});
  return c;
}

Check ExactOutputs::check_each(const std::byte* result, const ChangedElement* changed, std::size_t longest_chain,
                               bool flushes, const std::byte* right) const {
  const ElementType accumulator = problem_.accumulator();
  const std::size_t size = size_of(accumulator), count = problem_.outputs(), stride = problem_.pitch();
  const bool by_columns = problem_.operation == Operation::column_sums;
  const bool floating = is_floating(accumulator);
  const std::optional<double> share = floating && !flushes ? proven_share(accumulator, longest_chain) : std::nullopt;
  constexpr std::size_t columns_at_once = 1 << 12;  // their sums stay in a cache
  std::vector<Pair> block;
  Check worst;
  worst.ok = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const got = result + i * size;
    const bool is_changed = changed && changed->output == i;
    if (by_columns && sums_->known && i % columns_at_once == 0) {
      const std::size_t width = std::min(columns_at_once, count - i);
      block.assign(width, {});
      if (!right || std::memcmp(got, right + i * size, width * size) != 0)
        for (std::size_t r = 0; r < problem_.rows(); ++r)
          for (std::size_t k = 0; k < width; ++k) {
            const Pair x = sums_->element(r * stride + i + k);
            block[k].sum += x.sum;
            block[k].magnitude += x.magnitude;
          }
    }
    if (right && !is_changed && std::memcmp(got, right + i * size, size) == 0) continue;

    Check c;
    if (is_changed || !sums_->known) {
      c = check_call(got, line_of(i).exact.reference(), is_changed ? changed : nullptr, longest_chain, Operation::sum,
                     flushes);
    } else {
      const std::size_t begin = by_columns ? 0 : place_of(i, 0);
      const Pair sum =
          by_columns ? block[i % columns_at_once] : sums_->between(begin, begin + elements_of(i));
      const Reference want = sums_->reference(accumulator, sum);
      if (floating) {
        const double value = floating_result(got, accumulator);
        const double error = std::abs((value - want.value) - want.residual);
        const double bound = share.value_or(0) * want.sum_of_magnitudes;
        const bool right_by_far = want.exact_in_any_order ? value == want.value
                                                          : error <= bound && (value != 0 || want.value == 0);
        if (right_by_far) {
          if (error > worst.abs_error) worst.abs_error = error, worst.error_bound = bound;
          continue;
        }
      } else if (std::memcmp(got, &want.integer, size) == 0) {
        continue;
      }
      c = check_result(got, want, longest_chain, Operation::sum, flushes);
    }
    if (c.ok && !(c.abs_error > worst.abs_error)) continue;
    const bool wrong = !c.ok;
    if (wrong) c.why = name_of(i) + ": " + c.why;
    worst = std::move(c);
    if (wrong) break;
  }
  return worst;
}

std::string hash_of(std::span<const std::byte> result) {
  constexpr std::uint64_t prime = 0x100000001b3;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, by words
  const auto add = [&](std::uint64_t word) { hash = std::rotl((hash ^ word) * prime, 29); };
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= result.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, result.data() + at, sizeof word);
    add(word);
  }
  for (; at < result.size(); ++at) add(static_cast<std::uint64_t>(result[at]));
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += digits[hash >> shift & 15];
  return out;
}

}  // namespace reductio
