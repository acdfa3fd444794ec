#include "measure/results/earlier.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "measure/plan/selection.h"
#include "measure/results/schema.h"

namespace reductio {
namespace {

/// To the end; also by a device that measures no time.
bool was_sampled(const Row& row) { return row.status == Status::ok || row.status == Status::impossible; }

std::string named(const PointKey& p) { return p.variant + (p.settings.empty() ? "" : " " + p.settings); }

/// The keys of timed rows of which samples are missing, because their file was cut or lost.
std::set<std::string> rows_that_lack(const std::vector<RawSample>& samples, const std::vector<Row>& rows) {
  std::map<std::string, std::size_t> have;
  for (const RawSample& s : samples) have[row_key(s.point)] += !s.voided && s.time_s;
  std::set<std::string> lacking;
  for (const Row& row : rows)
    if (row.status == Status::ok && row.time_median_s &&
        have[row_key(row.point)] < std::max<std::size_t>(row.n_samples, 1))
      lacking.insert(row_key(row.point));
  return lacking;
}

}  // namespace

EarlierRows::EarlierRows(std::string csv_path, std::vector<Fields> records) : csv_path_(std::move(csv_path)) {
  if (records.front() != columns())
    throw UsageError(csv_path_ + " was written with other columns than this program's (schema version " +
                     std::to_string(schema_version) + "); choose another --out");
  const RecordReader<Row> rows(csv_path_, std::move(records));
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row row = rows.at(i);
    const auto [first, is_new] = places.emplace(row_key(row.point), i);
    if (is_new)
      rows_.push_back(std::move(row));
    else if (rows.fields(i) == rows.fields(first->second))
      ++repeated_;
    else
      throw UsageError(
          fmt::format("cannot resume {}: it is of the same point as line {}, {} {}, and differs; remove one of "
                      "the two, or choose another --out",
                      rows.at_line(i), first->second + 2, row.point.variant, describe_group(row.point)));
  }
}

std::set<std::string> EarlierRows::keys() const {
  std::set<std::string> out;
  for (const Row& row : rows_) out.insert(row_key(row.point));
  return out;
}

std::size_t EarlierRows::take_out_incomplete(std::span<const Point> points, const std::vector<RawSample>& samples) {
  const std::set<std::string> there = keys(), lack = rows_that_lack(samples, rows_);
  std::set<std::string> selected;
  for (const Point& p : points) {
    const std::string key = row_key(p);
    selected.insert(key);
    lack_samples_ = lack_samples_ || lack.contains(key);
    if (!there.contains(key) || lack.contains(key)) incomplete_.emplace(group_key(p), named(p));
  }
  return std::erase_if(rows_, [&](const Row& row) {
    const auto group = incomplete_.find(group_key(row.point));
    if (group == incomplete_.end() || !was_sampled(row)) return false;
    if (!selected.contains(row_key(row.point)))
      throw UsageError(fmt::format(
          "cannot resume {}: it lacks {} of {}, which has to be measured together with {}, which is there but not in "
          "this selection; select both, or choose another --out",
          csv_path_, group->second, describe_group(row.point), named(row.point)));
    return true;
  });
}

bool EarlierRows::drop_orphans(std::vector<RawSample>& samples) const {
  const std::set<std::string> there = keys();
  std::set<std::string> groups;
  for (const Row& row : rows_) groups.insert(group_key(row.point));
  for (const auto& [group, lacks] : incomplete_) groups.erase(group);  // have no samples yet
  return std::erase_if(samples, [&](const RawSample& s) {
           return !groups.contains(group_key(s.point)) || (!s.of_harness() && !there.contains(row_key(s.point)));
         }) > 0;
}

}  // namespace reductio
