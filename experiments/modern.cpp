/// modern: our own variants for learners, of which each changes one thing of another, from sizes where only the finish
/// counts to sizes where only the loads do; the numbers of loads under way; and beside them CUB's sum and ours,
/// tuned/sum.

#include <algorithm>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::modern {
namespace {

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  std::vector<std::size_t> sizes;
  for (unsigned k = 10; k <= 28; k += 2) sizes.push_back(std::size_t{1} << k);
  const auto beside = of_document("modern", selection, [&](const Variant& v) {
    return every_launch(v, selection, {{"loads", {"1", "2", "4", "8"}}});
  });
  return product_of({.types = {ElementType::i32, ElementType::f32},
                     .sizes = sizes_on(device, sizes),
                     .modes = {TimingMode::device},
                     .settings =
                         [&](const Variant& v) {
                           return v.id == "tuned/sum" ? std::vector{v.settings(selection.settings)} : beside(v);
                         },
                     // Two are of integers alone.
                     .has =
                         [](const Point& p) {
                           const std::vector<ElementType>& types = p.variant->types;
                           return std::find(types.begin(), types.end(), p.problem.type) != types.end();
                         }},
                    selection, device);
}

const RegisterExperiment modern({.name = "modern",
                                 .summary = "our variants for learners beside CUB and tuned/sum, 2^10 to 2^28 elements",
                                 .points = points,
                                 .rules = of_studies});

}  // namespace
}  // namespace reductio::drivers::modern
