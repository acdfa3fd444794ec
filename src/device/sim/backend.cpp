// The simulated device as the harness sees it: streams, faults, and the backend.

#include <cxxabi.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/backend.h"
#include "device/sim/internal.h"

namespace reductio {
namespace sim {

// ---------------------------------------------------------------------------------------------------- faults

std::string_view name(FaultKind k) {
  switch (k) {
    case FaultKind::launch: return "launch refused";
    case FaultKind::out_of_bounds: return "out of bounds";
    case FaultKind::misaligned: return "misaligned";
    case FaultKind::use_after_free: return "use after free";
    case FaultKind::unwritten: return "read of unwritten memory";
    case FaultKind::race: return "race";
    case FaultKind::divergent_barrier: return "divergent barrier";
    case FaultKind::unfinished_barrier: return "unfinished barrier";
    case FaultKind::warp_mask: return "warp mask";
    case FaultKind::endless_wait: return "endless wait";
    case FaultKind::host_access: return "device code on the host";
  }
  return "fault";
}

std::string ranges(const std::vector<unsigned>& ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(ascending[i]);
    if (end - i > 1) text += "-" + std::to_string(ascending[end - 1]);
    i = end;
  }
  return text;
}

std::string to_string(const Site& s) {
  if (!s.file) return "?";
  const char* const slash = std::strrchr(s.file, '/');
  return std::string(slash ? slash + 1 : s.file) + ":" + std::to_string(s.line);
}

namespace {

std::string one_line(FaultKind kind, const std::string& kernel, std::size_t block, const std::vector<unsigned>& threads,
                     const std::string& file, int line, const std::string& what) {
  std::string text = "simulated device: " + std::string(name(kind));
  if (!kernel.empty()) text += " in kernel " + kernel;
  if (!threads.empty())
    text += ", block " + std::to_string(block) + (threads.size() > 1 ? ", threads " : ", thread ") + ranges(threads);
  if (line) text += ", " + file + ":" + std::to_string(line);
  return text + ": " + what;
}

/// "rolled<unsigned int, Identity>" of the type KernelName<&kernel>.
std::string readable(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                         std::free);
  if (status != 0) return type.name();
  std::string s = demangled.get();
  const std::string marker = "KernelName<";
  if (const auto at = s.find(marker); at != std::string::npos) s.erase(0, at + marker.size());
  // Qualifiers say which device and file; the reader knows. They end in "::" and hold no spaces but in this one.
  for (std::size_t at; (at = s.find("(anonymous namespace)::")) != std::string::npos;) s.erase(at, 23);
  for (std::size_t at; (at = s.find("::")) != std::string::npos;) {
    std::size_t begin = at;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(s[begin - 1])) || s[begin - 1] == '_')) --begin;
    s.erase(begin, at + 2 - begin);
  }
  // What is left: "&(void rolled<...>(parameters))" or "&(plain(parameters))" or, shorter, without the parentheses.
  s.erase(0, s.find_first_not_of("&("));
  if (s.starts_with("void ")) s.erase(0, 5);
  int depth = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '<') ++depth;
    if (s[i] == '>' && --depth < 0) return s.substr(0, i);
    if (s[i] == '(' && depth == 0) return s.substr(0, i);
  }
  return s;
}

}  // namespace

Fault::Fault(FaultKind kind_, std::string kernel_, std::size_t block_, std::vector<unsigned> threads_, std::string file_,
             int line_, const std::string& what_happened)
    : DeviceError(one_line(kind_, kernel_, block_, threads_, file_, line_, what_happened)),
      kind(kind_),
      kernel(std::move(kernel_)),
      block(block_),
      threads(std::move(threads_)),
      file(std::move(file_)),
      line(line_) {}

// ---------------------------------------------------------------------------------------------------- streams

namespace {

std::recursive_mutex& device_mutex() {
  static std::recursive_mutex m;
  return m;
}

/// Work in the order in which it was put there. Nothing runs until somebody waits for it.
struct Queue {
  std::deque<std::function<void()>> work;
};

struct Streams {
  Queue standard;  // the null stream: a queue like any other
  std::set<Queue*> created;
};
Streams& streams() {
  static Streams s;
  return s;
}

Queue& queue(Stream s) {
  if (!s.handle) return streams().standard;
  auto* const q = static_cast<Queue*>(s.handle);
  if (!streams().created.contains(q))
    throw DeviceError("simulated device: the stream was destroyed, or is another device's");
  return *q;
}

void enqueue(Stream s, std::function<void()> work) {
  const DeviceLock lock;
  if (running) throw DeviceError("simulated device: a kernel cannot enqueue work");
  queue(s).work.push_back(std::move(work));
}

void run(Queue& q) {
  while (!q.work.empty()) {
    const auto work = std::move(q.work.front());
    q.work.pop_front();
    try {
      work();
    } catch (...) {
      q.work.clear();  // as on a GPU, nothing that was queued behind a failure is done
      throw;
    }
  }
}

}  // namespace

DeviceLock::DeviceLock() : guard_(device_mutex()) {}

void enqueue_kernel(Stream s, const Shape& shape, std::function<void()> thread, const std::type_info& type) {
  std::string kernel;
  try {
    check_launch(shape, kernel);
  } catch (const Fault&) {
    check_launch(shape, readable(type));
  }
  enqueue(s, [shape, thread = std::move(thread), &type] { run_grid(shape, thread, readable(type)); });
}

void enqueue_fill(Stream s, void* dst, unsigned char byte, std::size_t bytes) {
  enqueue(s, [=] { fill_now(dst, byte, bytes); });
}

void enqueue_copy_in(Stream s, void* dst, const void* host, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(host);
  enqueue(s, [dst, data = std::vector<std::byte>(first, first + bytes)] { copy_in_now(dst, data.data(), data.size()); });
}

void enqueue_copy_within(Stream s, void* dst, const void* src, std::size_t bytes) {
  enqueue(s, [=] { copy_within_now(dst, src, bytes); });
}

void copy_out(Stream s, void* host, const void* src, std::size_t bytes) {
  const DeviceLock lock;
  enqueue(s, [=] { copy_out_now(host, src, bytes); });
  run(queue(s));
}

void synchronize(Stream s) {
  const DeviceLock lock;
  run(queue(s));
}

}  // namespace sim

// ---------------------------------------------------------------------------------------------------- backend

namespace {

class SimBackend final : public Backend {
 public:
  SimBackend() {
    info_.kind = DeviceKind::sim;
    info_.name = "simulated GPU";
    info_.sm_count = sim::sm_count;
    info_.threads_per_sm = static_cast<int>(sim::threads_per_sm);
    info_.shared_bytes_per_block = sim::shared_bytes_per_block;
    info_.l2_bytes = std::size_t{4} << 20;
    info_.memory_bytes = sim::device_memory_bytes;
    info_.max_grid = static_cast<unsigned>(sim::max_grid);
  }

  /// Work that nobody waited for is told of here: on the default stream it is never done.
  ~SimBackend() override {
    const sim::DeviceLock lock;
    while (!mine_.empty()) destroy_stream({*mine_.begin()});
    auto& left = sim::streams().standard.work;
    if (!left.empty())
      std::fprintf(stderr,
                   "simulated device: closed with %zu operations on the default stream that nobody waited for; they "
                   "were never done\n",
                   left.size());
    left.clear();
    if (failure_) report(failure_);
  }

  const DeviceInfo& info() const override { return info_; }
  void* allocate(std::size_t bytes) override { return sim::allocate(bytes); }
  void release(void* p) noexcept override { sim::release(p); }
  std::size_t memory_free() const override { return sim::memory_free(); }

  void fill(void* dst, unsigned char byte, std::size_t bytes, Stream s) override {
    sim::enqueue_fill(s, dst, byte, bytes);
  }
  void copy_in(void* dst, const void* host, std::size_t bytes, Stream s) override {
    sim::enqueue_copy_in(s, dst, host, bytes);
  }
  void copy_within(void* dst, const void* src, std::size_t bytes, Stream s) override {
    sim::enqueue_copy_within(s, dst, src, bytes);
  }
  void copy_out(void* host, const void* src, std::size_t bytes, Stream s) override {
    rethrow();
    sim::copy_out(s, host, src, bytes);
  }

  Stream create_stream() override {
    const sim::DeviceLock lock;
    auto* const q = new sim::Queue;
    sim::streams().created.insert(q);
    mine_.insert(q);
    return {q};
  }

  /// Finishes the stream's work first, as CUDA does; a fault in it is thrown by the next wait.
  void destroy_stream(Stream s) noexcept override {
    const sim::DeviceLock lock;
    auto* const q = static_cast<sim::Queue*>(s.handle);
    if (!q || mine_.erase(q) == 0) return;
    try {
      sim::run(*q);
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
    sim::streams().created.erase(q);
    delete q;
  }

  void synchronize(Stream s) override {
    rethrow();
    sim::synchronize(s);
  }

 private:
  void rethrow() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  static void report(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "simulated device: closed with a failure that nobody waited for: %s\n", e.what());
    } catch (...) {
      std::fprintf(stderr, "simulated device: closed with a failure that nobody waited for\n");
    }
  }

  DeviceInfo info_;
  std::set<sim::Queue*> mine_;
  std::exception_ptr failure_;
};

}  // namespace

std::unique_ptr<Backend> open_sim() { return std::make_unique<SimBackend>(); }

}  // namespace reductio
