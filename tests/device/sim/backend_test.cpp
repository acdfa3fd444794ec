// The simulated device as the harness uses it: what it says of itself, and its memory.

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

#include "tests/device/sim/support.h"
#include "tests/error_of.h"

namespace reductio::sim_tests {
namespace {

class SimBackend : public WithDevice {};

TEST_F(SimBackend, TellsWhatItIs) {
  const DeviceInfo& i = device->info();
  EXPECT_EQ(i.kind, DeviceKind::sim);
  EXPECT_EQ(i.name, "simulated GPU");
  EXPECT_EQ(i.sm_count, 6);
  EXPECT_EQ(i.threads_per_sm, 2048);
  EXPECT_EQ(i.shared_bytes_per_block, 48u * 1024);
  EXPECT_EQ(i.max_grid, 0x7fffffffu);
}

TEST_F(SimBackend, MemoryIsPoisonedAlignedAndCounted) {
  const std::size_t before = device->memory_free();
  {
    const DeviceMemory a(*device, 100), b(*device, 0), c(*device, 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.get()) % 256, 0u);
    EXPECT_NE(b.get(), c.get());
    EXPECT_EQ(read(a.get(), 25), std::vector<unsigned>(25, 0xffffffffu));
    EXPECT_EQ(device->memory_free(), before - 100);
  }
  EXPECT_EQ(device->memory_free(), before);
}

TEST_F(SimBackend, RefusesMoreMemoryThanThereIs) {
  const std::string why = error_of<Refused>([&] { DeviceMemory(*device, device->memory_free() + 1); });
  EXPECT_NE(why.find(std::to_string(device->memory_free()) + " bytes of memory free"), std::string::npos) << why;
}

TEST_F(SimBackend, CopiesAndFills) {
  const DeviceMemory a(*device, 16), b(*device, 32);
  std::vector<unsigned> host{1, 2, 3, 4};
  device->copy_in(a.get(), host.data(), 16, {});
  host.assign(4, 9);  // the host may reuse its memory at once
  device->fill(b.get(), 0x11, 32, {});
  device->copy_within(b.bytes_at(8), a.get(), 16, {});
  EXPECT_EQ(read(b.get(), 8), (std::vector<unsigned>{0x11111111, 0x11111111, 1, 2, 3, 4, 0x11111111, 0x11111111}));
}

TEST_F(SimBackend, ChecksCopiesAndFills) {
  const DeviceMemory a(*device, 16);
  const auto kind_of = [&](auto&& work) {
    try {
      work();
      device->synchronize({});
    } catch (const Fault& f) {
      return f.kind;
    }
    ADD_FAILURE() << "no fault";
    return FaultKind::launch;
  };
  EXPECT_EQ(kind_of([&] { device->fill(a.get(), 0, 17, {}); }), FaultKind::out_of_bounds);
  EXPECT_EQ(kind_of([&] { device->copy_within(a.bytes_at(8), a.get(), 9, {}); }), FaultKind::out_of_bounds);
  EXPECT_EQ(kind_of([&] { read(a.get(), 5); }), FaultKind::out_of_bounds);
  unsigned on_the_host = 0;
  EXPECT_EQ(kind_of([&] { device->fill(&on_the_host, 0, 4, {}); }), FaultKind::use_after_free);
  void* const gone = device->allocate(64);
  device->fill(gone, 0, 64, {});
  device->release(gone);
  EXPECT_EQ(kind_of([] {}), FaultKind::use_after_free) << "released before the work ran";
}

TEST_F(SimBackend, WhatKernelsMayTouchLiesInOneAllocation) {
  const DeviceMemory a(*device, 64);
  EXPECT_NO_THROW(sim::set_reach(a.get(), 64));
  EXPECT_NO_THROW(sim::set_reach(a.bytes_at(64), 0));
  EXPECT_THROW(sim::set_reach(a.get(), 68), Fault);
  EXPECT_THROW(sim::set_reach(a.bytes_at(64), 4), Fault);
}

// Host code is in no kernel that could be named.
TEST_F(SimBackend, WhatHostCodeAsksForInVainNamesItsLine) {
  const DeviceMemory a(*device, 64);
  const auto p = static_cast<float*>(a.get());
  const auto expect_line = [](int line, const std::string& what, const auto& ask) {
    try {
      ask();
      ADD_FAILURE() << "no fault: " << what;
    } catch (const Fault& f) {
      const std::string said = f.what(),
                        wanted = what + " at tests/device/sim/backend_test.cpp:" + std::to_string(line) + ":";
      EXPECT_NE(said.find(wanted), std::string::npos) << said << "\nwanted: " << wanted;
    }
  };
  expect_line(__LINE__, "zero()", [&] { zero(p, 17, {}); });
  expect_line(__LINE__, "zero()", [&] { zero(p + 16, 1, {}); });
  float host[17];
  expect_line(__LINE__, "copy_to_host()", [&] { copy_to_host<float>(host, p, 17, {}); });
}

TEST_F(SimBackend, CopiesAndZeroingStayInTheirAllocation) {
  const Buffer<unsigned> b(8);
  EXPECT_THROW(zero(b.ptr(), 9, {}), Fault);
  unsigned host[9];
  EXPECT_THROW(copy_to_host<unsigned>(host, b.ptr(), 9, {}), Fault);
  zero(b.ptr() + 2, 6, {});
  copy_to_host<unsigned>(host, b.ptr(), 8, {});
  EXPECT_EQ(host[1], 0xffffffffu);
  EXPECT_EQ(host[2], 0u);
}

TEST_F(SimBackend, HostCodeCannotTouchDeviceMemory) {
  const auto b = zeros<unsigned>(4);
  // Told by the next wait: nothing can be thrown out of a plain access.
  const auto expect_told = [&](int line, const char* words) {
    try {
      device->synchronize({});
      ADD_FAILURE() << "no fault: " << words;
    } catch (const Fault& f) {
      EXPECT_EQ(f.kind, FaultKind::host_access) << f.what();
      EXPECT_EQ(f.file, "tests/device/sim/backend_test.cpp") << f.what();
      EXPECT_EQ(f.line, line) << f.what();
      EXPECT_TRUE(says(f, words)) << f.what();
    }
    EXPECT_NO_THROW(device->synchronize({}));
  };
  [[maybe_unused]] const volatile unsigned x = b.ptr()[0];
  expect_told(__LINE__ - 1, "host code reads device memory; use copy_to_host, zero or a kernel");
  b.ptr()[0] = 1;
  expect_told(__LINE__ - 1, "host code writes device memory");
  EXPECT_THROW(__syncthreads(), Fault);
}

std::atomic<int> turn = 0;
__attribute__((no_sanitize("thread"), noinline)) void let_another_thread_work() {
  turn = 1;
  while (turn != 2) std::this_thread::yield();
}
__global__ void pauses() { let_another_thread_work(); }

TEST_F(SimBackend, HostCodeOfAnotherThreadIsNoKernels) {
  turn = 0;
  const auto word = std::make_unique<unsigned>(0);
  std::thread other([&] {
    while (turn != 1) std::this_thread::yield();
    *word += 1;
    turn = 2;
  });
  EXPECT_NO_THROW(run<pauses>(1, 1, 0));
  other.join();
  EXPECT_EQ(*word, 1u);
}

TEST_F(SimBackend, CopiesOfUnwrittenMemoryStayUnwritten) {
  const DeviceMemory a(*device, 32), b(*device, 32);
  device->fill(a.get(), 0, 16, {});
  device->copy_within(b.get(), a.get(), 32, {});
  launch<add_one>({1, 4, 0, {}}, static_cast<unsigned*>(b.get()));
  EXPECT_NO_THROW(device->synchronize({}));
  launch<add_one>({1, 5, 0, {}}, static_cast<unsigned*>(b.get()));
  try {
    device->synchronize({});
    FAIL() << "no fault";
  } catch (const Fault& f) {
    EXPECT_EQ(f.kind, FaultKind::unwritten);
    EXPECT_EQ(f.threads, std::vector<unsigned>{4});
  }
}

}  // namespace
}  // namespace reductio::sim_tests
