#include "plugin/columns.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "plugin/toolchain.h"
#include "plugin/tokens.h"

namespace reductio {
namespace {

/// Behind known_column()'s columns.
constexpr std::size_t of_no_file = 1001;

/// The user's file, in which a macro has its name.
struct File {
  explicit File(const std::string& name) : text(toolchain::content(name).value_or("")), source(text) {
    for (const Source::Line& line : source.lines())
      for (std::size_t i = line.first; i < line.end; ++i) of_line[line.number].push_back(source.tokens()[i]);
  }
  const std::string text;
  const Source source;
  std::map<std::size_t, std::vector<Token>> of_line{};
};

/// Whether nothing is lost if two tokens are moved apart: "->" is two of them here.
bool may_part(const Source& source, const Token& a, const Token& b) {
  constexpr std::string_view alone = "()[]{},;";
  return source.end(a) != source.at(b) || alone.find(a.is[0]) != alone.npos || alone.find(b.is[0]) != alone.npos;
}

/// The columns in a file of a line's tokens: from the first on while both have the same, and from the last back; 0 for
/// those between, which are a macro's.
std::vector<std::size_t> columns_of(const Source& source, const Source::Line& line, const File& file, bool from_first,
                                    bool from_last) {
  const std::size_t n = line.end - line.first;
  std::vector<std::size_t> columns(n, 0);
  const auto there = file.of_line.find(line.number);
  if (there == file.of_line.end()) return columns;
  const std::vector<Token>& t = there->second;
  const Token* const here = &source.tokens()[line.first];
  std::size_t same = 0, same_behind = 0;
  while (from_first && same < std::min(n, t.size()) && here[same].is == t[same].is) ++same;
  while (same > 0 && same < n && !may_part(source, here[same - 1], here[same])) --same;
  const std::size_t most = std::min(n, t.size()) - same;
  while (from_last && same_behind < most && here[n - 1 - same_behind].is == t[t.size() - 1 - same_behind].is)
    ++same_behind;
  while (same_behind > 0 && same_behind < n && !may_part(source, here[n - 1 - same_behind], here[n - same_behind]))
    --same_behind;
  for (std::size_t i = 0; i < same; ++i) columns[i] = file.source.column(file.source.at(t[i]));
  for (std::size_t i = 1; i <= same_behind; ++i)
    columns[n - i] = file.source.column(file.source.at(t[t.size() - i]));
  return columns;
}

}  // namespace

std::string with_columns_of_file(const std::string& preprocessed) {
  const Source source(preprocessed);
  const std::vector<Source::Line>& lines = source.lines();
  std::map<std::string, std::unique_ptr<const File>> files;
  std::string out;
  std::size_t done = 0;
  std::size_t uncounted = 0;  // lines of strings of several lines, which clang++ -E may not have counted
  std::size_t shift = 0;      // of the lines since the last marker, if so
  for (std::size_t l = 0; l < lines.size(); ++l) {
    Source::Line line = lines[l];
    if (line.is_marked) uncounted = shift = 0;
    if (line.first == line.end) continue;
    std::unique_ptr<const File>& file = files[*line.file];
    if (!file) file = std::make_unique<const File>(*line.file);
    const bool from_first = l == 0 || !line.is_of(lines[l - 1]);
    const bool from_last = l + 1 == lines.size() || !line.is_of(lines[l + 1]);
    const auto columns_in = [&](std::size_t number) {
      line.number = number;
      return columns_of(source, line, *file, from_first, from_last);
    };
    out.append(preprocessed, done, line.begin - done);
    done = line.begin;
    const bool follows = line.begin == 0 || preprocessed[line.begin - 1] != '\n';
    std::vector<std::size_t> columns = columns_in(lines[l].number - shift);
    if (uncounted > 0 && !follows) {
      const auto known = [](const auto& c) { return std::count_if(c.begin(), c.end(), [](auto n) { return n > 0; }); };
      const auto earlier = columns_in(lines[l].number - shift - uncounted);
      if (known(earlier) > known(columns)) shift += uncounted;
      uncounted = 0;
      columns = columns_in(lines[l].number - shift);
      out += at_place(line, 1);
    }
    std::size_t column = source.column(line.begin);  // of what comes next
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Token& token = source.tokens()[line.first + i];
      const std::size_t gap = source.at(token) - done;
      const std::size_t wanted = columns[i] ? columns[i] : std::max(column + gap, of_no_file);
      if (wanted < column) out += at_place(line, wanted);
      else out.append(wanted - column, ' ');
      out += token.is;
      column = wanted + token.is.size();
      done = source.end(token);
      uncounted += static_cast<std::size_t>(std::count(token.is.begin(), token.is.end(), '\n'));
    }
  }
  return out.append(preprocessed, done, std::string::npos);
}

}  // namespace reductio
