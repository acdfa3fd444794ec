#include "measure/results/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/program_file.h"
#include "core/variant.h"
#include "measure/plan/ways.h"
#include "measure/results/csv.h"
#include "measure/results/row.h"

namespace reductio {
namespace {

using Json = nlohmann::ordered_json;

CpuDescription describe_cpu() {
  CpuDescription cpu;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; cpu.model.empty() && std::getline(file, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      cpu.model = line.substr(line.find(": ") + 2);
  utsname system{};
  if (cpu.model.empty() && uname(&system) == 0) cpu.model = system.machine;  // Arm prints no model name
  cpu.cores = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  cpu.memory_bytes =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return cpu;
}

std::string describe_os() {
  std::string pretty;
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("PRETTY_NAME=")) {
      pretty = line.substr(12);
      std::erase(pretty, '"');
    }
  utsname system{};
  if (uname(&system) != 0) return pretty;
  return pretty + (pretty.empty() ? "" : ", ") + system.sysname + " " + system.release;
}

void erase_all(std::string& text, std::string_view what) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what)) text.erase(at, what.size());
}

/// "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz" -> "Intel Xeon Platinum 8481C".
std::string plain_cpu_name(std::string model) {
  for (const auto* noise : {"(R)", "(TM)", "(r)", "(tm)", " CPU", " Processor"}) erase_all(model, noise);
  return model.substr(0, model.find(" @"));
}

Json known(const std::string& text) { return text.empty() ? Json() : Json(text); }
template <class T>
Json known_number(T value) {
  return value > 0 ? Json(value) : Json();
}

template <class T>
std::string joined(const std::vector<T>& all) {
  std::string out;
  for (const T& one : all) {
    if (!out.empty()) out += ';';
    out += name(one);
  }
  return out;
}

}  // namespace

std::optional<double> Machine::load_limit_bytes_per_s() const {
  constexpr double sm_bytes_per_clock = 2 * 128, core_bytes_per_s = 1e12;
  if (device == DeviceKind::cpu) return core_bytes_per_s * cpu.cores;
  if (!gpu || gpu->sm_clock_hz <= 0) return std::nullopt;
  return sm_bytes_per_clock * gpu->sm_clock_hz * gpu->sm_count;
}

std::string Machine::id() const {
  if (gpu) return gpu->uuid;
  return fmt::format("{}, {} cores", cpu.model, cpu.cores);
}

std::string slug(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

std::string binary_hash() {
  static std::map<std::vector<std::string>, std::string> known;
  std::vector<std::string> files{program_file().string()};
  for (const Variant& v : variants())
    if (!v.plugin.empty())
      for (const std::string& file : v.file)
        if (!file.empty() && std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  std::string& hash = known[files];
  if (!hash.empty()) return hash;
  // It tells builds apart, and nothing more is asked of it. By words, not bytes: a program has some 60 MB, and says its
  // hash in nearly every command.
  std::uint64_t h = 0;
  std::string block(1 << 20, '\0');
  for (const std::string& name : files)
    for (std::ifstream file(name, std::ios::binary);
         file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0;) {
      std::fill(block.begin() + file.gcount(), block.end(), '\0');
      for (std::size_t at = 0; at < block.size(); at += sizeof h) {
        std::uint64_t word = 0;
        std::memcpy(&word, block.data() + at, sizeof word);
        h = std::rotl((h ^ word) * 0x9e3779b97f4a7c15u, 29);
      }
    }
  return hash = fmt::format("{:016x}", h);
}

Machine describe_machine(const Backend& backend) {
  Machine m;
  m.device = backend.info().kind;
  m.cpu = describe_cpu();
  m.cpu.last_level_cache_bytes = (m.device == DeviceKind::cpu ? backend : *open_cpu()).info().l2_bytes;
  m.os = describe_os();
  utsname system{};
  if (uname(&system) == 0) m.hostname = system.nodename;
  switch (m.device) {
    case DeviceKind::cuda:
      m.gpu = describe_gpu();
      m.name = slug(m.gpu->name);
      break;
    case DeviceKind::sim: m.name = slug(backend.info().name); break;
    case DeviceKind::cpu: m.name = "cpu-" + slug(plain_cpu_name(m.cpu.model)); break;
  }
  return m;
}

Json to_json(const BuildDescription& b) {
  return {{"version", b.version},
          {"git_revision", known(b.git_revision)},
          {"git_dirty", b.git_dirty},
          {"build_type", b.build_type},
          {"cxx_compiler", b.cxx_compiler},
          {"cxx_flags", b.cxx_flags},
          {"cuda_compiler", known(b.cuda_compiler)},
          {"cuda_flags", known(b.cuda_flags)},
          {"cuda_architectures", known(b.cuda_architectures)},
          {"cccl", known(b.cccl)}};
}

Json to_json(const Machine& m) {
  Json gpu;
  if (m.gpu) {
    const GpuDescription& g = *m.gpu;
    gpu = {{"name", g.name},
           {"uuid", g.uuid},
           {"sm_count", g.sm_count},
           {"l2_bytes", g.l2_bytes},
           {"memory_bytes", g.memory_bytes},
           {"memory_clock_hz", known_number(g.memory_clock_hz)},
           {"memory_bus_bits", known_number(g.memory_bus_bits)},
           {"theoretical_peak_bytes_per_s", known_number(g.theoretical_peak_bytes_per_s())},
           {"sm_clock_hz", known_number(g.sm_clock_hz)},
           {"compute_capability", g.compute_capability},
           {"driver", g.driver},
           {"runtime", g.runtime}};
  }
  Json build = to_json(build_description());
  build["binary"] = binary_hash();
  return {{"schema_version", schema_version},
          {"machine", m.name},
          {"device", name(m.device)},
          {"gpu", gpu},
          {"cpu",
           {{"model", m.cpu.model},
            {"cores", m.cpu.cores},
            {"memory_bytes", m.cpu.memory_bytes},
            {"last_level_cache_bytes", known_number(m.cpu.last_level_cache_bytes)}}},
          {"os", m.os},
          {"hostname", m.hostname},
          {"build", build}};
}

std::string catalog_csv() {
  std::string out = csv_record({"schema_version", "variant", "title", "cites", "thread", "block", "grid", "devices",
                                "operations", "element_types", "tunables", "result", "consumes_input", "reads_clock",
                                "persistent_state", "determinism", "document_n", "ways_without", "embodies", "differs",
                                "group", "kind", "base_of", "own_experiment", "default_settings"});
  const auto yes_no = [](bool b) { return std::string(b ? "yes" : "no"); };
  for (const Variant& v : variants()) {
    std::vector<DeviceKind> devices;
    for (const DeviceKind d : all_devices())
      if (v.runs_on(d)) devices.push_back(d);
    std::string tunables;
    for (const Tunable& t : v.tunables) tunables += (tunables.empty() ? "" : "; ") + t.name + ": " + t.describe();
    const std::string_view determinism = v.determinism == Determinism::none     ? "none"
                                         : v.determinism == Determinism::always ? "always"
                                                                                : "per_launch_shape";
    out += csv_record({std::to_string(schema_version), v.id, v.title, v.cites, v.how.thread, v.how.block, v.how.grid,
                       joined(devices), joined(v.operations), joined(v.types), tunables, std::string(name(v.result)),
                       yes_no(v.consumes_input), yes_no(v.reads_clock), v.persistent_state, std::string(determinism),
                       v.document_n ? std::to_string(v.document_n) : "", ways_without(v), v.embodies, v.differs,
                       std::string(v.group()), std::string(name(v.kind)), joined(v.base_of), v.own_experiment,
                       v.settings().str()});
  }
  return out;
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string new_run_id() {
  std::random_device random;
  std::string when = utc_now();
  std::erase_if(when, [](char c) { return c == '-' || c == ':'; });
  return fmt::format("{}-{:08x}", when, random());
}

}  // namespace reductio
