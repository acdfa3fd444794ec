/// Results folders, compared as they are.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/compare/command.h"
#include "cli/compare/origins.h"
#include "cli/compare/report.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "measure/results/reader.h"

namespace reductio::cli {
using Json = nlohmann::ordered_json;

int compare_stored(const CompareOptions& options, double confidence) {
  if (!options.live_only.empty())
    throw UsageError(
        options.live_only.front() +
        " is for measuring; --experiment, --variants, --types, --operations and --sizes choose among stored rows");
  const double effect = parse_effect(options.effect);
  const StoredChoice choice{.experiments = options.experiments, .selection = options.selection.of_rows()};
  std::vector<MeasuredSet> stored;
  Json origins = Json::array();
  for (const auto& folder : options.what) {
    const StoredResults results = read_results(folder, choice);
    if (const std::string note = note_of_left_out(results); !note.empty()) print_message(note);
    origins.push_back(origin_of(results));
    stored.push_back(measured_in(results));
    if (!options.relative_to.empty()) stored.back() = relative_to(std::move(stored.back()), options.relative_to);
  }
  if (stored.size() < 2) throw UsageError("name two results folders, the base first");
  std::vector<Pair> pairs;
  for (std::size_t i = 1; i < stored.size(); ++i) {
    const auto more = match(stored.front(), stored[i], options.common);
    pairs.insert(pairs.end(), more.begin(), more.end());
  }
  const Comparison comparison = compare(pairs, false, confidence, effect, options.separately);
  const auto covering = std::count_if(comparison.rows.begin(), comparison.rows.end(), [](const Compared& c) {
    return c.has_interval() && c.ratio->interval.low <= 1 && c.ratio->interval.high >= 1;
  });
  print(comparison,
        {.base = stored.front().name,
         .who = [](const Compared& c) { return c.variant.source; },
         .how = "Unpaired: the two were measured at different times. The ratio includes drift in between; its "
                "interval does only if the drift varies between contexts. " +
                (options.relative_to.empty() ? std::string()
                                             : "Times were divided by those of " + join(options.relative_to, " or ") +
                                                   " in the same context, so drift that both share cancels. ") +
                elsewhere(comparison, origins) + confidence_in_words(comparison) +
                (comparison.intervals() ? fmt::format(" 1 lies in {} of {}.", covering, comparison.intervals()) : ""),
         .origins = origins},
        options);
  return verdict(comparison, options);
}

}  // namespace reductio::cli
