#pragma once
/// Sources of anybody's, compiled for the simulated device: plug-ins and whole programs.

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace reductio {

struct SimulatedOptions {
  std::vector<std::string> flags{};                ///< for the compiler: -I, -D, -std=; C++20 at least
  std::function<void(const std::string&)> tell{};  ///< is given what is compiled, before it is
};

/// How kernels are compiled: faults that one hides the other shows.
inline constexpr std::array optimizations{"-O0", "-O1"};

/// A shared object for each of them, from the user's cache folder if the same was compiled before. Its hooks and CUDA's
/// runtime are this program's. What the compiler says goes to stderr. $REDUCTIO_CLANG names a clang++, else the usual
/// ones are tried. Throws UsageError if there is none, it fails, a source has what is not simulated, or the program was
/// built without the simulated device.
std::array<std::filesystem::path, optimizations.size()> compiled_for_simulation(
    const std::vector<std::filesystem::path>& sources, const SimulatedOptions&);

}  // namespace reductio
