#include "device/backend.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include "core/error.h"
#include "core/variant.h"
#include "device/sim/memory.h"

namespace reductio {
namespace {

std::string lower_case(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return s;
}

bool is_index(const std::string& s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c); });
}

bool is_uuid(const std::string& s) {
  const std::string l = lower_case(s);
  return (l.starts_with("gpu-") || l.starts_with("mig-")) &&
         std::all_of(l.begin() + 4, l.end(), [](unsigned char c) { return std::isxdigit(c) || c == '-'; });
}

void check_form(const std::string& selector) {
  if (!selector.empty() && !is_index(selector) && !is_uuid(selector))
    throw UsageError("'" + selector +
                     "' is not a GPU: give an index (0, 1, ...) or a UUID as 'nvidia-smi -L' prints it");
}

/// "9.0" from 90.
std::string capability_text(int c) { return std::to_string(c / 10) + "." + std::to_string(c % 10); }

}  // namespace

std::size_t select_gpu(const std::string& selector, std::span<const std::string> uuids) {
  check_form(selector);
  const std::string here = std::to_string(uuids.size()) + (uuids.size() == 1 ? " GPU is" : " GPUs are") + " visible";
  if (selector.empty() || is_index(selector)) {
    std::size_t index = 0;
    const auto end = selector.data() + selector.size();
    const bool fits = selector.empty() || std::from_chars(selector.data(), end, index).ec == std::errc();
    if (!fits || index >= uuids.size()) throw UsageError("there is no GPU " + selector + ": " + here);
    return index;
  }
  std::size_t found = uuids.size();
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    if (!lower_case(uuids[i]).starts_with(lower_case(selector))) continue;
    if (found != uuids.size()) throw UsageError("'" + selector + "' begins the UUIDs of several GPUs: give more of it");
    found = i;
  }
  if (found == uuids.size()) throw UsageError("no GPU has the UUID '" + selector + "': " + here);
  return found;
}

void require_code(const std::string& gpu, int capability, std::span<const int> built_for, bool has_code) {
  if (has_code) return;
  std::string compiled;
  for (const int c : built_for) compiled += (compiled.empty() ? "" : ", ") + capability_text(c);
  const bool older = std::all_of(built_for.begin(), built_for.end(), [&](int c) { return capability < c; });
  throw NoGpu(gpu + " has compute capability " + capability_text(capability) +
              (older ? ", older than what this program was compiled for" : ", for which this program holds no code") +
              " (" + compiled + "); rebuild with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(capability));
}

DeviceMemory memory_for(const std::string& purpose, Backend& backend, std::size_t bytes) {
  try {
    return DeviceMemory(backend, bytes);
  } catch (const NoMemory& e) {
    throw NoMemory(purpose + ": " + e.what());
  } catch (const Refused& e) {
    throw Refused(purpose + ": " + e.what());
  }
}

std::shared_ptr<void> guarded_workspace(DeviceKind kind, std::size_t bytes) {
  if (kind == DeviceKind::cuda) return cuda_workspace(bytes);
  if (kind == DeviceKind::sim) return {sim::allocate_workspace(bytes), [](void* p) { sim::release(p); }};
  constexpr std::size_t guard = Guarded::guard_bytes;
  const std::shared_ptr<Backend> cpu = open_cpu();
  const std::shared_ptr<void> all(cpu->allocate(bytes + 2 * guard), [cpu](void* p) { cpu->release(p); });
  std::byte* const begin = static_cast<std::byte*>(all.get());
  std::memset(begin, Guarded::mark, guard);
  std::memset(begin + guard + bytes, Guarded::mark, guard);
  return {all, begin + guard};
}

std::unique_ptr<Backend> open_backend(DeviceKind kind, const std::string& selector) {
  switch (kind) {
    case DeviceKind::cuda:
      check_form(selector);  // a typing error is told as one, also where there is no GPU to select
      return open_cuda(selector);
    case DeviceKind::sim: return open_sim();
    case DeviceKind::cpu: return open_cpu();
  }
  throw UsageError("unknown device");
}

}  // namespace reductio
