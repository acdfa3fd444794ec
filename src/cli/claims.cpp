/// reductio claims: what the documents claim, and the verdicts that `reductio summarize` wrote into a results folder.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "cli/commands.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "measure/analysis/verdicts.h"
#include "measure/results/csv.h"

namespace reductio::cli {
namespace {

struct ClaimsOptions {
  std::string folder;
  std::vector<std::string> claims;
};

/// verdicts.csv, checked.
class Verdicts {
 public:
  explicit Verdicts(const std::filesystem::path& folder) : path_(folder / "verdicts.csv") {
    if (!std::filesystem::is_directory(folder))
      throw UsageError(folder.string() + " is not a folder: name a results folder");
    const std::string remedy =
        "run `reductio summarize " + folder.string() + " --cpu-results FOLDER` in the project's folder";
    const auto text = content_of(path_);
    if (!text && !std::filesystem::exists(folder / "machine.json"))
      throw UsageError(folder.string() +
                       " holds no results: name a results folder, such as experiments/results/nvidia-h200");
    if (!text) throw UsageError("there is no " + path_.string() + ": " + remedy + ", to judge the claims");
    CsvText csv = parse_csv(*text);
    const std::string again = remedy + " again";
    if (csv.whole_bytes < text->size()) throw UsageError(path_.string() + " was cut while being written: " + again);
    if (csv.records.size() < 2) throw UsageError(path_.string() + " holds no verdict: " + again);
    const Fields header = csv.records.front();
    for (const std::string& column : names_of(verdict_schema())) {
      const auto found = std::find(header.begin(), header.end(), column);
      if (found == header.end()) throw UsageError(path_.string() + " lacks the column " + column + ": " + again);
      at_[column] = static_cast<std::size_t>(found - header.begin());
    }
    records_.assign(csv.records.begin() + 1, csv.records.end());
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const std::string where = fmt::format("{}: record {}", path_.string(), i + 2);
      if (records_[i].size() != header.size())
        throw UsageError(fmt::format("{} has {} of {} fields: {}", where, records_[i].size(), header.size(), again));
      const std::string& verdict = field(records_[i], "verdict");
      const auto& words = claim_verdicts();
      if (std::find(words.begin(), words.end(), verdict) == words.end())
        throw UsageError(where + ": unknown verdict '" + verdict + "': " + again);
      for (const char* column : {"n", "ratio", "ci_low", "ci_high"}) require_number(records_[i], column, where, again);
    }
  }

  const std::vector<Fields>& records() const { return records_; }
  const std::string& field(const Fields& record, const char* column) const { return record[at_.at(column)]; }
  bool has(const Fields& record, const char* column, const char* value) const { return field(record, column) == value; }

 private:
  void require_number(const Fields& record, const char* column, const std::string& where, const std::string& again) {
    const std::string& text = field(record, column);
    if (text.empty()) return;
    char* end = nullptr;
    std::strtod(text.c_str(), &end);
    if (*end != '\0') throw UsageError(where + ": " + column + " is '" + text + "', no number: " + again);
  }

  std::filesystem::path path_;
  std::map<std::string, std::size_t> at_;
  std::vector<Fields> records_;
};

/// "3.804 [3.793, 3.816]", "178200" without an interval, "" without a ratio.
std::string ratio_of(const Verdicts& v, const Fields& record) {
  const auto number = [&](const char* column) { return fmt::format("{:.4g}", std::stod(v.field(record, column))); };
  if (v.field(record, "ratio").empty()) return "";
  if (v.field(record, "ci_low").empty() || v.field(record, "ci_high").empty()) return number("ratio");
  return fmt::format("{} [{}, {}]", number("ratio"), number("ci_low"), number("ci_high"));
}

std::string size_of(const Verdicts& v, const Fields& record) {
  const std::string& n = v.field(record, "n");
  return n.empty() ? "" : show_size(static_cast<std::size_t>(std::stod(n)));
}

std::string verdict_in_colour(std::string_view verdict) {
  const bool good = verdict.starts_with("holds");
  return ink(good ? Ink::green : verdict == "reversed" ? Ink::red : Ink::yellow, verdict);
}

/// "7 holds, 1 holds but weaker, ...", of the verdicts that count.
std::string claim_counts(const Verdicts& v) {
  std::map<std::string, int> of;
  for (const Fields& r : v.records())
    if (v.has(r, "role", "claim")) ++of[v.field(r, "verdict")];
  std::vector<std::string> words;
  for (const std::string& verdict : claim_verdicts()) words.push_back(fmt::format("{} {}", of[verdict], verdict));
  return join(words, ", ");
}

void print_claims(const Verdicts& v) {
  const auto& all = v.records();
  const auto is_claim = [&](const Fields& r) { return v.has(r, "role", "claim"); };
  Table table({"claim", "verdict", "n", "ratio", "what is claimed"});
  for (const Fields& r : v.records())
    if (v.has(r, "role", "claim"))
      table.add({v.field(r, "claim"), v.field(r, "verdict"), size_of(v, r), ratio_of(v, r), v.field(r, "statement")});
  table.print();
  say(fmt::format("\n{} claims: {}", std::count_if(all.begin(), all.end(), is_claim), claim_counts(v)));
}

/// "S1", "s1": a claim where a folder could stand.
bool names_claim(const std::string& word) {
  return word.size() > 1 && std::isalpha(static_cast<unsigned char>(word.front())) &&
         word.find_first_not_of("0123456789", 1) == word.npos && !std::filesystem::is_directory(word);
}

/// The claim of that name, in upper or lower case. Throws UsageError where there is none.
std::string known_claim(const Verdicts& v, const std::string& word) {
  const auto alike = [](unsigned char a, unsigned char b) { return std::toupper(a) == std::toupper(b); };
  for (const Fields& r : v.records())
    if (const std::string& claim = v.field(r, "claim");
        std::equal(claim.begin(), claim.end(), word.begin(), word.end(), alike))
      return claim;
  throw UsageError("unknown claim '" + word + "'; leave it out to list all claims");
}

/// One claim: what it says, and every row behind its verdict, with the reason.
void print_claim(const Verdicts& v, const std::string& claim) {
  bool told = false;
  for (const Fields& r : v.records()) {
    if (v.field(r, "claim") != claim) continue;
    if (!told) say_bold(claim + ": " + v.field(r, "statement"));
    told = true;
    const bool beside = v.has(r, "role", "beside"), step = v.has(r, "role", "step") || beside;
    const std::string n = size_of(v, r), found = ratio_of(v, r), pad = step ? "    " : "  ";
    const std::size_t hang = pad.size() + 2;
    say(fmt::format("{}{}{}{}{}: {}", pad, beside ? "for information only: " : "",
                    verdict_in_colour(v.field(r, "verdict")), n.empty() ? "" : " at " + n,
                    found.empty() ? "" : ", " + found, v.field(r, "reason")),
        hang);
    const std::string &base = v.field(r, "base"), &variant = v.field(r, "variant");
    const std::string calls = base.empty() ? variant : variant + " over " + base;
    const std::string& threshold = v.field(r, "threshold");
    if (!calls.empty())
      say(fmt::format("{}  {}{}", pad, calls, threshold.empty() ? "" : " (" + threshold + ")"), hang + 2);
  }
}

int run(const ClaimsOptions& options) {
  std::string folder = options.folder;
  std::vector<std::string> claims = options.claims;
  if (names_claim(folder)) claims.insert(claims.begin(), std::exchange(folder, ""));
  const Verdicts v(folder_or_default(folder, "claims"));
  for (std::string& claim : claims) claim = known_claim(v, claim);
  if (claims.empty()) print_claims(v);
  for (const std::string& claim : claims) print_claim(v, claim);
  return exit_ok;
}

}  // namespace

Command add_claims(CLI::App& app) {
  auto options = std::make_shared<ClaimsOptions>();
  CLI::App* sub = app.add_subcommand("claims", "Print the documents' claims and a results folder's verdicts");
  sub->add_option("folder", options->folder,
                  "The results folder (default: the one in out/results); summarize writes its verdicts.csv");
  sub->add_option("claims", options->claims,
                  "Claims to explain, such as S1 U0: each test, its threshold and the reason")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return {sub, [options] { return run(*options); }, true};
}

}  // namespace reductio::cli
