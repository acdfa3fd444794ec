#include "measure/analysis/releases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "measure/analysis/compare.h"

namespace reductio {
namespace {

constexpr const char* adjacent = "adjacent";
constexpr const char* newest = "newest";
constexpr const char* determinism = "determinism";
constexpr const char* run_to_run = "determinism=run_to_run";

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

/// By number; what a user calls a checkout comes last.
auto order_of(const std::string& release) {
  std::vector<int> numbers;
  std::istringstream in(release);
  for (std::string part; std::getline(in, part, '.');)
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string::npos && part.size() < 8)
      numbers.push_back(std::stoi(part));
  const bool is_number = numbers.size() == 3;
  return std::tuple(!is_number, numbers, release);
}
bool is_checkout(const std::string& release) { return std::get<0>(order_of(release)); }

struct ReleasesOfPair {
  const char* pair;
  std::string base, variant;  ///< releases
};

std::string seconds(const std::optional<double>& s) { return s ? fmt::format("{:.5g}", *s) : ""; }

}  // namespace

ReleaseCode::ReleaseCode(std::string_view csv) {
  const CsvText text = parse_csv(csv);
  for (std::size_t i = 1; i < text.records.size(); ++i) {
    const Fields &header = text.records.front(), &fields = text.records[i];
    const auto at = [&](const char* column) {
      const auto found = std::find(header.begin(), header.end(), column);
      if (found == header.end() || fields.size() != header.size())
        throw UsageError(fmt::format("the table of machine code lacks {}", column));
      return fields[static_cast<std::size_t>(found - header.begin())];
    };
    kernels_.push_back({std::stoi(at("architecture")), at("element_type"), at("kernel"), at("code"),
                        std::stoi(at("registers")), std::stoi(at("load_bytes")), words(at("releases"))});
    for (const std::string& release : kernels_.back().releases)
      if (std::find(releases_.begin(), releases_.end(), release) == releases_.end()) releases_.push_back(release);
  }
  std::sort(releases_.begin(), releases_.end(),
            [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
}

std::vector<int> ReleaseCode::capabilities() const {
  std::set<int> all;
  for (const Kernel& k : kernels_) all.insert(k.capability);
  return {all.begin(), all.end()};
}

std::vector<std::string> ReleaseCode::codes(const std::string& release, ElementType type, int capability) const {
  std::vector<std::string> out;
  for (const Kernel& k : kernels_)
    if (k.capability == capability && k.type == name(type) &&
        std::find(k.releases.begin(), k.releases.end(), release) != k.releases.end())
      out.push_back(k.kernel + " " + k.code);
  return out;
}

ReleaseCode::Same ReleaseCode::same(const std::string& release, const std::string& other, ElementType type,
                                    int capability) const {
  const auto one = codes(release, type, capability), two = codes(other, type, capability);
  if (one.empty() || two.empty()) return Same::unknown;
  return one == two ? Same::yes : Same::no;
}

std::string ReleaseCode::letter(const std::string& release, ElementType type, int capability) const {
  std::vector<std::vector<std::string>> seen;
  for (const std::string& one : releases_) {
    const auto of = codes(one, type, capability);
    if (of.empty()) continue;
    if (std::find(seen.begin(), seen.end(), of) == seen.end()) seen.push_back(of);
    if (one == release)
      return std::string(1, static_cast<char>('A' + (std::find(seen.begin(), seen.end(), of) - seen.begin())));
  }
  return "";
}

std::string release_of(std::string_view variant) {
  const std::size_t at = variant.find('@'), end = variant.find('/');
  if (at == std::string_view::npos || end == std::string_view::npos || end < at) return "";
  return std::string(variant.substr(at + 1, end - at - 1));
}

std::string call_of(std::string_view variant) {
  const std::string_view id = variant.substr(0, variant.find(' '));
  return std::string(id.substr(0, id.find('@'))) + " " + std::string(id.substr(id.find('/') + 1));
}

const std::vector<TableColumn>& release_schema() {
  static const std::vector<TableColumn> all = [] {
    std::vector<TableColumn> columns{{.name = "schema_version", .kind = Kind::count},
                                     {.name = "pair", .kind = Kind::word, .words = {adjacent, newest, determinism}},
                                     {.name = "base", .kind = Kind::text},
                                     {.name = "variant", .kind = Kind::text}};
    for (const char* c : {"element_type", "timing_mode", "cache_state", "n"}) columns.push_back(column_of_rows(c));
    columns.insert(columns.end(), {{"base_time_s", Kind::number},
                                   {"time_s", Kind::number},
                                   {"speedup", Kind::number},
                                   {"ci_low", Kind::number},
                                   {"ci_high", Kind::number},
                                   {"verdict", Kind::word},
                                   {"same_code", Kind::word},
                                   {"reason", Kind::text}});
    return columns;
  }();
  return all;
}

ReleaseTable release_table(const StoredResults& results, const ReleaseCode& code, double confidence, double effect) {
  const MeasuredSet set = measured_in(results);
  int capability = 0;
  if (const auto at = nlohmann::ordered_json::json_pointer("/gpu/compute_capability"); results.machine->contains(at)) {
    const auto& given = (*results.machine)[at];
    const std::string text = given.is_string() ? given.get<std::string>() : given.dump();
    if (const std::size_t dot = text.find('.'); dot != std::string::npos)
      capability = std::atoi(text.c_str()) * 10 + std::atoi(text.c_str() + dot + 1);
  }

  // Rows that were sampled together, by what they call; of each release those of its default, and the others.
  struct Group {
    std::map<std::string, const Measured*> defaults;
    std::vector<const Measured*> others;
  };
  std::map<std::string, Group> groups;
  std::vector<std::string> order;
  for (const Measured& m : set.rows) {
    const std::string release = release_of(m.row.point.variant);
    if (release.empty() || m.row.experiment != "history") continue;
    const std::string key = m.row.run_id + "|" + call_of(m.row.point.variant) + "|" + group_key(m.row.point);
    if (!groups.contains(key)) order.push_back(key);
    const std::string& settings = m.row.point.settings;
    if (settings.empty() || settings == run_to_run)
      groups[key].defaults.emplace(release, &m);
    else
      groups[key].others.push_back(&m);
  }

  std::vector<Pair> pairs;
  std::vector<ReleasesOfPair> named;
  const auto add = [&](const char* pair, const Measured* base, const Measured* variant) {
    pairs.emplace_back(base, variant);
    named.push_back({pair, release_of(base->row.point.variant), release_of(variant->row.point.variant)});
  };
  for (const std::string& key : order) {
    const Group& group = groups.at(key);
    std::vector<std::string> releases;
    for (const auto& [release, m] : group.defaults) releases.push_back(release);
    std::sort(releases.begin(), releases.end(),
              [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
    std::vector<std::string> shipped = releases;
    std::erase_if(shipped, is_checkout);
    for (std::size_t i = 1; i < shipped.size(); ++i)
      add(adjacent, group.defaults.at(shipped[i - 1]), group.defaults.at(shipped[i]));
    for (const std::string& release : releases)
      if (!shipped.empty() && release != shipped.back())
        add(newest, group.defaults.at(release), group.defaults.at(shipped.back()));
    for (const Measured* other : group.others)
      if (const auto own = group.defaults.find(release_of(other->row.point.variant)); own != group.defaults.end())
        add(determinism, own->second, other);
  }
  if (pairs.empty())
    throw UsageError(results.named.string() +
                     " has no two releases of CUB measured together; `reductio run history` measures them");

  const Comparison comparison = compare(pairs, true, confidence, effect);
  ReleaseTable out;
  out.intervals = comparison.intervals();
  out.records.push_back(names_of(release_schema()));
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const Compared& c = comparison.rows[i];
    const PointKey& p = c.variant.row.point;
    ReleaseCode::Same same = ReleaseCode::Same::unknown;
    // thrust::reduce launches CUB's kernels.
    if (named[i].pair != determinism && p.problem.operation == Operation::sum)
      same = code.same(named[i].base, named[i].variant, p.problem.type, capability);
    if (same == ReleaseCode::Same::yes && c.has_interval() && named[i].pair == adjacent) {
      auto& control = p.timing_mode == TimingMode::end_to_end ? out.end_to_end : out.on_device;
      ++control.pairs;
      control.told_apart += c.verdict == Verdict::faster || c.verdict == Verdict::slower;
    }
    const auto six = [&](double value) { return c.ratio ? fmt::format("{:.5g}", value) : ""; };
    out.records.push_back({std::to_string(schema_version), named[i].pair, c.base.label, c.variant.label,
                           std::string(name(p.problem.type)), std::string(name(p.timing_mode)),
                           std::string(name(p.cache_state)), std::to_string(p.problem.n),
                           seconds(c.base.row.time_median_s), seconds(c.variant.row.time_median_s),
                           six(c.ratio ? c.ratio->value : 0), six(c.ratio ? c.ratio->interval.low : 0),
                           six(c.ratio ? c.ratio->interval.high : 0),
                           c.ratio ? std::string(name(c.verdict)) : "",
                           same == ReleaseCode::Same::yes  ? "yes"
                           : same == ReleaseCode::Same::no ? "no"
                                                           : "",
                           c.reason});
  }
  return out;
}

}  // namespace reductio
