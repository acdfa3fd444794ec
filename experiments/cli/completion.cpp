/// reductio completion: a script by which bash and zsh complete subcommands, options, experiments and variants.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/types.h"
#include "device/backend.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/describe.h"
#include "experiments/cli/terminal.h"
#include "measure/plan/experiment.h"

namespace reductio::cli {
namespace {

/// For bash, and for zsh by bashcompinit. Positional parameters alone, because arrays begin at 0 there and at 1 here.
/// Variants are asked of the program as the user types, so that new ones are there.
constexpr const char* script = R"(_reductio() {{
  local sub= word words=
  for word in "${{COMP_WORDS[@]}}"; do
    [ "$word" = "$2" ] && continue
    case $word in {subcommands_or}) sub=$word; break ;; esac
  done
  case "$sub $3" in
    *" --variants") words=ids ;;
    *" --types") words="{types}" ;;
    *" --operations") words="{operations}" ;;
    *" --device") words="{devices}" ;;
    *)
      case "$sub $2" in
{options}        " "*) words="{subcommands} --help --version" ;;
        "run "*) words="{experiments}" ;;
        "list "*) words="variants experiments" ;;
        "completion "*) words="bash zsh" ;;
        "info "* | "compare "* | "selftest "*) words=ids ;;
      esac ;;
  esac
  [ "$words" = ids ] && words=$("$1" list --csv 2>/dev/null | tail -n +2 | cut -d, -f2)
  COMPREPLY=($(compgen -W "$words" -- "$2"))
}}
complete -o default -F _reductio reductio
)";

int print(const CLI::App& app, const std::string& shell) {
  if (shell != "bash" && shell != "zsh")
    throw UsageError("name a shell, bash or zsh: source <(reductio completion bash)");
  std::vector<std::string> subcommands;
  std::string options;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    subcommands.push_back(sub->get_name());
    std::vector<std::string> names;
    for (const CLI::Option* option : sub->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    options += fmt::format("        \"{} -\"*) words=\"{}\" ;;\n", sub->get_name(), join(names, " "));
  }
  std::vector<std::string> known;
  for (const Experiment& e : experiments()) known.push_back(e.name);
  const auto words = [](const auto& all) {
    std::vector<std::string> out;
    for (const auto one : all) out.emplace_back(name(one));
    return join(out, " ");
  };
  if (shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
  fmt::print(fmt::runtime(script), fmt::arg("subcommands", join(subcommands, " ")),
             fmt::arg("subcommands_or", join(subcommands, "|")), fmt::arg("options", options),
             fmt::arg("experiments", join(known, " ")), fmt::arg("types", words(all_types())),
             fmt::arg("operations", words(all_operations())), fmt::arg("devices", words(all_devices())));
  return exit_ok;
}

}  // namespace

Command add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("completion", "Print a completion script for bash or zsh");
  sub->add_option("shell", *shell, "bash or zsh. Put into ~/.bashrc or ~/.zshrc: source <(reductio completion bash)");
  return {sub, [shell, &app] { return print(app, *shell); }, true};
}

}  // namespace reductio::cli
