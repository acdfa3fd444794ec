/// The program: reads the command line, runs one subcommand, and turns errors into one line and an exit code.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>

#include "cli/commands.h"
#include "cli/plugins.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/variant.h"
#include "device/backend.h"
#include "measure/results/csv.h"
#include "measure/results/machine.h"

namespace reductio::cli {
namespace {

std::string called = "reductio";  // program_as_called()
std::string* told = nullptr;      // takes errors in place of stderr

/// What explain_unknown() says of a variant, or of a regular expression, of those that only nvcc can build.
std::string why_without_cuda(std::string_view word) {
  const bool of_cuda = std::any_of(cuda_groups.begin(), cuda_groups.end(),
                                   [&](std::string_view group) { return word.find(group) != word.npos; });
  return of_cuda && build_description().cuda_compiler.empty()
             ? "this program was built without CUDA, which the cub/, cublas/ and thrust/ of GPUs need"
             : "";
}

struct Example {
  const char *subcommand, *line;
};

/// The end of each subcommand's help.
constexpr Example examples[] = {
    {"list", "reductio list --variants '^twopass/'"},
    {"list", "reductio list experiments"},
    {"info", "reductio info levels/naive"},
    {"verify", "reductio verify --variants '^twopass/' --device sim"},
    {"verify", "reductio verify --variants '^mine/' --tier quick"},
    {"simulate", "reductio simulate prog.cu"},
    {"simulate", "reductio simulate prog.cu -I include -- 1000"},
    {"inspect", "reductio inspect unroll/neighbored --n 2^16"},
    {"inspect", "reductio inspect ./mine.cu --json"},
    {"draw", "reductio draw levels/naive --n 32 -o naive.svg"},
    {"draw", "reductio draw ./mine.cu --steps -o steps.html"},
    {"run", "reductio run comparison --types f32 --sizes 2^20:2^28"},
    {"run", "reductio run cpu --quick    # without a GPU"},
    {"compare", "reductio compare cub/sum twopass/warp-unrolled"},
    {"compare", "reductio compare host/plain host/unroll4    # without a GPU"},
    {"plot", "reductio plot experiments/results/nvidia-h200 --experiment comparison --types f32"},
    {"plot", "reductio plot --out sums.png    # of the folder in out/results"},
    {"report", "reductio report experiments/results/nvidia-h200    # then open report.html"},
    {"report", "reductio report before after --out upgrade.html"},
    {"selftest", "reductio selftest --quick"},
    {"models", "reductio models    # of the folder in out/results"},
    {"summarize", "reductio summarize out/results/MACHINE"},
    {"releases", "reductio releases"},
    {"releases", "reductio releases out/results"},
    {"claims", "reductio claims experiments/results/nvidia-h200"},
    {"claims", "reductio claims experiments/results/nvidia-h200 S1 U0"},
    {"probe", "reductio probe --gpu 0"},
    {"record", "reductio record out/results/nvidia-h200/ncu.csv"},
    {"new", "reductio new first-idea    # writes src/kernels/mine_first_idea.cu"},
    {"new", "reductio new mine/by-atomics --from atomic"},
    {"completion", "source <(reductio completion bash)    # in ~/.bashrc"},
    {"completion", "source <(reductio completion zsh)    # in ~/.zshrc"},
};

std::string examples_of(const std::string& subcommand) {
  std::string out;
  int count = 0;
  for (const Example& e : examples)
    if (e.subcommand == subcommand) {
      out += std::string("\n  ") + e.line;
      ++count;
    }
  return (count > 1 ? "Examples:" : "Example:") + out;
}

/// The command that prints the help, as the user calls this program.
std::string help_of(const std::string& subcommand = "") {
  return program_as_called() + (subcommand.empty() ? "" : " " + subcommand) + " --help";
}

/// "; did you mean 'X'?" or where to look.
std::string hint(const std::string& word, const std::vector<std::string>& known, const std::string& help) {
  const std::string near = nearest(word, known);
  return near.empty() ? "; see '" + help + "'" : "; did you mean '" + near + "'?";
}

[[noreturn]] void reject_subcommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> subcommands;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    subcommands.push_back(sub->get_name());
  throw UsageError("unknown subcommand '" + word + "'" + hint(word, subcommands, help_of()));
}

/// CLI11 only says which arguments were left over. Throws the UsageError that says what to do about the first.
void reject_leftovers(const CLI::App& app, const std::string& help) {
  const auto left = app.remaining();
  if (left.empty()) return;
  const std::string word = left.front().substr(0, left.front().find('='));
  if (word.starts_with("-")) {
    std::vector<std::string> options;
    for (const CLI::Option* option : app.get_options())
      for (const auto& name : option->get_lnames()) options.push_back("--" + name);
    throw UsageError("unknown option '" + word + "'" + hint(word, options, help));
  }
  if (app.get_parent()) {
    const char* option = names_plugin(word) ? "--plugin" : "--variants";
    const bool takes = app.get_option_no_throw(option) != nullptr;
    throw UsageError("unexpected argument '" + word + "'; " +
                     (takes ? std::string("choose with ") + option + " " + quoted(word) : "see '" + help + "'"));
  }
  reject_subcommand(app, word);
}

/// `help` and `help SUBCOMMAND` as --help; any other command line as it is. Throws UsageError.
std::vector<std::string> with_help_as_option(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words.front() != "help") return words;
  const auto is_it = [&](const CLI::App* sub) { return sub->get_name() == words[1]; };
  if (words.size() > 1 && app.get_subcommands(is_it).empty()) reject_subcommand(app, words[1]);
  words.resize(std::min<std::size_t>(words.size(), 2));
  words.front() = "--help";
  std::reverse(words.begin(), words.end());
  return words;
}

/// CLI11's "Could not convert: --timeout = foo" in our words.
[[noreturn]] void reject_value(const CLI::ConversionError& e, const CLI::App& app) {
  const std::string text = e.what();
  const std::size_t name = text.find("--"), equals = text.find(" = ");
  if (name == text.npos || equals == text.npos || equals < name) throw UsageError(text);
  const std::string option = text.substr(name, equals - name);
  const CLI::App* sub = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
  const CLI::Option* found = sub->get_option_no_throw(option);
  const bool seconds = found && found->get_type_name() == "S";
  throw UsageError(fmt::format("{} takes a {}, not '{}'", option, seconds ? "number of seconds" : "whole number",
                               text.substr(equals + 3)));
}

std::string empty_value(const std::string& option) { return option + " is empty; give it a value, or leave it out"; }

/// An empty value is a script's variable that was not set, and no wish for everything.
void reject_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const auto& value : option->results())
      if (value.empty()) throw UsageError(empty_value(option->get_name()));
}

/// The same of `--name=`, for which CLI11 takes the next word of the command line, another option even.
void reject_empty_values(const std::vector<std::string>& command_line) {
  for (const std::string& word : command_line)
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      throw UsageError(empty_value(word.substr(0, word.size() - 1)));
}

/// The command line for the record: the program by its name alone, because where it lies is nobody's business.
std::vector<std::string> for_the_record(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (!words.empty()) words.front() = std::filesystem::path(words.front()).filename().string();
  return words;
}

/// Errors are one line whatever they quote, so that scripts and people find the end of it; a NUL would end it early.
void complain(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r' || c == '\0') c = ' ';
  push_output();
  if (told) *told = text;
  else print_message(text);
}

/// For what only prints: whoever closes the pipe, as `| head` does, has read what was wanted.
void end_quietly_at_a_closed_pipe() {
  std::signal(SIGPIPE, [](int) { std::_Exit(exit_ok); });
}

/// Thrown in place of std::bad_alloc, which says nothing: its text reaches the user wherever it is caught.
struct OutOfMemory : std::bad_alloc {
  const char* what() const noexcept override { return text().c_str(); }
  /// Made while there is memory.
  static const std::string& text() {
    static const std::string advice = address_space_advice();
    static const std::string text =
        "out of memory" + (advice.empty() ? "; close other programs, or choose smaller --sizes" : advice);
    return text;
  }
};

/// CLI11's help, wrapped between words. CLI11 prints each description on one line.
class Help final : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return paragraph(Formatter::make_description(app));
  }
  std::string make_footer(const CLI::App* app) const override { return paragraph(Formatter::make_footer(app)); }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    return paragraph(Formatter::make_usage(app, std::move(name)), 6);
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    return entry(sub->get_display_name(true), sub->get_description());
  }

 private:
  static std::size_t columns() { return std::min<std::size_t>(text_width(), 100); }
  static std::string paragraph(const std::string& text, std::size_t hang = 2) { return wrapped(text, columns(), hang); }
  /// The name, and beside it what it is; below it where the terminal is narrow or the name long.
  static std::string entry(const std::string& name, const std::string& description) {
    const std::size_t indent = columns() < 80 ? 6 : 30;
    std::string out = "  " + name;
    if (out.size() + 2 > indent)
      out = wrapped(out, columns(), 4) + "\n" + std::string(indent, ' ');
    else
      out.resize(indent, ' ');
    const std::string told = wrapped(description, columns() - indent);
    for (const char c : told) out += c == '\n' ? "\n" + std::string(indent, ' ') : std::string(1, c);
    return out + "\n";
  }
};

/// The program's version, and those of what it was built with.
std::string versions() {
  const BuildDescription& b = build_description();
  return fmt::format("reductio {}\n{}\n{}", version_text(),
                     b.cuda_compiler.empty() ? "built without CUDA"
                                             : fmt::format("CUDA toolkit: {} for {}, CCCL {}", b.cuda_compiler,
                                                           b.cuda_architectures, b.cccl),
                     "C++ compiler: " + b.cxx_compiler);
}

int run_command(int argc, char** argv) {
  CLI::App app("reductio: how fast can a GPU add up an array? Hand-written reductions beside Thrust and CUB.",
               "reductio");
  app.formatter(std::make_shared<Help>());
  app.footer(
      "Exit codes: 0 success, 1 wrong usage or another error, 2 a wrong result, 77 no GPU; with compare "
      "--fail-if-slower 3 slower, 4 undecided.\n"
      "Examples:\n"
      "  reductio list\n"
      "  reductio verify --variants '^twopass/' --device sim\n"
      "  reductio run comparison --types f32 --sizes 2^20:2^28\n"
      "  reductio compare cub/sum twopass/warp-unrolled");
  app.set_version_flag("--version", versions(), "Show the version, its git revision, CUDA, CCCL and the compiler");
  app.allow_extras();  // so that this program, not CLI11, tells what is unknown and what was perhaps meant

  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // as everywhere: the last one counts

  const std::vector<std::string> command_line = for_the_record(argc, argv);
  std::vector<Command> commands = add_commands(app, command_line);
  for (Command& command : commands) {
    command.app->allow_extras();
    command.app->footer(examples_of(command.app->get_name()));
  }
  reject_empty_values(command_line);
  try {
    std::vector<std::string> words = with_help_as_option(app, argc, argv);
    if (!words.empty() && words.front() == "simulate")  // what follows is the simulated program's
      words.erase(std::find(words.begin(), words.end(), "--"), words.end());
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::Success& e) {  // --help and --version
    end_quietly_at_a_closed_pipe();
    const int exit = app.exit(e);
    flush_output();
    return exit;
  } catch (const CLI::ConversionError& e) {
    reject_value(e, app);
  } catch (const CLI::ParseError& e) {
    throw UsageError(e.what());
  }
  reject_leftovers(app, help_of());
  for (const Command& command : commands) {
    if (!*command.app) continue;
    // A program of one command is called without its name.
    reject_leftovers(*command.app, help_of(commands.size() > 1 ? command.app->get_name() : ""));
    reject_empty_values(*command.app);
    if (command.only_prints) end_quietly_at_a_closed_pipe();
    const int exit = command.run();
    try {
      flush_output();
    } catch (const OutputError& e) {
      if (output_was_closed()) return exit;  // who closed the pipe has read what was wanted
      if (exit == exit_ok) throw;
      complain(e.what());  // what the exit code says is the worse news
    }
    return exit;
  }
  std::vector<std::string> known;
  for (const Command& command : commands) known.push_back(command.app->get_name());
  const std::string last = known.back();
  known.pop_back();
  throw UsageError("name a subcommand: " + join(known, ", ") + " or " + last + "; see '" + help_of() + "'");
}

/// run_command(), whose exceptions become a line and an exit code.
int run_or_complain(int argc, char** argv) {
  try {
    return run_command(argc, argv);
  } catch (const NoGpu& e) {
    complain(e.what());
    return exit_no_gpu;
  } catch (const std::filesystem::filesystem_error& e) {
    complain("cannot use '" + e.path1().string() + "': " + e.code().message());
    return exit_error;
  } catch (const std::system_error& e) {
    // fmt's do not say which file it was
    const bool starved = e.code() == std::errc::resource_unavailable_try_again;  // a thread could not be started
    complain(std::ferror(stdout) ? cannot_write_output(e.code().value())
                                 : e.what() + (starved ? address_space_advice() : ""));
    return exit_error;
  } catch (const std::exception& e) {  // UsageError, Refused, DeviceError, and what the standard library throws
    complain(e.what());
    return exit_error;
  }
}

}  // namespace

const std::string& program_as_called() { return called; }

int program(int argc, char** argv, const char* as_called, std::string* error) {
  told = error;
  if (as_called) called = as_called;
  else if (argc > 0) called = quoted(argv[0]);
  explain_unknown(why_without_cuda);
  // A closed pipe is an error of the write, which says what stands: no work is lost silently.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // likewise of a file larger than 'ulimit -f' allows
  std::signal(SIGCHLD, SIG_DFL);  // where a parent ignores it, nobody learns how a process ended
  OutOfMemory::text();
  std::set_new_handler([] { throw OutOfMemory(); });
  const int exit = run_or_complain(argc, argv);
  // Exit handlers of a plug-in are its code: they could crash, or change the exit code. Who takes errors ends alike.
  if (!error && std::any_of(variants().begin(), variants().end(), [](const Variant& v) { return !v.plugin.empty(); })) {
    std::fflush(nullptr);
    std::_Exit(exit);
  }
  return exit;
}

}  // namespace reductio::cli
