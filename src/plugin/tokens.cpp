#include "plugin/tokens.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <utility>

#include "core/error.h"
#include "plugin/launches.h"

namespace reductio {

Source::Source(const std::string& text, const std::string& file)
    : text_(text), file_(&*files_.insert(file).first) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text[at] == '#') {
      if (!read_marker({text.data() + at, end - at})) ++number_;
      at = end + 1;
    } else if (of_system_) {
      ++number_;
      at = end + 1;
    } else {
      at = read_line(at);
    }
  }
}

std::size_t Source::column(std::size_t at) const {
  const std::size_t before = at == 0 ? text_.npos : text_.rfind('\n', at - 1);
  return before == text_.npos ? at + 1 : at - before;
}

const Source::Line& Source::line_of(std::size_t at) const {
  return std::upper_bound(lines_.begin(), lines_.end(), at,
                          [](std::size_t p, const Line& line) { return p < line.begin; })[-1];
}

std::string Source::place(const Token& t) const {
  const Line& line = line_of(at(t));
  return *line.file + ":" + std::to_string(line.number);
}

/// `# 12 "prog.cu" 1 3`: flag 1 says that a file begins, 3 that it is the system's. False for another directive.
bool Source::read_marker(std::string_view line) {
  static const std::regex form(R"rx(# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*).*)rx");
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_match(line.begin(), line.end(), match, form)) return false;
  const std::string file = match[2].str(), flags = match[3].str();
  const bool is_system = flags.find(" 3") != std::string::npos;
  if (is_system && !of_system_ && flags.find(" 1") != std::string::npos && is_refused_header(file))
    throw UsageError(refusal_of_header(*file_ + ":" + std::to_string(number_),
                                       std::filesystem::path(file).filename().string()));
  file_ = &*files_.insert(file).first;
  number_ = std::stoul(match[1].str());
  of_system_ = is_system;
  was_marker_ = true;
  return true;
}

/// From here to the end of the line, or behind a token or comment that ends in a later one. Returns where what follows
/// begins.
std::size_t Source::read_line(std::size_t begin) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; };
  const std::size_t first = tokens_.size(), number = number_;
  std::size_t at = begin;
  while (at < text_.size() && text_[at] != '\n' && number_ == number) {
    const char c = text_[at];
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    Token::Kind kind = Token::sign;
    bool is_comment = false;
    if (std::isdigit(static_cast<unsigned char>(c))) {
      kind = Token::number;
      while (end < text_.size() && (is_word(text_[end]) || text_[end] == '.' || text_[end] == '\'')) ++end;
    } else if (is_word(c)) {
      kind = Token::word;
      while (end < text_.size() && is_word(text_[end])) ++end;
      if (end < text_.size() && text_[end] == '"' && text_[end - 1] == 'R') {
        kind = Token::text;
        const std::size_t open = text_.find('(', end);
        const std::string close = ")" + text_.substr(end + 1, open - end - 1) + "\"";
        end = std::min(text_.find(close, open), text_.size() - close.size()) + close.size();
      } else if (end < text_.size() && (text_[end] == '"' || text_[end] == '\'') && end - at <= 2) {
        kind = Token::text;  // u8"...", L'...'
        end = end_of_quoted(end);
      }
    } else if (c == '"' || c == '\'') {
      kind = Token::text;
      end = end_of_quoted(at);
    } else if (text_.compare(at, 2, "//") == 0) {
      is_comment = true;
      end = std::min(text_.find('\n', at), text_.size());
    } else if (text_.compare(at, 2, "/*") == 0) {
      is_comment = true;
      const std::size_t close = text_.find("*/", at + 2);
      end = close == text_.npos ? text_.size() : close + 2;
    }
    const std::string_view is = std::string_view(text_).substr(at, end - at);
    if (!is_comment) tokens_.push_back({kind, is});
    number_ += static_cast<std::size_t>(std::count(is.begin(), is.end(), '\n'));
    at = end;
  }
  lines_.push_back({begin, first, tokens_.size(), file_, number, std::exchange(was_marker_, false)});
  if (at < text_.size() && text_[at] == '\n') {
    ++number_;
    ++at;
  }
  return at;
}

std::size_t Source::end_of_quoted(std::size_t at) const {
  std::size_t end = at + 1;
  while (end < text_.size() && text_[end] != text_[at] && text_[end] != '\n') end += text_[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text_.size());
}

std::string at_place(const Source::Line& line, std::size_t column) {
  return "\n# " + std::to_string(line.number) + " \"" + *line.file + "\"\n" + std::string(column - 1, ' ');
}

}  // namespace reductio
