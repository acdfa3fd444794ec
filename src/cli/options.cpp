/// The options that several subcommands have.

#include <CLI/CLI.hpp>
#include <limits>

#include "cli/selection.h"
#include "core/error.h"
#include "core/parse.h"

namespace reductio::cli {

void SelectionOptions::add_variants(CLI::App& app) {
  app.add_option("--variants", variants, "Only variants whose id contains a match of this regular expression")
      ->type_name("REGEX");
}

void SelectionOptions::add_plugins(CLI::App& app) {
  app.add_option("--plugin", plugins,
                 "Add the variants of this file: a shared library, a .cu, .cpp or .c to compile, or with "
                 "python -m reductio a .py (docs/plugins.md). Loading runs its code")
      ->type_name("FILE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);  // a variant may follow
  app.add_option("--nvcc-flags", nvcc_flags, "More flags for nvcc: --nvcc-flags='-DBLOCK=512 -Iinclude'")
      ->type_name("FLAGS");
}

void SelectionOptions::add_types(CLI::App& app) {
  app.add_option("--types", types, "Element types: i8,i32,i64,i128,f16,bf16,f32,f64; or all")->type_name("LIST");
  app.add_option("--operations", operations,
                 "Operations: sum, sum_of_squares, moments, wide_sum, row_sums, column_sums, segment_sums")
      ->type_name("LIST");
}

void SelectionOptions::add_sizes(CLI::App& app) {
  app.add_option("--sizes", sizes,
                 "Numbers of elements: 1000,2^20 or 2^10:2^30 (doubling), A:B:*F (times F), A:B:S (plus S)")
      ->type_name("LIST");
}

void SelectionOptions::add_shapes(CLI::App& app) {
  app.add_option("--shapes", shapes,
                 "Rows x columns, for row_sums and column_sums: 2^16x2^10; with a pitch 1000x24/32; * follows "
                 "from --sizes: 1000x* (default: *x*)")
      ->type_name("LIST");
  app.add_option("--segments", segments,
                 "Lengths of segments, for segment_sums: uniform:32 (each), powerlaw:2.1, one-giant, empty-many")
      ->type_name("LIST");
}

void SelectionOptions::add_settings(CLI::App& app) {
  app.add_option("--set", settings, "Settings, for the variants that have them: block=256,granularity=16")
      ->type_name("NAME=VALUE,...");
  app.add_option("--seed", seed, "Seed of the data; in verify also of the order of threads")
      ->type_name("N")
      ->capture_default_str();
}

void SelectionOptions::add_order(CLI::App& app) {
  app.add_option("--order-seed", order_seed,
                 "Seed of the sampling order, to repeat a run (default: random; it is recorded)")
      ->type_name("N");
}

void SelectionOptions::add_device(CLI::App& app) {
  app.add_option("--device", device, "Where to run: cuda (a GPU), sim (the simulated GPU) or cpu")->type_name("DEVICE");
  app.add_option("--gpu", gpu, "Which GPU: index, or UUID as in 'nvidia-smi -L'")->type_name("INDEX|UUID");
}

void SelectionOptions::add_points(CLI::App& app) {
  add_types(app);
  add_sizes(app);
  add_shapes(app);
  add_settings(app);
  add_device(app);
}

CLI::Option* add_words(CLI::App& app, const std::string& name, std::vector<std::string>& words,
                       const std::string& what) {
  return app.add_option(name, words, what)
      ->type_name("LIST")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_confidence(CLI::App& app, std::function<void(double)> take) {
  app.add_option_function<std::string>(
         "--confidence",
         [take = std::move(take)](const std::string& text) {
           const auto share = parse_share(text);
           if (!share || !(*share > 0 && *share < 1))
             throw UsageError("--confidence takes a share between 0 and 1, such as 95% or 0.95, not '" + text + "'");
           take(*share);
         },
         "Confidence of the intervals: 95% (the default) or 0.95")
      ->type_name("P");
}

void add_sampling(CLI::App& app, RunOptions& options) {
  app.add_option("--min-samples", options.min_samples, "Least number of samples per point")->type_name("N");
  app.add_option("--max-samples", options.max_samples, "Greatest number of samples per point")->type_name("N");
  app.add_option("--contexts", options.contexts,
                 "Spread each point's samples over N fresh contexts (on a CPU: processes), with at least one "
                 "sample in each despite --timeout. More contexts give narrower intervals")
      ->type_name("N");
  app.add_option_function<std::string>(
         "--allocations",  // its name until schema version 3
         [&options](const std::string& text) {
           if (options.contexts) throw UsageError("--allocations is the old name of --contexts; give only one");
           options.contexts =
               static_cast<int>(parse_whole("--contexts", text, "a whole number", std::numeric_limits<int>::max()));
         })
      ->group("");
  app.add_option("--timeout", options.time_budget_s,
                 "Seconds of sampling per point, so ten points take ten times S and some overhead. A point with "
                 "--min-samples gets no more samples after S")
      ->type_name("S");
  add_confidence(app, [&options](double share) { options.confidence = share; });
}

}  // namespace reductio::cli
