#pragma once
/// Which values a kernel added, and where: decoded from the values themselves. Element i of the input is 2^i, so the
/// bits of a value that is stored or shuffled name the elements in it, each once.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/types.h"
#include "device/sim/place.h"

namespace reductio::inspect {

inline constexpr std::size_t most_drawn = 32;

/// The type in which a tree is decoded, of those that a variant takes: f64, i32 or f32. Throws Refused if it is none.
ElementType tree_type(const std::vector<ElementType>&);
/// The most elements whose sum (of squares) keeps each apart in that type.
std::size_t most_decoded(ElementType, Operation);
/// 2^i as the bytes of element i * every; the others are zero.
std::vector<std::byte> powers_of_two(ElementType, std::size_t n, std::size_t every);

/// A value that holds the sum of some elements.
struct Node {
  enum class Place { input, register_, shared, global } place = Place::input;
  std::uint64_t elements = 0;  ///< bit i: element i is in it
  std::size_t launch = 0;      ///< from 0 up; of inputs 0
  std::size_t block = 0;
  unsigned thread = 0;                 ///< that made it
  std::size_t index = 0;               ///< of shared memory: its place, in elements; of inputs: i
  std::size_t row = 0;                 ///< after all it is made of, and after the barriers that its thread had passed
  std::vector<std::size_t> made_of{};  ///< nodes
  std::string source{};                ///< "squares.cu:12:5"
  bool by_atomic = false;
  bool is_result = false;
};

/// A barrier: no thread of the block, or lane of the warp, goes from the rows up to `row` to later ones before it.
struct BarrierLine {
  std::size_t launch = 0, block = 0, row = 0;
  int warp = -1;  ///< -1: of the block
  std::string source;
};

struct TreeLaunch {
  std::string kernel;
  std::size_t blocks = 0, first_row = 0;
  unsigned threads = 0;
};

/// Where a fault ended the call.
struct FaultMark {
  bool there = false;
  std::size_t launch = 0, block = 0, row = 0;
  unsigned thread = 0;
};

struct Tree {
  std::size_t n = 0;
  std::vector<Node> nodes;  ///< the n inputs first; else only what the result is made of
  std::vector<BarrierLine> barriers;
  std::vector<TreeLaunch> launches;
  FaultMark fault;
  std::size_t rows = 1;
  /// "0-3,7"
  static std::string spell(std::uint64_t elements);
  /// "((0 1) (2 3))": what was added to what; of several results one after the other.
  std::string in_words() const;
};

/// Follows the launches that run while it lives. One at a time.
class TreeTracer {
 public:
  /// `every`: as of powers_of_two(); `input`: where the elements lie, `output`: where the result is to lie.
  TreeTracer(const Problem&, std::size_t every, const std::byte* input, const std::byte* output);
  ~TreeTracer();
  TreeTracer(const TreeTracer&) = delete;
  TreeTracer& operator=(const TreeTracer&) = delete;
  /// `failed`: a fault ended the call at its last access.
  Tree tree(bool failed) const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace reductio::inspect
