/// reductio selftest: does comparing find what is there, and nothing else?

#include "measure/analysis/selftest.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "cli/warnings.h"
#include "core/bytes.h"
#include "core/child.h"
#include "measure/analysis/compare.h"
#include "measure/analysis/timer_figures.h"
#include "measure/plan/selection.h"
#include "measure/session/bench.h"
#include "measure/session/interrupts.h"
#include "measure/session/session.h"

namespace reductio::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SelftestOptions {
  std::string variant;
  SelectionOptions selection;
  std::optional<int> repeats;
  bool quick = false, json = false, quiet = false;
};

std::string percent(double share) { return fmt::format("{:.2g} %", 100 * share); }
std::string percent(Interval i) { return fmt::format("[{}, {}]", percent(i.low), percent(i.high)); }
std::string show(const Ratio& r) {
  return fmt::format("{:.4f} [{:.4f}, {:.4f}]", r.value, r.interval.low, r.interval.high);
}

std::string show(const Figure& f) {
  if (f.name.ends_with("_s")) return show_seconds(f.value);
  return f.name.ends_with("_hz") ? fmt::format("{:.0f} MHz", 1e-6 * f.value) : fmt::format("{:.3g}", f.value);
}

/// Whether it was told as it is, for a table.
std::string how_told(const PlantedEffect& p) {
  if (p.found()) return ink(Ink::green, "found");
  if (!p.covered()) return ink(Ink::red, "not covered");
  if (!p.too_small_beside_other()) return ink(Ink::red, "not found");
  return ink(Ink::yellow,
             fmt::format("too small to be found here: the interval is {} wide", percent(log_width(*p.beside_other))));
}

/// In words, and its key in JSON.
struct KindOfComparison {
  SelfComparisons::Kind SelfComparisons::*which;
  const char *name, *words;
};
constexpr KindOfComparison kinds[] = {{&SelfComparisons::together, "together", "in the same rounds"},
                                      {&SelfComparisons::apart, "apart", "in other contexts, as by another process"}};

Json to_json(const SelfComparisons::Kind& kind) {
  Json out = {
      {"comparisons", kind.comparisons}, {"false_positives", kind.without_one}, {"faster_or_slower", kind.told_apart}};
  if (kind.smallest) out["smallest_effect"] = *kind.smallest;
  return out;
}

Json to_json(const SelftestReport& report, const SelftestPlan& plan, const std::vector<Figure>& figures) {
  const auto interval = [](Interval i) { return Json{i.low, i.high}; };
  Json out = {{"variant", plan.point.variant->id},
              {"device", name(plan.point.device)},
              {"timing_mode", name(plan.point.timing_mode)},
              {"cache_state", name(plan.point.cache_state)},
              {"confidence", plan.confidence},
              {"effect", plan.effect},
              {"order_seed", plan.order_seed},
              {"other", plan.other ? Json(plan.other->id) : Json()}};
  for (const auto& [which, name, words] : kinds) {
    const SelfComparisons::Kind all = report.all(which);
    out[name] = to_json(all);
    if (all.comparisons) out[name]["false_positive_rate_interval"] = interval(all.rate());
  }
  out["with_itself"] = Json::array();
  out["planted"] = Json::array();
  out["figures"] = Json::object();
  for (const SelfComparisons& s : report.with_itself) {
    Json one = {{"n", s.n}, {"time_s", s.median_s}};
    for (const auto& [which, name, words] : kinds) one[name] = to_json(s.*which);
    out["with_itself"].push_back(std::move(one));
  }
  for (const PlantedEffect& p : report.planted)
    out["planted"].push_back(
        {{"n", p.n},
         {"effect", p.effect},
         {"planted_s", p.planted_s},
         {"ratio", p.ratio.value},
         {"interval", interval(p.ratio.interval)},
         {"rest_ratio", p.rest.value},
         {"rest_interval", interval(p.rest.interval)},
         {"verdict", name(p.verdict)},
         {"ratio_beside_other", p.beside_other ? Json(p.beside_other->value) : Json()},
         {"interval_beside_other", p.beside_other ? interval(p.beside_other->interval) : Json()},
         {"rest_ratio_beside_other", p.beside_other ? Json(p.rest_beside_other.value) : Json()},
         {"rest_interval_beside_other", p.beside_other ? interval(p.rest_beside_other.interval) : Json()},
         {"verdict_beside_other", p.beside_other ? Json(name(p.verdict_beside_other)) : Json()},
         {"covered", p.covered()},
         {"found", p.found()},
         {"too_small_beside_other", p.too_small_beside_other()}});
  for (const Figure& f : figures) out["figures"][f.name] = f.value;
  return out;
}

void print(const SelftestReport& report, const SelftestPlan& plan, const std::vector<Figure>& figures,
           const std::string& machine) {
  fmt::print("{} against itself on {}: two plans, each with a workspace; {}, {}; order seed {}\n",
             plan.point.variant->id, machine, name(plan.point.timing_mode), name(plan.point.cache_state),
             plan.order_seed);
  for (const auto& [which, unused, words] : kinds) {
    Table itself(
        {"n", "a call", "comparisons", "intervals without 1", "FASTER or SLOWER", "smallest effect seen in 9 of 10"});
    for (const SelfComparisons& s : report.with_itself) {
      const SelfComparisons::Kind& kind = s.*which;
      if (!kind.comparisons) continue;
      itself.add({show_size(s.n), show_seconds(s.median_s), std::to_string(kind.comparisons),
                  std::to_string(kind.without_one), std::to_string(kind.told_apart),
                  kind.smallest ? percent(*kind.smallest) : ""});
    }
    if (!report.all(which).comparisons) continue;
    fmt::print("\n{}\n", words);
    itself.print();
  }
  fmt::print("\nslowed by a spin of known length\n");
  Table planted({"n", "planted", "t(base)/t [interval]", "verdict", "t(base)/(t - planted): 1?",
                 plan.other ? "relative to " + plan.other->id + ", in other contexts" : "", ""});
  for (const PlantedEffect& p : report.planted)
    planted.add({show_size(p.n), percent(p.effect), show(p.ratio), std::string(name(p.verdict)), show(p.rest),
                 p.beside_other ? fmt::format("{} {}", show(*p.beside_other), name(p.verdict_beside_other)) : "",
                 how_told(p)});
  planted.print();
  fmt::print("\ntimer and caches of this machine\n");
  Table measured({"figure", "", ""});
  for (const Figure& f : figures) measured.add({f.what, show(f), f.warning.empty() ? "" : ink(Ink::yellow, f.warning)});
  measured.print();
  fmt::print("\n");
}

/// The GPU where there is one, unless the variant or the user say otherwise. One that is named must be there.
Bench open_bench(const SelftestOptions& options, const Selection& selection, const Variant*& variant) {
  variant = options.variant.empty() ? nullptr : &find_variant(options.variant);
  DeviceKind device =
      selection.device.value_or(variant && variant->runs_on(DeviceKind::cpu) ? DeviceKind::cpu : DeviceKind::cuda);
  if (variant && !variant->runs_on(device) && !only_lacks_cuda(*variant, device))
    throw UsageError(fmt::format("{} does not run on device {}", variant->id, name(device)));
  if (variant) options.selection.check_gpu(device, variant->id);
  std::optional<Bench> bench;
  if (!selection.device && !variant && options.selection.gpu.empty()) {
    try {
      bench = open_bench(DeviceKind::cuda, "");
    } catch (const NoGpu&) {
      device = DeviceKind::cpu;
    }
  }
  // Before the variant, which a program without CUDA does not hold: that there is no GPU is what the user must know.
  if (!bench) bench = open_bench_or_advise(device, options.selection.gpu);
  if (!variant) variant = &find_variant(device == DeviceKind::cuda ? "cub/sum" : "host/plain");
  return std::move(*bench);
}

/// Another kernel of the same problem: a document's fastest, or a loop that is unrolled. Null where there is none.
const Variant* other_than(const Point& point) {
  const auto has = [](const auto& list, const auto& one) { return std::count(list.begin(), list.end(), one) > 0; };
  const Variant* other = nullptr;
  for (const Variant& v : variants())
    if ((v.id == "multiblock/last-block-warp" || v.id == "host/unroll4") && &v != point.variant &&
        v.runs_on(point.device) && has(v.operations, point.problem.operation) && has(v.types, point.problem.type))
      other = &v;
  return other;
}

SelftestPlan plan_of(const SelftestOptions& options, const Selection& selection, const Variant& variant,
                     DeviceKind device) {
  const bool on_cpu = device == DeviceKind::cpu;
  SelftestPlan plan;
  plan.point.variant = &variant;
  plan.point.device = device;
  plan.point.problem.operation = selected_or(selection.operations, variant.operations).front();
  plan.point.problem.type = selected_or(selection.types, {usual_type(variant.types)}).front();
  plan.point.settings = variant.settings(selection.settings);
  plan.point.seed = selection.seed;
  plan.point.timing_mode =
      on_cpu || variant.result != ResultLocation::on_device ? TimingMode::end_to_end : TimingMode::device;
  plan.point.cache_state = on_cpu && !variant.consumes_input ? CacheState::warm : CacheState::cold_dirty;
  plan.order_seed = selection.order_seed ? *selection.order_seed : draw_order_seed();
  plan.sizes =
      selected_or(selection.sizes, on_cpu ? std::vector<std::size_t>{1u << 14, 1u << 17}
                                          : std::vector<std::size_t>{1u << 12, 1u << 16, 1u << 20, 1u << 24, 1u << 28});
  // In all as many comparisons as show a true rate of 10 % in nine of ten self-tests, where 5 % are stated.
  const int enough = 320, sizes = static_cast<int>(plan.sizes.size());
  plan.repeats = options.repeats.value_or(options.quick ? 10 : (enough + sizes - 1) / sizes);
  plan.other = other_than(plan.point);
  plan.rules = plan.planted_rules = compare_rules();
  plan.rules.time_budget_s = 0.08;
  plan.rules.max_samples = options.quick ? 5 * wanted_contexts : 240;  // many comparisons rather than narrow ones
  if (options.quick)
    plan.planted_rules.time_budget_s = 0.2;
  else if (plan.other)  // beside another kernel each half has as many contexts as compare has
    plan.planted_rules.contexts = plan.planted_rules.min_samples = 2 * wanted_contexts;
  return plan;
}

struct Outcome {
  SelftestReport report;
  std::vector<Figure> figures;
};

std::vector<Figure> figures_of(const Bench& bench) {
  std::vector<Figure> out;
  run_apart(
      [&](const Child::Send& send) {
        Instruments& instruments = *std::make_unique<Instruments>().release();  // the process ends with them
        Backend& backend = *bench.instruments.open(instruments);
        const auto& gpu = bench.machine.gpu;
        for (const Figure& f : timer_figures(backend, instruments, gpu ? gpu->theoretical_peak_bytes_per_s() : 0,
                                             [](const std::string& text) { print_message("note: " + text); })) {
          BytesOut bytes;
          bytes(f.name, f.what, f.value, f.warning);
          send({bytes.bytes});
        }
      },
      [&](const Child::Message& m) {
        Figure& f = out.emplace_back();
        BytesIn(m.at(0))(f.name, f.what, f.value, f.warning);
      });
  return out;
}

/// Throws WrongResult.
Outcome measure(Bench& bench, const SelftestPlan& plan, bool quiet) {
  Progress progress(quiet);
  const Interrupts catching;
  Outcome outcome;
  try {
    outcome.figures = figures_of(bench);
    outcome.report = selftest(
        nullptr, bench.instruments, plan,
        {.progress = [&](double share,
                         const std::string& what) { progress.show(static_cast<std::size_t>(100 * share), 100, what); },
         .stop = [] { return Interrupts::count() > 0; }});
  } catch (const WrongResult&) {
    progress.clear();
    throw;
  }
  progress.clear();
  return outcome;
}

/// The last lines, and what they mean for the exit code.
int conclude(const SelftestReport& report, const SelftestPlan& plan, const SelftestOptions& options) {
  std::vector<std::string> false_positives;  // a line for each kind of comparison
  bool too_many = false;
  for (const auto& [which, unused, words] : kinds) {
    const SelfComparisons::Kind all = report.all(which);
    if (!all.comparisons) continue;
    false_positives.push_back(fmt::format(
        "{} of {} comparisons of a variant with itself, {}, found a difference: a rate in {} where at most {} "
        "is stated",
        all.without_one, all.comparisons, words, percent(all.rate()), percent(1 - plan.confidence)));
    too_many = too_many || all.too_many(plan.confidence);
  }
  if (!options.json || !options.quiet) {
    const std::string told = fmt::format("{}\n{}\n", join(false_positives, "\n"), report.told());
    if (options.json)
      tell(told);
    else
      try_to_print([&] { fmt::print("{}", told); });
  }
  push_output();
  if (too_many) {
    print_message("selftest failed: " + join(false_positives, "; "));
    return exit_error;
  }
  std::vector<std::string> missed;
  bool too_short = false, otherwise = false;
  for (const PlantedEffect& p : report.planted)
    if (p.missed()) {
      missed.push_back(fmt::format("{} at {} ({})", percent(p.effect), show_size(p.n),
                                   p.why_missed(plan.other ? plan.other->id : "")));
      (p.missed_by_resolution() ? too_short : otherwise) = true;
    }
  if (missed.empty()) return exit_ok;
  print_message(
      fmt::format("selftest failed: planted effects missed: {}{}{}", join(missed, ", "),
                  too_short ? "; the clock's resolution is too coarse for calls this short, give larger --sizes" : "",
                  otherwise ? "; is the machine busy?" : ""));
  return exit_error;
}

int run(const SelftestOptions& options) {
  const Selection selection = options.selection.parse();
  if (options.repeats.value_or(1) < 1) throw UsageError("--repeats must be 1 or more");
  if (selection.device == DeviceKind::sim)
    throw UsageError("the simulated device measures no time; a self-test needs a clock");
  if (std::count(selection.sizes.begin(), selection.sizes.end(), 0u))
    throw UsageError("--sizes 0: a sum of nothing cannot be slowed by a known share; give sizes from 1 on");
  const Variant* variant = nullptr;
  Bench bench = open_bench(options, selection, variant);
  const DeviceKind device = bench.info.kind;
  const SelftestPlan plan = plan_of(options, selection, *variant, device);
  if (!options.quiet)
    for (const auto& text : misleading(bench)) print_warning(text);
  Outcome outcome;
  try {
    outcome = measure(bench, plan, options.quiet);
  } catch (const WrongResult& e) {
    print_message(e.what());
    return exit_wrong;
  }
  try_to_print([&] {
    if (options.json)
      fmt::print("{}\n", to_json(outcome.report, plan, outcome.figures).dump(2));
    else if (!options.quiet)
      print(outcome.report, plan, outcome.figures, bench.machine.name);
  });
  return conclude(outcome.report, plan, options);
}

}  // namespace

Command add_selftest(CLI::App& app) {
  auto options = std::make_shared<SelftestOptions>();
  CLI::App* sub = app.add_subcommand("selftest", "Test whether compare's verdicts can be trusted on this machine");
  sub->add_option("variant", options->variant, "Which variant (default: cub/sum on a GPU, host/plain on a CPU)");
  options->selection.add_points(*sub);
  options->selection.add_order(*sub);
  sub->add_option("--repeats", options->repeats,
                  "Comparisons of the variant with itself, for each size (default: 320 in all)")
      ->type_name("N");
  sub->add_flag("--quick", options->quick, "Few comparisons, as a smoke test");
  sub->add_flag("--json", options->json, "Print the outcome as JSON");
  sub->add_flag("--quiet", options->quiet, "Print only the last two lines");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
