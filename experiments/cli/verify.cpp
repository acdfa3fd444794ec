/// reductio verify: every variant's battery, on every device that is here.

#include "verify/verify.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

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

std::string_view status(const VariantResult& r) {
  return r.failed || r.not_run ? "failed" : r.passed ? "ok" : "refused";
}

std::string_view first_refusal(const VariantResult& r) {
  return r.refusals.empty() ? std::string_view("it has no case here") : r.refusals.front();
}

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
std::string junit_text(const std::vector<VariantResult>& results) {
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"reductio verify\">\n";
  for (DeviceKind device : all_devices()) {
    std::size_t tests = 0, failures = 0, skipped = 0;
    double seconds = 0;
    for (const VariantResult& r : results)
      if (r.device == device) {
        ++tests;
        failures += status(r) == "failed";
        skipped += status(r) == "refused";
        seconds += r.seconds;
      }
    if (tests == 0) continue;
    out += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.3f}\">\n",
        name(device), tests, failures, skipped, seconds);
    for (const VariantResult& r : results) {
      if (r.device != device) continue;
      out += fmt::format("    <testcase classname=\"reductio.{}\" name=\"{}\" time=\"{:.3f}\">", name(device),
                         xml(r.id), r.seconds);
      if (status(r) == "failed") {
        std::string text;
        for (const Failure& f : r.failures) text += f.what.describe() + ": " + f.why + "\n";
        out += fmt::format("<failure message=\"{} of {} cases failed, {} were not run\">{}</failure>", r.failed,
                           r.cases(), r.not_run, xml(text));
      } else if (status(r) == "refused") {
        out += fmt::format("<skipped message=\"{}\"/>", xml(first_refusal(r)));
      }
      out += "</testcase>\n";
    }
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

void print_json(const std::vector<VariantResult>& results) {
  Json out = {{"verified", Json::array()}};
  for (const VariantResult& r : results) {
    Json one = {{"variant", r.id},           {"device", name(r.device)}, {"status", status(r)},  {"passed", r.passed},
                {"failed", r.failed},        {"refused", r.refused},     {"not_run", r.not_run}, {"seconds", r.seconds},
                {"failures", Json::array()}, {"refusals", r.refusals}};
    for (const Failure& f : r.failures) one["failures"].push_back({{"case", f.what.describe()}, {"why", f.why}});
    out["verified"].push_back(std::move(one));
  }
  fmt::print("{}\n", out.dump(2));
}

void print_csv(const std::vector<VariantResult>& results) {
  fmt::print(
      "{}", csv_record({"variant", "device", "status", "passed", "failed", "refused", "not_run", "seconds", "reason"}));
  for (const VariantResult& r : results) {
    std::string reason;
    if (!r.failures.empty()) reason = r.failures.front().what.describe() + ": " + r.failures.front().why;
    if (status(r) == "refused") reason = first_refusal(r);
    fmt::print("{}", csv_record({r.id, std::string(name(r.device)), std::string(status(r)), std::to_string(r.passed),
                                 std::to_string(r.failed), std::to_string(r.refused), std::to_string(r.not_run),
                                 fmt::format("{:.3f}", r.seconds), reason}));
  }
}

void print_result(const VariantResult& r) {
  const auto colour = status(r) == "ok" ? Ink::green : status(r) == "failed" ? Ink::red : Ink::yellow;
  fmt::print("{}  {:<4}  {:<28}  {:>7} passed", ink(colour, fmt::format("{:<7}", status(r))), name(r.device), r.id,
             r.passed);
  if (r.failed) fmt::print(", {} failed", r.failed);
  if (r.refused) fmt::print(", {} refused", r.refused);
  if (r.not_run) fmt::print(", {} not run", r.not_run);
  fmt::print("  {}\n", show_seconds(r.seconds));
  for (const Failure& f : r.failures) fmt::print("         {}\n           {}\n", f.what.describe(), f.why);
  if (r.failed > r.failures.size()) fmt::print("         ... and {} more\n", r.failed - r.failures.size());
  for (const auto& why : r.refusals) fmt::print("         {}\n", ink(Ink::dim, "refused: " + why));
  std::fflush(stdout);
}

/// The battery of one variant on one device, or the cases at the sizes that the user named.
struct Work {
  Backend* backend = nullptr;
  Tier tier = Tier::standard;
  const Variant* variant = nullptr;  ///< narrowed; null: refused
  std::vector<Case> named_cases;     ///< empty: the battery
  std::size_t cases = 0;
  VariantResult result;
};

using Listener = std::function<void(std::size_t, std::size_t, const std::string&)>;

/// What --sizes asks for: exact and bounded data at each size, under the settings asked for or the defaults.
std::vector<Case> cases_at(const std::vector<std::size_t>& sizes, const Variant& v, DeviceKind device,
                           std::uint64_t seed) {
  std::vector<Case> out;
  for (Operation operation : v.operations)
    for (ElementType type : v.types)
      for (const std::size_t n : sizes)
        for (const auto& [dataset, check] : {std::pair("exact", "exact"), std::pair("random", "bounded")})
          out.push_back({&v,
                         {operation, type, n},
                         v.settings(),
                         0,
                         dataset,
                         seed,
                         device == DeviceKind::sim ? "random" : "",
                         is_floating(type) ? check : "exact"});
  return out;
}

/// Runs named cases as verify() runs a battery. Sets `stopped` where the device no longer works.
void run_cases(Work& work, std::string& stopped, const Listener& progress) {
  VariantResult& r = work.result;
  for (const Case& one : work.named_cases) {
    if (!stopped.empty() || r.failed == most_failures) {
      ++r.not_run;
      continue;
    }
    progress(r.passed + r.failed + r.refused, work.named_cases.size(), one.describe());
    std::string why;
    try {
      why = run_case(one, *work.backend);
      ++(why.empty() ? r.passed : r.failed);
    } catch (const Refused& e) {
      ++r.refused;
      if (std::find(r.refusals.begin(), r.refusals.end(), e.what()) == r.refusals.end()) r.refusals.push_back(e.what());
    } catch (const std::exception& e) {
      why = e.what();
      ++r.failed;
      // After a fault CUDA's context answers every further call with the same error.
      if (dynamic_cast<const DeviceError*>(&e) && r.device == DeviceKind::cuda) stopped = why;
    }
    if (!why.empty()) r.failures.push_back({one, why});
  }
}

void run_work(Work& work, std::uint64_t seed, std::string& stopped, const Listener& progress) {
  if (!work.variant) return;
  if (!stopped.empty()) {
    work.result.not_run = work.cases;
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  if (work.named_cases.empty()) {
    VerifyReport report = verify({work.variant}, *work.backend, work.tier, seed, progress);
    work.result = std::move(report.by_variant.at(0));
    stopped = report.stopped;
  } else {
    run_cases(work, stopped, progress);
  }
  work.result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(const Options& options) {
  const Selection asked = options.selection.parse();
  const auto chosen = options.selection.chosen();
  std::optional<Tier> tier;
  if (!options.tier.empty()) tier = parse_tier(options.tier);
  if (tier && !asked.sizes.empty()) throw UsageError("--sizes names the cases, --tier chooses them; leave one out");
  if (!options.junit.empty()) {
    // Found out before an hour of verifying; appending leaves an older file alone until there is something to say.
    const std::ofstream junit(options.junit, std::ios::app);
    if (!junit) throw UsageError("cannot write '" + options.junit + "'; give --junit a file in a folder that exists");
  }
  const auto backends = devices(options.selection);

  std::deque<Variant> narrow;  // cases point at their variant
  std::vector<Work> all;
  std::size_t total = 0;
  for (const auto& backend : backends) {
    const DeviceKind kind = backend->info().kind;
    for (const Variant* v : chosen) {
      if (!v->runs_on(kind)) continue;
      Work one;
      one.backend = backend.get();
      one.tier = tier.value_or(kind == DeviceKind::cuda ? Tier::gpu : Tier::standard);
      one.result.id = v->id;
      one.result.device = kind;
      try {
        one.variant = &narrow.emplace_back(narrowed(*v, asked));
        one.named_cases = cases_at(asked.sizes, *one.variant, kind, asked.seed);
        one.cases = asked.sizes.empty() ? battery(*one.variant, backend->info(), one.tier, asked.seed).size()
                                        : one.named_cases.size();
      } catch (const Refused& e) {
        one.result.refused = 1;
        one.result.refusals = {e.what()};
      }
      total += one.cases;
      all.push_back(std::move(one));
    }
  }
  if (all.empty())
    throw UsageError(
        "none of the selected variants runs on " +
        (asked.device ? "device " + std::string(name(*asked.device)) : std::string("a device that is here")) +
        "; 'reductio list' shows where each runs");

  Progress progress(options.quiet);
  const bool in_words = !options.json && !options.csv;
  std::size_t done = 0;
  std::map<DeviceKind, std::string> stopped;
  std::vector<VariantResult> results;
  for (Work& one : all) {
    run_work(
        one, asked.seed, stopped[one.result.device],
        [&](std::size_t part, std::size_t, const std::string& current) { progress.show(done + part, total, current); });
    done += one.cases;
    if (in_words && (!options.quiet || status(one.result) == "failed")) {
      progress.clear();
      print_result(one.result);
    }
    results.push_back(std::move(one.result));
  }
  progress.clear();

  if (options.json) print_json(results);
  if (options.csv) print_csv(results);
  if (!options.junit.empty()) write_whole_file(options.junit, junit_text(results));

  std::size_t passed = 0, failed = 0, refused = 0, not_run = 0, bad = 0;
  std::string first_bad;
  for (const VariantResult& r : results) {
    passed += r.passed;
    failed += r.failed;
    refused += r.refused;
    not_run += r.not_run;
    if (status(r) == "failed" && bad++ == 0) first_bad = r.id;
  }
  if (in_words && !options.quiet)
    fmt::print("{} passed, {} failed, {} refused{}\n", passed, failed, refused,
               not_run ? fmt::format(", {} not run", not_run) : "");
  std::fflush(stdout);
  if (bad) {
    std::string why;
    for (const auto& [device, text] : stopped)
      if (!text.empty()) why = fmt::format("; device {} stopped working: {}", name(device), text);
    fmt::print(stderr, "reductio: verification failed: {} of {} cases, in {} variant{} ({}{}){}\n", failed,
               passed + failed + not_run, bad, bad == 1 ? "" : "s", first_bad, bad == 1 ? "" : ", ...", why);
    return exit_wrong;
  }
  if (passed == 0)
    throw UsageError("nothing was verified: " + results.front().id + ": " +
                     std::string(first_refusal(results.front())));
  return exit_ok;
}

}  // namespace

Command add_verify(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("verify", "Check variants against exact references, on every device that is here");
  SelectionOptions& s = options->selection;
  s.add_variants(*sub);
  s.add_types(*sub);
  s.add_sizes(*sub);
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
