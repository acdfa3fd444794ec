/// The composed variants beside the documents' calls that make the same choices (Variant::embodies).

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/variant.h"
#include "device/backend.h"
#include "experiments/launches.h"

namespace reductio {
namespace {

std::vector<const Variant*> with_a_documents_call() {
  std::vector<const Variant*> out;
  for (const Variant& v : variants())
    if (!v.embodies.empty()) out.push_back(&v);
  return out;
}

/// The call's result on the simulated device, in whose orders blocks may differ.
std::int32_t sum_by(const NamedCall& call, const std::vector<std::int32_t>& values, Backend& device) {
  const std::size_t bytes = values.size() * sizeof(std::int32_t);
  const auto plan =
      make_plan(*call.variant, {Operation::sum, ElementType::i32, values.size()}, call.settings, device.info());
  DeviceMemory in(device, bytes), out(device, sizeof(std::int32_t));
  const Stream stream = device.stream();
  device.copy_in(in.get(), values.data(), bytes, stream);
  plan->enqueue(in.get(), out.get(), stream);
  std::int32_t result = 0;
  if (plan->info().result == ResultLocation::host_part)
    plan->finish(&result, stream);
  else
    device.copy_out(&result, out.get(), sizeof result, stream);
  device.synchronize(stream);
  return result;
}

TEST(Ablation, IntegerResultsAreThoseOfTheDocumentsCallsThatMakeTheSameChoices) {
  const auto device = open_sim();
  const auto sms = static_cast<std::size_t>(device->info().sm_count);
  std::mt19937 random(1);
  ASSERT_GE(with_a_documents_call().size(), 10u);
  for (const std::size_t n : {1, 255, 1000, 20003}) {
    std::vector<std::int32_t> values(n);
    for (std::int32_t& x : values) x = static_cast<std::int32_t>(random());  // sums wrap
    for (const Variant* v : with_a_documents_call()) {
      const NamedCall call = named_call(v->embodies, n, sms);
      ASSERT_EQ(refusal(*call.variant, DeviceKind::sim, {Operation::sum, ElementType::i32, n}, call.settings), "")
          << v->embodies;
      const std::int32_t sum = sum_by({v, v->settings()}, values, *device);
      EXPECT_EQ(sum, sum_by(call, values, *device)) << v->id << " and " << v->embodies << " of " << n;
      std::vector<std::int32_t> others = values;
      others.back() ^= 1;
      EXPECT_NE(sum, sum_by(call, others, *device)) << v->embodies << " does not look at the last of " << n;
    }
  }
}

/// Otherwise they do not make the same choices, and `differs` has to say so.
TEST(Ablation, LaunchesAreThoseOfTheDocumentsCallsUnlessAVariantSaysWhatDiffers) {
  const auto device = open_sim();
  DeviceInfo gpu = device->info();  // as an H200 is
  gpu.sm_count = 132;
  gpu.threads_per_sm = 2048;
  std::size_t same = 0;
  for (const std::size_t n : {std::size_t{1} << 20, std::size_t{1} << 24})
    for (const Variant* v : with_a_documents_call()) {
      const NamedCall call = named_call(v->embodies, n, 132);
      const Problem problem{Operation::sum, ElementType::f32, n};
      const PlanInfo mine = make_plan(*v, problem, v->settings(), gpu)->info();
      const PlanInfo theirs = make_plan(*call.variant, problem, call.settings, gpu)->info();
      EXPECT_EQ(mine.result, theirs.result) << v->id;
      EXPECT_EQ(mine.block_threads, theirs.block_threads) << v->id;
      if (!v->differs.empty()) continue;
      EXPECT_EQ(mine.grid_blocks, theirs.grid_blocks) << v->id << " at " << n;
      EXPECT_EQ(mine.longest_chain, theirs.longest_chain) << v->id << " at " << n;
      ++same;
    }
  EXPECT_GT(same, 10u);
}

TEST(NamedCall, MayDependOnTheNumberOfElementsAndOfMultiprocessors) {
  const NamedCall call = named_call("multiblock/two-launch:block=256,grid=8*SMs", 1, 100);
  EXPECT_EQ(call.variant->id, "multiblock/two-launch");
  EXPECT_EQ(call.settings.text("grid"), "800");
  EXPECT_EQ(call.settings.text("block"), "256");
  EXPECT_EQ(named_call("twopass/rolled:grid=ceil(n/1024)", 2049, 1).settings.text("grid"), "3");
  EXPECT_EQ(named_call("twopass/rolled", 1, 1).settings, find_variant("twopass/rolled").settings());
  EXPECT_THROW(named_call("twopass/rolled:colour=1", 1, 1), UsageError);
  EXPECT_THROW(named_call("twopass/roled", 1, 1), UsageError);
}

}  // namespace
}  // namespace reductio
