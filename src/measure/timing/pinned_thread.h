#pragma once
/// The CPUs that the measuring thread may run on, and staying on one of them.

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
};

}  // namespace reductio
