#pragma once
/// What the tests of the simulated device share. They are kernel files as far as device.h is concerned.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "device/backend.h"
#include "device/device.h"
#include "device/sim/fault.h"
#include "device/sim/schedule.h"
#include "tests/sanitized.h"

namespace reductio::sim_tests {

using namespace device;
using sim::Fault;
using sim::FaultKind;
using sim::Order;

inline constexpr Order all_orders[] = {Order::forward, Order::reverse, Order::random};

/// For tests of our sums: sanitizers leave out the reverse order, in which the battery runs the same kernels.
inline std::vector<Order> orders_of_sums() {
  return few_if_sanitized<Order>(2, {Order::forward, Order::random, Order::reverse});
}

inline std::string order_name(const testing::TestParamInfo<Order>& order) {
  return order.param == Order::forward ? "forward" : order.param == Order::reverse ? "reverse" : "random";
}

/// Each test of the suite runs in each order.
class InEachOrder : public testing::TestWithParam<Order> {
 protected:
  void SetUp() override { sim::set_schedule(GetParam(), 7); }
  void TearDown() override { sim::set_schedule(Order::forward); }
};

/// Each test has a device of its own.
class WithDevice : public testing::Test {
 protected:
  /// n values of its memory.
  std::vector<unsigned> read(const void* p, std::size_t n, Stream s = {}) {
    std::vector<unsigned> v(n);
    device->copy_out(v.data(), p, n * sizeof(unsigned), s);
    return v;
  }
  std::unique_ptr<Backend> device = open_sim();
};

inline __global__ void nothing() {}
inline __global__ void add_one(unsigned* p) { p[threadIdx.x] += 1; }

/// Values in device memory.
template <class T>
Buffer<T> on_device(const std::vector<T>& values) {
  Buffer<T> b(values.size());
  sim::enqueue_copy_in({}, b.ptr(), values.data(), values.size() * sizeof(T));
  sim::synchronize({});
  return b;
}

template <class T>
std::vector<T> on_host(const Buffer<T>& b) {
  std::vector<T> values(b.size());
  copy_to_host<T>(values.data(), b.ptr(), values.size(), {});
  return values;
}

template <class T>
Buffer<T> zeros(std::size_t n) {
  return on_device(std::vector<T>(n));
}

/// 0, 1, 2, ...
inline Buffer<unsigned> counting(std::size_t n) {
  std::vector<unsigned> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<unsigned>(i);
  return on_device(v);
}

using Threads = std::vector<unsigned>;
inline Threads from_to(unsigned first, unsigned last) {
  Threads t;
  for (unsigned i = first; i <= last; ++i) t.push_back(i);
  return t;
}

/// Runs a kernel that must fail, and gives the fault.
template <auto Kernel, class... Args>
Fault fault_of(std::size_t grid, unsigned block, std::size_t shared_bytes, Args... args) {
  launch<Kernel>({grid, block, shared_bytes, {}}, args...);
  try {
    sim::synchronize({});
  } catch (const Fault& f) {
    EXPECT_EQ(std::string(f.what()).find('\n'), std::string::npos) << "one line";
    return f;
  }
  ADD_FAILURE() << "no fault was diagnosed";
  return Fault(FaultKind::launch, "none", 0, {}, "", 0, "");
}

template <auto Kernel, class... Args>
void run(std::size_t grid, unsigned block, std::size_t shared_bytes, Args... args) {
  launch<Kernel>({grid, block, shared_bytes, {}}, args...);
  sim::synchronize({});
}

inline bool says(const Fault& f, const std::string& words) {
  return std::string(f.what()).find(words) != std::string::npos;
}

}  // namespace reductio::sim_tests
