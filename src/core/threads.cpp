#include "core/threads.h"

#include <sched.h>

#include <algorithm>
#include <future>
#include <sstream>
#include <system_error>
#include <thread>

namespace reductio {
namespace {

/// What this thread may run on when it is pinned no more; empty: it is not pinned.
thread_local std::vector<int> before_pinned;

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

PinnedThread::PinnedThread(int cpu) : before_(allowed_cpus()), outermost_(before_pinned.empty()) {
  if (before_.empty()) return;
  if (outermost_) before_pinned = before_;
  allow({cpu});
}

PinnedThread::~PinnedThread() {
  allow(before_);
  if (outermost_) before_pinned.clear();
}

void in_shares(std::size_t count, std::size_t threads,
               const std::function<void(std::size_t first, std::size_t count)>& body) {
  const std::vector<int> cpus = before_pinned.empty() ? allowed_cpus() : before_pinned;
  if (threads == 0) threads = cpus.empty() ? std::thread::hardware_concurrency() : cpus.size();
  threads = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(count, 1));
  const bool pinned = !before_pinned.empty();
  const auto first_of = [&](std::size_t share) { return count / threads * share + std::min(share, count % threads); };
  const auto run = [&](std::size_t share) { body(first_of(share), first_of(share + 1) - first_of(share)); };
  std::vector<std::future<void>> others;  // their destructors wait, so no exception leaves a thread behind
  others.reserve(threads - 1);
  std::size_t started = 1;
  try {
    for (; started < threads; ++started)
      others.push_back(std::async(std::launch::async, [&run, &cpus, pinned, share = started] {
        if (pinned) allow(cpus);
        run(share);
      }));
  } catch (const std::system_error&) {
    // The system starts no more: this thread does their shares.
  }
  run(0);
  for (std::size_t share = started; share < threads; ++share) run(share);
  for (auto& other : others) other.get();
}

}  // namespace reductio
