#pragma once
/// How numbers of elements are written on a command line.

#include <cstddef>
#include <string_view>
#include <vector>

namespace reductio {

/// One number of elements: "1000", "2^20", "1e6", "2.5e6", or such a number plus or minus another: "2^20-1".
/// Throws UsageError for anything else, for fractions and for more than 2^60, whose bytes nothing can count.
std::size_t parse_size(std::string_view);

/// A list of numbers and ranges, separated by commas:
///   A:B      A, 2A, 4A, ... up to B
///   A:B:*F   the same with the factor F, a whole number from 2
///   A:B:S    A, A+S, A+2S, ... up to B
/// Ascending, each size once. Throws UsageError, naming the part that is wrong, for malformed parts, empty ranges and
/// lists of more than 100000 sizes.
std::vector<std::size_t> parse_sizes(std::string_view);

}  // namespace reductio
