#include "measure/timing/pinned_thread.h"

#include <sched.h>

#include <sstream>

namespace reductio {
namespace {

void allow(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (!cpus.empty()) sched_setaffinity(0, sizeof set, &set);  // where it is not allowed, all stays as it was
}

}  // namespace

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) out.push_back(cpu);
  return out;
}

std::vector<int> cpus_of(const std::string& list) {
  std::vector<int> out;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    std::istringstream range(part);
    int first = 0, last = 0;
    char dash = 0;
    if (!(range >> first)) return {};
    if (!(range >> dash >> last)) last = first;
    if ((dash != 0 && dash != '-') || first < 0 || last < first || last >= CPU_SETSIZE) return {};
    for (int cpu = first; cpu <= last; ++cpu) out.push_back(cpu);
  }
  return out;
}

PinnedThread::PinnedThread(int cpu) : before_(allowed_cpus()) {
  if (!before_.empty()) allow({cpu});
}

PinnedThread::~PinnedThread() { allow(before_); }

}  // namespace reductio
