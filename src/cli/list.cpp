/// reductio list: the variants (or the experiments) that this program holds.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/plugins.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "measure/results/csv.h"
#include "measure/results/machine.h"

namespace reductio::cli {
namespace {

struct ListOptions {
  std::string what = "variants";
  SelectionOptions selection;
  bool all = false, json = false, csv = false;
};

/// What a heading of the listing says, and the groups of variants under it.
struct Section {
  std::string_view heading;
  VariantKind kind;
  std::vector<std::string_view> groups;  ///< in this order; empty: all of that kind
};

const std::vector<Section>& sections() {
  static const std::vector<Section> all = {
      {"yours", VariantKind::yours, {}},
      {"squares: sum of squares in four steps, int, measured with clock() on a GeForce 8800 GT",
       VariantKind::document,
       {"squares"}},
      {"twopass: two-stage reduction, grid-stride loads; rolled, unrolled by warp, unrolled by template",
       VariantKind::document,
       {"twopass"}},
      {"unroll: \"unrolling loops\", in place in global memory, the host adds the blocks; GTX 1050 Ti",
       VariantKind::document,
       {"unroll"}},
      {"levels: reduction in three levels, inside a thread, inside a block, between blocks",
       VariantKind::document,
       {"levels"}},
      {"multiblock: many blocks with grid-stride loads, in two launches or with a last-block finish",
       VariantKind::document,
       {"multiblock"}},
      {"ours: a fast sum (tuned), modern GPU features one at a time, sums that keep what rounding loses (compensated), "
       "every idea on its own (ablation)",
       VariantKind::ours,
       {"tuned", "modern", "compensated", "ablation"}},
      {"libraries on the GPU", VariantKind::library, {"cub", "thrust", "cublas"}},
      {"CPU", VariantKind::cpu, {"host", "std", "eigen", "openmp", "thrust"}},
  };
  return all;
}

/// The section of a variant, and its group's place in it. A group that no section names stands last in the first
/// section of its kind.
std::pair<std::size_t, std::size_t> place_of(const Variant& v) {
  std::pair<std::size_t, std::size_t> place{sections().size(), 0};
  for (std::size_t i = 0; i < sections().size(); ++i) {
    const Section& s = sections()[i];
    const auto at = std::find(s.groups.begin(), s.groups.end(), v.group());
    if (s.kind != v.kind) continue;
    if (at != s.groups.end() || s.groups.empty()) return {i, static_cast<std::size_t>(at - s.groups.begin())};
    place = std::min(place, {i, s.groups.size()});
  }
  return place;
}

/// The idea in a few words: the title; of a document's kernel, and where the title repeats the id, what it does at each
/// level. Left out is what the heading says of the whole group, and what the setting `finish` chooses.
std::string idea_of(const Variant& v) {
  if (!known_faults(v).empty()) return v.title + " (has a known fault)";
  const bool says_more = v.title != v.id && v.title != v.group() && !v.id.ends_with("/" + v.title);
  if (v.kind != VariantKind::document && says_more) return v.title;
  const auto same_for_all = [&](std::string Strategy::*level) {
    return std::all_of(variants().begin(), variants().end(), [&](const Variant& other) {
      return other.group() != v.group() || other.how.*level == v.how.*level;
    });
  };
  const bool chosen = std::any_of(v.tunables.begin(), v.tunables.end(), [](auto& t) { return t.name == "finish"; });
  std::vector<std::string> parts;
  for (const auto level : {&Strategy::thread, &Strategy::block, &Strategy::grid}) {
    std::string part = v.how.*level;
    if (const auto where = part.find(": "); where != std::string::npos) part.erase(0, where + 2);
    const bool said = v.kind == VariantKind::document && same_for_all(level);
    if (!part.empty() && part != "none" && !said && !(chosen && level == &Strategy::grid)) parts.push_back(part);
  }
  constexpr std::size_t one_line = 60;
  while (v.kind != VariantKind::document && parts.size() > 1 && join(parts, "; ").size() > one_line)
    parts.erase(parts.begin() + (parts.size() == 3 ? 1 : 0));
  return parts.empty() ? "-" : join(parts, "; ");
}

/// The chosen variants that run on the device asked for, that have all types and all operations asked for.
std::vector<const Variant*> matching(const SelectionOptions& options) {
  const Selection asked = options.parse();
  const auto has = [](const auto& all, const auto& wanted) {
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](auto one) { return std::find(all.begin(), all.end(), one) != all.end(); });
  };
  std::vector<const Variant*> out;
  for (const Variant* v : options.selected())
    if ((!asked.device || v->runs_on(*asked.device)) && has(v->types, asked.types) &&
        has(v->operations, asked.operations))
      out.push_back(v);
  if (!out.empty()) return out;
  const auto chosen = options.selected();
  if (asked.device && std::any_of(chosen.begin(), chosen.end(), [&](const Variant* v) {
        return only_lacks_cuda(*v, *asked.device);
      }))
    throw UsageError(
        "this program was built without CUDA, so nothing in it runs on device cuda; --device sim lists its kernels");
  throw UsageError("no variant matches all of --variants, --device, --types and --operations; leave one out");
}

void print_variants(const std::vector<const Variant*>& selected, const ListOptions& options) {
  if (options.json) {
    auto all = nlohmann::ordered_json::array();
    for (const Variant* v : selected) all.push_back(describe(*v));
    fmt::print("{}\n", all.dump(2));
    return;
  }
  if (options.csv) {
    // The records of catalog.csv, as it lies beside results.
    const auto catalog = parse_csv(catalog_csv()).records;
    const auto column = std::find(catalog[0].begin(), catalog[0].end(), "variant") - catalog[0].begin();
    for (const Fields& record : catalog)
      if (&record == &catalog[0] ||
          std::any_of(selected.begin(), selected.end(), [&](auto* v) { return v->id == record[column]; }))
        fmt::print("{}", csv_record(record));
    return;
  }
  std::vector<const Variant*> ordered = selected;
  std::stable_sort(ordered.begin(), ordered.end(), [](auto* a, auto* b) { return place_of(*a) < place_of(*b); });
  // A crowd that only its own experiment measures is one line, unless it was asked for.
  constexpr std::size_t crowd = 12;
  const auto crowd_of = [&](const Variant& v) {
    return static_cast<std::size_t>(std::count_if(ordered.begin(), ordered.end(), [&](auto* other) {
      return other->group() == v.group() && other->own_experiment == v.own_experiment;
    }));
  };
  const bool folds = !options.all && options.selection.variants.empty();
  Table table({"variant", "runs on", "idea"});
  std::size_t section = sections().size();
  std::set<std::string> folded;
  for (const Variant* v : ordered) {
    const auto here = place_of(*v).first;
    if (here != section) table.section(std::string(sections()[here].heading));
    section = here;
    const std::size_t alike = folds && !v->own_experiment.empty() ? crowd_of(*v) : 0;
    if (alike <= crowd)
      table.add({v->id, names(devices_of(*v)), idea_of(*v)});
    else if (const std::string group(v->group()); folded.insert(group + " " + v->own_experiment).second)
      table.add({group + "/...", names(devices_of(*v)), fmt::format("{} combinations, --all lists them", alike)});
  }
  table.print();
  say(fmt::format("\n{}; 'reductio info VARIANT' describes one", counted(selected.size(), "variant")));
  if (selected.size() < variants().size() || options.all) return;
  // A newcomer's first two, which need no GPU.
  for (const char* const step : {has_sim() ? "verify --variants '^twopass/' --tier quick --device sim"
                                           : "verify --variants '^host/' --tier quick",
                                 "compare host/plain host/unroll4"})
    fmt::print("{}\n", wrapped_command(fmt::format("next: {} {}", program_as_called(), step), 2));
}

void print_experiments(const ListOptions& options) {
  if (options.json) {
    auto all = nlohmann::ordered_json::array();
    for (const Experiment& e : experiments())
      all.push_back({{"name", e.name}, {"summary", e.summary}, {"device", name(e.device)}});
    fmt::print("{}\n", all.dump(2));
    return;
  }
  if (options.csv) {
    fmt::print("{}", csv_record({"experiment", "device", "summary"}));
    for (const Experiment& e : experiments())
      fmt::print("{}", csv_record({e.name, std::string(name(e.device)), e.summary}));
    return;
  }
  Table table({"experiment", "device", "what it does"});
  for (const Experiment& e : experiments()) table.add({e.name, std::string(name(e.device)), e.summary});
  table.print();
}

}  // namespace

Command add_list(CLI::App& app) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* sub = app.add_subcommand("list", "List the variants, or the experiments");
  sub->add_option("what", options->what, "variants or experiments, or the file of a plug-in")->capture_default_str();
  options->selection.add_variants(*sub);
  options->selection.add_plugins(*sub);
  options->selection.add_types(*sub);
  sub->add_option("--device", options->selection.device, "Only variants that run on this device: cuda, sim or cpu")
      ->type_name("DEVICE");
  sub->add_flag("--all", options->all, "Every variant, with a line for each combination of ablation/");
  auto* json = sub->add_flag("--json", options->json, "Print all details as JSON");
  sub->add_flag("--csv", options->csv, "Print the table as CSV")->excludes(json);
  return {sub,
          [options, sub] {
            if (names_plugin(options->what)) options->selection.variants = std::exchange(options->what, "variants");
            load_plugins(options->selection);
            if (options->what != "variants" && options->what != "experiments")
              throw UsageError("cannot list '" + options->what + "'; known: variants, experiments");
            if (options->what == "experiments") {
              for (const char* of_variants :
                   {"--variants", "--plugin", "--nvcc-flags", "--types", "--operations", "--device", "--all"})
                if (sub->count(of_variants))
                  throw UsageError(std::string(of_variants) + " chooses variants; leave it out to list experiments");
              print_experiments(*options);
            } else {
              print_variants(matching(options->selection), *options);
            }
            return exit_ok;
          },
          true};
}

}  // namespace reductio::cli
