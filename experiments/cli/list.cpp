/// reductio list: the variants (or the experiments) that this program holds.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "experiments/cli/commands.h"
#include "experiments/cli/describe.h"
#include "experiments/cli/selection.h"
#include "experiments/cli/terminal.h"
#include "measure/results/csv.h"
#include "measure/results/machine.h"

namespace reductio::cli {
namespace {

struct ListOptions {
  std::string what = "variants";
  SelectionOptions selection;
  bool json = false, csv = false;
};

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
  return out;
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
  Table table({"variant", "operations", "types", "devices", "from", "settings (default)"});
  for (const Variant* v : selected) {
    std::vector<std::string> tunables;
    for (const Tunable& t : v->tunables) tunables.push_back(t.name + "=" + t.standard);
    if (!v->cuda_only.empty()) tunables.push_back("(CUDA only)");
    if (!known_faults(*v).empty()) tunables.push_back("(has a known fault)");
    table.add({v->id, names(v->operations), names(v->types), names(devices_of(*v)), v->cites, join(tunables, " ")});
  }
  table.print();
  fmt::print("\n{} variant{}; 'reductio info VARIANT' tells all about one\n", selected.size(),
             selected.size() == 1 ? "" : "s");
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
  sub->add_option("what", options->what, "variants or experiments")->capture_default_str();
  options->selection.add_variants(*sub);
  options->selection.add_types(*sub);
  sub->add_option("--device", options->selection.device, "Only variants that run on this device: cuda, sim or cpu")
      ->type_name("DEVICE");
  auto* json = sub->add_flag("--json", options->json, "Everything about each as JSON");
  sub->add_flag("--csv", options->csv, "The table as CSV")->excludes(json);
  return {sub,
          [options] {
            if (options->what != "variants" && options->what != "experiments")
              throw UsageError("nothing to list by the name '" + options->what + "'; known: variants, experiments");
            if (options->what == "experiments")
              print_experiments(*options);
            else
              print_variants(matching(options->selection), *options);
            return exit_ok;
          },
          true};
}

}  // namespace reductio::cli
