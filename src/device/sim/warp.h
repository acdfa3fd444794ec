#pragma once
/// A warp: its lanes, the warp operation they are in, and what orders their accesses.

#include <array>
#include <cstdint>
#include <memory>

#include "device/sim/place.h"
#include "device/sim/waiting.h"

namespace reductio::sim {

struct Warp {
  std::uint32_t existing = 0;  ///< lanes that the block has
  std::uint32_t exited = 0;
  std::uint32_t waiting = 0;
  bool several = false;  ///< those who wait may be in several operations
  struct Lane {
    std::uint32_t mask = 0;
    WarpOperation operation{};
    std::uint8_t source = 0;
    std::uint64_t bits = 0, result = 0;
  };
  std::array<Lane, warp_size> lanes;
  /// What an operation that gives all lanes of `mask` the same makes of the bits that they brought.
  std::uint32_t combined(WarpOperation, std::uint32_t mask) const;
  /// The lanes of `mask` that brought the same bits as this one.
  std::uint32_t alike(unsigned lane, std::uint32_t mask) const;

  // What orders accesses inside the warp, beside block barriers: the last __syncwarp() of all its lanes, and for those
  // of some lanes, by lane, up to which epoch it has seen each other lane (causality.h asks).
  std::uint32_t full_epoch = 0;
  bool partial = false;
  std::unique_ptr<std::array<std::array<std::uint32_t, warp_size>, warp_size>> seen;

  /// All accesses of the lanes in `mask` so far come before all that follow in them.
  void order(std::uint32_t mask, std::uint32_t epoch);
};

}  // namespace reductio::sim
