/// unrolling: the table of document `unroll` again, its nine kernels from neighbored to the template in the text's
/// blocks of 1024 (U0 to U3, U9), over sizes; and smaller blocks at the text's 2^24 elements, since what unrolling
/// saves depends on how deep the tree is. Where each thread adds several elements they are read one after the other, as
/// the text has them, or at once (U10). End to end, of which the device's part is a column, and from the launch until
/// the device is idle, which is what the text times.

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::unrolling {
namespace {

constexpr std::size_t documents_n = 1 << 24;

std::vector<Settings> launches(const Variant& v, const Selection& selection) {
  return every_launch(v, selection, {{"block", {"128", "256", "512", "1024"}}, {"load", {"chained", "independent"}}});
}

bool is_worth_its_time(const Point& p) {
  return !p.variant->base_of.empty() || is_set_to(p.settings, "block", 1024) || p.problem.n == documents_n;
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  return product_of(
      {.types = {ElementType::i32},
       .sizes = sizes_on(device, {1 << 16, 1 << 18, 1 << 20, 1 << 22, documents_n, 1 << 26, 1 << 28}),
       .modes = {TimingMode::end_to_end, TimingMode::launch_to_idle},
       .settings = of_document("unroll", selection, [&](const Variant& v) { return launches(v, selection); }),
       .has =
           [&](const Point& p) {
             return selection.sets("block") || !leaves_out(selection, device) || is_worth_its_time(p);
           }},
      selection, device);
}

const RegisterExperiment unrolling(
    {.name = "unrolling",
     .summary = "document unroll: its nine kernels, 2^16 to 2^28 elements, and by block at "
                "2^24",
     .points = points,
     .rules = of_studies});

}  // namespace
}  // namespace reductio::drivers::unrolling
