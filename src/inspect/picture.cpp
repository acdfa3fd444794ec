#include "inspect/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <map>
#include <utility>

namespace reductio::inspect {
namespace {

constexpr double page_width = 468, margin = 6, label_width = 52, cell_height = 12, row_height = 34, font = 8;
constexpr double line_height = 11;
constexpr std::size_t characters = 105;  // that fit into a line, in any usual font

std::string plural(std::uint64_t n, const char* noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// Lines of at most so many characters, broken between words.
std::vector<std::string> lines_of(const std::string& text, std::size_t most) {
  std::vector<std::string> out;
  std::string line;
  for (std::size_t i = 0; i <= text.size();) {
    const std::size_t end = std::min(text.find(' ', i), text.size());
    const std::string word = text.substr(i, end - i);
    if (!line.empty() && line.size() + 1 + word.size() > most) out.push_back(std::exchange(line, ""));
    line += (line.empty() ? "" : " ") + word;
    i = end + 1;
  }
  if (!line.empty()) out.push_back(line);
  return out;
}

/// With one digit behind the point, and none that says nothing: pictures are small.
std::string number(double x) {
  std::string out = fmt::format("{:.1f}", x);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out == "-0" ? "0" : out;
}

/// Styles have short names (style_sheet()). A group may move what is in it down.
class Svg {
 public:
  void text(double x, double y, const std::string& what, const std::string& style = "") {
    out_ += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", number(x), number(y), style.empty() ? "" : " " + style,
                        escaped(what));
  }
  void line(double x1, double y1, double x2, double y2, const char* style) {
    out_ +=
        fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}\"/>\n", style, number(x1), number(y1), number(x2), number(y2));
  }
  void box(double x, double y, double w, const std::string& style) {
    out_ += fmt::format("<path class=\"{0}\" d=\"M{1} {2}h{3}v{4}h-{3}z\"/>", style, number(x), number(y), number(w),
                        number(cell_height));
  }
  /// `step`: of colours, or -1: white. `tip`: what a pointer shows, or nothing.
  void cell(double x, double y, double w, int step, const std::string& label, const std::string& tip = "",
            const char* more = "") {
    if (!tip.empty()) out_ += "<g><title>" + escaped(tip) + "</title>";
    box(x, y, w, fmt::format("c{}{}", step < 0 ? "" : std::to_string(step), more));
    if (!label.empty())
      out_ += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>", number(x + w / 2), number(y + cell_height - 3),
                          step >= 0 && is_dark(step) ? " class=\"w\"" : "", escaped(label));
    out_ += tip.empty() ? "\n" : "</g>\n";
  }
  /// Cells without tips, those of one colour together.
  struct Plain {
    double x, y;
    unsigned step;
    std::string label;
  };
  void cells(const std::vector<Plain>& all, double w) {
    for (unsigned step = 0; step < 8; ++step) {
      std::string path, labels;
      for (const Plain& c : all) {
        if (c.step % 8 != step) continue;
        path += fmt::format("M{0} {1}h{2}v{3}h-{2}z", number(c.x), number(c.y), number(w), number(cell_height));
        labels += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", number(c.x + w / 2), number(c.y + cell_height - 3),
                              escaped(c.label));
      }
      if (!path.empty())
        out_ += fmt::format("<path class=\"c{}\" d=\"{}\"/><g{}>{}</g>\n", step, path,
                            is_dark(static_cast<int>(step)) ? " class=\"w\"" : "", labels);
    }
  }
  void begin(const std::string& attributes) { out_ += "<g " + attributes + ">\n"; }
  void end() { out_ += "</g>\n"; }
  void raw(const std::string& what) { out_ += what; }
  /// Lines from `y` on; returns where the next one stands.
  double paragraph(double y, const std::string& what, const std::string& style = "") {
    for (const std::string& l : lines_of(what, characters)) {
      text(margin, y, l, style);
      y += line_height;
    }
    return y;
  }
  std::string take(double height, const std::string& title, const std::string& description) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}pt\" height=\"{1:.0f}pt\" viewBox=\"0 0 {0} {1:.0f}\" "
        "role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" font-size=\"{2}\">\n"
        "<title>{3}</title><desc>{4}</desc>\n<style>{5}</style>\n"
        "<defs><marker id=\"head\" viewBox=\"0 0 6 6\" refX=\"5.5\" refY=\"3\" markerWidth=\"4.5\" "
        "markerHeight=\"4.5\" "
        "orient=\"auto\"><path d=\"M0,0.6L6,3L0,5.4z\" fill=\"#444\"/></marker></defs>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{6}</svg>\n",
        page_width, height, font, escaped(title), escaped(description), style_sheet(), out_);
  }

 private:
  static bool is_dark(int step) { return colours_of(static_cast<unsigned>(step)).text == "#fff"; }
  static std::string style_sheet() {
    std::string out =
        ".k text{text-anchor:middle}.w{fill:#fff}.k path{stroke:#555;stroke-width:.4}.c{fill:#fff}"
        ".a,.d,.b,.s,.o,.l{fill:none;stroke:#444;stroke-width:.6}.a,.d{marker-end:url(#head)}.d{stroke-dasharray:3 1.5}"
        ".b,.s{stroke:#b00;stroke-width:1.2}.s{stroke-width:.8;stroke-dasharray:2 1.5}.k "
        ".o,.l{stroke:#000;stroke-width:1}"
        ".h{fill:#333;stroke:#fff;stroke-width:2;paint-order:stroke}.e{fill:#b00}";
    for (unsigned i = 0; i < 8; ++i) out += fmt::format(".c{}{{fill:{}}}", i, colours_of(i).fill);
    return out + ".k .r{stroke:#000;stroke-width:1.8}.k .x{stroke:#b00;stroke-width:1.8}";
  }
  std::string out_;
};

/// Where the threads of each launch that hold something stand, from left to right.
class Columns {
 public:
  explicit Columns(const Tree& t) {
    for (const Node& node : t.nodes)
      if (node.place != Node::Place::input) used_[node.launch][{node.block, node.thread}] = 0;
    if (t.fault.there) used_[t.fault.launch][{t.fault.block, t.fault.thread}] = 0;
    for (auto& [launch, threads] : used_) {
      double column = 0;
      std::size_t block = threads.begin()->first.first;
      for (auto& [who, x] : threads) {
        if (who.first != block) column += 0.35;
        block = who.first;
        x = column++;
      }
      const double width = (page_width - label_width - margin) / column;
      for (auto& [who, x] : threads) x = label_width + (x + 0.5) * width;
      width_[launch] = std::min(width, 26.0);
    }
  }
  double x(std::size_t launch, std::size_t block, unsigned thread) const {
    return used_.at(launch).at({block, thread});
  }
  double cell(std::size_t launch) const { return width_.at(launch) - 1.6; }
  /// The stretch of a block, or of one of its warps.
  std::pair<double, double> stretch(std::size_t launch, std::size_t block, int warp) const {
    double left = page_width, right = 0;
    const auto at = used_.find(launch);
    if (at == used_.end()) return {0, 0};
    for (const auto& [who, x] : at->second)
      if (who.first == block && (warp < 0 || static_cast<int>(who.second / 32) == warp))
        left = std::min(left, x), right = std::max(right, x);
    const double half = width_.at(launch) / 2;
    return {left - half, right + half};
  }

 private:
  std::map<std::size_t, std::map<std::pair<std::size_t, unsigned>, double>> used_;
  std::map<std::size_t, double> width_;
};

std::string spelled(Node::Place place, std::size_t index) {
  switch (place) {
    case Node::Place::input: return "element " + std::to_string(index);
    case Node::Place::register_: return "a register";
    case Node::Place::shared: return "shared[" + std::to_string(index) + "]";
    case Node::Place::global: return "global memory";
  }
  return "";
}

/// A heading over a row, where what it holds lies elsewhere than the row before.
std::string row_label(const Tree& t, std::size_t row) {
  std::array<bool, 4> has{};
  for (const Node& node : t.nodes)
    if (node.row == row) has[static_cast<std::size_t>(node.place)] = true;
  return has[0] ? "input" : has[2] ? "shared" : has[3] ? "global" : "registers";
}

/// The tree from `top` on, its first `shown` rows; returns where it ends.
double draw_tree(Svg& svg, const Tree& t, double top, std::size_t shown) {
  const Columns columns(t);
  const auto y = [&](std::size_t row) { return top + static_cast<double>(row) * row_height; };
  const auto begin_row = [&](std::size_t row) {
    svg.begin(fmt::format("class=\"row\" transform=\"translate(0,{})\"", number(y(row))));
  };
  const double input_width = (page_width - label_width - margin) / static_cast<double>(std::max<std::size_t>(t.n, 1));
  const auto x = [&](const Node& node) {
    return node.place == Node::Place::input ? label_width + (static_cast<double>(node.index) + 0.5) * input_width
                                            : columns.x(node.launch, node.block, node.thread);
  };
  for (std::size_t row = 0; row < std::min(t.rows, shown); ++row) {
    begin_row(row);
    const auto of_row = std::find_if(t.nodes.begin(), t.nodes.end(), [&](const Node& n) { return n.row == row; });
    const std::string place = of_row == t.nodes.end() ? "" : of_row->source;
    if (!place.empty()) svg.raw(fmt::format("<g><title>{}</title>", escaped(place)));
    svg.text(margin, cell_height - 3, row_label(t, row));
    if (!place.empty()) svg.end();
    for (std::size_t l = 1; l < t.launches.size(); ++l)
      if (t.launches[l].first_row + 1 == row) {
        svg.line(margin, -11, page_width - margin, -11, "l");
        svg.text(margin, -13, "launch " + std::to_string(l + 1));
      }
    for (std::size_t l = 0; l < t.launches.size(); ++l) {
      if (t.launches[l].first_row + 1 != row || t.launches[l].blocks < 2) continue;
      for (std::size_t b = 0; b < t.launches[l].blocks; ++b)
        if (const auto [left, right] = columns.stretch(l, b, -1); right - left > 30)
          svg.text(left, -3, fmt::format("block {}", b), "class=\"h\"");
    }
    for (const BarrierLine& b : t.barriers) {
      if (b.row + 1 != row) continue;
      const auto [left, right] = columns.stretch(b.launch, b.block, b.warp);
      if (right <= left) continue;
      const double at = b.warp < 0 ? -8 : -5;
      svg.raw(fmt::format("<g><title>{} {}</title>", b.warp < 0 ? "barrier of the block," : "__syncwarp(),",
                          escaped(b.source)));
      svg.line(left, at, right, at, b.warp < 0 ? "b" : "s");
      svg.end();
    }
    for (const Node& node : t.nodes) {
      if (node.row != row) continue;
      for (const std::size_t m : node.made_of) {
        const Node& part = t.nodes[m];
        svg.line(x(part), y(part.row) - y(row) + cell_height, x(node), -0.5, node.by_atomic ? "d" : "a");
      }
    }
    svg.begin("class=\"k\"");
    for (const Node& node : t.nodes) {
      if (node.row != row) continue;
      if (node.place == Node::Place::input) {
        const double w = std::min(input_width - 1.6, 24.0);
        svg.cell(x(node) - w / 2, 0, w, -1, std::to_string(node.index));
        continue;
      }
      const double w = columns.cell(node.launch);
      const std::string tip =
          fmt::format("{} in {}, thread {}{}{}{}", Tree::spell(node.elements), spelled(node.place, node.index),
                      node.thread, t.launches[node.launch].blocks > 1 ? fmt::format(" of block {}", node.block) : "",
                      node.by_atomic ? ", by an atomic" : "", node.source == place ? "" : ", " + node.source);
      svg.cell(x(node) - w / 2, 0, w, static_cast<int>(node.thread % 8), std::to_string(std::popcount(node.elements)),
               tip, node.is_result ? " r" : "");
    }
    svg.end();
    svg.end();
  }
  if (t.fault.there && shown > t.rows) {
    const double w = columns.cell(t.fault.launch), at = columns.x(t.fault.launch, t.fault.block, t.fault.thread);
    begin_row(t.rows);
    svg.text(margin, cell_height - 3, "ends here");
    svg.begin("class=\"k\"");
    svg.cell(at - w / 2, 0, w, -1, "X", "where the call was ended", " x");
    svg.end();
    svg.end();
  }
  return y(t.rows + (t.fault.there ? 1 : 0));
}

/// The request of a kind that is worth a picture: the first load, or the one with most conflicts.
const Request* chosen(const std::vector<KernelCounts>& counts, bool of_shared_memory) {
  const Request* best = nullptr;
  std::uint64_t most = 0;
  for (const KernelCounts& k : counts)
    for (const Request& r : k.first_requests) {
      const bool fits =
          of_shared_memory ? r.kind == Kind::shared_load || r.kind == Kind::shared_store : r.kind == Kind::global_load;
      if (!fits) continue;
      const Counts c = count_request(r.kind, r.lanes, r.at, r.bytes);
      // One word, or another block's memory, is no picture of banks.
      if (of_shared_memory && (c.bytes <= r.bytes || !c.wavefronts)) continue;
      const std::uint64_t score = of_shared_memory ? 1 + 100 * c.conflicts + c.threads : 1;
      if (score > most) most = score, best = &r;
    }
  return best;
}

/// Sectors as boxes, with the lane that reads each place.
double draw_sectors(Svg& svg, const Request& r, double top) {
  const Counts c = count_request(r.kind, r.lanes, r.at, r.bytes);
  std::map<std::uint64_t, std::map<std::uint64_t, unsigned>> lanes;  // by sector and place in it
  for (unsigned l = 0; l < 32; ++l)
    if (r.lanes >> l & 1)
      for (std::uint64_t at = r.at[l]; at < r.at[l] + r.bytes; at += 4)
        lanes[at / sector_bytes].try_emplace(at % sector_bytes / 4, l);
  top = svg.paragraph(
      top + 8,
      fmt::format("The first warp's first load of global memory ({}): {} of {} bytes touch {} of 32 bytes, so {} "
                  "bytes move for {} that are needed. A box is a sector, a number the lane that reads there.",
                  r.source, plural(c.threads, "lane"), r.bytes, plural(c.sectors, "sector"), c.sectors * sector_bytes,
                  c.bytes));
  constexpr std::size_t in_row = 4, most = 16;
  constexpr double word = 13.4, gap = 6;
  std::size_t i = 0;
  double y = top;
  std::vector<Svg::Plain> cells;
  svg.begin("class=\"k\"");
  for (const auto& [sector, words] : lanes) {
    if (i == most) break;
    const double x = margin + static_cast<double>(i % in_row) * (8 * word + gap);
    y = top - 5 + static_cast<double>(i / in_row) * (cell_height + 5);
    for (const auto& [at, lane] : words)
      cells.push_back({x + static_cast<double>(at) * word, y, lane, std::to_string(lane)});
    ++i;
  }
  svg.cells(cells, word);
  for (std::size_t box = 0; box < i; ++box)
    svg.box(margin + static_cast<double>(box % in_row) * (8 * word + gap),
            top - 5 + static_cast<double>(box / in_row) * (cell_height + 5), 8 * word, "o");
  svg.end();
  y += cell_height + 4;
  if (lanes.size() > most) {
    svg.text(margin, y + 8, fmt::format("... and {} sectors more", lanes.size() - most));
    y += line_height;
  }
  return y;
}

/// Banks as columns, a row for each wavefront.
double draw_banks(Svg& svg, const Request& r, double top) {
  const Counts c = count_request(r.kind, r.lanes, r.at, r.bytes);
  const double y =
      svg.paragraph(top + 8, fmt::format("{} of shared memory by the first warp ({}): {} of {} bytes take {}. A column "
                                         "is one of 32 banks, a number the lane that is served.",
                                         r.kind == Kind::shared_load ? "A load" : "A store", r.source,
                                         plural(c.threads, "lane"), r.bytes, plural(c.wavefronts, "wavefront"))) -
      5;
  constexpr double word = (page_width - 2 * margin) / 32;
  std::array<std::vector<std::pair<std::uint64_t, unsigned>>, 32> banked;
  for (unsigned l = 0; l < 32; ++l)
    if (r.lanes >> l & 1)
      for (std::uint64_t at = r.at[l] / 4; at <= (r.at[l] + r.bytes - 1) / 4; ++at) {
        auto& bank = banked[at % banks];
        if (std::none_of(bank.begin(), bank.end(), [&](const auto& known) { return known.first == at; }))
          bank.emplace_back(at, l);
      }
  std::size_t deepest = 0;
  for (const auto& bank : banked) deepest = std::max(deepest, bank.size());
  std::vector<Svg::Plain> cells;
  for (std::size_t b = 0; b < banks; ++b)
    for (std::size_t depth = 0; depth < banked[b].size(); ++depth)
      cells.push_back({margin + static_cast<double>(b) * word, y + static_cast<double>(depth) * (cell_height + 1),
                       banked[b][depth].second, std::to_string(banked[b][depth].second)});
  svg.begin("class=\"k\"");
  svg.cells(cells, word);
  for (std::size_t depth = 0; depth < deepest; ++depth)
    svg.box(margin, y + static_cast<double>(depth) * (cell_height + 1), banks * word, "o");
  svg.end();
  return y + static_cast<double>(deepest) * (cell_height + 1) + 4;
}

}  // namespace

Colours colours_of(unsigned thread) {
  static constexpr std::array<std::pair<const char*, const char*>, 8> steps = {{{"#00224e", "#fff"},
                                                                                {"#fee838", "#000"},
                                                                                {"#35456c", "#fff"},
                                                                                {"#d9c65a", "#000"},
                                                                                {"#575d6d", "#fff"},
                                                                                {"#b8aa70", "#000"},
                                                                                {"#6c6e72", "#fff"},
                                                                                {"#979078", "#000"}}};
  const auto& [fill, text] = steps[thread % steps.size()];
  return {fill, text};
}

std::size_t steps_of(const Picture& p) { return p.tree.rows + (p.tree.fault.there ? 1 : 0); }

std::string draw_svg(const Picture& p, std::size_t steps) {
  Svg svg;
  double y = margin + 10;
  svg.text(margin, y, p.title, "font-weight=\"bold\" font-size=\"10\"");
  y = svg.paragraph(y + line_height + 2, p.subtitle);
  y = svg.paragraph(y,
                    "A cell is a partial sum, its number how many elements are in it, its colour the thread that made "
                    "it. Red lines are barriers, dashed arrows atomics.");
  y = draw_tree(svg, p.tree, y, steps);
  if (!p.note.empty() && steps >= steps_of(p)) y = svg.paragraph(y, p.note, "class=\"e\"");
  if (const Request* const r = chosen(p.counts, false)) y = draw_sectors(svg, *r, y) + 4;
  if (const Request* const r = chosen(p.counts, true)) y = draw_banks(svg, *r, y);
  return svg.take(y + margin, p.title, p.tree.in_words());
}

std::string draw_page(const Picture& p) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title>\n"
      "<style>body{{font:16px sans-serif;margin:1em;max-width:60em}} svg{{width:100%;height:auto}} "
      "button{{font:inherit;padding:.3em 1em}} .row{{visibility:hidden}} .row.on{{visibility:visible}}</style>\n"
      "<p><button id=\"back\">Back</button> <button id=\"next\">Next</button> "
      "<span id=\"step\" role=\"status\"></span> (also by the arrow keys)</p>\n{1}"
      "<script>\nconst rows = document.querySelectorAll('.row'), step = document.getElementById('step');\nlet at = 0;\n"
      "function show(to) {{\n  at = Math.max(0, Math.min(rows.length - 1, to));\n"
      "  rows.forEach((row, i) => row.classList.toggle('on', i <= at));\n"
      "  step.textContent = `step ${{at + 1}} of ${{rows.length}}`;\n}}\n"
      "document.getElementById('back').onclick = () => show(at - 1);\n"
      "document.getElementById('next').onclick = () => show(at + 1);\n"
      "document.onkeydown = e => {{ if (e.key === 'ArrowRight') show(at + 1); if (e.key === 'ArrowLeft') show(at - 1); "
      "}};\nshow(0);\n</script></html>\n",
      escaped(p.title), draw_svg(p));
}

}  // namespace reductio::inspect
