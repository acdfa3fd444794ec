#pragma once
/// The time of a call of several launches depends on how many kernels its stream ran before, modulo eight
/// (docs/measuring.md). This counts them, so that the samples of every call meet each turn equally often. No CUDA in
/// here: the caller reports its launches.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>

namespace reductio::cuda {

class StreamTurns {
 public:
  static constexpr unsigned turns = 8;
  explicit StreamTurns(std::uint32_t seed) : random_(seed) {}

  /// Kernels that were launched into the stream. Copies within the device count, and so do memsets of more than a few
  /// bytes.
  void launched(unsigned kernels = 1) { count_ += kernels; }
  /// An unknown number of kernels: any turn may be next.
  void launched_uncounted() { launched(static_cast<unsigned>(random_()) % turns); }

  /// A call is identified by its plan's address. `kernels`: how many one call launches; nothing if unknown.
  bool knows(const void* plan) const { return plans_.contains(plan); }
  void learn(const void* plan, std::optional<unsigned> kernels) { plans_[plan].kernels = kernels; }
  void forget(const void* plan) { plans_.erase(plan); }
  /// One call of a plan went into the stream.
  void called(const void* plan) {
    const auto at = plans_.find(plan);
    if (at != plans_.end() && at->second.kernels)
      launched(*at->second.kernels);
    else
      launched_uncounted();
  }

  /// How many kernels to launch now so that this plan's call comes in its next turn, with `between` kernels still to
  /// come before it. Each eight samples of a plan meet all turns, in random order. Those behind a hold count apart:
  /// they are timed otherwise. `plan`: learned.
  unsigned missing_before(const void* plan, unsigned between, bool held) {
    Samples& its = plans_.at(plan).samples[held];
    if (its.next % turns == 0) std::shuffle(its.order.begin(), its.order.end(), random_);
    return (its.order[its.next++ % turns] + turns - (count_ + between) % turns) % turns;
  }
  unsigned kernels_of(const void* plan) const { return plans_.at(plan).kernels.value_or(0); }

 private:
  struct Samples {
    std::array<unsigned, turns> order{0, 1, 2, 3, 4, 5, 6, 7};
    unsigned next = 0;
  };
  struct OfPlan {
    std::optional<unsigned> kernels;
    std::array<Samples, 2> samples{};
  };

  std::minstd_rand random_;
  unsigned count_ = 0;  // modulo 2^32 will do
  std::map<const void*, OfPlan> plans_;
};

}  // namespace reductio::cuda
