/// levels: the document's study of a reduction's three levels, one change at a time and together, in blocks of 256.
/// Between blocks: each kernel with each finish, relaunch, host and atomic (L5). Inside a block: naive,
/// divergence-free, completely unrolled (L3, L4). Inside a thread: global and local stride (L1, L2) with 1 to 1024
/// loads a thread, again with each finish, since the number of groups that are left to combine follows from it (L7 to
/// L9). On the device, and end to end, which alone compares a finish on the host with the others.

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::levels {
namespace {

std::vector<Settings> launches(const Variant& v, const Selection& selection) {
  std::vector<std::string> finishes{"atomic", "relaunch", "host"}, loads, blocks{"256"};
  if (selection.full) finishes.push_back("host-pinned"), blocks = whole_blocks();
  for (const std::size_t l : powers_of_two(0, 10)) loads.push_back(std::to_string(l));
  return every_launch(v, selection,
                      {{"block", blocks}, {"finish", finishes}, {"granularity", loads}, {"test", {"bits", "modulo"}}});
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  return product_of(
      {.types = {ElementType::f32},
       .sizes = sizes_on(device, {1 << 20, 1 << 24, 1 << 28}),
       .modes = {TimingMode::device, TimingMode::end_to_end},
       .settings = of_document("levels", selection, [&](const Variant& v) { return launches(v, selection); })},
      selection, device);
}

const RegisterExperiment levels({.name = "levels",
                                 .summary = "document levels: tree, finish and loads a thread, 2^20, 2^24 and 2^28 "
                                            "elements",
                                 .points = points,
                                 .rules = of_studies});

}  // namespace
}  // namespace reductio::drivers::levels
