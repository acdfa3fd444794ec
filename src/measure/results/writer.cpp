#include "measure/results/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "measure/plan/selection.h"
#include "measure/results/schema.h"

namespace reductio {
namespace {

/// Nothing where they have no header of this program's.
std::optional<std::vector<RawSample>> parse_samples(const std::filesystem::path& path, const std::string& compressed) {
  CsvText csv = parse_csv(gunzip(compressed));
  if (csv.records.empty() || csv.records.front() != sample_columns()) return std::nullopt;
  return samples_in(path.string(), std::move(csv.records));
}

std::filesystem::path made(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw OutputError("cannot create the folder " + folder.string() + ": " + error.message() +
                      dangling_link_in(folder) + "; choose another --out");
  return folder;
}

/// `path`, or with a number behind it, so that no file has that name.
std::filesystem::path unused_name(const std::filesystem::path& path) {
  std::filesystem::path out = path;
  for (int i = 2; std::filesystem::exists(out); ++i) out = fmt::format("{}-{}", path.string(), i);
  return out;
}

/// Replaces the content of a file that is open and stays locked.
void rewrite(std::optional<AppendFile>& file, const std::filesystem::path& path, const std::string& content) {
  write_whole_file(path, content);
  auto replaced = AppendFile::open(path);  // locked before the old one is let go
  file.emplace(std::move(replaced));
}

}  // namespace

Results::Results(const std::filesystem::path& folder, const Machine& machine, RunRecord record, bool resume,
                 std::span<const Point> points)
    : csv_path_(made(folder) / (record.experiment + ".csv")),
      samples_path_(folder / (record.experiment + ".samples.csv.gz")),
      record_(std::move(record)),
      machine_(folder, machine) {
  check(folder, record_.experiment, resume);
  const bool going_on = resume && std::filesystem::exists(csv_path_);
  csv_.emplace(going_on ? AppendFile::open(csv_path_) : AppendFile::create(csv_path_));
  if (going_on) go_on_with_rows(points);
  if (!record_.order_seed) record_.order_seed = draw_order_seed();
  if (csv_->read().empty()) csv_->append(csv_record(columns()));

  // An earlier run's samples without its rows have lost their meaning.
  std::error_code ignored;
  if (!going_on) std::filesystem::remove(samples_path_, ignored);
  samples_.emplace(AppendFile::open(samples_path_));
  if (going_on) go_on_with_samples();
  if (samples_->read().empty()) samples_->append(gzip_member(csv_record(sample_columns())));

  machine_.begin(record_, std::all_of(points.begin(), points.end(), [&](const Point& p) { return has(row_key(p)); }));
  write_machine();
  if (!variants().empty()) write_whole_file(folder / "catalog.csv", catalog_csv());  // vector_add has none
}

void Results::check(const std::filesystem::path& folder, const std::string& experiment, bool resume) {
  const auto csv = made(folder) / (experiment + ".csv");
  if (const std::string compressed = csv.string() + ".gz"; std::filesystem::exists(compressed))
    throw UsageError(compressed +
                     " already has this experiment's rows, compressed; gunzip it and add --resume, or choose "
                     "another --out");
  if (!resume && std::filesystem::exists(csv)) refuse_existing(csv);
  check_destination(csv, "choose another --out");
}

/// The file stays as it is where this throws.
void Results::go_on_with_rows(std::span<const Point> points) {
  const std::string text = csv_->read();
  CsvLines csv = parse_csv_lines(text, csv_path_.string());
  // Killed before the header was whole: nothing is lost by starting over.
  if (csv.records.empty()) return csv_->truncate(0);
  const std::size_t sound = csv.records.size() - 1;
  earlier_ = EarlierRows(csv_path_.string(), std::move(csv.records));
  if (!earlier_.rows().empty()) {
    record_.run_id = earlier_.rows().back().run_id;
    machine_.resume(record_, csv_path_.string());
  }
  const auto samples = parse_samples(samples_path_, content_of(samples_path_).value_or(""));
  const std::size_t taken_out = earlier_.take_out_incomplete(points, samples.value_or(std::vector<RawSample>()));
  done_ = earlier_.keys();
  if (!csv.damage.empty()) {
    const auto aside = unused_name(csv_path_.string() + ".damaged");
    write_whole_file(aside, text);  // before anything is dropped
    notices_.push_back(fmt::format("{}:{}: of {} rows {} dropped and measured again, {} kept; the file as it was is {}",
                                   csv_path_.string(), csv.damage.front(), sound + csv.damage.size(), csv.damage.size(),
                                   sound, aside.string()));
  }
  if (!csv.cut.empty()) {
    csv_->truncate(text.size() - csv.cut.size());
    notices_.push_back("the last row of " + csv_path_.string() + " was cut; it is measured again");
  }
  if (!taken_out && !earlier_.repeated() && csv.damage.empty()) return;
  // Rows before their samples: a run killed in between leaves samples without rows, which the next one drops.
  std::string kept = csv_record(columns());
  for (const Row& row : earlier_.rows()) kept += csv_record(row.fields());
  rewrite(csv_, csv_path_, kept);
  const auto notice = [&](std::size_t rows, const std::string& singular, const std::string& plural) {
    if (rows)
      notices_.push_back(fmt::format("{} {} of {} {}", rows, rows == 1 ? "row" : "rows", csv_path_.string(),
                                     rows == 1 ? singular : plural));
  };
  notice(earlier_.repeated(), "stood there twice, and once does now", "stood there twice, and once do now");
  const std::string why =
      fmt::format("measured again: {} of their groups are missing, and the points of a group are measured together",
                  earlier_.lack_samples() ? "raw samples, or other points," : "other points");
  notice(taken_out, "is " + why, "are " + why);
}

/// Samples go to disk before their rows. A run killed in between left samples whose points will be measured again.
void Results::go_on_with_samples() {
  const std::string compressed = samples_->read();
  auto samples = parse_samples(samples_path_, compressed);
  if (!samples) {
    samples_->truncate(0);
    if (!earlier_.rows().empty())
      notices_.push_back("the raw samples in " + samples_path_.string() + " were not readable");
    return;
  }
  // The stored members may also end in one that was cut, behind which nothing could be read.
  if (!earlier_.drop_orphans(*samples) && gzip_intact(compressed)) return;
  rewrite(samples_, samples_path_, gzip_member(csv_record(sample_columns()) + csv_records(*samples)));
}

void Results::append(const std::vector<Row>& rows, const std::string& samples_csv) {
  if (!samples_csv.empty()) samples_->append(gzip_member(samples_csv));
  std::string block;
  for (const Row& row : rows) {
    block += csv_record(row.fields());
    done_.insert(row_key(row.point));
    if (row.status == Status::ok) machine_.has_measured();
  }
  csv_->append(block);
}

void Results::record_hashes() {
  entry()["sha256"] = {{csv_path_.filename().string(), hash_of_run(csv_->read(), run_id()).value()},
                       {samples_path_.stem().string(), hash_of_run(gunzip(samples_->read()), run_id()).value()}};
}

}  // namespace reductio
