#pragma once
/// The subcommands. Each lives in a file of its own, adds itself to the command line and is run if it was chosen.

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace reductio::cli {

/// The program's exit codes; scripts rely on them.
enum Exit : int {
  exit_ok = 0,
  exit_error = 1,      ///< wrong usage, or an error at run time
  exit_wrong = 2,      ///< verification failed, or a wrong result where times were taken
  exit_slower = 3,     ///< compare --fail-if-slower: something is slower
  exit_undecided = 4,  ///< compare --fail-if-slower: nothing is slower, but something is not decided
  exit_no_gpu = 77,    ///< a GPU was demanded and there is none; test runners read this as "skipped"
};

/// main(): reads the command line, runs one subcommand, and turns errors into one line and an exit code.
/// `as_called`: what stands for argv[0] in commands that are printed; null: argv[0]. `error`: if not null, takes what
/// is wrong, which is not printed then.
int program(int argc, char** argv, const char* as_called = nullptr, std::string* error = nullptr);

/// argv[0] as a shell takes it: for commands that are printed to be typed.
const std::string& program_as_called();

/// The groups of variants that a build without CUDA lacks. (One of them has a variant on the CPU.)
inline constexpr std::array cuda_groups{"cub/", "cublas/", "thrust/"};

struct Command {
  CLI::App* app;
  std::function<int()> run;  ///< gives the exit code; throws the errors of core/error.h
  bool only_prints = false;  ///< who reads no further has seen enough of it
};

Command add_list(CLI::App&);
Command add_info(CLI::App&);
Command add_verify(CLI::App&);
Command add_run(CLI::App&, std::vector<std::string> command_line);  ///< the latter for the record
Command add_compare(CLI::App&, std::vector<std::string> command_line);  ///< likewise
Command add_selftest(CLI::App&);
Command add_models(CLI::App&);
Command add_summarize(CLI::App&);
Command add_plot(CLI::App&);
Command add_report(CLI::App&);
Command add_claims(CLI::App&);
Command add_releases(CLI::App&);
Command add_probe(CLI::App&, std::vector<std::string> command_line);   ///< likewise
Command add_record(CLI::App&, std::vector<std::string> command_line);  ///< likewise
Command add_new(CLI::App&);
Command add_simulate(CLI::App&, std::vector<std::string> command_line);  ///< behind "--", the program's arguments
Command add_inspect(CLI::App&);
Command add_draw(CLI::App&);
Command add_completion(CLI::App&);

/// All of them; in the program `simulate` that one alone.
std::vector<Command> add_commands(CLI::App&, const std::vector<std::string>& command_line);

}  // namespace reductio::cli
