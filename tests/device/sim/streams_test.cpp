// Streams: nothing runs until somebody waits, the order is kept, and no failure is lost.

#include <functional>
#include <optional>
#include <thread>

#include "device/sim/launch_log.h"
#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

__global__ void write_index(unsigned* out) { out[threadIdx.x] = threadIdx.x; }
__global__ void beyond(unsigned* p) { p[1000] = 1; }

class SimStreams : public WithDevice {};

TEST_F(SimStreams, NothingRunsUntilSomebodyWaits) {
  const Buffer<unsigned> out(32);
  launch<write_index>({1, 32, 0, {}}, out.ptr());
  const Stream other = device->create_stream();
  EXPECT_EQ(read(out.ptr(), 32, other), std::vector<unsigned>(32, 0xffffffffu));
  device->synchronize({});
  EXPECT_EQ(on_host(out)[31], 31u);
  device->destroy_stream(other);
}

TEST_F(SimStreams, AWatchedEnqueueTellsItsFirstLaunch) {
  const Buffer<unsigned> out(64);
  FirstLaunch first;
  device->watch_enqueue(
      [&] {
        zero(out.ptr(), 64, {});
        launch<write_index>({2, 32, 0, {}}, out.ptr());
        launch<write_index>({1, 64, 0, {}}, out.ptr());
      },
      {}, &first);
  EXPECT_EQ(first.grid_blocks, 2u);
  EXPECT_EQ(first.block_threads, 32u);
  sim::abandon_default_stream();
}

TEST_F(SimStreams, AWatchedEnqueueMayNotWaitAllocateOrFree) {
  std::vector<unsigned> host(1);
  std::optional<Buffer<unsigned>> kept(1);
  const auto told = [&](const std::function<void()>& enqueue) {
    try {
      device->watch_enqueue(enqueue, {}, nullptr);
    } catch (const Fault& f) {
      EXPECT_EQ(f.kind, FaultKind::contract);
      return std::string(f.what());
    }
    return std::string("nothing");
  };
  EXPECT_NE(told([&] { device->synchronize({}); }).find("enqueue() waits for the device: only finish() may"),
            std::string::npos);
  EXPECT_NE(told([&] { copy_to_host<unsigned>(host.data(), kept->ptr(), 1, {}); }).find("enqueue() copies to the host"),
            std::string::npos);
  EXPECT_NE(
      told([] { Buffer<unsigned>(1); }).find("enqueue() allocates device memory: allocate when the plan is prepared"),
      std::string::npos);
  EXPECT_NE(told([] { HostBuffer<unsigned>(1, true); }).find("enqueue() allocates page-locked memory"),
            std::string::npos);
  EXPECT_NE(told([&] { kept.reset(); }).find("enqueue() frees device memory"), std::string::npos);
  // By another thread as well, for which enqueue() waits.
  EXPECT_NE(told([&] {
              std::thread([&] {
                try {
                  device->synchronize({});
                } catch (const std::exception&) {
                }
              }).join();
            }).find("enqueue() waits"),
            std::string::npos);
  // Also where it swallows what it is told, and not beyond it.
  EXPECT_NE(told([&] {
              try {
                device->synchronize({});
              } catch (const std::exception&) {
              }
            }).find("enqueue() waits"),
            std::string::npos);
  EXPECT_NO_THROW(device->synchronize({}));
}

TEST_F(SimStreams, WorkOnTheWrongStreamIsMissing) {
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

TEST_F(SimStreams, StreamsKeepTheirOrder) {
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

TEST_F(SimStreams, NothingIsDoneBehindAFailure) {
  const Buffer<unsigned> p(32);
  launch<beyond>({1, 1, 0, {}}, p.ptr());
  launch<write_index>({1, 32, 0, {}}, p.ptr());
  EXPECT_THROW(device->synchronize({}), Fault);
  EXPECT_NO_THROW(device->synchronize({}));
  EXPECT_EQ(on_host(p)[3], 0xffffffffu);
}

TEST_F(SimStreams, DestroyingAStreamFinishesItsWork) {
  const Stream s = device->create_stream();
  const Buffer<unsigned> p(32);
  launch<write_index>({1, 32, 0, s}, p.ptr());
  device->destroy_stream(s);
  EXPECT_EQ(on_host(p)[3], 3u);
  EXPECT_THROW((launch<write_index>({1, 32, 0, s}, p.ptr())), DeviceError) << "the stream is gone";
}

TEST_F(SimStreams, AFaultInADestroyedStreamIsToldByTheNextWait) {
  const Stream s = device->create_stream();
  const Buffer<unsigned> p(32);
  launch<beyond>({1, 1, 0, s}, p.ptr());
  device->destroy_stream(s);
  EXPECT_THROW(device->synchronize({}), Fault);
  EXPECT_NO_THROW(device->synchronize({}));
}

__global__ void store_one(unsigned* p) { p[0] = 1; }
__global__ void load_one(const unsigned* p, unsigned* out) { out[0] = p[0]; }
__global__ void add_atomically(unsigned* p) { atomicAdd(&p[0], 1u); }
__global__ void writes_behind_a_grid_barrier(unsigned* p) {
  grid_sync();
  if (blockIdx.x == 0) p[0] = 1;
}

/// Two streams, and words that both use.
class TwoSimStreams : public SimStreams {
 protected:
  enum Does { writes, reads, counts };
  void enqueue(Stream s, Does does) {
    Buffer<unsigned>& out = s.handle == a.handle ? of_a : of_b;
    if (does == writes) launch<store_one>({1, 1, 0, s}, both.ptr());
    if (does == reads) launch<load_one>({1, 1, 0, s}, static_cast<const unsigned*>(both.ptr()), out.ptr());
    if (does == counts) launch<add_atomically>({1, 1, 0, s}, both.ptr());
  }
  /// What waiting says, for `b` first.
  std::string told() {
    std::string all;
    for (const Stream s : {b, a}) try {
        device->synchronize(s);
      } catch (const Fault& f) {
        EXPECT_EQ(f.kind, FaultKind::race) << f.what();
        all += f.what();
      }
    return all;
  }
  void TearDown() override {
    device->destroy_stream(a);
    device->destroy_stream(b);
  }
  Stream a = device->create_stream(), b = device->create_stream();
  Buffer<unsigned> both = zeros<unsigned>(4), of_a = zeros<unsigned>(1), of_b = zeros<unsigned>(1);
};

TEST_F(TwoSimStreams, RaceInWhatOneOfThemWrites) {
  for (const Does first : {writes, reads, counts})
    for (const Does second : {writes, reads, counts}) {
      enqueue(a, second);  // runs second: `b` is awaited first
      enqueue(b, first);
      const std::string why = told();
      if (first == reads && second == reads) {
        EXPECT_EQ(why, "") << "both read";
        continue;
      }
      const char* const did[] = {"wrote", "read", "updated atomically"};
      EXPECT_NE(why.find("which thread 0 of a launch of another stream " + std::string(did[first]) + " (tests/"),
                std::string::npos)
          << first << second << why;
      EXPECT_NE(why.find("streams_test.cpp:"), std::string::npos) << why;
      EXPECT_NE(why.find("and nothing orders the two: the host had not waited for that launch when it enqueued this"),
                std::string::npos)
          << why;
      EXPECT_EQ(why.find('\n'), std::string::npos);
    }
}

TEST_F(TwoSimStreams, AreOrderedByAWaitOfTheHost) {
  for (const Stream first : {a, b})
    for (const Does one : {writes, reads, counts})
      for (const Does two : {writes, reads, counts}) {
        enqueue(first, one);
        device->synchronize(first);
        enqueue(first.handle == a.handle ? b : a, two);
        EXPECT_EQ(told(), "") << one << two;
      }
}

TEST_F(TwoSimStreams, AreNotOrderedByAWaitThatCameTooLate) {
  enqueue(a, writes);
  enqueue(b, writes);
  device->synchronize(b);
  enqueue(a, reads);  // comes after what `b` did, but the write before it in `a` does not
  EXPECT_NE(told().find("store_one"), std::string::npos);
  enqueue(a, counts);
  enqueue(b, writes);
  EXPECT_NE(told().find("of a launch of another stream wrote"), std::string::npos);
  EXPECT_EQ(told(), "") << "what was dropped is over";
}

TEST_F(TwoSimStreams, EachComesAfterItsOwnLaunches) {
  for (int i = 0; i < 3; ++i) {
    launch<store_one>({1, 1, 0, a}, of_a.ptr());
    launch<add_one>({1, 1, 0, a}, of_a.ptr());
    launch<add_one>({1, 1, 0, b}, of_b.ptr());
    launch<store_one>({1, 1, 0, b}, of_b.ptr());
    if (i == 1) device->synchronize(a);
    if (i == 2) device->synchronize(b);
  }
  EXPECT_EQ(told(), "");
}

TEST_F(TwoSimStreams, RaceBehindAGridBarrierToo) {
  for (int i = 0; i < 2; ++i) launch_cooperative<writes_behind_a_grid_barrier>({4, 32, 0, i == 0 ? a : b}, both.ptr());
  EXPECT_NE(told().find("of a launch of another stream wrote"), std::string::npos);
}

TEST_F(TwoSimStreams, RaceInWhatIsLaunchedAgain) {
  const auto again = device->watch_enqueue([&] { enqueue(a, writes); }, a, nullptr);
  again();
  EXPECT_EQ(told(), "");
  again();
  enqueue(b, writes);
  EXPECT_NE(told().find("of a launch of another stream wrote"), std::string::npos);
}

__global__ void waits_and_stores(unsigned* p) {
  wait_for_previous_kernel();
  p[threadIdx.x] = 1;
}
__global__ void waits_and_copies(const unsigned* from, unsigned* to, bool read_only) {
  wait_for_previous_kernel();
  to[threadIdx.x] = read_only ? __ldg(from + threadIdx.x) : from[threadIdx.x];
}
Launch overlapping(Stream s, unsigned threads = 1) {
  Launch l{1, threads, 0, s};
  l.overlaps = true;
  return l;
}

/// Only who waits for the kernel before hands on that this has ended.
TEST_F(TwoSimStreams, AreNotKeptByAKernelThatReturnsWithoutWaiting) {
  const auto three = [&](auto middle) {
    launch<waits_and_stores>(overlapping(a), of_a.ptr());
    middle();
    launch<waits_and_copies>(overlapping(a), of_a.ptr(), of_b.ptr(), false);
    return told();
  };
  const std::string why = three([&] { launch<nothing>(overlapping(a)); });
  EXPECT_NE(why.find("which thread 0 of an earlier launch wrote"), std::string::npos) << why;
  EXPECT_NE(
      why.find("a kernel between them has ended without wait_for_previous_kernel(), so that launch may still run"),
      std::string::npos)
      << why;
  EXPECT_EQ(three([&] { launch<waits_and_stores>(overlapping(a), both.ptr()); }), "");
  EXPECT_EQ(three([&] { launch<nothing>({1, 32, 0, a}); }), "") << "it begins when all before it has ended";
  EXPECT_EQ(three([&] {
              launch<nothing>(overlapping(a));
              zero(both.ptr(), 1, a);
            }),
            "")
      << "so does other work";
}

TEST_F(TwoSimStreams, TheReadOnlyCacheMayHoldWhatWasThereBeforeAnOverlappedKernel) {
  for (const bool read_only : {false, true})
    for (const bool overlaps : {false, true}) {
      launch<waits_and_stores>({1, 1, 0, a}, of_a.ptr());
      Launch second = overlapping(a);
      second.overlaps = overlaps;
      launch<waits_and_copies>(second, of_a.ptr(), of_b.ptr(), read_only);
      const std::string why = told();
      EXPECT_EQ(why.find("than the kernel before it wrote there, which may still run when this launch begins") !=
                    std::string::npos,
                read_only && overlaps)
          << why;
      EXPECT_EQ(why.empty(), !(read_only && overlaps)) << why;
    }
}

/// One thread waits for the kernel before; whoever comes after it may rely on that.
enum class Meets { not_at_all, block, warp };
__global__ void one_thread_waits(unsigned* p, Meets how) {
  if (threadIdx.x % 32 == 0 && (how != Meets::block || threadIdx.x == 0)) wait_for_previous_kernel();
  if (how == Meets::block) __syncthreads();
  if (how == Meets::warp) __syncwarp();
  p[threadIdx.x] += 1;
}
TEST_F(TwoSimStreams, AWaitForTheKernelBeforeCountsBehindABarrier) {
  const auto words = zeros<unsigned>(64);
  for (const Order order : all_orders) {
    sim::set_schedule(order);
    for (const Meets how : {Meets::not_at_all, Meets::block, Meets::warp}) {
      launch<waits_and_stores>(overlapping(a, 64), words.ptr());
      launch<one_thread_waits>(overlapping(a, 64), words.ptr(), how);
      EXPECT_EQ(told().empty(), how != Meets::not_at_all);
    }
  }
  sim::set_schedule(Order::forward);
}

TEST(LaunchLog, TellsSerialsOfOtherStreamsSinceALaunchWasEnqueued) {
  sim::LaunchLog log;
  const int a = 0, b = 0;
  EXPECT_EQ(log.begin(1, {&a, 1}), 1u);
  EXPECT_EQ(log.begin(5, {&b, 5}), 5u) << "enqueued after what ran from 1 to 4";
  EXPECT_EQ(log.begin(9, {&a, 1}), 5u) << "5 to 8 ran meanwhile";
  EXPECT_TRUE(log.by_another_stream(5));
  EXPECT_TRUE(log.by_another_stream(8));
  EXPECT_FALSE(log.by_another_stream(4));
  EXPECT_FALSE(log.by_another_stream(9));
  EXPECT_EQ(log.begin(12, {&b, 7}), 9u);
  EXPECT_EQ(log.begin(14, {&b, 11}), 11u) << "the last of the other stream's";
  // Numbers begin anew: what was enqueued before that knows of nothing.
  log.forget();
  EXPECT_EQ(log.begin(1, {&a, 0xffffff00u}), 1u);
  EXPECT_EQ(log.begin(3, {&b, 0xffffff00u}), 3u);
}

TEST_F(SimStreams, ForgottenWorkIsReported) {
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

}  // namespace
}  // namespace reductio::sim_tests
