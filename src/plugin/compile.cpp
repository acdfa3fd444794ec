#include "plugin/compile.h"

#include <unistd.h>

#include <cctype>
#include <sstream>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "plugin/toolchain.h"
#include "reductio_plugin_header.h"

namespace reductio {

using namespace toolchain;

namespace {

std::string extension(const fs::path& file) { return file.extension().string(); }

/// Our own words of nvcc's command line for "80;90-real": machine code and PTX, as CMake compiles the program.
Words architecture_flags(const std::string& architectures, const Words& user) {
  for (const std::string& word : user)
    for (const char* const own : {"-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code"})
      if (word.starts_with(own)) return {};
  Words out;
  std::istringstream in(architectures);
  for (std::string one; std::getline(in, one, ';');) {
    const std::string number = one.substr(0, one.find('-'));
    if (number.empty() || !std::isdigit(static_cast<unsigned char>(number[0]))) return {"-arch=" + one};
    const bool machine = !one.ends_with("-virtual"), ptx = !one.ends_with("-real");
    out.push_back("-gencode=arch=compute_" + number + ",code=[" + (machine ? "sm_" + number : "") +
                  (machine && ptx ? "," : "") + (ptx ? "compute_" + number : "") + "]");
  }
  return out;
}

struct Compiler {
  Words command;  ///< the program's path, and the words behind it in its variable: CC="ccache gcc"
  Words flags;
};

/// As command_in(). `none` says that there is none of them.
Words command_of(const fs::path& source, const std::string& variable, const Words& usual, const std::string& none) {
  bool wrong = false;
  const Words command = command_in(variable, usual, wrong);
  if (command.empty())
    fail(source, wrong ? "$" + variable + " is '" + environment(variable.c_str()) + "', which is not a program" : none);
  return command;
}

Compiler compiler_of(const fs::path& source, const CompileOptions& options) {
  if (extension(source) == ".cu") {
    Words usual{"nvcc"};
    if (const std::string home = environment("CUDA_HOME"); !home.empty()) usual.push_back(home + "/bin/nvcc");
    usual.push_back("/usr/local/cuda/bin/nvcc");
    const Words user = words_in(options.nvcc_flags);
    Words flags{"-O3", "-std=c++20", "-lineinfo", "--expt-relaxed-constexpr", "-shared", "-Xcompiler=-fPIC"};
    const Words architectures = architecture_flags(options.cuda_architectures, user);
    flags.insert(flags.end(), architectures.begin(), architectures.end());
    flags.insert(flags.end(), user.begin(), user.end());
    return {command_of(source, "NVCC", usual,
                       "there is no nvcc on $PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin; set $NVCC to one, "
                       "or load a library that was compiled elsewhere"),
            flags};
  }
  const bool c = extension(source) == ".c";
  const Words usual = c ? Words{"cc", "gcc", "clang"} : Words{"c++", "g++", "clang++"};
  return {command_of(source, c ? "CC" : "CXX", usual,
                     c ? "there is no C compiler on $PATH; set $CC to one"
                       : "there is no C++ compiler on $PATH; set $CXX to one"),
          {"-O3", "-march=native", c ? "-std=c11" : "-std=c++20", "-shared", "-fPIC"}};
}

}  // namespace

bool is_plugin_source(const fs::path& file) {
  for (const char* const known : {".cu", ".c", ".cpp", ".cc", ".cxx"})
    if (extension(file) == known) return true;
  return false;
}

fs::path compiled_plugin(const fs::path& source, const CompileOptions& options) {
  std::error_code error;
  if (!fs::is_regular_file(source, error)) fail(source, "there is no such file");
  const Compiler compiler = compiler_of(source, options);
  const std::string header = hash_of(plugin_header);
  const fs::path include = plugin_cache() / ("include-" + header.substr(0, 16));
  make_folder(include / "reductio");
  write_once(include / "reductio" / "plugin.h", plugin_header);

  Words command = compiler.command;
  command.insert(command.end(), compiler.flags.begin(), compiler.flags.end());
  command.push_back("-I" + include.string());
  command.push_back(source.string());
  std::string key = fs::absolute(source).lexically_normal().string() + "\n" + version_of(compiler.command);
  for (const Words& words : {compiler.command, compiler.flags})
    for (const std::string& word : words) key += "\n" + word;
  const CacheEntry entry(source.stem().string(), key + "\n" + header);
  if (entry.is_current({".so"})) return entry.path(".so");

  if (options.tell) options.tell(in_one_line(command));
  const fs::path rule = entry.draft(".d");
  const Words outputs{"-MD", "-MF", rule.string(), "-o", entry.draft(".so").string()};
  command.insert(command.end(), outputs.begin(), outputs.end());
  const int code = run(command, STDERR_FILENO);
  const std::string files = content(rule).value_or("");
  fs::remove(rule, error);
  if (code != 0) {
    fs::remove(entry.draft(".so"), error);
    fail(source, fs::path(compiler.command[0]).filename().string() + " failed with exit code " + std::to_string(code) +
                     "; see its messages above");
  }
  entry.keep({".so"}, files);
  return entry.path(".so");
}

}  // namespace reductio
