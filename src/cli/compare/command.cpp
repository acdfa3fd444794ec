/// reductio compare: is a variant faster, by how much, and how sure is that?

#include "cli/compare/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/plugins.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/variant.h"
#include "measure/analysis/compare.h"
#include "measure/session/session.h"

namespace reductio::cli {

double parse_effect(const std::string& text) {
  const auto share = parse_share(text);
  if (!share || !(*share > 0))
    throw UsageError("--effect takes a share above 0, such as 1% or 0.01, not '" + text + "'");
  return *share;
}

SamplingRules chosen_rules(const CompareOptions& options, std::size_t intervals) {
  const double confidence = options.run.confidence.value_or(SamplingRules{}.confidence);
  const double each = options.separately ? confidence : confidence_of_each(confidence, intervals);
  SamplingRules rules = compare_rules(each);
  if (options.until_decided) {  // in each context as much as without
    const double more = static_cast<double>(looks.back()) / rules.contexts;
    rules.time_budget_s *= more;
    rules.max_samples = static_cast<int>(rules.max_samples * more);
    rules.slow_samples = static_cast<int>(std::ceil(rules.slow_samples * more));
    rules.contexts = rules.min_samples = looks.back();
  }
  return choose_rules({.name = "compare", .summary = {}, .points = {}, .rules = rules}, options.run);
}

namespace {

int run(CompareOptions& options) {
  if (options.what.empty())
    throw UsageError("name the variants to compare, the base first: 'reductio compare cub/sum twopass/rolled'");
  if (options.until_decided && options.run.max_samples.value_or(looks.back()) < looks.back())
    throw UsageError(
        fmt::format("--max-samples {} is less than --until-decided may take: a sample in each of {} contexts",
                    *options.run.max_samples, looks.back()));
  // What is wrong with the rules, or with the file, is told before anything is read or opened.
  if (!options.json_to.empty()) check_option("--json-to", options.json_to);
  const SamplingRules rules = chosen_rules(options);
  const auto is_variant = [](const std::string& word) {
    return std::any_of(variants().begin(), variants().end(),
                       [id = word.substr(0, word.find(':'))](const Variant& v) { return v.id == id; });
  };
  const auto is_folder = [&](const std::string& word) {
    return std::filesystem::is_directory(word) && !is_variant(word);
  };
  for (const auto& word : options.what)
    if (!is_variant(word) && !is_folder(word)) {
      try {
        find_variant(word.substr(0, word.find(':')));
      } catch (const UsageError& e) {
        throw UsageError(std::string(e.what()) + "; there is no folder of that name, either");
      }
    }
  const auto folders = std::count_if(options.what.begin(), options.what.end(), is_folder);
  if (folders == 0) return compare_live(options);
  if (folders != static_cast<std::ptrdiff_t>(options.what.size()))
    throw UsageError("compare variants or results folders, not both");
  return compare_stored(options, rules.confidence);
}

}  // namespace

Command add_compare(CLI::App& app, std::vector<std::string> command_line) {
  auto options = std::make_shared<CompareOptions>();
  options->run.arguments = std::move(command_line);
  CLI::App* sub = app.add_subcommand("compare", "Tell which variant is faster, by how much, and how sure that is");
  sub->add_option("what", options->what,
                  "Variants, the base first, each with its settings if you like (levels/naive:block=128); or files of "
                  "plug-ins; or results folders")
      ->type_name("VARIANT[:NAME=VALUE,...]")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  options->selection.add_points(*sub);
  options->selection.add_variants(*sub);
  options->selection.add_plugins(*sub);
  add_words(*sub, "--experiment", options->experiments,
            "Results folders: only rows of these experiments, such as comparison,tuned");
  sub->add_option(
         "--modes", options->modes,
         "What is timed: device, graph, replay, launch_to_idle, end_to_end (default: device if all have it, else "
         "end_to_end; with a variant in Python replay and end_to_end)")
      ->type_name("LIST");
  sub->add_option("--cache", options->cache,
                  "State of the cache: cold_dirty, cold_clean or warm (default: cold_dirty; on a CPU warm)")
      ->type_name("STATE");
  sub->add_option("--dataset", options->dataset,
                  "The data: random, spread, ill-conditioned and others of src/core/dataset.h")
      ->type_name("NAME")
      ->capture_default_str();
  options->selection.add_order(*sub);
  add_sampling(*sub, options->run);
  sub->add_option("--effect", options->effect, "The smallest effect that matters, such as 1% or 0.01")
      ->type_name("D")
      ->capture_default_str();
  sub->add_flag("--fail-if-slower", options->fail_if_slower, "Exit code 3 if anything is SLOWER, else 4 if UNDECIDED");
  sub->add_flag("--until-decided", options->until_decided,
                fmt::format("While a verdict is UNDECIDED after {2} contexts, go on to {0} and {1}; the "
                            "intervals allow for all {3} looks",
                            looks[1], looks[2], looks[0], looks.size()));
  sub->add_option("--save-baseline", options->save, "Save the measurement as DIR/<machine>/baselines/NAME")
      ->type_name("NAME");
  sub->add_flag("--force", options->force, "Replace a baseline of that name");
  sub->add_option("--baseline", options->baseline, "Compare each variant with itself in a saved baseline, unpaired")
      ->type_name("NAME");
  sub->add_option("--out", options->out, "Where baselines are kept")->type_name("DIR")->capture_default_str();
  sub->add_flag("--common", options->common, "Results folders: only the rows that both have");
  add_words(*sub, "--relative-to", options->relative_to,
            "Results folders: divide times by these variants' times in the same context, which cancels what "
            "slowed both down")
      ->type_name("VARIANT,...");
  sub->add_flag("--separately", options->separately,
                "Give each interval its confidence by itself, instead of all together");
  auto* json = sub->add_flag("--json", options->json, "Print the comparison as JSON");
  sub->add_option("--json-to", options->json_to, "Also write the comparison to FILE, as JSON")->type_name("FILE");
  sub->add_flag("--csv", options->csv, "Print the comparison as CSV")->excludes(json);
  sub->add_flag("--quiet", options->quiet, "Print only the conclusions");
  return {
      sub, [options, sub] {
        for (const char* name : {"--set", "--seed", "--order-seed", "--device", "--gpu", "--modes", "--cache",
                                 "--dataset", "--min-samples", "--max-samples", "--contexts", "--allocations",
                                 "--timeout", "--until-decided", "--save-baseline", "--force", "--baseline", "--out"})
          if (sub->count(name)) options->live_only.emplace_back(name);
        for (const char* name : {"--contexts", "--allocations"})
          if (options->until_decided && sub->count(name))
            throw UsageError(
                fmt::format("--until-decided and {} both set the number of contexts; give only one", name));
        load_plugins(options->selection);
        options->what = with_variants_of_plugins(options->what, options->selection);
        return run(*options);
      }};
}

}  // namespace reductio::cli
