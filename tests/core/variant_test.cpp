#include "core/variant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/error_of.h"

namespace reductio {
namespace {

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const UsageError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

Tunable block_of_32_or_96() { return Tunable::choice("block", {"32", "96"}, "32"); }

TEST(Settings, AllOfThemAreTheProductOfTheValuesThatVerificationCovers) {
  std::vector<std::string> all;
  for (const Settings& s : all_settings({block_of_32_or_96(), Tunable::integer("grid", 1, 9, {"auto", "1"}, "auto")}))
    all.push_back(s.str());
  EXPECT_EQ(all, (std::vector<std::string>{"block=32;grid=auto", "block=32;grid=1", "block=96;grid=auto",
                                           "block=96;grid=1"}));
  EXPECT_EQ(all_settings({}).size(), 1u);
}

TEST(Settings, CountIsANumberOfThings) {
  Settings s({Tunable::integer("grid", -5, std::int64_t{1} << 40, {"auto", "-5", "40"}, "40")});
  EXPECT_EQ(s.count("grid"), 40u);
  s.set("grid", "4294967295");
  EXPECT_EQ(s.count("grid"), 4294967295u);
  for (const char* outside : {"-5", "4294967296", "auto"}) {
    s.set("grid", outside);
    EXPECT_NE(message([&] { s.count("grid"); }).find("'grid'"), std::string::npos) << outside;
    EXPECT_NE(message([&] { s.count("grid", 7); }).find("'grid'"), std::string::npos) << "it is there: " << outside;
  }
  EXPECT_EQ(s.count("block", 7), 7u);
  EXPECT_NE(message([&] { s.count("block"); }).find("no setting named 'block'"), std::string::npos);
}

TEST(Settings, ANameThatIsGivenTwiceIsRefusedWithTheName) {
  for (const char* twice : {"block=64,block=128", "block=64;grid=2,block=64"})
    EXPECT_EQ(message([&] { parse_assignments(twice); }),
              "block is given twice, in '" + std::string(twice) + "'; give one value");
  EXPECT_EQ(parse_assignments("block=64,blocks=64").size(), 2u);
}

TEST(Variant, TooManyBlocksSayHowManyAndWhatToDo) {
  const Settings s({Tunable::choice("block", {"32"}, "32")});
  const Problem p{.n = std::size_t{1} << 37};
  EXPECT_EQ(too_many_blocks(p, s, 0x7fffffff, "no matter"), "");
  EXPECT_EQ(too_many_blocks(p, s, 0x80000000, "choose a larger block"),
            "n = 137438953472 takes 2147483648 blocks of 32 threads, a launch has at most 2147483647: choose a larger "
            "block");
}

TEST(Variant, CodeForAnOlderGpuIsRefusedInOneLine) {
  DeviceInfo gpu;
  for (const int capability : {80, 90, 120}) {
    gpu.capability = capability;
    EXPECT_NO_THROW(require_capability(gpu, 80)) << capability;
  }
  gpu.capability = 75;
  EXPECT_EQ(error_of<Refused>([&] { require_capability(gpu, 90); }),
            "needs compute capability 9.0; the program's code for this device is for 7.5");
}

TEST(Variant, SettingsWithAKnownFaultAreRefusedWithTheReason) {
  Variant v{.id = "a/b", .operations = {Operation::sum}, .types = {ElementType::f32}};
  v.tunables = {block_of_32_or_96()};
  v.known_fault = [](const Settings& s) {
    return s.count("block") == 96 ? KnownFault{.why = "96 is no power of two"} : KnownFault{};
  };
  v.prepare[static_cast<int>(DeviceKind::cpu)] = [](const Problem&, const Settings&, const DeviceInfo&) {
    return plan_of({}, [](void*, void*, Stream) {});
  };
  const Problem p{Operation::sum, ElementType::f32, 5};
  EXPECT_EQ(refusal(v, DeviceKind::cpu, p, v.settings()), "");
  EXPECT_NE(make_plan(v, p, v.settings(), {}), nullptr);
  const Settings wrong = v.settings({{"block", "96"}});
  EXPECT_EQ(refusal(v, DeviceKind::cpu, p, wrong), "the result is wrong: 96 is no power of two");
  EXPECT_THROW(make_plan(v, p, wrong, {}), Refused);
  // What is not allowed is no fault of the variant's, and the variant is not asked about it.
  EXPECT_NE(refusal(v, DeviceKind::cpu, p, v.settings({{"block", "many"}})).find("is not allowed"), std::string::npos);
}

TEST(Variant, AWideSumOfATypeWithoutAWiderAccumulatorIsRefusedInOneLine) {
  Variant v{.id = "a/b",
            .operations = {Operation::sum, Operation::wide_sum},
            .types = {all_types().begin(), all_types().end()}};
  v.prepare[static_cast<int>(DeviceKind::cpu)] = [](const Problem&, const Settings&, const DeviceInfo&) {
    return plan_of({}, [](void*, void*, Stream) {});
  };
  const auto why = [&](Operation o, ElementType t) { return refusal(v, DeviceKind::cpu, {o, t, 5}, {}); };
  for (const ElementType t : all_types()) {
    EXPECT_EQ(why(Operation::sum, t), "") << name(t);
    const bool is_wider = accumulator_of(Operation::wide_sum, t) != accumulator_of(Operation::sum, t);
    EXPECT_EQ(is_wider, t == ElementType::i8 || t == ElementType::i32 || t == ElementType::f32) << name(t);
    EXPECT_EQ(why(Operation::wide_sum, t), is_wider ? ""
                                                    : "operation wide_sum is not defined for element type " +
                                                          std::string(name(t)) + " (for i8, i32, f32)");
  }
}

TEST(Variant, SettingsSayWhereTheResultLiesAndAPlanThatDiffersIsAnError) {
  Variant v{.id = "a/b", .operations = {Operation::sum}, .types = {ElementType::f32}};
  v.tunables = {Tunable::choice("finish", {"atomic", "host", "host-pinned"}, "atomic")};
  v.prepare[static_cast<int>(DeviceKind::cpu)] = [](const Problem& p, const Settings& s, const DeviceInfo&) {
    const bool host = p.n == 5 && finishes_on_host(s);
    return plan_of({.result = host ? ResultLocation::host_part : ResultLocation::on_device},
                   [](void*, void*, Stream) {});
  };
  const Settings host = v.settings({{"finish", "host"}}), pinned = v.settings({{"finish", "host-pinned"}});
  EXPECT_EQ(v.result_of(v.settings()), ResultLocation::on_device);
  EXPECT_EQ(v.result_of(host), ResultLocation::host_part);
  EXPECT_EQ(v.result_of(pinned), ResultLocation::host_part);
  const auto error = [&](std::size_t n, const Settings& s) {
    return error_of<DeviceError>([&] { make_plan(v, {Operation::sum, ElementType::f32, n}, s, {}); });
  };
  for (const Settings& s : {v.settings(), host, pinned})
    EXPECT_NO_THROW(make_plan(v, {Operation::sum, ElementType::f32, 5}, s, {})) << s.str();
  EXPECT_EQ(error(6, host),
            "a/b: a plan's result is on_device, the descriptor says host_part: set .result there as in PlanInfo, or "
            "choose it by the setting finish");
  v.result = ResultLocation::on_host;
  EXPECT_NE(error(5, v.settings()).find("the descriptor says on_host"), std::string::npos);
  v.tunables.clear();
  EXPECT_EQ(v.result_of(v.settings()), ResultLocation::on_host);
}

TEST(Variant, WhatRunsOnCudaOnlySaysWhy) {
  Variant v{.id = "a/b", .operations = {Operation::sum}, .types = {ElementType::f32}, .cuda_only = "uses CUB"};
  const Prepare prepare = [](const Problem&, const Settings&, const DeviceInfo&) {
    return plan_of({}, [](void*, void*, Stream) {});
  };
  v.prepare[static_cast<int>(DeviceKind::cuda)] = prepare;
  const Problem p{Operation::sum, ElementType::f32, 5};
  EXPECT_EQ(refusal(v, DeviceKind::cuda, p, {}), "");
  EXPECT_EQ(refusal(v, DeviceKind::sim, p, {}), "does not run on device sim: uses CUB");
  EXPECT_EXIT(register_variant(v, DeviceKind::sim, prepare, "src/kernels/mine.cu"), testing::ExitedWithCode(1),
              "'a/b' is cuda_only .* move its file, src/kernels/mine.cu, to src/kernels/cuda_only");
}

void register_as(const std::string& id, DeviceKind device, const char* file) {
  register_variant({.id = id, .operations = {Operation::sum}, .types = {ElementType::f32}}, device,
                   [](const Problem&, const Settings&, const DeviceInfo&) { return std::unique_ptr<Plan>(); }, file);
}

TEST(Variant, AnIdThatTwoFilesRegisterEndsTheProgramWithBothInOneLine) {
  EXPECT_EXIT(
      {
        register_as("a/twice", DeviceKind::sim, "../../src/kernels/one.cu");
        register_as("a/twice", DeviceKind::cuda, "../../src/kernels/one.cu");  // another device is no second one
        register_as("a/twice", DeviceKind::sim, "/elsewhere/two.cu");
      },
      testing::ExitedWithCode(1),
      "^reductio: variant 'a/twice' is registered twice, in src/kernels/one.cu and in /elsewhere/two.cu; rename one\n");
  EXPECT_EXIT(
      {
        register_as("a/twice", DeviceKind::cpu, "one.cpp");
        register_as("a/twice", DeviceKind::cpu, "one.cpp");
      },
      testing::ExitedWithCode(1), "^reductio: variant 'a/twice' is registered twice, in one.cpp; rename one\n$");
}

TEST(Variant, StaysWhereItIsWhileOthersAreRegistered) {
  EXPECT_EXIT(
      {
        const Variant& first = variants().front();
        const std::string id = first.id;
        register_as("aa/before-all", DeviceKind::cpu, "one.cpp");
        for (int i = 0; i < 1000; ++i) register_as("zz/" + std::to_string(i), DeviceKind::cpu, "one.cpp");
        const bool in_order = std::is_sorted(variants().begin(), variants().end(),
                                             [](const Variant& a, const Variant& b) { return a.id < b.id; });
        std::_Exit(&find_variant(id) == &first && first.id == id && in_order ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Variant, EachKnowsTheFileThatRegisteredIt) {
  for (const Variant& v : variants())
    for (const DeviceKind device : {DeviceKind::cuda, DeviceKind::sim, DeviceKind::cpu}) {
      const std::string& file = v.file[static_cast<std::size_t>(device)];
      const char* folder = device == DeviceKind::cpu ? "baselines/" : "/";
      EXPECT_EQ(v.runs_on(device), file.find(folder) != std::string::npos) << v.id;
      EXPECT_EQ(file.find("src/device/"), std::string::npos) << v.id << ": the caller's, not the header's";
      EXPECT_EQ(file.find("core/variant.h"), std::string::npos) << v.id;
    }
}

TEST(Variant, ARegularExpressionThatStdRegexCannotTakeIsRefused) {
  const auto why = [](const std::string& regex) { return message([&] { select_variants(regex); }); };
  EXPECT_EQ(why(std::string(20'000, '(') + std::string(20'000, ')')),
            "the regular expression has 40000 characters, at most 1000 are taken; select by a shorter one, as "
            "'^(twopass|levels)/'");
  for (const char* repeats : {"(){90000}", "(){30000,}", "((a|b|){100}){100}", "a{100}{200}",
                              "(x{100}[^[:alpha:](]y){200}", "(x{100}\\(y){200}", "(x{100}[(]y){200}"})
    EXPECT_EQ(why(repeats),
              "the regular expression '" + std::string(repeats) + "' repeats too often; repeat less in {}");
  // The largest of each kind that are taken overflow nothing.
  const std::string deep = std::string(498, '(') + std::string(498, ')');
  for (const std::string& taken : {deep, std::string("(){1000}"), std::string("(|a|b){600}"),
                                   std::string("a{0,100}b{0,100}"), std::string("[ab]{0,200}(a|){100}(b|){100}")})
    EXPECT_EQ(select_variants(taken).size(), variants().size()) << taken;
}

TEST(Variant, AUsersOwnNeedsNoFieldThatSaysWhoseItIs) {
  const Variant mine{.id = "mine/first", .operations = {Operation::sum}, .types = {ElementType::f32}};
  EXPECT_EQ(mine.kind, VariantKind::yours);
  EXPECT_EQ(mine.group(), "mine");
  EXPECT_EQ(mine.own_experiment, "");
  EXPECT_FALSE(mine.is_base_of(Operation::sum));
  Variant base = mine;
  base.base_of = {Operation::sum, Operation::wide_sum};
  EXPECT_TRUE(base.is_base_of(Operation::wide_sum));
  EXPECT_FALSE(base.is_base_of(Operation::moments));
}

TEST(Variant, RowsOfATableShareWhatTheyDoNotSay) {
  const Variant shared{
      .id = {},
      .title = {},
      .cites = {},
      .how = {.thread = "one load", .block = "tree", .grid = "atomic"},
      .operations = {Operation::sum},
      .types = {ElementType::f32},
      .tunables = {Tunable::choice("block", {"32", "64"}, "64"), Tunable::choice("finish", {"host"}, "host")},
      .determinism = Determinism::none,
      .document_n = 5};
  const Variant v =
      combined(shared, {.id = "a/b",
                        .title = "c",
                        .cites = "d",
                        .how = {.block = "shuffles"},
                        .tunables = {Tunable::choice("block", {"32"}, "32"), Tunable::choice("test", {"x"}, "x")},
                        .known_fault = [](const Settings&) { return KnownFault{.why = "e"}; }});
  EXPECT_EQ(v.id + v.title + v.cites, "a/bcd");
  EXPECT_EQ(v.how.thread + ", " + v.how.block + ", " + v.how.grid, "one load, shuffles, atomic");
  EXPECT_EQ(v.settings().str(), "block=32;finish=host;test=x") << "replaced in its place, or added behind";
  EXPECT_EQ(v.determinism, Determinism::none);
  EXPECT_EQ(v.document_n, 5u);
  EXPECT_EQ(v.fault_of(v.settings()).why, "e");
  EXPECT_EQ(shared.fault_of(v.settings()).why, "");
  EXPECT_EQ(combined(shared, {.id = "a/c", .title = "", .cites = "", .determinism = Determinism::always}).determinism,
            Determinism::always);
}

}  // namespace
}  // namespace reductio
