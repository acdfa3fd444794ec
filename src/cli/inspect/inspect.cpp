/// reductio inspect: what a kernel does to memory, counted on the simulated device in Nsight Compute's units.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/inspect/subject.h"
#include "cli/terminal.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/parse.h"
#include "device/sim/gpu.h"
#include "inspect/call.h"
#include "inspect/counts.h"
#include "verify/checks.h"

namespace reductio::cli {
namespace {

using inspect::Counts;
using inspect::KernelCounts;
using inspect::Kind;
using Json = nlohmann::ordered_json;

struct InspectOptions {
  SubjectOptions subject;
  std::string like, counters;
  bool csv = false, json = false;
};

struct Counter {
  const char* name;
  std::uint64_t Counts::*count;
};
constexpr Counter all_counters[] = {{"threads", &Counts::threads},       {"requests", &Counts::requests},
                                    {"bytes", &Counts::bytes},           {"sectors", &Counts::sectors},
                                    {"wavefronts", &Counts::wavefronts}, {"conflicts", &Counts::conflicts}};
/// `chosen`: with commas between them; empty: all.
std::vector<Counter> counters_in(const std::string& chosen) {
  if (chosen.empty()) return {std::begin(all_counters), std::end(all_counters)};
  std::vector<Counter> out;
  for (const std::string_view word : split_at(chosen, ',')) {
    const auto known = std::find_if(std::begin(all_counters), std::end(all_counters),
                                    [&](const Counter& c) { return c.name == word; });
    if (known == std::end(all_counters)) {
      std::vector<std::string> names;
      for (const Counter& c : all_counters) names.push_back(c.name);
      throw UsageError(fmt::format("there is no counter '{}'; the counters are {}", word, join(names, ", ")));
    }
    out.push_back(*known);
  }
  return out;
}

/// What was found of the additions that round; none: nothing of this type does.
struct Chain {
  std::optional<std::size_t> longest;
  std::size_t followed = 0, declared = 0;
};

constexpr Kind all_kinds[] = {Kind::global_load,  Kind::global_store,  Kind::global_atomic, Kind::shared_load,
                              Kind::shared_store, Kind::shared_atomic, Kind::block_barrier, Kind::warp_operation};

/// Nothing where a counter has no meaning for the kind; of bytes the share of those that move.
std::string cell(const Counts& c, std::uint64_t Counts::*count) {
  if (count == &Counts::sectors && !c.sectors) return "";
  if (count == &Counts::bytes)
    return c.sectors ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(c.bytes) /
                                                   static_cast<double>(c.sectors * inspect::sector_bytes))
                     : "";
  if ((count == &Counts::wavefronts || count == &Counts::conflicts) && !c.wavefronts) return "";
  return std::to_string(c.*count);
}

void print_in_words(const Subject& s, const std::vector<KernelCounts>& kernels, const std::vector<Counter>& counters,
                    const Chain& chain) {
  say_bold(fmt::format("{} {}, {} of {} {}", s.variant->id, s.settings.str(), name(s.problem.operation),
                       show_size(s.problem.n), name(s.problem.type)));
  if (chain.longest)
    say(fmt::format("longest chain: {} that round, of {} followed; declared: {}", counted(*chain.longest, "addition"),
                    counted(chain.followed, "element"), chain.declared));
  for (const KernelCounts& k : kernels) {
    fmt::print("\n");
    say(fmt::format("kernel {}: {}, {} of {}", k.kernel,
                    k.launches == 1 ? "1 launch" : fmt::format("{} launches", k.launches), counted(k.blocks, "block"),
                    counted(k.threads, "thread")));
    std::vector<std::string> head = {"what", "where"};
    for (const Counter& c : counters) head.emplace_back(c.count == &Counts::bytes ? "used" : c.name);
    Table table(head);
    const auto add = [&](const std::string& what, const Counts& c, const std::string& where) {
      std::vector<std::string> row = {what, where};
      for (const Counter& counter : counters) row.push_back(cell(c, counter.count));
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

Json json_of(const Counts& c, const std::vector<Counter>& counters) {
  Json out = Json::object();
  for (const Counter& counter : counters) out[counter.name] = c.*counter.count;
  return out;
}

void print_json(const Subject& s, const std::vector<KernelCounts>& kernels, const std::vector<Counter>& counters,
                const Chain& chain) {
  Json out = {{"variant", s.variant->id},
              {"settings", s.settings.str()},
              {"operation", name(s.problem.operation)},
              {"element_type", name(s.problem.type)},
              {"n", s.problem.n},
              {"longest_chain", chain.longest ? Json(*chain.longest) : Json()},
              {"elements_followed", chain.followed},
              {"declared_chain", chain.declared},
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
    for (const Kind kind : all_kinds) one["totals"][std::string(name(kind))] = json_of(k.of(kind), counters);
    for (const auto& p : k.places) {
      Json place = {{"file", p.file}, {"line", p.line}, {"column", p.column}, {"kind", name(p.kind)}};
      place.update(json_of(p.counts, counters));
      one["places"].push_back(std::move(place));
    }
    for (const auto& level : k.levels) one["levels"].push_back({{"warps", level.warps}, {"lanes", level.lanes}});
    out["kernels"].push_back(std::move(one));
  }
  fmt::print("{}\n", out.dump(2));
}

void print_csv(const Subject& s, const std::vector<KernelCounts>& kernels, const std::vector<Counter>& counters) {
  fmt::print("variant,settings,operation,element_type,n,kernel,kind,file,line,column");
  for (const Counter& c : counters) fmt::print(",{}", c.name);
  fmt::print("\n");
  for (const KernelCounts& k : kernels)
    for (const auto& p : k.places) {
      fmt::print("{},{},{},{},{},\"{}\",{},{},{},{}", s.variant->id, s.settings.str(), name(s.problem.operation),
                 name(s.problem.type), s.problem.n, k.kernel, name(p.kind), p.file, p.line, p.column);
      for (const Counter& c : counters) fmt::print(",{}", p.counts.*c.count);
      fmt::print("\n");
    }
}

/// By calls of other data, which nobody counts.
Chain chain_of(inspect::SimulatedCall& call, const Problem& p) {
  Chain out{.longest = {}, .declared = call.info().longest_chain};
  if (!is_floating(p.type) || p.n == 0) return out;
  try {
    for (const std::size_t element : followed_elements(p.n, 1)) {
      const auto additions =
          additions_of(p, element, [&](const std::vector<std::byte>& data) { return call.run(data); });
      if (!additions) continue;
      out.longest = std::max(out.longest.value_or(0), *additions);
      ++out.followed;
    }
  } catch (const Refused&) {  // more elements than a type counts
  }
  return out;
}

int run(InspectOptions& options) {
  const std::vector<Counter> counters = counters_in(options.counters);
  const Subject s = subject_of(options.subject, usual_type);
  const sim::Like like(options.like);
  const auto backend = open_backend(DeviceKind::sim, "");
  std::vector<std::byte> data = make_tile("exact", s.problem.type, s.problem.n, 1);
  const std::size_t tile = data.size();
  data.resize(s.problem.bytes());
  for (std::size_t at = tile; at < data.size(); ++at) data[at] = data[at - tile];
  inspect::SimulatedCall call(*backend, *s.variant, s.problem, s.settings, data);
  std::vector<KernelCounts> kernels;
  Chain chain;
  try {
    call.run();  // the first may set up what later ones find
    {
      const inspect::Counter counter;
      call.run();
      kernels = counter.kernels();
    }
    if (!options.csv) chain = chain_of(call, s.problem);
  } catch (const DeviceError& e) {
    print_message(e.what());
    return exit_wrong;
  }
  if (options.json)
    print_json(s, kernels, counters, chain);
  else if (options.csv)
    print_csv(s, kernels, counters);
  else
    print_in_words(s, kernels, counters, chain);
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
  sub->add_option("--counters", options->counters,
                  "Of threads, requests, bytes, sectors, wavefronts and conflicts, those to show (default: all)")
      ->type_name("NAME,...");
  auto* json = sub->add_flag("--json", options->json, "As JSON");
  sub->add_flag("--csv", options->csv, "As CSV, a row for each place in the source")->excludes(json);
  return {sub, [options] { return run(*options); }, true};
}

}  // namespace reductio::cli
