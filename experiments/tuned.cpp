/// tuned: the project's own reduction beside CUB's call, by its own policy and by the one of cub/sum-tuned, and the
/// newest release's, each sum that a user may ask for. At the powers of two and at sizes drawn at random in between
/// (the seed is below, so anybody draws the same); one element more and one less than a power of two, and starts one
/// element behind an aligned one; in every state of the cache and in a graph; on data of other magnitudes, and of
/// several; where the order of adding may vary, for so much input that it makes a difference; and to the host, beside
/// what users call there, Thrust's. What is claimed of tuned is judged by a run of this experiment that took no part in
/// making its table of launches (experiment `autotune`).

#include <bit>
#include <cmath>
#include <random>
#include <string>

#include "experiments/launches.h"
#include "measure/plan/axes.h"
#include "measure/plan/experiment.h"

namespace reductio::drivers::tuned {
namespace {

constexpr std::uint64_t seed_of_sizes =
    20261130;  ///< another one whenever a choice was made after a look at such a size

/// So many sizes between 2^10 and 2^30, their logarithms uniform.
std::vector<std::size_t> drawn_sizes(int count) {
  std::mt19937_64 generator(seed_of_sizes);
  std::vector<std::size_t> out;
  // Not std::uniform_real_distribution, whose numbers are each library's own.
  for (int i = 0; i < count; ++i)
    out.push_back(static_cast<std::size_t>(std::exp2(10 + 20 * static_cast<double>(generator() >> 11) * 0x1p-53)));
  return out;
}

std::vector<Settings> of_tuned_and_cub(const Variant& v, const Selection& selection, const Variant* newest_cub) {
  const bool chosen = v.id == "tuned/sum" || v.id == "cub/sum" || v.id == "cub/sum-tuned" || &v == newest_cub;
  return chosen ? std::vector{v.settings(selection.settings)} : std::vector<Settings>{};
}

std::vector<Settings> in_any_order(const Variant& v, const Selection& selection) {
  if (v.id == "tuned/sum-any-order") return {v.settings(selection.settings)};
  return {};
}

/// Whose result is on the host when the call returns.
std::vector<Settings> to_the_host(const Variant& v, const Selection& selection) {
  if (v.id == "tuned/sum-to-host" || v.id == "cub/sum") return {v.settings(selection.settings)};
  if (v.id == "thrust/reduce") return every_launch(v, selection, {{"allocator", {"default", "caching"}}});
  return {};
}

/// Points that share their axes and dataset, `offset` elements behind an aligned start.
struct Part {
  Axes axes;
  std::size_t offset = 0;
  std::string dataset = "random";
};

/// Data whose sums the finish treats in other ways than those of numbers around 1: see src/tuned/digits.h.
constexpr const char* magnitudes[] = {"scaled:2^-66", "scaled:2^70", "giants"};

std::vector<Point> points(const Selection& selection, DeviceKind device) {
  const bool all = selection.full || device == DeviceKind::sim;
  const std::vector<ElementType> types = {ElementType::i32, ElementType::f32, ElementType::f64};
  const Variant* const newest_cub = newest_cub_sum();
  const auto all_four = [&](const Variant& v) { return of_tuned_and_cub(v, selection, newest_cub); };
  const auto three = [&](const Variant& v) { return v.id == "cub/sum-tuned" ? std::vector<Settings>() : all_four(v); };
  const std::vector<std::size_t> powers = sizes_on(device, powers_of_two(10, 30));
  // A clean L2 takes longest to prepare, so the sizes drawn at random go without.
  const auto is_asked = [&](const Point& p) {
    if (p.timing_mode == TimingMode::graph) return p.cache_state == CacheState::warm;
    return p.cache_state != CacheState::cold_clean || all || !selection.sizes.empty() ||
           std::has_single_bit(p.problem.n);
  };
  std::vector<std::size_t> sizes = powers, ragged;
  if (device != DeviceKind::sim)
    for (const std::size_t n : drawn_sizes(all ? 60 : 20)) sizes.push_back(n);
  for (const std::size_t n : powers)
    for (const std::size_t m : {n - 1, n + 1}) ragged.push_back(m);

  std::vector<Part> parts;
  parts.push_back({.axes = {.types = types,
                            .sizes = sizes,
                            .modes = {TimingMode::device, TimingMode::graph},
                            .cache_states = {CacheState::cold_dirty, CacheState::cold_clean, CacheState::warm},
                            .settings = all_four,
                            .has = is_asked}});
  if (selection.sizes.empty())
    parts.push_back({.axes = {.types = types, .sizes = ragged, .modes = {TimingMode::device}, .settings = three}});
  parts.push_back(
      {.axes = {.types = types, .sizes = powers, .modes = {TimingMode::device}, .settings = three}, .offset = 1});
  for (const char* magnitude : magnitudes)
    parts.push_back({.axes = {.types = {ElementType::f32, ElementType::f64},
                              .sizes = sizes_on(device, {1u << 16, 1u << 20, 1u << 22, 1u << 24}),
                              .modes = {TimingMode::device, TimingMode::graph},
                              .cache_states = {CacheState::cold_dirty, CacheState::warm},
                              .settings = three,
                              .has = is_cold_or_in_a_warm_graph},
                     .dataset = magnitude});
  const auto matters = [](const Point& p) {
    return p.problem.bytes() > std::size_t{256} << 20 && p.problem.type != ElementType::i32;
  };
  parts.push_back({.axes = {.types = types,
                            .sizes = sizes,
                            .modes = {TimingMode::device},
                            .settings = [&](const Variant& v) { return in_any_order(v, selection); },
                            .has = matters}});
  parts.push_back({.axes = {.types = types,
                            .sizes = sizes_on(device, powers_of_two(10, 20)),
                            .modes = {TimingMode::end_to_end},
                            .settings = [&](const Variant& v) { return to_the_host(v, selection); }}});

  std::vector<Point> out;
  for (const Part& part : parts)
    for (Point& p : product_of(part.axes, selection, device)) {
      p.offset_elements = part.offset;
      p.dataset = part.dataset;
      out.push_back(std::move(p));
    }
  return out;
}

const RegisterExperiment tuned(
    {.name = "tuned",
     .summary = "the project's own sum beside CUB's and Thrust's: all sizes, starts, states "
                "of the cache, graphs, and to the host",
     .points = points,
     // Twice the usual contexts, and a sample in each at least: that no point is slower is
     // said of a thousand intervals at once, which takes confidences that 12 cannot give
     // by ranks.
     .rules = {.min_samples = 24, .max_samples = 48, .time_budget_s = 0.05, .slow_samples = 24, .contexts = 24}});

}  // namespace
}  // namespace reductio::drivers::tuned
