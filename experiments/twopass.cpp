/// twopass: the document's study. Its three trees, rolled, with the last warp unrolled (T1) and with all unrolled (T2),
/// in blocks of 32 to 1024 threads, finishing by a second launch and on the host (T3). The second launch is timed on
/// the device, and like the host's finish end to end, which alone compares the two.

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::twopass {
namespace {

std::vector<Settings> launches(const Variant& v, const Selection& selection) {
  if (v.known_fault) return {};  // rolled again, in blocks that lose sums
  std::vector<std::string> finishes{"second-launch", "host"};
  if (selection.full) finishes.push_back("host-pinned");
  return every_launch(v, selection, {{"block", whole_blocks()}, {"finish", finishes}});
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  return product_of(
      {.types = {ElementType::i32},
       .sizes = sizes_on(device,
                         selection.full ? powers_of_two(16, 28) : std::vector<std::size_t>{1 << 20, 1 << 24, 1 << 28}),
       .modes = {TimingMode::device, TimingMode::end_to_end},
       .settings = of_document("twopass", selection, [&](const Variant& v) { return launches(v, selection); })},
      selection, device);
}

const RegisterExperiment twopass({.name = "twopass",
                                  .summary = "document twopass: three trees by block and finish, 2^20, 2^24 and 2^28 "
                                             "elements",
                                  .points = points,
                                  .rules = of_studies});

}  // namespace
}  // namespace reductio::drivers::twopass
