#pragma once
/// How large a CPU's caches are.

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

namespace reductio {

/// Bytes of the last-level caches of the CPUs that `may_use` says yes to, together; 0 where the system does not say.
/// `cpus` is the folder /sys/devices/system/cpu. C's sysconf() is no answer: on AMD it has the whole socket's, of which
/// a virtual machine may have a tenth.
inline std::size_t last_level_caches(const std::filesystem::path& cpus, const std::function<bool(int)>& may_use) {
  const auto text_of = [](const std::filesystem::path& file) {
    std::string text;
    std::getline(std::ifstream(file) >> std::ws, text);
    return text;
  };
  std::map<std::string, std::size_t> caches;  // by the CPUs that share one
  for (int cpu = 0; std::filesystem::exists(cpus / ("cpu" + std::to_string(cpu))); ++cpu) {
    if (!may_use(cpu)) continue;
    std::string last, shared;
    std::size_t bytes = 0;
    for (int i = 0;; ++i) {
      const auto cache = cpus / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(i));
      const std::string level = text_of(cache / "level"), size = text_of(cache / "size");  // "3", "32768K"
      if (level.empty()) break;
      if (level < last || text_of(cache / "type") == "Instruction") continue;
      last = level;
      shared = text_of(cache / "shared_cpu_list");
      bytes = std::strtoull(size.c_str(), nullptr, 10) << (size.ends_with('M') ? 20 : size.ends_with('K') ? 10 : 0);
    }
    if (bytes) caches[shared] = bytes;
  }
  std::size_t all = 0;
  for (const auto& [_, bytes] : caches) all += bytes;
  return all;
}

}  // namespace reductio
