// The simulated device as the harness uses it: memory, streams, and the order in which work is done.

#include <cstdint>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

__global__ void write_index(GlobalPtr<unsigned> out) { out[threadIdx.x] = threadIdx.x; }
__global__ void add_one(GlobalPtr<unsigned> p) { p[threadIdx.x] += 1; }
__global__ void beyond(GlobalPtr<unsigned> p) { p[1000] = 1; }

class SimBackend : public testing::Test {
 protected:
  std::vector<unsigned> read(const void* p, std::size_t n, Stream s = {}) {
    std::vector<unsigned> v(n);
    device->copy_out(v.data(), p, n * sizeof(unsigned), s);
    return v;
  }
  std::unique_ptr<Backend> device = open_sim();
};

TEST_F(SimBackend, TellsWhatItIs) {
  const DeviceInfo& i = device->info();
  EXPECT_EQ(i.kind, DeviceKind::sim);
  EXPECT_EQ(i.name, "simulated GPU");
  EXPECT_EQ(i.sm_count, 4);
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
  try {
    DeviceMemory(*device, device->memory_free() + 1);
    FAIL() << "not refused";
  } catch (const Refused& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(device->memory_free()) + " bytes of memory free"), std::string::npos)
        << e.what();
  }
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

TEST_F(SimBackend, ViewsLieInOneAllocation) {
  const DeviceMemory a(*device, 64);
  EXPECT_NO_THROW(global<float>(a.get(), 16));
  EXPECT_NO_THROW(global<float>(a.bytes_at(64), 0));
  EXPECT_THROW(global<float>(a.get(), 17), Fault);
  EXPECT_THROW(global<float>(a.bytes_at(64), 1), Fault);
  try {
    global<double>(a.bytes_at(4), 1);
    FAIL() << "no fault";
  } catch (const Fault& f) {
    EXPECT_EQ(f.kind, FaultKind::misaligned) << f.what();
  }
}

TEST_F(SimBackend, PointersKnowTheirCount) {
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
  try {
    const unsigned x = b.ptr()[0];
    FAIL() << x;
  } catch (const Fault& f) {
    EXPECT_EQ(f.kind, FaultKind::host_access) << f.what();
  }
  EXPECT_THROW(b.ptr()[0] = 1, Fault);
  EXPECT_THROW(__syncthreads(), Fault);
}

// ---------------------------------------------------------------------------------------------------- streams

TEST_F(SimBackend, NothingRunsUntilSomebodyWaits) {
  const Buffer<unsigned> out(32);
  launch<write_index>({1, 32, 0, {}}, out.ptr());
  const Stream other = device->create_stream();
  EXPECT_EQ(read(reinterpret_cast<void*>(out.ptr().address()), 32, other), std::vector<unsigned>(32, 0xffffffffu));
  device->synchronize({});
  EXPECT_EQ(on_host(out)[31], 31u);
  device->destroy_stream(other);
}

TEST_F(SimBackend, WorkOnTheWrongStreamIsMissing) {
  // A plan that ignores the stream it is given: whoever waits for the right one finds the output poisoned.
  const Stream given = device->create_stream();
  const Buffer<unsigned> out(32);
  const auto plan = plan_of({}, [=](void*, void*, Stream) { launch<write_index>({1, 32, 0, Stream{}}, out.ptr()); });
  plan->enqueue(nullptr, nullptr, given);
  device->synchronize(given);
  std::vector<unsigned> v(32);
  copy_to_host<unsigned>(v.data(), out.ptr(), 32, given);
  EXPECT_EQ(v, std::vector<unsigned>(32, 0xffffffffu));
  device->synchronize({});
  device->destroy_stream(given);
}

TEST_F(SimBackend, StreamsKeepTheirOrder) {
  const Stream a = device->create_stream(), b = device->create_stream();
  const Buffer<unsigned> p(32);
  launch<write_index>({1, 32, 0, a}, p.ptr());
  for (int i = 0; i < 5; ++i) launch<add_one>({1, 32, 0, a}, p.ptr());
  const Buffer<unsigned> q(32);
  launch<add_one>({1, 32, 0, b}, q.ptr());  // reads what nobody wrote
  device->synchronize(a);
  EXPECT_EQ(on_host(p)[3], 8u);
  EXPECT_THROW(device->synchronize(b), Fault);
  device->destroy_stream(a);
  device->destroy_stream(b);
}

TEST_F(SimBackend, NothingIsDoneBehindAFailure) {
  const Buffer<unsigned> p(32);
  launch<beyond>({1, 1, 0, {}}, p.ptr());
  launch<write_index>({1, 32, 0, {}}, p.ptr());
  EXPECT_THROW(device->synchronize({}), Fault);
  EXPECT_NO_THROW(device->synchronize({}));
  EXPECT_EQ(on_host(p)[3], 0xffffffffu);
}

TEST_F(SimBackend, DestroyingAStreamFinishesItsWork) {
  const Stream s = device->create_stream();
  const Buffer<unsigned> p(32);
  launch<write_index>({1, 32, 0, s}, p.ptr());
  device->destroy_stream(s);
  EXPECT_EQ(on_host(p)[3], 3u);
  EXPECT_THROW((launch<write_index>({1, 32, 0, s}, p.ptr())), DeviceError) << "the stream is gone";
}

TEST_F(SimBackend, AFaultInADestroyedStreamIsToldByTheNextWait) {
  const Stream s = device->create_stream();
  const Buffer<unsigned> p(32);
  launch<beyond>({1, 1, 0, s}, p.ptr());
  device->destroy_stream(s);
  EXPECT_THROW(device->synchronize({}), Fault);
  EXPECT_NO_THROW(device->synchronize({}));
}

TEST_F(SimBackend, ForgottenWorkIsReported) {
  const Buffer<unsigned> p(32);
  testing::internal::CaptureStderr();
  {
    const auto another = open_sim();
    launch<write_index>({1, 32, 0, {}}, p.ptr());
    launch<write_index>({1, 32, 0, {}}, p.ptr());
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("2 operations on the default stream that nobody waited for"),
            std::string::npos);
  testing::internal::CaptureStderr();
  {
    const auto another = open_sim();
    const Stream s = another->create_stream();
    launch<beyond>({1, 1, 0, s}, p.ptr());
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("a failure that nobody waited for"), std::string::npos) << told;
  EXPECT_NE(told.find("kernel beyond"), std::string::npos) << told;
}

TEST_F(SimBackend, CopiesOfUnwrittenMemoryStayUnwritten) {
  const DeviceMemory a(*device, 32), b(*device, 32);
  device->fill(a.get(), 0, 16, {});
  device->copy_within(b.get(), a.get(), 32, {});
  launch<add_one>({1, 4, 0, {}}, global<unsigned>(b.get(), 8));
  EXPECT_NO_THROW(device->synchronize({}));
  launch<add_one>({1, 5, 0, {}}, global<unsigned>(b.get(), 8));
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
