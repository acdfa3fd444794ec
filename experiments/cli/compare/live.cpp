/// Variants, measured now and in turn.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/compare/baseline.h"
#include "experiments/cli/compare/candidates.h"
#include "experiments/cli/compare/command.h"
#include "experiments/cli/compare/origins.h"
#include "experiments/cli/compare/report.h"
#include "experiments/cli/terminal.h"
#include "experiments/cli/warnings.h"
#include "measure/plan/selection.h"
#include "measure/run/session.h"

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
  bool enough(int allocations, const SoFar& so_far) override {
    return until && std::find(looks.begin(), looks.end(), allocations) != looks.end() && until(so_far());
  }
  std::function<bool(const std::vector<GroupOutcome>&)> until;  ///< whether a batch needs no more contexts
  std::vector<std::vector<Measured>> groups;  ///< each in the candidates' order

 private:
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
    throw UsageError("--until-decided needs a comparison; --save-baseline alone takes --allocations, as 80");
  if (options.what.size() < 2 && options.baseline.empty() && options.save.empty())
    throw UsageError("name at least two variants to compare, the base first (or one with --baseline)");
}

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
      found(Status::impossible, "was faster than hardware can be"))
    return exit_error;
  return exit_ok;
}

}  // namespace

int compare_live(CompareOptions& options) {
  const double effect = parse_effect(options.effect);
  check_request(options);
  const Selection selection = options.selection.parse();
  const bool against_stored = !options.baseline.empty(), stores = !options.save.empty();
  const auto candidates = parse_candidates(options.what, selection, against_stored || stores);
  const auto operations = shared_operations(candidates, selection.operations);
  const auto types = shared_types(candidates, selection.types);
  const DeviceKind device = choose_device(candidates, selection);
  options.selection.check_gpu(device, candidates.front().label);
  const bool consumes =
      std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.variant->consumes_input; });
  const CacheState cache = !options.cache.empty()                   ? parse_cache_state(options.cache)
                           : device == DeviceKind::cpu && !consumes ? CacheState::warm
                                                                    : CacheState::cold_dirty;
  if (!options.modes.empty()) parse_list(options.modes, parse_timing_mode);  // wrong words before a GPU is looked for

  const auto before = gpus_in_use();
  Session session{.experiment = "compare",
                  .points = {},
                  .rules = {},
                  .options = options.run,
                  .seed = selection.seed,
                  .order_seed = selection.order_seed ? *selection.order_seed : draw_order_seed(),
                  .machine = {},
                  .backend = open_or_advise(device, options.selection.gpu),
                  .instruments = {}};
  session.machine = describe_machine(*session.backend);
  session.instruments = make_instruments(*session.backend);
  session.options.resume = false;
  const auto baselines = std::filesystem::path(options.out) / session.machine.name / "baselines";
  std::optional<MeasuredSet> then;
  Json origins = Json::array();
  if (against_stored) {
    const StoredResults results = read_baseline(baselines, options.baseline);
    origins.push_back(origin_of(results));
    then = measured_in(results);
  }
  std::optional<BaselineDraft> draft;
  session.keeps_rows = stores;
  if (stores) {
    draft.emplace(baselines, options.save, options.force);
    session.folder = draft->folder();
  }

  const auto sizes = selected_or(selection.sizes, usual_sizes(device));
  const auto all_types = selected_or(selection.types, {usual_type(types)});
  const auto all_operations = selected_or(selection.operations, {operations.front()});
  const auto modes = choose_modes(candidates, options.modes, cache, *session.instruments.timer);
  for (const Operation operation : all_operations)
    for (const ElementType t : all_types)
      for (const std::size_t n : sizes)
        for (const TimingMode mode : modes)
          for (const Candidate& c : candidates)
            session.points.push_back({.variant = c.variant,
                                      .device = device,
                                      .problem = {operation, t, n},
                                      .settings = c.settings,
                                      .timing_mode = mode,
                                      .cache_state = cache,
                                      .seed = selection.seed});

  const std::size_t groups = session.points.size() / candidates.size();
  const std::size_t intervals = groups * (against_stored ? candidates.size() : candidates.size() - 1);
  session.rules = chosen_rules(options, intervals);
  const double confidence = session.rules.confidence;

  if (!options.quiet)
    for (const auto& text : misleading(device, session.machine.gpu ? session.machine.gpu->uuid : "", before))
      print_warning(text);
  const std::string machine = session.machine.name, experiment = session.experiment;
  origins.push_back(origin_of(session));
  Collector collector(candidates, options.quiet);
  const int times_looked = options.until_decided ? static_cast<int>(looks.size()) : 1;
  const auto pairs_in = [&](const std::vector<std::vector<Measured>>& of_groups, MeasuredSet& now) {
    std::vector<Pair> pairs;
    for (const auto& group : of_groups) {
      for (std::size_t i = 1; i < group.size() && !against_stored; ++i) pairs.emplace_back(&group[0], &group[i]);
      if (against_stored) now.rows.insert(now.rows.end(), group.begin(), group.end());
    }
    return against_stored ? match_baseline(*then, now, options.baseline) : pairs;
  };
  if (options.until_decided)
    collector.until = [&](const std::vector<GroupOutcome>& outcomes) {
      std::vector<std::vector<Measured>> so_far;
      for (const GroupOutcome& outcome : outcomes) {
        so_far.push_back(measured_in(outcome));
        for (Measured& m : so_far.back()) m.row.experiment = experiment;
      }
      MeasuredSet now{.name = "what was measured now", .rows = {}};
      const auto pairs = pairs_in(so_far, now);
      // Of this batch's rows alone, by the intervals that all rows will have.
      const double each = options.separately ? confidence : confidence_of_each(confidence, intervals);
      return !compare(pairs, !against_stored, each, effect, true, times_looked).count(Verdict::undecided);
    };
  if (draft) draft->discard();  // of a run that was cut off
  const RunReport report = run_session(std::move(session), collector);
  if (report.interrupted) {
    if (draft) draft->discard();
    throw UsageError("interrupted; nothing was compared");
  }
  if (draft) draft->keep();

  MeasuredSet now{.name = "what was measured now", .rows = {}};
  const std::vector<Pair> pairs = pairs_in(collector.groups, now);
  int exit = exit_ok;
  if (!pairs.empty()) {
    const Comparison comparison = compare(pairs, !against_stored, confidence, effect, options.separately, times_looked);
    origins.back()["runs"][0]["run_id"] = comparison.rows.front().variant.row.run_id;
    const std::string how =
        against_stored
            ? "Unpaired: the baseline was measured at another time, and what drifted since is in the ratio but not in "
              "its interval, unless it varies from allocation to allocation, too. " +
                  elsewhere(comparison, origins)
            : fmt::format("Paired: in turn, in random order, {} on {}. ", rounds_in_words(comparison), machine);
    print(comparison,
          {.base = against_stored ? "baseline '" + options.baseline + "'" : candidates.front().label,
           .who = [&](const Compared& c) { return c.variant.label; },
           .how = how + confidence_in_words(comparison),
           .origins = origins,
           .advice = options.until_decided ? "" : "; --until-decided takes more contexts"},
          options);
    exit = report.count(Status::wrong) || report.count(Status::failed) ? exit_ok : verdict(comparison, options);
  }
  if (draft && !options.quiet && !options.csv && !options.json)
    fmt::print("saved as baseline '{}' in {}\n", options.save, draft->saved_as().string());
  push_output();
  const int worse = complain(collector.groups);
  return worse != exit_ok ? worse : exit;
}

}  // namespace reductio::cli
