/// reductio releases: the releases of CUB that the program knows, where their machine code changed, and verdicts on a
/// folder that holds experiment `history`.

#include "measure/analysis/releases.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "cli/compare/command.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/variant.h"
#include "reductio_releases.h"

namespace reductio::cli {
namespace {

struct ReleasesOptions {
  std::string folder, effect = "1%";
  int architecture = 90;
  double confidence = 0.95;
  bool csv = false;
};

std::string why_absent(const std::string& release) {
  try {
    find_variant("cub@" + release + "/sum");
    return "yes";
  } catch (const UsageError& e) {
    const std::string why = e.what(), by_choice = "configure it with";
    const std::size_t reason = why.rfind(": ");
    return reason == std::string::npos || why.find(by_choice) != std::string::npos ? "no"
                                                                                   : "no: " + why.substr(reason + 2);
  }
}

int print_known(const ReleasesOptions& options) {
  const ReleaseCode code(machine_code);
  if (options.csv) {
    fmt::print("{}", machine_code);
    return exit_ok;
  }
  const std::vector<int> capabilities = code.capabilities();
  if (std::find(capabilities.begin(), capabilities.end(), options.architecture) == capabilities.end()) {
    std::vector<std::string> known;
    for (const int c : capabilities) known.push_back(std::to_string(c));
    throw UsageError(fmt::format("--architecture: the machine code is known for {}, not for {}", join(known, ", "),
                                 options.architecture));
  }
  std::vector<std::string> header{"CUB", "CUDA"};
  for (const ElementType t : all_types()) header.emplace_back(name(t));
  header.emplace_back("in this program");
  Table table(header);
  bool some_absent = false;
  std::istringstream known(known_releases);
  for (std::string release, toolkit; known >> release >> toolkit;) {
    std::vector<std::string> row{release, toolkit};
    for (const ElementType t : all_types()) row.push_back(code.letter(release, t, options.architecture));
    row.push_back(why_absent(release));
    some_absent = some_absent || row.back() != "yes";
    table.add(row);
  }
  table.print();
  say(fmt::format(
      "\nLetters: the machine code of a sum's kernels for sm_{}, all by one nvcc. Within a column, equal "
      "letters are equal code, so an upgrade between them changes no kernel. --csv prints hashes, registers "
      "and the widest loads.",
      options.architecture));
  if (some_absent) say("-DREDUCTIO_CCCL_RELEASES=all configures a build with every release.");
  return exit_ok;
}

struct Change {
  std::size_t rows = 0, slower = 0, faster = 0;
  std::set<double> speedups{};     ///< of the rows that differ
  std::set<std::size_t> sizes{};   ///< theirs
  std::string code = "?";  ///< whether it changed; "?" where that is not known
};

/// What changed from each release to the next: one row for each type and way of timing that has a FASTER or SLOWER.
void print_changes(const std::vector<Fields>& records) {
  const auto at = [](const char* column) { return position_in(release_schema(), column); };
  std::vector<std::vector<std::string>> order;
  std::map<std::vector<std::string>, Change> changes;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const Fields& r = records[i];
    if (r[at("pair")] != "adjacent" || r[at("verdict")].empty()) continue;
    const std::vector<std::string> key{release_of(r[at("base")]) + " to " + release_of(r[at("variant")]),
                                       call_of(r[at("variant")]), r[at("element_type")],
                                       r[at("timing_mode")] + " " + r[at("cache_state")]};
    if (!changes.contains(key)) order.push_back(key);
    Change& c = changes[key];
    ++c.rows;
    if (const std::string& same = r[at("same_code")]; !same.empty()) c.code = same == "no" ? "changed" : "same";
    const std::string& verdict = r[at("verdict")];
    if (verdict != "FASTER" && verdict != "SLOWER") continue;
    verdict == "FASTER" ? ++c.faster : ++c.slower;
    c.speedups.insert(std::stod(r[at("speedup")]));
    c.sizes.insert(std::stoull(r[at("n")]));
  }
  Table table({"releases", "call", "type", "timed", "code", "SLOWER", "FASTER", "of sizes", "speedup", "from", "to"});
  std::size_t quiet = 0, shown = 0;
  for (const auto& key : order) {
    const Change& c = changes.at(key);
    if (c.faster + c.slower == 0) {
      ++quiet;
      continue;
    }
    ++shown;
    const double least = *c.speedups.begin(), most = *c.speedups.rbegin();
    table.add({key[0], key[1], key[2], key[3], c.code, std::to_string(c.slower), std::to_string(c.faster),
               std::to_string(c.rows),
               c.faster + c.slower == 1 ? fmt::format("{:.3g}", least) : fmt::format("{:.3g} to {:.3g}", least, most),
               show_size(*c.sizes.begin()), show_size(*c.sizes.rbegin())});
  }
  if (shown) table.print();
  say(fmt::format("{}From one release to the next, {} of {} series of sizes have no FASTER and no SLOWER.",
                  shown ? "\n" : "", quiet, order.size()));
}

int print_verdicts(const ReleasesOptions& options) {
  const double effect = parse_effect(options.effect);
  const auto path = folder_of_one_machine(options.folder) / "releases.csv.gz";
  if (std::filesystem::is_directory(options.folder)) check_destination(path, folder_advice);
  const StoredResults results = read_results(options.folder, {.experiments = {"history"}});
  const ReleaseTable table = release_table(results, ReleaseCode(machine_code), options.confidence, effect);
  std::string text;
  for (const Fields& record : table.records) text += csv_record(record);
  const std::string not_written = why_not([&] { write_whole_file(path, gzip_member(text)); });
  const auto end = [&] {
    if (!not_written.empty()) throw OutputError(not_written);
    return exit_ok;
  };
  if (options.csv) {
    fmt::print("{}", text);
    return end();
  }
  print_changes(table.records);
  const auto control = [](const ReleaseTable::Control& c, const char* where) {
    return fmt::format("{} of {} {} ({:.2g} %)", c.told_apart, c.pairs, where,
                       c.pairs ? 100.0 * static_cast<double>(c.told_apart) / static_cast<double>(c.pairs) : 0.0);
  };
  say("Control: pairs of the same machine code that are FASTER or SLOWER all the same: " +
      control(table.on_device, "on the device") +
      (table.end_to_end.pairs ? ", " + control(table.end_to_end, "end to end") : "") + ".");
  say(fmt::format(
      "All {} intervals hold at once with {:g} % confidence; the smallest effect that counts is {}. One nvcc compiled "
      "all releases, not the one each shipped with.",
      table.intervals, 100 * options.confidence, options.effect));
  if (not_written.empty()) say(fmt::format("\n{} pairs in {}", table.records.size() - 1, path.string()));
  return end();
}

}  // namespace

Command add_releases(CLI::App& app) {
  auto options = std::make_shared<ReleasesOptions>();
  CLI::App* sub =
      app.add_subcommand("releases", "Compare releases of CUB: their machine code, and a results folder's verdicts");
  sub->add_option("folder", options->folder,
                  "A results folder with experiment history: judge each release against the one before and the newest, "
                  "and write releases.csv.gz there")
      ->type_name("FOLDER");
  sub->add_option("--architecture", options->architecture,
                  "Architecture of the machine code: 80, 90 or 120 (default: 90)")
      ->type_name("SM");
  add_confidence(*sub, [options](double share) { options->confidence = share; });
  sub->add_option("--effect", options->effect, "The smallest change that matters (default: 1%)")->type_name("SHARE");
  sub->add_flag("--csv", options->csv, "Print the whole table as CSV");
  return {sub, [options] { return options->folder.empty() ? print_known(*options) : print_verdicts(*options); }};
}

}  // namespace reductio::cli
