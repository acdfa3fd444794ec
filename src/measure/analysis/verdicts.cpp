#include "measure/analysis/verdicts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "core/call.h"
#include "core/error.h"
#include "measure/results/table.h"
#include "measure/stats/statistics.h"

namespace reductio {
namespace {

using Json = nlohmann::ordered_json;

const std::string holds = "holds", weaker = "holds but weaker", mixed = "mixed", none = "no effect",
                  close_by = "within 2 % of the threshold", reversed = "reversed", undecided = "not decidable here";
/// A claim's verdict is the worst of its tests'.
const std::vector<std::string> worst_first{reversed, undecided, close_by, none, mixed, weaker, holds};

constexpr double near_by = 1.02;        // an interval across a threshold that goes no further is near it
constexpr double latency_bound = 1.25;  // a latency times so much is no more than the wait for one load
constexpr double few_contexts = 7;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr const char* probes = "probes.csv";

/// Why a test cannot be judged here.
struct Undecidable {
  std::string why;
};

struct Finding {
  std::string verdict, reason;
  double ratio = unknown, low = unknown, high = unknown;
  std::string threshold{}, base{}, variant{};
};

/// A test with what it takes from its document and its contrast.
struct Test {
  const Json* told;
  std::string expects{};
  double effect = 0.02;
  std::optional<double> gain{};      ///< the document's own
  std::vector<std::size_t> sizes{};  ///< none: the test is of no experiment's row
  Fields of_row{};                   ///< operation, element_type, timing_mode, cache_state
  std::string base{}, variant{};     ///< calls
  std::string contrast{};            ///< empty: none
  Json at{};                         ///< of a range: which value; null: of none
  std::string each{};                ///< of a range of numbers: what is counted

  bool beside() const { return told->value("beside", false); }
};

struct Judged {
  Finding found;
  std::optional<std::size_t> n;
  const Test* test;
};

std::string with_commas(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string plain(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// A text with "{key}" replaced.
std::string with_value(std::string text, const std::string& key, const std::string& by) {
  const std::string mark = "{" + key + "}";
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += by.size())
    text.replace(at, mark.size(), by);
  return text;
}

/// The verdict that an interval gives, and why. `expects` is what the claim says of the ratio.
std::pair<std::string, std::string> decide(double low, double high, const Test& test) {
  const double up = 1 + test.effect, down = 1 / up;
  const std::string band = test.effect > 0 ? fmt::format("{:.3g} to {:.3g}", down, up) : "1";
  const std::string beyond = fmt::format("above {:.3g}", up), beneath = fmt::format("below {:.3g}", down);
  const bool above = low > up, below = high < down, within = low >= down && high <= up;
  if (test.expects == "more") {
    if (above && test.gain && high < std::sqrt(*test.gain))
      return {weaker, fmt::format("below half of the document's {:g} in logarithms, {:.3g}", *test.gain,
                                  std::sqrt(*test.gain))};
    if (above) return {holds, beyond};
    if (below) return {reversed, beneath};
    if (within) return {none, "within " + band};
  } else if (test.expects == "no more") {
    if (high <= up) return {holds, "not " + beyond};
    if (above) return {reversed, beyond};
  } else if (test.expects == "no less") {
    if (low >= down) return {holds, "not " + beneath};
    if (below) return {reversed, beneath};
  } else {
    const bool same = test.expects == "the same";
    if (above || below) return {same ? reversed : holds, "outside " + band};
    if (within) return {same ? holds : none, "within " + band};
  }
  const double bound = low <= up && up <= high ? up : down;
  return {bound / near_by <= low && high <= bound * near_by ? close_by : undecided,
          fmt::format("an effect of {:+.1f} % to {:+.1f} %, where {:+.1f} % counts", 100 * (low - 1), 100 * (high - 1),
                      100 * (bound - 1))};
}

/// What is demanded, and behind it what would give another verdict.
std::string threshold_of(const Test& test) {
  if (test.expects.empty()) return "";
  const std::string up = fmt::format("{:.4g}", 1 + test.effect), down = fmt::format("{:.4g}", 1 / (1 + test.effect));
  const std::map<std::string, std::string> demanded{{"more", "> " + up},
                                                    {"no more", "<= " + up},
                                                    {"no less", ">= " + down},
                                                    {"different", "< " + down + " or > " + up},
                                                    {"the same", down + " to " + up}};
  return demanded.at(test.expects) + (test.gain ? fmt::format("; weaker < {:.3g}", std::sqrt(*test.gain)) : "");
}

Finding limited(const Test& test, double value, const std::string& why) {
  const double most = test.told->at("most").get<double>();
  return {.verdict = value <= most ? holds : reversed,
          .reason = why,
          .ratio = value,
          .threshold = fmt::format("<= {:g}", most)};
}

std::string in_a_row(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

const Finding& worst(const std::vector<const Finding*>& all) {
  const auto rank = [](const Finding* f) { return std::find(worst_first.begin(), worst_first.end(), f->verdict); };
  return **std::min_element(all.begin(), all.end(), [&](auto* a, auto* b) { return rank(a) < rank(b); });
}

/// What each of several tests found; once where all found the same.
std::string reasons_of(const std::vector<const Finding*>& all) {
  std::vector<std::pair<std::string, std::string>> each;
  std::set<std::string> verdicts;
  for (const Finding* f : all) {
    verdicts.insert(f->verdict);
    if (std::pair one(f->verdict, f->reason); std::find(each.begin(), each.end(), one) == each.end())
      each.push_back(std::move(one));
  }
  if (each.size() == 1)
    return (all.size() > 1 ? fmt::format("each of {} tests: ", all.size()) : "") + each.front().second;
  std::vector<std::string> words;
  for (const auto& [verdict, reason] : each) words.push_back(verdicts.size() == 1 ? reason : verdict + ": " + reason);
  return fmt::format("{}", fmt::join(words, " | "));
}

/// What a claim's tests give together: the worst verdict. Of a range, a claim that holds at some values alone is mixed.
Finding together(const std::vector<Judged>& judged) {
  std::vector<const Finding*> all;
  for (const Judged& one : judged) all.push_back(&one.found);
  const Finding& least = worst(all);
  if (std::any_of(judged.begin(), judged.end(), [](const Judged& one) { return one.test->at.is_null(); }))
    return {.verdict = least.verdict, .reason = reasons_of(all)};
  std::vector<std::pair<std::string, std::vector<const Finding*>>> at;  // by value, in the range's order
  for (const Judged& one : judged) {
    const std::string value = plain(one.test->at);
    auto its = std::find_if(at.begin(), at.end(), [&](const auto& pair) { return pair.first == value; });
    if (its == at.end()) its = at.insert(at.end(), {value, {}});
    its->second.push_back(&one.found);
  }
  std::size_t holding = 0;
  for (const auto& [_, found] : at) {
    if (std::isnan(worst(found).ratio)) return least;
    holding += worst(found).verdict.starts_with(holds);
  }
  std::vector<std::string> where;
  for (const std::string& verdict : claim_verdicts()) {
    std::vector<std::string> values;
    for (const auto& [value, found] : at)
      if (worst(found).verdict == verdict) values.push_back(value);
    if (!values.empty())
      where.push_back(fmt::format("{} at {}{}", verdict, in_a_row(values),
                                  judged.front().test->at.is_string() ? "" : " " + judged.front().test->each));
  }
  return {.verdict = holding > 0 && holding < at.size() ? mixed : least.verdict,
          .reason = fmt::format("{}", fmt::join(where, "; "))};
}

class Judge {
 public:
  Judge(const Json& claims, const std::vector<Contrast>& contrasts, const std::vector<Fields>& records,
        std::filesystem::path folder)
      : claims_(claims), folder_(std::move(folder)) {
    for (const Contrast& c : contrasts) by_name_.emplace(c.name, &c);
    if (!records.empty()) measured_.emplace("contrasts.csv", records);
  }

  std::vector<Fields> table() {
    std::vector<Fields> out{names_of(verdict_schema())};
    for (const Json& claim : claims_.at("claims")) {
      std::vector<Test> deciding, beside;
      for (const Json& test : claim.at("tests"))
        for (Test& each : tests_of(claim, test)) (each.beside() ? beside : deciding).push_back(std::move(each));
      for (const std::size_t which : {0, 1}) {
        const std::string role = which ? "large" : "claim";
        const std::vector<Judged> steps = judged(deciding, which);
        if (steps.empty()) continue;
        if (steps.size() == 1) {
          out.push_back(record(claim, role, steps.front()));
        } else {
          Judged whole{together(steps), {}, nullptr};
          for (const Judged& step : steps)
            if (step.n && !whole.n) whole.n = step.n;
          out.push_back(record(claim, role, whole));
          for (const Judged& step : steps) out.push_back(record(claim, "step", step));
        }
        for (const Test& test : beside)
          for (const Judged& one : judged({&test, 1}, which)) out.push_back(record(claim, "beside", one));
      }
    }
    return out;
  }

 private:
  /// One, or of a range one for each value: a word, a number, or several words with `at`, which names them.
  std::vector<Test> tests_of(const Json& claim, const Json& test) {
    const auto range = test.find("range");
    if (range == test.end()) return {test_of(claim, test)};
    std::vector<Test> out;
    const std::string each = range->begin().key();
    for (const Json& value : range->begin().value()) {
      std::string text = test.dump();
      if (!value.is_object())
        text = with_value(std::move(text), each, plain(value));
      else
        for (const auto& [key, word] : value.items()) text = with_value(std::move(text), key, plain(word));
      owned_.push_back(std::make_unique<Json>(Json::parse(text)));
      out.push_back(test_of(claim, *owned_.back()));
      out.back().at = value.is_object() ? value.at("at") : value;
      out.back().each = each;
    }
    return out;
  }

  Test test_of(const Json& claim, const Json& test) {
    const Json& document = claims_.at("documents").at(claim.at("document").get<std::string>());
    Test out{.told = &test, .expects = test.value("expects", "")};
    const std::array known{"", "more", "no more", "no less", "different", "the same"};
    if (std::find(known.begin(), known.end(), out.expects) == known.end())
      throw UsageError(fmt::format("claim {} expects '{}'; known are more, no more, no less, different, the same",
                                   claim.at("id").get<std::string>(), out.expects));
    if (const auto told = test.find("told"); told != test.end()) out.gain = told->get<double>();
    if (const auto at = test.find("at"); at != test.end()) out.at = *at;
    for (const char* column : {"operation", "element_type", "timing_mode", "cache_state"})
      out.of_row.push_back(document.at(column).get<std::string>());
    out.sizes = document.at("n").get<std::vector<std::size_t>>();
    if (const auto named = test.find("contrast"); named != test.end()) {
      const Contrast& c = contrast_named(*named);
      out.contrast = c.name;
      out.effect = c.effect;
      out.of_row = {std::string(name(c.operation)), std::string(name(c.type)), c.timing_mode,
                    std::string(name(c.cache_state))};
      if (!c.sizes.empty()) out.sizes = c.sizes;
      std::vector<std::string> calls;
      for (const Contrast::Point& point : c.points) calls.push_back(point.call);
      // Of one gain over another: four calls, the second gain first. Else the base stands first.
      const auto cut = calls.size() == 4 ? calls.begin() + 2 : calls.end() - 1;
      out.base = side(calls.begin(), cut);
      out.variant = side(cut, calls.end());
      if (calls.size() == 4) std::swap(out.base, out.variant);
    }
    out.effect = test.value("effect", out.effect);
    if (const auto n = test.find("n"); n != test.end()) out.sizes = n->get<std::vector<std::size_t>>();
    if (out.contrast.empty() && (test.contains("over") || test.value("count", "") == "wrong")) out.sizes.clear();
    return out;
  }

  /// "a to b": the calls, each once.
  static std::string side(std::vector<std::string>::iterator from, std::vector<std::string>::iterator to) {
    std::vector<std::string> once;
    for (; from != to; ++from)
      if (std::find(once.begin(), once.end(), *from) == once.end()) once.push_back(*from);
    return fmt::format("{}", fmt::join(once, " to "));
  }

  const Contrast& contrast_named(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) throw UsageError("the list of contrasts has no " + name + ", which a claim names");
    return *found->second;
  }

  /// What tests find at the document's own size, or at 2^28. What is of no size says the same at each, but alone has no
  /// verdict at 2^28.
  std::vector<Judged> judged(std::span<const Test> tests, std::size_t which) {
    std::vector<Judged> out;
    bool sized = false;
    for (const Test& test : tests) {
      if (!test.sizes.empty() && test.sizes.size() <= which) continue;
      const auto n = test.sizes.empty() ? std::nullopt : std::optional(test.sizes[which]);
      sized |= n.has_value();
      out.push_back({judge(test, n.value_or(0)), n, &test});
    }
    return which && !sized ? std::vector<Judged>() : out;
  }

  Finding judge(const Test& test, std::size_t n) {
    Finding out;
    try {
      out = test.told->contains("count") ? count(test, n) : contrast(test, n);
    } catch (const Undecidable& lacking) {
      out = {.verdict = undecided, .reason = lacking.why, .threshold = threshold_of(test)};
    }
    if (!test.contrast.empty()) out.base = test.base, out.variant = test.variant;
    return out;
  }

  // ------------------------------------------------------------------------------------------- what is read

  struct Value {
    double value, low, high, contexts;
    std::string experiment;
  };

  Value value_of(const std::string& name, std::size_t n) const {
    if (!measured_) throw Undecidable{"no contrasts.csv"};
    for (const Fields& r : measured_->records()) {
      if (measured_->at(r, "name") != name || measured_->at(r, "n") != std::to_string(n)) continue;
      const auto number = [&](const char* column) { return measured_->number(r, column).value_or(unknown); };
      if (std::isnan(number("value")) || measured_->at(r, "enough") != "yes")
        throw Undecidable{measured_->at(r, "reason")};
      return {number("value"), number("ci_low"), number("ci_high"), number("contexts"), measured_->at(r, "experiment")};
    }
    throw Undecidable{"contrasts.csv has no such row"};
  }

  const CsvTable& table_of(const std::string& name) {
    auto found = tables_.find(name);
    if (found == tables_.end()) {
      std::optional<CsvTable> table = CsvTable::in(folder_, name);
      // What runs on one GPU for all has a folder of its own beside this one.
      std::set<std::filesystem::path> beside;
      if (!table && (name == "as-printed.csv" || name == "copies.csv"))
        for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::canonical(folder_).parent_path()))
          if (entry.path().filename().string().ends_with("-claims")) beside.insert(entry.path());
      for (const auto& other : beside)
        if (!table) table = CsvTable::in(other, name);
      found = tables_.emplace(name, std::move(table)).first;
    }
    if (!found->second) throw Undecidable{"no " + name};
    return *found->second;
  }

  /// The records that have these values and a number in the column.
  std::vector<const Fields*> rows(const std::string& file, const std::string& column, const Json& where,
                                  const std::string& call = "") {
    const CsvTable& table = table_of(file);
    std::vector<const Fields*> out;
    std::string why;
    for (const Fields& r : table.records()) {
      bool is = call.empty() || table.is_of(r, call);
      for (const auto& [key, value] : where.items()) is = is && table.at(r, key) == plain(value);
      if (is && table.number(r, column)) out.push_back(&r);
      if (is && why.empty() && table.has("reason")) why = table.at(r, "reason");
    }
    if (!out.empty()) return out;
    std::vector<std::string> said;
    if (!call.empty()) said.push_back("call is " + call);
    for (const auto& [key, value] : where.items()) said.push_back(key + " is " + plain(value));
    throw Undecidable{
        fmt::format("{} has no {} where {}{}{}", file, column, fmt::join(said, ", "), why.empty() ? "" : ": ", why)};
  }

  std::vector<double> values(const std::string& file, const std::string& column, const Json& where,
                             const std::string& call = "") {
    std::vector<double> out;
    for (const Fields* r : rows(file, column, where, call)) out.push_back(*table_of(file).number(*r, column));
    return out;
  }

  double total(const std::vector<const Fields*>& rows, const std::string& file, const std::string& column) {
    double out = 0;
    for (const Fields* r : rows) out += table_of(file).number(*r, column).value_or(0);
    return out;
  }

  double latency() {
    return median(values(probes, "value", {{"quantity", "load_latency_memory"}, {"unit", "cycles"}}));
  }

  // ---------------------------------------------------------------------------------------------- contrasts

  Finding contrast(const Test& test, std::size_t n) {
    if (test.told->contains("ratio")) return of_a_cell(test, n);
    if (test.told->contains("over")) return of_numbers(test);
    const Value c = value_of(test.contrast, n);
    auto [verdict, why] = decide(c.low, c.high, test);
    if (c.contexts <= few_contexts) why += fmt::format("; of {:g} contexts", c.contexts);
    const bool rest = by_name_.at(test.contrast)->points.front().way == Contrast::rest;
    return {.verdict = verdict,
            .reason = fmt::format("{} ({}{}.csv)", why, rest ? "end to end less the device part, " : "", c.experiment),
            .ratio = c.value,
            .low = c.low,
            .high = c.high,
            .threshold = threshold_of(test)};
  }

  /// A number, what a profiler counted, or the median or the most of a table's values; and its name.
  std::pair<double, std::string> quantity(const std::string& file, const Json& side) {
    if (side.is_number()) return {side.get<double>(), fmt::format("{:g}", side.get<double>())};
    if (side.contains("call")) {
      const std::string call = side.at("call"), metric = side.at("metric");
      const double value = median(values(file, "value", {{"metric", metric}, {"n", side.at("n")}}, call));
      return {value < side.value("none_below", 0.0) ? 0 : value, metric + " of " + call};
    }
    const auto all = values(file, side.value("value", "value"), side.at("where"));
    std::vector<std::string> words;
    for (const auto& [_, value] : side.at("where").items()) words.push_back(plain(value));
    const bool most = side.value("take", "median") == "most";
    return {most ? *std::max_element(all.begin(), all.end()) : median(all), fmt::format("{}", fmt::join(words, " "))};
  }

  /// A quotient of two numbers of a table.
  Finding of_numbers(const Test& test) {
    const std::string file = test.told->at("file");
    const auto [mine, counted] = quantity(file, test.told->at("of"));
    const auto [base, over] = quantity(file, test.told->at("over"));
    const double ratio = base != 0 ? mine / base : mine != 0 ? std::numeric_limits<double>::infinity() : 1;
    const auto [verdict, why] = decide(ratio, ratio, test);
    return {.verdict = verdict,
            .reason = fmt::format("{} ({:.4g} over {:.4g}, {})", why, mine, base, file),
            .ratio = ratio,
            .threshold = threshold_of(test),
            .base = over,
            .variant = counted};
  }

  /// A ratio that a tool measured: the copies of one partial sum for each block, over a quarter of the bytes.
  Finding of_a_cell(const Test& test, std::size_t n) {
    const std::string file = test.told->at("file"), column = test.told->at("ratio");
    const std::size_t bytes = 4 * n / test.told->at("block").get<std::size_t>();
    Json where = test.told->at("where");
    where["bytes"] = bytes;
    const Fields& row = *rows(file, column, where).front();
    const CsvTable& table = table_of(file);
    const auto number = [&](const std::string& name) { return table.number(row, name).value_or(unknown); };
    const double low = number(column + "_low"), high = number(column + "_high");
    const auto [verdict, why] = decide(low, high, test);
    return {.verdict = verdict,
            .reason = fmt::format("{} ({} bytes to {} memory take {:.3g} us, {}, {})", why,
                                  with_commas(static_cast<double>(bytes)), table.at(row, "memory"),
                                  1e6 * number("time_s"), table.at(row, "gpu"), file),
            .ratio = number(column),
            .low = low,
            .high = high,
            .threshold = threshold_of(test),
            .base = fmt::format("copy of {} bytes", bytes / 4),
            .variant = fmt::format("copy of {} bytes", bytes)};
  }

  // ------------------------------------------------------------------------------------------------- counts

  Finding count(const Test& test, std::size_t n) {
    const std::string what = test.told->at("count");
    if (what == "wrong") return wrong_blocks(test);
    if (what == "right") return right_sums(test, n);
    if (what == "clocks apart") return clocks_apart(test, n);
    if (what == "cycles filled") return cycles_filled(test, n);
    throw UsageError("a claim counts '" + what + "'; known are wrong, right, clocks apart, cycles filled");
  }

  /// Blocks to which the document's code as printed gives a wrong sum.
  Finding wrong_blocks(const Test& test) {
    const std::string file = test.told->at("file");
    const auto all = rows(file, "wrong", test.told->at("where"));
    const double wrong = total(all, file, "wrong");
    Finding out = limited(test, wrong,
                          fmt::format("{} of {} blocks wrong ({}, {})", with_commas(wrong),
                                      with_commas(total(all, file, "blocks")), table_of(file).at(*all.front(), "gpu"),
                                      file));
    out.ratio = unknown;  // it is a number of blocks
    return out;
  }

  /// Rows of the contrast's call, each a launch that was checked against the exact sum, that are right.
  Finding right_sums(const Test& test, std::size_t n) {
    const std::string file = value_of(test.contrast, n).experiment + ".csv";
    const CsvTable& table = table_of(file);
    double right = 0, all = 0;
    for (const Fields& r : table.records())
      if (table.is_of(r, test.variant)) ++all, right += table.at(r, "status") == "ok";
    return limited(test, right, fmt::format("{:g} of {:g} rows right ({})", right, all, file));
  }

  /// How far the SMs' clocks are apart, as a share of the cycles that the run takes.
  Finding clocks_apart(const Test& test, std::size_t n) {
    std::map<std::string, std::vector<double>> by_sm;
    for (const Fields* r : rows(probes, "value", {{"quantity", "sm_clock_offset"}, {"unit", "cycles"}}))
      by_sm[table_of(probes).at(*r, "sm")].push_back(*table_of(probes).number(*r, "value"));
    std::vector<double> offsets;
    for (const auto& [_, of_sm] : by_sm) offsets.push_back(median(of_sm));
    const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
    const double rate = median(values(probes, "value", {{"quantity", "sm_clock_rate"}}));
    const double spread = *most - *least, cycles = value_of(test.contrast, n).value * 1e9 * rate;
    return limited(test, spread / cycles,
                   fmt::format("the clocks of {} SMs are {:.4g} cycles apart, and the run takes {:.4g} ({})",
                               offsets.size(), spread, cycles, probes));
  }

  /// How many cycles of a load's latency one thread's work fills: no more than all threads take for one element each,
  /// and that is measured where each has one load under way.
  Finding cycles_filled(const Test& test, std::size_t n) {
    const double of_load = latency();
    const Assignments settings = parse_call(test.variant).settings;
    const auto block = std::find_if(settings.begin(), settings.end(), [](auto& s) { return s.first == "block"; });
    const double threads = std::stod(block->second), each = value_of(test.contrast, n).value / static_cast<double>(n);
    const double taken = each * threads, of = test.told->at("threads").get<double>();
    if (taken < of_load)
      throw Undecidable{
          fmt::format("{} takes {:.4g} cycles for each element, of a load's {:.4g}: a thread has several "
                      "loads under way ({})",
                      test.variant, taken, of_load, probes)};
    Finding out = limited(test, each,
                          fmt::format("{:g} threads with one load each take {:.3g} cycles, {:.3g} each: {:g} fill at "
                                      "most {:.3g} of a load's {:.3g} ({})",
                                      threads, taken, each, of, of * each, of_load, probes));
    // Most of that may be the wait for the load, and no work.
    if (out.verdict == reversed && taken <= latency_bound * of_load) out.verdict = undecided;
    return out;
  }

  // ------------------------------------------------------------------------------------------------ records

  Fields record(const Json& claim, const std::string& role, const Judged& judged) const {
    const auto word = [&](const char* key) { return claim.at(key).get<std::string>(); };
    const auto number = [](double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : ""; };
    const Finding& f = judged.found;
    Fields out{word("id"), word("document"), word("statement"), word("text_figure"),
               judged.n ? std::to_string(*judged.n) : ""};
    const Fields of_row = judged.n && judged.test ? judged.test->of_row : Fields(4);
    out.insert(out.end(), of_row.begin(), of_row.end());
    out.insert(out.end(), {f.base, f.variant, number(f.ratio), number(f.low), number(f.high), f.threshold, f.verdict,
                           f.reason, role, plain(claims_.at("version"))});
    return out;
  }

  const Json& claims_;
  std::filesystem::path folder_;
  std::map<std::string, const Contrast*> by_name_;
  std::optional<CsvTable> measured_;
  std::map<std::string, std::optional<CsvTable>> tables_;
  std::vector<std::unique_ptr<Json>> owned_;  ///< tests that were made of ranges
};

}  // namespace

const std::vector<std::string>& claim_verdicts() {
  static const std::vector<std::string> all{holds, weaker, mixed, none, close_by, reversed, undecided};
  return all;
}

const std::vector<TableColumn>& verdict_schema() {
  static const std::vector<TableColumn> all = [] {
    std::vector<TableColumn> columns;
    for (const char* text : {"claim", "document", "statement", "text_figure"}) columns.push_back({text, Kind::text});
    columns.push_back({"n", Kind::number});
    for (const char* text : {"operation", "element_type", "timing_mode", "cache_state", "base", "variant"})
      columns.push_back({text, Kind::text});
    for (const char* number : {"ratio", "ci_low", "ci_high"}) columns.push_back({number, Kind::number});
    columns.push_back({"threshold", Kind::text});
    columns.push_back({.name = "verdict", .kind = Kind::word, .words = claim_verdicts()});
    columns.push_back({"reason", Kind::text});
    columns.push_back({.name = "role", .kind = Kind::word, .words = {"claim", "large", "step", "beside"}});
    columns.push_back({"claims_version", Kind::count});
    return columns;
  }();
  return all;
}

std::vector<Fields> verdict_table(std::string_view claims, const std::string& file,
                                  const std::vector<Contrast>& contrasts, const std::vector<Fields>& contrast_records,
                                  const std::filesystem::path& folder) {
  const Json all = Json::parse(claims, nullptr, false);
  if (!all.is_object()) throw UsageError(file + " is not a JSON object; take the project's own from git");
  try {
    return Judge(all, contrasts, contrast_records, folder).table();
  } catch (const nlohmann::json::exception& e) {
    throw UsageError(fmt::format("{}: {}", file, e.what()));
  }
}

}  // namespace reductio
