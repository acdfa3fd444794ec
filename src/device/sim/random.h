#pragma once
/// What the random order draws from.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace reductio::sim {

inline std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A permutation of [0, n), for the order in which blocks start: a few rounds of mixing on the bits that n needs, again
/// for what falls outside.
class Permutation {
 public:
  Permutation(std::size_t n, std::uint64_t key)
      : n_(n), key_(key), bits_(std::max(1u, unsigned(std::bit_width(n - 1)))) {}
  std::size_t operator()(std::size_t i) const {
    do i = mix(i);
    while (i >= n_);
    return i;
  }

 private:
  std::size_t mix(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << bits_) - 1;
    for (unsigned round = 0; round < 3; ++round) {  // each step can be undone modulo 2^bits
      x = (x + (key_ >> (round * 13))) & mask;
      x = (x * ((key_ >> (round * 7)) * 4 + 0x9E3779B1u)) & mask;
      x ^= x >> (bits_ + 1) / 2;
    }
    return x;
  }
  std::size_t n_;
  std::uint64_t key_;
  unsigned bits_;
};

}  // namespace reductio::sim
