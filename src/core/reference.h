#pragma once
/// What the right answer is, exactly, and how far from it a floating-point reduction may be.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/types.h"

namespace reductio {

/// The exact result of one reduction over n elements that repeat a tile, by a superaccumulator for floats (no rounding
/// until the end) and modulo 2^width for integers.
struct Reference {
  ElementType type;               ///< the accumulator's
  std::uint64_t integer = 0;      ///< the result's bits, for integers
  double value = 0;               ///< the correctly rounded result, for floats; +-inf or NaN where IEEE addition gives it
  double sum_of_magnitudes = 0;   ///< sum |x| (or of squares): the scale of the error bound
  bool exact_in_any_order = false;  ///< every partial sum in every order is representable: results must match bit for bit
};

Reference reference(Operation, ElementType, std::span<const std::byte> tile, std::size_t n);

/// The verdict on one result (raw bytes of one accumulator in host memory).
struct Check {
  bool ok = false;
  double value = 0;        ///< the result as a number
  std::string text;        ///< the result as shown in CSV and messages; shortest form that reads back exactly
  double abs_error = 0;    ///< |result - exact|; 0 for a matching integer; NaN results have NaN here
  double error_bound = 0;  ///< gamma_h * sum|x| with h additions on the longest chain; 0 where bits must match
  std::string why;         ///< "got X, want Y (error E, bound B)", empty if ok
};
Check check_result(const void* result, const Reference&, std::size_t longest_chain, Operation);

}  // namespace reductio
