#pragma once
/// Results on disk: CSV quoted by RFC 4180, and raw samples as gzip members that can be read one by one. A run killed
/// at any instant leaves whole rows and at most one cut row.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace reductio {

/// Results could not be written: disk full, closed pipe, no permission. Earlier blocks stand.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Fields = std::vector<std::string>;

/// One record with its line end. Fields with commas, quotes or line ends are quoted.
std::string csv_record(const Fields&);

struct CsvText {
  std::vector<Fields> records;  ///< whole records only
  std::size_t whole_bytes = 0;  ///< where the last whole record ends; the text beyond it is a cut record
};
/// Reads what csv_record() writes, and what other programs make of RFC 4180 (CR LF). A record without its line end,
/// or inside an unfinished quoted field, is cut.
CsvText parse_csv(std::string_view);

/// The records of a file of results, in which no field has a line end: so a damaged line harms no other.
struct CsvLines {
  std::vector<Fields> records{};      ///< of the whole, sound lines
  std::vector<std::string> damage{};  ///< "8:34: ...", line and column and what is wrong, a line each
  std::string cut{};                  ///< the last line, where it has no line end
};
/// Throws UsageError where nothing can be read: UTF-16, or a damaged header. Skips a byte-order mark.
CsvLines parse_csv_lines(std::string_view, const std::string& file);

[[noreturn]] void refuse_existing(const std::filesystem::path& results);

/// A file that is only ever appended to, in whole blocks, by one process at a time.
class AppendFile {
 public:
  /// Makes a new file; UsageError if it exists.
  static AppendFile create(const std::filesystem::path&);
  /// Opens an existing file to append, or makes it.
  static AppendFile open(const std::filesystem::path&);
  AppendFile(AppendFile&&) noexcept;
  AppendFile& operator=(AppendFile&&) = delete;
  ~AppendFile();

  /// Writes the whole block at once. If it does not fit, the part written is taken back and OutputError says why;
  /// earlier blocks stand.
  void append(std::string_view block);
  void truncate(std::size_t bytes);
  std::string read() const;

 private:
  AppendFile(int fd, std::filesystem::path path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::filesystem::path path_;
};

/// One gzip member holding `text`; members may follow one another in a file.
std::string gzip_member(std::string_view text);
/// The text of all whole members; stops at one that was cut.
std::string gunzip(std::string_view compressed);
/// Whether there is nothing but whole members.
bool gzip_intact(std::string_view compressed);

/// A whole file; nothing where it cannot be opened.
std::optional<std::string> content_of(const std::filesystem::path&);

/// Replaces a file's content in one step: readers see the old or the new, never half.
void write_whole_file(const std::filesystem::path&, std::string_view content);

/// Before the work whose outcome goes there: throws UsageError, with the advice, where the file cannot be written.
/// Leaves it as it is.
void check_destination(const std::filesystem::path& file, const std::string& advice);
/// "; it is a link to X, which does not exist" of the first part of the path that is such a link; else empty.
std::string dangling_link_in(const std::filesystem::path&);

/// Locks a folder against other processes, and others in this one, to read, change and write back a file.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int fd_;
};

}  // namespace reductio
