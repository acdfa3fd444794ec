#include "plugin/toolchain.h"

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
#include <sstream>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace reductio::toolchain {

/// FNV-1a from two starts.
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

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

static bool runs(const fs::path& program) { return access(program.c_str(), X_OK) == 0 && !fs::is_directory(program); }

fs::path on_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return runs(program) ? fs::path(program) : fs::path();
  std::istringstream folders(environment("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const fs::path there = fs::path(folder.empty() ? "." : folder) / program; runs(there)) return there;
  return {};
}

Words command_in(const std::string& variable, const Words& usual, bool& wrong) {
  const std::string text = environment(variable.c_str());
  Words own = runs(text) ? Words{text} : words_in(text);
  wrong = !own.empty();
  for (const std::string& name : own.empty() ? usual : Words{own[0]})
    if (const fs::path p = on_path(name); !p.empty()) {
      own.resize(std::max<std::size_t>(own.size(), 1));
      own[0] = p.string();
      wrong = false;
      return own;
    }
  return {};
}

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

void fail(const fs::path& source, const std::string& why) {
  throw UsageError("cannot compile '" + source.string() + "': " + why);
}

pid_t start(const Words& command, int output) {
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
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

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

namespace {

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

}  // namespace

void write(const fs::path& file, std::string_view bytes) {
  std::ofstream out(file, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw UsageError("cannot write '" + file.string() + "'; set $XDG_CACHE_HOME to another folder");
}

void write_once(const fs::path& file, std::string_view bytes) {
  if (content(file) == bytes) return;
  const fs::path draft = file.string() + "." + std::to_string(getpid());
  write(draft, bytes);
  fs::rename(draft, file);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw UsageError("cannot create '" + folder.string() + "': " + error.message() +
                     "; set $XDG_CACHE_HOME to another folder");
}

CacheEntry::CacheEntry(const std::string& name, const std::string& key)
    : made_(plugin_cache() / (name + "-" + hash_of(key))), own_("." + std::to_string(getpid())) {}

bool CacheEntry::is_current(const Words& extensions) const {
  for (const std::string& extension : extensions)
    if (!fs::exists(path(extension))) return false;
  const auto lines = content(path(".made_of"));
  return lines && toolchain::is_current(*lines, plugin_cache());
}

void CacheEntry::keep(const Words& extensions, const std::string& rule) const {
  for (const std::string& extension : extensions) fs::rename(draft(extension), path(extension));
  // The list last: what has no current list is made anew.
  write(draft(".made_of"), made_of(files_in_rule(rule), plugin_cache()));
  fs::rename(draft(".made_of"), path(".made_of"));
}

fs::path plugin_cache() {
  if (const std::string own = environment("XDG_CACHE_HOME"); own.starts_with("/")) return fs::path(own) / "reductio";
  if (const std::string home = environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "reductio";
  return fs::temp_directory_path() / ("reductio-" + std::to_string(getuid()));
}

}  // namespace reductio::toolchain
