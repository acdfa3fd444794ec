#include "plugin/simulated.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <regex>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/program_file.h"
#include "device/backend.h"
#include "plugin/columns.h"
#include "plugin/launches.h"
#include "plugin/toolchain.h"
#include "reductio_plugin_header.h"
#include "reductio_sim_files.h"

namespace reductio {

using namespace toolchain;

namespace {

constexpr const char* no_clang =
    "there is no clang++ on $PATH, which compiles kernels for the simulated device (Debian and Ubuntu: apt-get "
    "install clang); or set $REDUCTIO_CLANG to one, 14 or newer";

Words clang() {
  bool wrong = false;
  Words command = command_in("REDUCTIO_CLANG",
                             {"clang++", "clang++-19", "clang++-18", "clang++-17", "clang++-16", "clang++-15",
                              "clang++-14"},
                             wrong);
  if (command.empty())
    throw UsageError(wrong ? "$REDUCTIO_CLANG is '" + environment("REDUCTIO_CLANG") + "', which is not a program"
                           : no_clang);
  return command;
}

/// The headers here are C++20, which takes nearly all that is written in an older C++.
bool is_older_standard(const std::string& flag) {
  static const std::regex older(R"rx(-std=(c|gnu)\+\+(98|03|0x|11|1y|14|1z|17))rx");
  return std::regex_match(flag, older);
}

/// Tells this program from one that rewrites sources in another way.
std::string own_build() {
  std::error_code error;
  const fs::path program = program_file();
  return std::to_string(fs::file_size(program, error)) + " " +
         std::to_string(fs::last_write_time(program, error).time_since_epoch().count());
}

/// A CUDA toolkit's folder of headers, in whose place are those here.
bool is_toolkit(const std::string& flag) {
  std::error_code error;
  return flag.starts_with("-I") && fs::exists(fs::path(flag.substr(2)) / "cuda_runtime_api.h", error);
}

/// clang++ 14 knows C++23 by the name that it had before.
std::string standard_of(const std::string& flag) {
  return flag.ends_with("++23") ? flag.substr(0, flag.size() - 2) + "2b" : flag;
}

/// The headers and scripts, which the program carries with it, as files.
fs::path shim(std::string& hash) {
  std::string all;
  for (const auto& [path, text] : sim_files) all += std::string(path) + "\n" + text;
  hash = hash_of(all + plugin_header);
  const fs::path folder = plugin_cache() / ("sim-" + hash.substr(0, 16));
  const fs::path ready = folder / "ready";
  if (fs::exists(ready)) return folder;
  for (const auto& [path, text] : sim_files) {
    make_folder((folder / path).parent_path());
    write_once(folder / path, text);
  }
  make_folder(folder / "reductio");
  write_once(folder / "reductio" / "plugin.h", plugin_header);
  fs::permissions(folder / "device/sim/compile_kernels", fs::perms::owner_all);
  write_once(ready, "");
  return folder;
}

/// Of what the preprocessor says: where the source includes a library that is not simulated, "prog.cu:3: <cub/cub.cuh>
/// is ...". Empty if that is not what is wrong.
std::string library_in(const std::string& said) {
  static const std::regex missing(R"rx(([^\n:]+):(\d+):\d+: fatal error: '([^']+)' file not found)rx");
  static const std::regex included(R"rx(In file included from ([^\n:]+):(\d+):)rx");
  static const std::regex name(R"rx(# *include *[<"]([^>"]+)[>"])rx");
  std::smatch match;
  std::string file, line, header;
  if (std::regex_search(said, match, included)) {
    file = match[1], line = match[2];
    std::istringstream text(content(file).value_or(""));
    std::string one;
    for (int i = std::stoi(line); i > 0; --i) std::getline(text, one);
    std::smatch of_line;
    if (std::regex_search(one, of_line, name)) header = of_line[1];
  } else if (std::regex_search(said, match, missing)) {
    file = match[1], line = match[2], header = match[3];
  }
  return is_refused_header(header) ? refusal_of_header(file + ":" + line, header) : "";
}

/// What a compiler says of a source whose macros are expanded: of those it has no column (plugin/columns.h).
void print_with_known_columns(const std::string& said) {
  static const std::regex unknown(R"rx((^|\n)([^\n:]+:\d+):\d{4,}:)rx");
  std::fputs(std::regex_replace(said, unknown, "$1$2:").c_str(), stderr);
}

/// A process's exit code, and what it says.
std::pair<int, std::string> run_and_listen(const Words& command, const std::string& log) {
  const int to = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int code = run(command, to);
  close(to);
  return {code, content(log).value_or("")};
}

/// Files that are gone when this is.
struct Drafts {
  Words paths;
  std::string operator()(std::string path) { return paths.emplace_back(std::move(path)); }
  ~Drafts() {
    std::error_code error;
    for (const std::string& path : paths) fs::remove(path, error);
  }
};

}  // namespace

std::array<fs::path, optimizations.size()> compiled_for_simulation(const std::vector<fs::path>& sources,
                                                                   const SimulatedOptions& options) {
  require_sim();
  std::error_code error;
  for (const fs::path& source : sources)
    if (!fs::is_regular_file(source, error)) fail(source, "there is no such file");
  const Words compiler = clang();
  std::string key;
  const fs::path headers = shim(key);
  key += version_of(compiler) + "\n" + own_build();
  std::string compiler_lines;
  for (const std::string& word : compiler) compiler_lines += (compiler_lines.empty() ? "" : "\n") + word;
  key += "\n" + compiler_lines;
  for (const std::string& flag : options.flags) key += "\n" + flag;
  for (const fs::path& source : sources) key += "\n" + fs::absolute(source).lexically_normal().string();
  const CacheEntry entry(sources.front().stem().string(), key);
  const Words objects{".O0.so", ".O1.so"};
  if (entry.is_current(objects)) return {entry.path(objects[0]), entry.path(objects[1])};

  std::string names, rules;
  for (const fs::path& source : sources) names += (names.empty() ? "" : " ") + source.string();
  if (options.tell) options.tell(names);
  Drafts drafts;
  std::array<Words, optimizations.size()> parts;
  const auto require = [&](const fs::path& source, int code) {
    if (code != 0)
      fail(source, fs::path(compiler[0]).filename().string() + " failed with exit code " + std::to_string(code) +
                       "; see its messages above");
  };
  Words standard{"-std=gnu++20"}, flags;
  for (const std::string& flag : options.flags) {
    if (is_older_standard(flag) || is_toolkit(flag)) continue;
    if (flag.starts_with("-std=")) standard.push_back(standard_of(flag));
    else flags.push_back(flag);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const fs::path& source = sources[i];
    const std::string number = "." + std::to_string(i);
    const std::string rule = drafts(entry.draft(number + ".d")), text = drafts(entry.draft(number + ".ii"));
    Words preprocess = compiler;
    for (const Words* const words : {&standard, &flags})
      preprocess.insert(preprocess.end(), words->begin(), words->end());
    for (const char* const folder : {"device/sim/cuda", "."})
      preprocess.insert(preprocess.end(), {"-isystem", (headers / folder).string()});
    if (source.extension() == ".cu") preprocess.insert(preprocess.end(), {"-include", "cuda_runtime.h"});
    preprocess.insert(preprocess.end(), {"-E", "-x", "c++", source.string(), "-MD", "-MF", rule, "-o", text});
    const std::string log = drafts(entry.draft(number + ".err"));
    if (const auto [code, said] = run_and_listen(preprocess, log); code != 0) {
      if (const std::string why = library_in(said); !why.empty()) throw UsageError(why);
      std::fputs(said.c_str(), stderr);
      fail(source, "see the compiler's messages above");
    }
    rules += content(rule).value_or("") + "\n";
    write(text, with_launches_as_calls(with_columns_of_file(content(text).value_or(""))));

    const std::string object = entry.draft(number + ".o");
    for (std::size_t o = 0; o < optimizations.size(); ++o)
      parts[o].push_back(drafts(object + "." + (optimizations[o] + 1)));
    Words compile{"/usr/bin/env", "REDUCTIO_COMPILES_KERNELS=" + compiler_lines, "REDUCTIO_FOR_A_PROGRAM=1",
                  (headers / "device/sim/compile_kernels").string()};
    compile.insert(compile.end(), standard.begin(), standard.end());
    compile.insert(compile.end(),
                   {"-fPIC", "-w", "-fno-caret-diagnostics", "-x", "c++-cpp-output", text, "-c", "-o", object});
    const auto [code, said] = run_and_listen(compile, log);
    print_with_known_columns(said);
    require(source, code);
  }
  for (std::size_t o = 0; o < optimizations.size(); ++o) {
    Words link = compiler;
    link.insert(link.end(), {"-shared", "-Wl,-Bsymbolic", "-o", entry.draft(objects[o]).string()});
    link.insert(link.end(), parts[o].begin(), parts[o].end());
    require(sources.front(), run(link, STDERR_FILENO));
  }
  entry.keep(objects, rules);
  return {entry.path(objects[0]), entry.path(objects[1])};
}

}  // namespace reductio
