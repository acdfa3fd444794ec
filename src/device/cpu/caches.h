#pragma once
/// How large a CPU's caches are.

#include <cstddef>
#include <filesystem>
#include <functional>

namespace reductio {

/// Bytes of the last-level caches of the CPUs that `may_use` says yes to, together; 0 where the system does not say.
/// `cpus` is the folder /sys/devices/system/cpu.
std::size_t last_level_caches(const std::filesystem::path& cpus, const std::function<bool(int)>& may_use);

}  // namespace reductio
