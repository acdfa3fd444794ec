#include "measure/analysis/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "measure/results/row.h"
#include "measure/stats/model.h"

namespace reductio {
namespace {

/// Copied from the rows; what one model's rows share, in the order in which records are sorted.
constexpr std::string_view shared_columns[] = {
    "run_id",   "experiment",      "machine", "device", "element_type", "operation",  "variant",
    "settings", "offset_elements", "dataset", "seed",   "timing_mode",  "cache_state"};

constexpr const char *fits = "ok", *does_not_fit = "does_not_fit", *too_few_sizes = "too_few_sizes";  // status

/// The sizes of one model, ascending.
using Sizes = std::map<std::size_t, SizeSamples>;

std::optional<SizeSamples> samples_of(const StoredRow& row, const ByRound& seconds) {
  SizeSamples out{.bytes = static_cast<double>(row.row.point.problem.bytes()),
                  .by_context = {},
                  .resolution_s = row.row.timer_resolution_s.value_or(0)};
  std::map<int, std::vector<double>> by_context;
  for (std::size_t r = 0; r < seconds.size() && r < row.contexts.size(); ++r)
    if (seconds[r] && *seconds[r] > 0) by_context[row.contexts[r]].push_back(*seconds[r]);
  for (auto& [context, rounds] : by_context) out.by_context.push_back(std::move(rounds));
  if (out.by_context.empty() || !(out.bytes > 0)) return std::nullopt;
  return out;
}

/// Six digits: more than any interval here is worth, and the same on every machine.
std::string field(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : std::string(); }

void add_estimate(Fields& fields, const std::optional<Estimate>& e, double unit = 1) {
  for (const double v : {e ? e->value : INFINITY, e ? e->interval.low : INFINITY, e ? e->interval.high : INFINITY})
    fields.push_back(field(v / unit));
}

Fields record_of(Fields fields, std::string_view range, double cache_bytes, const Sizes& sizes, double confidence) {
  std::vector<SizeSamples> samples;
  std::vector<std::size_t> ns;
  for (const auto& [n, of_size] : sizes) {
    ns.push_back(n);
    samples.push_back(of_size);
  }
  fields.push_back(std::string(range));
  fields.push_back(cache_bytes > 0 ? fmt::format("{:.0f}", cache_bytes) : std::string());
  for (const std::size_t count : {ns.size(), ns.front(), ns.back()}) fields.push_back(std::to_string(count));
  std::string status = fits, reason;
  if (samples.size() < Model::fewest_sizes) {
    fields.resize(fields.size() + 11);
    status = too_few_sizes;
    reason = fmt::format("fitting takes {} sizes", Model::fewest_sizes);
  } else {
    const Model m = fit_model(samples, confidence);
    const double element_bytes = samples.front().bytes / static_cast<double>(ns.front());
    if (m.fits()) {
      add_estimate(fields, m.latency_s);
      add_estimate(fields, m.bandwidth_bytes_per_s);
      add_estimate(fields, m.half_bytes, element_bytes);
      if (!m.bandwidth_bytes_per_s)
        reason = "time does not grow with size";
      else if (!m.half_bytes)
        reason = "no half-performance size: larger inputs are read more slowly";
    } else {
      fields.resize(fields.size() + 9);
      status = does_not_fit;
      reason = fmt::format("the line is {:.2g} % off at n = {}, more than {:g} %", 100 * m.largest_residual,
                           ns[m.largest_residual_at], 100 * Model::most_residual);
    }
    fields.push_back(field(m.largest_residual));
    fields.push_back(std::to_string(ns[m.largest_residual_at]));
  }
  fields.push_back(status);
  fields.push_back(reason);
  return fields;
}

}  // namespace

const std::vector<TableColumn>& model_schema() {
  static const std::vector<TableColumn> all = [] {
    std::vector<TableColumn> columns{{.name = "schema_version", .kind = Kind::count}};
    // A model's mode may also be device_part.
    for (const std::string_view c : shared_columns) columns.push_back(column_of_rows(c, c == "timing_mode"));
    columns.insert(columns.end(), {{"range", Kind::word},
                                   {"cache_bytes", Kind::count},
                                   {"n_sizes", Kind::count},
                                   {"n_smallest", Kind::count},
                                   {"n_largest", Kind::count},
                                   {"latency_s", Kind::number},
                                   {"latency_ci_low_s", Kind::number},
                                   {"latency_ci_high_s", Kind::number},
                                   {"bandwidth_bytes_per_s", Kind::number},
                                   {"bandwidth_ci_low_bytes_per_s", Kind::number},
                                   {"bandwidth_ci_high_bytes_per_s", Kind::number},
                                   {"half_performance_n", Kind::number},
                                   {"half_performance_ci_low_n", Kind::number},
                                   {"half_performance_ci_high_n", Kind::number},
                                   {"largest_residual", Kind::number},
                                   {"largest_residual_n", Kind::count},
                                   {"status", Kind::word, false, false, {fits, does_not_fit, too_few_sizes}},
                                   {"reason", Kind::text}});
    return columns;
  }();
  return all;
}

const std::vector<std::string>& model_columns() {
  static const std::vector<std::string> all = names_of(model_schema());
  return all;
}

std::size_t model_column(std::string_view name) { return position_in(model_schema(), name); }

ModelTable model_table(const StoredResults& results, double confidence,
                       const std::function<void(std::size_t, std::size_t)>& show) {
  std::map<Fields, Sizes> models;
  for (const StoredRow& row : results.rows) {
    const std::size_t n = row.row.point.problem.n;
    if (row.row.status != Status::ok || n < 1 || !row.row.point.is_plain()) continue;
    // Under the row's own key, with some columns' fields replaced.
    const auto note = [&](const ByRound& seconds, const std::map<std::string_view, std::string>& instead) {
      Fields key{std::to_string(schema_version)};
      for (const std::string_view c : shared_columns)
        key.push_back(instead.contains(c) ? instead.at(c) : row.row.at(c));
      // A point measured again counts once, by its last row.
      if (auto samples = samples_of(row, seconds)) models[key].insert_or_assign(n, std::move(*samples));
    };
    note(row.seconds, {});
    note(row.device_part_s, {{"timing_mode", "device_part"}});
    note(row.read_s, {{"variant", "(read-ceiling)"}, {"settings", ""}});
  }
  ModelTable out;
  std::vector<std::function<Fields()>> fitting;
  const std::size_t device = model_column("device");
  for (auto& [key, sizes] : models) {
    const double cache = results.cache_bytes(key[device]);
    Sizes inside, beyond;
    for (auto& [n, samples] : sizes) (samples.bytes <= cache ? inside : beyond).emplace(n, std::move(samples));
    if (std::max(inside.size(), beyond.size()) < Model::fewest_sizes) {
      ++out.left_out;
      continue;
    }
    // Named, since older clang++ captures no structured binding by [&] alone.
    const auto add = [&, &key = key](std::string_view range, Sizes of_range) {
      if (!of_range.empty())
        fitting.push_back([&key, range, cache, confidence, of_range = std::move(of_range)] {
          return record_of(key, range, cache, of_range, confidence);
        });
    };
    add("inside", std::move(inside));
    add(cache > 0 ? "beyond" : "all", std::move(beyond));
  }
  out.records.resize(fitting.size());
  std::atomic<std::size_t> next{0}, done{0};
  const auto work = [&](bool shows) {
    for (std::size_t i = next++; i < fitting.size(); i = next++) {
      out.records[i] = fitting[i]();
      const std::size_t so_far = ++done;
      if (shows && show) show(so_far, fitting.size());
    }
  };
  std::vector<std::future<void>> others;
  for (unsigned t = 1; t < std::thread::hardware_concurrency(); ++t)
    others.push_back(std::async(std::launch::async, work, false));
  work(true);
  for (auto& other : others) other.get();
  return out;
}

}  // namespace reductio
