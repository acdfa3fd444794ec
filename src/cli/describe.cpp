#include "cli/describe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/terminal.h"
#include "measure/plan/ways.h"

namespace reductio::cli {

std::string show_elements(const PointKey& p) {
  const std::string shape = shape_in_words(p);
  return show_size(p.problem.n) + (shape.empty() ? "" : " as " + shape);
}

std::string_view name(Determinism d) {
  switch (d) {
    case Determinism::none: return "none";
    case Determinism::per_launch_shape: return "per_launch_shape";
    case Determinism::always: return "always";
  }
  return "?";
}

std::vector<DeviceKind> devices_of(const Variant& v) {
  std::vector<DeviceKind> out;
  for (DeviceKind kind : all_devices())
    if (v.runs_on(kind)) out.push_back(kind);
  return out;
}

bool only_lacks_cuda(const Variant& v, DeviceKind kind) {
  return kind == DeviceKind::cuda && build_description().cuda_compiler.empty() && v.runs_on(DeviceKind::sim);
}

std::vector<std::string> known_faults(const Variant& v) {
  std::vector<std::string> out;
  if (!v.known_fault) return out;
  for (const Settings& s : all_settings(v.tunables))
    if (const KnownFault fault = v.fault_of(s); fault && std::find(out.begin(), out.end(), fault.why) == out.end())
      out.push_back(fault.why);
  return out;
}

nlohmann::ordered_json describe(const Variant& v) {
  nlohmann::ordered_json out = {
      {"id", v.id},
      {"title", v.title},
      {"cites", v.cites},
      {"group", v.group()},
      {"kind", name(v.kind)},
      {"own_experiment", v.own_experiment},
      {"strategy", {{"thread", v.how.thread}, {"block", v.how.block}, {"grid", v.how.grid}}},
      {"result", name(v.result)},
      {"ways_without", ways_without(v)},
      {"consumes_input", v.consumes_input},
      {"reads_clock", v.reads_clock},
      {"persistent_state", v.persistent_state},
      {"determinism", name(v.determinism)},
  };
  out["default_settings"] = v.settings().str();
  if (v.document_n) out["document_n"] = v.document_n;
  if (!v.compiled_in.empty()) out["compiled_in"] = v.compiled_in;
  if (!v.embodies.empty()) out["embodies"] = v.embodies;
  if (!v.differs.empty()) out["differs"] = v.differs;
  if (!v.cuda_only.empty()) out["cuda_only"] = v.cuda_only;
  if (!v.plugin.empty()) out["plugin"] = v.plugin;
  if (v.known_fault) out["known_faults"] = known_faults(v);
  for (const char* key : {"base_of", "operations", "types", "devices", "tunables"})
    out[key] = nlohmann::ordered_json::array();
  for (Operation o : v.base_of) out["base_of"].push_back(name(o));
  for (Operation o : v.operations) out["operations"].push_back(name(o));
  for (ElementType t : v.types) out["types"].push_back(name(t));
  for (DeviceKind d : devices_of(v)) out["devices"].push_back(name(d));
  for (const Tunable& t : v.tunables) {
    nlohmann::ordered_json tunable = {{"name", t.name}, {"default", t.standard}, {"values", t.values}};
    if (t.open) tunable["whole_numbers"] = {{"from", t.low}, {"to", t.high}};
    out["tunables"].push_back(std::move(tunable));
  }
  return out;
}

}  // namespace reductio::cli
