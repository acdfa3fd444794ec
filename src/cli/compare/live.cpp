/// Variants, measured now and in turn.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/compare/baseline.h"
#include "cli/compare/candidates.h"
#include "cli/compare/command.h"
#include "cli/compare/origins.h"
#include "cli/compare/report.h"
#include "cli/terminal.h"
#include "cli/warnings.h"
#include "core/dataset.h"
#include "core/error.h"
#include "measure/plan/selection.h"
#include "measure/session/session.h"

namespace reductio::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Shows how far it is and keeps what was measured.
class Collector final : public RunObserver {
 public:
  Collector(const std::vector<Candidate>& candidates, bool quiet) : candidates_(candidates), progress_(quiet) {}
  void progress(std::size_t done, std::size_t points, double, double remaining_s, const std::string& what) override {
    if (what.empty())
      progress_.clear();
    else
      progress_.show(done, points, what, remaining_s);
  }
  void notice(const std::string& text) override {
    progress_.clear();
    print_message("note: " + text);
  }
  void group(const GroupOutcome& outcome) override {
    std::vector<Measured> measured = measured_in(outcome);
    for (std::size_t i = 0; i < measured.size() && i < candidates_.size(); ++i)
      measured[i].label = candidates_[i].label;
    groups.push_back(std::move(measured));
  }
  bool enough(int contexts, const SoFar& so_far) override {
    if (contexts == 1 && in_pairs && none_left(so_far())) return true;
    return until && std::find(looks.begin(), looks.end(), contexts) != looks.end() && until(so_far());
  }
  bool in_pairs = false;                                        ///< whether a time alone is of no use
  std::function<bool(const std::vector<GroupOutcome>&)> until;  ///< whether a batch needs no more contexts
  std::vector<std::vector<Measured>> groups;                    ///< each in the candidates' order

 private:
  /// Whether wrong results, failures and refusals leave no two to compare.
  static bool none_left(const std::vector<GroupOutcome>& outcomes) {
    const auto is_timed = [](const Row& row) { return row.status == Status::ok || row.status == Status::impossible; };
    return std::all_of(outcomes.begin(), outcomes.end(), [&](const GroupOutcome& outcome) {
      return std::count_if(outcome.rows.begin(), outcome.rows.end(), is_timed) < 2;
    });
  }

  const std::vector<Candidate>& candidates_;
  Progress progress_;
};

/// What --sizes is without being said.
std::vector<std::size_t> usual_sizes(DeviceKind device) {
  if (device == DeviceKind::cpu) return {1u << 12, 1u << 15, 1u << 18, 1u << 21};
  return {1u << 16, 1u << 20, 1u << 24, 1u << 28};
}

/// What can be said against the request before anything is opened.
void check_request(const CompareOptions& options) {
  if (!options.relative_to.empty())
    throw UsageError("--relative-to is for stored results; what is measured now is paired");
  if (options.common) throw UsageError("--common is for stored results; what is measured now has no rows missing");
  if (!options.experiments.empty() || !options.selection.variants.empty())
    throw UsageError(
        "--experiment and --variants choose among the rows of results folders; name the variants to compare");
  if (!options.save.empty()) check_baseline_name(options.save, "--save-baseline");
  if (!options.baseline.empty()) check_baseline_name(options.baseline, "--baseline");
  if (!options.save.empty() && options.save == options.baseline)
    throw UsageError("--baseline and --save-baseline name the same baseline; save under another name");
  if (options.until_decided && options.what.size() < 2 && options.baseline.empty())
    throw UsageError("--until-decided needs a comparison; with --save-baseline alone use --contexts, such as 80");
  if (options.what.size() < 2 && options.baseline.empty() && options.save.empty())
    throw UsageError("name at least two variants to compare, the base first (or one with --baseline)");
}

/// What was asked for, before anything is opened.
struct Request {
  double effect;
  Selection selection;
  std::vector<Candidate> candidates;
  std::vector<Operation> operations;
  std::vector<ElementType> types;
  DeviceKind device;
  CacheState cache;
  std::string dataset;
};

Request parse(const CompareOptions& options) {
  const double effect = parse_effect(options.effect);
  check_request(options);
  Selection selection = options.selection.parse();
  const auto candidates = parse_candidates(options.what, selection, !options.baseline.empty() || !options.save.empty());
  const auto operations = shared_operations(candidates, selection.operations);
  const auto types = shared_types(candidates, selection.types);
  if (options.selection.types == every_type) selection.types = types;
  const DeviceKind device = choose_device(candidates, selection);
  options.selection.check_gpu(device, candidates.front().label);
  const bool consumes =
      std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.variant->consumes_input; });
  const CacheState cache = !options.cache.empty()                   ? parse_cache_state(options.cache)
                           : device == DeviceKind::cpu && !consumes ? CacheState::warm
                                                                    : CacheState::cold_dirty;
  if (!options.modes.empty()) parse_list(options.modes, parse_timing_mode);  // wrong words before a GPU is looked for
  for (const ElementType type : selected_or(selection.types, {usual_type(types)}))
    check_dataset(options.dataset, type);
  return {effect, selection, candidates, operations, types, device, cache, options.dataset};
}

/// Group by group, each in the candidates' order.
std::vector<Point> points_of(const Request& request, const std::vector<TimingMode>& modes) {
  std::vector<Point> points;
  std::vector<Operation> operations = selected_or(request.selection.operations, {request.operations.front()});
  if (!request.selection.shapes.empty() && request.selection.operations.empty()) operations = request.operations;
  std::erase_if(operations, [&](Operation o) { return !takes(o, request.selection.shapes); });
  if (operations.empty())
    throw UsageError("these variants share no operation on these shapes; --shapes is for row_sums and column_sums, "
                     "--segments for segment_sums");
  for (const Operation operation : operations)
    for (const ElementType type : selected_or(request.selection.types, {usual_type(request.types)})) {
      if (!is_defined(operation, type)) continue;
      for (const Problem& problem :
           problems_of(operation, type, selected_or(request.selection.sizes, usual_sizes(request.device)),
                       request.selection.shapes))
        for (const TimingMode mode : modes)
          for (const Candidate& c : request.candidates)
            points.push_back({.variant = c.variant,
                              .device = request.device,
                              .problem = problem,
                              .settings = c.settings,
                              .timing_mode = mode,
                              .cache_state = request.cache,
                              .dataset = request.dataset,
                              .seed = request.selection.seed});
    }
  return points;
}

/// What measured groups are asked: how each candidate compares with the first, or with itself in a baseline.
struct Question {
  const CompareOptions& options;
  double effect, confidence;
  std::size_t intervals;            ///< in all groups
  std::optional<MeasuredSet> then;  ///< the baseline

  int times_looked() const { return options.until_decided ? static_cast<int>(looks.size()) : 1; }

  /// No rows where nothing is compared. `some`: of a part of the groups, by the intervals that all rows will have.
  Comparison answer(const std::vector<std::vector<Measured>>& groups, bool some = false) const {
    MeasuredSet now{.name = "what was measured now", .rows = {}};
    std::vector<Pair> pairs;
    for (const auto& group : groups) {
      for (std::size_t i = 1; i < group.size() && !then; ++i) pairs.emplace_back(&group[0], &group[i]);
      if (then) now.rows.insert(now.rows.end(), group.begin(), group.end());
    }
    if (then) pairs = match_baseline(*then, now, options.baseline);
    if (pairs.empty()) return {};
    const double each = some && !options.separately ? confidence_of_each(confidence, intervals) : confidence;
    return compare(pairs, !then, each, effect, some || options.separately, times_looked());
  }
};

/// "24 rounds" or "12 to 24 rounds": over how many rounds the ratios are.
std::string rounds_in_words(const Comparison& comparison) {
  std::size_t fewest = 0, most = 0;
  for (const Compared& c : comparison.rows)
    if (c.ratio) {
      fewest = fewest ? std::min(fewest, c.ratio->rounds) : c.ratio->rounds;
      most = std::max(most, c.ratio->rounds);
    }
  return (fewest == most ? "" : std::to_string(fewest) + " to ") + counted(most, "round");
}

void print_answer(const Comparison& comparison, const Question& question, const std::string& base,
                  const std::string& machine, const Json& origins) {
  const std::string how =
      question.then
          ? "Unpaired: the baseline was measured at another time. The ratio includes drift since then; its "
            "interval does only if the drift varies between contexts. " +
                elsewhere(comparison, origins)
          : fmt::format("Paired: in turn, in random order, {} on {}. ", rounds_in_words(comparison), machine);
  print(comparison,
        {.base = base,
         .who = [](const Compared& c) { return c.variant.label; },
         .how = how + confidence_in_words(comparison),
         .origins = origins,
         .advice = question.options.until_decided ? "" : "; --until-decided adds contexts"},
        question.options);
}

/// The exit code of rows that have no time to compare, after telling of the first; exit_ok where there are none.
int complain(const std::vector<std::vector<Measured>>& groups) {
  const auto found = [&](Status status, const char* what) {
    for (const auto& group : groups)
      for (const Measured& m : group)
        if (m.row.status == status) {
          print_message(fmt::format("{} {}: {}", m.label, what, m.row.reason));
          return true;
        }
    return false;
  };
  if (found(Status::wrong, "gave a wrong result")) return exit_wrong;
  if (found(Status::failed, "failed") || found(Status::timeout, "timed out") ||
      found(Status::impossible, "was faster than the hardware allows"))
    return exit_error;
  return exit_ok;
}

}  // namespace

int compare_live(CompareOptions& options) {
  const Request request = parse(options);
  Bench bench = open_bench_or_advise(request.device, options.selection.gpu);
  const std::vector<std::string> warnings = options.quiet ? std::vector<std::string>() : misleading(bench);
  Session session{.experiment = "compare",
                  .points = {},
                  .rules = {},
                  .options = options.run,
                  .seed = request.selection.seed,
                  .order_seed = request.selection.order_seed ? *request.selection.order_seed : draw_order_seed(),
                  .machine = std::move(bench.machine),
                  .backend = std::move(bench.backend),
                  .instruments = std::move(bench.instruments)};
  session.options.resume = false;
  const std::string machine = session.machine.name, experiment = session.experiment;

  const auto baselines = std::filesystem::path(options.out) / machine / "baselines";
  Json origins = Json::array();
  std::optional<MeasuredSet> then;
  if (!options.baseline.empty()) {
    const StoredResults results = read_baseline(baselines, options.baseline);
    origins.push_back(origin_of(results));
    then = measured_in(results);
  }
  std::optional<BaselineDraft> draft;
  session.keeps_rows = !options.save.empty();
  if (session.keeps_rows) {
    draft.emplace(baselines, options.save, options.force);
    session.folder = draft->folder();
  }

  const auto& candidates = request.candidates;
  session.points =
      points_of(request, choose_modes(candidates, options.modes, request.cache, *session.instruments.timer));
  const std::size_t intervals = session.points.size() / candidates.size() * (candidates.size() - (then ? 0 : 1));
  session.rules = chosen_rules(options, intervals);
  origins.push_back(origin_of(session));
  const Question question{options, request.effect, session.rules.confidence, intervals, std::move(then)};

  for (const auto& text : warnings) print_warning(text);
  Collector collector(candidates, options.quiet);
  collector.in_pairs = !question.then && !draft;
  if (options.until_decided)
    collector.until = [&](const std::vector<GroupOutcome>& outcomes) {
      std::vector<std::vector<Measured>> so_far;
      for (const GroupOutcome& outcome : outcomes) {
        so_far.push_back(measured_in(outcome));
        for (Measured& m : so_far.back()) m.row.experiment = experiment;
      }
      return !question.answer(so_far, true).count(Verdict::undecided);
    };
  if (draft) draft->discard();  // of a run that was cut off
  const RunReport report = run_session(std::move(session), collector);
  if (report.interrupted) {
    if (draft) draft->discard();
    throw UsageError("interrupted; nothing was compared");
  }

  int exit = exit_ok;
  const Comparison comparison = question.answer(collector.groups);
  if (!comparison.rows.empty()) {
    origins.back()["runs"][0]["run_id"] = comparison.rows.front().variant.row.run_id;
    print_answer(comparison, question, question.then ? "baseline '" + options.baseline + "'" : candidates.front().label,
                 machine, origins);
    exit = report.count(Status::wrong) || report.count(Status::failed) ? exit_ok : verdict(comparison, options);
  }
  if (draft) draft->keep();  // last: where it cannot be, what was measured is printed
  if (draft && !options.quiet && !options.csv && !options.json)
    fmt::print("saved as baseline '{}' in {}\n", options.save, draft->saved_as().string());
  push_output();
  const int worse = complain(collector.groups);
  return worse != exit_ok ? worse : exit;
}

}  // namespace reductio::cli
