#pragma once
/// Plug-ins as source: a file is compiled once into a shared library, with the compilers that are there.

#include <filesystem>
#include <functional>
#include <string>

namespace reductio {

/// Whether a file of this name is compiled before it is loaded: .cu by nvcc, .c and .cpp (.cc, .cxx) by the host's
/// compiler.
bool is_plugin_source(const std::filesystem::path&);

struct CompileOptions {
  /// The GPUs that a kernel is compiled for, in CMake's form ("80;90"). Empty: nvcc's own choice.
  std::string cuda_architectures{};
  std::string nvcc_flags{};                        ///< as a shell's words, behind our own
  std::function<void(const std::string&)> tell{};  ///< is given the command before it runs
};

/// The shared library made of `source`. It is taken from the user's cache folder if the same was compiled before: the
/// same bytes of the source and of what it includes outside the system's folders, flags, plugin.h and compiler. What
/// the compiler prints goes to stderr. Compilers: $NVCC, else nvcc on $PATH or below $CUDA_HOME or /usr/local/cuda;
/// $CXX and $CC, else c++ and cc. A variable may hold several words. Throws UsageError if there is no compiler, it
/// fails, or the cache cannot be written.
std::filesystem::path compiled_plugin(const std::filesystem::path& source, const CompileOptions&);

}  // namespace reductio
