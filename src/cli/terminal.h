#pragma once
/// What a person sees: colour, wrapped text, tables, progress. Nothing here changes what a script reads from --csv or
/// --json.

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reductio::cli {

bool is_terminal(std::FILE*);
/// Only on a terminal that can, and never where NO_COLOR is set (https://no-color.org).
bool has_colour(std::FILE*);

enum class Ink { bold, dim, red, green, yellow };
/// `text` in that ink where `stream` has colour, else as it is.
std::string ink(Ink, std::string_view text, std::FILE* stream = stdout);

/// Text on stderr, as it is. Where that cannot be written it is lost: nobody reads it, and no work shall end for it.
void tell(const std::string& text);

/// "reductio: text", a line on stderr.
void print_message(const std::string& text);
/// "reductio: WARNING: text" on stderr, in yellow.
void print_warning(const std::string& text);

/// That something printed on stdout could not be written, for the reason that this errno gives (0: not known).
std::string cannot_write_output(int error);
/// Runs what prints. If stdout takes no more, the rest is not printed; flush_output() will say so.
void try_to_print(const std::function<void()>& print);
/// Whether printing failed because nobody reads stdout any more, as behind `| head -1`.
bool output_was_closed();
/// What `work` throws, as text: to be told once the rest of the outcome was printed. Empty: nothing.
std::string why_not(const std::function<void()>& work);
/// Writes what was printed on stdout so far, so that it stands before what stderr says next. Whether that went well is
/// for flush_output() to say.
void push_output();
/// Throws OutputError where something that was printed on stdout could not be written: a full disk, a closed pipe.
void flush_output();

/// "2^20", "1000", "2^24-1": the shortest usual way to write a number of elements; reads back by parse_size().
std::string show_size(std::size_t n);
/// "850 ns", "1.25 ms", "3 min 20 s".
std::string show_seconds(double);
/// "4 B", "60.0 MiB".
std::string show_bytes(std::size_t);
/// "1 row", "2 rows".
std::string counted(std::size_t n, std::string_view noun);
/// The items separated by `separator`.
std::string join(const std::vector<std::string>& items, std::string_view separator);

/// Columns for text on `stream`: $COLUMNS if it is set, else those of the terminal, else 100.
std::size_t text_width(std::FILE* stream = stdout);
/// `text` broken between words into lines of at most `columns`, the second and later ones indented by `hang`. Its own
/// line breaks stay. A word that is too long has a line of its own.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t hang = 0);
/// The same of a command, to stdout's width: where it is broken, a shell reads on.
std::string wrapped_command(std::string_view text, std::size_t hang);
/// The text, wrapped to stdout's width, and a line break.
void say(std::string_view text, std::size_t hang = 0);
/// The same in bold.
void say_bold(std::string_view text);

/// A table no wider than text_width(). If it does not fit, columns with one value are said once, above it, and the
/// last column is wrapped. If that does not do either, each row becomes a paragraph: "first  name: value  name: value".
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// A heading over the rows that follow.
  void section(std::string heading) { rows_.push_back({std::move(heading)}); }
  void print(std::FILE* stream = stdout) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Up to so many rows are worth a table on the screen; more are for files and figures.
inline constexpr std::size_t table_rows = 60;

/// One line on stderr that says how far the work is and how long the rest will take. Shows nothing where stderr is no
/// terminal, or a dumb one, or `quiet` is set.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress() { clear(); }
  /// Without a total only `current` is shown. Without `remaining_s` the rest is estimated from what is done; a negative
  /// one is not shown.
  void show(std::size_t done, std::size_t total, std::string_view current, std::optional<double> remaining_s = {});
  /// Removes the line, so that something else can be printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool on_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now(), last_{};
};

}  // namespace reductio::cli
