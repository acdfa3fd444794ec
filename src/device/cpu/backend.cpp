/// The CPU as a device: host memory, and streams that are always empty because every call is done when it returns.

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <new>
#include <string>

#include "core/error.h"
#include "device/backend.h"
#include "device/cpu/caches.h"

namespace reductio {
namespace {

constexpr std::align_val_t alignment{256};
constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  utsname system{};
  return uname(&system) == 0 ? std::string(system.machine) + " CPU" : "CPU";  // Arm prints no model name
}

std::size_t pages(int which) {
  const long count = sysconf(which);
  return count > 0 ? static_cast<std::size_t>(count) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

/// The number behind `key` in a file of "key number" lines, or the first number if `key` is empty.
std::size_t number_in(const char* file, const std::string& key, std::size_t otherwise) {
  std::ifstream in(file);
  if (key.empty()) {
    std::size_t value = 0;
    return in >> value ? value : otherwise;
  }
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(key)) return std::strtoull(line.c_str() + key.size(), nullptr, 10);
  return otherwise;
}

/// What a container lets this process use; a machine that grants more memory than that kills the program instead of
/// refusing the allocation.
std::size_t container_memory() {
  const std::size_t limit = number_in("/sys/fs/cgroup/memory.max", "", unlimited);
  if (limit == unlimited) return unlimited;
  const std::size_t used = number_in("/sys/fs/cgroup/memory.stat", "anon ", 0);
  return limit > used ? limit - used : 0;
}

/// Of addresses, of which this process uses some without memory behind them.
std::size_t address_space_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : unlimited;
}

std::size_t address_space_left() {
  const std::size_t limit = address_space_limit();
  if (limit == unlimited) return unlimited;
  const std::size_t used = 1024 * number_in("/proc/self/status", "VmSize:", 0);
  return limit > used ? limit - used : 0;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend() {
    info_.kind = DeviceKind::cpu;
    info_.name = cpu_name();
    // The last level before memory, which is what L2 is to a GPU: an input is cold once this much else was touched.
    cpu_set_t allowed;
    const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    info_.l2_bytes = last_level_caches("/sys/devices/system/cpu", [&](int cpu) {
      return !known || CPU_ISSET(static_cast<unsigned>(cpu), &allowed);
    });
    // sysconf() is second best: on AMD it tells the whole socket's cache, of which a virtual machine may have a tenth.
    if (info_.l2_bytes == 0)
      info_.l2_bytes = static_cast<std::size_t>(
          std::max({sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE), 0L}));
    info_.memory_bytes = pages(_SC_PHYS_PAGES);
  }

  const DeviceInfo& info() const override { return info_; }

  void* allocate(std::size_t bytes) override {
    // Linux grants more memory than there is, so asking the allocator would come too late. What is free takes longer to
    // find out than to allocate little.
    constexpr std::size_t little = std::size_t{1} << 20;
    const bool fits = bytes <= little || bytes <= memory_free();
    void* p = fits ? ::operator new(bytes, alignment, std::nothrow) : nullptr;
    const bool short_of_addresses = fits || bytes > address_space_left();
    if (!p)
      throw NoMemory("needs " + gib(bytes) + " of memory, " + gib(memory_free()) + " free" +
                        (short_of_addresses ? address_space_advice() : ""));
    std::memset(p, 0xFF, bytes);
    return p;
  }
  void release(void* p) noexcept override { ::operator delete(p, alignment); }

  std::size_t memory_free() const override { return host_memory_free(); }

  void fill(void* dst, unsigned char byte, std::size_t bytes, Stream) override {
    if (bytes) std::memset(dst, byte, bytes);
  }
  void copy_in(void* dst, const void* host, std::size_t bytes, Stream) override { copy(dst, host, bytes); }
  void copy_within(void* dst, const void* src, std::size_t bytes, Stream) override { copy(dst, src, bytes); }
  void copy_out(void* host, const void* src, std::size_t bytes, Stream) override { copy(host, src, bytes); }

  bool repeats(const void* p, std::size_t period, std::size_t bytes, Stream) override {
    return bytes <= period || std::memcmp(p, static_cast<const std::byte*>(p) + period, bytes - period) == 0;
  }

  Stream create_stream() override { return {}; }
  void destroy_stream(Stream) noexcept override {}
  void synchronize(Stream) override {}
  std::function<void()> watch_enqueue(const std::function<void()>& enqueue, Stream, FirstLaunch*) override {
    enqueue();
    return {};
  }

 private:
  // memcpy of nothing may not be given null, which an empty vector's data() is.
  static void copy(void* dst, const void* src, std::size_t bytes) {
    if (bytes) std::memcpy(dst, src, bytes);
  }

  DeviceInfo info_;
};

}  // namespace

std::string gib(std::size_t bytes) {
  const std::size_t tenths = (bytes * 10 + (std::size_t{1} << 29)) >> 30;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

std::size_t host_memory_free() {
  const std::size_t kib = number_in("/proc/meminfo", "MemAvailable:", 0);
  return std::min({kib ? kib * 1024 : pages(_SC_AVPHYS_PAGES), container_memory(), address_space_left()});
}

std::string address_space_advice() {
  const std::size_t limit = address_space_limit();
  if (limit == unlimited) return "";
  return "; this program runs under 'ulimit -v " + std::to_string(limit / 1024) + "': raise it";
}

std::size_t last_level_caches(const std::filesystem::path& cpus, const std::function<bool(int)>& may_use) {
  const auto text_of = [](const std::filesystem::path& file) {
    std::string text;
    std::ifstream(file) >> text;
    return text;
  };
  std::map<std::string, std::size_t> caches;  // by the CPUs that share one
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
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
    if (bytes) caches[shared.empty() ? std::to_string(cpu) : shared] = bytes;
  }
  std::size_t all = 0;
  for (const auto& [_, bytes] : caches) all += bytes;
  return all;
}

std::unique_ptr<Backend> open_cpu() { return std::make_unique<CpuBackend>(); }

}  // namespace reductio
