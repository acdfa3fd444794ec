#include "experiments/cli/compare/plant.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/parse.h"
#include "experiments/cli/terminal.h"
#include "measure/analysis/planted.h"

namespace reductio::cli {
namespace {

/// So much of its time a call may be slowed by.
constexpr double largest_share = 10;

}  // namespace

std::optional<Plant> parse_plant(const CompareOptions& options, const std::vector<Candidate>& candidates,
                                 DeviceKind device) {
  const std::string& text = options.plant;
  if (text.empty()) return std::nullopt;
  const std::size_t equals = text.rfind('=');  // settings before it may have their own
  const auto share = equals == std::string::npos ? std::nullopt : parse_share(text.substr(equals + 1));
  if (!share || !(*share >= 0 && *share <= largest_share))
    throw UsageError(fmt::format("--plant takes VARIANT=SHARE, a share from 0 to {:g} %, as {}=5%, not '{}'",
                                 100 * largest_share, candidates.back().label, text));
  const std::string label = text.substr(0, equals);
  const auto named =
      std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.label == label; });
  if (named == candidates.end()) {
    std::vector<std::string> labels;
    for (const Candidate& c : candidates) labels.push_back(c.label);
    throw UsageError(fmt::format("--plant: '{}' is none of those that are compared: {}", label, join(labels, ", ")));
  }
  // Whoever slows A in 'compare A A' hardly means the base.
  const auto same = [&](const Candidate& c) { return c.variant == named->variant && c.settings == named->settings; };
  const auto again = std::find_if(named + 1, candidates.end(), same);
  if (*share > 0 && again != candidates.end() && std::none_of(candidates.begin(), named, same))
    throw UsageError(fmt::format("--plant: {} is named more than once; '{}={}' slows the second alone", label,
                                 again->label, text.substr(equals + 1)));
  for (const Candidate& c : candidates)
    if (device == DeviceKind::cuda && c.variant->result_of(c.settings) != ResultLocation::on_device)
      throw UsageError(
          fmt::format("--plant: {} ends on the host, and a spin on the GPU would not delay that: name variants whose "
                      "result stays on the GPU",
                      c.label));
  if (*share > 0 && !options.save.empty())
    throw UsageError(
        fmt::format("--save-baseline keeps no times of a planted slowdown; --plant {}=0% keeps those that one "
                    "is compared with",
                    label));
  return Plant{static_cast<std::size_t>(named - candidates.begin()), label, *share};
}

bool has_spins(const StoredResults& results) {
  return !results.rows.empty() && std::all_of(results.rows.begin(), results.rows.end(), [](const StoredRow& r) {
    return r.row.experiment == compare_with_spins;
  });
}

void check_spins(const StoredResults& baseline, const std::string& name, const std::optional<Plant>& plant) {
  const bool spins = has_spins(baseline);
  if (spins && !plant)
    throw UsageError(
        fmt::format("baseline '{}' was saved with --plant: a spin follows each of its calls; compare with "
                    "--plant, or save another",
                    name));
  if (!spins && plant)
    throw UsageError(
        fmt::format("no spin follows the calls of baseline '{}', which --plant needs; save it with --plant "
                    "{}=0%",
                    name, plant->label));
}

PlantedSeconds plant_into(Session& session, std::size_t candidates, const Plant& plant, std::deque<Variant>& spinning,
                          bool quiet) {
  HarnessCalls& calls = *session.instruments.harness_calls;
  std::vector<Point> slowed;
  for (std::size_t i = plant.candidate; i < session.points.size(); i += candidates) slowed.push_back(session.points[i]);
  std::vector<double> seconds(slowed.size(), 0);
  if (plant.share > 0) {
    Progress shown(quiet);
    const auto progress = [&](const Point& p, double done) {
      shown.show(static_cast<std::size_t>(100 * done), 100,
                 fmt::format("how long {} takes, for --plant: {}", plant.label, describe_group(p)));
    };
    try {
      seconds =
          planted_seconds(*session.backend, session.instruments, slowed, plant.share, *session.order_seed, progress);
    } catch (const CallTimeout&) {
      keep_for_ever(std::move(session.instruments));  // freeing would wait for the call that does not end
      keep_for_ever(session.backend.release());
      throw;
    }
  }
  PlantedSeconds out;
  for (std::size_t i = 0; i < session.points.size(); ++i) {
    Point& p = session.points[i];
    double spin_s = spin_behind_all_s;
    if (i % candidates == plant.candidate) {
      out[group_key(p)] = seconds[i / candidates];
      spin_s += seconds[i / candidates];
    }
    p.variant = &spinning.emplace_back(with_spin(*p.variant, p.device, calls, spin_s));
  }
  return out;
}

std::string in_words(const Plant& plant) {
  const std::string all =
      fmt::format("a spin of {} follows each call and is in all of these times", show_seconds(spin_behind_all_s));
  if (plant.share == 0) return fmt::format("Nothing is PLANTED in {}: {}", plant.label, all);
  return fmt::format("PLANTED in {}: {}, and in its own a longer one, by {:g} % of the call with its spin", plant.label,
                     all, 100 * plant.share);
}

}  // namespace reductio::cli
