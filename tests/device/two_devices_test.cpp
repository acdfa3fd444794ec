// A kernel file is compiled twice and both objects are in this program. Had the linker merged what they have in common,
// one device would run the other's code: the simulated device would ask CUDA for memory, or the other way round. This
// file sees neither side's header, only the registry, as all users of kernels do.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/variant.h"
#include "device/backend.h"

namespace reductio {
namespace {

constexpr std::size_t n = 100003;

std::uint32_t sum_on(Backend& device, const Variant& v) {
  std::vector<std::uint32_t> values(n);
  std::iota(values.begin(), values.end(), 7u);
  const DeviceMemory in(device, n * 4), out(device, 4);
  device.copy_in(in.get(), values.data(), n * 4, {});
  const auto plan = make_plan(v, {Operation::sum, ElementType::i32, n}, v.settings(), device.info());
  plan->enqueue(in.get(), out.get(), {});
  std::uint32_t result = 0;
  if (v.result == ResultLocation::on_device)
    device.copy_out(&result, out.get(), 4, {});
  else
    plan->finish(&result, {});
  device.synchronize({});
  return result;
}

std::uint32_t expected() {
  std::vector<std::uint32_t> values(n);
  std::iota(values.begin(), values.end(), 7u);
  return std::accumulate(values.begin(), values.end(), 0u);
}

/// Those that add up integers, so as exactly as the test does.
std::vector<const Variant*> on_both() {
  std::vector<const Variant*> both;
  for (const Variant& v : variants())
    if (v.runs_on(DeviceKind::sim) && v.runs_on(DeviceKind::cuda) && !v.fault_of(v.settings()) &&
        !has_shape(v.operations.front()) &&
        std::find(v.types.begin(), v.types.end(), ElementType::i32) != v.types.end())
      both.push_back(&v);
  return both;
}

TEST(TwoDevices, TheSimulatedOneTakesItsOwnMemory) {
  const auto sim = open_sim();
  const Variant& v = find_variant("twopass/rolled");
  const std::size_t before = sim->memory_free();
  {
    const auto plan = make_plan(v, {Operation::sum, ElementType::i32, n}, v.settings(), sim->info());
    EXPECT_GT(plan->info().workspace_bytes, 0u);
    EXPECT_EQ(before - sim->memory_free(), plan->info().workspace_bytes);
  }
  EXPECT_EQ(sim->memory_free(), before);
  EXPECT_EQ(sum_on(*sim, v), expected());
}

TEST(TwoDevices, AWorkspaceThatDoesNotFitIsRefusedAndSpoilsNothingAfterIt) {
  const Variant& v = find_variant("squares/multi-block");
  const Settings huge = v.settings({{"grid", "2147483647"}, {"block", "1024"}});  // a value of each thread: 8 TiB
  std::vector<std::unique_ptr<Backend>> devices;
  devices.push_back(open_sim());
  try {
    devices.push_back(open_backend(DeviceKind::cuda));
  } catch (const NoGpu&) {
  }
  for (const auto& device : devices) {
    SCOPED_TRACE(device->info().name);
    EXPECT_THROW(make_plan(v, {Operation::sum, ElementType::i32, n}, huge, device->info()), Refused);
    EXPECT_EQ(sum_on(*device, v), expected());  // a refusal must not be told again as the next launch's failure
  }
}

TEST(TwoDevices, EachPreparesAndRunsItsOwnCode) {
  const auto both = on_both();
  if (both.empty()) GTEST_SKIP() << "built without CUDA";
  const auto sim = open_sim();
  std::unique_ptr<Backend> cuda;
  try {
    cuda = open_backend(DeviceKind::cuda);
  } catch (const NoGpu&) {
  }
  for (const Variant* v : both) {
    SCOPED_TRACE(v->id);
    EXPECT_EQ(sum_on(*sim, *v), expected());
    const std::size_t before = sim->memory_free();
    if (cuda) {
      EXPECT_EQ(sum_on(*cuda, *v), expected());
      continue;
    }
    // Without a GPU, CUDA's side must get as far as asking CUDA, and fail there in CUDA's words.
    try {
      const auto plan = v->prepare[static_cast<int>(DeviceKind::cuda)]({Operation::sum, ElementType::i32, n},
                                                                       v->settings(), sim->info());
      EXPECT_EQ(sim->memory_free(), before) << "CUDA's plan holds memory of the simulated device";
      EXPECT_EQ(plan->info().workspace_bytes, 0u) << "memory was had without a GPU";
      plan->enqueue(nullptr, nullptr, {});
      ADD_FAILURE() << "a kernel was launched without a GPU";
    } catch (const DeviceError& e) {
      EXPECT_NE(std::string(e.what()).find("(cudaError"), std::string::npos) << e.what();
    }
    EXPECT_EQ(sim->memory_free(), before);
  }
}

}  // namespace
}  // namespace reductio
