#include "device/sim/streams.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/variant.h"
#include "device/sim/access.h"
#include "device/sim/diagnosis.h"
#include "device/sim/fault.h"
#include "device/sim/kernel_name.h"
#include "device/sim/limits.h"
#include "device/sim/lock.h"
#include "device/sim/memory.h"
#include "device/sim/runtime.h"
#include "device/sim/scheduler.h"

namespace reductio::sim {
namespace {

std::recursive_mutex& device_mutex() {
  static std::recursive_mutex m;
  return m;
}

using Work = std::function<void()>;

/// What a stream's work is to what was enqueued before: `ours` is none of the GPU's.
enum class Kind { kernel, other, ours };
struct Item {
  Work work;
  Kind kind;
  Enqueued enqueued;
};

/// Work in the order in which it was put there. Nothing runs until somebody waits for it.
struct Queue {
  std::deque<Item> work;
};

struct Streams {
  Queue standard;  // the null stream: a queue like any other
  std::set<Queue*> created;
  bool idle() const {
    return standard.work.empty() &&
           std::all_of(created.begin(), created.end(), [](const Queue* q) { return q->work.empty(); });
  }
};
Streams& streams() {
  static Streams s;
  return s;
}

CopiedOut copied;  // under the lock
Enqueued under_way;  // likewise: the work that runs
std::exception_ptr host_access;  // likewise: the first that nobody has been told of

/// The enqueue() that is being watched.
struct Watching {
  Shape first_launch{};
  struct Put {
    Stream stream;
    Work work;
    Kind kind;
  };
  std::vector<Put> work;
  std::string wrong;  ///< what it did that it may not do: the first such
};
Watching* watched = nullptr;  // under the lock
constexpr const char* finish_later =
    "only finish() may wait, or the enqueue() of a plan that declares ResultLocation::on_host";

Queue& queue(Stream s) {
  if (!s.handle) return streams().standard;
  auto* const q = static_cast<Queue*>(s.handle);
  if (!streams().created.contains(q))
    throw DeviceError("simulated device: the stream was destroyed, or is another device's");
  return *q;
}

void enqueue(Stream s, Work work, Kind kind = Kind::other) {
  const DeviceLock lock;
  if (running) throw DeviceError("simulated device: a kernel cannot enqueue work");
  if (const PlanId plan = acting_plan())
    work = [plan, work = std::move(work)] {
      const WorksAs works(plan);
      work();
    };
  if (watched) watched->work.push_back({s, work, kind});
  Queue& q = queue(s);
  q.work.push_back({std::move(work), kind, scheduler().enqueued(&q, streams().idle())});
}

/// All of it, or until `reached` is true.
void run(Queue& q, const bool& reached = false) {
  if (host_access) {
    q.work.clear();
    std::rethrow_exception(std::exchange(host_access, nullptr));
  }
  while (!q.work.empty() && !reached) {
    const Item next = std::move(q.work.front());
    q.work.pop_front();
    under_way = next.enqueued;
    if (next.kind == Kind::other) scheduler().note_other_work(&q);
    try {
      next.work();
    } catch (...) {
      q.work.clear();  // as on a GPU, nothing that was queued behind a failure is done
      throw;
    }
  }
}

}  // namespace

DeviceLock::DeviceLock() : guard_(device_mutex()) {}

Stream create_stream() {
  const DeviceLock lock;
  auto* const q = new Queue;
  streams().created.insert(q);
  return {q};
}

void destroy_stream(Stream s) {
  const DeviceLock lock;
  const std::unique_ptr<Queue> q(&queue(s));
  std::exception_ptr failure;
  try {
    run(*q);
  } catch (...) {
    failure = std::current_exception();
  }
  streams().created.erase(q.get());
  if (failure) std::rethrow_exception(failure);
}

std::size_t abandon_default_stream() {
  const DeviceLock lock;
  auto& work = streams().standard.work;
  return std::exchange(work, {}).size();
}

bool another_stream_holds_kernels(const void* stream) {
  const auto& s = streams();
  const auto holds = [&](const Queue& q) {
    return &q != stream &&
           std::any_of(q.work.begin(), q.work.end(), [](const Item& i) { return i.kind == Kind::kernel; });
  };
  return holds(s.standard) ||
         std::any_of(s.created.begin(), s.created.end(), [&](const Queue* q) { return holds(*q); });
}

bool default_stream_holds_work() {
  const DeviceLock lock;
  return !streams().standard.work.empty();
}

void enqueue_kernel(Stream s, const Shape& shape, KernelCode code) {
  std::string kernel;
  try {
    check_launch(shape, kernel);
  } catch (const Fault&) {
    check_launch(shape, readable(code.name));
  }
  enqueue(
      s, [shape, code = std::move(code)] { run_grid(shape, code, readable(code.name), under_way); }, Kind::kernel);
  const DeviceLock lock;
  if (watched && watched->first_launch.grid == 0) watched->first_launch = shape;
}

void enqueue_forgetting(Stream s, PlanId plan) {
  enqueue(
      s, [=] { forget_now(plan); }, Kind::ours);
}

void enqueue_fill(Stream s, void* dst, unsigned char byte, std::size_t bytes) {
  enqueue(s, [=] { fill_now(dst, byte, bytes); });
}

void enqueue_copy_in(Stream s, void* dst, const void* host, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(host);
  enqueue(s,
          [dst, data = std::vector<std::byte>(first, first + bytes)] { copy_in_now(dst, data.data(), data.size()); });
}

void enqueue_copy_within(Stream s, void* dst, const void* src, std::size_t bytes) {
  enqueue(s, [=] { copy_within_now(dst, src, bytes); });
}

void copy_out(Stream s, void* host, const void* src, std::size_t bytes) {
  const DeviceLock lock;
  forbid_in_enqueue("copies to the host, which waits for the device", finish_later);
  enqueue(s, [=] {
    copy_out_now(host, src, bytes);
    ++copied.copies;
    copied.bytes += bytes;
  });
  run(queue(s));
}

CopiedOut copied_out() {
  const DeviceLock lock;
  return copied;
}

void enqueue_host_work(Stream s, std::function<void()> work) { enqueue(s, std::move(work)); }

void synchronize(Stream s, const bool& reached) {
  const DeviceLock lock;
  forbid_in_enqueue("waits for the device", finish_later);
  run(queue(s), reached);
}
void synchronize(Stream s) { synchronize(s, false); }

bool is_stream(Stream s) {
  const DeviceLock lock;
  return streams().created.contains(static_cast<Queue*>(s.handle));
}

Watched watch_enqueue(const std::function<void()>& enqueue_call) {
  // Not locked while it runs: what another thread does for enqueue(), which waits for it, is to be found out as well.
  struct Guard {
    Watching now;
    Watching* const before = set(&now);
    ~Guard() { set(before); }
    static Watching* set(Watching* w) {
      const DeviceLock lock;
      return std::exchange(watched, w);
    }
  } guard;
  enqueue_call();
  if (!guard.now.wrong.empty()) throw Fault(FaultKind::contract, "", 0, {}, "", 0, guard.now.wrong);
  return {guard.now.first_launch, [work = std::move(guard.now.work)] {
            for (const auto& [stream, one, kind] : work) enqueue(stream, one, kind);
          }};
}

void note_host_access(const char* verb, Site site) noexcept {
  const DeviceLock lock;
  if (host_access) return;
  host_access = std::make_exception_ptr(
      Fault(FaultKind::host_access, "", 0, {}, shown_path(site.file), site.line,
            std::string("host code ") + verb + " device memory; use " +
                in_words("copy_to_host, zero or a kernel", "cudaMemcpy, cudaMemset or a kernel")));
}

void note_in_enqueue(const char* what, const char* advice) noexcept {
  const DeviceLock lock;
  if (watched && watched->wrong.empty()) watched->wrong = std::string("enqueue() ") + what + ": " + advice;
}

void forbid_in_enqueue(const char* what, const char* advice) {
  const DeviceLock lock;
  note_in_enqueue(what, advice);
  if (watched) throw Fault(FaultKind::contract, "", 0, {}, "", 0, watched->wrong);
}

}  // namespace reductio::sim
