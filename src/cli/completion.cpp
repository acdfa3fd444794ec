/// reductio completion: a script by which bash and zsh complete subcommands, options, experiments and variants.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/terminal.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/types.h"
#include "device/backend.h"
#include "measure/plan/experiment.h"
#include "verify/verify.h"

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
  case $3 in
{values}    {others}) ;;
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
  local before=  # of a list, only the last item is completed
  case $2 in *,*) before=${{2%,*}}, ;; esac
  COMPREPLY=($(compgen -P "$before" -W "$words" -- "${{2##*,}}"))
}}
complete -o default -F _reductio reductio
)";

std::string known_experiments() {
  std::vector<std::string> out;
  for (const Experiment& e : experiments()) out.push_back(e.name);
  return join(out, " ");
}

/// The words that an option takes, by its name.
std::map<std::string, std::string> words_by_option() {
  const auto listed = [](const auto& all) { return fmt::format("{}", fmt::join(all, " ")); };
  return {{"--variants", "ids"},
          {"--relative-to", "ids"},
          {"--experiment", known_experiments()},
          {"--types", names(all_types(), " ")},
          {"--operations", names(all_operations(), " ")},
          {"--device", names(all_devices(), " ")},
          {"--modes", "device graph launch_to_idle end_to_end"},
          {"--cache", names(all_cache_states, " ")},
          {"--tier", "quick sanitizer check standard gpu"},
          {"--dataset", listed(dataset_names(ElementType::f64))},
          {"--order", listed(case_orders)},
          {"--check", listed(case_checks)},
          {"--from", "atomic two-launch last-block"}};
}

int print(const CLI::App& app, const std::string& shell) {
  if (shell != "bash" && shell != "zsh")
    throw UsageError((shell.empty() ? "name a shell, bash or zsh"
                                    : "there is no completion for '" + shell + "', only for bash and zsh") +
                     ": source <(reductio completion bash)");
  const auto words_of = words_by_option();
  std::vector<std::string> subcommands;
  std::set<std::string> others;  // options that take something else: a file, a number
  std::string options;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    subcommands.push_back(sub->get_name());
    std::vector<std::string> names;
    for (const CLI::Option* option : sub->get_options([](const CLI::Option* o) { return !o->get_group().empty(); }))
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
        if (option->get_items_expected_max() > 0 && !words_of.contains(names.back())) others.insert(names.back());
      }
    options += fmt::format("        \"{} -\"*) words=\"{}\" ;;\n", sub->get_name(), join(names, " "));
  }
  std::string values;
  for (const auto& [option, words] : words_of) values += fmt::format("    {}) words=\"{}\" ;;\n", option, words);
  if (shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
  fmt::print(fmt::runtime(script), fmt::arg("subcommands", join(subcommands, " ")),
             fmt::arg("subcommands_or", join(subcommands, "|")), fmt::arg("options", options),
             fmt::arg("experiments", known_experiments()), fmt::arg("values", values),
             fmt::arg("others", fmt::format("{}", fmt::join(others, " | "))));
  return exit_ok;
}

}  // namespace

Command add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("completion", "Print a completion script for bash or zsh");
  sub->add_option("shell", *shell, "bash or zsh");
  return {sub, [shell, &app] { return print(app, *shell); }, true};
}

}  // namespace reductio::cli
