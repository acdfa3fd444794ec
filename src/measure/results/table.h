#pragma once
/// Any CSV file of a results folder, read by its header.

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/results/csv.h"

namespace reductio {

class CsvTable {
 public:
  /// `file` names it in messages.
  CsvTable(std::string file, std::vector<Fields> records);
  /// NAME or NAME.gz of a folder; nothing where there is neither. Throws UsageError where it is damaged, or not as its
  /// run wrote it, by the SHA-256 in the folder's machine.json.
  static std::optional<CsvTable> in(const std::filesystem::path& folder, const std::string& name);

  const std::string& file() const { return file_; }
  std::span<const Fields> records() const { return {records_.data() + 1, records_.size() - 1}; }
  bool has(std::string_view column) const { return at_.contains(column); }
  /// A record's field; throws UsageError where the table lacks the column.
  const std::string& at(const Fields&, std::string_view column) const;
  /// Nothing where it is empty or no number.
  std::optional<double> number(const Fields&, std::string_view column) const;
  /// Whether the record is of a call, `variant:name=value`: settings that are not named may have any value.
  bool is_of(const Fields&, std::string_view call) const;

 private:
  std::string file_;
  std::vector<Fields> records_;
  std::map<std::string, std::size_t, std::less<>> at_;
};

std::optional<double> number_in(std::string_view text);

/// NAME, or NAME.gz where only that is there.
std::filesystem::path stored_file(const std::filesystem::path& folder, const std::string& name);
/// Its text, uncompressed; nothing where it cannot be opened.
std::optional<std::string> text_of_file(const std::filesystem::path&);

}  // namespace reductio
