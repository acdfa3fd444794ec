#include "measure/analysis/contrasts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/call.h"
#include "core/error.h"
#include "measure/results/row.h"
#include "measure/stats/ratio.h"

namespace reductio {
namespace {

/// Why a folder has no value for a contrast.
struct Lacking {
  std::string why;
};

/// One point's times at one size.
struct Found {
  double power;
  const StoredRow* row;
  TimedRounds times;
};

/// Matches an id against a pattern with `*`, and returns what each star stands for; nothing if it does not match. A
/// star is one or more characters other than '+' and '/'.
std::optional<std::vector<std::string>> stars_in(std::string_view pattern, std::string_view id) {
  std::vector<std::string> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '*') {
      if (at >= id.size() || id[at] != pattern[i]) return std::nullopt;
      ++at;
      continue;
    }
    const std::size_t end = std::min(id.find_first_of("+/", at), id.size());
    if (end == at) return std::nullopt;
    out.emplace_back(id.substr(at, end - at));
    at = end;
  }
  return at == id.size() ? std::optional(out) : std::nullopt;
}

std::string with_stars(std::string pattern, const std::vector<std::string>& stars) {
  std::string out;
  std::size_t next = 0;
  for (const char c : pattern) out += c == '*' ? stars.at(next++) : std::string(1, c);
  return out;
}

TimingMode mode_of(const std::string& way) {
  return way == Contrast::device_part || way == Contrast::rest ? TimingMode::end_to_end : parse_timing_mode(way);
}

/// The rows of one folder, and the figures of its machine that calls and clocks need.
class Rows {
 public:
  explicit Rows(const StoredResults& results) : results_(results), sm_count_(results.sm_count()) {
    for (const StoredRow& stored : results.rows) {
      const Row& row = stored.row;
      by_experiment_[row.experiment].push_back(&stored);
      if (row.point.timing_mode == TimingMode::device && row.timer_resolution_s)
        device_resolution_s_[row.experiment] = std::max(device_resolution_s_[row.experiment], *row.timer_resolution_s);
    }
  }

  /// All rows that match the contrast, with any settings and n.
  std::vector<const StoredRow*> of(const std::string& experiment, const Contrast& c, const std::string& way) const {
    std::vector<const StoredRow*> out;
    const auto found = by_experiment_.find(experiment);
    if (found == by_experiment_.end()) return out;
    for (const StoredRow* stored : found->second) {
      const PointKey& p = stored->row.point;
      if (p.device == c.device && p.problem.operation == c.operation && p.problem.type == c.type &&
          p.timing_mode == mode_of(way) && p.cache_state == c.cache_state && p.caller == c.caller && p.is_plain() &&
          p.offset_elements == c.offset_elements && p.dataset == c.dataset && p.problem.n > 0)
        out.push_back(stored);
    }
    return out;
  }

  bool has(const std::string& experiment) const { return by_experiment_.contains(experiment); }
  bool lacks_samples_of(const std::string& experiment) const {
    return std::find(results_.without_samples.begin(), results_.without_samples.end(), experiment) !=
           results_.without_samples.end();
  }

  /// The one row that is this call and was measured. Throws Lacking.
  Found at(const std::string& experiment, const Contrast& c, const Contrast::Point& point, std::size_t n) const {
    const CallName call = parse_call(point.call);
    if (call.needs_sm_count() && sm_count_ == 0)
      throw Lacking{"machine.json does not say how many multiprocessors the GPU has"};
    const Assignments settings = call.settings_at(n, sm_count_);
    const StoredRow* row = nullptr;
    std::string why;
    for (const StoredRow* stored : of(experiment, c, point.way)) {
      const PointKey& p = stored->row.point;
      if (p.variant != call.variant || p.problem.n != n || !has_all(p.settings, settings)) continue;
      if (stored->row.status != Status::ok) {
        why = fmt::format(": {}", stored->row.reason.empty() ? name(stored->row.status) : stored->row.reason);
        continue;
      }
      if (row)
        throw Lacking{fmt::format("{}.csv has several rows that are {}: name more settings", experiment, point.call)};
      row = stored;
    }
    if (!row)
      throw Lacking{fmt::format("{}.csv has no time of {} ({}, n = {}){}", experiment, point.call, point.way, n, why)};
    Found out{point.power, row, times_of(*row, point.way)};
    if (values(logarithms(out.times.seconds)).empty())
      throw Lacking{fmt::format("{}.csv has no samples of {} ({}, n = {})", experiment, point.call, point.way, n)};
    return out;
  }

 private:
  static bool has_all(const std::string& have, const Assignments& wanted) {
    const Assignments all = parse_assignments(have);
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const auto& one) { return std::find(all.begin(), all.end(), one) != all.end(); });
  }

  TimedRounds times_of(const StoredRow& stored, const std::string& way) const {
    TimedRounds out{stored.seconds, stored.contexts, stored.row.timer_resolution_s.value_or(0)};
    if (way == name(TimingMode::clock)) {
      out.seconds = stored.cycles;
      out.resolution_s = 1;
    } else if (way == Contrast::device_part || way == Contrast::rest) {
      if (way == Contrast::device_part)
        out.seconds = stored.device_part_s;
      else
        for (std::size_t r = 0; r < out.seconds.size(); ++r) {
          const bool both = out.seconds[r] && r < stored.device_part_s.size() && stored.device_part_s[r];
          out.seconds[r] = both ? std::optional(*out.seconds[r] - *stored.device_part_s[r]) : std::nullopt;
        }
      const auto of_device = device_resolution_s_.find(stored.row.experiment);
      if (way == Contrast::device_part && of_device != device_resolution_s_.end()) out.resolution_s = of_device->second;
    }
    return out;
  }

  const StoredResults& results_;
  std::map<std::string, std::vector<const StoredRow*>> by_experiment_;
  std::map<std::string, double> device_resolution_s_;  ///< of an experiment's device times, and so of device parts
  std::size_t sm_count_;
};

struct ContrastValue {
  std::string experiment;
  Ratio ratio;
  std::size_t pairs = 1;
};

bool has_stars(const Contrast& c) {
  const std::string& call = c.points.front().call;
  return call.substr(0, call.find(':')).find('*') != std::string::npos;
}

/// What stands for the stars in the rows of a point.
std::set<std::vector<std::string>> replacements(const Rows& rows, const std::string& experiment, const Contrast& c,
                                                const Contrast::Point& point, std::size_t n) {
  std::set<std::vector<std::string>> out;
  const std::string pattern = point.call.substr(0, point.call.find(':'));
  for (const StoredRow* stored : rows.of(experiment, c, point.way))
    if (stored->row.point.problem.n == n && stored->row.status == Status::ok)
      if (auto stars = stars_in(pattern, stored->row.point.variant)) out.insert(*std::move(stars));
  return out;
}

ContrastValue value_in(const Rows& rows, const std::string& experiment, const Contrast& c, std::size_t n) {
  std::vector<Found> found;
  ContrastValue out{.experiment = experiment, .ratio = {}};
  if (!has_stars(c)) {
    for (const Contrast::Point& point : c.points) found.push_back(rows.at(experiment, c, point, n));
  } else {
    std::set<std::vector<std::string>> common = replacements(rows, experiment, c, c.points.front(), n);
    for (const Contrast::Point& point : c.points) {
      const auto its = replacements(rows, experiment, c, point, n);
      std::erase_if(common, [&](const auto& stars) { return !its.contains(stars); });
    }
    if (common.empty())
      throw Lacking{
          fmt::format("{}.csv has no variants that differ in {} alone (n = {})", experiment, c.points.front().call, n)};
    out.pairs = common.size();
    for (const auto& stars : common)
      for (Contrast::Point point : c.points) {
        point.call = with_stars(point.call, stars);
        point.power /= static_cast<double>(common.size());
        found.push_back(rows.at(experiment, c, point, n));
      }
  }
  const Row& first = found.front().row->row;
  std::map<std::pair<const StoredRow*, std::string>, Factor>
      factors;  // a time that stands twice counts with both powers
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Row& row = found[i].row->row;
    const bool of_a_run = row.run_id == first.run_id;
    if (!of_a_run || row.point.seed != first.point.seed)
      throw Lacking{fmt::format("{}.csv has {} and {} from different {}", experiment, first.point.variant,
                                row.point.variant, of_a_run ? "seeds" : "runs")};
    Factor& factor = factors[{found[i].row, c.points[i % c.points.size()].way}];
    factor.power = (factor.times ? factor.power : 0) + found[i].power;
    factor.times = &found[i].times;
  }
  std::vector<Factor> product;
  for (const auto& [_, factor] : factors)
    if (std::abs(factor.power) > 1e-12) product.push_back(factor);
  if (product.empty()) throw Lacking{fmt::format("{}.csv does not tell its points apart", experiment)};
  try {
    out.ratio = product_of(product, c.confidence);
  } catch (const UsageError& e) {
    throw Lacking{fmt::format("{}.csv: {}", experiment, e.what())};
  }
  return out;
}

/// Of the first experiment that has it. Throws Lacking.
ContrastValue value_of(const Rows& rows, const Contrast& c, std::size_t n) {
  std::vector<std::string> why;
  for (const std::string& experiment : c.experiments) {
    if (!rows.has(experiment)) {
      why.push_back(rows.lacks_samples_of(experiment) ? fmt::format("no raw samples of {}", experiment)
                                                      : fmt::format("no {}.csv", experiment));
      continue;
    }
    try {
      return value_in(rows, experiment, c, n);
    } catch (const Lacking& lacking) {
      why.push_back(lacking.why);
    }
  }
  throw Lacking{fmt::format("{}", fmt::join(why, "; "))};
}

/// Those named, or all at which the first of its points was measured.
std::set<std::size_t> sizes_of(const Rows& rows, const Contrast& c) {
  std::set<std::size_t> out(c.sizes.begin(), c.sizes.end());
  if (!out.empty()) return out;
  const std::string& call = c.points.front().call;
  for (const std::string& experiment : c.experiments)
    for (const StoredRow* stored : rows.of(experiment, c, c.points.front().way))
      if (stars_in(call.substr(0, call.find(':')), stored->row.point.variant)) out.insert(stored->row.point.problem.n);
  return out;
}

bool is_ratio(const Contrast& c) {
  double sum = 0;
  for (const Contrast::Point& point : c.points) sum += point.power;
  return std::abs(sum) < 1e-9;
}

/// Six digits: more than any interval here is worth, and the same on every machine.
std::string six_digits(double value) { return fmt::format("{:.6g}", value); }

}  // namespace

const std::vector<TableColumn>& contrast_schema() {
  static const std::vector<TableColumn> all = [] {
    std::vector<TableColumn> columns{{.name = "schema_version", .kind = Kind::count},
                                     {.name = "name", .kind = Kind::word}};
    for (const std::string_view c : {"experiment", "operation", "element_type", "timing_mode", "cache_state", "n"})
      columns.push_back(column_of_rows(c, c == "timing_mode"));  // also device_part
    columns.insert(columns.end(), {{"value", Kind::number},
                                   {"ci_low", Kind::number},
                                   {"ci_high", Kind::number},
                                   {"confidence", Kind::number},
                                   {"contexts", Kind::count},
                                   {"pairs", Kind::count},
                                   {"enough", Kind::word},
                                   {"verdict", Kind::word},
                                   {"reason", Kind::text}});
    return columns;
  }();
  return all;
}

std::vector<Fields> contrast_table(const std::vector<Contrast>& contrasts, const StoredResults& folder,
                                   const StoredResults& cpu) {
  const Rows rows(folder), cpu_rows(cpu);
  std::vector<Fields> out{names_of(contrast_schema())};
  for (const Contrast& c : contrasts) {
    const Rows& of = c.device == DeviceKind::cpu ? cpu_rows : rows;
    for (const std::size_t n : sizes_of(of, c)) {
      const auto record = [&](const std::string& experiment, const Fields& rest) {
        Fields fields{std::to_string(schema_version),
                      c.name,
                      experiment,
                      std::string(name(c.operation)),
                      std::string(name(c.type)),
                      c.timing_mode,
                      std::string(name(c.cache_state)),
                      std::to_string(n)};
        fields.insert(fields.end(), rest.begin(), rest.end());
        out.push_back(std::move(fields));
      };
      try {
        const ContrastValue value = value_of(of, c, n);
        const Ratio& r = value.ratio;
        record(
            value.experiment,
            {six_digits(r.value), six_digits(r.interval.low), six_digits(r.interval.high),
             fmt::format("{}", c.confidence), std::to_string(r.contexts), std::to_string(value.pairs),
             r.enough ? "yes" : "no", is_ratio(c) ? std::string(name(verdict_on(r, c.effect))) : "",
             r.enough ? ""
                      : fmt::format("too few contexts for an interval: {}, it takes {}", r.contexts, least_contexts)});
      } catch (const Lacking& lacking) {
        record("", {"", "", "", "", "", "", "", "", lacking.why});
      }
    }
  }
  return out;
}

}  // namespace reductio
