#pragma once
/// A group of points while it is measured: their unfinished rows, the memory of their calls, and what errors become.

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "measure/sampling/inputs.h"
#include "measure/sampling/sampler.h"
#include "measure/sampling/summarise.h"

namespace reductio {

/// What groups share while they are measured.
struct SamplingState : Sampling {
  explicit SamplingState(Sampling s) : Sampling(std::move(s)) {}
  Timer& timer() const { return *instruments.timer; }

  double highest_clock_hz = 0;  ///< of the kernels, so far
  History history;              ///< times known from earlier groups, for predictions
  References references;
  std::mt19937_64 random{
      std::random_device{}()};  ///< what is changed in inputs: no two runs alike, unlike their orders
  Allocations allocations{backend};
};

/// A result in host memory.
struct HostValue {
  alignas(16) std::array<std::byte, 16> bytes{};
  bool operator==(const HostValue&) const = default;
};

/// The call of `plan` on `in`, or on its scratch copy, restored each time, if the plan consumes its input. `out`, in
/// device memory, holds one result.
Call call_of(Plan&, bool consumes_input, const DeviceInput& in, const DeviceMemory& out, HostValue& result);

/// A point on its way to a row.
struct Member : SampledPoint {
  const Point* point = nullptr;
  std::unique_ptr<Plan> plan;  ///< while there is memory
  PlanInfo info;
  double call_s = 0;        ///< by its pilot
  int samples = 0;          ///< that it shall get
  std::vector<int> rounds;  ///< in which it takes part
  HostValue result;
  std::size_t calls = 0;                  ///< that were made ready
  std::optional<ChangedElement> stored;   ///< in the input of the last one
  bool changed = false;                   ///< whether that is another than the input's own
  HostValue verified;                     ///< of the input as it is, as what follows
  bool any_verified = false;
  std::set<std::array<std::byte, 16>> results;
};

/// One of the harness's own calls: the empty one, or a kernel that only reads.
struct HarnessCall {
  std::string name;
  std::unique_ptr<Plan> plan;
  HostValue result{};
  bool failed = false;  ///< called no more
};

/// How measuring went on. After any end but `done` there is no other.
enum class End { done, abandoned, device_lost };

class Group {
 public:
  Group(SamplingState&, std::span<const Point* const> points);

  const Point& first() const { return *members.front().point; }
  /// There is a point that may still be called.
  bool any_open() const;

  /// Allocates input and output, runs `body`, and frees them with all plans. `body` returns false if it was abandoned
  /// or the device was lost. Does nothing if no point is open.
  End with_memory(const std::function<bool()>& body);

  // What follows is for within with_memory().

  void make_plan_for(Member&);
  /// Every second call of a member finds another element in the input. Each call is made once.
  Call call(Member&);
  Call call(HarnessCall&);
  /// Whether the last result is right; settles the member if it is not. Every call is checked. The row keeps the worst
  /// result on the unchanged input and counts its bit patterns.
  bool verify(Member&);
  std::size_t input_bytes() const { return input_->bytes(); }

  /// Runs `body`; an exception becomes the member's row. False if the device was lost.
  template <class Body>
  bool guarded(Member& m, Body&& body) {
    try {
      body();
    } catch (const Refused& e) {
      decline(m, e);
    } catch (const CallTimeout& e) {
      m.settle(Status::timeout, e.what());
      look_whether_lost(e);
    } catch (const std::exception& e) {
      m.settle(Status::failed, e.what());
      look_whether_lost(e);
    }
    return !device_lost;
  }

  /// Runs `body`, one of the harness's own calls. If it throws, rows lack that column. False if the device was lost;
  /// nobody can tell by whom.
  template <class Body>
  bool guarded(const std::string& what, Body&& body) {
    try {
      body();
    } catch (const std::exception& e) {
      look_whether_lost(e);
      if (device_lost) blame(what, e);
    }
    return !device_lost;
  }

  SamplingState& state;
  std::vector<Member> members;
  std::vector<HarnessCall> harness_calls;
  bool piloted = false;
  std::exception_ptr device_lost;
  bool device_busy = false;  ///< lost to a call that still runs

 private:
  void allocate();
  void release();
  void decline(Member&, const Refused& why);
  void look_whether_lost(const std::exception&);
  void blame(const std::string& what, const std::exception&);

  DeviceInput* input_ = nullptr;
  std::unique_ptr<DeviceMemory> out_;
  const ExactReference* reference_ = nullptr;
};

}  // namespace reductio
