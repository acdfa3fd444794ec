/// The options that several subcommands have.

#include <CLI/CLI.hpp>

#include "core/parse.h"
#include "experiments/cli/selection.h"

namespace reductio::cli {

void SelectionOptions::add_variants(CLI::App& app) {
  app.add_option("--variants", variants, "Only variants whose id contains a match of this regular expression")
      ->type_name("REGEX");
}

void SelectionOptions::add_types(CLI::App& app) {
  app.add_option("--types", types, "Element types: i8,i32,i64,f16,bf16,f32,f64")->type_name("LIST");
  app.add_option("--operations", operations, "Operations: sum,sum_of_squares,moments,wide_sum")
      ->type_name("LIST");
}

void SelectionOptions::add_sizes(CLI::App& app) {
  app.add_option("--sizes", sizes,
                 "Numbers of elements: 1000,2^20 or 2^10:2^30 (doubling), A:B:*F (times F), A:B:S (plus S)")
      ->type_name("LIST");
}

void SelectionOptions::add_settings(CLI::App& app) {
  app.add_option("--set", settings, "Settings of the variants that have them: block=256,granularity=16")
      ->type_name("NAME=VALUE,...");
  app.add_option("--seed", seed, "Seed of the data, and in verify of the order of threads")
      ->type_name("N")
      ->capture_default_str();
}

void SelectionOptions::add_order(CLI::App& app) {
  app.add_option("--order-seed", order_seed,
                 "Seed of the order in which points are sampled, to repeat a run (default: drawn, and recorded)")
      ->type_name("N");
}

void SelectionOptions::add_device(CLI::App& app) {
  app.add_option("--device", device, "Where to run: cuda (a GPU), sim (the simulated GPU) or cpu")->type_name("DEVICE");
  app.add_option("--gpu", gpu, "Which GPU: its index, or its UUID as 'nvidia-smi -L' prints it")
      ->type_name("INDEX|UUID");
}

void SelectionOptions::add_points(CLI::App& app) {
  add_types(app);
  add_sizes(app);
  add_settings(app);
  add_device(app);
}

void add_confidence(CLI::App& app, std::function<void(double)> take) {
  app.add_option_function<std::string>(
         "--confidence",
         [take = std::move(take)](const std::string& text) {
           const auto share = parse_share(text);
           if (!share || !(*share > 0 && *share < 1))
             throw UsageError("--confidence takes a share between 0 and 1, as 95% or 0.95, not '" + text + "'");
           take(*share);
         },
         "Of the intervals, as 95% or 0.95, which it is without being said")
      ->type_name("P");
}

void add_sampling(CLI::App& app, RunOptions& options) {
  app.add_option("--min-samples", options.min_samples, "Samples of each point, at least")->type_name("N");
  app.add_option("--max-samples", options.max_samples, "Samples of each point, at most")->type_name("N");
  app.add_option(
         "--allocations", options.allocations,
         "Spread the samples over so many fresh contexts of a GPU (of a CPU: allocations of memory), with one on "
         "each at least, whatever --timeout says: for narrower intervals where contexts differ")
      ->type_name("N");
  app.add_option("--timeout", options.time_budget_s,
                 "Time budget of each point, in seconds: once it is spent, a point that has --min-samples gets no more")
      ->type_name("S");
  add_confidence(app, [&options](double share) { options.confidence = share; });
}

}  // namespace reductio::cli
