/// squares: the document's study. One block of 32 to 1024 threads, by chunks and with a stride (S1, S2); then one block
/// after the other until each multiprocessor has four (S3), with the host adding up the threads or the blocks (S4). By
/// the clock that the blocks read themselves, by the GPU's one clock (S5), and end to end, of which the device's part
/// is a column.
///
/// 2^20 elements are the document's. Of 2^28 one block of fewer threads than the document's 256, or of more than its
/// 512, is left out: a call takes up to a second and tells what 2^24 does.

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::squares {
namespace {

std::vector<Settings> launches(const Variant& v, const Selection& selection) {
  if (!v.settings().has("grid")) return every_launch(v, selection, {{"block", whole_blocks()}});
  const std::vector<std::string> blocks = selection.full ? whole_blocks() : std::vector<std::string>{"256"};
  return every_launch(v, selection, {{"block", blocks}, {"grid", grids_to_fill(selection, {1, 2, 3, 4}, {32})}});
}

bool is_worth_its_time(const Point& p) {
  if (p.settings.has("grid") || !p.variant->base_of.empty() || p.problem.n < (1 << 28)) return true;
  return is_set_to(p.settings, "block", 256) || is_set_to(p.settings, "block", 512);
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  return product_of(
      {.types = {ElementType::i32},
       .sizes = sizes_on(device, {1 << 20, 1 << 24, 1 << 28}),
       .modes = {TimingMode::end_to_end, TimingMode::clock, TimingMode::globaltimer},
       .settings = of_document("squares", selection, [&](const Variant& v) { return launches(v, selection); }),
       .has = [&](const Point& p) { return !leaves_out(selection, device) || is_worth_its_time(p); }},
      selection, device);
}

const RegisterExperiment squares({.name = "squares",
                                  .summary = "document squares: threads of one block, blocks, three clocks, 2^20, 2^24 "
                                             "and 2^28 elements",
                                  .points = points,
                                  .rules = of_studies});

}  // namespace
}  // namespace reductio::drivers::squares
