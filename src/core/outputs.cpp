#include "core/outputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "core/narrow_float.h"
#include "core/threads.h"

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

  Pair& operator+=(const Pair& o) {
    sum += o.sum;
    magnitude += o.magnitude;
    return *this;
  }
  friend Pair operator-(const Pair& a, const Pair& b) { return {a.sum - b.sum, a.magnitude - b.magnitude}; }
  friend Pair operator*(std::size_t times, const Pair& p) { return {times * p.sum, times * p.magnitude}; }
};

}  // namespace

/// Exact sums of any part of the input at the cost of an addition or two: of integers modulo 2^128, of floats in units
/// of the tile's finest bit. There are none where a float's exponents differ too much for that, or it is no number.
struct ExactOutputs::Sums {
  ElementType type;
  std::vector<std::byte> tile;
  bool floating = is_floating(type);
  int finest = 0, digits = 0;  ///< of floats: the finest bit of all, and how many there are from it to the highest
  std::vector<Pair> up_to;     ///< the first so many elements of a tile; one more than it has, or none

  Sums(ElementType t, std::span<const std::byte> bytes) : type(t), tile(bytes.begin(), bytes.end()) {
    with_element(type, [&]<class In>(In) {
      const std::vector<In> all = elements<In>(tile);
      if constexpr (is_integer<In>) {
        add(all, [](In x) { return static_cast<UInt128>(x); });
      } else {
        int lowest = std::numeric_limits<int>::max(), highest = std::numeric_limits<int>::min();
        for (const In e : all) {
          const auto x = static_cast<double>(e);
          if (!std::isfinite(x)) return;
          if (x == 0) continue;
          lowest = std::min(lowest, lowest_bit(x));
          highest = std::max(highest, std::ilogb(x));
        }
        if (highest >= lowest) finest = lowest, digits = highest - lowest + 1;
        if (have_room_for(all.size()))
          add(all, [this](In e) {
            const double x = static_cast<double>(e);
            return static_cast<UInt128>(static_cast<Int128>(std::ldexp(x, -finest)));
          });
      }
    });
  }

  bool have_room_for(std::size_t extent) const {
    return !floating || digits + static_cast<int>(std::bit_width(extent)) <= 126;
  }
  /// Whether they are known of so many elements.
  bool known(std::size_t extent) const { return !up_to.empty() && have_room_for(extent); }

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
    Pair out = up_to[period() ? count % period() : 0];
    if (period() && count >= period()) out += count / period() * up_to.back();
    return out;
  }
  Pair between(std::size_t begin, std::size_t end) const { return first(end) - first(begin); }

  /// The sums of `width` columns from `begin` on.
  std::vector<Pair> of_columns(std::size_t begin, std::size_t width, std::size_t rows, std::size_t pitch) const {
    std::vector<Pair> out(width), rest;
    if (period() == 0) return out;
    // Row r + period is row r again, so all rows are some rows of a period once more than the others.
    const std::size_t again = rows / period(), once_more = rows % period();
    for (std::size_t r = 0, at = begin % period(); r < std::min(rows, period()); ++r) {
      if (r == once_more) rest = std::exchange(out, std::vector<Pair>(width));
      for (std::size_t k = 0; k < width;) {
        const std::size_t from = (at + k) % period(), run = std::min(width - k, period() - from);
        const Pair* const terms = up_to.data() + from;
        for (std::size_t i = 0; i < run; ++i) out[k + i] += terms[i + 1] - terms[i];
        k += run;
      }
      at = (at + pitch) % period();
    }
    if (again == 0) return out;
    // `out` has the rows that come `again` times, `rest` those that come once more.
    for (std::size_t k = 0; k < width; ++k) {
      out[k] = again * out[k];
      if (!rest.empty()) out[k] += (again + 1) * rest[k];
    }
    return out;
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

ExactOutputs::ExactOutputs(const Problem& problem, std::span<const std::byte> tile, const ExactOutputs* like)
    : problem_(problem),
      sums_(!has_shape(problem.operation) ? nullptr
            : like && like->is_of(problem.type, tile) ? like->sums_
                                                      : std::make_shared<const Sums>(problem.type, tile)),
      summed_(sums_ && sums_->known(problem.extent())),
      first_(!sums_                 ? ExactReference(problem.operation, problem.type, tile, problem.n)
             : problem.outputs() > 0 ? line_of(0).exact
                                     : ExactReference(Operation::sum, problem.type, {}, 0)) {}
ExactOutputs::~ExactOutputs() = default;
ExactOutputs::ExactOutputs(ExactOutputs&&) noexcept = default;

bool ExactOutputs::is_of(ElementType type, std::span<const std::byte> tile) const {
  return sums_ && sums_->type == type && std::equal(tile.begin(), tile.end(), sums_->tile.begin(), sums_->tile.end());
}

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
  const std::size_t size = size_of(problem_.type), period = sums_->tile.size() / size, count = elements_of(output);
  std::vector<std::byte> line(std::min(count, period) * size);
  for (std::size_t k = 0; k * size < line.size(); ++k)
    std::memcpy(line.data() + k * size, sums_->tile.data() + place_of(output, k) % period * size, size);
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
  if (summed_ && sums_->reference(problem_.accumulator(), of_all()).exact_in_any_order) return true;
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

struct ExactOutputs::Judged {
  const std::byte* result;
  const ChangedElement* changed;
  std::size_t longest_chain;
  bool flushes;
  const std::byte* right;
};

Check ExactOutputs::check(const void* result, const ChangedElement* changed, std::size_t longest_chain,
                          bool flushes_subnormals, const void* right) const {
  const auto* bytes = static_cast<const std::byte*>(result);
  if (!sums_) return check_call(result, first(), changed, longest_chain, problem_.operation, flushes_subnormals);
  Check c = check_each({bytes, changed, longest_chain, flushes_subnormals, static_cast<const std::byte*>(right)});
  c.text = hash_of({bytes, problem_.result_bytes()});
  return c;
}

Check ExactOutputs::check_each(const Judged& judged) const {
  // A thread takes as long to start as some thousand outputs to check.
  constexpr std::size_t least_share = 1 << 14;
  const bool by_columns = problem_.operation == Operation::column_sums;
  const std::size_t count = problem_.outputs(), work = by_columns ? count + problem_.n / 4 : count;
  std::mutex mutex;
  std::map<std::size_t, Check> found;  // by their first output
  in_shares(count, work < 2 * least_share ? 1 : 0, [&](std::size_t first, std::size_t outputs) {
    Check c = check_range(judged, first, outputs);
    const std::lock_guard lock(mutex);
    found.emplace(first, std::move(c));
  });
  Check worst = std::move(found.begin()->second);
  for (auto& [first, c] : found)
    if (worst.ok && (!c.ok || c.abs_error > worst.abs_error)) worst = std::move(c);
  return worst;
}

Check ExactOutputs::check_range(const Judged& judged, std::size_t first, std::size_t count) const {
  const ElementType accumulator = problem_.accumulator();
  const std::size_t size = size_of(accumulator);
  const bool floating = is_floating(accumulator);
  const bool by_columns = problem_.operation == Operation::column_sums;
  const std::optional<double> share =
      floating && !judged.flushes ? proven_share(accumulator, judged.longest_chain) : std::nullopt;
  Check worst;
  worst.ok = true;
  const auto note = [&](std::size_t i, Check c) {
    if (!c.ok) c.why = name_of(i) + ": " + c.why;
    if (!c.ok || c.abs_error > worst.abs_error) worst = std::move(c);
  };
  constexpr std::size_t at_once = 1 << 12;  // sums of so many columns stay in a cache
  for (std::size_t begin = first; begin < first + count && worst.ok; begin += at_once) {
    const std::size_t width = std::min(at_once, first + count - begin);
    const auto equal = [&](std::size_t i, std::size_t outputs) {
      return judged.right && std::memcmp(judged.result + i * size, judged.right + i * size, outputs * size) == 0;
    };
    const auto is_changed = [&](std::size_t i) { return judged.changed && judged.changed->output == i; };
    const bool changed_here = judged.changed && judged.changed->output - begin < width;
    const std::size_t middle = changed_here ? judged.changed->output : begin + width;
    const std::size_t behind = std::min(middle + 1, begin + width);
    const bool others_equal = equal(begin, middle - begin) && equal(behind, begin + width - behind);
    if (others_equal && !changed_here) continue;
    std::vector<Pair> columns;
    if (by_columns && summed_ && !others_equal)
      columns = sums_->of_columns(begin, width, problem_.rows(), problem_.pitch());
    for (std::size_t i = begin; i < begin + width && worst.ok; ++i) {
      const std::byte* const got = judged.result + i * size;
      if (is_changed(i) || !summed_) {
        if (!is_changed(i) && equal(i, 1)) continue;
        const std::shared_ptr<const Line> line =
            drawn_ && drawn_->output == i ? drawn_ : std::make_shared<const Line>(line_of(i));
        note(i, check_call(got, line->exact.reference(), is_changed(i) ? judged.changed : nullptr,
                           judged.longest_chain, Operation::sum, judged.flushes));
        continue;
      }
      if (equal(i, 1)) continue;
      const std::size_t at = by_columns ? 0 : place_of(i, 0);
      const Pair sum = by_columns ? columns[i - begin] : sums_->between(at, at + elements_of(i));
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
      note(i, check_result(got, want, judged.longest_chain, Operation::sum, judged.flushes));
    }
  }
  return worst;
}

std::size_t KnownOutputs::bytes() const {
  std::set<const ExactOutputs::Sums*> sums;
  std::size_t out = 0;
  for (const auto& [key, outputs] : known_) {
    out += sizeof *outputs;
    if (const auto* its = outputs->sums_.get(); its && sums.insert(its).second)
      out += its->tile.size() + its->up_to.size() * sizeof(Pair);
  }
  return out;
}

std::shared_ptr<const ExactOutputs> KnownOutputs::of(const Problem& problem, const std::string& dataset,
                                                     std::uint64_t seed, std::span<const std::byte> tile) {
  const Key key{problem.operation, problem.type, problem.n, problem.shape.text(), dataset, seed};
  const auto at = std::find_if(known_.begin(), known_.end(), [&](const auto& known) { return known.first == key; });
  if (at != known_.end()) {
    known_.splice(known_.begin(), known_, at);
    return at->second;
  }
  const auto like = std::find_if(known_.begin(), known_.end(),
                                 [&](const auto& known) { return known.second->is_of(problem.type, tile); });
  known_.emplace_front(key, std::make_shared<const ExactOutputs>(
                                problem, tile, like == known_.end() ? nullptr : like->second.get()));
  while (bytes() > most_bytes_ && known_.size() > 1) known_.pop_back();
  return known_.front().second;
}

std::string hash_of(std::span<const std::byte> result) {
  constexpr std::size_t chunk = std::size_t{1} << 20;  // hashed alone, so that threads share the work
  const auto hash = [](std::span<const std::byte> bytes) {
    constexpr std::uint64_t prime = 0x100000001b3;
    std::uint64_t out = 0xcbf29ce484222325;  // FNV-1a, by words
    const auto add = [&](std::uint64_t word) { out = std::rotl((out ^ word) * prime, 29); };
    std::size_t at = 0;
    for (; at + sizeof(std::uint64_t) <= bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      add(word);
    }
    for (; at < bytes.size(); ++at) add(static_cast<std::uint64_t>(bytes[at]));
    return out;
  };
  std::vector<std::uint64_t> hashes(result.size() / chunk + 1);
  in_shares(hashes.size(), hashes.size() < 8 ? 1 : 0, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i)
      hashes[i] = hash(result.subspan(i * chunk, std::min(chunk, result.size() - i * chunk)));
  });
  const std::uint64_t all = hashes.size() == 1 ? hashes.front() : hash(std::as_bytes(std::span(hashes)));
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += digits[all >> shift & 15];
  return out;
}

}  // namespace reductio
