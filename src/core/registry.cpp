#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <numeric>

#include "core/parse.h"
#include "core/variant.h"

namespace reductio {
namespace {

// A function-local static: registration runs before main(), in an unspecified order of files.
std::list<Variant>& registry() {
  static std::list<Variant> all;
  return all;
}

std::vector<std::string> ids() {
  std::vector<std::string> out;
  for (const auto& v : registry()) out.push_back(v.id);
  return out;
}

std::vector<std::function<std::string(std::string_view)>>& explanations() {
  static std::vector<std::function<std::string(std::string_view)>> all;
  return all;
}

std::string did_you_mean(std::string_view word) {
  for (const auto& explain : explanations())
    if (const std::string why = explain(word); !why.empty()) return ": " + why;
  const std::string near = nearest(word, ids());
  return near.empty() ? "; see 'reductio list'" : "; did you mean '" + near + "'?";
}

template <class T>
std::string names(const std::vector<T>& all) {
  std::string out;
  for (const T& t : all) out += (out.empty() ? "" : ", ") + std::string(name(t));
  return out;
}

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

std::string_view name(ResultLocation r) {
  switch (r) {
    case ResultLocation::on_device: return "on_device";
    case ResultLocation::host_part: return "host_part";
    case ResultLocation::on_host: return "on_host";
  }
  return "?";
}

std::string_view name(VariantKind k) {
  switch (k) {
    case VariantKind::yours: return "yours";
    case VariantKind::document: return "document";
    case VariantKind::ours: return "ours";
    case VariantKind::library: return "library";
    case VariantKind::cpu: return "cpu";
  }
  return "?";
}

void Plan::finish(void*, Stream) {
  throw DeviceError("this plan has no host part: its result is in device memory");
}

bool finishes_on_host(const Settings& s) {
  return s.has("finish") && (s.text("finish") == "host" || s.text("finish") == "host-pinned");
}

Determinism Variant::determinism_of(const Settings& s) const {
  return s.has("determinism") && s.text("determinism") == "not_guaranteed" ? Determinism::none : determinism;
}

bool Variant::is_base_of(Operation o) const { return contains(base_of, o); }

Settings Variant::settings(const Assignments& chosen) const {
  Settings out(tunables);
  for (const auto& [key, value] : chosen)
    if (out.has(key)) out.set(key, value);
  return out;
}

std::vector<Settings> Variant::with_other_values(const Settings& s, const Tunable& t) const {
  std::vector<Settings> out;
  for (const std::string& value : t.values) {
    Settings other = s;
    other.set(t.name, value);
    if (other != s && !fault_of(other)) out.push_back(std::move(other));
  }
  return out;
}

std::string refusal(const Variant& v, DeviceKind device, const Problem& p, const Settings& s) {
  if (!v.runs_on(device))
    return "does not run on device " + std::string(name(device)) + (v.cuda_only.empty() ? "" : ": " + v.cuda_only);
  if (!contains(v.operations, p.operation))
    return "operation " + std::string(name(p.operation)) + " is not supported (supported: " + names(v.operations) + ")";
  if (!contains(v.types, p.type))
    return "element type " + std::string(name(p.type)) + " is not supported (supported: " + names(v.types) + ")";
  if (!is_defined(p.operation, p.type)) {
    std::vector<ElementType> defined;
    for (const ElementType t : all_types())
      if (is_defined(p.operation, t)) defined.push_back(t);
    return "operation " + std::string(name(p.operation)) + " is not defined for element type " +
           std::string(name(p.type)) + " (for " + names(defined) + ")";
  }
  for (const auto& t : v.tunables)
    if (!t.allows(s.text(t.name)))
      return "setting " + t.name + "=" + s.text(t.name) + " is not allowed (allowed: " + t.describe() + ")";
  if (const KnownFault fault = v.fault_of(s)) return "the result is wrong: " + fault.why;
  return v.declines ? v.declines(p, s) : std::string();
}

std::string too_many_blocks(const Problem& p, const Settings& s, std::size_t blocks, const std::string& advice) {
  constexpr std::size_t most_blocks = 0x7fffffff;
  if (blocks <= most_blocks) return "";
  return "n = " + std::to_string(p.n) + " takes " + std::to_string(blocks) + " blocks of " + s.text("block") +
         " threads, a launch has at most " + std::to_string(most_blocks) + ": " + advice;
}

void require_capability(const DeviceInfo& gpu, int needed) {
  const auto text = [](int c) { return std::to_string(c / 10) + "." + std::to_string(c % 10); };
  if (gpu.capability < needed)
    throw Unavailable("needs compute capability " + text(needed) + "; the program's code for this device is for " +
                      text(gpu.capability));
}

std::unique_ptr<Plan> make_plan(const Variant& v, const Problem& p, const Settings& s, const DeviceInfo& device) {
  if (const std::string why = refusal(v, device.kind, p, s); !why.empty()) throw Refused(v.id + ": " + why);
  auto plan = v.prepare[static_cast<int>(device.kind)](p, s, device);
  if (const ResultLocation planned = plan->info().result, said = v.result_of(s); planned != said)
    throw DeviceError(v.id + ": a plan's result is " + std::string(name(planned)) + ", the descriptor says " +
                      std::string(name(said)) +
                      ": set .result there as in PlanInfo, or choose it by the setting finish");
  return plan;
}

Variant combined(Variant shared, const Own& own) {
  Variant v = std::move(shared);
  v.id = own.id;
  v.title = own.title;
  v.cites = own.cites;
  if (!own.own_experiment.empty()) v.own_experiment = own.own_experiment;
  if (!own.how.thread.empty()) v.how.thread = own.how.thread;
  if (!own.how.block.empty()) v.how.block = own.how.block;
  if (!own.how.grid.empty()) v.how.grid = own.how.grid;
  for (const Tunable& t : own.tunables) {
    const auto same =
        std::find_if(v.tunables.begin(), v.tunables.end(), [&](const Tunable& o) { return o.name == t.name; });
    if (same == v.tunables.end()) v.tunables.push_back(t);
    else *same = t;
  }
  if (own.determinism) v.determinism = *own.determinism;
  if (!own.compiled_in.empty()) v.compiled_in = own.compiled_in;
  if (!own.further_launches.empty()) v.further_launches = own.further_launches;
  if (own.known_fault) v.known_fault = own.known_fault;
  return v;
}

void end_registration(const std::string& why) {
  std::fprintf(stderr, "reductio: %s\n", why.c_str());
  std::_Exit(1);  // destructors of what is half constructed would not be safe
}

std::string shown_path(std::string_view file) { return std::string(shown_part(file)); }

std::string_view shown_part(std::string_view file) {
  constexpr std::string_view here = __FILE__, below = "src/core/registry.cpp";
  static_assert(here.ends_with(below));
  constexpr std::string_view project = here.substr(0, here.size() - below.size());
  while (file.starts_with("../")) file.remove_prefix(3);  // from a build folder, as ccache may rewrite it
  return file.starts_with(project) ? file.substr(project.size()) : file;
}

std::string registered_twice(const std::string& file, const std::string& other) {
  return "is registered twice, in " + shown_path(file) + (file == other ? "" : " and in " + shown_path(other)) +
         "; rename one";
}

void register_variant(Variant v, DeviceKind device, Prepare prepare, const char* file) {
  if (device == DeviceKind::sim && !v.cuda_only.empty())
    end_registration("variant '" + v.id + "' is cuda_only and compiled for the simulated device; move its file, " +
                     file + ", to src/kernels/cuda_only");
  if (v.title.empty()) v.title = v.id;
  auto& all = registry();
  const auto at =
      std::lower_bound(all.begin(), all.end(), v.id, [](const Variant& a, const std::string& id) { return a.id < id; });
  if (at != all.end() && at->id == v.id) {
    if (at->runs_on(device))
      end_registration("variant '" + v.id + "' " + registered_twice(at->file[static_cast<int>(device)], file));
    at->prepare[static_cast<int>(device)] = std::move(prepare);
    at->file[static_cast<int>(device)] = file;
    return;
  }
  v.prepare[static_cast<int>(device)] = std::move(prepare);
  v.file[static_cast<int>(device)] = file;
  all.insert(at, std::move(v));
}

void explain_unknown(std::function<std::string(std::string_view id)> explain) {
  explanations().push_back(std::move(explain));
}

const std::list<Variant>& variants() { return registry(); }

const Variant& find_variant(std::string_view id) {
  for (const auto& v : registry())
    if (v.id == id) return v;
  throw UsageError("unknown variant '" + std::string(id) + "'" + did_you_mean(id));
}

std::vector<const Variant*> select_variants(std::string_view regex) {
  const auto matches = parse_regex(regex);
  std::vector<const Variant*> out;
  for (const auto& v : registry())
    if (matches(v.id)) out.push_back(&v);
  if (out.empty()) throw UsageError("no variant matches '" + std::string(regex) + "'" + did_you_mean(regex));
  return out;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(3, word.size() / 2);
  for (const auto& c : candidates) {
    std::vector<std::size_t> row(c.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < c.size(); ++j) {
        const std::size_t substitution = diagonal + (word[i] == c[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitution});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = c;
    }
  }
  return best;
}

}  // namespace reductio
