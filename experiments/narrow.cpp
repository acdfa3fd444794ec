/// narrow: elements that are added up in a wider type, and moments. `tuned` beside CUB's call of the same operation:
/// sums of i8, f16 and bf16 in their accumulators, and the sum and the sum of squares in one read beside the two calls
/// that CUB has for them. The read ceiling, which knows bytes only, is in each row.

#include <algorithm>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio {
namespace {

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  std::vector<Point> out;
  for (const Operation operation : chosen(selection.operations, {Operation::sum, Operation::moments})) {
    Selection one = selection;
    one.operations = {operation};
    std::vector<ElementType> types{ElementType::i8, ElementType::f16, ElementType::bf16};
    if (operation == Operation::moments) types.push_back(ElementType::f32);
    const std::vector<Point> of_operation =
        product_of({.types = types,
                    .sizes = sizes_on(device, powers_of_two(10, operation == Operation::moments ? 30 : 31)),
                    .modes = {TimingMode::device},
                    .settings = of_document("tuned", one, [&](const Variant& v) { return every_launch(v, one, {}); }),
                    .has =
                        [&](const Point& p) {
                          const auto& operations = p.variant->operations;
                          return std::find(operations.begin(), operations.end(), operation) != operations.end();
                        }},
                   one, device);
    out.insert(out.end(), of_operation.begin(), of_operation.end());
  }
  return out;
}

const RegisterExperiment narrow({.name = "narrow",
                                 .summary = "tuned beside CUB: sums of i8, f16 and bf16, 2^10 to 2^31 elements, and "
                                            "moments beside two calls",
                                 .points = points,
                                 .rules = of_studies});

}  // namespace
}  // namespace reductio
