#pragma once
/// A source as tokens, each with its line.

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace reductio {

/// Signs of several characters are tokens of one each.
struct Token {
  enum Kind { word, number, text, sign } kind;
  std::string_view is;
};

/// The tokens of a source. Of a preprocessed one, those that are not the system's: those are the user's, and his line
/// markers' lines. `text` must live as long.
class Source {
 public:
  /// What a line has. A token or comment of several lines ends one; what follows it is another.
  struct Line {
    std::size_t begin;       ///< in the text
    std::size_t first, end;  ///< tokens
    const std::string* file;
    std::size_t number;
    bool is_marked;  ///< the first after a marker
    bool is_of(const Line& other) const { return *file == *other.file && number == other.number; }
  };

  /// `file` holds the text, up to the first marker.
  explicit Source(const std::string& text, const std::string& file = "?");
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& text() const { return text_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  const std::vector<Line>& lines() const { return lines_; }
  std::size_t at(const Token& t) const { return static_cast<std::size_t>(t.is.data() - text_.data()); }
  std::size_t end(const Token& t) const { return at(t) + t.is.size(); }
  /// From 1.
  std::size_t column(std::size_t at) const;
  const Line& line_of(std::size_t at) const;
  /// "prog.cu:12".
  std::string place(const Token&) const;

 private:
  bool read_marker(std::string_view line);
  std::size_t read_line(std::size_t at);
  std::size_t end_of_quoted(std::size_t at) const;

  const std::string& text_;
  std::vector<Token> tokens_;
  std::vector<Line> lines_;
  std::set<std::string> files_;
  const std::string* file_;  ///< of what is read now
  std::size_t number_ = 1;
  bool of_system_ = false, was_marker_ = false;
};

/// `# 12 "prog.cu"` on a line of its own, and blanks: what follows stands in that line and column.
std::string at_place(const Source::Line&, std::size_t column);

}  // namespace reductio
