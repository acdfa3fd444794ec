#include "core/reference.h"

#include <algorithm>
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

/// `In` is the element's type, signed. All of it is modulo 2^64; a sum modulo 2^32 is its lower half.
template <class In>
void integer_reference(Operation op, std::span<const std::byte> tile, std::size_t period, std::size_t n,
                       Reference& out) {
  const std::size_t tiles = period ? n / period : 0, rest = period ? n % period : 0;
  for (std::size_t i = 0; i < std::min(period, n); ++i) {
    const auto x = static_cast<std::uint64_t>(element<In>(tile, i));
    out.integer += (tiles + (i < rest)) * (op == Operation::sum_of_squares ? x * x : x);
  }
  if (size_of(out.type) == 4) out.integer &= 0xffffffffu;
  out.exact_in_any_order = true;
}

/// `T` is the accumulator's type.
template <class T, class In = T>
void float_reference(Operation op, std::span<const std::byte> tile, std::size_t period, std::size_t n, Reference& out) {
  const bool squares = op == Operation::sum_of_squares;
  const std::size_t tiles = period ? n / period : 0, rest = period ? n % period : 0;
  ExactSum sums[2], magnitudes[2];               // of the tile's first `rest` elements and of the others
  int finest = std::numeric_limits<int>::max();  // all terms are multiples of 2^finest
  for (std::size_t i = 0; i < std::min(period, n); ++i) {
    const auto x = static_cast<double>(element<In>(tile, i));
    const int part = i < rest ? 0 : 1;
    if (squares) {
      sums[part].add_square(x);
    } else {
      sums[part].add(x);
      magnitudes[part].add(std::abs(x));
    }
    if (x != 0 && std::isfinite(x)) finest = std::min(finest, (squares ? 2 : 1) * lowest_bit(x));
  }
  ExactSum sum, magnitude;
  for (int part = 0; part < 2; ++part) {
    const std::uint64_t times = tiles + (part == 0);
    sum.add(sums[part], times);
    magnitude.add(squares ? sums[part] : magnitudes[part], times);
  }

  constexpr bool single = std::is_same_v<T, float>;
  out.value = single ? static_cast<double>(sum.to_f32()) : sum.to_f64();
  out.sum_of_magnitudes = magnitude.to_f64();
  if (squares)
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
                           (finest >= least && magnitude.magnitude_at_most_power_of_two(std::min(
                                                   finest + digits, std::numeric_limits<T>::max_exponent - 1)));
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
  const auto bits = static_cast<std::make_unsigned_t<T>>(want.integer);
  std::memcpy(&right, &bits, sizeof right);
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
    return finish(same, "");
  }

  c.abs_error = std::abs((got - want.value) - want.residual);
  if (want.exact_in_any_order) return finish(got == want.value || c.abs_error <= flushed, " exactly");

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
                                                " additions is too long for a worst-case bound");
  // A buffer that was only zeroed lies within the bound whenever the sum is small beside its terms. Rounding gives
  // exactly zero only where the sum is lost in rounding noise, and never with any likelihood on chains that long.
  const double noise = statistical_factor(h, u) * want.sum_of_magnitudes + want.underflow + flushed;
  if (got == 0 && want.value != 0 && (!bound.worst_case || std::abs(want.value) > noise))
    return finish(false, note + ": within the bound, but exactly zero, as if nothing was added");
  return finish(true, "");
}

/// Of one value: `op` is no moments.
Reference reference_of_value(Operation op, ElementType type, std::span<const std::byte> tile, std::size_t n) {
  const std::size_t period = tile.size() / size_of(type);
  Reference out{.type = accumulator_of(op, type)};
  switch (type) {
    case ElementType::i8: integer_reference<std::int8_t>(op, tile, period, n, out); break;
    case ElementType::i32: integer_reference<std::int32_t>(op, tile, period, n, out); break;
    case ElementType::i64: integer_reference<std::int64_t>(op, tile, period, n, out); break;
    case ElementType::f16: float_reference<float, F16>(op, tile, period, n, out); break;
    case ElementType::bf16: float_reference<float, BF16>(op, tile, period, n, out); break;
    case ElementType::f32:
      if (out.type == ElementType::f64)
        float_reference<double, float>(op, tile, period, n, out);
      else
        float_reference<float>(op, tile, period, n, out);
      break;
    case ElementType::f64: float_reference<double>(op, tile, period, n, out); break;
  }
  return out;
}

Check check_value(const void* result, const Reference& want, std::size_t longest_chain, Operation op,
                  bool flushes_subnormals) {
  if (want.type == ElementType::i64) return check_integer<std::int64_t>(result, want);
  if (!is_floating(want.type)) return check_integer<std::int32_t>(result, want);
  double got;
  if (want.type == ElementType::f32) {
    float single;
    std::memcpy(&single, result, sizeof single);
    got = single;
  } else {
    std::memcpy(&got, result, sizeof got);
  }
  return check_float(got, want, longest_chain, op, flushes_subnormals);
}

}  // namespace

Reference reference(Operation op, ElementType type, std::span<const std::byte> tile, std::size_t n) {
  if (n > 0 && tile.size() < size_of(type))
    throw UsageError("a reference over " + std::to_string(n) + " elements needs a tile that is not empty");
  if (op != Operation::moments) return reference_of_value(op, type, tile, n);
  Reference out = reference_of_value(Operation::sum, type, tile, n);
  out.second.push_back(reference_of_value(Operation::sum_of_squares, type, tile, n));
  return out;
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

}  // namespace reductio
