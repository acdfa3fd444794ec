/// Every device's memory and streams keep the promises of device/backend.h; a GPU that cannot be used is told in one
/// line.

#include "device/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "device/cpu/caches.h"
#include "tests/error_of.h"

namespace reductio {
namespace {

class EveryBackend : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    try {
      backend = open_backend(GetParam());
    } catch (const NoGpu& e) {
      ASSERT_EQ(GetParam(), DeviceKind::cuda) << e.what();
      GTEST_SKIP() << e.what();
    }
    stream = backend->create_stream();
  }
  void TearDown() override {
    if (backend) backend->destroy_stream(stream);
  }
  std::vector<unsigned char> read(const void* p, std::size_t bytes) {
    std::vector<unsigned char> out(bytes);
    backend->copy_out(out.data(), p, bytes, stream);
    return out;
  }

  std::unique_ptr<Backend> backend;
  Stream stream;
};

TEST_P(EveryBackend, DescribesItself) {
  const DeviceInfo& info = backend->info();
  EXPECT_EQ(info.kind, GetParam());
  EXPECT_FALSE(info.name.empty());
  EXPECT_EQ(info.name.find('\n'), std::string::npos);
  EXPECT_GT(info.memory_bytes, 0u);
  EXPECT_GT(backend->memory_free(), 0u);
  EXPECT_LE(backend->memory_free(), info.memory_bytes);
  if (GetParam() != DeviceKind::cpu) {
    EXPECT_GT(info.sm_count, 0);
    EXPECT_GE(info.threads_per_sm, 1024);
    EXPECT_GE(info.shared_bytes_per_block, std::size_t{48} << 10);
    EXPECT_GT(info.max_grid, 0u);
    EXPECT_GT(info.l2_bytes, 0u);
    if (info.capability < 90) {
      EXPECT_EQ(info.cluster_blocks, 0);
    }
    // A whole one; an instance of a divided GPU may have fewer.
    if ((info.name == "NVIDIA H200" || info.name == "NVIDIA H100 80GB HBM3") && info.sm_count == 132) {
      EXPECT_EQ(info.cluster_blocks, 16);
    }
  }
}

TEST_P(EveryBackend, MemoryIsPoisonedAndAlignedAndSeparate) {
  for (const std::size_t bytes : {1, 3, 255, 256, 257, 100003}) {
    const DeviceMemory a(*backend, bytes), b(*backend, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.get()) % 256, 0u);
    EXPECT_EQ(read(a.get(), bytes), std::vector<unsigned char>(bytes, 0xFF)) << bytes;
    backend->fill(a.get(), 7, bytes, stream);
    EXPECT_EQ(read(a.get(), bytes), std::vector<unsigned char>(bytes, 7)) << bytes;
    EXPECT_EQ(read(b.get(), bytes), std::vector<unsigned char>(bytes, 0xFF)) << bytes;
  }
}

TEST_P(EveryBackend, MemoryIsPoisonedAgainWhenItIsReused) {
  for (int round = 0; round < 3; ++round) {
    const DeviceMemory m(*backend, 4096);
    EXPECT_EQ(read(m.get(), 4096), std::vector<unsigned char>(4096, 0xFF)) << round;
    backend->fill(m.get(), 0, 4096, stream);
    backend->synchronize(stream);
  }
}

TEST_P(EveryBackend, CopiesArriveInOrder) {
  std::vector<unsigned char> host(1000);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i * 7);
  const DeviceMemory a(*backend, 1000), b(*backend, 1000);
  backend->copy_in(a.get(), host.data(), 1000, stream);
  backend->copy_within(b.get(), a.get(), 1000, stream);
  backend->fill(a.get(), 0, 1000, stream);
  EXPECT_EQ(read(b.get(), 1000), host);
  EXPECT_EQ(read(a.get(), 1000), std::vector<unsigned char>(1000, 0));
  backend->copy_within(a.bytes_at(10), b.bytes_at(500), 3, stream);
  EXPECT_EQ(read(a.bytes_at(9), 5), (std::vector<unsigned char>{0, host[500], host[501], host[502], 0}));
}

TEST_P(EveryBackend, FindsTheOneWordThatBreaksARepetition) {
  constexpr std::size_t period = 4 * 1021, bytes = 100 * period + 40;
  std::vector<unsigned char> host(bytes);
  for (std::size_t i = 0; i < bytes; ++i) host[i] = static_cast<unsigned char>(i % period * 7);
  const DeviceMemory m(*backend, 4 + bytes);  // from an address that is a multiple of 4 only
  backend->copy_in(m.bytes_at(4), host.data(), bytes, stream);
  EXPECT_TRUE(backend->repeats(m.bytes_at(4), period, bytes, stream));
  for (const std::size_t at : {std::size_t{0}, period, bytes / 2, bytes - 1}) {
    backend->fill(m.bytes_at(4 + at), static_cast<unsigned char>(~host[at]), 1, stream);
    EXPECT_FALSE(backend->repeats(m.bytes_at(4), period, bytes, stream)) << at;
    backend->fill(m.bytes_at(4 + at), host[at], 1, stream);
  }
  EXPECT_TRUE(backend->repeats(m.bytes_at(4), period, bytes, stream));
  EXPECT_TRUE(backend->repeats(m.bytes_at(4), bytes, bytes, stream)) << "a single period";
}

/// Elements of one and two bytes begin and end anywhere.
TEST_P(EveryBackend, FindsWhatDiffersFromAnyByteOn) {
  const DeviceMemory m(*backend, 4096);
  for (const std::size_t start : {1, 2, 3})
    for (const std::size_t bytes : {1001, 1002, 1003}) {
      backend->fill(m.get(), 7, m.size(), stream);
      EXPECT_TRUE(backend->repeats(m.bytes_at(start), 64, bytes, stream)) << start << " " << bytes;
      for (const std::size_t at : {start, start + bytes - 1}) {
        backend->fill(m.bytes_at(at), 8, 1, stream);
        EXPECT_FALSE(backend->repeats(m.bytes_at(start), 64, bytes, stream)) << start << " " << bytes << " " << at;
        backend->fill(m.bytes_at(at), 7, 1, stream);
      }
      backend->fill(m.bytes_at(start + bytes), 8, 1, stream);
      EXPECT_TRUE(backend->repeats(m.bytes_at(start), 64, bytes, stream)) << "past the end";
    }
}

TEST_P(EveryBackend, WatchesWhatIsEnqueued) {
  const DeviceMemory m(*backend, 4096);
  unsigned char byte = 7;
  const auto fill = [&] { backend->fill(m.get(), byte, m.size(), stream); };
  FirstLaunch first;
  const auto again = backend->watch_enqueue(fill, stream, &first);
  EXPECT_EQ(first.grid_blocks, 0u) << "nothing is launched";
  EXPECT_EQ(read(m.get(), m.size()), std::vector<unsigned char>(m.size(), 7)) << "it is done all the same";
  EXPECT_EQ(bool(again), GetParam() != DeviceKind::cpu);
  if (GetParam() == DeviceKind::cpu) return;
  backend->fill(m.get(), 8, m.size(), stream);
  byte = 9;
  again();
  EXPECT_EQ(read(m.get(), m.size()), std::vector<unsigned char>(m.size(), 7)) << "the host is not asked again";
  const auto waits = [&] { backend->synchronize(stream); };
  const auto allocates = [&] { DeviceMemory(*backend, 4096); };
  EXPECT_NE(error_of<DeviceError>([&] { backend->watch_enqueue(waits, stream, nullptr); }).find("enqueue()"),
            std::string::npos);
  EXPECT_NE(error_of<DeviceError>([&] { backend->watch_enqueue(allocates, stream, nullptr); }).find("enqueue()"),
            std::string::npos);
  backend->fill(m.get(), 8, m.size(), stream);
  EXPECT_EQ(read(m.get(), m.size()), std::vector<unsigned char>(m.size(), 8)) << "it works as before";
}

TEST_P(EveryBackend, ScatteredMemoryIsWholeAndLiesElsewhereEachTime) {
  EXPECT_EQ(backend->scatter(), GetParam() == DeviceKind::cuda);
  std::set<std::uintptr_t> places;
  for (int i = 0; i < 32; ++i) {
    const DeviceMemory memory(*backend, 1000);
    places.insert(reinterpret_cast<std::uintptr_t>(memory.get()));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 256, 0u);
    EXPECT_EQ(read(memory.get(), 1000), std::vector<unsigned char>(1000, 0xFF));
  }
  if (GetParam() == DeviceKind::cuda) {
    EXPECT_GT(places.size(), 20u) << "of 128";
  }
}

TEST_P(EveryBackend, NothingIsAFineSize) {
  const DeviceMemory nothing(*backend, 0);
  backend->copy_in(nothing.get(), nullptr, 0, stream);
  backend->copy_within(nothing.get(), nothing.get(), 0, stream);
  backend->fill(nothing.get(), 0, 0, stream);
  backend->copy_out(nullptr, nothing.get(), 0, stream);
  backend->synchronize(stream);
}

TEST_P(EveryBackend, RefusesMoreMemoryThanThereIs) {
  const std::string why = error_of<Refused>([&] { backend->allocate(std::size_t{1} << 50); });
  // The simulated device, which counts bytes, tells them.
  EXPECT_NE(why.find(GetParam() == DeviceKind::sim ? "1125899906842624" : "needs 1048576.0 GiB"), std::string::npos)
      << why;
  EXPECT_NE(why.find("free"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos) << why;
  EXPECT_EQ(error_of<Unavailable>([&] { memory_for("a purpose", *backend, std::size_t{1} << 50); }).find("a purpose: "),
            0u);
  const DeviceMemory still_works(*backend, 100);
  EXPECT_EQ(read(still_works.get(), 100), std::vector<unsigned char>(100, 0xFF));
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryBackend, testing::ValuesIn(all_devices().begin(), all_devices().end()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(CudaBackend, TellsInOneLineWhyThereIsNoGpu) {
  try {
    open_backend(DeviceKind::cuda);
  } catch (const NoGpu& e) {
    const std::string why = e.what();
    EXPECT_GT(why.size(), 20u);
    EXPECT_EQ(why.find('\n'), std::string::npos) << why;
    const bool names_a_cause = why.find("driver") != std::string::npos || why.find("GPU") != std::string::npos ||
                               why.find("without CUDA") != std::string::npos;
    EXPECT_TRUE(names_a_cause) << why;
    return;
  }
  GTEST_SKIP() << "a GPU is there";
}

TEST(CudaBackend, AMalformedSelectorIsAUsageErrorWithAndWithoutAGpu) {
  for (const char* bad : {"x", "-1", "0x0", "1.0", " 0", "GPU", "GPU-xyz", "UUID-12"}) {
    const std::string why = error_of<UsageError>([&] { open_backend(DeviceKind::cuda, bad); });
    EXPECT_NE(why.find(bad), std::string::npos) << why;
  }
}

TEST(CudaBackend, SelectorsNameAGpuByIndexOrUuid) {
  const std::array<std::string, 3> gpus{"GPU-12ab34cd-0000", "GPU-12ab99cd-0000", "GPU-77ab34cd-0000"};
  const auto select = [&](const std::string& s) { return select_gpu(s, gpus); };
  EXPECT_EQ(select(""), 0u);
  EXPECT_EQ(select("0"), 0u);
  EXPECT_EQ(select("2"), 2u);
  EXPECT_EQ(select("GPU-12ab9"), 1u);
  EXPECT_EQ(select("gpu-77AB"), 2u);
  EXPECT_EQ(select(gpus[0]), 0u);
  EXPECT_NE(error_of<UsageError>([&] { select("3"); }).find("3 GPUs are visible"), std::string::npos);
  EXPECT_NE(error_of<UsageError>([&] { select("99999999999999999999999999"); }).find("no GPU"), std::string::npos);
  EXPECT_NE(error_of<UsageError>([&] { select("GPU-12ab"); }).find("several"), std::string::npos);
  EXPECT_NE(error_of<UsageError>([&] { select("GPU-5"); }).find("no GPU"), std::string::npos);
}

TEST(CudaBackend, AGpuThatTheProgramHasNoCodeForIsToldInOneLineWithTheWayOut) {
  const std::array<int, 2> built_for{90, 100};
  const auto told = [&](int capability) {
    const std::string why =
        error_of<NoGpu>([&] { require_code("GPU 0 (Tesla T4)", capability, built_for, false); });  // exit code 77
    EXPECT_EQ(why.find('\n'), std::string::npos) << why;
    return why;
  };
  EXPECT_EQ(told(75), "GPU 0 (Tesla T4) has compute capability 7.5, older than what this program was compiled for "
                      "(9.0, 10.0); rebuild with -DCMAKE_CUDA_ARCHITECTURES=75");
  // Between two architectures, and newer than all of a program that carries no PTX for the driver to translate.
  for (const int capability : {95, 120}) {
    const std::string why = told(capability);
    EXPECT_EQ(why.find("older"), std::string::npos) << why;
    EXPECT_NE(why.find("holds no code (9.0, 10.0)"), std::string::npos) << why;
    EXPECT_NE(why.find("=" + std::to_string(capability)), std::string::npos) << why;
  }
  // CUDA's word counts: it may translate PTX for a newer GPU.
  for (const int capability : {90, 120}) EXPECT_NO_THROW(require_code("GPU 0", capability, built_for, true));
}

TEST(CpuBackend, StreamsNeedNoDevice) {
  const auto cpu = open_backend(DeviceKind::cpu, "GPU-12");  // a GPU's selector means nothing to a CPU
  EXPECT_EQ(cpu->create_stream().handle, nullptr);
  EXPECT_EQ(cpu->info().sm_count, 0);
}

TEST(CpuCaches, LastLevelsOfTheCpusThatMayBeUsedCountOnce) {
  namespace fs = std::filesystem;
  const fs::path cpus = fs::path(testing::TempDir()) / "reductio-cpus";
  fs::remove_all(cpus);
  EXPECT_EQ(last_level_caches(cpus, [](int) { return true; }), 0u) << "nothing says";
  const auto add = [&](int cpu, int index, const char* level, const char* type, const char* size, const char* shared) {
    const fs::path cache = cpus / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
    fs::create_directories(cache);
    std::ofstream(cache / "level") << level << '\n';
    std::ofstream(cache / "type") << type << '\n';
    std::ofstream(cache / "size") << size << '\n';
    std::ofstream(cache / "shared_cpu_list") << shared << '\n';
  };
  for (int cpu = 0; cpu < 4; ++cpu) {
    add(cpu, 0, "1", "Data", "32K", std::to_string(cpu).c_str());
    add(cpu, 1, "1", "Instruction", "64K", std::to_string(cpu).c_str());
    add(cpu, 2, "2", "Unified", "1024K", std::to_string(cpu).c_str());
    if (cpu < 3) add(cpu, 3, "3", "Unified", cpu < 2 ? "32768K" : "16M", cpu < 2 ? "0-1" : "2");
  }
  add(6, 0, "1", "Unified", "8M", "6");  // there is no CPU 4 or 5
  constexpr std::size_t MiB = std::size_t{1} << 20;
  EXPECT_EQ(last_level_caches(cpus, [](int) { return true; }), (32 + 16 + 1 + 8) * MiB) << "one has no third level";
  EXPECT_EQ(last_level_caches(cpus, [](int cpu) { return cpu < 2; }), 32 * MiB);
  EXPECT_EQ(last_level_caches(cpus, [](int cpu) { return cpu == 2; }), 16 * MiB);
  fs::remove_all(cpus);
}

}  // namespace
}  // namespace reductio
