/// reductio draw: the tree that a kernel really adds, as a picture.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "cli/commands.h"
#include "cli/inspect/subject.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"
#include "device/sim/fault.h"
#include "inspect/call.h"
#include "inspect/picture.h"
#include "measure/results/csv.h"

namespace reductio::cli {
namespace {

struct DrawOptions {
  SubjectOptions subject;
  std::string out, every = "1";
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

void write_picture(const std::filesystem::path& file, const std::string& text) {
  const std::string why = why_not([&] { write_whole_file(file, text); });
  if (!why.empty()) throw OutputError(why.substr(0, why.find("; rows so far")));  // a picture has no rows
}

/// Of x.svg: x-1.svg and so on, and x.html to step through. Else the page alone.
void write_steps(const inspect::Picture& picture, const std::string& out) {
  std::filesystem::path page = out;
  if (out.empty()) return fmt::print("{}", inspect::draw_page(picture));
  if (page.extension() == ".svg") {
    const std::size_t steps = inspect::steps_of(picture);
    for (std::size_t step = 1; step <= steps; ++step) {
      std::filesystem::path file = page;
      file.replace_filename(fmt::format("{}-{:0{}}.svg", page.stem().string(), step, std::to_string(steps).size()));
      write_picture(file, inspect::draw_svg(picture, step));
    }
    page.replace_extension(".html");
  }
  write_picture(page, inspect::draw_page(picture));
}

int run(DrawOptions& options) {
  Subject s = subject_of(options.subject, inspect::tree_type);
  const std::string settings = small_settings(*s.variant, options.subject.selection.settings);
  if (settings != options.subject.selection.settings) {
    options.subject.selection.settings = settings;
    s = subject_of(options.subject, inspect::tree_type);
  }
  const std::size_t most = inspect::most_decoded(s.problem.type, s.problem.operation);
  const std::size_t every =
      parse_whole("--every", options.every, "a whole number from 1 to 2^20", std::size_t{1} << 20);
  if (every == 0) throw UsageError("--every 0 leaves no element; give a whole number from 1 on");
  if (options.subject.n.empty()) s.problem.n = most;
  const std::size_t cells = s.problem.n;
  if (cells == 0 || cells > most)
    throw UsageError(fmt::format("--n {} cannot be drawn: a picture has 1 to {} elements of {} ({})",
                                 options.subject.n, most, name(s.problem.type), name(s.problem.operation)));
  if (s.problem.operation != Operation::sum && s.problem.operation != Operation::sum_of_squares)
    throw UsageError("a picture is of a sum or a sum of squares; give --operations sum");
  if (!options.out.empty()) check_option("--out", options.out);

  const auto backend = open_backend(DeviceKind::sim, "");
  inspect::Picture picture;
  picture.title = s.variant->id;
  std::vector<std::string> facts{fmt::format("{} of {} elements of {}",
                                             s.problem.operation == Operation::sum ? "Sum" : "Sum of squares", cells,
                                             name(s.problem.type))};
  if (every > 1) facts.push_back(fmt::format("one in {} of {}, the others zero", every, cells * every));
  for (const auto& [key, value] : s.settings) facts.push_back(key + "=" + value);
  picture.subtitle = join(facts, ", ");
  const auto input = inspect::powers_of_two(s.problem.type, cells, every);
  s.problem.n = cells * every;
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
    const inspect::TreeTracer tracer(s.problem, every, call.input(), call.output());
    const bool failed = failing();
    picture.tree = tracer.tree(failed);
    if (place) std::tie(picture.tree.fault.block, picture.tree.fault.thread) = *place;
  }
  if (picture.tree.nodes.size() == cells && picture.note.empty())
    throw UsageError(s.variant->id +
                     " keeps its partial sums in another form than the elements', so its tree cannot "
                     "be read from them");
  if (options.steps)
    write_steps(picture, options.out);
  else if (options.out.empty())
    fmt::print("{}", inspect::draw_svg(picture));
  else
    write_picture(options.out, inspect::draw_svg(picture));
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
  sub->add_option(
         "--every", options->every,
         "The N elements are one in K of the input; the others are zero. For blocks that N elements do not fill")
      ->type_name("K");
  sub->add_flag(
      "--steps", options->steps,
      "A picture for each step, FILE-1.svg and so on, and FILE.html to step through; of another FILE the page "
      "alone");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
