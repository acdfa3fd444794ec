/// multiblock: the document's study. Its three kernels with one block, with more until the GPU is full and beyond, up
/// to a thread for each element (M1): two launches against one with a last-block guard (M2), and warp shuffles in place
/// of shared memory (M3). 100,000,000 elements are the document's. On the device; with the default grid, two blocks for
/// each multiprocessor, end to end as well.

#include <algorithm>
#include <set>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::multiblock {
namespace {

/// Blocks that have a thread for each element.
std::size_t all_blocks(std::size_t n, const Settings& s) {
  const std::size_t block = s.count("block");
  return n / block + (n % block != 0);
}

std::vector<Settings> launches(const Variant& v, const Selection& selection, const std::vector<std::size_t>& sizes) {
  std::vector<Settings> out;
  std::vector<std::string> blocks{v.settings(selection.settings).text("block")};
  if (selection.full) blocks = whole_blocks();
  for (const Settings& s : every_launch(v, selection, {{"block", blocks}})) {
    std::set<std::size_t> largest;
    for (const std::size_t n : sizes) largest.insert(all_blocks(n, s));
    std::vector<std::string> grids = grids_to_fill(selection, {1, 2, 4, 8, 16}, {largest.begin(), largest.end()});
    grids.push_back("auto");
    Selection with_block = selection;
    with_block.settings.emplace_back("block", s.text("block"));
    for (Settings& one : every_launch(v, with_block, {{"grid", grids}})) out.push_back(std::move(one));
  }
  return out;
}

/// No more blocks than have an element each thread, and of those that other sizes want none.
bool fits(const Point& p, const std::vector<std::string>& grids) {
  const std::string& grid = p.settings.text("grid");
  const std::size_t all = all_blocks(p.problem.n, p.settings);
  if (grid == std::to_string(all)) return true;
  const bool is_usual = std::find(grids.begin(), grids.end(), grid) != grids.end();
  return is_usual && p.settings.count("grid") < all;
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  const auto sizes = sizes_on(device, {1 << 20, 1 << 24, 100'000'000, 1 << 28});
  const std::vector<std::string> usual = grids_to_fill(selection, {1, 2, 4, 8, 16});
  return product_of(
      {.types = {ElementType::i32},
       .sizes = sizes,
       .modes = {TimingMode::device, TimingMode::end_to_end},
       .settings =
           of_document("multiblock", selection,
                       [&](const Variant& v) { return launches(v, selection, selected_or(selection.sizes, sizes)); }),
       .has =
           [&](const Point& p) {
             if (!p.variant->base_of.empty() || selection.sets("grid")) return true;
             const bool by_default = p.settings.text("grid") == "auto";
             return by_default || (fits(p, usual) && (selection.full || p.timing_mode == TimingMode::device));
           }},
      selection, device);
}

const RegisterExperiment multiblock(
    {.name = "multiblock",
     .summary = "document multiblock: its three kernels by number of blocks, 2^20 to 2^28 "
                "elements",
     .points = points,
     .rules = of_studies});

}  // namespace
}  // namespace reductio::drivers::multiblock
