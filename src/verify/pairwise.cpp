#include "verify/pairwise.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace reductio {
namespace {

/// Which pairs of levels no row holds yet. Levels of all factors are numbered through.
class Uncovered {
 public:
  explicit Uncovered(std::span<const std::size_t> levels) : first_(levels.size()) {
    std::exclusive_scan(levels.begin(), levels.end(), first_.begin(), std::size_t{0});
    width_ = std::accumulate(levels.begin(), levels.end(), std::size_t{0});
    open_.assign(width_ * width_, 0);
    for (std::size_t f = 0; f < levels.size(); ++f)
      for (std::size_t g = f + 1; g < levels.size(); ++g)
        for (std::size_t a = 0; a < levels[f]; ++a)
          for (std::size_t b = 0; b < levels[g]; ++b) set(f, a, g, b, 1);
    left_ = std::count(open_.begin(), open_.end(), 1) / 2;
  }

  std::size_t left() const { return left_; }
  bool open(std::size_t f, std::size_t a, std::size_t g, std::size_t b) const {
    return open_[(first_[f] + a) * width_ + first_[g] + b];
  }
  /// How many open pairs this level of this factor is part of.
  std::size_t open_with(std::size_t f, std::size_t a) const {
    const auto row = open_.begin() + static_cast<std::ptrdiff_t>((first_[f] + a) * width_);
    return static_cast<std::size_t>(std::count(row, row + static_cast<std::ptrdiff_t>(width_), 1));
  }
  void cover(const std::vector<std::size_t>& row) {
    for (std::size_t f = 0; f < row.size(); ++f)
      for (std::size_t g = f + 1; g < row.size(); ++g) {
        left_ -= open(f, row[f], g, row[g]);
        set(f, row[f], g, row[g], 0);
      }
  }

 private:
  void set(std::size_t f, std::size_t a, std::size_t g, std::size_t b, char value) {
    open_[(first_[f] + a) * width_ + first_[g] + b] = value;
    open_[(first_[g] + b) * width_ + first_[f] + a] = value;
  }
  std::vector<std::size_t> first_;
  std::size_t width_ = 0, left_ = 0;
  std::vector<char> open_;
};

}  // namespace

std::vector<std::vector<std::size_t>> pairwise(std::span<const std::size_t> levels, std::uint64_t seed,
                                               const std::function<double(const std::vector<std::size_t>&)>& cost) {
  const std::size_t factors = levels.size();
  if (factors == 0) return {};
  if (factors == 1) {
    std::vector<std::vector<std::size_t>> rows;
    for (std::size_t a = 0; a < levels[0]; ++a) rows.push_back({a});
    return rows;
  }
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr int candidates = 16;

  Uncovered uncovered(levels);
  std::vector<std::vector<std::size_t>> rows;
  while (uncovered.left() > 0) {
    // Every candidate starts from the level with the most open pairs. Some choice of the pair's other factor can always
    // close one, so each row covers something new.
    std::size_t start = 0, start_level = 0, most = 0;
    for (std::size_t f = 0; f < factors; ++f)
      for (std::size_t a = 0; a < levels[f]; ++a)
        if (const std::size_t n = uncovered.open_with(f, a); n > most) {
          most = n;
          start = f;
          start_level = a;
        }

    std::vector<std::size_t> best;
    double best_worth = 0;
    for (int c = 0; c < candidates; ++c) {
      std::vector<std::size_t> order(factors);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::swap(order[0], order[start]);
      for (std::size_t i = factors - 1; i > 1; --i) std::swap(order[i], order[1 + below(i)]);

      std::vector<std::size_t> row(factors);
      row[start] = start_level;
      std::size_t gain = 0;
      for (std::size_t at = 1; at < factors; ++at) {
        const std::size_t f = order[at];
        // The level that meets the most open pairs with what is chosen; ties start anywhere, so that levels with
        // nothing left to cover are spread evenly.
        const std::size_t anywhere = below(levels[f]);
        std::size_t level = anywhere, level_gain = 0;
        for (std::size_t i = 0; i < levels[f]; ++i) {
          const std::size_t a = (anywhere + i) % levels[f];
          std::size_t n = 0;
          for (std::size_t before = 0; before < at; ++before)
            n += uncovered.open(f, a, order[before], row[order[before]]);
          if (n > level_gain) {
            level_gain = n;
            level = a;
          }
        }
        row[f] = level;
        gain += level_gain;
      }
      const double worth = static_cast<double>(gain) / (cost ? cost(row) : 1);
      if (worth > best_worth) {
        best_worth = worth;
        best = std::move(row);
      }
    }
    uncovered.cover(best);
    rows.push_back(std::move(best));
  }
  return rows;
}

}  // namespace reductio
