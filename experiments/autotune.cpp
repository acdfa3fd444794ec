/// autotune: every launch that tuned's table could have (src/tuned/launch_table.h), at the powers of two and around the
/// size of L2, and about as many policies of CUB's sum, where the program was built with them (baselines/cub_tuned.cu).
/// experiments/autotune.py says from its CSV which is the fastest for how many bytes, and what the table loses to it.

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::autotune {
namespace {

std::vector<Settings> launches(const Variant& v, const Selection& selection) {
  if (v.id == "cub/sum") return {v.settings(selection.settings)};
  if (v.id == "cub/sum-tuned") return every_launch(v, selection, {{"policy", v.tunables.at(0).values}});
  if (v.id != "tuned/sum") return {};
  if (!selection.settings.empty()) return {v.settings(selection.settings)};
  const auto with = [&](const char* reading, const Choices& choices) {
    Selection narrowed = selection;
    narrowed.settings = {{"reading", reading}};
    return every_launch(v, narrowed, choices);
  };
  std::vector<Settings> out{v.settings()};
  for (const auto& some : {with("strided", {{"vectors", {"4"}}, {"per-sm", {"0"}}}),
                           with("tiled", {{"vectors", {"8"}}, {"per-sm", {"0"}}}),
                           with("strided", {{"vectors", {"1", "2", "4"}}, {"per-sm", {"1", "2", "4"}}}),
                           with("tiled", {{"vectors", {"2", "8"}}, {"per-sm", {"1", "2"}}}),
                           with("tiled", {{"vectors", {"8"}}, {"per-sm", {"1", "2"}}, {"kept", {"0", "16", "32"}}}),
                           with("claimed", {{"vectors", {"8"}}, {"per-sm", {"1", "2"}}}),
                           with("cluster", {{"per-sm", {"4", "8", "16"}}})})
    out.insert(out.end(), some.begin(), some.end());
  return out;
}

/// A block and a cluster read no more than their few SMs can, little input has one tile, and what is kept in whole is
/// kept `all`.
bool makes_sense(const Point& p) {
  if (p.variant->id != "tuned/sum") return true;
  const std::string& reading = p.settings.text("reading");
  const std::size_t bytes = p.problem.bytes();
  if (reading == "auto") return true;
  if (p.settings.count("per-sm") == 0) return bytes <= std::size_t{64} << 10;  // one block
  if (reading == "cluster") return bytes <= std::size_t{2} << 20;
  if (reading == "claimed") return bytes >= std::size_t{128} << 20;
  if (reading == "tiled") {
    const std::string& kept = p.settings.text("kept");
    return bytes >= std::size_t{1} << 20 && (kept == "all" || std::stoull(kept) << 20 < bytes);
  }
  return bytes <= std::size_t{64} << 20;
}

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  std::vector<std::size_t> sizes = sizes_on(device, powers_of_two(11, 29));
  // Around the size of L2: of an H200's 60 MiB a second read finds up to about 40 MiB.
  if (device != DeviceKind::sim)
    for (const std::size_t n : {5u << 20, 6u << 20, 17u << 19, 10u << 20, 12u << 20}) sizes.push_back(n);
  return product_of({.types = {ElementType::i32, ElementType::f32, ElementType::f64},
                     .sizes = sizes,
                     .modes = {TimingMode::device, TimingMode::graph},
                     .cache_states = {CacheState::cold_dirty, CacheState::warm},
                     .settings = [&](const Variant& v) { return launches(v, selection); },
                     .has =
                         [](const Point& p) { return makes_sense(p) && is_cold_or_in_a_warm_graph(p); }},
                    selection, device);
}

const RegisterExperiment autotune({.name = "autotune",
                                   .summary = "every launch that tuned's table could have, 2^11 to 2^29 elements",
                                   .points = points,
                                   .rules = {.max_samples = 24, .time_budget_s = 0.02, .harness_calls = false}});

}  // namespace
}  // namespace reductio::drivers::autotune
