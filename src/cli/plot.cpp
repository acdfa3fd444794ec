/// reductio plot: throughput against n of a results folder, on the terminal or as a figure.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "cli/commands.h"
#include "cli/python.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"
#include "measure/results/csv.h"
#include "measure/results/reader.h"

namespace reductio::cli {
namespace {

namespace fs = std::filesystem;

struct PlotOptions {
  std::string folder, out;
  std::vector<std::string> experiments;
  SelectionOptions selection;
  std::string chart = "1";
};

constexpr std::size_t most_columns = 100, most_lines = 12, most_charts_told = 6;
constexpr double giga = 1e9;

/// A variant in a chart: of several settings the fastest at each n.
struct Line {
  std::string variant;
  std::map<std::size_t, const Row*> at;  ///< by n

  double rate(std::size_t n) const { return *at.at(n)->bandwidth_bytes_per_s() / giga; }
  double last() const { return rate(at.rbegin()->first); }
};

/// What is comparable: rows that differ in variant, settings and n alone.
struct Chart {
  std::string name;  ///< "comparison: sum f32 device cold_dirty"
  std::string newest;
  std::vector<const Row*> rows;
  std::set<std::size_t> sizes;
  std::set<std::string> variants;

  /// The fastest at the largest size first; a user's own before all others.
  std::vector<Line> lines() const {
    std::map<std::string, Line> of;
    for (const Row* row : rows) {
      Line& line = of[row->point.variant];
      line.variant = row->point.variant;
      const Row*& best = line.at[row->point.problem.n];
      if (!best || *row->time_median_s < *best->time_median_s) best = row;
    }
    std::vector<Line> out;
    for (auto& [variant, line] : of) out.push_back(std::move(line));
    std::set<std::string> own;
    for (const Variant& v : reductio::variants())
      if (v.kind == VariantKind::yours) own.insert(v.id);
    const auto place = [&](const Line& l) {
      return std::tuple(!own.contains(l.variant), ~l.at.rbegin()->first, -l.last());
    };
    std::sort(out.begin(), out.end(), [&](const Line& a, const Line& b) { return place(a) < place(b); });
    return out;
  }
};

/// The newest day's first; of a day's, charts of several variants, then the newest experiment's; of one experiment's,
/// device time before other timing modes, then by rows.
std::vector<Chart> charts_of(const StoredResults& results) {
  std::map<std::string, Chart> of;
  std::map<std::string, std::string> newest;
  for (const StoredRow& stored : results.rows) {
    const Row& row = stored.row;
    const TimingMode mode = row.point.timing_mode;
    if (row.status != Status::ok || !row.bandwidth_bytes_per_s() || row.point.problem.n == 0 ||
        mode == TimingMode::clock || mode == TimingMode::globaltimer)
      continue;
    PointKey key = row.point;
    key.problem.n = 0;
    // A line is of rows of one length, or of columns: the map over both is a figure of its own.
    InputShape& shape = key.problem.shape;
    if (shape.rows) (key.problem.operation == Operation::column_sums ? shape.columns : shape.rows).reset();
    shape.segments.reset();
    Chart& chart = of[row.experiment + "|" + group_key(key)];
    if (chart.rows.empty()) {
      const PointKey& p = row.point;
      chart.name = fmt::format("{}: {} {} {} {}", row.experiment, name(p.problem.operation), name(p.problem.type),
                               name(p.timing_mode), name(p.cache_state));
      if (p.offset_elements) chart.name += fmt::format(", offset {}", p.offset_elements);
      if (!p.dataset.empty() && p.dataset != "random") chart.name += ", " + p.dataset;
      if (p.problem.shape.rows)
        chart.name += p.problem.operation == Operation::column_sums
                          ? fmt::format(", columns of {}", *p.problem.shape.rows)
                          : fmt::format(", rows of {}", *p.problem.shape.columns);
      if (p.problem.shape.pitch_elements) chart.name += fmt::format(", pitch {}", *p.problem.shape.pitch_elements);
      if (!p.caller.empty()) chart.name += ", " + p.caller;
    }
    chart.rows.push_back(&row);
    chart.sizes.insert(row.point.problem.n);
    chart.variants.insert(row.point.variant);
    newest[row.experiment] = std::max(newest[row.experiment], row.timestamp_utc);
  }
  std::vector<Chart> out;
  for (auto& [key, chart] : of) {
    chart.newest = newest[chart.rows.front()->experiment];
    out.push_back(std::move(chart));
  }
  std::stable_sort(out.begin(), out.end(), [](const Chart& a, const Chart& b) {
    const auto rank = [](const Chart& c) {
      return std::tuple(c.newest.substr(0, 10), c.variants.size() > 1, c.newest,
                        c.rows.front()->point.timing_mode == TimingMode::device, c.rows.size());
    };
    return rank(a) > rank(b);
  });
  return out;
}

/// Where calls of one point differ so much that other work must have run beside them; as paper/figures/cpu.py.
std::string busy_note(const Chart& chart) {
  std::size_t timed = 0, busy = 0;
  for (const Row* row : chart.rows) {
    if (row->point.device != DeviceKind::cpu || !row->time_min_s || !row->time_p95_s ||
        *row->time_min_s <= 100 * row->timer_resolution_s.value_or(0))
      continue;
    ++timed;
    busy += *row->time_p95_s > 2 * *row->time_min_s;
  }
  if (10 * busy <= timed) return "";
  return fmt::format(
      "The machine was busy: at {} of {} points the slowest 5 % of calls took over 2 times as long as the "
      "fastest call.",
      busy, timed);
}

/// 4390, 43.9, 4.39, 0.44.
std::string show_rate(double v) {
  return v >= 100 ? fmt::format("{:.0f}", v) : v >= 10 ? fmt::format("{:.1f}", v) : fmt::format("{:.2f}", v);
}

std::size_t columns_here() { return std::clamp<std::size_t>(text_width(), 40, most_columns); }

void print_wrapped(const std::string& text) { fmt::print("{}\n", wrapped(text, columns_here())); }

/// One size: a bar for each variant and its settings.
void print_bars(const Chart& chart) {
  std::vector<const Row*> rows = chart.rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row* a, const Row* b) { return *a->time_median_s < *b->time_median_s; });
  const std::size_t most = 2 * most_lines, left_out = rows.size() > most ? rows.size() - most : 0;
  rows.resize(rows.size() - left_out);
  const auto label = [](const Row* row) {
    const std::string settings = row->point.settings.empty() ? "" : " [" + row->point.settings + "]";
    return row->point.variant + settings;
  };
  std::size_t widest = 0;
  for (const Row* row : rows) widest = std::max(widest, label(row).size());
  const std::size_t columns = columns_here();
  widest = std::min(widest, columns * 3 / 5);
  const double most_rate = *rows.front()->bandwidth_bytes_per_s() / giga;
  const std::size_t room = columns - widest - 10;
  for (const Row* row : rows) {
    std::string text = label(row);
    if (text.size() > widest) text = text.substr(0, widest - 3) + "...";
    const double rate = *row->bandwidth_bytes_per_s() / giga;
    const auto bar = static_cast<std::size_t>(std::lround(rate / most_rate * static_cast<double>(room)));
    fmt::print("{:<{}} {:>7} {}\n", text, widest, show_rate(rate), std::string(std::max<std::size_t>(bar, 1), '#'));
  }
  if (left_out) print_wrapped(counted(left_out, "row") + " left out, all slower; choose with --variants");
}

/// The drawing area: a character for each cell, from the upper left.
class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows, double x_low, double x_high, double y_low, double y_high, bool y_log)
      : rows_(rows, std::string(columns, ' ')), x_{x_low, x_high}, y_{y_low, y_high}, y_log_(y_log) {}

  std::size_t column(double n) const {
    const double share = (std::log2(n) - std::log2(x_[0])) / (std::log2(x_[1]) - std::log2(x_[0]));
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(rows_.front().size() - 1)));
  }
  std::size_t row(double rate) const {
    const auto scaled = [&](double v) { return y_log_ ? std::log(v) : v; };
    const double share = (scaled(rate) - scaled(y_[0])) / (scaled(y_[1]) - scaled(y_[0]));
    return static_cast<std::size_t>(
        std::lround((1 - std::clamp(share, 0.0, 1.0)) * static_cast<double>(rows_.size() - 1)));
  }
  void mark(std::size_t row, std::size_t column, char c) { rows_[row][column] = c; }
  /// Dots from one point to the next, where nothing is drawn yet.
  void join(std::size_t row0, std::size_t column0, std::size_t row1, std::size_t column1, char c) {
    for (std::size_t k = column0 + 1; k < column1; ++k) {
      const double share = static_cast<double>(k - column0) / static_cast<double>(column1 - column0);
      const double at = static_cast<double>(row0) + share * (static_cast<double>(row1) - static_cast<double>(row0));
      char& cell = rows_[static_cast<std::size_t>(std::lround(at))][k];
      if (cell == ' ') cell = c;
    }
  }
  const std::vector<std::string>& rows() const { return rows_; }

 private:
  std::vector<std::string> rows_;
  double x_[2], y_[2];
  bool y_log_;
};

/// 1, 2 or 5 times a power of ten.
std::vector<double> ticks_of(double low, double high, bool log) {
  std::vector<double> out;
  if (log) {
    for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10)
      for (const double k : {1, 2, 5})
        if ((k == 1 || high / low < 300) && k * decade >= low && k * decade <= high) out.push_back(k * decade);
  } else {
    const double decade = std::pow(10, std::floor(std::log10(high / 4)));
    const double step = decade * (high / 4 / decade < 2 ? 1 : high / 4 / decade < 5 ? 2 : 5);
    for (double tick = 0; tick <= high; tick += step) out.push_back(tick);
  }
  return out;
}

void print_lines(const Chart& chart) {
  std::vector<Line> lines = chart.lines();
  const std::size_t left_out = lines.size() > most_lines ? lines.size() - most_lines : 0;
  lines.resize(lines.size() - left_out);
  // The kernel that only reads: no call passes it.
  std::map<std::size_t, double> reading;
  double low = INFINITY, high = 0;
  const auto widen = [&](double rate) { low = std::min(low, rate), high = std::max(high, rate); };
  for (const Line& line : lines)
    for (const auto& [n, row] : line.at) {
      widen(line.rate(n));
      if (row->read_time_s) reading[n] = static_cast<double>(row->point.problem.bytes()) / *row->read_time_s / giga;
    }
  for (const auto& [n, rate] : reading) widen(rate);
  const bool log = high / low > 30;
  if (!log) low = 0;

  constexpr std::size_t rows = 21, margin = 8;
  Canvas canvas(columns_here() - margin - 2, rows, static_cast<double>(*chart.sizes.begin()),
                static_cast<double>(*chart.sizes.rbegin()), low, high, log);
  const auto draw = [&](const auto& points, char letter, char between) {
    std::size_t row0 = 0, column0 = 0;
    bool first = true;
    for (const auto& [n, rate] : points) {
      const std::size_t row = canvas.row(rate), column = canvas.column(static_cast<double>(n));
      if (!first) canvas.join(row0, column0, row, column, between);
      canvas.mark(row, column, letter);
      row0 = row, column0 = column, first = false;
    }
  };
  draw(reading, '=', '=');
  for (std::size_t i = lines.size(); i-- > 0;) {  // the first over the others
    std::map<std::size_t, double> rates;
    for (const auto& [n, row] : lines[i].at) rates[n] = lines[i].rate(n);
    draw(rates, static_cast<char>('A' + i), '.');
  }

  std::vector<std::string> labels(rows);
  for (const double tick : ticks_of(low, high, log)) labels[canvas.row(tick)] = fmt::format("{:g}", tick);
  fmt::print("{:>{}}\n", "GB/s", margin);
  for (std::size_t r = 0; r < rows; ++r) {
    std::string line = fmt::format("{:>{}} {}{}", labels[r], margin, labels[r].empty() ? '|' : '+', canvas.rows()[r]);
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
  std::string axis(canvas.rows().front().size(), '-'), below(canvas.rows().front().size() + margin + 8, ' ');
  std::size_t free_from = 0;
  for (const std::size_t n : chart.sizes) {
    const std::size_t column = canvas.column(static_cast<double>(n));
    axis[column] = '+';
    const std::string text = show_size(n);
    std::size_t start = column + margin + 2 - std::min(column + margin + 2, text.size() / 2);
    start = std::min(start, axis.size() + margin + 2 - std::min(text.size(), axis.size()));
    if (start < free_from) continue;
    below.replace(start, text.size(), text);
    free_from = start + text.size() + 2;
  }
  below.erase(below.find_last_not_of(' ') + 1);
  below[margin - 3] = 'n';
  fmt::print("{:>{}} +{}\n{}\n", "", margin, axis, below);

  std::size_t widest = reading.empty() ? 0 : 22;
  for (const Line& line : lines) widest = std::max(widest, line.variant.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    fmt::print("  {}  {:<{}} {:>7} GB/s at {}\n", static_cast<char>('A' + i), lines[i].variant, widest,
               show_rate(lines[i].last()), show_size(lines[i].at.rbegin()->first));
  if (!reading.empty())
    fmt::print("  =  {:<{}} {:>7} GB/s\n", "only reading the input", widest, show_rate(reading.rbegin()->second));
  print_wrapped("Where letters overlap, the first is shown. Of several settings the fastest is drawn.");
  if (left_out) print_wrapped(counted(left_out, "variant") + " left out; choose with --variants");
}

/// Before the work: whether a figure can be written there.
void refuse_unwritable(const std::string& out) {
  if (const std::string kind = fs::path(out).extension().string(); kind != ".png" && kind != ".pdf" && kind != ".svg")
    throw UsageError("--out takes a file that ends in .png, .pdf or .svg, not '" + out + "'");
  check_option("--out", out);
}

/// The chart's rows, as CSV, go to the project's figures. These say themselves what they lack.
int draw_file(const Chart& chart, const StoredResults& results, const std::string& out) {
  const std::string python = report_script("plot", "--out", ", or leave --out out");
  std::string rows = csv_record(columns());
  if (chart.sizes.size() == 1)
    for (const Row* row : chart.rows) rows += csv_record(row->fields());
  else
    for (const Line& line : chart.lines())
      for (const auto& [n, row] : line.at) rows += csv_record(row->fields());
  const std::string command = fmt::format("{} --title {} --folder {} --out {}", python, quoted(chart.name),
                                          quoted(results.folder.string()), quoted(out));
  push_output();
  std::signal(SIGPIPE, SIG_IGN);  // one that ends before it has read all says why
  std::FILE* drawing = popen(command.c_str(), "w");
  if (!drawing) throw UsageError("cannot start python3");
  std::fwrite(rows.data(), 1, rows.size(), drawing);
  return pclose(drawing) == 0 ? exit_ok : exit_error;
}

int run(const PlotOptions& options) {
  if (!options.out.empty()) refuse_unwritable(options.out);
  const StoredResults results = read_results(
      folder_or_default(options.folder, "plot"),
      {.experiments = options.experiments, .selection = options.selection.of_rows(), .with_samples = false});
  const std::vector<Chart> charts = charts_of(results);
  if (charts.empty()) refuse_timeless(results);
  std::size_t chosen = 0;
  while (chosen < charts.size() && std::to_string(chosen + 1) != options.chart) ++chosen;
  if (chosen == charts.size())
    throw UsageError(fmt::format("--chart: give a number from 1 to {}, not '{}'", charts.size(), options.chart));
  const Chart& chart = charts[chosen];
  if (!options.out.empty()) return draw_file(chart, results, options.out);

  const std::string at = chart.sizes.size() == 1 ? " n=" + show_size(*chart.sizes.begin()) + ", GB/s" : "";
  const std::string title = fmt::format("{}{}, {}", chart.name, at, chart.rows.front()->machine);
  print_wrapped(ink(Ink::bold, title));
  chart.sizes.size() == 1 ? print_bars(chart) : print_lines(chart);
  if (const std::string note = busy_note(chart); !note.empty()) print_wrapped(note);
  if (charts.size() > 1) {
    fmt::print("\nOther charts (--chart K):\n");
    std::size_t told = 0;
    for (std::size_t i = 0; i < charts.size() && told < most_charts_told; ++i)
      if (&charts[i] != &chart) {
        const std::string of = fmt::format("{} ({}, {})", charts[i].name, counted(charts[i].variants.size(), "variant"),
                                           counted(charts[i].sizes.size(), "size"));
        fmt::print("{:>4}  {}\n", i + 1, wrapped(of, columns_here() - 6, 6));
        ++told;
      }
    if (charts.size() - 1 > told)
      print_wrapped(
          fmt::format("... and {} more; choose with --experiment, --types and --operations", charts.size() - 1 - told));
  }
  return exit_ok;
}

}  // namespace

Command add_plot(CLI::App& app) {
  auto options = std::make_shared<PlotOptions>();
  CLI::App* sub = app.add_subcommand("plot", "Draw throughput against n of a results folder");
  sub->add_option("folder", options->folder, "The results folder (default: the one in out/results)");
  sub->add_option("--out", options->out, "Write a figure, .png, .pdf or .svg, instead of printing (needs matplotlib)")
      ->type_name("FILE");
  sub->add_option("--chart", options->chart, "Which of the folder's charts (default: 1, the newest)")
      ->type_name("K");
  add_words(*sub, "--experiment", options->experiments, "Only rows of these experiments, such as comparison,tuned");
  options->selection.add_variants(*sub);
  options->selection.add_types(*sub);
  options->selection.add_sizes(*sub);
  return {sub, [options] { return run(*options); }, true};
}

}  // namespace reductio::cli
