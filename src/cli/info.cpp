/// reductio info: this machine and this program; or everything about one variant.

#include <dlfcn.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/plugins.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "measure/plan/ways.h"
#include "measure/results/machine.h"

namespace reductio::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InfoOptions {
  std::string variant;
  SelectionOptions selection;
  bool json = false;
};

/// Key and value, one a line, the values under each other.
void line(const std::string& key, const std::string& value) {
  constexpr std::size_t column = 20;
  if (value.empty()) return;
  say(fmt::format("  {}{}{}", key, std::string(key.size() < column ? column - key.size() : 1, ' '), value), column + 2);
}

void heading(const std::string& text) { fmt::print("{}\n", ink(Ink::bold, text)); }

/// The first of `names` that loads, and where it lies; empty if none does.
std::string library(const std::vector<std::string>& names) {
  for (const auto& name : names)
    if (void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      dlclose(handle);
      return name;
    }
  return "";
}

/// Libraries that variants load at run time and are refused without, or that tell more about the machine.
std::vector<std::pair<std::string, std::string>> libraries() {
  return {{"cuBLAS", library({"libcublas.so.14", "libcublas.so.13", "libcublas.so.12", "libcublas.so"})},
          {"TBB", library({"libtbb.so.12"})},
          {"NVML", library({"libnvidia-ml.so.1"})}};
}

struct Opened {
  DeviceKind kind;
  std::optional<Machine> machine;  ///< empty: not there, `why`
  DeviceInfo info;
  std::string why;
};

Opened look(DeviceKind kind, const std::string& gpu) {
  try {
    const auto backend = open_backend(kind, gpu);
    return {kind, describe_machine(*backend), backend->info(), ""};
  } catch (const NoGpu& e) {
    return {kind, std::nullopt, {}, e.what()};
  }
}

Json to_json(const Opened& device) {
  if (!device.machine) return {{"device", name(device.kind)}, {"available", false}, {"reason", device.why}};
  const DeviceInfo& d = device.info;
  Json out = {{"device", name(d.kind)}, {"available", true},
              {"name", d.name},         {"machine", device.machine->name},
              {"sm_count", d.sm_count}, {"threads_per_sm", d.threads_per_sm},
              {"l2_bytes", d.l2_bytes}, {"memory_bytes", d.memory_bytes}};
  if (const auto& gpu = device.machine->gpu; gpu && d.kind == DeviceKind::cuda) {
    out["uuid"] = gpu->uuid;
    out["compute_capability"] = gpu->compute_capability;
    out["driver"] = gpu->driver;
    out["runtime"] = gpu->runtime;
    out["theoretical_peak_bytes_per_s"] = gpu->theoretical_peak_bytes_per_s();
  }
  return out;
}

void print_device(const Opened& device) {
  heading("device " + std::string(name(device.kind)));
  if (!device.machine) return line("not here", device.why);
  const DeviceInfo& d = device.info;
  line("name", d.name);
  line("results go to", device.machine->name);
  if (d.sm_count) line("multiprocessors", fmt::format("{} of {} threads", d.sm_count, d.threads_per_sm));
  if (d.l2_bytes) line(d.kind == DeviceKind::cpu ? "last-level cache" : "L2", show_bytes(d.l2_bytes));
  if (d.memory_bytes) line("memory", show_bytes(d.memory_bytes));
  if (const auto& gpu = device.machine->gpu; gpu && d.kind == DeviceKind::cuda) {
    line("UUID", gpu->uuid);
    line("compute capability", gpu->compute_capability);
    line("driver, runtime", gpu->driver + ", " + gpu->runtime);
    if (gpu->theoretical_peak_bytes_per_s() > 0)
      line("theoretical peak", fmt::format("{:.3g} TB/s", gpu->theoretical_peak_bytes_per_s() / 1e12));
  }
}

int machine_info(const InfoOptions& options) {
  std::vector<Opened> devices;
  if (!options.selection.device.empty() || !options.selection.gpu.empty()) {
    // Asked for by name: a device that is not there is an error, not a line.
    const DeviceKind kind = options.selection.parse().device.value_or(DeviceKind::cuda);
    open_or_advise(kind, options.selection.gpu);
    devices.push_back(look(kind, options.selection.gpu));
  } else {
    for (DeviceKind kind : all_devices()) devices.push_back(look(kind, ""));
  }
  const BuildDescription& build = build_description();

  if (options.json) {
    Json out = {{"program", to_json(build)}, {"devices", Json::array()}, {"libraries", Json::object()}};
    for (const Opened& device : devices) out["devices"].push_back(to_json(device));
    for (const auto& [what, found] : libraries()) out["libraries"][what] = found.empty() ? Json() : Json(found);
    fmt::print("{}\n", out.dump(2));
    return exit_ok;
  }
  heading("reductio " + version_text());
  line("build", build.build_type);
  line("C++", build.cxx_compiler + " " + build.cxx_flags);
  line("CUDA", build.cuda_compiler.empty()
                   ? "built without"
                   : build.cuda_compiler + " for " + build.cuda_architectures + " " + build.cuda_flags);
  line("Thrust and CUB", build.cccl);
  line("holds", fmt::format("{} variants, {} experiments", variants().size(), experiments().size()));
  for (const Opened& device : devices) print_device(device);
  heading("libraries, loaded at run time");
  for (const auto& [what, found] : libraries()) line(what, found.empty() ? "not found" : found);
  return exit_ok;
}

/// What the descriptor itself rules out, in words.
std::vector<std::string> refuses(const Variant& v) {
  std::vector<std::string> out;
  const auto missing = [&out](const char* what, const auto& all, const auto& has) {
    std::string none;
    for (auto one : all)
      if (std::find(has.begin(), has.end(), one) == has.end())
        none += (none.empty() ? "" : ", ") + std::string(name(one));
    if (!none.empty()) out.push_back(std::string(what) + " " + none);
  };
  missing("types", all_types(), v.types);
  missing("operations", all_operations(), v.operations);
  missing("devices", all_devices(), devices_of(v));
  return out;
}

/// What declines() adds for the default settings, at the sizes where refusals show.
std::vector<std::string> declines(const Variant& v) {
  std::vector<std::string> out;
  if (!v.declines) return out;
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1} << 20, (std::size_t{1} << 31) + 1, (std::size_t{1} << 32) + 1})
    for (Operation operation : v.operations)
      for (ElementType type : v.types)
        if (const std::string why = v.declines({operation, type, n}, v.settings()); !why.empty())
          if (const std::string text =
                  fmt::format("{} (seen for {} of {}, n = {})", why, name(operation), name(type), show_size(n));
              std::none_of(out.begin(), out.end(), [&](const std::string& s) { return s.starts_with(why); }))
            out.push_back(text);
  return out;
}

int variant_info(const InfoOptions& options) {
  if (!options.selection.device.empty() || !options.selection.gpu.empty())
    throw UsageError("info takes a variant or a device, not both: leave out the variant, or --device and --gpu");
  const Variant& v = find_variant(options.variant);
  if (options.json) {
    fmt::print("{}\n", describe(v).dump(2));
    return exit_ok;
  }
  heading(v.id);
  line("title", v.title);
  line("from", v.cites);
  line("plug-in", v.plugin);
  line("kind", std::string(name(v.kind)));
  if (!v.base_of.empty()) line("base of speedups of", names(v.base_of, ", "));
  line("measured alone by", v.own_experiment);
  line("inside a thread", v.how.thread);
  line("inside a block", v.how.block);
  line("between blocks", v.how.grid);
  line("operations", names(v.operations, ", "));
  line("types", names(v.types, ", "));
  line("devices", names(devices_of(v), ", "));
  static constexpr const char* results[] = {"in device memory", "partial results; the host adds them up",
                                            "on the host; the call waits for it"};
  line("result", results[static_cast<int>(v.result)]);
  static constexpr const char* repeats[] = {"may differ in the last bits from call to call",
                                            "the same bits for one launch shape and n", "the same bits for one n"};
  line("timing modes", ways_without(v));
  line("repeated calls", repeats[static_cast<int>(v.determinism)]);
  if (v.consumes_input) line("input", "is overwritten; the harness restores it before each call");
  if (v.reads_clock) line("clock", "the kernel reads the SM's clock itself");
  line("persistent state", v.persistent_state);
  if (v.document_n) line("document's own n", show_size(v.document_n));
  for (const Tunable& t : v.tunables) line("--set " + t.name + "=", t.describe());
  if (!v.compiled_in.empty()) line("compiled in", v.compiled_in);
  line("embodies", v.embodies);
  line("differs", v.differs);
  line("CUDA only", v.cuda_only);
  for (const auto& text : known_faults(v)) line("known fault", text);
  for (const auto& text : refuses(v)) line("does not have", text);
  for (const auto& text : declines(v)) line("refuses", text);
  return exit_ok;
}

}  // namespace

Command add_info(CLI::App& app) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* sub = app.add_subcommand("info", "Show this machine and program, or everything about one variant");
  sub->add_option("variant", options->variant, "A variant's id, as 'reductio list' shows it, or a plug-in's file");
  options->selection.add_plugins(*sub);
  options->selection.add_device(*sub);
  sub->add_flag("--json", options->json, "As JSON");
  return {sub, [options] {
            load_plugins(options->selection);
            if (names_plugin(options->variant)) options->variant = only_variant(options->variant, options->selection);
            return options->variant.empty() ? machine_info(*options) : variant_info(*options);
          }, true};
}

}  // namespace reductio::cli
