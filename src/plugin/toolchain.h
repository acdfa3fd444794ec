#pragma once
/// Running compilers, and the cache of what they made.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reductio::toolchain {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

/// 128 bits, for files of a cache, not against an attacker.
std::string hash_of(std::string_view bytes);
/// Of a file; nothing if there is none that can be read.
std::optional<std::string> content(const fs::path&);
/// Throws UsageError, which names $XDG_CACHE_HOME.
void write(const fs::path&, std::string_view bytes);
/// Writes it unless it is there like this, and never half: others may be at the same.
void write_once(const fs::path&, std::string_view bytes);
void make_folder(const fs::path&);

/// Empty where it is not set.
std::string environment(const char* name);
/// The program of that name or path; empty if there is none.
fs::path on_path(const std::string& program);
/// A command from a variable of the environment if that is set, else the first of `usual` that is there. Empty if there
/// is none; `wrong` is then true if the variable names one.
Words command_in(const std::string& variable, const Words& usual, bool& wrong);
/// A shell's words: between blanks; quotes keep them together.
Words words_in(const std::string& text);
std::string in_one_line(const Words& command);

[[noreturn]] void fail(const fs::path& source, const std::string& why);

/// A process with stdout and stderr in `output`.
pid_t start(const Words& command, int output);
/// Its exit code; 128 and the signal's number where one ended it.
int wait_for(pid_t);
inline int run(const Words& command, int output) { return wait_for(start(command, output)); }
/// What a compiler prints of its version.
std::string version_of(Words command);

/// What was compiled of some files lies in the cache beside a list of these, with their hashes: it is current while
/// they are as they were. The system's files and the cache's own are left out.
class CacheEntry {
 public:
  /// `key` tells apart what else it depends on: compiler, flags.
  CacheEntry(const std::string& name, const std::string& key);
  fs::path path(const std::string& extension) const { return made_.string() + extension; }
  /// Where another process does not write.
  fs::path draft(const std::string& extension) const { return path(extension).string() + own_; }
  bool is_current(const Words& extensions) const;
  /// The drafts become the files. `rule`: a make rule, of which the files are taken.
  void keep(const Words& extensions, const std::string& rule) const;

 private:
  fs::path made_;
  std::string own_;
};

/// $XDG_CACHE_HOME/reductio, else ~/.cache/reductio, else a folder of the user's in the system's for temporary files.
fs::path plugin_cache();

}  // namespace reductio::toolchain
