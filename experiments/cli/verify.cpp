/// reductio verify: every variant's battery, on every device that is here.

#include "verify/verify.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/parse.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/describe.h"
#include "experiments/cli/selection.h"
#include "experiments/cli/terminal.h"
#include "measure/csv.h"

namespace reductio::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  SelectionOptions selection;
  std::string tier, junit;
  bool quiet = false, json = false, csv = false;
};

/// What became of one variant on one device.
struct Outcome {
  DeviceKind device;
  std::string id;
  VerifyReport report;
  double seconds = 0;

  bool ran() const { return report.passed + report.failed > 0; }
  std::string_view status() const { return report.failed ? "failed" : ran() ? "ok" : "refused"; }
};

Tier parse_tier(const std::string& text) {
  static const std::vector<std::pair<std::string, Tier>> known = {
      {"quick", Tier::quick}, {"sanitizer", Tier::sanitizer}, {"standard", Tier::standard}, {"gpu", Tier::gpu}};
  for (const auto& [word, tier] : known)
    if (word == text) return tier;
  throw UsageError("unknown tier '" + text + "'; known: quick, sanitizer, standard, gpu");
}

template <class T>
void keep(std::vector<T>& has, const std::vector<T>& wanted) {
  if (!wanted.empty())
    std::erase_if(has, [&](const T& one) { return std::find(wanted.begin(), wanted.end(), one) == wanted.end(); });
}

/// The variant as if it had only what was asked for, so that its battery covers just that. Throws Refused if nothing
/// is left.
Variant narrowed(Variant v, const Selection& asked) {
  const std::vector<ElementType> types = v.types;
  const std::vector<Operation> operations = v.operations;
  keep(v.types, asked.types);
  keep(v.operations, asked.operations);
  if (v.types.empty())
    throw Refused("element type " + names(asked.types, ", ") + " is not supported (supported: " + names(types, ", ") +
                  ")");
  if (v.operations.empty())
    throw Refused("operation " + names(asked.operations, ", ") +
                  " is not supported (supported: " + names(operations, ", ") + ")");
  for (Tunable& t : v.tunables)
    for (const auto& [key, value] : asked.settings) {
      if (key != t.name) continue;
      if (!t.allows(value))
        throw Refused("setting " + key + "=" + value + " is not allowed (allowed: " + t.describe() + ")");
      t = Tunable::choice(t.name, {value}, value);
    }
  return v;
}

/// The devices to verify on, opened: the one asked for, else all that are here.
std::vector<std::unique_ptr<Backend>> devices(const SelectionOptions& options) {
  std::vector<std::unique_ptr<Backend>> out;
  if (!options.device.empty() || !options.gpu.empty()) {
    out.push_back(
        open_or_advise(options.device.empty() ? DeviceKind::cuda : parse_device(options.device), options.gpu));
    return out;
  }
  for (DeviceKind kind : all_devices()) {
    try {
      out.push_back(open_backend(kind));
    } catch (const NoGpu&) {
      // Nobody demanded one: the summary shows which devices were there.
    }
  }
  return out;
}

std::string xml(std::string_view text) {
  std::string out;
  for (char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? ' ' : c;  // no control character may stand in XML
    }
  return out;
}

/// One test suite per device, one test case per variant: what CI systems show.
void write_junit(std::ostream& file, const std::vector<Outcome>& outcomes) {
  file << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"reductio verify\">\n";
  for (DeviceKind device : all_devices()) {
    std::size_t tests = 0, failures = 0, skipped = 0;
    double seconds = 0;
    for (const Outcome& o : outcomes)
      if (o.device == device) {
        ++tests;
        failures += o.status() == "failed";
        skipped += o.status() == "refused";
        seconds += o.seconds;
      }
    if (tests == 0) continue;
    file << fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\">\n",
        name(device), tests, failures, skipped, seconds);
    for (const Outcome& o : outcomes) {
      if (o.device != device) continue;
      file << fmt::format("    <testcase classname=\"reductio.{}\" name=\"{}\" time=\"{:.3f}\"", name(device),
                          xml(o.id), o.seconds);
      if (o.status() == "ok") {
        file << "/>\n";
        continue;
      }
      file << ">\n";
      if (o.status() == "failed") {
        std::string text;
        for (const Failure& f : o.report.failures) text += f.what.describe() + ": " + f.why + "\n";
        file << fmt::format("      <failure message=\"{} of {} cases failed\">{}</failure>\n", o.report.failed,
                            o.report.passed + o.report.failed, xml(text));
      } else {
        file << fmt::format("      <skipped message=\"{}\"/>\n",
                            xml(o.report.refusals.empty() ? "no case" : o.report.refusals.front()));
      }
      file << "    </testcase>\n";
    }
    file << "  </testsuite>\n";
  }
  file << "</testsuites>\n";
}

void print_json(const std::vector<Outcome>& outcomes) {
  Json out = {{"verified", Json::array()}};
  for (const Outcome& o : outcomes) {
    Json one = {{"variant", o.id},           {"device", name(o.device)},  {"status", o.status()},
                {"passed", o.report.passed}, {"failed", o.report.failed}, {"refused", o.report.refused},
                {"seconds", o.seconds},      {"failures", Json::array()}, {"refusals", o.report.refusals}};
    for (const Failure& f : o.report.failures) one["failures"].push_back({{"case", f.what.describe()}, {"why", f.why}});
    out["verified"].push_back(std::move(one));
  }
  fmt::print("{}\n", out.dump(2));
}

void print_csv(const std::vector<Outcome>& outcomes) {
  fmt::print("{}", csv_record({"variant", "device", "status", "passed", "failed", "refused", "seconds", "reason"}));
  for (const Outcome& o : outcomes) {
    std::string reason;
    if (o.status() == "failed")
      reason = o.report.failures.front().what.describe() + ": " + o.report.failures.front().why;
    if (o.status() == "refused" && !o.report.refusals.empty()) reason = o.report.refusals.front();
    fmt::print("{}", csv_record({o.id, std::string(name(o.device)), std::string(o.status()),
                                 std::to_string(o.report.passed), std::to_string(o.report.failed),
                                 std::to_string(o.report.refused), fmt::format("{:.3f}", o.seconds), reason}));
  }
}

void print_outcome(const Outcome& o) {
  const auto colour = o.status() == "ok" ? Ink::green : o.status() == "failed" ? Ink::red : Ink::yellow;
  fmt::print("{}  {:<4}  {:<28}  {:>7} passed", ink(colour, fmt::format("{:<7}", o.status())), name(o.device), o.id,
             o.report.passed);
  if (o.report.failed) fmt::print(", {} failed", o.report.failed);
  if (o.report.refused) fmt::print(", {} refused", o.report.refused);
  fmt::print("  {}\n", show_seconds(o.seconds));
  for (const Failure& f : o.report.failures) fmt::print("         {}\n           {}\n", f.what.describe(), f.why);
  if (o.report.failed > o.report.failures.size())
    fmt::print("         ... and {} more\n", o.report.failed - o.report.failures.size());
  for (const auto& why : o.report.refusals) fmt::print("         {}\n", ink(Ink::dim, "refused: " + why));
  std::fflush(stdout);
}

int run(const Options& options) {
  const Selection asked = options.selection.parse();
  const auto chosen = options.selection.chosen();
  std::optional<Tier> tier;
  if (!options.tier.empty()) tier = parse_tier(options.tier);
  std::ofstream junit;
  if (!options.junit.empty()) {
    // Found out before an hour of verifying; appending leaves an older file alone until there is something to say.
    junit.open(options.junit, std::ios::app);
    if (!junit) throw UsageError("cannot write '" + options.junit + "'; give --junit a file in a folder that exists");
  }
  const auto backends = devices(options.selection);

  struct Work {
    Backend* backend;
    Tier tier;
    const Variant* variant;  ///< narrowed; null: refused
    std::size_t cases;
    Outcome outcome;
  };
  std::deque<Variant> narrow;  // cases point at their variant
  std::vector<Work> work;
  std::size_t total = 0;
  for (const auto& backend : backends) {
    const DeviceKind kind = backend->info().kind;
    const Tier how_much = tier.value_or(kind == DeviceKind::cuda ? Tier::gpu : Tier::standard);
    for (const Variant* v : chosen) {
      if (!v->runs_on(kind)) continue;
      Work one{backend.get(), how_much, nullptr, 0, {kind, v->id, {}}};
      try {
        one.variant = &narrow.emplace_back(narrowed(*v, asked));
        one.cases = battery(*one.variant, backend->info(), how_much, asked.seed).size();
      } catch (const Refused& e) {
        one.outcome.report.refused = 1;
        one.outcome.report.refusals = {v->id + ": " + e.what()};
      }
      total += one.cases;
      work.push_back(std::move(one));
    }
  }
  if (work.empty())
    throw UsageError("none of the selected variants runs on device " +
                     (asked.device ? std::string(name(*asked.device)) : std::string("cuda, sim or cpu here")) +
                     "; 'reductio list' shows where each runs");

  Progress progress(options.quiet);
  const bool in_words = !options.json && !options.csv;
  std::size_t done = 0;
  std::vector<Outcome> outcomes;
  for (Work& one : work) {
    if (one.variant) {
      const auto start = std::chrono::steady_clock::now();
      one.outcome.report = verify({one.variant}, *one.backend, one.tier, asked.seed,
                                  [&](std::size_t part, std::size_t, const std::string& current) {
                                    progress.show(done + part, total, current);
                                  });
      one.outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    done += one.cases;
    if (in_words && (!options.quiet || one.outcome.report.failed)) {
      progress.clear();
      print_outcome(one.outcome);
    }
    outcomes.push_back(std::move(one.outcome));
  }
  progress.clear();

  if (options.json) print_json(outcomes);
  if (options.csv) print_csv(outcomes);
  if (!options.junit.empty()) {
    junit.close();
    junit.open(options.junit, std::ios::trunc);
    write_junit(junit, outcomes);
    junit.close();
    if (!junit) throw UsageError("could not write all of '" + options.junit + "'; is the disk full?");
  }

  std::size_t passed = 0, failed = 0, refused = 0, bad = 0;
  std::string first_bad;
  for (const Outcome& o : outcomes) {
    passed += o.report.passed;
    failed += o.report.failed;
    refused += o.report.refused;
    if (o.report.failed && bad++ == 0) first_bad = o.id;
  }
  if (in_words && !options.quiet) fmt::print("{} passed, {} failed, {} refused\n", passed, failed, refused);
  if (failed) {
    fmt::print(stderr, "reductio: verification failed: {} of {} cases, in {} variant{} ({}{})\n", failed,
               passed + failed, bad, bad == 1 ? "" : "s", first_bad, bad == 1 ? "" : ", ...");
    return exit_wrong;
  }
  if (passed == 0)
    throw UsageError("nothing was verified: " + (outcomes.front().report.refusals.empty()
                                                     ? std::string("the batteries are empty")
                                                     : outcomes.front().report.refusals.front()));
  return exit_ok;
}

}  // namespace

Command add_verify(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("verify", "Check variants against exact references, on every device that is here");
  SelectionOptions& s = options->selection;
  s.add_variants(*sub);
  s.add_types(*sub);
  s.add_settings(*sub);
  s.add_device(*sub);
  sub->add_option("--tier", options->tier,
                  "How much: quick, sanitizer, standard or gpu (default: gpu on a GPU, standard elsewhere)")
      ->type_name("TIER");
  sub->add_option("--junit", options->junit, "Also write the outcome as JUnit XML")->type_name("FILE");
  auto* json = sub->add_flag("--json", options->json, "The outcome as JSON");
  sub->add_flag("--csv", options->csv, "The outcome as CSV")->excludes(json);
  sub->add_flag("--quiet", options->quiet, "Only failures, no progress");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
