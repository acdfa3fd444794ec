/// `reductio simulate` as a program of its own, which builds in a fraction of the time.

#include <vector>

#include "cli/commands.h"

namespace reductio::cli {

std::vector<Command> add_commands(CLI::App& app, const std::vector<std::string>& command_line) {
  return {add_simulate(app, command_line)};
}

}  // namespace reductio::cli

int main(int argc, char** argv) {
  char subcommand[] = "simulate";
  std::vector<char*> words(argv, argv + argc + 1);  // with the null behind them
  words.insert(words.begin() + 1, subcommand);
  return reductio::cli::program(argc + 1, words.data());
}
