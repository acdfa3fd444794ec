#pragma once
/// Work shared among threads, and the CPUs that a thread may run on.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace reductio {

/// CPUs that this thread may run on; empty where the system does not tell.
std::vector<int> allowed_cpus();

/// The CPUs of a list as the system writes it, "0-3,8"; empty for what is no such list.
std::vector<int> cpus_of(const std::string& list);

/// Pins this thread, and threads that it starts, to one CPU while the object lives; then restores the affinity. Does
/// nothing where the system forbids it.
class PinnedThread {
 public:
  explicit PinnedThread(int cpu);
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;

 private:
  std::vector<int> before_;
  bool outermost_;
};

/// Calls body(first, count) for shares of `count` things, each on a thread of its own, and returns when all are done.
/// threads = 0: as many as there are CPUs, those from before this thread was pinned. Throws what a body throws.
void in_shares(std::size_t count, std::size_t threads,
               const std::function<void(std::size_t first, std::size_t count)>& body);

}  // namespace reductio
