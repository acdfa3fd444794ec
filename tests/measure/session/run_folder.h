#pragma once
/// Whole runs on a scripted clock: a results folder for them, and the variants that most of them measure.

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "measure/results/csv.h"
#include "measure/results/reader.h"
#include "measure/results/schema.h"
#include "measure/session/run_experiment.h"
#include "tests/error_of.h"
#include "tests/measure/scripted_timer.h"

namespace reductio::scripted {

inline const Variant a = variant("a", 1), b = variant("b", 2), c = variant("c", 3);
/// Its calls give no result in time.
inline const Variant hangs = variant("hangs", 9, [](auto, auto, auto) { throw CallTimeout("no result within 60 s"); });

/// A results folder, and the rows and notices of all its runs. What is not said of a run is of 10 us a call.
struct RunFolder : Folder, Heard {
  RunFolder() = default;
  explicit RunFolder(const RunFolder& copied) : Folder(), Heard() {
    std::filesystem::copy(copied.path(), path(), std::filesystem::copy_options::recursive);
  }

  RunReport run(Session s) { return run_session(std::move(s), *this); }
  RunReport run(std::vector<Point> points, Instruments script = constant(1e-5), const SamplingRules& rules = {}) {
    return run(session(*this, std::move(points), std::move(script), rules));
  }
  RunReport resume(Session s) {
    s.options.resume = true;
    return run(std::move(s));
  }
  RunReport resume(std::vector<Point> points, Instruments script = constant(1e-5), const SamplingRules& rules = {}) {
    return resume(session(*this, std::move(points), std::move(script), rules));
  }

  std::filesystem::path csv_path() const { return path() / "scripted" / "test.csv"; }
  std::filesystem::path samples_path() const { return path() / "scripted" / "test.samples.csv.gz"; }
  std::filesystem::path machine_path() const { return path() / "scripted" / "machine.json"; }
  std::string csv() const { return content_of(csv_path()).value(); }
  std::string samples() const { return content_of(samples_path()).value(); }
  std::string machine_json() const { return content_of(machine_path()).value(); }
  nlohmann::json machine() const;
  nlohmann::json entry() const;  ///< of the run
  std::vector<RawSample> raw_samples() const { return samples_in("the samples", parse_csv(gunzip(samples())).records); }
  /// The file's rows by column name.
  std::vector<std::map<std::string, std::string>> stored() const {
    const CsvText text = parse_csv(csv());
    std::vector<std::map<std::string, std::string>> out(text.records.size() - 1);
    for (std::size_t i = 0; i < out.size(); ++i)
      for (std::size_t k = 0; k < text.records[i + 1].size(); ++k) out[i][text.records[0][k]] = text.records[i + 1][k];
    return out;
  }
  /// The same, as rows are read.
  std::vector<Row> parsed() const {
    std::vector<Row> out;
    const CsvText text = parse_csv(csv());
    for (std::size_t i = 1; i < text.records.size(); ++i) out.push_back(Row::parse(text.records[i]));
    return out;
  }
};

/// What one run gave of its first point.
inline Row row_of(std::vector<Point> points, Instruments script = constant(1e-5), const SamplingRules& rules = {}) {
  RunFolder folder;
  folder.run(std::move(points), std::move(script), rules);
  return folder.rows.at(0);
}

inline std::map<std::string, Row> by_variant(const std::vector<Row>& rows) {
  std::map<std::string, Row> out;
  for (const Row& row : rows) out[row.point.variant] = row;
  return out;
}

inline std::vector<Point> points_at(std::size_t n, std::initializer_list<const Variant*> all) {
  std::vector<Point> points;
  for (const Variant* v : all) points.push_back(point(*v, n));
  return points;
}

/// Six sizes, timed in two ways.
inline std::vector<Point> many_points(const std::vector<const Variant*>& all = {&a, &b}) {
  std::vector<Point> points;
  for (const Variant* v : all)
    for (const std::size_t n : {10, 20, 30, 40, 50, 60})
      for (const TimingMode mode : {TimingMode::end_to_end, TimingMode::device}) points.push_back(point(*v, n, mode));
  return points;
}

/// As variant(), but its result arrives there.
inline Variant finishing(std::string name, std::size_t id, ResultLocation where) {
  Variant v = variant(std::move(name), id);
  v.result = where;
  on_cpu(v) = [=](const Problem& p, const Settings&, const DeviceInfo&) {
    const auto value = std::make_shared<std::uint32_t>();
    return plan_of(
        {.grid_blocks = id, .longest_chain = p.n, .result = where},
        [=, n = p.n](void* in, void*, Stream) { *value = sum(static_cast<const std::uint32_t*>(in), n); },
        [=](void* result, Stream) { std::memcpy(result, value.get(), sizeof *value); },
        [] { return std::optional(ClockReading{1234}); });
  };
  return v;
}

/// The variant, of which `before` is called whenever a plan is made.
inline Variant planned(Variant v, std::function<void()> before) {
  on_cpu(v) = [made = on_cpu(v), before = std::move(before)](const Problem& p, const Settings& s,
                                                             const DeviceInfo& device) {
    before();
    return made(p, s, device);
  };
  return v;
}

}  // namespace reductio::scripted
