#include "experiments/launches.h"

namespace reductio {

std::vector<Settings> documents_launches(const Variant& v, const Selection& selection) {
  std::vector<Settings> out = expand_settings(v, selection, {"finish"});
  if (v.id == "squares/strided" && selection.settings.empty()) {
    out.push_back(v.settings());
    out.back().set("block", "512");  // against 256, in one block: the document's second claim
  }
  return out;
}

}  // namespace reductio
