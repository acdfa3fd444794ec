/// latency: how much of a load's latency the threads of one block hide (S6). One block of 32 to 1024 threads, with two
/// types of the loop's index: nvcc unrolls the loop over the signed one, so each thread has several loads in flight,
/// and leaves one at a time over the unsigned one (core/loop_index.h), except where the number of threads is compiled
/// in (squares/strided with 256 and 512): there it has four in flight. Cycles per load follow from the clock that the
/// block reads itself.

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::latency {
namespace {

std::vector<Settings> launches(const Variant& v, const Selection& selection) {
  if (v.settings().has("grid")) return {};  // one block
  std::vector<std::string> types{"i32", "u64"};
  if (selection.full) types.insert(types.end(), {"u32", "i64"});
  return every_launch(v, selection, {{"block", whole_blocks()}, {"index", types}});
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  std::vector<std::size_t> sizes{1 << 20};
  if (selection.full) sizes.push_back(1 << 24);
  return product_of(
      {.types = {ElementType::i32},
       .sizes = sizes_on(device, sizes),
       .modes = {TimingMode::end_to_end, TimingMode::clock, TimingMode::globaltimer},
       .settings = of_document("squares", selection, [&](const Variant& v) { return launches(v, selection); })},
      selection, device);
}

const RegisterExperiment latency(
    {.name = "latency",
     .summary = "one block of squares, 32 to 1024 threads, with one and with several loads "
                "of a thread in flight",
     .points = points,
     .rules = of_studies});

}  // namespace
}  // namespace reductio::drivers::latency
