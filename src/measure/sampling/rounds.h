#pragma once
/// Rounds: all points of a group, and the harness calls, sampled once in random order.

#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "measure/sampling/group.h"

namespace reductio {

/// The rounds of a group, once it is piloted.
class Rounds {
 public:
  /// `index` tells groups of the same points apart: each has an order of its own.
  explicit Rounds(Group&, std::size_t index = 0);

  /// On how many contexts they are spread; 0 where there is nothing to sample.
  int contexts() const { return contexts_; }
  /// Those of one context, with plans of their own.
  End sample(int context, const std::function<bool()>& abandon);
  /// In a context's process: forgets earlier samples, which its parent has.
  void begin_apart();
  /// That process's samples, as bytes, and their takeover by the parent.
  std::string sampled_apart();
  void take_over(const std::string&);
  /// The rows if no round followed.
  GroupOutcome so_far() const;
  /// The rows at the end; of a group that lost the device, those that were settled.
  GroupOutcome finish() const;

 private:
  void choose_rounds();
  void make_harness_calls();
  /// What takes part in the rounds at one time: calls that allocate, or all others.
  enum class Part { allocating, others };
  static bool takes_part(const Member&, Part);
  bool takes_part(const Member&, int context, Part) const;
  bool sample(int context, Part, const std::function<bool()>& abandon);
  bool make_plans(int context, Part, const std::function<bool()>& abandon);
  bool sample_round(int round, Part, const std::function<bool()>& abandon);
  bool take_samples(TakenRound&, Part, const std::function<bool()>& abandon);
  bool wait_until_memory_idle();
  bool read_clock();

  Group& group_;
  SamplingState& s_;
  std::mt19937_64 random_;
  int rounds_ = 0, contexts_ = 0;
  std::vector<int> context_of_;     ///< by round
  double clock_hz_ = 0;             ///< of the kernels, when it was read last; 0: unknown
  std::vector<TakenRound> taken_;   ///< in the order of time
  Spent spent_;
  int times_memory_stayed_busy_ = 0;
};

/// 0..count-1 in random order. The same generator state gives the same order with every standard library.
std::vector<int> shuffled(int count, std::mt19937_64&);

}  // namespace reductio
