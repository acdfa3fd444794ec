/// reductio verify: every variant's battery, on every device that is here.

#include "verify/verify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <span>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/plugins.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "core/dataset.h"
#include "core/parse.h"
#include "core/outputs.h"
#include "measure/results/csv.h"
#include "measure/session/interrupts.h"
#include "verify/junit.h"

namespace reductio::cli {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyOptions {
  SelectionOptions selection;
  std::string file, tier, junit;
  std::string offset, dataset, order, check, like, index_limit;
  std::optional<double> patience_s;  ///< 0: for ever
  bool quiet = false, json = false, csv = false;
};

std::string_view status(const VariantResult& r) {
  return r.failed ? "failed" : r.not_run ? "partial" : r.passed ? "ok" : "refused";
}

std::string_view first_refusal(const VariantResult& r) {
  return r.refusals.empty() ? std::string_view("it has no case here") : r.refusals.front();
}

Tier parse_tier(const std::string& text) {
  static const std::vector<std::pair<std::string, Tier>> known = {
      {"quick", Tier::quick}, {"sanitizer", Tier::sanitizer}, {"check", Tier::check}, {"standard", Tier::standard},
      {"gpu", Tier::gpu}};
  for (const auto& [word, tier] : known)
    if (word == text) return tier;
  throw UsageError("unknown tier '" + text + "'; known: quick, sanitizer, check, standard, gpu");
}

template <class T>
void keep(std::vector<T>& has, const std::vector<T>& wanted) {
  if (!wanted.empty())
    std::erase_if(has, [&](const T& one) { return std::find(wanted.begin(), wanted.end(), one) == wanted.end(); });
}

/// The variant as if it had only what was asked for, so that its battery covers just that; `compares_settings`: as if
/// its defaults were those asked for, with the others there to compare with. Throws Refused if nothing is left.
Variant narrowed(Variant v, const Selection& asked, bool compares_settings) {
  const std::vector<ElementType> types = v.types;
  const std::vector<Operation> operations = v.operations;
  keep(v.types, asked.types);
  keep(v.operations, asked.operations);
  std::erase_if(v.operations, [&](Operation o) { return !takes(o, asked.shapes); });
  const auto has_operation = [&](ElementType type) {
    return std::any_of(v.operations.begin(), v.operations.end(), [&](Operation o) { return is_defined(o, type); });
  };
  if (std::any_of(v.types.begin(), v.types.end(), has_operation))  // else each case is refused, which tells why
    std::erase_if(v.types, [&](ElementType type) { return !has_operation(type); });
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
      t.standard = value;
      if (!compares_settings) t = Tunable::choice(t.name, {value}, value);
    }
  return v;
}

/// What failures have in common that a person need read only once: the kind of fault and its source line; where there
/// is no line the text, whatever its numbers.
std::string kind_of(const Failure& f) {
  static const std::regex fault("(simulated device: .*?) in kernel [^\n]*?, ([^ ,]+:[0-9]+): [^\n]*"),
      number("[-+]?[0-9][-+0-9.e]*|nan|[-+]?inf");
  // std::regex recurses for each character, so a long text would overflow the stack.
  const std::string why = f.why.substr(0, 2000);
  std::smatch found;
  if (std::regex_search(why, found, fault)) return found.str(1) + found.str(2);
  return std::regex_replace(why, number, "#");
}

/// Failures of each kind, in the order in which they were first met.
std::vector<std::vector<Failure*>> by_kind(std::vector<Failure>& failures) {
  std::vector<std::pair<std::string, std::vector<Failure*>>> kinds;
  for (Failure& f : failures) {
    const std::string kind = kind_of(f);
    auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == kind; });
    if (known == kinds.end()) known = kinds.insert(kinds.end(), {kind, {}});
    known->second.push_back(&f);
  }
  std::vector<std::vector<Failure*>> out;
  for (auto& [unused, alike] : kinds) out.push_back(std::move(alike));
  return out;
}

/// What finds a failure again: its case by itself or, where that passes, all cases of its variant that were asked for.
std::string again(const Failure& f, DeviceKind device, const VerifyOptions& o, const std::string& program) {
  if (!f.needs_others) return f.what.command(device, program);
  const SelectionOptions& s = o.selection;
  std::vector<std::pair<std::string, std::string>> given{
      {"gpu", s.gpu},      {"operations", s.operations}, {"types", s.types}, {"sizes", s.sizes},
      {"shapes", s.shapes}, {"segments", s.segments},
      {"set", s.settings}, {"offset", o.offset},         {"tier", o.tier},   {"dataset", o.dataset},
      {"seed", s.seed},    {"order", o.order},           {"like", o.like},   {"index-limit", o.index_limit},
      {"check", o.check}};
  std::erase_if(given, [](const auto& option) { return option.second.empty(); });
  return verify_command(*f.what.variant, device, program, given);
}

/// What draws a fault of the simulated device where it happened, as far as a few elements show it; else empty.
std::string drawing(const Failure& f, const std::string& program) {
  const Case& c = f.what;
  if (!f.why.starts_with("simulated device: ") ||
      (c.problem.operation != Operation::sum && c.problem.operation != Operation::sum_of_squares))
    return "";
  std::string settings = c.settings.str();
  std::replace(settings.begin(), settings.end(), ';', ',');
  return fmt::format("drawn: {} draw {}{}{}", program, c.variant->id,
                     c.variant->plugin.empty() ? "" : " --plugin " + reductio::quoted(c.variant->plugin),
                     settings.empty() ? "" : " --set " + reductio::quoted(settings));
}

void print_json(const std::vector<VariantResult>& results, const VerifyOptions& options) {
  Json out = {{"verified", Json::array()}};
  for (const VariantResult& r : results) {
    Json one = {{"variant", r.id},
                {"device", name(r.device)},
                {"status", status(r)},
                {"passed", r.passed},
                {"failed", r.failed},
                {"refused", r.refused},
                {"not_run", r.not_run},
                {"left_out", r.left_out},
                {"largest_n", r.largest_n},
                {"seconds", r.seconds},
                {"failures", Json::array()},
                {"refusals", r.refusals},
                {"known_faults", r.faults},
                {"reasons_left_out", r.reasons_left_out}};
    for (const Failure& f : r.failures)
      one["failures"].push_back(
          {{"case", f.what.describe()}, {"why", f.why}, {"command", again(f, r.device, options, "reductio")}});
    out["verified"].push_back(std::move(one));
  }
  fmt::print("{}\n", out.dump(2));
}

void print_csv(const std::vector<VariantResult>& results) {
  fmt::print("{}", csv_record({"variant", "device", "status", "passed", "failed", "refused", "not_run", "left_out",
                               "largest_n", "seconds", "reason"}));
  for (const VariantResult& r : results) {
    std::string reason;
    if (!r.failures.empty()) reason = r.failures.front().what.describe() + ": " + r.failures.front().why;
    if (status(r) == "refused") reason = first_refusal(r);
    fmt::print("{}", csv_record({r.id, std::string(name(r.device)), std::string(status(r)), std::to_string(r.passed),
                                 std::to_string(r.failed), std::to_string(r.refused), std::to_string(r.not_run),
                                 std::to_string(r.left_out), std::to_string(r.largest_n),
                                 fmt::format("{:.3f}", r.seconds), reason}));
  }
}

constexpr std::size_t indent = 9;  // of what is told about a variant, below its line

/// One thing about the variant, in this ink.
void print_detail(const std::string& text, std::optional<Ink> colour = {}, std::size_t deep = indent) {
  const std::string told = wrapped(std::string(deep, ' ') + text, text_width(), deep + 2);
  fmt::print("{}\n", colour ? ink(*colour, told) : told);
}

void print_failures(VariantResult& r, const VerifyOptions& options) {
  for (const auto& alike : by_kind(r.failures)) {
    const Failure& f = *alike.front();
    print_detail(f.what.describe());
    print_detail(f.why, {}, indent + 2);
    if (f.needs_others)
      print_detail("this case passes alone: an earlier case leaves something behind", {}, indent + 2);
    const std::string command = "again: " + again(f, r.device, options, program_as_called());
    fmt::print("{}\n", ink(Ink::dim, wrapped_command(std::string(indent + 2, ' ') + command, indent + 4)));
    if (const std::string drawn = drawing(f, program_as_called()); !drawn.empty())
      fmt::print("{}\n", ink(Ink::dim, wrapped_command(std::string(indent + 2, ' ') + drawn, indent + 4)));
    if (alike.size() > 1)
      print_detail(fmt::format("... and {} like it (--json lists each)", counted(alike.size() - 1, "more case")), {},
                   indent + 2);
  }
}

void print_result(VariantResult& r, const VerifyOptions& options) {
  const auto colour = status(r) == "ok" ? Ink::green : status(r) == "failed" ? Ink::red : Ink::yellow;
  std::string line = fmt::format("{}  {:<4}  {:<28}  {:>7} passed", ink(colour, fmt::format("{:<7}", status(r))),
                                 name(r.device), r.id, r.passed);
  if (r.failed) line += fmt::format(", {} failed", r.failed);
  if (r.refused) line += fmt::format(", {} refused", r.refused);
  if (r.not_run) line += fmt::format(", {} not run", r.not_run);
  if (r.left_out) line += fmt::format(", {} left out", r.left_out);
  if (r.passed) line += fmt::format(", n to {}", show_size(r.largest_n));
  say(line + "  " + show_seconds(r.seconds), indent);
  if (r.not_run && r.failed)
    print_detail(fmt::format("given up after {}: {} of {} cases were run", counted(r.failed, "failure"),
                             r.cases() - r.not_run, r.cases()));
  print_failures(r, options);
  if (r.failed > r.failures.size()) print_detail(fmt::format("... and {} more", r.failed - r.failures.size()));
  for (const auto& why : r.faults) print_detail("wrong as declared: " + why, Ink::dim);
  for (const auto& why : r.reasons_left_out) print_detail("left out: " + why, Ink::dim);
  for (const auto& why : r.refusals) print_detail("refused: " + why, Ink::dim);
  push_output();
}

/// What no size that passed has shown; empty: all have met an index beyond 32 bits, or the sizes were named.
std::string not_tested(const std::vector<VariantResult>& results, const VerifyOptions& options) {
  if (!options.selection.sizes.empty() || !options.selection.shapes.empty()) return {};
  const auto count = std::count_if(results.begin(), results.end(), [](const VariantResult& r) {
    return status(r) == "ok" && r.largest_n < std::numeric_limits<std::int32_t>::max();
  });
  if (count == 0) return {};
  return fmt::format(
      "not tested for {}: n beyond 2^31, where an int index overflows; a GPU tests it, --tier gpu if memory suffices",
      counted(static_cast<std::size_t>(count), "variant"));
}

/// Throws UsageError where --check asks of a case what its data or its variant's settings cannot show.
void check_case(const Case& c) {
  const Problem& p = c.problem;
  if (c.check == "fault" && !c.variant->fault_of(c.settings))
    throw UsageError(
        fmt::format("{}{}{} has no known fault to check; 'reductio info {}' lists the settings that have one",
                    c.variant->id, c.settings.str().empty() ? "" : " with ", c.settings.str(), c.variant->id));
  if (c.check != "exact" || !is_floating(p.type)) return;
  if (!ExactOutputs(p, make_tile(c.dataset, p.type, p.extent(), c.seed)).all_exact())
    throw UsageError(fmt::format("--check exact: the {} of '{}' data in {} depends on the order of adding; give "
                                 "--check bounded or --dataset exact",
                                 name(p.operation), c.dataset, name(p.type)));
}

/// The --offset; 0 without it.
std::size_t offset_of(const VerifyOptions& options) {
  if (options.offset.empty()) return 0;
  return parse_whole("--offset", options.offset, "a whole number of elements from 0 to 2^60", most_elements);
}

/// The --index-limit; 0 without it.
std::size_t index_limit_of(const VerifyOptions& options) {
  if (options.index_limit.empty()) return 0;
  return parse_whole("--index-limit", options.index_limit, "a whole number from 0 to 2^31", std::uint64_t{1} << 31);
}

bool names_sizes(const Selection& asked) { return !asked.sizes.empty() || !asked.shapes.empty(); }

/// What --sizes asks for: exact and bounded data at each size, under the settings asked for or the defaults; or just
/// the one kind of case that --dataset and --check describe. Throws UsageError where there is no such case.
std::vector<Case> cases_at(const VerifyOptions& options, const Selection& asked, const Variant& v, DeviceKind device) {
  std::vector<std::pair<std::string, std::string>> works{{"exact", "exact"}, {"random", "bounded"}};
  if (!options.dataset.empty() || !options.check.empty())
    works = {{options.dataset.empty() ? "exact" : options.dataset, options.check.empty() ? "bounded" : options.check}};
  const std::size_t offset = offset_of(options);
  std::vector<Case> out;
  for (Operation operation : v.operations)
    for (ElementType type : v.types)
      for (const Problem& problem : problems_of(operation, type, asked.sizes, asked.shapes))
        for (auto [dataset, check] : works) {
          if (dataset == "wide" && has_squares(operation)) dataset = "wide-square";
          if (!has_dataset(dataset, type)) continue;  // infinities of integers
          out.push_back({&v,
                         problem,
                         v.settings(),
                         offset,
                         dataset,
                         asked.seed,
                         device != DeviceKind::sim ? "" : options.order.empty() ? "random" : options.order,
                         check == "bounded" && !is_floating(type) ? "exact" : check,
                         options.like,
                         index_limit_of(options)});
          out.back().cost = 1e4 + static_cast<double>(problem.n);
          check_case(out.back());
        }
  return out;
}

/// Throws UsageError where what --offset, --dataset, --order and --check say makes no case.
void check_case_options(const VerifyOptions& options, const Selection& asked) {
  const auto known = [](const std::string& option, const std::string& value, const auto& values) {
    if (value.empty() || std::find(values.begin(), values.end(), value) != values.end()) return;
    throw UsageError(fmt::format("unknown {} '{}'; known: {}", option, value, fmt::join(values, ", ")));
  };
  known("--order", options.order, case_orders);
  known("--check", options.check, case_checks);
  check_like(options.like);
  index_limit_of(options);
  const auto has_it = [&](ElementType type) { return has_dataset(options.dataset, type); };
  if (std::ranges::none_of(all_types(), has_it)) known("--dataset", options.dataset, all_dataset_names());
  const std::size_t offset = offset_of(options);
  for (const std::size_t n : asked.sizes)
    if (offset + n > most_elements)
      throw UsageError(fmt::format("--offset {} and {} elements after it are more than 2^60", offset, n));
  const bool has_any =
      !options.offset.empty() || !options.dataset.empty() || !options.order.empty() || !options.check.empty() ||
      !options.index_limit.empty();
  if (!names_sizes(asked) && has_any)
    throw UsageError(
        "--offset, --dataset, --order, --check and --index-limit describe cases of named sizes; give --sizes, too");
  const bool open = !asked.shapes.segments.empty() ||
                    std::any_of(asked.shapes.matrices.begin(), asked.shapes.matrices.end(),
                                [](const AskedShape& s) { return s.fits_any_n(); });
  if (asked.sizes.empty() && open)
    throw UsageError("these shapes do not fix the number of elements; give --sizes, too");
}

/// What is to be done on one device.
struct Work {
  std::deque<Variant> variants{};        ///< narrowed; cases point at them
  std::vector<VariantResult> refused{};  ///< those of which nothing was left
};

bool takes_any(const Variant& v, const AskedShapes& asked) {
  return std::any_of(v.operations.begin(), v.operations.end(), [&](Operation o) { return takes(o, asked); });
}

Work plan(DeviceKind kind, const std::vector<const Variant*>& selected, const Selection& asked,
          bool compares_settings) {
  Work work;
  for (const Variant* v : selected) {
    if (!takes_any(*v, asked.shapes)) continue;
    // Of a kernel that the simulated device cannot run, the summary says so.
    if (!v->runs_on(kind) && (kind != DeviceKind::sim || v->cuda_only.empty())) continue;
    try {
      if (!v->runs_on(kind)) throw Refused(refusal(*v, kind, {}, {}));
      work.variants.push_back(narrowed(*v, asked, compares_settings));
    } catch (const Refused& e) {
      VariantResult& r = work.refused.emplace_back();
      r.id = v->id;
      r.device = kind;
      r.refused = 1;
      r.refusals = {v->id + ": " + e.what()};
    }
  }
  return work;
}

/// All variants at once, so that they share the large inputs. Throws NoGpu.
VerifyReport verified(const VerifyOptions& options, const Selection& asked, const Work& work, DeviceKind kind,
                      const VerifyProgress& show) {
  std::vector<const Variant*> narrow;
  for (const Variant& v : work.variants) narrow.push_back(&v);
  std::optional<Tier> tier;
  if (!options.tier.empty()) tier = parse_tier(options.tier);
  const auto open = [&] { return open_or_advise(kind, options.selection.gpu); };
  const auto cases_of = [&](const Variant& v, const DeviceInfo& device) {
    if (names_sizes(asked)) return cases_at(options, asked, v, kind);
    auto cases = battery(v, device, tier.value_or(kind == DeviceKind::cuda ? Tier::gpu : Tier::standard), asked.seed);
    for (Case& c : cases)
      if (c.like.empty()) c.like = options.like;
    return cases;
  };
  const auto interrupted = [] { return Interrupts::count() > 0; };
  if (options.patience_s == 0.0) {
    const auto backend = open();
    return verify(
        narrow, *backend, [&](const Variant& v) { return cases_of(v, backend->info()); }, show, interrupted);
  }
  const auto patience_s = [&](const Case& c) { return options.patience_s.value_or(usual_patience_s(kind, c)); };
  return verify_apart(narrow, kind, open, cases_of, patience_s, show, interrupted);
}

/// Runs a case of each kind of failure by itself, in a process of its own, as the command would that finds it again.
void look_again(VariantResult& r, const VerifyOptions& options) {
  if (r.cases() - r.not_run < 2) return;  // it was by itself
  for (const auto& alike : by_kind(r.failures)) {
    const Case& c = alike.front()->what;
    if (!alike.front()->ended) continue;
    const VerifyReport alone = verify_apart(
        {c.variant}, r.device, [&] { return open_or_advise(r.device, options.selection.gpu); },
        [&](const Variant&, const DeviceInfo&) { return std::vector<Case>{c}; },
        [&](const Case&) { return options.patience_s.value_or(usual_patience_s(r.device, c)); }, {},
        [] { return Interrupts::count() > 0; });
    for (Failure* f : alike) f->needs_others = alone.passed > 0;
  }
}

int run(const VerifyOptions& options) {
  const Selection asked = options.selection.parse();
  const auto selected = options.selection.selected();
  check_case_options(options, asked);
  if (std::none_of(selected.begin(), selected.end(), [&](auto* v) { return takes_any(*v, asked.shapes); }))
    throw UsageError("no selected variant takes these shapes; 'reductio list --operations row_sums' shows those for "
                     "rows, column_sums and segment_sums the others");
  if (!options.like.empty() && asked.device != DeviceKind::sim)
    throw UsageError("--like is for the simulated device; add --device sim");
  if (!options.tier.empty()) parse_tier(options.tier);
  if (!options.tier.empty() && names_sizes(asked))
    throw UsageError("--sizes names the cases, --tier chooses them; leave one out");
  if (options.patience_s && !(*options.patience_s >= 0))
    throw UsageError("--patience takes a number of seconds, or 0 to wait forever");
  // What runs on the simulated device is a kernel, which a build with CUDA has for the GPU as well.
  if (std::none_of(selected.begin(), selected.end(),
                   [](auto* v) { return v->runs_on(DeviceKind::cuda) || v->runs_on(DeviceKind::sim); }))
    options.selection.check_gpu(DeviceKind::cpu, "every selected variant");
  if (!options.junit.empty()) check_option("--junit", options.junit);

  const std::span<const DeviceKind> all = all_devices();
  std::vector<DeviceKind> kinds(all.begin(), all.end());
  const bool demanded = !options.selection.device.empty() || !options.selection.gpu.empty();
  if (demanded) kinds = {asked.device.value_or(DeviceKind::cuda)};

  const Interrupts catching;
  Progress progress(options.quiet);
  const bool in_words = !options.json && !options.csv;
  std::vector<VariantResult> results;
  std::deque<Work> all_work;  // failures point at its variants
  std::string ended_early;    // why not all was run
  for (const DeviceKind kind : kinds) {
    const Work& work = all_work.emplace_back(plan(kind, selected, asked, options.check == "settings"));
    if (!demanded && work.variants.empty() && work.refused.empty()) continue;
    if (Interrupts::count()) {
      ended_early += fmt::format("; nothing was run on device {}", name(kind));
      continue;
    }
    const auto show = [&](std::size_t done, std::size_t total, const std::string& current, double left_s) {
      progress.show(done, total, std::string(name(kind)) + "  " + current, left_s);
    };
    VerifyReport report;
    try {
      report = verified(options, asked, work, kind, show);
    } catch (const NoGpu&) {
      if (demanded) throw;
      continue;  // the summary shows which devices were there
    }
    std::vector<VariantResult> here = work.refused;
    here.insert(here.end(), report.by_variant.begin(), report.by_variant.end());
    if (!report.stopped.empty()) ended_early += fmt::format("; device {}: {}", name(kind), report.stopped);
    if (report.interrupted) {
      ended_early += fmt::format("; interrupted on device {}", name(kind));
      std::erase_if(here, [](const VariantResult& r) { return r.cases() + r.left_out == 0; });  // not even counted
    }
    std::sort(here.begin(), here.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    for (VariantResult& r : here)
      if (report.stopped.empty() && options.patience_s != 0.0) look_again(r, options);
    progress.clear();
    if (in_words)
      for (VariantResult& r : here)
        if (status(r) == "failed" || (!options.quiet && (r.cases() == 0 || r.cases() > r.not_run)))
          try_to_print([&] { print_result(r, options); });
    results.insert(results.end(), here.begin(), here.end());
  }
  if (results.empty() && ended_early.empty())
    throw UsageError(
        "none of the selected variants runs on " +
        (asked.device ? "device " + std::string(name(*asked.device)) : std::string("a device that is here")) +
        "; 'reductio list' shows where each runs");

  if (options.json) try_to_print([&] { print_json(results, options); });
  if (options.csv) try_to_print([&] { print_csv(results); });
  const std::string not_written = options.junit.empty() ? "" : why_not([&] { write_junit(options.junit, results); });

  VariantResult sum;
  std::vector<std::string> bad;
  for (const VariantResult& r : results) {
    sum.passed += r.passed;
    sum.failed += r.failed;
    sum.refused += r.refused;
    sum.not_run += r.not_run;
    sum.left_out += r.left_out;
    sum.reasons_left_out.insert(sum.reasons_left_out.end(), r.reasons_left_out.begin(), r.reasons_left_out.end());
    if (status(r) == "failed") bad.push_back(r.id);
  }
  if (in_words && !options.quiet) {
    std::sort(sum.reasons_left_out.begin(), sum.reasons_left_out.end());
    const auto same = std::unique(sum.reasons_left_out.begin(), sum.reasons_left_out.end());
    sum.reasons_left_out.erase(same, sum.reasons_left_out.end());
    try_to_print([&] {
      if (sum.left_out)
        say(fmt::format("{} left out: {}", counted(sum.left_out, "case"), join(sum.reasons_left_out, "; ")), 2);
      if (const std::string what = not_tested(results, options); !what.empty()) say(what, 2);
      fmt::print("{} passed, {} failed, {} refused{}\n", sum.passed, sum.failed, sum.refused,
                 sum.not_run ? fmt::format(", {} not run", sum.not_run) : "");
    });
  }
  push_output();
  if (!not_written.empty()) print_message(not_written);
  if (!bad.empty()) {
    print_message(fmt::format("verification failed: {} of {} cases, in {} variant{} ({}{}){}", sum.failed, sum.cases(),
                              bad.size(), bad.size() == 1 ? "" : "s", bad.front(), bad.size() == 1 ? "" : ", ...",
                              ended_early));
    return exit_wrong;
  }
  if (!ended_early.empty()) {
    print_message(fmt::format("not all was verified: {} of {} cases were run{}", sum.cases() - sum.not_run, sum.cases(),
                              ended_early));
    return exit_error;
  }
  if (sum.passed == 0) throw UsageError("nothing was verified: " + std::string(first_refusal(results.front())));
  return not_written.empty() ? exit_ok : exit_error;
}

}  // namespace

Command add_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* sub = app.add_subcommand("verify", "Check variants against exact references, on every available device");
  sub->add_option("file", options->file, "A plug-in to verify: ./mine.cu")->type_name("FILE");
  options->selection.add_variants(*sub);
  options->selection.add_plugins(*sub);
  options->selection.add_points(*sub);
  sub->add_option("--tier", options->tier,
                  "How many cases: quick, sanitizer, check, standard or gpu (default: gpu on a GPU, else standard). "
                  "Without a GPU gpu is standard and sizes where 32-bit indices overflow, if memory suffices")
      ->type_name("TIER");
  sub->add_option("--offset", options->offset, "With --sizes: the input starts N elements after an aligned address")
      ->type_name("N");
  sub->add_option("--dataset", options->dataset, "With --sizes: the kind of data, as a failing case names it")
      ->type_name("NAME");
  sub->add_option("--order", options->order,
                  "With --sizes: the simulated device's order of threads: forward, reverse, starve or random")
      ->type_name("ORDER");
  sub->add_option(
         "--check", options->check,
         "With --sizes, as a failing case names it: exact, bounded, special, repeat, two-plans, calls, "
         "many-calls, settings, chain, bias, neighbours or fault")
      ->type_name("CHECK");
  sub->add_option("--like", options->like,
                  "The simulated device is like sm-75, sm-86, nvidia-h200 or nvidia-b200")
      ->type_name("GPU");
  sub->add_option("--index-limit", options->index_limit,
                  "With --sizes, as a failing case names it: loop indices of 32 bits count to N only")
      ->type_name("N");
  sub->add_option(
         "--patience", options->patience_s,
         "Give up a variant if a case takes longer than S seconds (default: 30 or more, by device and size). 0: wait "
         "forever and verify in this process, for debuggers and compute-sanitizer")
      ->type_name("S");
  sub->add_option("--junit", options->junit, "Also write the outcome as JUnit XML")->type_name("FILE");
  auto* json = sub->add_flag("--json", options->json, "Print the outcome as JSON");
  sub->add_flag("--csv", options->csv, "Print the outcome as CSV")->excludes(json);
  sub->add_flag("--quiet", options->quiet, "Print only failures");
  return {sub, [options] {
            if (const std::string& file = options->file; !file.empty()) {
              if (!names_plugin(file))
                throw UsageError("unexpected argument '" + file + "'; choose with --variants " + quoted(file));
              if (!options->selection.variants.empty())
                throw UsageError("'" + file + "' and --variants both choose variants; leave one out, or name "
                                 "the file with --plugin");
              options->selection.variants = file;
            }
            load_plugins(options->selection);
            return run(*options);
          }};
}

}  // namespace reductio::cli
