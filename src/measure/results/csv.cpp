#include "measure/results/csv.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace reductio {
namespace {

std::string cause(int error) { return std::generic_category().message(error); }

[[noreturn]] void write_failed(const std::filesystem::path& path, int error) {
  std::string hint;
  if (error == ENOSPC || error == EDQUOT)
    hint = "; rows so far are intact: free some space; 'reductio run' then continues with --resume";
  if (error == EFBIG) hint = "; rows so far are intact: raise 'ulimit -f'; 'reductio run' then continues with --resume";
  throw OutputError("cannot write " + path.string() + ": " + cause(error) + hint);
}

/// Writes all of `block` or returns the error that stopped it.
int write_all(int fd, std::string_view block) {
  while (!block.empty()) {
    const ssize_t n = ::write(fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENOSPC;
    block.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

/// The whole content of an open file, from its start.
std::string read_all(int fd, const std::filesystem::path& path) {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw OutputError("cannot read " + path.string() + ": " + cause(errno));
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace

void refuse_existing(const std::filesystem::path& path) {
  throw UsageError("results already exist: " + path.string() + "; continue with --resume, or choose another --out");
}

namespace {

int open_locked(const std::filesystem::path& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    if (errno == EEXIST) refuse_existing(path);
    throw UsageError("cannot write " + path.string() + ": " + cause(errno) + "; choose another --out");
  }
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(fd);
    throw UsageError("another run is writing " + path.string() + "; wait for it, or choose another --out");
  }
  return fd;
}

}  // namespace

std::string csv_record(const Fields& fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i) out += ',';
    const std::string& c = fields[i];
    if (c.find_first_of(",\"\r\n") == std::string::npos) {
      out += c;
      continue;
    }
    out += '"';
    for (char ch : c) {
      if (ch == '"') out += '"';
      out += ch;
    }
    out += '"';
  }
  return out += '\n';
}

CsvText parse_csv(std::string_view text) {
  CsvText out;
  Fields record;
  std::string field;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"')
        field += c;
      else if (i + 1 < text.size() && text[i + 1] == '"')
        field += text[++i];
      else
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      record.push_back(std::exchange(field, {}));
    } else if (c == '\n') {
      record.push_back(std::exchange(field, {}));
      out.records.push_back(std::exchange(record, {}));
      out.whole_bytes = i + 1;
    } else if (c != '\r') {
      field += c;
    }
  }
  return out;
}

namespace {

/// Where a line breaks RFC 4180, from 0; npos: nowhere.
std::size_t stray_quote(std::string_view line) {
  bool quoted = false, closed = false;
  std::size_t opened = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"') continue;
      if (i + 1 < line.size() && line[i + 1] == '"')
        ++i;
      else
        quoted = false, closed = true;
    } else if (c == ',' || c == '\r') {
      closed = false;
    } else if (closed || (c == '"' && i > 0 && line[i - 1] != ',')) {
      return closed ? opened : i;
    } else if (c == '"') {
      quoted = true, opened = i;
    }
  }
  return quoted ? opened : line.npos;
}

}  // namespace

CsvLines parse_csv_lines(std::string_view text, const std::string& file) {
  const auto refuse = [&](const std::string& why) { throw UsageError(file + " " + why); };
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    refuse("is UTF-16, as some editors save; save it as UTF-8, or copy the whole results folder again");
  const std::string_view mark = "\xef\xbb\xbf";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  CsvLines out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) {
      out.cut = std::string(text);
      break;
    }
    const std::string_view line = text.substr(0, end), whole = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    const auto damaged = [&](std::size_t at, const std::string& what) {
      out.damage.push_back(fmt::format("{}:{}: {}", number, at + 1, what));
      if (number == 1) refuse("has a damaged header, at line and column " + out.damage.front() + "; fix it");
    };
    if (const std::size_t nul = line.find('\0'); nul != line.npos) {
      damaged(nul, "a NUL byte");
    } else if (const std::size_t quote = stray_quote(line); quote != line.npos) {
      damaged(quote, "a quotation mark that does not belong there");
    } else {
      Fields fields = parse_csv(whole).records.front();
      if (number > 1 && fields.size() != out.records.front().size())
        damaged(0, fmt::format("{} fields where {} belong", fields.size(), out.records.front().size()));
      else
        out.records.push_back(std::move(fields));
    }
  }
  return out;
}

AppendFile AppendFile::create(const std::filesystem::path& path) { return {open_locked(path, O_EXCL), path}; }
AppendFile AppendFile::open(const std::filesystem::path& path) { return {open_locked(path, 0), path}; }
AppendFile::AppendFile(AppendFile&& o) noexcept : fd_(std::exchange(o.fd_, -1)), path_(std::move(o.path_)) {}
AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

void AppendFile::append(std::string_view block) {
  const off_t before = ::lseek(fd_, 0, SEEK_END);
  if (const int error = write_all(fd_, block)) {
    // Not on a pipe or a device, where there is nothing to take back.
    if (before >= 0 && ::ftruncate(fd_, before) != 0 && errno != EINVAL) write_failed(path_, errno);
    write_failed(path_, error);
  }
}

void AppendFile::truncate(std::size_t bytes) {
  if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) write_failed(path_, errno);
}

std::string AppendFile::read() const { return read_all(fd_, path_); }

std::string gzip_member(std::string_view text) {
  z_stream z{};
  if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw OutputError("zlib cannot start compressing");
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  if (status != Z_STREAM_END) throw OutputError("zlib failed to compress the raw samples");
  return out;
}

namespace {

/// The text of the first member, which is then cut off `compressed`; nothing if it is not whole.
std::optional<std::string> take_member(std::string_view& compressed) {
  z_stream z{};
  if (inflateInit2(&z, 15 + 16) != Z_OK) throw OutputError("zlib cannot start decompressing");
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  z.avail_in = static_cast<uInt>(compressed.size());
  std::string text;
  std::vector<char> buffer(1 << 16);
  int status = Z_OK;
  while (status == Z_OK) {
    z.next_out = reinterpret_cast<Bytef*>(buffer.data());
    z.avail_out = static_cast<uInt>(buffer.size());
    status = inflate(&z, Z_NO_FLUSH);
    text.append(buffer.data(), buffer.size() - z.avail_out);
  }
  const std::size_t used = compressed.size() - z.avail_in;
  inflateEnd(&z);
  if (status != Z_STREAM_END) return std::nullopt;
  compressed.remove_prefix(used);
  return text;
}

}  // namespace

std::string gunzip(std::string_view compressed) {
  std::string out;
  while (!compressed.empty()) {
    const auto member = take_member(compressed);
    if (!member) break;
    out += *member;
  }
  return out;
}

bool gzip_intact(std::string_view compressed) {
  while (!compressed.empty())
    if (!take_member(compressed)) return false;
  return true;
}

std::optional<std::string> content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_whole_file(const std::filesystem::path& path, std::string_view content) {
  // A device or a pipe is written to; a draft in its place would end it.
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const int error = fd < 0 ? errno : write_all(fd, content);
    if (fd >= 0) ::close(fd);
    if (error) throw OutputError("cannot write " + path.string() + ": " + cause(error));
    return;
  }
  // Two programs may write one folder at once, each its own draft.
  const std::filesystem::path draft = fmt::format("{}.{}.new", path.string(), ::getpid());
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw OutputError("cannot write " + path.string() + ": " + cause(errno));
  const int error = write_all(fd, content);
  ::close(fd);
  if (error) {
    ::unlink(draft.c_str());
    write_failed(path, error);
  }
  std::error_code renamed;
  std::filesystem::rename(draft, path, renamed);
  if (renamed) throw OutputError("cannot write " + path.string() + ": " + renamed.message());
}

std::string dangling_link_in(const std::filesystem::path& path) {
  std::error_code none;
  std::filesystem::path part;
  for (const auto& name : path) {
    part /= name;
    if (std::filesystem::is_symlink(part, none) && !std::filesystem::exists(part, none))
      return fmt::format("; '{}' is a link to '{}', which does not exist", part.string(),
                         std::filesystem::read_symlink(part, none).string());
  }
  return "";
}

void check_destination(const std::filesystem::path& file, const std::string& advice) {
  std::error_code none;
  const auto refuse = [&](int error) {
    throw UsageError(
        fmt::format("cannot write '{}': {}{}; {}", file.string(), cause(error), dangling_link_in(file), advice));
  };
  if (std::filesystem::is_directory(file, none)) refuse(EISDIR);
  if (std::filesystem::exists(file, none)) {  // a pipe even, which to open would wait for its reader
    if (::access(file.c_str(), W_OK) != 0) refuse(errno);
    return;
  }
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) refuse(errno);
  ::close(fd);
  const auto made = std::filesystem::is_symlink(file, none) ? std::filesystem::canonical(file, none) : file;
  std::filesystem::remove(made, none);
}

FolderLock::FolderLock(const std::filesystem::path& folder)
    : fd_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (fd_ < 0) throw OutputError("cannot open the folder " + folder.string() + ": " + cause(errno));
  // A file system without locks refuses; the file is written all the same.
  while (::flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FolderLock::~FolderLock() { ::close(fd_); }

}  // namespace reductio
