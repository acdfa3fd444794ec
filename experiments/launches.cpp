#include "experiments/launches.h"

namespace reductio {

std::vector<Settings> documents_launches(const Variant& v, const Selection& selection) {
  std::vector<Settings> out = expand_settings(v, selection, {"finish", "allocator"});
  if (selection.settings.empty())
    for (const Assignments& launch : v.further_launches) out.push_back(v.settings(launch));
  return out;
}

}  // namespace reductio
