#pragma once
/// Fields of rows and raw samples by the names of their columns, for those who read results back.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "measure/results/csv.h"

namespace reductio {

/// Where a column stands. Throws std::out_of_range where there is none of that name.
inline std::size_t index_of(const std::vector<std::string>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) throw std::out_of_range("no column " + std::string(name));
  return static_cast<std::size_t>(at - names.begin());
}

/// A field as a number; nothing where it is empty or none.
inline std::optional<double> number_in(std::string_view field) {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
  return value;
}

/// A whole file; nothing where it cannot be opened.
inline std::optional<std::string> content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The columns that tell one point from another, of rows and of raw samples, in the order of row_key().
inline constexpr std::string_view key_columns[] = {
    "device",  "variant", "operation", "element_type", "n",          "offset_elements",
    "dataset", "seed",    "settings",  "timing_mode",  "cache_state"};
/// Points that were sampled together share all of them but these, which the harness's own samples leave to it.
inline bool is_own_in_group(std::string_view key_column) {
  return key_column == "variant" || key_column == "settings";
}

/// Keys of fields that stand under these names.
class KeyColumns {
 public:
  explicit KeyColumns(const std::vector<std::string>& names) {
    for (const std::string_view c : key_columns) {
      row_.push_back(index_of(names, c));
      if (!is_own_in_group(c)) group_.push_back(row_.back());
    }
  }
  std::string of_row(const Fields& fields) const { return join(row_, fields); }  ///< as row_key()
  std::string of_group(const Fields& fields) const { return join(group_, fields); }

 private:
  static std::string join(const std::vector<std::size_t>& columns, const Fields& fields) {
    std::string key;
    for (const std::size_t i : columns) key += (key.empty() ? "" : "|") + fields.at(i);
    return key;
  }
  std::vector<std::size_t> row_, group_;
};

}  // namespace reductio
