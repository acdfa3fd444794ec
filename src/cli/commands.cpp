#include "cli/commands.h"

namespace reductio::cli {

std::vector<Command> add_commands(CLI::App& app, const std::vector<std::string>& command_line) {
  return {add_list(app),
          add_info(app),
          add_verify(app),
          add_simulate(app, command_line),
          add_inspect(app),
          add_draw(app),
          add_run(app, command_line),
          add_compare(app, command_line),
          add_plot(app),
          add_report(app),
          add_selftest(app),
          add_models(app),
          add_summarize(app),
          add_claims(app),
          add_probe(app, command_line),
          add_record(app, command_line),
          add_releases(app),
          add_new(app),
          add_completion(app)};
}

}  // namespace reductio::cli
