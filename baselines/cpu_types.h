#pragma once
/// Element types and threads on the CPU.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/types.h"
#include "device/backend.h"

namespace reductio {

/// Calls f.template operator()<T>() with the type that the problem is added up in: unsigned for i32, because signed
/// overflow is undefined in C++ while integer sums here are defined modulo 2^32.
template <class F>
auto dispatch_cpu(const Problem& p, F&& f) {
  switch (p.type) {
    case ElementType::i32: return f.template operator()<std::uint32_t>();
    case ElementType::f32: return f.template operator()<float>();
    case ElementType::f64: return f.template operator()<double>();
    default: throw Refused("element type is not supported");
  }
}

/// The most threads that an OpenMP baseline starts, which the setting `threads` allows, too.
inline constexpr int most_threads = 1024;

/// Throws Unavailable, with `advice` at its end, for more than most_threads, and where the system does not start so
/// many now: libgomp overflows the stack of the first and ends the program at the second, as TBB does.
inline void require_threads(int threads, const std::string& advice) {
  const std::string needs = "needs " + std::to_string(threads) + " threads, ";
  if (threads > most_threads)
    throw Unavailable(needs + "at most " + std::to_string(most_threads) + " are started; " + advice);
  const std::string limit = address_space_advice();
  static std::atomic<int> proven = 1;  // this one runs
  if (threads <= proven && limit.empty()) return;
  std::vector<std::thread> others;
  others.reserve(static_cast<std::size_t>(threads));  // a vector that cannot grow would leave threads unjoined
  std::latch all_started(1);
  std::string why;
  try {
    while (static_cast<int>(others.size()) + 1 < threads) others.emplace_back([&] { all_started.wait(); });
  } catch (const std::exception& e) {  // std::system_error, or no memory for the thread's state
    why = e.what();
  }
  all_started.count_down();
  for (std::thread& t : others) t.join();
  if (!why.empty())
    throw Unavailable(needs + "the system starts " + std::to_string(others.size() + 1) + " (" + why + "); " + advice +
                  limit);
  proven = std::max<int>(proven, threads);
}

}  // namespace reductio
