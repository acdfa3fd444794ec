// Every line on which a registered kernel synchronizes, left out: the battery must reject the kernel, or the line
// stands in the list below with the reason why its kernel is right without it. Of variants that are composed of shared
// parts, those that together have every part (repeats_parts()): a test below holds that they have every line.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <exception>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "device/backend.h"
#include "device/sim/mutation.h"
#include "tests/sanitized.h"
#include "verify/verify.h"

namespace reductio {
namespace {

struct Unneeded {
  std::string file, text;  ///< what the line holds
  std::string why;
};
/// Lines without which the battery passes.
const std::vector<Unneeded> unneeded{
    {"squares.cu", "the block is done when its last warp is",
     "it orders no memory: it holds the clock's last reading back until the whole block is done"},
    // Needed, but not shown: no block of the battery has 128 long segments. A test of rows.h has.
    {"segments.h", "that list has been read", "only a block's second round of long ones adds to the list again"},
    // Needed, but not shown: no block of the battery has so many segments, and a long one behind them.
    {"lines.h", "it has been read", "only a block's second round adds to the list again"},
    // Needed, but not shown: no block of the battery has two long segments in a round.
    {"lines.h", "long_ones[device::atomicAdd", "only two warps that find a long segment at once need it"},
    // Needed, but not shown: no matrix of the battery has so many tiles. lines_test.cpp has.
    {"lines.h", "the warps' sums are read before the next line's",
     "only a block that ends a second long line needs it"},
    {"lines.h", "it is read before the next one is stored", "only a block's second tile of columns needs it"},
    // Needed, but not shown: the battery has no data whose tiles alternate so within a block.
    {"window.h", "all bins are read, and may be cleared",
     "only a tile of the warp's bins just before one of lanes' does"},
};

/// Two folders may have a file of that name: then the first that has such a line.
std::string text_of(const sim::SynchronizingLine& line) {
  for (const char* folder : {"src/kernels/", "src/tuned/", "src/exact/", "src/strategies/"}) {
    std::ifstream file(folder + line.file);
    std::string text;
    for (int i = 0; i < line.line && file; ++i) std::getline(file, text);
    if (file && !text.empty()) return text;
  }
  return {};
}

bool is_unneeded(const sim::SynchronizingLine& line) {
  const std::string text = text_of(line);
  return std::any_of(unneeded.begin(), unneeded.end(), [&](const Unneeded& u) {
    return u.file == line.file && text.find(u.text) != std::string::npos;
  });
}

/// A case, and the lines on which its threads synchronize: it runs the same without any other.
struct CaseWithLines {
  Case what;
  std::set<sim::SynchronizingLine> lines{};  ///< none: not known
};

/// The cheapest first: most lines are needed in each.
std::vector<CaseWithLines> cases_of(const Variant& v, Tier tier) {
  std::vector<CaseWithLines> out;
  for (Case& c : battery(v, open_sim()->info(), tier, 1)) out.push_back({std::move(c)});
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.what.cost < b.what.cost; });
  return out;
}

/// Why the device rejects the case's variant; empty if it does not.
std::string rejection(const Case& c, Backend& backend) {
  try {
    const std::string why = run_case(c, backend);
    return why.empty() ? "" : c.describe() + ": " + why;
  } catch (const Refused&) {
    return "";
  } catch (const std::exception& e) {
    return c.describe() + ": " + e.what();
  }
}

/// Why one of them rejects the variant without the line.
std::string rejection_without(const sim::SynchronizingLine& line, const std::vector<CaseWithLines>& cases) {
  const sim::LineMutant mutant(line);
  const auto backend = open_sim();
  for (const CaseWithLines& c : cases)
    if (c.lines.empty() || c.lines.contains(line))
      if (std::string why = rejection(c.what, *backend); !why.empty()) return why;
  return "";
}

class LineMutants : public testing::TestWithParam<std::string> {};

TEST_P(LineMutants, are_rejected) {
  LEFT_TO_RELEASE_BUILDS();
  const Variant& v = find_variant(GetParam());
  // Made once: a list of cases takes longer than many a mutant, and is the same for each.
  std::vector<CaseWithLines> quick = cases_of(v, Tier::quick), check;
  std::set<sim::SynchronizingLine> lines;
  const auto backend = open_sim();
  for (CaseWithLines& c : quick) {
    const sim::LineRecorder recorder;
    ASSERT_EQ(rejection(c.what, *backend), "");
    c.lines = recorder.lines();
    lines.insert(c.lines.begin(), c.lines.end());
  }
  std::erase_if(quick, [](const CaseWithLines& c) { return c.lines.empty(); });
  for (const sim::SynchronizingLine& line : lines) {
    ASSERT_NE(text_of(line), "") << line.describe() << " is no line of a folder of kernels";
    std::string why = rejection_without(line, quick);
    if (is_unneeded(line)) {
      EXPECT_EQ(why, "") << line.describe() << " is listed as unneeded";
      continue;
    }
    if (why.empty()) {
      if (check.empty()) check = cases_of(v, Tier::check);
      why = rejection_without(line, check);
    }
    EXPECT_NE(why, "") << v.id << " passes without the " << line.describe() << ":\n  " << text_of(line);
  }
}

std::vector<std::string> simulated(bool repeating) {
  std::vector<std::string> out;
  for (const Variant& v : variants())
    if (v.runs_on(DeviceKind::sim) && repeats_parts(v) == repeating) out.push_back(v.id);
  return out;
}

/// Those that one call of several blocks passes.
std::set<sim::SynchronizingLine> lines_of(const std::string& id) {
  const Variant& v = find_variant(id);
  const auto backend = open_sim();
  const sim::LineRecorder recorder;
  const Case c{&v, {Operation::sum, ElementType::f32, 5000}, v.settings(), 0, "exact", 1, "forward", "exact"};
  EXPECT_EQ(run_case(c, *backend), "") << c.describe();
  return recorder.lines();
}

TEST(LinesOfComposedVariants, AreAllThoseOfTheVariantsThatHaveMutants) {
  std::set<sim::SynchronizingLine> with_mutants;
  for (const std::string& id : simulated(false))
    if (id.starts_with("ablation/")) with_mutants.merge(lines_of(id));
  const std::vector<std::string> others = simulated(true);
  ASSERT_GT(others.size(), 10u);
  for (const std::string& id : others) {
    EXPECT_TRUE(id.starts_with("ablation/")) << id;
    const auto lines = lines_of(id);
    EXPECT_FALSE(lines.empty()) << id;
    for (const sim::SynchronizingLine& line : lines)
      EXPECT_TRUE(with_mutants.contains(line)) << id << " alone has the " << line.describe();
  }
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string text = info.param;
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return text;
}

INSTANTIATE_TEST_SUITE_P(Registered, LineMutants, testing::ValuesIn(simulated(false)), name_of);

}  // namespace
}  // namespace reductio
