#pragma once
/// One group of points on its way to rows: what the sampler does during its visits.

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "measure/plan/grouping.h"
#include "measure/sampling/rounds.h"
#include "measure/sampling/sampler.h"
#include "measure/sampling/summarise.h"

namespace reductio {

/// One accumulator in host memory.
struct HostValue {
  alignas(16) std::array<std::byte, 16> bytes{};
  bool operator==(const HostValue&) const = default;
};

/// The call of `plan` on `in`; on its scratch copy, restored from it each time, if the plan consumes what it reads.
/// `out`, in device memory, holds one accumulator.
Call call_of(Plan&, bool consumes_input, const Input& in, const DeviceMemory& out, HostValue& result);

class Group {
 public:
  Group(SamplingState&, std::span<const Point* const> points, const std::function<bool()>& abandon);

  /// How a visit ended. After any end but `done` there is no other visit.
  enum class Visit { done, abandoned, device_lost };

  /// The first visit: decides which points are measured and by how many samples. Nothing timed here counts.
  Visit pilot();
  /// The rounds that fall into pass `pass` of `passes`, with plans of their own.
  Visit sample(int pass, int passes);
  /// How many of the passes it takes part in at the most; 0 where there is nothing to sample. Known after pilot().
  int allocations() const { return allocations_; }
  /// The rows, once, after the last visit; of a group that lost the device, those that were settled.
  GroupOutcome finish();

  const Point& first() const { return *members_.front().point; }
  std::exception_ptr device_lost() const { return device_lost_; }
  bool device_busy() const { return device_busy_; }  ///< lost to a call that still runs

 private:
  /// A point on its way to a row.
  struct Member {
    const Point* point;
    Row row;
    std::unique_ptr<Plan> plan;  ///< during a visit
    PlanInfo info;
    bool settled = false;  ///< refused, failed, wrong: nothing more to run
    int samples = 0;
    std::vector<int> rounds;  ///< in which it takes part
    ByRound seconds, device_part_s, cycles;
    HostValue result, verified;
    bool any_verified = false;
    double call_s = 0;
    int passes_refused = 0;  ///< after its pilot
    std::string why_refused;

    void settle(Status status, std::string reason) {
      settled = true;
      row.status = status;
      row.reason = std::move(reason);
    }
  };

  /// One of the harness's own calls: the empty one, or a kernel that only reads.
  struct HarnessCall {
    std::string name;
    std::unique_ptr<Plan> plan;
    HostValue result;
    ByRound seconds;
    bool failed = false;  ///< called no more
  };

  /// A sample that was taken in a round which may still be voided.
  struct Taken {
    Member* member;  ///< or
    HarnessCall* bound;    ///< one of the harness's own
    int position;
    Sample sample;
  };

  /// What one try at a round gave.
  struct Try {
    int round, allocation;
    double lowest_hz, clock_hz;  ///< of the kernels' clock: the lower of before and after; after
    bool voided;
    std::vector<Taken> taken;
  };

  const SamplingRules& rules() const { return s_.rules; }
  bool any_open() const;

  Visit visit(const std::function<bool()>& body);
  void allocate();
  void release();
  Call call(Member&);
  Call call(HarnessCall&);
  void make_plan_for(Member&);
  void decline(Member&, const std::string& why);
  template <class Body>
  void guarded(Member&, Body&& body);
  void look_whether_lost(const std::exception&);

  void decline_what_needs_no_plan(Member&);
  void pilot(Member&);
  std::optional<double> predicted_over_limit(Member&);
  std::optional<History::Measured> time_of_part(Point part, std::size_t n, bool first_of_all);
  bool verify(Member&);
  void choose_rounds();

  void make_bounds();
  bool make_plans(int allocation);
  bool sample_round(int round, int allocation);
  bool take_samples(int round, std::vector<Taken>&);
  template <class Body>
  bool own_call(const std::string& what, Body&& body);
  bool wait_until_memory_idle();
  bool read_clock();
  void void_throttled();
  void keep(const Taken&, std::size_t round);
  void reject(const Taken&, std::size_t round);
  void account(const Taken&);
  void record(const Taken&, const Try&);

  void summarise(Member&);

  SamplingState& s_;
  const std::function<bool()>& abandon_;
  std::vector<Member> members_;
  std::vector<HarnessCall> harness_calls_;
  int rounds_ = 0, allocations_ = 0;  ///< 0 until the pilots have run
  std::mt19937_64 random_;

  Input* input_ = nullptr;  ///< during a visit, as are the next
  std::unique_ptr<DeviceMemory> out_memory_;
  const Reference* reference_ = nullptr;

  double clock_hz_ = 0;  ///< of the kernels, when it was read last; 0: unknown
  int voided_rounds_ = 0;
  std::vector<Try> tries_;  ///< in the order of time
  std::optional<ReadCeiling> ceiling_;
  std::optional<double> floor_s_;
  GroupOutcome out_;
  std::exception_ptr device_lost_;
  bool device_busy_ = false;
};

}  // namespace reductio
