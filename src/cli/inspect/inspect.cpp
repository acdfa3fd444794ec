/// reductio inspect: what a kernel does to memory, counted on the simulated device in Nsight Compute's units.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/inspect/subject.h"
#include "cli/terminal.h"
#include "core/dataset.h"
#include "core/error.h"
#include "device/sim/gpu.h"
#include "inspect/call.h"
#include "inspect/counts.h"

namespace reductio::cli {
namespace {

using inspect::Counts;
using inspect::KernelCounts;
using inspect::Kind;
using Json = nlohmann::ordered_json;

struct InspectOptions {
  SubjectOptions subject;
  std::string like;
  bool csv = false, json = false;
};

constexpr Kind all_kinds[] = {Kind::global_load,  Kind::global_store,  Kind::global_atomic, Kind::shared_load,
                              Kind::shared_store, Kind::shared_atomic, Kind::block_barrier, Kind::warp_operation};

/// Nothing where a number has no meaning for the kind.
std::string or_nothing(std::uint64_t v) { return v ? std::to_string(v) : ""; }

std::vector<std::string> cells(const Counts& c) {
  return {std::to_string(c.threads),
          std::to_string(c.requests),
          or_nothing(c.sectors),
          c.sectors ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(c.bytes) /
                                                  static_cast<double>(c.sectors * inspect::sector_bytes))
                    : "",
          or_nothing(c.wavefronts),
          c.wavefronts ? std::to_string(c.conflicts) : ""};
}

void print_in_words(const Subject& s, const std::vector<KernelCounts>& kernels) {
  say_bold(fmt::format("{} {}, {} of {} {}", s.variant->id, s.settings.str(), name(s.problem.operation),
                       show_size(s.problem.n), name(s.problem.type)));
  for (const KernelCounts& k : kernels) {
    fmt::print("\n");
    say(fmt::format("kernel {}: {}, {} of {}", k.kernel,
                    k.launches == 1 ? "1 launch" : fmt::format("{} launches", k.launches), counted(k.blocks, "block"),
                    counted(k.threads, "thread")));
    Table table({"what", "where", "threads", "requests", "sectors", "used", "wavefronts", "conflicts"});
    const auto add = [&](const std::string& what, const Counts& c, const std::string& where) {
      std::vector<std::string> row = cells(c);
      row.insert(row.begin(), {what, where});
      table.add(std::move(row));
    };
    for (const Kind kind : all_kinds) {
      std::size_t places = 0;
      for (const auto& p : k.places) places += p.kind == kind;
      if (places > 1) add(std::string(name(kind)) + "s", k.of(kind), "all");
      for (const auto& p : k.places)
        if (p.kind == kind)
          add(std::string(name(kind)), p.counts,
              fmt::format("{}:{}:{}", std::filesystem::path(p.file).filename().string(), p.line, p.column));
    }
    table.print();
    if (k.most_atomics)
      say(fmt::format("atomics: at {}, at most {} at one", counted(k.atomic_addresses, "address"), k.most_atomics));
    if (k.levels.size() > 1) {
      std::string text;
      for (const auto& level : k.levels)
        text += fmt::format("{}{}/{}", text.empty() ? "" : ", ", level.lanes, level.warps);
      say("lanes/warps at work between barriers: " + text, 2);
    }
  }
}

Json json_of(const Counts& c) {
  return {{"threads", c.threads}, {"requests", c.requests},     {"bytes", c.bytes},
          {"sectors", c.sectors}, {"wavefronts", c.wavefronts}, {"conflicts", c.conflicts}};
}

void print_json(const Subject& s, const std::vector<KernelCounts>& kernels) {
  Json out = {{"variant", s.variant->id},
              {"settings", s.settings.str()},
              {"operation", name(s.problem.operation)},
              {"element_type", name(s.problem.type)},
              {"n", s.problem.n},
              {"kernels", Json::array()}};
  for (const KernelCounts& k : kernels) {
    Json one = {{"kernel", k.kernel},
                {"launches", k.launches},
                {"blocks", k.blocks},
                {"threads", k.threads},
                {"totals", Json::object()},
                {"places", Json::array()},
                {"levels", Json::array()},
                {"atomic_addresses", k.atomic_addresses},
                {"most_atomics_at_one", k.most_atomics}};
    for (const Kind kind : all_kinds) one["totals"][std::string(name(kind))] = json_of(k.of(kind));
    for (const auto& p : k.places) {
      Json place = {{"file", p.file}, {"line", p.line}, {"column", p.column}, {"kind", name(p.kind)}};
      place.update(json_of(p.counts));
      one["places"].push_back(std::move(place));
    }
    for (const auto& level : k.levels) one["levels"].push_back({{"warps", level.warps}, {"lanes", level.lanes}});
    out["kernels"].push_back(std::move(one));
  }
  fmt::print("{}\n", out.dump(2));
}

void print_csv(const Subject& s, const std::vector<KernelCounts>& kernels) {
  fmt::print(
      "variant,settings,operation,element_type,n,kernel,kind,file,line,column,threads,requests,bytes,sectors,"
      "wavefronts,conflicts\n");
  for (const KernelCounts& k : kernels)
    for (const auto& p : k.places)
      fmt::print("{},{},{},{},{},\"{}\",{},{},{},{},{},{},{},{},{},{}\n", s.variant->id, s.settings.str(),
                 name(s.problem.operation), name(s.problem.type), s.problem.n, k.kernel, name(p.kind), p.file, p.line,
                 p.column, p.counts.threads, p.counts.requests, p.counts.bytes, p.counts.sectors, p.counts.wavefronts,
                 p.counts.conflicts);
}

int run(InspectOptions& options) {
  const Subject s = subject_of(options.subject, usual_type);
  const sim::Like like(options.like);
  const auto backend = open_backend(DeviceKind::sim, "");
  std::vector<std::byte> data = make_tile("exact", s.problem.type, s.problem.n, 1);
  const std::size_t tile = data.size();
  data.resize(s.problem.bytes());
  for (std::size_t at = tile; at < data.size(); ++at) data[at] = data[at - tile];
  inspect::SimulatedCall call(*backend, *s.variant, s.problem, s.settings, data);
  std::vector<KernelCounts> kernels;
  try {
    call.run();  // the first may set up what later ones find
    const inspect::Counter counter;
    call.run();
    kernels = counter.kernels();
  } catch (const DeviceError& e) {
    print_message(e.what());
    return exit_wrong;
  }
  if (options.json)
    print_json(s, kernels);
  else if (options.csv)
    print_csv(s, kernels);
  else
    print_in_words(s, kernels);
  return exit_ok;
}

}  // namespace

Command add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* sub =
      app.add_subcommand("inspect", "Count a kernel's requests, sectors, bank conflicts and barriers, without a GPU");
  options->subject.add(*sub, "2^16");
  sub->add_option("--like", options->like, "The simulated device is like sm-75, sm-86, nvidia-h200 or nvidia-b200")
      ->type_name("GPU");
  auto* json = sub->add_flag("--json", options->json, "As JSON");
  sub->add_flag("--csv", options->csv, "As CSV, a row for each place in the source")->excludes(json);
  return {sub, [options] { return run(*options); }, true};
}

}  // namespace reductio::cli
