#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include "core/child.h"
#include "core/parse.h"
#include "device/sim/gpu.h"
#include "verify/workbench.h"

namespace reductio {
namespace {

/// Small cases first, so that the first failure is the simplest; then equal inputs side by side.
bool before(const Case& a, const Case& b) {
  const auto key = [](const Case& c) {
    return std::tuple(c.problem.n, c.problem.type, c.problem.shape.text(), std::string_view(c.dataset), c.seed,
                      c.offset_elements);
  };
  return key(a) < key(b);
}

/// From this size on an input is worth sharing between variants.
constexpr std::size_t worth_sharing = 1 << 20;

bool still_works(Backend& backend) {
  try {
    const DeviceMemory memory(backend, 64);
    const Stream stream = backend.create_stream();
    backend.fill(memory.get(), 0, memory.size(), stream);
    backend.synchronize(stream);
    backend.destroy_stream(stream);
    return true;
  } catch (const Refused&) {  // out of memory, which others may have taken
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void insert_distinct(std::vector<std::string>& all, const std::string& one) {
  if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

/// What a run reports as it goes; from a child process through a pipe.
struct Event {
  enum class Kind : char {
    counted,      ///< a variant's cases are known
    begun,        ///< a case, or with `text` what is done before or after it: "while its cases were made: "
    passed,       ///< the case that has begun; `text`: the known fault that was seen
    refused,      ///< likewise; `text`: why
    failed,       ///< likewise
    misdeclared,  ///< likewise, of a case that was refused before
    lost,         ///< the device no longer works; `text`: why
    left,         ///< the process ends here: the variant may have damaged its memory
  };
  Kind kind;
  std::size_t v;  ///< the variant's number
  std::string text{};
  double seconds = 0;
  std::size_t cases = 0, left_out = 0;          ///< counted
  double cost = 0;                              ///< counted: of all its cases; begun: of this one
  std::vector<std::string> reasons_left_out{};  ///< counted: distinct
  std::optional<Case> what{};                   ///< begun
};

Child::Message message_of(const Event& e) {
  Child::Message out{std::string(1, static_cast<char>(e.kind)), std::to_string(e.v), e.text,
                     fmt::format("{}", e.seconds)};
  const auto add = [&](auto... fields) { (out.push_back(fields), ...); };
  if (e.kind == Event::Kind::counted) {
    add(std::to_string(e.cases), std::to_string(e.left_out), fmt::format("{}", e.cost));
    out.insert(out.end(), e.reasons_left_out.begin(), e.reasons_left_out.end());
  }
  if (e.kind == Event::Kind::begun) {
    const Case& c = *e.what;
    add(std::string(name(c.problem.operation)), std::string(name(c.problem.type)), std::to_string(c.problem.n),
        std::to_string(c.offset_elements), c.dataset, std::to_string(c.seed), c.order, c.check,
        c.like, std::to_string(c.index_limit), fmt::format("{}", c.cost), c.problem.shape.text());
    for (const auto& [name, value] : c.settings) add(name, value);
  }
  return out;
}

Event event_of(const Child::Message& m, const std::vector<const Variant*>& selected) {
  Event e{.kind = static_cast<Event::Kind>(m.at(0).at(0)), .v = std::stoull(m.at(1)), .text = m.at(2)};
  e.seconds = std::stod(m.at(3));
  const auto number = [&](std::size_t i) { return std::stoull(m.at(i)); };
  if (e.kind == Event::Kind::counted) {
    e.cases = number(4);
    e.left_out = number(5);
    e.cost = std::stod(m.at(6));
    e.reasons_left_out.assign(m.begin() + 7, m.end());
  }
  if (e.kind == Event::Kind::begun) {
    const Variant& v = *selected.at(e.v);
    e.what = Case{&v, problem_with_shape(parse_operation(m.at(4)), parse_type(m.at(5)), number(6), m.at(15)),
                  Settings(v.tunables), number(7), m.at(8), number(9), m.at(10), m.at(11), m.at(12), number(13)};
    e.what->cost = std::stod(m.at(14));
    for (std::size_t i = 16; i + 1 < m.size(); i += 2) e.what->settings.set(m[i], m[i + 1]);
  }
  return e;
}

/// The outcome so far, which tells where the next process continues.
class Tally {
 public:
  using Pair = std::pair<Operation, ElementType>;
  struct UnderWay {
    std::size_t v;
    Case what;
    std::string when;    ///< what was done, where that is not the case itself
    bool ended = false;  ///< the case has
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  };

  Tally(const std::vector<const Variant*>& selected, DeviceKind device) : of_(selected.size()) {
    for (const Variant* v : selected) {
      VariantResult& r = report.by_variant.emplace_back();
      r.id = v->id;
      r.device = device;
    }
  }

  void apply(const Event& e) {
    VariantResult& r = report.by_variant.at(e.v);
    r.seconds += e.seconds;
    switch (e.kind) {
      case Event::Kind::counted:
        total_ += e.cases - of_[e.v].cases;
        of_[e.v].cases = e.cases;
        of_[e.v].cost = e.cost;
        r.left_out = e.left_out;
        r.reasons_left_out = e.reasons_left_out;
        return;
      case Event::Kind::begun: under_way.emplace(UnderWay{e.v, *e.what, e.text}); return;
      case Event::Kind::passed:
        ++r.passed;
        r.largest_n = std::max(r.largest_n, under_way->what.problem.n);
        if (!e.text.empty()) insert_distinct(r.faults, e.text);
        break;
      case Event::Kind::refused:
        ++r.refused;
        insert_distinct(r.refusals, e.text.starts_with(r.id + ": ") ? e.text : r.id + ": " + e.text);
        break;
      case Event::Kind::misdeclared: --r.refused; [[fallthrough]];
      case Event::Kind::failed:
        ++r.failed;
        r.failures.push_back({under_way->what, e.text});
        break;
      case Event::Kind::lost: of_[e.v].given_up = true; return;
      case Event::Kind::left: return;
    }
    under_way->ended = true;
    if (e.kind != Event::Kind::misdeclared) {
      ++of_[e.v].done;
      of_[e.v].cost_done += under_way->what.cost;
    }
    const auto [at, is_new] = of_[e.v].refused_alone.try_emplace(pair_of(under_way->what));
    if (e.kind != Event::Kind::refused)
      at->second.reset();
    else if (is_new)
      at->second = under_way->what;
  }

  /// What is under way did not come to its end.
  void give_up(const std::string& why) {
    VariantResult& r = report.by_variant[under_way->v];
    ++r.failed;
    r.failures.push_back({under_way->what, under_way->ended ? "after this case " + why : under_way->when + why, false});
    r.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - under_way->since).count();
    of_[under_way->v].given_up = true;
    under_way.reset();
  }

  std::size_t failed(std::size_t v) const { return report.by_variant[v].failed; }
  /// None of its cases is run any more.
  bool over(std::size_t v) const { return of_[v].given_up || report.by_variant[v].failed >= most_failures; }
  /// How many of its cases are: in an order that is always the same.
  std::size_t done(std::size_t v) const { return of_[v].done; }
  bool complete(std::size_t v) const { return of_[v].cases > 0 && of_[v].done == of_[v].cases; }
  /// The first case of each operation and type of which all cases were refused.
  std::vector<Case> refused_alone(std::size_t v) const {
    std::vector<Case> out;
    for (const auto& [pair, first] : of_[v].refused_alone)
      if (first) out.push_back(*first);
    return out;
  }
  void show(const VerifyProgress& progress) {
    if (!progress || !under_way || under_way->ended || !under_way->when.empty()) return;
    std::size_t done = 0;
    double cost_done = 0, cost_left = 0;
    for (std::size_t v = 0; v < of_.size(); ++v) {
      done += over(v) ? of_[v].cases : of_[v].done;
      cost_done += of_[v].cost_done;
      if (!over(v)) cost_left += of_[v].cost - of_[v].cost_done;
    }
    if (!first_case_) first_case_ = under_way->since;
    const std::chrono::duration<double> elapsed = under_way->since - *first_case_;
    progress(done, total_, under_way->what.describe(), time_left(elapsed.count(), cost_done, cost_left));
  }

  VerifyReport finished() {
    for (std::size_t v = 0; v < of_.size(); ++v) {
      VariantResult& r = report.by_variant[v];
      r.not_run = of_[v].cases - std::min(of_[v].cases, r.passed + r.failed + r.refused);
      report.passed += r.passed;
      report.failed += r.failed;
      report.refused += r.refused;
      report.not_run += r.not_run;
      report.failures.insert(report.failures.end(), r.failures.begin(), r.failures.end());
      for (const std::string& why : r.refusals) insert_distinct(report.refusals, why);
    }
    return std::move(report);
  }

  VerifyReport report{};
  std::optional<UnderWay> under_way{};  ///< or ended last

 private:
  struct OfVariant {
    std::size_t cases = 0, done = 0;
    double cost = 0, cost_done = 0;
    bool given_up = false;
    std::map<Pair, std::optional<Case>> refused_alone{};  ///< nothing where some case was not refused
  };
  static Pair pair_of(const Case& c) { return {c.problem.operation, c.problem.type}; }

  std::vector<OfVariant> of_;
  std::size_t total_ = 0;
  std::optional<std::chrono::steady_clock::time_point> first_case_{};
};

/// Why preparing refuses an operation and type at every size and setting; empty if it does not, or if the machine lacks
/// something. The descriptor rightly says what lists and declines() refuse.
std::string refusal_of_all(const Case& c, const DeviceInfo& device) {
  // The settings that were asked for may be what it refuses.
  const auto registered = std::find_if(variants().begin(), variants().end(),
                                       [&](const Variant& v) { return v.id == c.variant->id; });
  const Variant& v = registered != variants().end() ? *registered : *c.variant;
  std::vector<Settings> all{v.settings()};
  for (const Tunable& t : v.tunables)
    for (Settings& s : v.with_other_values(v.settings(), t)) all.push_back(std::move(s));
  std::string why;
  for (const Settings& s : all)
    for (const std::size_t n : {std::size_t{1000}, std::size_t{1}}) {
      const Problem p{c.problem.operation, c.problem.type, n};
      if (!refusal(v, device.kind, p, s).empty()) continue;
      try {
        make_plan(v, p, s, device);
        return {};
      } catch (const Unavailable&) {
        return {};
      } catch (const Refused& e) {
        if (why.empty()) why = e.what();
      } catch (const std::exception&) {
        return {};  // no refusal
      }
    }
  return why;
}

class Run {
 public:
  /// `tell` is to apply each event to the tally. `apart`: in a process that another one follows.
  Run(const std::vector<const Variant*>& selected, Backend& backend,
      const std::function<std::vector<Case>(const Variant&)>& make_cases, const Tally& tally,
      const std::function<void(const Event&)>& tell, const std::function<bool()>& interrupted, bool apart)
      : selected_(selected),
        backend_(backend),
        make_cases_(make_cases),
        tally_(tally),
        tell_(tell),
        interrupted_(interrupted),
        bench_(backend),
        memory_at_risk_(apart && backend.info().kind == DeviceKind::cpu) {}

  /// Goes on from the tally. Ends early if the device is lost, which it reports, or when interrupted.
  void run() {
    // Batteries are made twice, once to count: all of them together would take a quarter of a gigabyte.
    std::vector<std::pair<std::size_t, Case>> large;
    std::vector<std::size_t> small(selected_.size());
    for (std::size_t v = 0; v < selected_.size() && !ended(); ++v) {
      if (tally_.over(v) || tally_.complete(v)) continue;
      std::vector<Case> cases = cases_of(v, true);
      while (small[v] < cases.size() && cases[small[v]].problem.n < worth_sharing) ++small[v];
      for (std::size_t i = std::max(small[v], tally_.done(v)); i < cases.size(); ++i)
        large.emplace_back(v, std::move(cases[i]));
    }
    for (std::size_t v = 0; v < selected_.size() && !ended(); ++v) {
      if (tally_.over(v) || tally_.done(v) >= small[v]) continue;
      const std::vector<Case> cases = cases_of(v, false);
      const std::size_t failed = tally_.failed(v);
      for (std::size_t i = tally_.done(v); i < small[v]; ++i) run_one(v, cases[i]);
      // Where a variant is wrong, it may have written anywhere in this process. The next one gets another.
      if (memory_at_risk_ && tally_.failed(v) > failed && !ended()) {
        tell_({.kind = Event::Kind::left, .v = v});
        lost_ = true;
      }
    }
    std::stable_sort(large.begin(), large.end(),
                     [](const auto& a, const auto& b) { return before(a.second, b.second); });
    for (const auto& [v, c] : large) run_one(v, c);
    for (std::size_t v = 0; v < selected_.size() && !ended(); ++v)
      if (!tally_.over(v)) judge_refusals(v);
  }

 private:
  bool ended() const { return lost_ || (interrupted_ && interrupted_()); }

  /// In the order in which they are run, without those that are left out. `count`: says how many there are.
  std::vector<Case> cases_of(std::size_t v, bool count) {
    const Variant& variant = *selected_[v];
    const Problem first{variant.operations.front(), variant.types.front(), 1};
    tell_({.kind = Event::Kind::begun,
           .v = v,
           .text = "while its cases were made: ",
           .what = Case{&variant, first, variant.settings(), 0, "exact", 1, "", "bounded"}});
    Event counted{.kind = Event::Kind::counted, .v = v};
    std::vector<Case> cases;
    counted.seconds = timed([&] { cases = make_cases_(variant); });
    std::erase_if(cases, [&](const Case& c) {
      if (c.left_out.empty()) return false;
      ++counted.left_out;
      insert_distinct(counted.reasons_left_out, c.left_out);
      return true;
    });
    std::stable_sort(cases.begin(), cases.end(), before);
    counted.cases = cases.size();
    for (const Case& c : cases) counted.cost += c.cost;
    if (count) tell_(counted);
    return cases;
  }

  template <class F>
  static double timed(F&& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void run_one(std::size_t v, const Case& c) {
    if (tally_.over(v) || ended()) return;
    tell_({.kind = Event::Kind::begun, .v = v, .what = c});
    Event outcome{.kind = Event::Kind::passed, .v = v}, lost{.kind = Event::Kind::lost, .v = v};
    outcome.seconds = timed([&] { judge(c, outcome, lost.text); });
    tell_(outcome);
    lost_ = !lost.text.empty();
    if (lost_) tell_(lost);
  }

  void judge(const Case& c, Event& outcome, std::string& lost) {
    try {
      outcome.text = bench_.run(c);
      if (!outcome.text.empty())
        outcome.kind = Event::Kind::failed;
      else if (c.check == "fault")
        outcome.text = c.variant->fault_of(c.settings).why;
    } catch (const Refused& e) {
      outcome.kind = Event::Kind::refused;
      outcome.text = e.what();
    } catch (const std::exception& e) {
      if (dynamic_cast<const std::bad_alloc*>(&e) && !address_space_advice().empty()) throw MemoryEnded(e.what());
      // A failed launch throws no DeviceError, because a kernel's header knows no harness; it may still be the device's
      // fault.
      const bool of_device = dynamic_cast<const DeviceError*>(&e) != nullptr;
      outcome.kind = Event::Kind::failed;
      outcome.text = of_device ? e.what() : std::string("threw: ") + e.what();
      if (!still_works(backend_)) lost = "the device no longer works after " + c.describe() + ": " + outcome.text;
    }
  }

  void judge_refusals(std::size_t v) {
    for (const Case& c : tally_.refused_alone(v)) {
      tell_({.kind = Event::Kind::begun, .v = v, .text = "while it was prepared once more: ", .what = c});
      const std::string why = refusal_of_all(c, backend_.info());
      if (why.empty()) continue;
      const std::string type(name(c.problem.type));
      tell_(
          {.kind = Event::Kind::misdeclared,
           .v = v,
           .text = fmt::format("declares {} of {}, but preparing refuses every case of it: {}; leave {} out of .types, "
                               "decline it in .declines, or throw Unavailable for what a machine lacks",
                               name(c.problem.operation), type, why, type)});
    }
  }

  const std::vector<const Variant*>& selected_;
  Backend& backend_;
  const std::function<std::vector<Case>(const Variant&)>& make_cases_;
  const Tally& tally_;
  const std::function<void(const Event&)>& tell_;
  const std::function<bool()>& interrupted_;
  Workbench bench_;
  const bool memory_at_risk_;
  bool lost_ = false;
};

/// Opening a device, or making a variant's cases, takes seconds where a machine has many GPUs or a variant many
/// settings.
constexpr double most_seconds_between_cases = 120;

/// Follows child processes one after the other, each of which starts from a copy of the tally.
class Follower {
 public:
  Follower(const std::vector<const Variant*>& selected, Tally& tally,
           const std::function<double(const Case&)>& patience_s, const VerifyProgress& progress,
           const std::function<bool()>& interrupted)
      : selected_(selected), tally_(tally), patience_s_(patience_s), progress_(progress), interrupted_(interrupted) {}

  /// To its end. True: the next one is to go on without the variant that ended it.
  bool follow(Child& child) {
    tally_.under_way.reset();
    for (Child::Message m;;) {
      const double patience = this->patience();
      Child::Got got{};
      try {
        got = child.next(m, patience, interrupted_);
      } catch (const UsageError&) {
        throw;
      } catch (const MemoryEnded&) {
        throw;
      } catch (const std::exception& e) {
        if (!opened_) throw;
        return give_up(child, "threw: " + std::string(e.what()));
      }
      switch (got) {
        case Child::Got::message:
          if (!take(m)) return true;
          break;
        case Child::Got::done: return false;
        case Child::Got::stopped: tally_.report.interrupted = true; return false;
        case Child::Got::died:
          // As the simulated device ends it, which has said so.
          if (child.memory_ended()) throw MemoryEnded("out of memory" + address_space_advice());
          return give_up(child, "ended the process by " + child.death());
        case Child::Got::late:
          return give_up(child,
                         fmt::format("did not end within {:.6g} s and was killed: does a block wait for one that "
                                     "is not running, or does a loop never end? (--patience S waits longer)",
                                     patience));
      }
    }
  }

 private:
  double patience() const {
    const auto& now = tally_.under_way;
    return now && !now->ended && now->when.empty() ? patience_s_(now->what) : most_seconds_between_cases;
  }

  /// False: the device is lost, or the process is left.
  bool take(const Child::Message& m) {
    opened_ = true;
    if (m.empty()) return true;  // it is open
    const Event e = event_of(m, selected_);
    tally_.apply(e);
    if (e.kind == Event::Kind::begun) tally_.show(progress_);
    return e.kind != Event::Kind::lost && e.kind != Event::Kind::left;
  }

  /// False where no variant is at fault, or the next process would fare no better.
  bool give_up(Child& child, const std::string& why) {
    std::string& stopped = tally_.report.stopped;
    if (tally_.under_way)
      tally_.give_up(why);
    else
      stopped = "opening it " + why;
    if (!child.kill()) stopped = "the driver holds a process that cannot be killed";
    if (!opened_) throw DeviceError(stopped);
    return stopped.empty();
  }

  const std::vector<const Variant*>& selected_;
  Tally& tally_;
  const std::function<double(const Case&)>& patience_s_;
  const VerifyProgress& progress_;
  const std::function<bool()>& interrupted_;
  bool opened_ = false;  ///< by some process
};

}  // namespace

bool is_protocol(std::string_view check) { return check != "exact" && check != "bounded" && check != "special"; }

void check_like(std::string_view gpu) { const sim::Like like(gpu); }

std::string Case::describe() const {
  std::string text = variant->id + " " + std::string(name(problem.operation)) + " " + std::string(name(problem.type)) +
                     " n=" + std::to_string(problem.n);
  if (const std::string shape = problem.shape.text(); !shape.empty()) text += " shape=" + shape;
  if (const std::string set = settings.str(); !set.empty()) text += " " + set;
  if (offset_elements) text += " offset=" + std::to_string(offset_elements);
  text += " " + dataset + " seed=" + std::to_string(seed);
  if (!order.empty()) text += " order=" + order;
  if (is_protocol(check)) text += " check=" + check;
  if (!like.empty()) text += " like=" + like;
  if (index_limit) text += " index-limit=" + std::to_string(index_limit);
  return text;
}

std::string verify_command(const Variant& v, DeviceKind device, const std::string& program,
                           const std::vector<std::pair<std::string, std::string>>& options) {
  if (!v.interpreter.empty() && !std::filesystem::is_regular_file(v.plugin)) {
    std::string text = "reductio.verify('" + v.id + "', device='" + std::string(name(device)) + "'";
    for (const auto& [option, value] : options) {
      text += ", ";
      std::replace_copy(option.begin(), option.end(), std::back_inserter(text), '-', '_');
      text += "='" + value + "'";
    }
    return text + ")";
  }
  std::string id = v.id;  // as a regular expression, in which a plus sign is none
  for (std::size_t at = 0; (at = id.find('+', at)) != std::string::npos; at += 2) id.insert(at, "\\");
  std::string text = program + " verify" + (v.plugin.empty() ? "" : " --plugin " + quoted(v.plugin)) + " --device " +
                     std::string(name(device)) + " --variants '^" + id + "$'";
  for (const auto& [option, value] : options) text += " --" + option + " " + quoted(value);
  return text;
}

std::string Case::command(DeviceKind device, const std::string& program) const {
  std::vector<std::pair<std::string, std::string>> options{{"operations", std::string(name(problem.operation))},
                                                           {"types", std::string(name(problem.type))}};
  if (!problem.shape.rows) options.emplace_back("sizes", std::to_string(problem.n));
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) options.emplace_back(option, value);
  };
  const auto unless_zero = [](std::size_t n) { return n ? std::to_string(n) : ""; };
  add(problem.shape.segments ? "segments" : "shapes", problem.shape.text());
  std::string set = settings.str();
  std::replace(set.begin(), set.end(), ';', ',');
  add("set", set);
  add("offset", unless_zero(offset_elements));
  add("dataset", dataset);
  add("seed", std::to_string(seed));
  add("order", order);
  add("like", like);
  add("index-limit", unless_zero(index_limit));
  add("check", check);
  return verify_command(*variant, device, program, options);
}

double time_left(double elapsed_s, double cost_done, double cost_left) {
  if (elapsed_s < 1 || cost_done <= 0) return -1;
  return elapsed_s / cost_done * std::max(cost_left, 0.0);
}

std::string run_case(const Case& c, Backend& backend) { return Workbench(backend).run(c); }

VerifyReport verify(const std::vector<const Variant*>& selected, Backend& backend, Tier tier, std::uint64_t seed,
                    const VerifyProgress& progress) {
  return verify(
      selected, backend, [&](const Variant& v) { return battery(v, backend.info(), tier, seed); }, progress);
}

VerifyReport verify(const std::vector<const Variant*>& selected, Backend& backend,
                    const std::function<std::vector<Case>(const Variant&)>& cases_of, const VerifyProgress& progress,
                    const std::function<bool()>& interrupted) {
  Tally tally(selected, backend.info().kind);
  const std::function<void(const Event&)> tell = [&](const Event& e) {
    tally.apply(e);
    if (e.kind == Event::Kind::begun) tally.show(progress);
    if (e.kind == Event::Kind::lost) tally.report.stopped = e.text;
  };
  Run(selected, backend, cases_of, tally, tell, interrupted, false).run();
  tally.report.interrupted = interrupted && interrupted();
  return tally.finished();
}

VerifyReport verify_apart(const std::vector<const Variant*>& selected, DeviceKind device,
                          const std::function<std::unique_ptr<Backend>()>& open,
                          const std::function<std::vector<Case>(const Variant&, const DeviceInfo&)>& cases_of,
                          const std::function<double(const Case&)>& patience_s, const VerifyProgress& progress,
                          const std::function<bool()>& interrupted) {
  for (const Variant* v : selected)
    if (v->load) v->load();
  Tally tally(selected, device);
  Follower follower(selected, tally, patience_s, progress, interrupted);
  for (bool goes_on = true; goes_on;) {
    Child child([&](const Child::Send& send) {
      const auto backend = open();
      send({});
      const std::function<std::vector<Case>(const Variant&)> make = [&](const Variant& v) {
        return cases_of(v, backend->info());
      };
      const std::function<void(const Event&)> tell = [&](const Event& e) {
        tally.apply(e);
        send(message_of(e));
      };
      Run(selected, *backend, make, tally, tell, {}, true).run();
    });
    goes_on = follower.follow(child);
  }
  return tally.finished();
}

double usual_patience_s(DeviceKind device, const Case& c) {
  const auto n = static_cast<double>(c.problem.n);
  switch (device) {
    case DeviceKind::cuda: return 30 + 50e-9 * n;  // a few threads that read all of it, one element after another
    case DeviceKind::cpu: return 30 + 100e-9 * n;
    case DeviceKind::sim:
      return 300 + 100e-6 * n;  // 2^26 threads of a small n take a minute; endless waits it tells itself
  }
  return 0;
}

}  // namespace reductio
