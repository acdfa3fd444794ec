#include "core/shape.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "core/error.h"
#include "core/parse.h"

namespace reductio {
namespace {

[[noreturn]] void malformed_shape(const std::string& text) {
  throw UsageError("malformed shape '" + text +
                   "'; write rows and columns as 2^16x2^10, with a pitch as 1000x24/32, and * for what --sizes leaves "
                   "open: 1000x*");
}

void check_shape(const std::string& text, std::size_t rows, std::size_t columns, std::size_t pitch) {
  if (pitch < columns)
    throw UsageError("shape '" + text + "': a row has " + std::to_string(columns) + " elements, more than the pitch, " +
                     std::to_string(pitch) + "; give a pitch that holds a row");
  if (rows != 0 && pitch > most_elements / rows)
    throw UsageError("shape '" + text + "' has more than 2^60 elements; give fewer rows or columns");
}

/// One side of a shape; nothing for `*`.
std::vector<std::optional<std::size_t>> parse_side(std::string_view text) {
  if (text == "*") return {std::nullopt};
  const std::vector<std::size_t> sizes = parse_sizes(text);
  return {sizes.begin(), sizes.end()};
}

/// The number behind the colon of "uniform:32"; nothing where there is none.
std::optional<double> parameter_of(const std::string& word) {
  const auto colon = word.find(':');
  if (colon == std::string::npos) return std::nullopt;
  double value = 0;
  const char* const last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data() + colon + 1, last, value);
  return error == std::errc{} && end == last ? std::optional(value) : std::nullopt;
}

std::string kind_of_lengths(const std::string& word) { return word.substr(0, word.find(':')); }

bool are_lengths(const std::string& word) {
  const std::string kind = kind_of_lengths(word);
  const auto number = parameter_of(word);
  if (kind == "uniform") return number && *number >= 1 && *number <= 0x1p60 && *number == std::floor(*number);
  if (kind == "powerlaw") return number && *number > 1 && std::isfinite(*number);
  return word == "one-giant" || word == "empty-many";
}

/// Collects the offsets of segments one after the other.
class Offsets {
 public:
  Offsets(const std::string& lengths, std::size_t n) : lengths_(lengths), n_(n) {}
  /// That so many are to come: too many are refused before they take any memory.
  void expect(std::size_t segments) const {
    constexpr std::size_t most_segments = std::size_t{1} << 28;
    if (segments > most_segments)
      throw UsageError("segments '" + lengths_ + "' of " + std::to_string(n_) +
                       " elements are more than 2^28; ask for longer ones or for fewer elements");
  }
  std::size_t left() const { return n_ - static_cast<std::size_t>(offsets_.back()); }
  void add(std::size_t length) {
    expect(offsets_.size());
    offsets_.push_back(offsets_.back() + static_cast<std::int64_t>(std::min(length, left())));
  }
  std::vector<std::int64_t> take() { return std::move(offsets_); }

 private:
  const std::string& lengths_;
  std::size_t n_;
  std::vector<std::int64_t> offsets_{0};
};

}  // namespace

std::string InputShape::text() const {
  if (segments) return lengths;
  if (!rows) return {};
  const std::string pitch = pitch_elements ? "/" + std::to_string(*pitch_elements) : "";
  return std::to_string(*rows) + "x" + std::to_string(*columns) + pitch;
}

bool InputShape::operator==(const InputShape& o) const {
  return rows == o.rows && columns == o.columns && pitch_elements == o.pitch_elements && segments == o.segments &&
         lengths == o.lengths;
}

std::vector<AskedShape> parse_shapes(std::string_view text) {
  std::vector<AskedShape> out;
  for (const std::string_view part : split_at(text, ',')) {
    const std::string word(part);
    const auto parts = split_at(word, '/');
    const auto sides = split_at(parts.front(), 'x');
    if (parts.size() > 2 || sides.size() != 2 || sides[0].empty() || sides[1].empty()) malformed_shape(word);
    const auto pitch = parts.size() == 2 ? std::optional(parse_size(parts[1])) : std::nullopt;
    for (const auto& rows : parse_side(sides[0]))
      for (const auto& columns : parse_side(sides[1])) {
        check_shape(word, rows.value_or(0), columns.value_or(0), pitch.value_or(columns.value_or(0)));
        out.push_back({rows, columns, pitch});
      }
  }
  return out;
}

std::vector<std::string> parse_segments(std::string_view text) {
  const auto words = split_at(text, ',');
  std::vector<std::string> out(words.begin(), words.end());
  for (const std::string& word : out)
    if (!are_lengths(word))
      throw UsageError(
          "unknown segments '" + word +
          "'; known: uniform:32 (elements each), powerlaw:2.1 (an exponent above 1), one-giant, empty-many");
  return out;
}

InputShape shape_of(const AskedShape& asked, std::size_t n) {
  const auto root = [&] {
    auto r = static_cast<std::size_t>(std::sqrt(static_cast<double>(n)));
    while (r * r > n) --r;
    return r;
  };
  const auto share = [&](std::size_t of) { return of ? n / of : 0; };
  const std::size_t rows = asked.rows ? *asked.rows : asked.columns ? share(*asked.columns) : root();
  const std::size_t columns = asked.columns ? *asked.columns : share(rows);
  InputShape out{.rows = rows, .columns = columns};
  if (asked.pitch_elements && *asked.pitch_elements != columns) out.pitch_elements = asked.pitch_elements;
  check_shape(out.text(), rows, columns, out.pitch_elements.value_or(columns));
  return out;
}

InputShape ragged(const std::string& lengths, std::size_t n) {
  // Every variant of an experiment asks for the same: those of 2^28 elements take seconds.
  constexpr std::size_t most_kept = 24;
  static std::map<std::pair<std::string, std::size_t>, InputShape> known;
  if (const auto at = known.find({lengths, n}); at != known.end()) return at->second;
  if (known.size() == most_kept) known.clear();
  const std::string kind = kind_of_lengths(parse_segments(lengths).front());
  Offsets offsets(lengths, n);
  if (kind == "uniform") {
    const auto each = static_cast<std::size_t>(*parameter_of(lengths));
    offsets.expect(n / each);
    while (offsets.left()) offsets.add(each);
  } else if (kind == "powerlaw") {
    std::mt19937_64 random(1);
    const double power = -1 / (*parameter_of(lengths) - 1);
    while (offsets.left()) {
      const double u = static_cast<double>((random() >> 11) + 1) * 0x1p-53;  // above 0, to 1
      const double length = std::pow(u, power);
      offsets.add(length < 0x1p60 ? static_cast<std::size_t>(length) : offsets.left());
    }
  } else if (kind == "one-giant") {
    constexpr std::size_t dust = 8;
    const std::size_t giant = n / 2;
    offsets.expect(giant / dust);
    while (offsets.left() > giant + (n - giant) / 2) offsets.add(dust);
    offsets.add(giant);
    while (offsets.left()) offsets.add(dust);
  } else {
    constexpr std::size_t each = 32, of = 10;
    offsets.expect(n / each * of);
    for (std::size_t i = 0; offsets.left(); ++i) offsets.add(i % of == of / 2 ? each : 0);
    for (std::size_t i = 0; i < of / 2; ++i) offsets.add(0);
  }
  InputShape out{.lengths = lengths};
  out.offsets = std::make_shared<const std::vector<std::int64_t>>(offsets.take());
  out.segments = out.offsets->size() - 1;
  return known[{lengths, n}] = out;
}

}  // namespace reductio
