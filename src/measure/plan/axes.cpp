#include "measure/plan/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "measure/plan/ways.h"

namespace reductio {

std::vector<Point> product_of(const Axes& axes, const Selection& selection, DeviceKind device) {
  std::vector<Point> out;
  std::string why_not;  // the last that was left out
  const auto variants = selected_variants(selection, device);
  // Whether the user asked for the fault: by selecting no other variant, or the setting that makes it.
  const auto asked_for = [&](const Variant& v, const Settings& s) {
    if (variants.size() == 1) return true;
    return std::any_of(v.tunables.begin(), v.tunables.end(), [&](const Tunable& t) {
      return selection.sets(t.name) && !v.with_other_values(s, t).empty();
    });
  };
  for (const Variant* v : variants) {
    if (v->operations.front() == Operation::moments && selection.operations.empty() && selection.variants_regex.empty())
      continue;
    const bool of_shapes = has_shape(v->operations.front());
    if (of_shapes && axes.shapes.empty() && selection.shapes.empty() && selection.operations.empty() &&
        selection.variants_regex.empty())
      continue;
    std::vector<Operation> operations = selected_or(selection.operations, {v->operations.front()});
    if (!selection.shapes.empty() && selection.operations.empty()) operations = v->operations;
    std::erase_if(operations, [&](Operation o) {
      // `has` is not asked of what no variant has by chance: segments of large inputs take long to draw.
      const bool lacks = std::find(v->operations.begin(), v->operations.end(), o) == v->operations.end();
      return !takes(o, selection.shapes) || (axes.has && has_shape(o) && lacks);
    });
    const auto types = selected_or(selection.types, selected_or(axes.types, {v->types.front()}));
    auto settings = axes.settings ? axes.settings(*v) : expand_settings(*v, selection, {});
    std::erase_if(settings, [&](const Settings& s) { return v->fault_of(s) && !asked_for(*v, s); });
    for (const Operation operation : operations)
      for (const ElementType type : types)
        for (const Problem& problem :
             problems_of(operation, type, selected_or(selection.sizes, axes.sizes),
                         selection.shapes.empty() ? axes.shapes : selection.shapes))
          for (const TimingMode mode : axes.modes)
            for (const CacheState cache : axes.cache_states)
              for (const Settings& s : settings) {
                Point p{.variant = v,
                        .device = device,
                        .problem = problem,
                        .settings = s,
                        .timing_mode = mode,
                        .cache_state = cache,
                        .seed = selection.seed};
                if (axes.has && !axes.has(p)) continue;
                std::string why = timing_refusal(device, mode, cache);
                if (why.empty()) why = timing_refusal(*v, s, mode, cache);
                if (why.empty()) out.push_back(std::move(p));
                else why_not = fmt::format("{}, {}, {}: {}", v->id, name(mode), name(cache), why);
              }
  }
  if (out.empty() && !why_not.empty())
    throw UsageError("this experiment has no timing mode for what was selected (" + why_not + ")");
  return out;
}

}  // namespace reductio
