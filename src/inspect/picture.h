#pragma once
/// Pictures of a kernel as SVG, from what was recorded. The same run gives the same bytes.

#include <cstddef>
#include <string>
#include <vector>

#include "inspect/counts.h"
#include "inspect/tree.h"

namespace reductio::inspect {

struct Picture {
  std::string title, subtitle, note;  ///< over the tree, and under it; the note says what failed, and is drawn in red
  Tree tree;
  std::vector<KernelCounts> counts;  ///< for the access maps; may be empty
};

/// How many rows the tree has: the input, what is made of it, and where a fault ended the call.
std::size_t steps_of(const Picture&);
/// One picture, 468 pt wide (6.5 inches), in letters of 8 pt or more; the first `steps` rows of its tree.
std::string draw_svg(const Picture&, std::size_t steps = ~std::size_t{0});
/// A page that shows the same picture row by row; it needs no other file.
std::string draw_page(const Picture&);

/// Fill and text colour of a thread: eight steps of cividis, which the colour-blind see and print keeps apart.
struct Colours {
  std::string fill, text;
};
Colours colours_of(unsigned thread);

}  // namespace reductio::inspect
