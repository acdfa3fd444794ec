#include "measure/plan/axes.h"

namespace reductio {

std::vector<Point> product_of(const Axes& axes, const Selection& selection, DeviceKind device) {
  std::vector<Point> out;
  const auto variants = chosen_variants(selection, device);
  const bool asked_for_faults = variants.size() == 1 || !selection.settings.empty();
  for (const Variant* v : variants) {
    if (axes.reductions_only && !is_reduction(v->operations.front())) continue;
    const auto operations = chosen(selection.operations, {v->operations.front()});
    const auto types = chosen(selection.types, chosen(axes.types, {v->types.front()}));
    auto settings = axes.settings ? axes.settings(*v) : expand_settings(*v, selection, {});
    if (!asked_for_faults) std::erase_if(settings, [&](const Settings& s) { return bool{v->fault_of(s)}; });
    for (const Operation operation : operations)
      for (const ElementType type : types)
        for (const std::size_t n : chosen(selection.sizes, axes.sizes))
          for (const TimingMode mode : axes.modes)
            for (const CacheState cache : axes.cache_states)
              for (const Settings& s : settings) {
                Point p{.variant = v,
                        .device = device,
                        .problem = {operation, type, n},
                        .settings = s,
                        .timing_mode = mode,
                        .cache_state = cache,
                        .seed = selection.seed};
                if (!axes.has || axes.has(p)) out.push_back(std::move(p));
              }
  }
  return out;
}

}  // namespace reductio
