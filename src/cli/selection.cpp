#include "cli/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <sstream>

#include "cli/terminal.h"
#include "core/parse.h"
#include "measure/results/csv.h"
#include "measure/results/machine.h"

namespace reductio::cli {
namespace {

/// What the variants that have setting `key` allow: one line for all if they agree, else each with an example.
std::string allowed(const std::vector<const Variant*>& selected, const std::string& key) {
  std::vector<std::pair<std::string, std::string>> kinds;  // description, first variant that has it
  for (const Variant* v : selected)
    for (const Tunable& t : v->tunables)
      if (t.name == key && std::none_of(kinds.begin(), kinds.end(), [&](auto& k) { return k.first == t.describe(); }))
        kinds.emplace_back(t.describe(), v->id);
  if (kinds.size() == 1) return kinds.front().first;
  std::vector<std::string> out;
  for (const auto& [text, id] : kinds) out.push_back(id + ": " + text);
  return join(out, "; ");
}

std::uint64_t parse_seed(std::string_view option, const std::string& text) {
  return parse_whole(option, text, "a whole number from 0 to 2^64-1");
}

}  // namespace

std::vector<const Variant*> SelectionOptions::selected() const { return select_variants(variants); }

Selection SelectionOptions::of_rows() const {
  Selection out;
  out.variants_regex = variants;
  if (!types.empty() && types != every_type) out.types = parse_list(types, parse_type);
  if (!operations.empty()) out.operations = parse_list(operations, parse_operation);
  if (!sizes.empty()) out.sizes = parse_sizes(sizes);
  return out;
}

Selection SelectionOptions::parse() const {
  Selection out = of_rows();
  if (!shapes.empty()) out.shapes.matrices = parse_shapes(shapes);
  if (!segments.empty()) out.shapes.segments = parse_segments(segments);
  for (const Operation o : out.operations)
    if (!takes(o, out.shapes))
      throw UsageError("operation " + std::string(name(o)) +
                       " does not take these shapes; --shapes is for row_sums and "
                       "column_sums, --segments for segment_sums");
  if (!settings.empty()) out.settings = parse_assignments(settings);
  if (!device.empty()) out.device = parse_device(device);
  if (out.device == DeviceKind::sim) require_sim();
  out.seed = parse_seed("--seed", seed);
  if (!order_seed.empty()) out.order_seed = parse_seed("--order-seed", order_seed);
  if (!gpu.empty() && out.device && *out.device != DeviceKind::cuda)
    throw UsageError("--gpu picks a GPU, but --device is " + device + "; leave one of them out");
  check_settings(selected(), out.settings);
  return out;
}

void SelectionOptions::check_gpu(DeviceKind kind, const std::string& what) const {
  if (!gpu.empty() && kind != DeviceKind::cuda)
    throw UsageError("--gpu picks a GPU, but " + what + " runs on device " + std::string(name(kind)) +
                     "; leave --gpu out");
}

void check_settings(const std::vector<const Variant*>& selected,
                    const std::vector<std::pair<std::string, std::string>>& settings) {
  std::set<std::string> known;
  for (const Variant* v : selected)
    for (const Tunable& t : v->tunables) known.insert(t.name);
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& setting : settings) {  // whole, because clang 14 captures no structured bindings
    const auto& [key, value] = setting;
    if (!known.contains(key)) {
      const std::string near = nearest(key, names);
      throw UsageError("no selected variant has a setting '" + key + "'" +
                       (near.empty() ? "" : "; did you mean '" + near + "'?") +
                       (names.empty() ? " (they have none)" : " (they have: " + join(names, ", ") + ")"));
    }
    const bool some = std::any_of(selected.begin(), selected.end(), [&](const Variant* v) {
      return std::any_of(v->tunables.begin(), v->tunables.end(),
                         [&](const Tunable& t) { return t.name == setting.first && t.allows(setting.second); });
    });
    if (!some)
      throw UsageError("no selected variant allows " + key + "=" + value + "; allowed: " + allowed(selected, key));
  }
}

std::string folder_or_default(const std::string& named, const std::string& command) {
  if (!named.empty()) return named;
  std::vector<std::string> found;
  bool simulated = false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(default_out(), error)) {
    if (!std::filesystem::exists(entry.path() / "machine.json", error)) continue;
    if (entry.path().filename() == simulated_machine) simulated = true;  // measures no time, so its rows have none
    else found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  if (found.size() > 1)
    throw UsageError("name a results folder, of those in " + default_out() + ": reductio " + command + " " +
                     join(found, " or "));
  if (found.empty() && simulated)
    throw UsageError(default_out() +
                     " has only rows of the simulated device, which measures no time; 'reductio run cpu' "
                     "measures without a GPU, or name a results folder");
  if (found.empty())
    throw UsageError("name a results folder, such as experiments/results/nvidia-h200; there is none in " +
                     default_out() + ", where 'reductio run' writes");
  print_message("note: reading " + found.front());
  return found.front();
}

void check_option(const char* option, const std::string& file) {
  check_destination(file, fmt::format("give {} a file in a folder that exists", option));
}

void refuse_timeless(const StoredResults& results) {
  std::string why;
  for (const StoredRow& stored : results.rows) {
    if (stored.row.point.device == DeviceKind::sim) why = "; the simulated device gives none";
    if (!stored.row.reason.empty()) why = "; the first says: " + stored.row.reason;
    if (!why.empty()) break;
  }
  throw UsageError(
      fmt::format("{} holds {} without a time{}", results.folder.string(), counted(results.rows.size(), "row"), why));
}

std::vector<std::string> words_of(const std::string& list) {
  if (list.empty()) return {""};
  std::vector<std::string> out;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) out.push_back(word);
  return out;
}

ElementType usual_type(const std::vector<ElementType>& types) {
  return std::find(types.begin(), types.end(), ElementType::f32) != types.end() ? ElementType::f32 : types.front();
}

namespace {

template <class Open>
auto or_advise(const Open& open) {
  try {
    return open();
  } catch (const NoGpu& e) {
    throw NoGpu(std::string(e.what()) + "; without a GPU: " + (has_sim() ? "'--device sim' verifies, " : "") +
                "'--device cpu' and experiment 'cpu' time the CPU");
  }
}

}  // namespace

std::unique_ptr<Backend> open_or_advise(DeviceKind kind, const std::string& gpu) {
  return or_advise([&] { return open_backend(kind, gpu); });
}

Bench open_bench_or_advise(DeviceKind kind, const std::string& gpu, bool here) {
  return or_advise([&] { return open_bench(kind, gpu, here); });
}

}  // namespace reductio::cli
