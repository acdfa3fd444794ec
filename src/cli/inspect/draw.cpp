/// reductio draw: the tree that a kernel really adds, as a picture.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "cli/commands.h"
#include "cli/inspect/subject.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "device/sim/fault.h"
#include "inspect/call.h"
#include "inspect/picture.h"
#include "measure/results/csv.h"

namespace reductio::cli {
namespace {

struct DrawOptions {
  SubjectOptions subject;
  std::string out;
  bool steps = false;
};

/// With the variant's smallest blocks where none are asked for: a block of 256 threads is no picture.
std::string small_settings(const Variant& v, const std::string& given) {
  std::string out = given;
  for (const Tunable& t : v.tunables)
    if (t.name == "block" && given.find("block=") == given.npos)
      for (const char* const block : {"8", "16", "32", "64"})
        if (t.allows(block)) {
          out += (out.empty() ? "" : ",") + std::string("block=") + block;
          break;
        }
  return out;
}

int run(DrawOptions& options) {
  Subject s = subject_of(options.subject, inspect::tree_type);
  const std::string settings = small_settings(*s.variant, options.subject.selection.settings);
  if (settings != options.subject.selection.settings) {
    options.subject.selection.settings = settings;
    s = subject_of(options.subject, inspect::tree_type);
  }
  const std::size_t most = inspect::most_decoded(s.problem.type, s.problem.operation);
  if (options.subject.n.empty()) s.problem.n = most;
  if (s.problem.n == 0 || s.problem.n > most)
    throw UsageError(fmt::format("--n {} cannot be drawn: a picture has 1 to {} elements of {} ({})",
                                 options.subject.n, most, name(s.problem.type), name(s.problem.operation)));
  if (s.problem.operation != Operation::sum && s.problem.operation != Operation::sum_of_squares)
    throw UsageError("a picture is of a sum or a sum of squares; give --operations sum");
  if (!options.out.empty()) check_option("--out", options.out);

  const auto backend = open_backend(DeviceKind::sim, "");
  inspect::Picture picture;
  picture.title = s.variant->id;
  std::vector<std::string> facts{fmt::format("{} of {} elements of {}",
                                             s.problem.operation == Operation::sum ? "Sum" : "Sum of squares",
                                             s.problem.n, name(s.problem.type))};
  for (const auto& [key, value] : s.settings) facts.push_back(key + "=" + value);
  picture.subtitle = join(facts, ", ");
  const auto input = inspect::powers_of_two(s.problem.type, s.problem.n);
  inspect::SimulatedCall call(*backend, *s.variant, s.problem, s.settings, input);
  std::optional<std::pair<std::size_t, unsigned>> place;  // of who failed: others may have gone on
  const auto failing = [&] {
    try {
      call.run();
    } catch (const sim::Fault& fault) {
      picture.note = fault.what();
      if (!fault.threads.empty()) place = {fault.block, fault.threads.front()};
      return true;
    } catch (const DeviceError& e) {
      picture.note = e.what();
      return true;
    }
    return false;
  };
  {
    const inspect::Counter counter;
    failing();
    picture.counts = counter.kernels();
  }
  {
    const inspect::TreeTracer tracer(s.problem, call.input(), call.output());
    const bool failed = failing();
    picture.tree = tracer.tree(failed);
    if (place) std::tie(picture.tree.fault.block, picture.tree.fault.thread) = *place;
  }
  if (picture.tree.nodes.size() == s.problem.n && picture.note.empty())
    throw UsageError(s.variant->id +
                     " keeps its partial sums in another form than the elements', so its tree cannot "
                     "be read from them");
  const std::string text = options.steps ? inspect::draw_steps(picture) : inspect::draw_svg(picture);
  if (options.out.empty())
    fmt::print("{}", text);
  else
    write_whole_file(options.out, text);
  if (!picture.note.empty()) print_message(picture.note);
  return picture.note.empty() ? exit_ok : exit_wrong;
}

}  // namespace

Command add_draw(CLI::App& app) {
  auto options = std::make_shared<DrawOptions>();
  CLI::App* sub =
      app.add_subcommand("draw", "Draw which values a kernel adds, where and by which thread, without a GPU");
  options->subject.add(*sub, "");
  sub->add_option("--out,-o", options->out, "The picture goes to FILE; without it, to stdout")->type_name("FILE");
  sub->add_flag("--steps", options->steps, "A page that shows the picture step by step");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
