#include "experiments/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "measure/results/csv.h"

namespace reductio::cli {
namespace {

int output_error = 0;  // errno of the first write to stdout that failed: only that one tells why

/// Columns of the terminal; 0 where there is none.
std::size_t width(std::FILE* stream) {
  winsize size{};
  if (!is_terminal(stream) || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

/// Code points, which is what a field takes on the screen for the letters used here.
std::size_t letters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// At most `limit` letters, ended by "..." if something was cut.
std::string shorten(std::string_view text, std::size_t limit) {
  if (letters(text) <= limit) return std::string(text);
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if ((text[end] & 0xC0) != 0x80 && ++seen > (limit > 3 ? limit - 3 : 0)) break;
  return std::string(text.substr(0, end)) + std::string(std::min<std::size_t>(limit, 3), '.');
}

/// Broken at spaces into lines of at most `limit` letters; a word that is longer has a line of its own.
std::vector<std::string> fold(std::string_view text, std::size_t limit) {
  std::vector<std::string> lines{""};
  while (!text.empty()) {
    const auto space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    if (!lines.back().empty() && letters(lines.back()) + 1 + letters(word) > limit) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + std::string(word);
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return lines;
}

}  // namespace

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

bool has_colour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return is_terminal(stream) && !(no_color && *no_color) && !(term && std::string_view(term) == "dumb");
}

std::string ink(Ink colour, std::string_view text, std::FILE* stream) {
  if (!has_colour(stream)) return std::string(text);
  static constexpr const char* codes[] = {"1", "2", "31", "32", "33"};
  return fmt::format("\033[{}m{}\033[0m", codes[static_cast<int>(colour)], text);
}

void tell(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void print_message(const std::string& text) { tell("reductio: " + text + "\n"); }

void print_warning(const std::string& text) {
  tell(ink(Ink::yellow, "reductio: WARNING: " + text, stderr) + "\n");
}

std::string cannot_write_output(int error) {
  return std::string("cannot write to standard output") + (error ? ": " : "") + (error ? std::strerror(error) : "") +
         "; what went into files stands";
}

void push_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 && !output_error) output_error = errno;
}

void flush_output() {
  push_output();
  if (std::ferror(stdout)) throw OutputError(cannot_write_output(output_error));
}

std::string show_size(std::size_t n) {
  if (n < 1024) return std::to_string(n);
  if (std::has_single_bit(n)) return fmt::format("2^{}", std::countr_zero(n));
  if (std::has_single_bit(n + 1)) return fmt::format("2^{}-1", std::countr_zero(n + 1));
  if (std::has_single_bit(n - 1)) return fmt::format("2^{}+1", std::countr_zero(n - 1));
  return std::to_string(n);
}

std::string show_seconds(double s) {
  if (s < 1e-6) return fmt::format("{:.3g} ns", s * 1e9);
  if (s < 1e-3) return fmt::format("{:.3g} us", s * 1e6);
  if (s < 1) return fmt::format("{:.3g} ms", s * 1e3);
  if (s < 60) return fmt::format("{:.3g} s", s);
  const auto whole = static_cast<long>(std::lround(s));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string show_bytes(std::size_t bytes) {
  static constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string counted(std::size_t n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::string join(const std::vector<std::string>& items, std::string_view separator) {
  return fmt::format("{}", fmt::join(items, separator));
}

void Table::print(std::FILE* stream) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], letters(row[i]));
  std::size_t indent = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) indent += widths[i] + 2;
  const std::size_t columns = width(stream);
  // Folding into a sliver would be harder to read than the terminal's own wrapping.
  const std::size_t last = columns > indent + 20 ? columns - indent : std::string::npos;

  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i + 1 < rows_[r].size(); ++i)
      line += rows_[r][i] + std::string(widths[i] - letters(rows_[r][i]) + 2, ' ');
    const auto folded = fold(rows_[r].back(), last);
    line += folded.front();
    for (std::size_t i = 1; i < folded.size(); ++i) line += "\n" + std::string(indent, ' ') + folded[i];
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print(stream, "{}\n", r == 0 ? ink(Ink::bold, line, stream) : line);
  }
}

Progress::Progress(bool quiet) : on_(!quiet && is_terminal(stderr)) {}

void Progress::show(std::size_t done, std::size_t total, std::string_view current, std::optional<double> remaining_s) {
  if (!on_) return;
  const auto now = Clock::now();
  if (shown_ && done < total && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  const double spent = std::chrono::duration<double>(now - start_).count();
  // Early estimates jump about: wait for a second's worth of evidence.
  if (!remaining_s && done > 0 && spent > 1)
    remaining_s = spent / static_cast<double>(done) * static_cast<double>(total - done);
  const std::string left = remaining_s && *remaining_s >= 0 && done < total
                               ? ", about " + show_seconds(std::ceil(*remaining_s)) + " left"
                               : "";
  const double percent = total ? 100.0 * static_cast<double>(done) / static_cast<double>(total) : 100.0;
  const std::string line = fmt::format("{}/{} ({:.0f} %{})  {}", done, total, percent, left, current);
  const std::size_t columns = width(stderr);
  tell("\r\033[K" + shorten(line, columns > 1 ? columns - 1 : 79));
}

void Progress::clear() {
  if (!shown_) return;
  tell("\r\033[K");
  shown_ = false;
}

}  // namespace reductio::cli
