#pragma once
/// A group of points while it is measured: their unfinished rows, the memory of their calls, and what errors become.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/outputs.h"
#include "measure/sampling/inputs.h"
#include "measure/sampling/sampler.h"
#include "measure/sampling/summarise.h"

namespace reductio {

/// What a context's process is doing, in memory shared with its parent: a message for each call would disturb times.
struct UnderWay {
  static constexpr int no_member = -1;
  std::atomic<std::uint64_t> steps = 0;  ///< begun or ended so far
  std::atomic<int> member = no_member;   ///< index in the group of the one whose call is under way
};

/// Marks a member's call as under way while it lives.
class Step {
 public:
  Step(UnderWay* now, int member) : now_(now) { note(member); }
  ~Step() { note(UnderWay::no_member); }
  Step(const Step&) = delete;

 private:
  void note(int member) {
    if (!now_) return;
    now_->member = member;
    ++now_->steps;
  }
  UnderWay* now_;
};

/// What groups share while they are measured.
struct SamplingState : Sampling {
  explicit SamplingState(Sampling s) : Sampling(std::move(s)) {}
  Timer& timer() const { return *instruments.timer; }

  double highest_clock_hz = 0;  ///< of the kernels, so far
  History history;              ///< times known from earlier groups, for predictions
  KnownOutputs references;
  std::mt19937_64 random{
      std::random_device{}()};  ///< what is changed in inputs: no two runs alike, unlike their orders
  Allocations allocations{backend};
  UnderWay* under_way = nullptr;  ///< where the context is a process
};

/// A result in host memory.
struct HostValue {
  std::vector<std::byte> bytes = std::vector<std::byte>(16);
  bool operator==(const HostValue&) const = default;
};

/// The call of `plan` on `in`, or on its scratch copy, restored each time, if the plan consumes its input. `out`, in
/// device memory, holds one result of `bytes`.
Call call_of(Plan&, bool consumes_input, const DeviceInput& in, const DeviceMemory& out, std::size_t bytes,
             HostValue& result);

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
  HostValue verified{{}};                 ///< of the input as it is, as what follows; empty: none is known here
  bool any_verified = false;
  std::set<std::string> results;  ///< their hashes
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
  bool any_open() const { return settled() < members.size(); }
  std::size_t settled() const;

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
  /// Whether every call of the graph that the samples will launch is right, where it is one of many; settles the member
  /// if not. Who notices a capture could leave out all calls but one, and the last result would be right.
  bool verify_graph(Member&);
  std::size_t input_bytes() const { return input_->bytes(); }

  // What follows is for contexts that are processes.

  /// Computes the input's elements and the exact reference in host memory, for processes forked later.
  void know_input();
  /// What a process knows of the members, as bytes, and its takeover by the parent. If the process lost the device,
  /// only settled members are taken over: the others are called again.
  std::string known_apart();
  void take_over(const std::string&, bool was_lost);
  /// The context's process has ended or was killed: settles the member whose call was under way. If there was none,
  /// those of plug-ins, or all if no plug-in is open.
  void blame_process(int member, Status status, const std::string& why);

  /// Runs `body`; an exception becomes the member's row. False if the device was lost.
  template <class Body>
  bool guarded(Member& m, Body&& body) {
    const Step step(state.under_way, static_cast<int>(&m - members.data()));
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
    const Step step(state.under_way, UnderWay::no_member);
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
  std::size_t result_bytes() const { return first().problem.result_bytes(); }
  std::shared_ptr<const ExactOutputs> exact_outputs(std::span<const std::byte> tile);
  void allocate();
  void release();
  void decline(Member&, const Refused& why);
  void look_whether_lost(const std::exception&);
  void blame(const std::string& what, const std::exception&);

  DeviceInput* input_ = nullptr;
  std::unique_ptr<DeviceMemory> out_;
  std::unique_ptr<DeviceMemory> offsets_;  ///< of segments
  std::shared_ptr<const ExactOutputs> reference_;
  std::optional<std::size_t> drawn_output_{};  ///< of which an element was changed last
};

}  // namespace reductio
