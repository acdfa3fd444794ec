/// reductio simulate: a whole CUDA program on the simulated device, in several orders of its threads and blocks.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>
#include <utility>

#include "cli/commands.h"
#include "cli/simulate/findings.h"
#include "cli/simulate/run.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "measure/results/csv.h"
#include "plugin/compile.h"
#include "plugin/simulated.h"

namespace reductio::cli {
namespace {

struct SimulateOptions {
  std::vector<std::string> sources, arguments, folders, macros;
  std::string standard, orders = "forward,reverse,starve,random", sarif;
  std::uint64_t seed = 1;
  double timeout_s = 60;
  bool goes_on = false, as_json = false;
};

std::vector<Way> ways_of(const std::string& orders,
                         const std::array<std::filesystem::path, optimizations.size()>& objects) {
  std::vector<Way> ways;
  std::istringstream words(orders);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t at = word.find('@');
    const std::string order = word.substr(0, at), optimization = at == word.npos ? "" : "-" + word.substr(at + 1);
    const sim::NamedOrder* const known = sim::find_order(order);
    const std::size_t before = ways.size();
    for (std::size_t o = 0; known && o < optimizations.size(); ++o)
      if (optimization.empty() || optimization == optimizations[o])
        ways.push_back({known->order, order, optimizations[o], objects[o]});
    if (ways.size() == before)
      throw UsageError("unknown order '" + word +
                       "'; --orders takes forward, reverse, starve and random, and forward@O1 for one of its two runs");
  }
  return ways;
}

/// Whether two lines say the same but for the last digits of numbers, which depend on the order of rounding.
bool same_but_for_rounding(const std::string& a, const std::string& b) {
  constexpr double most = 1e-5;
  const char *x = a.c_str(), *y = b.c_str();
  const auto is_number = [](const char* p) {
    return std::isdigit(static_cast<unsigned char>(*p)) ||
           ((*p == '-' || *p == '.') && std::isdigit(static_cast<unsigned char>(p[1])));
  };
  while (*x && *y) {
    if (is_number(x) && is_number(y)) {
      char *x_end = nullptr, *y_end = nullptr;
      const double u = std::strtod(x, &x_end), v = std::strtod(y, &y_end);
      const bool whole =
          std::string_view(x, static_cast<std::size_t>(x_end - x)).find_first_of(".eE") == std::string::npos;
      if (u != v && (whole || !(std::abs(u - v) <= most * std::max(std::abs(u), std::abs(v))))) return false;
      x = x_end, y = y_end;
    } else if (*x++ != *y++) {
      return false;
    }
  }
  return *x == *y;
}

class Simulation {
 public:
  Simulation(const SimulateOptions& options, std::vector<Way> ways, RunHow how)
      : options_(options), ways_(std::move(ways)), how_(std::move(how)) {}

  int run() {
    run_all();
    if (const std::string& why = runs_.front().cannot_start; !why.empty())
      throw UsageError("cannot start '" + how_.arguments.front() + "': " + why);
    compare_outputs();
    for (const Run& r : runs_)
      for (const Finding& f : r.findings)
        if (said_.insert({f.kind, f.file, f.line, f.column}).second) {
          found_.push_back({f, r.way.order_name, r.way.optimization});
          print_message(f.message + in_which(f));
        }
    const int code = found_.empty() ? runs_.front().exit_code : static_cast<int>(exit_wrong);
    if (options_.as_json) print_json(runs_, found_, code);
    if (!options_.sarif.empty()) write_sarif(options_.sarif, found_);
    print_message(summary());
    return code;
  }

 private:
  /// The first alone prints; the others run beside each other.
  void run_all() {
    const std::size_t most = std::max(std::thread::hardware_concurrency(), 1u);
    std::vector<std::unique_ptr<Running>> all;
    std::size_t started = 0, ended = 0;
    runs_.resize(ways_.size());
    how_.at_once = std::min(most, ways_.size());
    while (ended < ways_.size()) {
      while (started < ways_.size() && started - ended < most) {
        all.push_back(std::make_unique<Running>(ways_[started], how_, started == 0 && !options_.as_json));
        ++started;
      }
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] && all[i]->listen()) {
          runs_[i] = std::move(all[i]->result());
          all[i].reset();
          ++ended;
        }
    }
    if (std::exchange(how_.at_once, 1) > 1)
      for (Run& r : runs_)
        if (r.ran_out_of_memory()) run_alone(r);
  }
  /// Of the first run the user has seen some output: what comes after it is printed, or all, where it begins otherwise.
  void run_alone(Run& r) {
    const std::string shown = r.output;
    Running again(r.way, how_, false);
    while (!again.listen()) {
    }
    r = std::move(again.result());
    if (&r != &runs_.front() || options_.as_json) return;
    const bool goes_on = r.output.starts_with(shown);
    if (!goes_on) print_message("the first run had too little memory beside the others; alone it prints:");
    std::fputs(without_marks(r.output.substr(goes_on ? shown.size() : 0)).c_str(), stdout);
    std::fflush(stdout);
  }

  void compare_outputs() {
    if (!runs_.front().findings.empty()) return;
    const auto first = lines_in_any_order(runs_.front().output);
    std::optional<std::set<std::size_t>> varies;
    for (Run& r : runs_) {
      if (&r == &runs_.front() || !r.findings.empty()) continue;
      const auto lines = lines_in_any_order(r.output);
      const std::string where = " where the order of blocks and threads is '" + r.way.order_name + "' (" +
                                r.way.optimization + ", --seed " + std::to_string(how_.seed) + ")";
      if (r.exit_code != runs_.front().exit_code) {
        differ(r, "its exit code is " + std::to_string(r.exit_code) + where + ", and " +
                      std::to_string(runs_.front().exit_code) + " in the first run");
        continue;
      }
      for (std::size_t i = 0; i < std::max(first.size(), lines.size()); ++i) {
        const std::string mine = i < lines.size() ? lines[i] : "", expected = i < first.size() ? first[i] : "";
        if (mine == expected || same_but_for_rounding(mine, expected)) continue;
        if (!varies) varies = lines_that_vary(first);
        if (varies->contains(i)) continue;
        differ(r, "it prints '" + mine + "'" + where + ", and '" + expected + "' in the first run");
        break;
      }
    }
  }
  void differ(Run& r, const std::string& what) {
    r.findings.push_back({.kind = "output differs", .message = "simulated device: output differs: " + what});
  }
  /// Lines of the first run that differ from run to run of one and the same way: times, addresses. Of rounded times
  /// some are the same by chance.
  std::set<std::size_t> lines_that_vary(const std::vector<std::string>& first) const {
    constexpr int times = 3;
    std::set<std::size_t> out;
    for (int run = 0; run < times; ++run) {
      Running again(ways_.front(), how_, false);
      while (!again.listen()) {
      }
      const auto lines = lines_in_any_order(again.result().output);
      for (std::size_t i = 0; i < first.size(); ++i)
        if (i >= lines.size() || lines[i] != first[i]) out.insert(i);
    }
    return out;
  }

  /// " [reverse, random]", where not all runs find it.
  std::string in_which(const Finding& f) const {
    std::string names;
    std::size_t count = 0;
    for (const Run& r : runs_)
      if (std::any_of(r.findings.begin(), r.findings.end(), [&](const Finding& o) {
            return std::tie(o.kind, o.file, o.line, o.column) == std::tie(f.kind, f.file, f.line, f.column);
          })) {
        ++count;
        names += (names.empty() ? "" : ", ") + r.way.order_name + " " + r.way.optimization;
      }
    return count == runs_.size() || f.kind == "output differs" ? "" : " [" + names + "]";
  }
  /// The different ones, in words.
  std::string all(std::string Way::* name, const char* between) const {
    std::vector<std::string> names;
    for (const Way& w : ways_)
      if (std::find(names.begin(), names.end(), w.*name) == names.end()) names.push_back(w.*name);
    return join(names, between);
  }
  std::string summary() const {
    return (found_.empty() ? "no finding" : counted(found_.size(), "finding")) + " in " + counted(runs_.size(), "run") +
           " (orders " + all(&Way::order_name, ", ") + "; " + all(&Way::optimization, " and ") + ")";
  }

  const SimulateOptions& options_;
  std::vector<Way> ways_;
  RunHow how_;
  std::vector<Run> runs_;  ///< as ways_
  std::set<std::tuple<std::string, std::string, int, int>> said_;
  std::vector<Found> found_;
};

int run(const SimulateOptions& options) {
  const std::vector<std::filesystem::path> sources(options.sources.begin(), options.sources.end());
  if (sources.empty()) throw UsageError("name the program's source, such as prog.cu");
  for (const auto& source : sources)
    if (!is_plugin_source(source))
      throw UsageError("'" + source.string() +
                       "' is not a source file (.cu, .cpp); put the program's own arguments after '--'");
  if (!(options.timeout_s > 0)) throw UsageError("--timeout takes a number of seconds above 0");
  SimulatedOptions how;
  for (const std::string& folder : options.folders) how.flags.push_back("-I" + folder);
  for (const std::string& macro : options.macros) how.flags.push_back("-D" + macro);
  if (!options.standard.empty()) how.flags.push_back("-std=" + options.standard);
  if (!options.sarif.empty()) check_destination(options.sarif, "give --sarif a file in a folder that exists");
  const auto objects = compiled_for_simulation(sources, how);
  RunHow run_how{{sources.front().stem().string()}, options.seed, options.goes_on, options.timeout_s};
  run_how.arguments.insert(run_how.arguments.end(), options.arguments.begin(), options.arguments.end());
  return Simulation(options, ways_of(options.orders, objects), std::move(run_how)).run();
}

}  // namespace

Command add_simulate(CLI::App& app, std::vector<std::string> command_line) {
  auto options = std::make_shared<SimulateOptions>();
  const auto dashes = std::find(command_line.begin(), command_line.end(), "--");
  if (dashes != command_line.end()) options->arguments.assign(dashes + 1, command_line.end());
  CLI::App* sub = app.add_subcommand("simulate", "Run a CUDA program without a GPU, and find its races, missing fences "
                                                 "and accesses out of bounds");
  sub->add_option("sources", options->sources, "The program's sources; after '--', its arguments")->type_name("FILE");
  sub->add_option("-I", options->folders, "A folder with headers")
      ->type_name("DIR")->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("-D", options->macros, "A macro")
      ->type_name("NAME[=VALUE]")->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_option("--std", options->standard, "The language standard (default: gnu++20)")->type_name("C++");
  sub->add_option("--orders", options->orders,
                  "Orders of blocks and threads: forward, reverse, starve, random. Each has two runs, at -O0 and "
                  "at -O1, in processes of their own; forward@O1 is one run, for a program that changes files "
                  "(default: all)")
      ->type_name("LIST");
  sub->add_option("--seed", options->seed, "Seed of the orders starve and random (default: 1)")->type_name("N");
  sub->add_flag("--keep-going", options->goes_on,
                "Continue after a finding: after a race in the kernel, after others with the next launch");
  sub->add_option("--timeout", options->timeout_s, "Seconds that a run may take (default: 60)")->type_name("S");
  sub->add_flag("--json", options->as_json, "Print runs and findings as JSON, in place of the program's output");
  sub->add_option("--sarif", options->sarif, "Write the findings to this file, for pull requests")->type_name("FILE");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
