#include "core/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <numeric>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace reductio {
namespace {

constexpr std::size_t most_sizes = 100000;

[[noreturn]] void malformed(std::string_view text) {
  throw UsageError("malformed size '" + std::string(text) +
                   "'; write 1000, 2^20, 1e6, 2^20-1, or a range: 2^10:2^30 (powers of two), 100:1000:100 (steps)");
}

[[noreturn]] void too_large(std::string_view text) {
  throw UsageError("size '" + std::string(text) + "' is too large; the largest is 2^60");
}

/// a * b, or nothing where that is more than the largest.
std::optional<std::size_t> product(std::size_t a, std::size_t b) {
  if (a != 0 && b > most_elements / a) return std::nullopt;
  return a * b;
}

/// Digits only: std::from_chars would also take a sign for signed types, and this is where all digits are read.
std::size_t parse_digits(std::string_view digits, std::string_view whole) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) too_large(whole);
  if (error != std::errc{} || end != digits.data() + digits.size()) malformed(whole);
  if (value > most_elements) too_large(whole);
  return value;
}

std::size_t power(std::size_t base, std::size_t exponent, std::size_t factor, std::string_view whole) {
  std::size_t value = factor;
  if (base < 2 || value == 0) return exponent == 0 || base == 1 ? value : 0;
  for (; exponent > 0; --exponent) {
    const auto next = product(value, base);
    if (!next) too_large(whole);
    value = *next;
  }
  return value;
}

/// "1000", "2^20", "1e6", "2.5e6". Decimals by integers: a double would round 2^53+1 written as a decimal.
std::size_t parse_term(std::string_view term, std::string_view whole) {
  if (const auto caret = term.find('^'); caret != std::string_view::npos)
    return power(parse_digits(term.substr(0, caret), whole), parse_digits(term.substr(caret + 1), whole), 1, whole);

  const auto e = term.find_first_of("eE");
  if (e == std::string_view::npos) return parse_digits(term, whole);
  std::size_t exponent = parse_digits(term.substr(e + 1), whole);
  std::string digits(term.substr(0, e));
  if (const auto point = digits.find('.'); point != std::string::npos) {
    std::string fraction = digits.substr(point + 1);
    while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
    if (point == 0 || point + 1 == digits.size()) malformed(whole);
    if (fraction.size() > exponent) throw UsageError("size '" + std::string(whole) + "' is not a whole number");
    exponent -= fraction.size();
    digits = digits.substr(0, point) + fraction;
  }
  return power(10, exponent, parse_digits(digits, whole), whole);
}

void append_range(std::vector<std::size_t>& out, std::string_view text) {
  const auto parts = split_at(text, ':');
  if (parts.size() > 3 || parts[0].empty() || parts[1].empty()) malformed(text);
  const std::size_t first = parse_size(parts[0]), last = parse_size(parts[1]);
  if (first > last) throw UsageError("empty range of sizes '" + std::string(text) + "': its start is above its end");

  const std::string_view step_text = parts.size() == 3 ? parts[2] : "*2";
  const bool multiplies = step_text.starts_with('*');
  const std::size_t step = parse_size(multiplies ? step_text.substr(1) : step_text);
  if (step < (multiplies ? 2 : 1) || (multiplies && first == 0))
    throw UsageError("range of sizes '" + std::string(text) + "' never ends; " +
                     (multiplies ? "multiply from 1 up, by 2 or more" : "step by 1 or more"));

  for (std::size_t n = first;;) {
    out.push_back(n);
    if (out.size() > most_sizes) throw UsageError("'" + std::string(text) + "' makes more than 100000 sizes");
    if (multiplies ? n > last / step : step > last - n) return;
    n = multiplies ? n * step : n + step;
  }
}

}  // namespace

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::size_t parse_size(std::string_view text) {
  const auto sign = text.find_first_of("+-");
  const std::size_t value = parse_term(text.substr(0, sign), text);
  if (sign == std::string_view::npos) return value;
  const std::size_t change = parse_term(text.substr(sign + 1), text);
  if (text[sign] == '+') {
    if (change > most_elements - value) too_large(text);
    return value + change;
  }
  if (change > value) throw UsageError("size '" + std::string(text) + "' is below zero");
  return value - change;
}

std::vector<std::size_t> parse_sizes(std::string_view text) {
  std::vector<std::size_t> out;
  for (const std::string_view part : split_at(text, ',')) {
    if (part.find(':') == std::string_view::npos)
      out.push_back(parse_size(part));
    else
      append_range(out, part);
    if (out.size() > most_sizes) throw UsageError("more than 100000 sizes; ask for fewer");
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::uint64_t parse_whole(std::string_view option, std::string_view text, std::string_view wanted, std::uint64_t most) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out > most)
    throw UsageError("malformed " + std::string(option) + " '" + std::string(text) + "'; give " + std::string(wanted));
  return out;
}

std::optional<double> parse_share(std::string text) {
  const bool percent = text.ends_with('%');
  if (percent) text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  std::size_t read = 0;
  double value = 0;
  try {
    value = std::stod(text, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (read == 0 || read != text.size() || !std::isfinite(value)) return std::nullopt;
  return percent ? value / 100 : value;
}

namespace {

constexpr std::size_t most_states = 10'000;

/// The largest number in what stands between braces, at least 1, at most just over the states that are taken.
std::size_t most_of(std::string_view counts) {
  std::size_t most = 1, number = 0;
  for (const char c : counts) {
    number = c >= '0' && c <= '9' ? std::min(10 * number + std::size_t(c - '0'), most_states + 1) : 0;
    most = std::max(most, number);
  }
  return most;
}

/// Where the class of characters ends that begins at `at`: its last character.
std::size_t end_of_class(std::string_view regex, std::size_t at) {
  while (++at < regex.size() && regex[at] != ']') {
    const char next = at + 1 < regex.size() ? regex[at + 1] : ' ';
    if (regex[at] == '\\')
      ++at;
    else if (regex[at] == '[' && (next == ':' || next == '.' || next == '='))  // [:alpha:], whose bracket ends nothing
      at = std::min(regex.find(std::string{next, ']'}, at + 2), regex.size() - 2) + 1;
  }
  return at;
}

/// About how many states std::regex makes, or more than are taken. A repeat, as {1000}, copies those of what it
/// repeats.
std::size_t states_of(std::string_view regex) {
  std::vector<std::size_t> open{0};  // of each group that is open, the states so far; first of all that is in none
  std::size_t last = 0;              // of what a repeat would repeat
  for (std::size_t at = 0; at < regex.size(); ++at) {
    const char c = regex[at];
    if (c == '(') {
      open.push_back(1);
      continue;
    }
    if (c == '{') {
      const std::size_t end = std::min(regex.find('}', at), regex.size());
      const std::size_t repeated = std::min(last * most_of(regex.substr(at + 1, end - at - 1)), most_states + 1);
      open.back() += repeated - last;
      last = repeated;
      at = end;
    } else if (c == ')' && open.size() > 1) {
      last = open.back() + 1;
      open.pop_back();
      open.back() += last;
    } else if (c == '*' || c == '+' || c == '?') {
      ++last;
      ++open.back();
    } else {
      if (c == '\\') ++at;
      if (c == '[') at = end_of_class(regex, at);
      last = 1;
      ++open.back();
    }
    if (open.back() > most_states) return most_states + 1;
  }
  return std::accumulate(open.begin(), open.end(), std::size_t{0});
}

/// std::regex recurses, and overflows the stack: on each parenthesis as it compiles, and on each of its states as it
/// matches.
void check_size(std::string_view regex) {
  constexpr std::size_t most_characters = 1000;
  if (regex.size() > most_characters)
    throw UsageError("the regular expression has " + std::to_string(regex.size()) + " characters, at most " +
                     std::to_string(most_characters) + " are taken; select by a shorter one, as '^(twopass|levels)/'");
  if (states_of(regex) > most_states)
    throw UsageError("the regular expression '" + std::string(regex) + "' repeats too often; repeat less in {}");
}

}  // namespace

std::function<bool(const std::string&)> parse_regex(std::string_view regex) {
  check_size(regex);
  std::regex pattern;
  try {
    pattern.assign(regex.begin(), regex.end());
  } catch (const std::regex_error& e) {
    throw UsageError("malformed regular expression '" + std::string(regex) + "': " + e.what());
  }
  return [pattern = std::move(pattern)](const std::string& text) { return std::regex_search(text, pattern); };
}

std::string quoted(const std::string& word) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=,+@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

}  // namespace reductio
