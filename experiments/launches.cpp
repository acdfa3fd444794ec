#include "experiments/launches.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "core/call.h"
#include "measure/plan/point.h"

namespace reductio {

bool left_to_its_experiment(const Variant& v, const Selection& selection) {
  return !v.own_experiment.empty() && selection.variants_regex.empty();
}

std::vector<Settings> documents_launches(const Variant& v, const Selection& selection) {
  if (left_to_its_experiment(v, selection)) return {};
  std::vector<Settings> out = expand_settings(v, selection, {"finish", "allocator"});
  if (selection.settings.empty())
    for (const Assignments& launch : v.further_launches) out.push_back(v.settings(launch));
  return out;
}

std::vector<Settings> every_launch(const Variant& v, const Selection& selection, const Choices& choices) {
  std::vector<Settings> out{v.settings(selection.settings)};
  for (const auto& choice : choices) {
    const auto& name = choice.first;
    const auto tunable =
        std::find_if(v.tunables.begin(), v.tunables.end(), [&](const Tunable& t) { return t.name == name; });
    if (tunable == v.tunables.end() || selection.sets(name)) continue;
    std::vector<Settings> wider;
    for (const Settings& s : out)
      for (const std::string& value : choice.second) {
        if (!tunable->allows(value)) continue;
        wider.push_back(s);
        wider.back().set(name, value);
      }
    out = std::move(wider);
  }
  return out;
}

std::function<std::vector<Settings>(const Variant&)> of_document(
    const std::string& document, const Selection& selection,
    std::function<std::vector<Settings>(const Variant&)> launches) {
  const auto first =
      std::find_if(variants().begin(), variants().end(), [&](const Variant& v) { return v.group() == document; });
  std::vector<Operation> operations = selection.operations;
  if (operations.empty() && first != variants().end()) operations = {first->operations.front()};
  return [=](const Variant& v) -> std::vector<Settings> {
    if (v.group() == document) return launches(v);
    const bool is_base =
        std::any_of(operations.begin(), operations.end(), [&](Operation o) { return v.is_base_of(o); });
    if (is_base) return {v.settings(selection.settings)};
    return {};
  };
}

NamedCall named_call(const std::string& name, std::size_t n, std::size_t sm_count) {
  const CallName call = parse_call(name);
  const Variant& v = find_variant(call.variant);
  Settings settings = v.settings();
  for (const auto& [key, value] : call.settings_at(n, sm_count)) settings.set(key, value);
  return {&v, settings};
}

const Variant* newest_cub_sum() {
  const Variant* newest = nullptr;
  std::array<int, 3> last{}, release{};
  for (const Variant& v : variants())  // a checkout has no number
    if (v.id.ends_with("/sum") &&
        std::sscanf(v.id.c_str(), "cub@%d.%d.%d/", &release[0], &release[1], &release[2]) == 3 && release > last)
      newest = &v, last = release;
  return newest;
}

const Variant* newest_cub_by_determinism() {
  const Variant* const newest = newest_cub_sum();
  return newest && newest->settings().has("determinism") ? newest : nullptr;
}

std::vector<std::size_t> sizes_on(DeviceKind device, std::vector<std::size_t> sizes) {
  return device == DeviceKind::sim ? powers_of_two(10, 12) : std::move(sizes);
}

bool leaves_out(const Selection& selection, DeviceKind device) {
  return !selection.full && selection.sizes.empty() && device != DeviceKind::sim;
}

bool is_cold_or_in_a_warm_graph(const Point& p) {
  return (p.timing_mode == TimingMode::graph) == (p.cache_state == CacheState::warm);
}

std::vector<std::string> whole_blocks() { return {"32", "64", "128", "256", "512", "1024"}; }

std::vector<std::string> grids_to_fill(const Selection& selection, const std::vector<int>& blocks_per_sm,
                                       const std::vector<std::size_t>& more) {
  const auto sms = static_cast<std::size_t>(selection.sm_count);
  std::set<std::size_t> grids(more.begin(), more.end());
  for (std::size_t g = 1; g < sms; g *= 2) grids.insert(g);
  for (const int blocks : blocks_per_sm) grids.insert(sms * static_cast<std::size_t>(blocks));
  std::vector<std::string> out;
  for (const std::size_t g : grids) out.push_back(std::to_string(g));
  return out;
}

bool is_set_to(const Settings& s, std::string_view tunable, std::size_t value) {
  return s.has(tunable) && s.text(tunable) == std::to_string(value);
}

}  // namespace reductio
