#include "measure/results/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/call.h"
#include "core/error.h"
#include "measure/results/provenance.h"

namespace reductio {

CsvTable::CsvTable(std::string file, std::vector<Fields> records)
    : file_(std::move(file)), records_(std::move(records)) {
  if (records_.empty()) throw UsageError(file_ + " is empty; copy the whole results folder again");
  for (std::size_t i = 0; i < records_.front().size(); ++i) at_.emplace(records_.front()[i], i);
  for (std::size_t i = 0; i < records_.size(); ++i)
    if (records_[i].size() != records_.front().size())
      throw UsageError(
          fmt::format("{}:{} has {} of {} fields; was it edited by hand? Copy the whole results folder again", file_,
                      i + 1, records_[i].size(), records_.front().size()));
}

std::optional<CsvTable> CsvTable::in(const std::filesystem::path& folder, const std::string& name) {
  const auto path = stored_file(folder, name);
  const auto text = text_of_file(path);
  if (!text) return std::nullopt;
  CsvText csv = parse_csv(*text);
  if (csv.whole_bytes != text->size())
    throw UsageError(path.string() + " was cut while being written; make it again, or copy it");
  const auto machine = nlohmann::ordered_json::parse(content_of(folder / "machine.json").value_or(""), nullptr, false);
  if (machine.is_object()) require_unchanged(machine, path, *text);
  return CsvTable(path.string(), std::move(csv.records));
}

const std::string& CsvTable::at(const Fields& record, std::string_view column) const {
  const auto found = at_.find(column);
  if (found == at_.end())
    throw UsageError(fmt::format("{} lacks the column {}; make it again with this program", file_, column));
  return record[found->second];
}

std::optional<double> CsvTable::number(const Fields& record, std::string_view column) const {
  return number_in(at(record, column));
}

bool CsvTable::is_of(const Fields& record, std::string_view call) const {
  const CallName wanted = parse_call(call);
  if (at(record, "variant") != wanted.variant) return false;
  const Assignments have = parse_assignments(at(record, "settings"));
  return std::all_of(wanted.settings.begin(), wanted.settings.end(),
                     [&](const auto& one) { return std::find(have.begin(), have.end(), one) != have.end(); });
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole && !std::isnan(value) ? std::optional(value) : std::nullopt;
}

std::filesystem::path stored_file(const std::filesystem::path& folder, const std::string& name) {
  const auto plain = folder / name, compressed = folder / (name + ".gz");
  return !std::filesystem::exists(plain) && std::filesystem::exists(compressed) ? compressed : plain;
}

std::optional<std::string> text_of_file(const std::filesystem::path& path) {
  auto text = content_of(path);
  if (!text || path.extension() != ".gz") return text;
  if (!gzip_intact(*text)) throw UsageError(path.string() + " was cut; copy the whole results folder again");
  return gunzip(*text);
}

}  // namespace reductio
