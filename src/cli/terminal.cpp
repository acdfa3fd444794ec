#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "measure/results/csv.h"

namespace reductio::cli {
namespace {

int output_error = 0;  // errno of the first write to stdout that failed: only that one tells why

/// Columns of the terminal; 0 where there is none.
std::size_t terminal_width(std::FILE* stream) {
  winsize size{};
  if (!is_terminal(stream) || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

/// What the text takes on the screen: code points, without the escape sequences of ink().
std::size_t letters(std::string_view text) {
  std::size_t count = 0;
  bool escape = false;
  for (const char c : text) {
    if (c == '\033') escape = true;
    if (!escape && (c & 0xC0) != 0x80) ++count;
    if (c == 'm') escape = false;
  }
  return count;
}

/// At most `limit` letters, ended by "..." if something was cut.
std::string shorten(std::string_view text, std::size_t limit) {
  if (letters(text) <= limit) return std::string(text);
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if ((text[end] & 0xC0) != 0x80 && ++seen > (limit > 3 ? limit - 3 : 0)) break;
  return std::string(text.substr(0, end)) + std::string(std::min<std::size_t>(limit, 3), '.');
}

/// One line of text broken between words, the first line `limit` letters long, the others `hang` less.
std::vector<std::string> fold(std::string_view text, std::size_t limit, std::size_t hang = 0) {
  const std::size_t start = std::min(text.find_first_not_of(' '), text.size());
  std::vector<std::string> lines{std::string(text.substr(0, start))};
  bool empty = true;  // nothing but its indentation is in the last line
  for (text.remove_prefix(start); !text.empty();) {
    const auto space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    const std::size_t room = limit > hang ? limit - (lines.size() > 1 ? hang : 0) : 0;
    if (!empty && letters(lines.back()) + 1 + letters(word) > room) {
      lines.emplace_back();
      empty = true;
    }
    lines.back() += (empty ? "" : " ") + std::string(word);
    empty = false;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return lines;
}

}  // namespace

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) == 1; }

namespace {

/// A terminal that obeys escape sequences.
bool obeys_escapes(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  return is_terminal(stream) && !(term && std::string_view(term) == "dumb");
}

}  // namespace

bool has_colour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  return obeys_escapes(stream) && !(no_color && *no_color);
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
         "; files that were written are kept";
}

void try_to_print(const std::function<void()>& print) {
  if (output_error) return;
  try {
    print();
  } catch (const std::system_error& e) {  // fmt's
    if (!std::ferror(stdout)) throw;
    output_error = e.code().value();
  }
}

std::string why_not(const std::function<void()>& work) {
  try {
    work();
    return "";
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

bool output_was_closed() { return output_error == EPIPE; }

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

std::size_t text_width(std::FILE* stream) {
  const char* set = std::getenv("COLUMNS");
  if (const long columns = set ? std::strtol(set, nullptr, 10) : 0; columns > 0)
    return static_cast<std::size_t>(columns);
  const std::size_t columns = terminal_width(stream);
  return columns ? columns : 100;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t hang) {
  std::string out;
  for (;;) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += join(fold(text.substr(0, end), columns, hang), "\n" + std::string(hang, ' '));
    if (end == text.size()) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string wrapped_command(std::string_view text, std::size_t hang) {
  if (text.size() <= text_width()) return std::string(text);
  std::string out;
  for (const char c : wrapped(text, std::max<std::size_t>(text_width(), 3) - 2, hang))
    out += c == '\n' ? " \\\n" : std::string(1, c);
  return out;
}

void say(std::string_view text, std::size_t hang) { fmt::print("{}\n", wrapped(text, text_width(), hang)); }

void say_bold(std::string_view text) { fmt::print("{}\n", ink(Ink::bold, wrapped(text, text_width()))); }

namespace {

using Rows = std::vector<std::vector<std::string>>;

bool is_section(const std::vector<std::string>& row) { return row.size() == 1; }

/// Of each column.
std::vector<std::size_t> widths_of(const Rows& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    if (!is_section(row))
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], letters(row[i]));
  return widths;
}

/// Where the last column begins.
std::size_t indent_of(const std::vector<std::size_t>& widths) {
  std::size_t indent = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) indent += widths[i] + 2;
  return indent;
}

/// Removes columns with one value, except the first and the last, and returns them: "type f32, n 2^20".
std::string take_common(Rows& rows) {
  std::vector<std::string> common;
  if (rows.size() < 3) return "";
  for (std::size_t i = rows.front().size() - 2; i > 0 && rows.front().size() > 2; --i) {
    const std::string value = is_section(rows[1]) ? rows[2][i] : rows[1][i];
    if (!std::all_of(rows.begin() + 1, rows.end(), [&](auto& r) { return is_section(r) || r[i] == value; })) continue;
    if (!value.empty()) common.insert(common.begin(), rows.front()[i] + " " + value);
    for (auto& row : rows)
      if (!is_section(row)) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return join(common, ", ");
}

std::string aligned(const std::vector<std::string>& row, const std::vector<std::size_t>& widths, std::size_t last) {
  std::string line;
  for (std::size_t i = 0; i + 1 < row.size(); ++i) line += row[i] + std::string(widths[i] - letters(row[i]) + 2, ' ');
  line += join(fold(row.back(), last), "\n" + std::string(indent_of(widths), ' '));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// A row as a paragraph, broken between its fields where that can be.
std::string paragraph(const std::vector<std::string>& header, const std::vector<std::string>& row,
                      std::size_t columns) {
  constexpr std::size_t hang = 4;
  std::string out, line = row.front();
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i].empty()) continue;
    const std::string field = header[i].empty() ? row[i] : header[i] + ": " + row[i];
    if (letters(line) + 2 + letters(field) <= columns) {
      line += "  " + field;
      continue;
    }
    out += line + "\n";
    line = wrapped(std::string(hang, ' ') + field, columns, hang);
    if (const std::size_t end = line.rfind('\n'); end != std::string::npos) {
      out += line.substr(0, end + 1);
      line.erase(0, end + 1);
    }
  }
  return out + line;
}

}  // namespace

void Table::print(std::FILE* stream) const {
  constexpr std::size_t least = 20;  // a narrower last column would be harder to read than paragraphs
  const std::size_t columns = text_width(stream);
  Rows rows = rows_;
  const auto natural = [&] { return indent_of(widths_of(rows)) + widths_of(rows).back(); };
  if (natural() > columns)
    if (const std::string common = take_common(rows); !common.empty())
      fmt::print(stream, "{}\n", wrapped("all rows: " + common, columns));
  const auto widths = widths_of(rows);
  const std::size_t indent = indent_of(widths);
  const bool fits = natural() <= columns || indent + least <= columns;
  for (std::size_t r = fits ? 0 : 1; r < rows.size(); ++r)
    if (is_section(rows[r]))
      fmt::print(stream, "\n{}\n", ink(Ink::bold, wrapped(rows[r].front(), columns), stream));
    else if (!fits)
      fmt::print(stream, "{}\n", paragraph(rows.front(), rows[r], columns));
    else
      fmt::print(stream, "{}\n",
                 r == 0 ? ink(Ink::bold, aligned(rows[r], widths, columns - indent), stream)
                        : aligned(rows[r], widths, columns - indent));
}

Progress::Progress(bool quiet) : on_(!quiet && obeys_escapes(stderr)) {}

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
  const std::string line =
      total ? fmt::format("{}/{} ({:.0f} %{})  {}", done, total, percent, left, current) : std::string(current);
  const std::size_t columns = terminal_width(stderr);
  tell("\r\033[K" + shorten(line, columns > 1 ? columns - 1 : 79));
}

void Progress::clear() {
  if (!shown_) return;
  tell("\r\033[K");
  shown_ = false;
}

}  // namespace reductio::cli
