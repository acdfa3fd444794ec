/// Every kernel with the setting `index` on both sides of where its document's type ends: with the limit of 32 bits
/// lowered on the simulated device, and with 2^31 elements on a GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <regex>
#include <string>
#include <vector>

#include "core/loop_index.h"
#include "core/variant.h"
#include "device/backend.h"
#include "device/sim/fault.h"
#include "device/sim/schedule.h"
#include "tests/sanitized.h"
#include "verify/verify.h"

namespace reductio {

/// A test's parameter as GoogleTest prints it.
void PrintTo(const Variant* v, std::ostream* out) { *out << v->id; }

namespace {

std::vector<const Variant*> with_index() {
  std::vector<const Variant*> out;
  for (const Variant& v : variants())
    if (v.settings().has("index") && !v.fault_of(v.settings())) out.push_back(&v);
  return out;
}

std::string id_of(const testing::TestParamInfo<const Variant*>& v) {
  std::string id = v.param->id;
  std::replace_if(id.begin(), id.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return id;
}

class LoopIndexOfKernel : public testing::TestWithParam<const Variant*> {
 protected:
  static Case case_of(std::size_t n, Settings settings) {
    const Variant& v = *GetParam();
    return {&v, {v.operations.front(), ElementType::i32, n}, std::move(settings), 0, "random", 1, "", "exact"};
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, LoopIndexOfKernel, testing::ValuesIn(with_index()), id_of);

/// What the simulated device says of the kernel that is launched first for n elements, its name with its template
/// arguments: nobody has written the input, and it faults on the first read.
std::string kernel_for(const Variant& v, std::size_t n, const Settings& settings) {
  const auto device = open_sim();
  sim::set_schedule(sim::Order::forward);  // whatever tests before this one left
  const auto plan = make_plan(v, {v.operations.front(), ElementType::i32, n}, settings, device->info());
  DeviceMemory in(*device, 4 * n), out(*device, 16);
  const Stream stream = device->create_stream();
  std::string why;
  try {
    plan->enqueue(in.get(), out.get(), stream);
    device->synchronize(stream);
  } catch (const std::exception& e) {
    why = e.what();
  }
  device->destroy_stream(stream);
  return why;
}

TEST_P(LoopIndexOfKernel, IsThatOfTheDocumentUpToTheLimitAndSigned64BitsBeyond) {
  const Variant& v = *GetParam();
  const bool documents_is_int = v.id.rfind("twopass/", 0) != 0;
  const std::size_t n = 3000;
  const auto says_of_default = [&] { return kernel_for(v, n, v.settings()); };
  const auto says_of = [&](const char* type) { return kernel_for(v, n, v.settings({{"index", type}})); };
  ASSERT_NE(says_of("i32").find(", int"), std::string::npos) << says_of("i32");
  ASSERT_NE(says_of("i64").find(", long"), std::string::npos) << says_of("i64");
  EXPECT_EQ(says_of_default(), says_of(documents_is_int ? "i32" : "u64"));
  const LoweredIndexLimit lowered(n);  // the last thread's last step is beyond
  EXPECT_EQ(says_of_default(), says_of(documents_is_int ? "i64" : "u64"));
}

TEST_P(LoopIndexOfKernel, HasCasesOfEitherTypeAtALoweredLimit) {
  LEFT_TO_RELEASE_BUILDS();
  const Variant& v = *GetParam();
  std::size_t narrow = 0, wide = 0;
  for (const Case& c : battery(v, open_sim()->info(), Tier::check, 1)) {
    if (!c.index_limit) continue;
    EXPECT_NE(c.describe().find(" index-limit=32767"), std::string::npos) << c.describe();
    EXPECT_NE(c.command(DeviceKind::sim).find(" --index-limit 32767"), std::string::npos);
    const LoweredIndexLimit lowered(c.index_limit);
    const std::string says = kernel_for(v, c.problem.n, c.settings);
    narrow += says.find(", short") != std::string::npos;
    wide += says.find(" long") != std::string::npos;
  }
  EXPECT_GT(narrow, 0u);
  EXPECT_GT(wide, 0u);
}

TEST(CompiledIn, IsWhatTheKernelsNamesSay) {
  struct Launched {
    const char* id;
    std::vector<std::pair<std::string, std::string>> settings;
    bool compiled_in;
  };
  for (const Launched& l : {Launched{"squares/chunked", {}, true},
                            {"squares/chunked", {{"block", "512"}}, false},
                            {"squares/strided", {}, true},
                            {"squares/strided", {{"block", "512"}}, true},
                            {"squares/strided", {{"block", "1024"}}, false},
                            {"squares/multi-block", {}, true},
                            {"squares/multi-block", {{"grid", "5"}}, false},
                            {"squares/multi-block-tree", {}, true},
                            {"squares/multi-block-tree", {{"block", "512"}}, false},
                            {"multiblock/two-launch", {}, true},
                            {"multiblock/last-block", {}, true},
                            {"multiblock/last-block-warp", {}, true},
                            {"multiblock/last-block-warp", {{"block", "512"}}, false}}) {
    const Variant& v = find_variant(l.id);
    const std::string says = kernel_for(v, 3000, v.settings(l.settings));
    const bool at_run_time = says.find("Shape<0") != std::string::npos || says.find("Size<0") != std::string::npos;
    EXPECT_EQ(at_run_time, !l.compiled_in) << says;
    ASSERT_NE(v.compiled_in, "") << l.id;
    for (const auto& [name, value] : l.settings)
      EXPECT_EQ(std::regex_search(v.compiled_in, std::regex("\\b" + value + "\\b")), l.compiled_in) << v.compiled_in;
    EXPECT_NE(v.compiled_in.find("block=" + v.settings().text("block")), std::string::npos) << v.compiled_in;
  }
}

TEST_P(LoopIndexOfKernel, OnEitherSideOfALoweredLimitTheSumIsRight) {
  const Variant& v = *GetParam();
  const auto device = open_sim();
  for (const std::size_t limit : {std::size_t{100}, std::size_t{4000}, std::size_t{20000}}) {
    const LoweredIndexLimit lowered(limit);
    for (const std::size_t n : {std::size_t{1}, limit - 1, limit, limit + 1, 2 * limit + 3})
      EXPECT_EQ(run_case(case_of(n, v.settings()), *device), "") << n << " elements, limit " << limit;
  }
}

TEST_P(LoopIndexOfKernel, OnAGpuTheSumOf2To31ElementsIsRight) {
  std::unique_ptr<Backend> gpu;
  try {
    gpu = open_backend(DeviceKind::cuda);
  } catch (const NoGpu& e) {
    GTEST_SKIP() << e.what();
  }
  const Variant& v = *GetParam();
  constexpr std::size_t two_31 = std::size_t{1} << 31;
  if (gpu->info().memory_bytes < 5 * two_31) GTEST_SKIP() << "too little memory";
  for (const std::size_t n : {two_31 - 1, two_31, two_31 + 1})
    for (const char* type : {"document", "i64", "u32", "u64"}) {
      // One block takes a second for this.
      if ((v.id == "squares/chunked" || v.id == "squares/strided") && type != std::string("document")) continue;
      EXPECT_EQ(run_case(case_of(n, v.settings({{"index", type}})), *gpu), "") << n << " elements, index=" << type;
    }
  EXPECT_THROW(run_case(case_of(two_31, v.settings({{"index", "i32"}})), *gpu), Refused);
}

}  // namespace
}  // namespace reductio
