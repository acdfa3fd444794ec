#include "plugin/compile.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.h"
#include "reductio_plugin_header.h"

namespace reductio {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// FNV-1a from two starts: 128 bits, for files of a cache, not against an attacker.
std::string hash_of(std::string_view bytes) {
  const auto one = [&](std::uint64_t h) {
    for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return h;
  };
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(one(0xcbf29ce484222325u)),
                static_cast<unsigned long long>(one(0x84222325cbf29ce4u)));
  return text;
}

std::optional<std::string> content(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

[[noreturn]] void fail(const fs::path& source, const std::string& why) {
  throw UsageError("cannot compile '" + source.string() + "': " + why);
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

bool runs(const fs::path& program) { return access(program.c_str(), X_OK) == 0 && !fs::is_directory(program); }

/// The program of that name or path; empty if there is none.
fs::path on_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return runs(program) ? fs::path(program) : fs::path();
  std::istringstream folders(environment("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const fs::path there = fs::path(folder.empty() ? "." : folder) / program; runs(there)) return there;
  return {};
}

/// A shell's words: between blanks; quotes keep them together.
Words words_in(const std::string& text) {
  Words out;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (const char c : text) {
    if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? 0 : c;
      inside = true;
    } else if (!quote && std::isspace(static_cast<unsigned char>(c))) {
      if (inside) out.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) out.push_back(word);
  return out;
}

std::string in_one_line(const Words& command) {
  std::string out;
  for (const std::string& word : command) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) || std::strchr("-_=+./,:@%", c);
    });
    out += (out.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return out;
}

/// Runs a command with stdout and stderr in `output`. Its exit code; 128 and the signal's number where one ended it.
int run(const Words& command, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (child == 0) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], std::strerror(errno));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// What a compiler prints of its version.
std::string version_of(Words command) {
  std::FILE* const file = std::tmpfile();
  if (!file) return "";
  command.push_back("--version");
  run(command, fileno(file));
  std::rewind(file);
  std::string out;
  char bytes[4096];
  for (std::size_t n; (n = std::fread(bytes, 1, sizeof bytes, file)) > 0;) out.append(bytes, n);
  std::fclose(file);
  return out;
}

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

/// As in the variable if it is set, else the first of `usual` that is there. `none` says that there is none of them.
Words command_of(const fs::path& source, const std::string& variable, const Words& usual, const std::string& none) {
  const std::string text = environment(variable.c_str());
  Words own = runs(text) ? Words{text} : words_in(text);
  for (const std::string& name : own.empty() ? usual : Words{own[0]})
    if (const fs::path p = on_path(name); !p.empty()) {
      own.resize(std::max<std::size_t>(own.size(), 1));
      own[0] = p.string();
      return own;
    }
  fail(source, own.empty() ? none : "$" + variable + " is '" + text + "', which is no program");
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
                       "there is no nvcc on $PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin; $NVCC names another, "
                       "and a library that was compiled elsewhere can be loaded"),
            flags};
  }
  const bool c = extension(source) == ".c";
  const Words usual = c ? Words{"cc", "gcc", "clang"} : Words{"c++", "g++", "clang++"};
  return {command_of(source, c ? "CC" : "CXX", usual,
                     c ? "there is no compiler of C on $PATH; $CC names another"
                       : "there is no compiler of C++ on $PATH; $CXX names another"),
          {"-O3", "-march=native", c ? "-std=c11" : "-std=c++20", "-shared", "-fPIC"}};
}

/// The files in a make rule, "a.so: a.cpp b.h \".
Words files_in_rule(const std::string& rule) {
  Words out;
  std::string word;
  const auto end = [&] {
    if (!word.empty()) out.push_back(std::exchange(word, {}));
  };
  for (std::size_t i = std::min(rule.find(": "), rule.size() - 1) + 1; i < rule.size(); ++i) {
    const char next = i + 1 < rule.size() ? rule[i + 1] : 0;
    if ((rule[i] == '\\' && (next == ' ' || next == '#')) || (rule[i] == '$' && next == '$')) word += rule[++i];
    else if (rule[i] == '\\' && next == '\n') end();
    else if (std::isspace(static_cast<unsigned char>(rule[i]))) end();
    else word += rule[i];
  }
  end();
  return out;
}

/// A line for each file that a library was made of, except the system's and the cache's own: "hash path". Empty if a
/// file is missing.
std::string made_of(const Words& files, const fs::path& cache) {
  std::string out;
  for (const std::string& file : files) {
    const std::string whole = fs::absolute(file).lexically_normal().string();
    if (whole.starts_with("/usr/") || whole.starts_with(cache.string())) continue;
    const auto bytes = content(whole);
    if (!bytes) return {};
    out += hash_of(*bytes) + " " + whole + "\n";
  }
  return out;
}

/// Whether a library that was made of `lines` would be made of the same again.
bool is_current(const std::string& lines, const fs::path& cache) {
  Words files;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) files.push_back(line.substr(line.find(' ') + 1));
  return !files.empty() && made_of(files, cache) == lines;
}

void write(const fs::path& file, std::string_view bytes) {
  std::ofstream out(file, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw UsageError("cannot write '" + file.string() + "'; $XDG_CACHE_HOME names another folder");
}

}  // namespace

bool is_plugin_source(const fs::path& file) {
  for (const char* const known : {".cu", ".c", ".cpp", ".cc", ".cxx"})
    if (extension(file) == known) return true;
  return false;
}

fs::path plugin_cache() {
  if (const std::string own = environment("XDG_CACHE_HOME"); own.starts_with("/")) return fs::path(own) / "reductio";
  if (const std::string home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "reductio";
  return fs::temp_directory_path() / ("reductio-" + std::to_string(getuid()));
}

fs::path compiled_plugin(const fs::path& source, const CompileOptions& options) {
  std::error_code error;
  if (!fs::is_regular_file(source, error)) fail(source, "there is no such file");
  const Compiler compiler = compiler_of(source, options);
  const fs::path cache = plugin_cache();
  const std::string header = hash_of(plugin_header);
  const fs::path include = cache / ("include-" + header.substr(0, 16));
  fs::create_directories(include / "reductio", error);
  if (error) throw UsageError("cannot make '" + include.string() + "': " + error.message() +
                              "; $XDG_CACHE_HOME names another folder");
  const std::string own = "." + std::to_string(getpid());  // another process may be at the same
  if (const fs::path there = include / "reductio" / "plugin.h"; content(there) != plugin_header) {
    write(there.string() + own, plugin_header);
    fs::rename(there.string() + own, there);
  }

  Words command = compiler.command;
  command.insert(command.end(), compiler.flags.begin(), compiler.flags.end());
  command.push_back("-I" + include.string());
  command.push_back(source.string());
  std::string key = fs::absolute(source).lexically_normal().string() + "\n" + version_of(compiler.command);
  for (const Words& words : {compiler.command, compiler.flags})
    for (const std::string& word : words) key += "\n" + word;
  key += "\n" + header;
  const fs::path made = cache / (source.stem().string() + "-" + hash_of(key));
  const fs::path library = made.string() + ".so", list = made.string() + ".made_of";
  if (const auto lines = content(list); lines && fs::exists(library) && is_current(*lines, cache)) return library;

  if (options.tell) options.tell(in_one_line(command));
  const fs::path draft = library.string() + own, rule = made.string() + ".d" + own;
  Words whole = command;
  const Words outputs{"-MD", "-MF", rule.string(), "-o", draft.string()};
  whole.insert(whole.end(), outputs.begin(), outputs.end());
  const int code = run(whole, STDERR_FILENO);
  const std::string files = content(rule).value_or("");
  fs::remove(rule, error);
  if (code != 0) {
    fs::remove(draft, error);
    fail(source, fs::path(compiler.command[0]).filename().string() + " ended with exit code " + std::to_string(code) +
                     ", and says why above");
  }
  // The list last: a library without a current list is made anew.
  fs::rename(draft, library);
  write(list.string() + own, made_of(files_in_rule(files), cache));
  fs::rename(list.string() + own, list);
  return library;
}

}  // namespace reductio
