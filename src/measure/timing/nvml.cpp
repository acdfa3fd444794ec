#include "measure/timing/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

namespace reductio {
namespace {

// The few declarations of nvml.h that are used, so that building needs no NVML. Its ABI is stable by name suffix.
using Handle = void*;
constexpr int success = 0;
constexpr unsigned clock_sm = 1, clock_memory = 2, temperature_gpu = 0;

struct Utilization {
  unsigned gpu, memory;  // percent
};

class Nvml {
 public:
  static const Nvml& get() {
    static const Nvml one;
    return one;
  }

  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_uuid)(const char*, Handle*) = nullptr;
  int (*clock)(Handle, unsigned, unsigned*) = nullptr;
  int (*temperature)(Handle, unsigned, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;
  int (*reasons)(Handle, unsigned long long*) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Handle*) = nullptr;
  int (*uuid)(Handle, char*, unsigned) = nullptr;
  int (*utilization)(Handle, Utilization*) = nullptr;
  int (*processes)(Handle, unsigned*, void*) = nullptr;
  int (*mig)(Handle, unsigned*, unsigned*) = nullptr;
  bool usable = false;

 private:
  Nvml() {
    // Never closed: it is used until the process ends.
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    int (*init)() = nullptr;
    find(init, "nvmlInit_v2");
    find(driver_version, "nvmlSystemGetDriverVersion");
    find(by_uuid, "nvmlDeviceGetHandleByUUID");
    find(clock, "nvmlDeviceGetClockInfo");
    find(temperature, "nvmlDeviceGetTemperature");
    find(power, "nvmlDeviceGetPowerUsage");
    find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(count, "nvmlDeviceGetCount_v2");
    find(by_index, "nvmlDeviceGetHandleByIndex_v2");
    find(uuid, "nvmlDeviceGetUUID");
    find(utilization, "nvmlDeviceGetUtilizationRates");
    find(processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    find(mig, "nvmlDeviceGetMigMode");
    usable = init && init() == success;
  }
};

}  // namespace

std::string nvml_driver_version() {
  const Nvml& nvml = Nvml::get();
  std::array<char, 96> text{};
  if (!nvml.usable || !nvml.driver_version || nvml.driver_version(text.data(), text.size()) != success) return {};
  return text.data();
}

std::optional<GpuState> gpu_state(const std::string& uuid) {
  const Nvml& nvml = Nvml::get();
  Handle gpu = nullptr;
  if (!nvml.usable || !nvml.by_uuid || nvml.by_uuid(uuid.c_str(), &gpu) != success) return std::nullopt;
  GpuState s;
  unsigned value = 0;
  if (nvml.clock && nvml.clock(gpu, clock_sm, &value) == success) s.sm_clock_hz = value * 1e6;
  if (nvml.clock && nvml.clock(gpu, clock_memory, &value) == success) s.memory_clock_hz = value * 1e6;
  if (nvml.temperature && nvml.temperature(gpu, temperature_gpu, &value) == success) s.temperature_c = value;
  if (nvml.power && nvml.power(gpu, &value) == success) s.power_w = value * 1e-3;
  unsigned long long bits = 0;
  if (nvml.reasons && nvml.reasons(gpu, &bits) == success) s.throttle_reasons = bits;
  return s;
}

namespace {

std::vector<GpuUse> use_now() {
  const Nvml& nvml = Nvml::get();
  std::vector<GpuUse> out;
  unsigned count = 0;
  if (!nvml.usable || !nvml.count || !nvml.by_index || !nvml.uuid || nvml.count(&count) != success) return out;
  for (unsigned i = 0; i < count; ++i) {
    Handle gpu = nullptr;
    std::array<char, 96> uuid{};
    if (nvml.by_index(i, &gpu) != success || nvml.uuid(gpu, uuid.data(), uuid.size()) != success) continue;
    GpuUse use;
    use.uuid = uuid.data();
    Utilization rates{};
    if (nvml.utilization && nvml.utilization(gpu, &rates) == success) use.utilization_percent = rates.gpu;
    // Without room for the list it only counts, and calls the room insufficient.
    if (nvml.processes) nvml.processes(gpu, &use.processes, nullptr);
    unsigned now = 0, pending = 0;
    if (nvml.mig && nvml.mig(gpu, &now, &pending) == success) use.mig = now == 1;
    out.push_back(std::move(use));
  }
  return out;
}

}  // namespace

std::vector<GpuUse> gpus_in_use() {
  std::vector<GpuUse> use = use_now();
  // Busy without a process: the tail of a program that has just ended. The next sampling period tells.
  const auto idle_again = [](const GpuUse& gpu) { return gpu.utilization_percent > 0 && gpu.processes == 0; };
  for (int i = 0; i < 3 && std::any_of(use.begin(), use.end(), idle_again); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    use = use_now();
  }
  return use;
}

std::string throttle_text(std::uint64_t reasons) {
  constexpr std::array<std::pair<std::uint64_t, const char*>, 8> names{{{0x2, "clocks set by an application"},
                                                                        {0x4, "power cap"},
                                                                        {0x8, "hardware slowdown"},
                                                                        {0x10, "sync boost"},
                                                                        {0x20, "thermal (software)"},
                                                                        {0x40, "thermal (hardware)"},
                                                                        {0x80, "power brake"},
                                                                        {0x100, "display clocks"}}};
  std::string text;
  for (const auto& [bit, name] : names)
    if (reasons & bit) text += (text.empty() ? "" : ", ") + std::string(name);
  return text.empty() ? "none" : text;
}

}  // namespace reductio
