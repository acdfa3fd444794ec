// Every registered variant against the battery, on every device that needs no GPU. One test per variant and device, so
// that shards and `ctest -j` balance.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "device/backend.h"
#include "verify/verify.h"

namespace reductio {
namespace {

#ifdef REDUCTIO_SANITIZED
constexpr Tier tier = Tier::sanitizer;
#else
constexpr Tier tier = Tier::check;
#endif

struct Target {
  const Variant* variant;
  DeviceKind device;
  /// As GoogleTest prints it.
  friend void PrintTo(const Target& t, std::ostream* out) { *out << t.variant->id << " on " << name(t.device); }
};

std::vector<Target> targets() {
  std::vector<Target> out;
  for (const Variant& v : variants())
    for (const DeviceKind device : {DeviceKind::sim, DeviceKind::cpu})
      if (v.runs_on(device)) out.push_back({&v, device});
  return out;
}

/// "levels/global-stride" on the simulated device: "levels_global_stride_sim".
std::string test_name(const testing::TestParamInfo<Target>& info) {
  std::string text = info.param.variant->id + "_" + std::string(name(info.param.device));
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return text;
}

class EveryVariant : public testing::TestWithParam<Target> {};

TEST_P(EveryVariant, passes) {
#ifdef REDUCTIO_SANITIZED
  // Of a short column, too, 512 threads load a whole tile. SimLines has some columns here, a release build all.
  if (GetParam().variant->id == "exact/columns") GTEST_SKIP() << "exact/columns takes ten minutes with sanitizers";
#endif
  const auto backend = open_backend(GetParam().device);
  const VerifyReport report = verify({GetParam().variant}, *backend, tier, 1);
  for (const Failure& f : report.failures) ADD_FAILURE() << f.what.describe() << ": " << f.why;
  EXPECT_EQ(report.failed, 0u);
  EXPECT_EQ(report.not_run, 0u);
  EXPECT_TRUE(report.stopped.empty()) << report.stopped;
  std::string refusals;
  for (const std::string& why : report.refusals) refusals += why + "\n";
  // A CPU baseline may lack its library here; a kernel that declined everything would pass unseen.
  if (report.passed == 0 && report.refused > 0 && GetParam().device == DeviceKind::cpu) GTEST_SKIP() << refusals;
  EXPECT_GT(report.passed, 100u) << refusals;
}

/// What the descriptor promises must hold of the plans.
TEST_P(EveryVariant, keeps_its_word) {
  const Variant& v = *GetParam().variant;
  const auto backend = open_backend(GetParam().device);
  EXPECT_FALSE(v.title.empty());
  EXPECT_FALSE(v.cites.empty());
  ASSERT_FALSE(v.operations.empty());
  ASSERT_FALSE(v.types.empty());
  for (const Tunable& t : v.tunables) EXPECT_TRUE(t.allows(t.standard)) << t.name;
  Settings settings = v.settings();
  for (const Settings& s : all_settings(v.tunables))
    if (v.fault_of(settings)) settings = s;
  for (const std::size_t n : {0ul, 1ul, 1000ul, 1ul << 20}) {
    try {
      const auto plan = make_plan(v, {v.operations.front(), v.types.front(), n}, settings, backend->info());
      const PlanInfo info = plan->info();
      EXPECT_EQ(info.grid_blocks == 0, GetParam().device == DeviceKind::cpu) << "n=" << n;
      EXPECT_EQ(info.block_threads == 0, GetParam().device == DeviceKind::cpu) << "n=" << n;
      if (n > 1 && !has_shape(v.operations.front())) {
        // Some element meets at least as many additions as a balanced tree is deep, and none more than there are, but
        // for the zeros that partial results start from. An exact sum's do not round.
        EXPECT_TRUE(v.group() == "exact" || static_cast<double>(info.longest_chain) >= std::log2(n)) << "n=" << n;
        EXPECT_LE(info.longest_chain, n + 64) << "n=" << n;
      }
    } catch (const Refused& e) {
      ASSERT_EQ(GetParam().device, DeviceKind::cpu) << "a kernel declines its own defaults: " << e.what();
      GTEST_SKIP() << e.what();
    }
  }
}

/// make_plan() throws where a plan's result lies elsewhere than the descriptor says, by which experiments know the ways
/// of timing that there are.
TEST_P(EveryVariant, leaves_its_result_where_its_settings_say) {
  const Variant& v = *GetParam().variant;
  const auto backend = open_backend(GetParam().device);
  const Problem problem{v.operations.front(), v.types.front(), 1000};
  int plans = 0;
  for (const Settings& s : all_settings(v.tunables)) {
    if (!refusal(v, GetParam().device, problem, s).empty()) continue;
    try {
      EXPECT_EQ(make_plan(v, problem, s, backend->info())->info().result, v.result_of(s)) << s.str();
      ++plans;
    } catch (const Refused&) {  // a CPU baseline may lack its library here
      EXPECT_EQ(GetParam().device, DeviceKind::cpu) << s.str();
    }
  }
  if (plans == 0) GTEST_SKIP() << "refused with all settings";
}

std::string described(const Variant& v, DeviceKind device, Tier tier) {
  const auto backend = open_sim();
  DeviceInfo info = backend->info();
  info.kind = device;
  std::string all;
  for (const Case& c : battery(v, info, tier, 1)) all += c.describe() + "\n";
  return all;
}

TEST(RepeatedParts, AreThoseOfVariantsThatAreVerifiedInFull) {
  std::array<std::set<std::string>, 3> in_full, repeated;
  std::size_t sparse = 0;
  for (const Variant& v : variants()) {
    if (!v.id.starts_with("ablation/")) {
      EXPECT_FALSE(repeats_parts(v)) << v.id;
      continue;
    }
    std::istringstream parts(v.id.substr(v.id.find('/') + 1));
    std::string part;
    for (std::size_t level = 0; std::getline(parts, part, '+'); ++level)
      (repeats_parts(v) ? repeated : in_full).at(level).insert(part);
    sparse += repeats_parts(v);
  }
  EXPECT_GT(sparse, 10u);
  for (std::size_t level = 0; level < 3; ++level) {
    EXPECT_GT(in_full[level].size(), 3u);
    for (const std::string& one : repeated[level]) EXPECT_TRUE(in_full[level].contains(one)) << one;
  }
}

TEST(RepeatedParts, TakeTheQuickTierWhereTimeIsShortAndThereIsNoGpu) {
  const Variant& repeats = find_variant("ablation/vectors-4+shuffle+host");
  const Variant& does_not = find_variant("ablation/grid-stride+interleaved+atomic");
  ASSERT_TRUE(repeats_parts(repeats));
  ASSERT_FALSE(repeats_parts(does_not));
  for (const Tier t : {Tier::check, Tier::sanitizer}) {
    EXPECT_EQ(described(repeats, DeviceKind::sim, t), described(repeats, DeviceKind::sim, Tier::quick));
    EXPECT_NE(described(does_not, DeviceKind::sim, t), described(does_not, DeviceKind::sim, Tier::quick));
    EXPECT_NE(described(repeats, DeviceKind::cuda, t), described(repeats, DeviceKind::cuda, Tier::quick));
  }
  for (const DeviceKind device : {DeviceKind::sim, DeviceKind::cuda})
    for (const Tier t : {Tier::standard, Tier::gpu})
      EXPECT_NE(described(repeats, device, t), described(repeats, device, Tier::quick));
}

// How much is lost follows from the block alone: of 3 * 32 threads the tree keeps 2 * 32, of 7 * 32 it keeps 4 * 32.
TEST(KnownFault, ABlockThatIsNoPowerOfTwoKeepsTheNextSmallerPowerOfTwo) {
  const Variant& v = find_variant("twopass/multiple-of-32");
  std::size_t faults = 0;
  for (const Settings& s : all_settings(v.tunables)) {
    if (s.text("grid") != "auto" || s.text("index") != "document") continue;  // which change nothing here
    const KnownFault fault = v.fault_of(s);
    const unsigned block = s.count("block");
    ASSERT_EQ(bool{fault}, !std::has_single_bit(block)) << s.str();
    if (!fault) continue;
    ++faults;
    const PlanInfo launch{.grid_blocks = block};  // as many blocks as a second launch has threads
    std::size_t of_a_block = 0, of_all = 0;
    for (std::size_t i = 0; i < block * block; ++i) {
      of_a_block += i < block && fault.keeps(i, launch);
      of_all += fault.keeps(i, launch);
    }
    const std::size_t kept = std::bit_floor(block);
    EXPECT_EQ(of_a_block, kept) << s.str();
    EXPECT_EQ(of_all, kept * (s.text("finish") == "second-launch" ? kept : block)) << s.str();
    EXPECT_NE(fault.why.find(" " + std::to_string(block - kept) + " of its threads"), std::string::npos) << fault.why;
  }
  EXPECT_GT(faults, 0u);
}

INSTANTIATE_TEST_SUITE_P(Battery, EveryVariant, testing::ValuesIn(targets()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryVariant);

}  // namespace
}  // namespace reductio
