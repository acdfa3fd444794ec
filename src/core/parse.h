#pragma once
/// How numbers, shares and regular expressions are written on a command line.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reductio {

/// More elements than any memory holds, and few enough that no count of their bytes wraps around to look small.
inline constexpr std::size_t most_elements = std::size_t{1} << 60;

/// What stands between the separators: "a,,b" has three parts, "" has one, which is empty.
std::vector<std::string_view> split_at(std::string_view text, char separator);

/// One number of elements: "1000", "2^20", "1e6", "2.5e6", or such a number plus or minus another: "2^20-1".
/// Throws UsageError for anything else, for fractions and for more than most_elements.
std::size_t parse_size(std::string_view);

/// A list of numbers and ranges, separated by commas:
///   A:B      A, 2A, 4A, ... up to B
///   A:B:*F   the same with the factor F, a whole number from 2
///   A:B:S    A, A+S, A+2S, ... up to B
/// Ascending, each size once. Throws UsageError, naming the part that is wrong, for malformed parts, empty ranges and
/// lists of more than 100000 sizes.
std::vector<std::size_t> parse_sizes(std::string_view);

/// The value of `option`: a whole number up to `most`, of digits alone. (CLI11 would read "-1" as the largest number.)
/// Otherwise throws UsageError, which asks for `wanted`.
std::uint64_t parse_whole(std::string_view option, std::string_view text, std::string_view wanted,
                          std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// "1%", "1 %" or "0.01" as 0.01; nothing for what is no finite number.
std::optional<double> parse_share(std::string text);

/// Whether a text contains a match of the regular expression (ECMAScript). Throws UsageError if that is malformed,
/// or so large that std::regex would overflow the stack.
std::function<bool(const std::string&)> parse_regex(std::string_view regex);

/// The word as a shell takes it: in quotes where it needs them.
std::string quoted(const std::string& word);

}  // namespace reductio
