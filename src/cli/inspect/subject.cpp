#include "cli/inspect/subject.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/plugins.h"
#include "core/error.h"
#include "core/parse.h"

namespace reductio::cli {

void SubjectOptions::add(CLI::App& sub, const std::string& standard_n) {
  n = standard_n;
  sub.add_option("variant", word, "A variant's id, as 'reductio list' shows it, or a plug-in's file: ./mine.cu");
  sub.add_option("--n", n, n.empty() ? "Elements (default: as many as a picture has)" : "Elements")
      ->type_name("N")
      ->capture_default_str();
  selection.add_types(sub);
  selection.add_settings(sub);
  selection.add_plugins(sub);
}

Subject subject_of(SubjectOptions& options, const std::function<ElementType(const std::vector<ElementType>&)>& type) {
  require_sim();
  options.selection.device = "sim";
  load_plugins(options.selection);
  if (options.word.empty()) throw UsageError("name a variant, as 'reductio list' shows it, or a plug-in's file");
  if (names_plugin(options.word)) {
    const auto ids = with_variants_of_plugins({options.word}, options.selection);
    // The last ones are the same at -O0; what nvcc makes of a kernel is more like the first.
    if (ids.size() > 2)
      throw UsageError(fmt::format("'{}' has several variants; name one: --plugin {} {}", options.word,
                                   reductio::quoted(options.word), ids.front()));
    options.word = ids.front();
  }
  const Variant& v = find_variant(options.word);
  if (!v.runs_on(DeviceKind::sim))
    throw UsageError(v.id + " does not run on the simulated device" +
                     (v.cuda_only.empty() ? "" : ": it " + v.cuda_only));
  options.selection.variants = "^" + as_regex(v.id) + "$";
  const Selection asked = options.selection.parse();
  if (asked.types.size() > 1 || asked.operations.size() > 1) throw UsageError("give one type and one operation");
  Problem problem{.operation = asked.operations.empty() ? v.operations.front() : asked.operations.front(),
                  .n = options.n.empty() ? 1 : parse_size(options.n)};
  problem.type = asked.types.empty() ? type(v.types) : asked.types.front();
  if (has_shape(problem.operation))
    throw UsageError(v.id + " sums rows, columns or segments; inspect and draw take sums of one array");
  const Settings settings = v.settings(asked.settings);
  if (const std::string why = refusal(v, DeviceKind::sim, problem, settings); !why.empty())
    throw UsageError(v.id + " refuses this: " + why);
  return {&v, problem, settings};
}

}  // namespace reductio::cli
