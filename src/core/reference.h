#pragma once
/// The exact result of a reduction, and how far from it a floating-point reduction may be.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/exact.h"
#include "core/types.h"

namespace reductio {

/// The exact result of one reduction over n elements that repeat a tile, by a superaccumulator for floats (no rounding
/// until the end) and modulo 2^width for integers. Of moments it is the sum.
struct Reference {
  ElementType type;           ///< the accumulator's
  UInt128 integer = 0;        ///< the result's bits, for integers; the upper ones are zero
  double value = 0;           ///< the correctly rounded result, for floats; +-inf or NaN where IEEE addition gives it
  double sum_of_magnitudes = 0;  ///< sum |x| (or of squares): the scale of the error bound
  bool exact_in_any_order =
      false;             ///< every partial sum in every order is representable: results must match bit for bit
  double residual = 0;   ///< exact result minus `value`, for floats: errors below the last place of `value` show
  double underflow = 0;  ///< the most that squares can lose to underflow, all together
  std::vector<Reference> second{};  ///< of moments the sum of squares; else none

  /// exact_in_any_order of all values.
  bool all_exact() const { return exact_in_any_order && (second.empty() || second.front().all_exact()); }
};

/// `tile` repeats: element i is tile[i % (its length)], for n elements. Throws UsageError for n > 0 and an empty tile.
Reference reference(Operation, ElementType, std::span<const std::byte> tile, std::size_t n);

/// An input element that is changed for one call. A kernel that returns a remembered result, or reads only part of its
/// input, then gives the unchanged input's result.
struct ChangedElement {
  std::size_t index = 0, bytes = 0;      ///< where it lies, in elements, and the size of one
  std::size_t output = 0;                ///< which output it is added up in
  ElementBytes was{}, is{};           ///< the element itself: the first `bytes` of each
  Reference want{};                      ///< what is right while it is changed
};

/// The exact sum behind one value of a result, before rounding.
struct ReferenceTerms {
  UInt128 integer = 0;
  ExactSum sum{}, magnitude{};
  int finest = std::numeric_limits<int>::max();  ///< all terms are multiples of 2^finest
};

/// A reference that keeps its exact sums, so that another element in the input costs no pass over it.
class ExactReference {
 public:
  /// As reference() above.
  ExactReference(Operation, ElementType, std::span<const std::byte> tile, std::size_t n);

  const Reference& reference() const { return reference_; }

  /// Draws one of the n elements of the same tile, each equally likely, so a kernel that skips elements misses some
  /// changes, and a value for it that changes the result:
  ///   integers       any
  ///   exact floats   one with which they stay exact in any order
  ///   other floats   one whose exponent is no smaller than the old one's, and that is several times the error bound
  ///                  of the longest chain, so that rounding cannot hide it; of chains too long for that bound, 64
  ///                  times sum|x|. (Of very many f16 that exceeds any f16)
  /// Nothing where there is no such value: of no elements, infinities or NaN.
  std::optional<ChangedElement> draw_change(std::span<const std::byte> tile, std::mt19937_64& random,
                                            std::size_t longest_chain) const;

 private:
  Reference with(const ChangedElement&) const;
  bool shows(const Reference& changed) const;

  Operation operation_;
  ElementType type_;
  std::size_t n_;
  std::vector<ReferenceTerms> terms_;  ///< of each value of the result
  Reference reference_;
};

/// The first value of a result, an f32 or f64.
double floating_result(const void* result, ElementType);

/// What is right of a sum of floats that is a whole multiple of 2^finest, as are its terms; `magnitude` is the sum of
/// theirs. Both in units of 2^finest.
Reference reference_of_multiple(ElementType accumulator, int finest, Int128 sum, Int128 magnitude);

/// How far a finite result may be from the exact sum, as a share of sum|x|, whatever the terms' signs; nothing where
/// only check_result() can tell.
std::optional<double> proven_share(ElementType accumulator, std::size_t longest_chain);

/// The verdict on one result (raw bytes of Problem::result_bytes() in host memory). Of moments both values must be
/// right. All members but the two texts describe the sum, or the sum of squares if only that is wrong.
///   integers    equal modulo 2^width
///   not finite  NaN exactly where IEEE addition gives NaN; infinities by their sign. A reference is finite only if the
///               exact result is, so data must not overflow on the way to a finite result (no dataset here does)
///   floats      bit for bit where `exact_in_any_order`, or the longest chain is 0 (but for the sign of zero);
///               else within gamma_h * sum|x|, h being
///               the longest chain of roundings. From h*u = 1/2 on (2^23 additions in f32) gamma_h is no bound at all:
///               there 8*sqrt(h)*u * sum|x|, which independent rounding errors do not exceed. They are not independent
///               where nearly all terms have one sign, because a large running sum rounds all small terms the same way:
///               there half of the sum. A sequential f32 sum that stagnates fails both, rightly. A result of exactly
///               zero must be justified by cancellation, so that a buffer that was only zeroed does not pass
struct Check {
  bool ok = false;
  double value = 0;      ///< the result as a number
  std::string text;      ///< the result as shown in CSV and messages; shortest form that reads back exactly
  std::string text2{};   ///< likewise the second value; empty: there is none
  double abs_error = 0;  ///< |result - exact|; 0 for a matching integer; NaN results have NaN here
  double error_bound =
      0;  ///< gamma_h * sum|x| with h additions on the longest chain; 0 where bits must match (integers, exact data)
  std::string why;  ///< "got X, want Y (error E, bound B)", empty if ok
  // If an element of the input was changed for the call, and the result is wrong:
  std::string about_change{};  ///< appended to `why`: which element, and whether the result was right before
  bool right_before = false;   ///< the result is that of the input as it was
};
Check check_result(const void* result, const Reference&, std::size_t longest_chain, Operation,
                   bool flushes_subnormals = false);
/// The result of a call on an input with that element changed; null: as it is, whose result is `unchanged`.
Check check_call(const void* result, const Reference& unchanged, const ChangedElement*, std::size_t longest_chain,
                 Operation, bool flushes_subnormals);

}  // namespace reductio
