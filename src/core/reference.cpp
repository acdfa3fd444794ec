#include "core/reference.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/error.h"
#include "core/exact.h"
#include "core/narrow_float.h"

namespace reductio {
namespace {

template <class T>
T element(std::span<const std::byte> bytes, std::size_t i) {
  T x;
  std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
  return x;
}

/// `In` is the element's type, signed. All of it is modulo 2^128; a sum modulo 2^64 or 2^32 is its lower part.
template <class In>
void add_integers(Operation op, std::span<const std::byte> tile, std::size_t n, ReferenceTerms& out) {
  const std::size_t period = tile.size() / sizeof(In);
  const std::size_t tiles = period ? n / period : 0, rest = period ? n % period : 0;
  for (std::size_t i = 0; i < std::min(period, n); ++i) {
    const auto x = static_cast<UInt128>(element<In>(tile, i));
    out.integer += (tiles + (i < rest)) * (op == Operation::sum_of_squares ? x * x : x);
  }
}

template <class In>
void add_floats(Operation op, std::span<const std::byte> tile, std::size_t n, ReferenceTerms& out) {
  const bool squares = op == Operation::sum_of_squares;
  const std::size_t period = tile.size() / sizeof(In);
  const std::size_t tiles = period ? n / period : 0, rest = period ? n % period : 0;
  ExactSum sums[2], magnitudes[2];  // of the tile's first `rest` elements and of the others
  for (std::size_t i = 0; i < std::min(period, n); ++i) {
    const auto x = static_cast<double>(element<In>(tile, i));
    const int part = i < rest ? 0 : 1;
    if (squares) {
      sums[part].add_square(x);
    } else {
      sums[part].add(x);
      magnitudes[part].add(std::abs(x));
    }
    if (x != 0 && std::isfinite(x)) out.finest = std::min(out.finest, (squares ? 2 : 1) * lowest_bit(x));
  }
  for (int part = 0; part < 2; ++part) {
    const std::uint64_t times = tiles + (part == 0);
    out.sum.add(sums[part], times);
    out.magnitude.add(squares ? sums[part] : magnitudes[part], times);
  }
}

/// Of finite elements `was` and `now`.
template <class In>
void replace_float(Operation op, const std::byte* was, const std::byte* now, ReferenceTerms& out) {
  const auto value = [](const std::byte* p) { return static_cast<double>(element<In>({p, sizeof(In)}, 0)); };
  const double before = value(was), after = value(now);
  if (op == Operation::sum_of_squares) {
    for (ExactSum* sum : {&out.sum, &out.magnitude}) {
      sum->subtract_square(before);
      sum->add_square(after);
    }
  } else {
    out.sum.add(-before);
    out.sum.add(after);
    out.magnitude.add(-std::abs(before));
    out.magnitude.add(std::abs(after));
  }
  if (after != 0) out.finest = std::min(out.finest, (op == Operation::sum_of_squares ? 2 : 1) * lowest_bit(after));
}

/// `op` is no moments.
ReferenceTerms terms_of(Operation op, ElementType type, std::span<const std::byte> tile, std::size_t n) {
  ReferenceTerms out;
  with_element(type, [&]<class In>(In) {
    if constexpr (is_integer<In>)
      add_integers<In>(op, tile, n, out);
    else
      add_floats<In>(op, tile, n, out);
  });
  return out;
}

/// `T` is the accumulator's type.
template <class T>
void round_float(Operation op, std::size_t n, const ReferenceTerms& terms, Reference& out) {
  const ExactSum& sum = terms.sum;
  const int finest = terms.finest;
  constexpr bool single = std::is_same_v<T, float>;
  out.value = single ? static_cast<double>(sum.to_f32()) : sum.to_f64();
  out.sum_of_magnitudes = terms.magnitude.to_f64();
  if (op == Operation::sum_of_squares)
    out.underflow =
        std::ldexp(static_cast<double>(n), std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits - 1);
  if (!sum.is_finite()) return;

  if (std::isfinite(out.value)) {
    ExactSum remainder = sum;
    remainder.add(-out.value);
    out.residual = remainder.to_f64();
  }
  constexpr int digits = std::numeric_limits<T>::digits;
  constexpr int least = std::numeric_limits<T>::min_exponent - digits;
  out.exact_in_any_order = finest == std::numeric_limits<int>::max() ||
                           (finest >= least && terms.magnitude.magnitude_at_most_power_of_two(std::min(
                                                   finest + digits, std::numeric_limits<T>::max_exponent - 1)));
}

/// std::to_chars need not know it.
std::string shortest(Int128 x) {
  UInt128 magnitude = x < 0 ? UInt128{0} - static_cast<UInt128>(x) : static_cast<UInt128>(x);
  std::string digits;
  do digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(magnitude % 10)));
  while ((magnitude /= 10) != 0);
  return x < 0 ? "-" + digits : digits;
}

template <class T>
std::string shortest(T x) {
  char buffer[64];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr);
}

std::string shown(double x, ElementType type) {
  if (std::isnan(x)) return "nan";
  return type == ElementType::f32 ? shortest(static_cast<float>(x)) : shortest(x);
}

/// `T` is the accumulator's type, signed.
template <class T>
Check check_integer(const void* result, const Reference& want) {
  T got, right;
  std::memcpy(&got, result, sizeof got);
  std::memcpy(&right, &want.integer, sizeof right);  // the lower bytes come first
  Check c;
  c.value = static_cast<double>(got);
  c.text = shortest(got);
  c.abs_error = std::abs(static_cast<double>(got) - static_cast<double>(right));
  c.ok = got == right;
  if (!c.ok) c.why = "got " + c.text + ", want " + shortest(right);
  return c;
}

/// How many units of sum|x| the result may be off, and by which argument.
struct ErrorBound {
  double factor;
  bool worst_case;  ///< proven for every input; else by the statistics of rounding errors
};

/// Rounding errors that are independent and have mean zero add up to at most this with overwhelming probability
/// (Higham and Mary, "A new approach to probabilistic rounding error analysis", SISC 41, 2019, with lambda = 8).
double statistical_factor(double h, double u) { return 8 * std::sqrt(h) * u; }

/// gamma_h = hu / (1 - hu) while it is below one. A longer chain may lose everything in the worst case, so that a bound
/// for it would pass every result: there a result must stay within what rounding errors do on average, if the terms'
/// signs differ. Terms of one sign drive the running sum away from zero, and its rounding of small terms is biased (an
/// atomic f32 sum of 2^24 positive partial sums was seen 3 % off): there it must keep at least half of the sum.
ErrorBound bound_of(double h, double u, bool one_signed) {
  if (h * u < 0.5) return {h * u / (1 - h * u), true};
  return {one_signed ? 0.5 : statistical_factor(h, u), false};
}

Check check_float(double got, const Reference& want, std::size_t longest_chain, Operation op, bool flushes_subnormals) {
  // What flushes leaves nothing that is subnormal.
  constexpr double least_normal = std::numeric_limits<float>::min();
  const auto flushing_explains = [&] {
    return !flushes_subnormals && want.type == ElementType::f32 && (got == 0 || std::abs(got) >= least_normal) &&
           check_float(got, want, longest_chain, op, true).ok;
  };
  Check c;
  c.value = got;
  c.text = shown(got, want.type);
  // Every addition on the chain may lose an operand and a result below the least normal number.
  const double flushed =
      flushes_subnormals && want.type == ElementType::f32 ? 2 * static_cast<double>(longest_chain) * least_normal : 0;
  const auto finish = [&](bool ok, const std::string& note) {
    c.ok = ok;
    if (ok) return c;
    c.why = "got " + c.text + ", want " + shown(want.value, want.type) + note;
    if (flushing_explains())
      c.why +=
          "; subnormal numbers taken as zero would explain it: a plan whose f32 atomics do so declares "
          "flushes_subnormals";
    return c;
  };

  if (!std::isfinite(want.value) || !std::isfinite(got)) {
    const bool same = std::isnan(want.value) ? std::isnan(got) : got == want.value;
    c.abs_error = same                                        ? 0
                  : std::isnan(got) || std::isnan(want.value) ? std::numeric_limits<double>::quiet_NaN()
                                                              : std::numeric_limits<double>::infinity();
    if (same && std::isnan(got)) c.abs_error = std::numeric_limits<double>::quiet_NaN();
    return finish(same, std::isnan(got) && std::isinf(want.value)
                            ? ": an infinity was taken from an infinity, or multiplied by zero. A compensated sum does "
                              "so: let it leave out its correction where the sum is infinite, or declare the dataset "
                              "(wrong_for)"
                            : "");
  }

  c.abs_error = std::abs((got - want.value) - want.residual);
  if (want.exact_in_any_order) return finish(got == want.value || c.abs_error <= flushed, " exactly");

  if (longest_chain == 0 && !flushes_subnormals)
    return finish(got == want.value, ", which the exact result rounds to");

  const double u = std::ldexp(1.0, want.type == ElementType::f32 ? -24 : -53);
  // A square is rounded once before it is added.
  const double h = static_cast<double>(longest_chain) + (op == Operation::sum_of_squares ? 1 : 0);
  const ErrorBound bound = bound_of(h, u, std::abs(want.value) > 0.5 * want.sum_of_magnitudes);
  // 2^-40: the rounding of this very arithmetic.
  c.error_bound = bound.factor * want.sum_of_magnitudes * (1 + 0x1p-40) + want.underflow + flushed;
  const std::string note = " (error " + shortest(c.abs_error) + ", bound " + shortest(c.error_bound) + ")";
  if (!(c.abs_error <= c.error_bound))
    return finish(false, bound.worst_case ? note
                                          : note + ", by statistics: a chain of " + shortest(longest_chain) +
                                                " additions is too long for a worst-case bound" +
                                                (want.type == ElementType::f32
                                                     ? "; an f32 accumulator of ones stops at 2^24: use several"
                                                     : ""));
  // A buffer that was only zeroed lies within the bound whenever the sum is small beside its terms. Rounding gives
  // exactly zero only where the sum is lost in rounding noise, and never with any likelihood on chains that long.
  const double noise = statistical_factor(h, u) * want.sum_of_magnitudes + want.underflow + flushed;
  if (got == 0 && want.value != 0 && (!bound.worst_case || std::abs(want.value) > noise))
    return finish(false, note + ": within the bound, but exactly zero, as if nothing was added");
  return finish(true, "");
}

/// The operations of each value of a result.
std::vector<Operation> values_by(Operation op) {
  if (op == Operation::moments) return {Operation::sum, Operation::sum_of_squares};
  return {op};
}

Reference rounded(Operation op, ElementType type, std::size_t n, const std::vector<ReferenceTerms>& terms) {
  std::vector<Reference> values;
  for (const Operation value : values_by(op)) {
    const ReferenceTerms& of_value = terms[values.size()];
    Reference& out = values.emplace_back(Reference{.type = accumulator_of(value, type)});
    if (!is_floating(out.type)) {
      const std::size_t above = 8 * (sizeof(UInt128) - size_of(out.type));
      out.integer = of_value.integer << above >> above;
      out.exact_in_any_order = true;
    } else if (out.type == ElementType::f32) {
      round_float<float>(value, n, of_value, out);
    } else {
      round_float<double>(value, n, of_value, out);
    }
  }
  Reference out = std::move(values.front());
  out.second.assign(values.begin() + 1, values.end());
  return out;
}

Check check_value(const void* result, const Reference& want, std::size_t longest_chain, Operation op,
                  bool flushes_subnormals) {
  if (want.type == ElementType::i128) return check_integer<Int128>(result, want);
  if (want.type == ElementType::i64) return check_integer<std::int64_t>(result, want);
  if (!is_floating(want.type)) return check_integer<std::int32_t>(result, want);
  return check_float(floating_result(result, want.type), want, longest_chain, op, flushes_subnormals);
}

}  // namespace

double floating_result(const void* result, ElementType type) {
  if (type == ElementType::f32) {
    float single;
    std::memcpy(&single, result, sizeof single);
    return single;
  }
  double twice;
  std::memcpy(&twice, result, sizeof twice);
  return twice;
}

Reference reference_of_multiple(ElementType accumulator, int finest, Int128 sum, Int128 magnitude) {
  const bool single = accumulator == ElementType::f32;
  const int digits = single ? std::numeric_limits<float>::digits : std::numeric_limits<double>::digits;
  const int least = (single ? std::numeric_limits<float>::min_exponent : std::numeric_limits<double>::min_exponent) -
                    digits;
  const int most = single ? std::numeric_limits<float>::max_exponent : std::numeric_limits<double>::max_exponent;
  const bool normal = finest > -1022 && finest < 890;  // the unit, and so any 128-bit multiple
  const double unit = normal ? std::bit_cast<double>(static_cast<std::uint64_t>(finest + 1023) << 52) : 0;
  const auto scaled = [&](double x) { return normal ? x * unit : std::ldexp(x, finest); };
  Reference out{.type = accumulator};
  const auto set = [&](auto total, auto magnitudes) {
    // Conversion rounds to nearest. Below the least normal number a multiple of the least subnormal has few digits.
    const double rounded = single ? static_cast<double>(static_cast<float>(total)) : static_cast<double>(total);
    out.value = scaled(rounded);
    if (single) out.value = static_cast<double>(static_cast<float>(out.value));
    out.sum_of_magnitudes = scaled(static_cast<double>(magnitudes));
    out.residual = scaled(static_cast<double>(total - static_cast<decltype(total)>(rounded)));
  };
  // Of millions of outputs each has one: the processor's own integers take a fraction of the time.
  if (magnitude <= Int128{1} << 62)
    set(static_cast<std::int64_t>(sum), static_cast<std::int64_t>(magnitude));
  else
    set(sum, magnitude);
  out.exact_in_any_order = finest >= least && magnitude <= Int128{1} << digits && finest + digits < most;
  return out;
}

std::optional<double> proven_share(ElementType accumulator, std::size_t longest_chain) {
  const double u = std::ldexp(1.0, accumulator == ElementType::f32 ? -24 : -53);
  const ErrorBound bound = bound_of(static_cast<double>(longest_chain), u, false);
  return bound.worst_case && longest_chain > 0 ? std::optional(bound.factor) : std::nullopt;
}

Reference reference(Operation op, ElementType type, std::span<const std::byte> tile, std::size_t n) {
  return ExactReference(op, type, tile, n).reference();
}

ExactReference::ExactReference(Operation op, ElementType type, std::span<const std::byte> tile, std::size_t n)
    : operation_(op), type_(type), n_(n) {
  if (n > 0 && tile.size() < size_of(type))
    throw UsageError("a reference over " + std::to_string(n) + " elements needs a tile that is not empty");
  for (const Operation value : values_by(op)) terms_.push_back(terms_of(value, type, tile, n));
  reference_ = rounded(op, type, n, terms_);
}

Reference ExactReference::with(const ChangedElement& c) const {
  std::vector<ReferenceTerms> terms = terms_;
  const std::vector<Operation> values = values_by(operation_);
  with_element(type_, [&]<class In>(In) {
    for (std::size_t v = 0; v < values.size(); ++v) {
      if constexpr (is_integer<In>) {
        std::vector<std::byte> both(c.was.begin(), c.was.begin() + sizeof(In));
        ReferenceTerms before, after;
        add_integers<In>(values[v], both, 1, before);
        both.assign(c.is.begin(), c.is.begin() + sizeof(In));
        add_integers<In>(values[v], both, 1, after);
        terms[v].integer += after.integer - before.integer;
      } else {
        replace_float<In>(values[v], c.was.data(), c.is.data(), terms[v]);
      }
    }
  });
  return rounded(operation_, type_, n_, terms);
}

/// Whether a right result of the changed input is told from one of the input as it was, and is one that can be judged.
bool ExactReference::shows(const Reference& changed) const {
  const bool exact = reference_.all_exact();
  if (exact && !changed.all_exact()) return false;
  const Reference& before = reference_.second.empty() ? reference_ : reference_.second.front();
  const Reference& after = changed.second.empty() ? changed : changed.second.front();
  if (!is_floating(changed.type)) return changed.integer != reference_.integer || after.integer != before.integer;
  // No partial sum may overflow on the way, as in no data set.
  const double most = std::ldexp(1.0, changed.type == ElementType::f32 ? 127 : 1023);
  if (!(std::max(changed.sum_of_magnitudes, after.sum_of_magnitudes) < most)) return false;
  const auto differ = [](const Reference& a, const Reference& b) {
    return a.value != b.value || a.residual != b.residual;
  };
  return differ(changed, reference_) || (exact && differ(after, before));
}

std::optional<ChangedElement> ExactReference::draw_change(std::span<const std::byte> tile, std::mt19937_64& random,
                                                          std::size_t longest_chain) const {
  const Reference& judged = reference_.second.empty() ? reference_ : reference_.second.front();
  if (n_ == 0 || !std::isfinite(reference_.value) || !std::isfinite(judged.sum_of_magnitudes)) return std::nullopt;
  const std::size_t size = size_of(type_), period = tile.size() / size;
  ChangedElement c{.index = random() % n_, .bytes = size};
  const auto copy = [&](std::size_t from, ElementBytes& to) {
    std::copy_n(tile.begin() + static_cast<std::ptrdiff_t>(from % period * size), size, to.begin());
  };
  copy(c.index, c.was);
  const auto accept = [&] { return shows(c.want = with(c)); };
  const auto store = [&](double x) {
    with_element(type_, [&]<class In>(In) {
      const auto value = static_cast<In>(x);
      std::memcpy(c.is.data(), &value, sizeof value);
    });
  };
  const bool squares = has_squares(operation_);
  constexpr int draws = 4;
  if (!is_floating(type_) || reference_.all_exact()) {
    for (int i = 0; i < draws; ++i) {
      const std::uint64_t drawn = random();
      const std::array<std::uint64_t, 2> number{drawn, size > sizeof drawn ? random() : 0};
      if (is_floating(type_)) copy(drawn % n_, c.is);  // one of the others
      else std::memcpy(c.is.data(), &number, size);
      if (accept()) return c;
    }
    if (!is_floating(type_)) return std::nullopt;
    // Less is always exact; and of zeros the least that the others are.
    store(0);
    if (accept()) return c;
    if (terms_.back().finest == std::numeric_limits<int>::max()) return std::nullopt;
    store(std::ldexp(1.0, terms_.back().finest / (squares ? 2 : 1)));
    return accept() ? std::optional(c) : std::nullopt;
  }
  // With f the bound's factor a result for the old input is told from the new one's if its term changes by more than
  // 2f / (1 - f) sum|x|. Beyond the chains of which f is below 0.96, less than 64 would do, too: see bound_of().
  const double hu = static_cast<double>(std::max<std::size_t>(longest_chain, 1) + (squares ? 1 : 0)) *
                    std::ldexp(1.0, judged.type == ElementType::f32 ? -24 : -53);
  const ErrorBound bound = bound_of(hu, 1, true);
  const double times = bound.worst_case ? std::min(8 * bound.factor / (1 - bound.factor), 64.0) : 64.0;
  double was = 0;
  with_element(type_, [&]<class In>(In) { was = static_cast<double>(element<In>(c.was, 0)); });
  // Of the other sign, so that it is never nearer to what was there; squares have none. Nor is its exponent
  // smaller: a sum whose time depends on exponents would be timed on data with others than the data set has.
  const double term = times * judged.sum_of_magnitudes + 8 * judged.underflow;
  const double least = squares ? std::sqrt(term + was * was) : std::max(term, std::abs(was) / 2);
  const int most = type_ == ElementType::f16 ? F16::max_exponent : type_ == ElementType::f64 ? 1024 : 128;
  const int exponent = std::min(std::ilogb(least) + 1, most - 1);
  store(std::copysign(std::ldexp(static_cast<double>(4 + random() % 4), exponent - 2), -was));
  return accept() ? std::optional(c) : std::nullopt;
}

Check check_result(const void* result, const Reference& want, std::size_t longest_chain, Operation op,
                   bool flushes_subnormals) {
  if (op != Operation::moments) return check_value(result, want, longest_chain, op, flushes_subnormals);
  const Check sum = check_value(result, want, longest_chain, Operation::sum, flushes_subnormals);
  const Check squares = check_value(static_cast<const std::byte*>(result) + size_of(want.type), want.second.front(),
                                    longest_chain, Operation::sum_of_squares, flushes_subnormals);
  const bool about_squares = sum.ok && !squares.ok;
  Check c = about_squares ? squares : sum;
  if (!c.ok) c.why = (about_squares ? "sum of squares: " : "sum: ") + c.why;
  c.text = sum.text;
  c.text2 = squares.text;
  return c;
}

Check check_call(const void* result, const Reference& unchanged, const ChangedElement* changed,
                 std::size_t longest_chain, Operation op, bool flushes_subnormals) {
  const auto against = [&](const Reference& want) {
    return check_result(result, want, longest_chain, op, flushes_subnormals);
  };
  Check c = against(changed ? changed->want : unchanged);
  if (!changed || c.ok) return c;
  const std::string element = "element " + std::to_string(changed->index) + " of the input was changed";
  c.right_before = against(unchanged).ok;
  c.about_change = c.right_before ? "; which was right before " + element +
                                        ": the result of an earlier call, or the element was not read"
                                  : "; " + element + " for this call";
  return c;
}

}  // namespace reductio
