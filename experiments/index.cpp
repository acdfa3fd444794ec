/// index: what the type of a loop's index costs. Each kernel whose loop has an index of its own, with every type of it
/// and otherwise as its document launches it (core/loop_index.h says what it decides). CUB's calls stand beside, which
/// choose their own.

#include "core/loop_index.h"
#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::index {
namespace {

std::vector<Settings> every_index(const Variant& v, const Selection& selection) {
  std::vector<Settings> out;
  const Settings standard = v.settings(selection.settings);
  if (!standard.has("index")) {
    if (!v.base_of.empty()) out.push_back(standard);
    return out;
  }
  const Tunable index = loop_index();
  for (const Settings& launch : documents_launches(v, selection)) {
    // One way of finishing: the index has no part in it.
    if (launch.has("finish") && launch.text("finish") != standard.text("finish")) continue;
    if (selection.sets("index")) {
      out.push_back(launch);
      continue;
    }
    for (const std::string& type : index.values) {
      if (type == index.standard) continue;  // the document's type is one of the others
      out.push_back(launch);
      out.back().set("index", type);
    }
  }
  return out;
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  return product_of({.types = {ElementType::i32, ElementType::f32},
                     // The simulated device verifies and is slow.
                     .sizes = device == DeviceKind::sim ? powers_of_two(10, 12)
                                                        : std::vector<std::size_t>{1 << 20, 1 << 24, 1 << 28},
                     .modes = {TimingMode::device, TimingMode::end_to_end},
                     .settings = [&](const Variant& v) { return every_index(v, selection); },
                     // What finishes on the host has a device part of its end-to-end time in place of a device time.
                     .has = [](const Point& p) {
                       const ResultLocation result = p.variant->result_of(p.settings);
                       return (p.timing_mode == TimingMode::device) == (result == ResultLocation::on_device);
                     }},
                    selection, device);
}

const RegisterExperiment index(
    {.name = "index",
     .summary = "every kernel with a loop of its own, by the type of the loop's index, 2^20, 2^24 and 2^28 elements",
     .points = points});

}  // namespace
}  // namespace reductio::drivers::index
