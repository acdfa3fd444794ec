#pragma once
/// Slots for the blocks' sums. No order to keep: each word says by itself whether it is there (tuned::Message).

#include <cstdint>

#include "tuned/finish.h"

namespace reductio::strategies {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

using device::load_relaxed;
using device::store_relaxed;

template <class S>
__device__ bool is_full(const tuned::Message<S>& m) {
  bool all = true;
  for (const std::uint64_t word : m.word) all &= static_cast<std::uint32_t>(word) == tuned::Message<S>::full;
  return all;
}

/// One slot a block: first the first words of all slots, then the second words.
struct Slots {
  std::uint64_t* first;
  unsigned count;

  template <class S>
  __device__ void store(unsigned slot, const tuned::Message<S>& m) const {
    for (unsigned k = 0; k < tuned::Message<S>::words; ++k) store_relaxed(first + (k * count + slot), m.word[k]);
  }
  template <class S>
  __device__ tuned::Message<S> load(unsigned slot) const {
    tuned::Message<S> m;
    for (unsigned k = 0; k < tuned::Message<S>::words; ++k) m.word[k] = load_relaxed(first + (k * count + slot));
    return m;
  }
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::strategies
