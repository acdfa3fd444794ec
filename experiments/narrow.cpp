/// narrow: elements that are added up in a wider type, and moments. `tuned` beside CUB's call of the same operation:
/// sums of i8, f16 and bf16 in their accumulators, beside the newest release's, too; wide sums of i8, i32 and f32 in
/// those of 64 bits, and the sum and the sum of squares in one read beside the two calls that CUB has for them. The
/// read ceiling, which knows bytes only, is in each row.

#include <algorithm>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::narrow {
namespace {

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  std::vector<Point> out;
  const std::vector<Operation> own{Operation::sum, Operation::wide_sum, Operation::moments};
  const Variant* const newest_cub = newest_cub_sum();
  for (const Operation operation : selected_or(selection.operations, own)) {
    Selection one = selection;
    one.operations = {operation};
    const bool moments = operation == Operation::moments, wide = operation == Operation::wide_sum;
    std::vector<ElementType> types{ElementType::i8, ElementType::f16, ElementType::bf16};
    if (moments) types.push_back(ElementType::f32);
    if (wide) types = {ElementType::i8, ElementType::i32, ElementType::f32};
    const std::vector<Point> of_operation = product_of(
        {.types = types,
         // Wide sums and moments of 2^31 would be of 8 GiB; of wide sums little time is left for small sizes.
         .sizes = sizes_on(device, powers_of_two(wide ? 13 : 10, moments || wide ? 30 : 31)),
         .modes = {TimingMode::device},
         .settings =
             [&, beside_cub = of_document("tuned", one,
                                          [&](const Variant& v) {
                                            return left_to_its_experiment(v, one) ? std::vector<Settings>()
                                                                                  : every_launch(v, one, {});
                                          })](const Variant& v) {
               const bool newest = operation == Operation::sum && &v == newest_cub;
               return newest ? std::vector{v.settings(one.settings)} : beside_cub(v);
             },
         .has =
             [&](const Point& p) {
               const auto& operations = p.variant->operations;
               if (selection.operations.empty() && !is_defined(operation, p.problem.type)) return false;
               return std::find(operations.begin(), operations.end(), operation) != operations.end();
             }},
        one, device);
    out.insert(out.end(), of_operation.begin(), of_operation.end());
  }
  return out;
}

const RegisterExperiment narrow(
    {.name = "narrow",
     .summary = "tuned beside CUB: sums of i8, f16 and bf16, 2^10 to 2^31 elements, wide sums of "
                "i8, i32 and f32, and moments beside two calls",
     .points = points,
     .rules = of_studies});

}  // namespace
}  // namespace reductio::drivers::narrow
