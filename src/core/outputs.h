#pragma once
/// The exact results of a problem: of one sum, or of each row, column or segment.

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/reference.h"
#include "core/types.h"

namespace reductio {

class ExactOutputs {
 public:
  /// Element i of the memory that the problem spans is tile[i % (its length)]. `like`: null, or others, of which it
  /// shares what follows from the tile alone, if theirs is the same.
  ExactOutputs(const Problem&, std::span<const std::byte> tile, const ExactOutputs* like = nullptr);
  ~ExactOutputs();
  ExactOutputs(ExactOutputs&&) noexcept;

  /// Of the first output; of none the exact sum of nothing.
  const Reference& first() const { return first_.reference(); }
  /// Reference::all_exact of all outputs.
  bool all_exact() const;

  /// Draws an element of the n and a value for it that shows in its output, as ExactReference::draw_change does.
  /// `tile` as the constructor took it. `last`: an output that was drawn before. A long output costs a pass over a
  /// tile, so most draws stay with it.
  std::optional<ChangedElement> draw_change(std::span<const std::byte> tile, std::mt19937_64& random,
                                            std::size_t longest_chain, std::optional<std::size_t> last = {}) const;

  /// The verdict on a result, all outputs of which must be right (raw bytes of Problem::result_bytes() in host memory).
  /// `changed`: the element that was changed for the call, or null. `right`: null, or a result that was right of the
  /// input as it is: outputs that equal it need no second look. Of an operation over shapes the text is a hash of the
  /// result, and errors are those of the output whose absolute error is largest; `why` tells of the first wrong one.
  Check check(const void* result, const ChangedElement* changed, std::size_t longest_chain, bool flushes_subnormals,
              const void* right = nullptr) const;

 private:
  friend class KnownOutputs;
  struct Sums;
  struct Line;

  bool is_of(ElementType, std::span<const std::byte> tile) const;
  std::size_t elements_of(std::size_t output) const;
  /// Where element k of an output lies.
  std::size_t place_of(std::size_t output, std::size_t k) const;
  Line line_of(std::size_t output) const;
  std::string name_of(std::size_t output) const;
  /// A result, and how it is judged.
  struct Judged;
  Check check_each(const Judged&) const;
  /// The same of outputs from `first` on.
  Check check_range(const Judged&, std::size_t first, std::size_t count) const;

  Problem problem_;
  std::shared_ptr<const Sums> sums_;     ///< of operations over shapes: what follows from the tile
  bool summed_;                          ///< it knows sums of so many elements
  mutable std::shared_ptr<Line> drawn_;  ///< a cache: the output of which an element was changed last
  ExactReference first_;
};

/// Exact outputs, each computed once while they fit: those used last are kept.
class KnownOutputs {
 public:
  explicit KnownOutputs(std::size_t most_bytes = std::size_t{2} << 30) : most_bytes_(most_bytes) {}
  /// Of the dataset's tile, as make_tile() makes it of the problem's extent and the seed.
  std::shared_ptr<const ExactOutputs> of(const Problem&, const std::string& dataset, std::uint64_t seed,
                                         std::span<const std::byte> tile);

 private:
  using Key = std::tuple<Operation, ElementType, std::size_t, std::string, std::string, std::uint64_t>;
  std::size_t bytes() const;
  std::size_t most_bytes_;
  std::list<std::pair<Key, std::shared_ptr<const ExactOutputs>>> known_;  ///< the last used first
};

/// 16 hexadecimal digits that tell results apart.
std::string hash_of(std::span<const std::byte> result);

}  // namespace reductio
