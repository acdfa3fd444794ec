#pragma once
/// How the elements of an input lie: as one plain array, as rows and columns, or as segments of any lengths.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reductio {

/// Of one plain array all is empty.
struct InputShape {
  std::optional<std::size_t> rows{}, columns{};
  std::optional<std::size_t> pitch_elements{};  ///< from one row's start to the next one's; empty: `columns`
  std::optional<std::size_t> segments{};
  std::string lengths{};  ///< how the segments' lengths are chosen: "powerlaw:2.1"
  /// Where each segment begins, and behind the last where it ends; of segments alone.
  std::shared_ptr<const std::vector<std::int64_t>> offsets{};
  /// The same in memory of the device, which lives as long as the plan; null where a plan is made but not called.
  const std::int64_t* offsets_on_device = nullptr;

  bool is_plain() const { return !rows && !segments; }
  /// "1000x24", with a pitch "1000x24/32"; of segments their lengths; of a plain array empty. With n it tells all.
  std::string text() const;
  /// Without the offsets, which follow from n and the rest.
  bool operator==(const InputShape& o) const;
};

/// Rows and columns as they are asked for.
struct AskedShape {
  std::optional<std::size_t> rows, columns;  ///< empty: as many as make up n elements; of both, about equally many
  std::optional<std::size_t> pitch_elements{};

  bool fits_any_n() const { return !rows || !columns; }
};

/// "2^16x2^10,1000x*,1000x24/32": rows and columns, each a number, a range as of sizes, or `*`; behind a slash the
/// pitch. Throws UsageError for what is malformed, more than most_elements, or a pitch below its row.
std::vector<AskedShape> parse_shapes(std::string_view);
/// "uniform:32,powerlaw:2.1,one-giant,empty-many", each checked:
///   uniform:L   L elements each, the last what is left
///   powerlaw:A  drawn so that lengths of at least l are as frequent as l^(1 - A); A above 1
///   one-giant   half of all elements are one segment, amid segments of eight
///   empty-many  nine of ten are empty, the others have 32
/// Throws UsageError.
std::vector<std::string> parse_segments(std::string_view);

/// Rows and columns of about n elements, rounded down; of n only where that is left open. Throws UsageError where the
/// pitch is below the row.
InputShape shape_of(const AskedShape&, std::size_t n);
/// Segments of n elements in all. Throws UsageError where they are more than 2^28.
InputShape ragged(const std::string& lengths, std::size_t n);

}  // namespace reductio
