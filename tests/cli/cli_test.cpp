/// The parts of the command line that a test of the whole program cannot reach: warnings about a GPU that is not here,
/// and how numbers are shown.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/compare/baseline.h"
#include "cli/compare/command.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "cli/warnings.h"
#include "core/parse.h"
#include "device/backend.h"
#include "device/sim/mutation.h"
#include "measure/results/csv.h"
#include "tests/error_of.h"
#include "tests/measure/scripted_timer.h"
#include "verify/verify.h"

namespace reductio::cli {
namespace {

GpuUse gpu(std::string uuid, unsigned processes, unsigned utilization, bool mig) {
  GpuUse use;
  use.uuid = std::move(uuid);
  use.processes = processes;
  use.utilization_percent = utilization;
  use.mig = mig;
  return use;
}

/// What misleads on the device with this UUID, "" where it is no GPU.
std::vector<std::string> warnings_of(DeviceKind device, const std::string& uuid, std::vector<GpuUse> in_use) {
  Bench bench;
  bench.info.kind = device;
  if (!uuid.empty()) bench.machine.gpu.emplace().uuid = uuid;
  bench.in_use = std::move(in_use);
  return misleading(bench);
}

/// How many of the warnings contain `word`.
long count(const std::vector<std::string>& warnings, const std::string& word) {
  return std::count_if(warnings.begin(), warnings.end(),
                       [&](const std::string& w) { return w.find(word) != std::string::npos; });
}

TEST(CliBaseline, WhoSavesSecondReplacesNothingUnlessForced) {
  const scripted::Folder folder;
  const auto write = [](const BaselineDraft& draft, const std::string& text) {
    std::filesystem::create_directories(draft.folder());
    std::ofstream(draft.folder() / "rows") << text;
  };
  const auto saved = [&] { return content_of(folder.path() / "mine" / "rows"); };
  BaselineDraft draft(folder.path(), "mine", false), forced(folder.path(), "mine", true);
  // Another process measures and saves one of the same name.
  const pid_t other = ::fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    try {
      BaselineDraft theirs(folder.path(), "mine", false);
      write(theirs, "theirs");
      theirs.keep();
      ::_exit(0);
    } catch (const std::exception&) {
      ::_exit(1);
    }
  }
  int status = 0;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  ASSERT_EQ(status, 0);
  write(draft, "ours");
  EXPECT_EQ(error_of([&] { draft.keep(); }),
            "baseline 'mine' was saved by another program meanwhile; this one is in " + draft.folder().string());
  EXPECT_EQ(saved(), "theirs");
  EXPECT_TRUE(std::filesystem::exists(draft.folder())) << "what was measured is kept";
  write(forced, "ours");
  forced.keep();
  EXPECT_EQ(saved(), "ours");
}

TEST(CliBaseline, EachProcessHasADraftOfItsOwn) {
  const scripted::Folder folder;
  BaselineDraft draft(folder.path(), "mine", false);
  std::filesystem::create_directories(draft.folder());
  const pid_t other = ::fork();
  ASSERT_GE(other, 0);
  if (other == 0) {
    BaselineDraft(folder.path(), "mine", false).discard();
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(other, nullptr, 0), other);
  EXPECT_TRUE(std::filesystem::exists(draft.folder()));
}

TEST(CliWarnings, AQuietGpuGivesNone) {
  const auto warnings = warnings_of(DeviceKind::cuda, "GPU-a", {gpu("GPU-a", 0, 0, false), gpu("GPU-b", 3, 99, true)});
  EXPECT_EQ(count(warnings, "GPU"), 0) << "another GPU's use is no concern";
}

TEST(CliWarnings, TellsOfOtherProcessesAndLoad) {
  EXPECT_EQ(count(warnings_of(DeviceKind::cuda, "GPU-a", {gpu("GPU-a", 1, 0, false)}), "shared with 1 other process:"),
            1);
  EXPECT_EQ(count(warnings_of(DeviceKind::cuda, "GPU-a", {gpu("GPU-a", 2, 0, false)}), "2 other processes"), 1);
  EXPECT_EQ(count(warnings_of(DeviceKind::cuda, "GPU-a", {gpu("GPU-a", 0, 40, false)}), "40 %"), 1);
}

TEST(CliWarnings, TellsOfADividedGpu) {
  EXPECT_EQ(count(warnings_of(DeviceKind::cuda, "GPU-a", {gpu("GPU-a", 0, 0, true)}), "MIG"), 1);
  EXPECT_EQ(count(warnings_of(DeviceKind::cuda, "GPU-instance", {gpu("GPU-a", 0, 0, true)}), "MIG"), 1)
      << "an instance has a UUID that the list of whole GPUs does not hold";
  EXPECT_EQ(
      count(warnings_of(DeviceKind::cuda, "GPU-b", {gpu("GPU-a", 0, 0, true), gpu("GPU-b", 0, 0, false)}), "MIG"), 0);
}

TEST(CliWarnings, TellsOfAProfiler) {
  ASSERT_EQ(setenv("CUDA_INJECTION64_PATH", "/nowhere/libinjected.so", 1), 0);
  const auto attached = warnings_of(DeviceKind::cuda, "GPU-a", {});
  const auto simulated = warnings_of(DeviceKind::sim, "", {});
  ASSERT_EQ(unsetenv("CUDA_INJECTION64_PATH"), 0);
  EXPECT_EQ(count(attached, "CUDA_INJECTION64_PATH"), 1);
  EXPECT_TRUE(simulated.empty()) << "the simulated device reports no times";
  EXPECT_EQ(count(warnings_of(DeviceKind::cuda, "GPU-a", {}), "profiler"), 0);
}

TEST(CliShow, SizesReadBack) {
  for (const std::size_t n :
       {0ul, 1ul, 1000ul, 1023ul, 1024ul, 1025ul, 1048575ul, 1048576ul, 123456789ul, 1ul << 32, 1ul << 60})
    EXPECT_EQ(parse_size(show_size(n)), n);
  EXPECT_EQ(show_size(1 << 20), "2^20");
  EXPECT_EQ(show_size((1 << 20) - 1), "2^20-1");
}

TEST(CliShow, TimesAndBytes) {
  EXPECT_EQ(show_seconds(8.5e-7), "850 ns");
  EXPECT_EQ(show_seconds(1.25e-3), "1.25 ms");
  EXPECT_EQ(show_seconds(0), "0 ns");
  EXPECT_EQ(show_seconds(200), "3 min 20 s");
  EXPECT_EQ(show_seconds(3700), "1 h 1 min");
  EXPECT_EQ(show_bytes(4), "4 B");
  EXPECT_EQ(show_bytes(60u << 20), "60.0 MiB");
}

#ifndef REDUCTIO_SANITIZED  // which has no command line
TEST(CliCompare, UntilDecidedTakesAsManySamplesOnEachContextOfSlowCallsToo) {
  CompareOptions options;
  const SamplingRules once = chosen_rules(options);
  options.until_decided = true;
  const SamplingRules until = chosen_rules(options);
  EXPECT_GT(until.contexts, once.contexts);
  EXPECT_GE(until.slow_samples * once.contexts, once.slow_samples * until.contexts);
}
#endif

TEST(CliSettings, AreCheckedAgainstTheVariantsSelected) {
  Variant a, b;
  a.id = "t/a";
  a.tunables = {Tunable::powers_of_two("block", 32, 1024, 256)};
  b.id = "t/b";
  b.tunables = {Tunable::powers_of_two("block", 1, 64, 64), Tunable::choice("finish", {"host", "atomic"}, "host")};
  EXPECT_NO_THROW(check_settings({&a, &b}, {{"block", "512"}, {"finish", "atomic"}})) << "one that has it is enough";
  EXPECT_THROW(check_settings({&a}, {{"finish", "atomic"}}), UsageError);
  EXPECT_THROW(check_settings({&b}, {{"block", "512"}}), UsageError);
  try {
    check_settings({&a, &b}, {{"block", "33"}});
    ADD_FAILURE() << "33 is no power of two";
  } catch (const UsageError& e) {
    const std::string text = e.what();
    for (const char* word : {"block=33", "t/a: 32", "t/b: 1,"}) EXPECT_NE(text.find(word), std::string::npos) << text;
  }
}

#ifndef REDUCTIO_SANITIZED  // which has no whole program
/// What the program prints for the words of a command, and its exit code.
std::pair<int, std::string> output_of(const std::string& command) {
  std::vector<std::string> words;  // as a shell has them
  std::string word;
  bool quoted = false;
  for (const char c : command + " ") {
    if (c == '\'') quoted = !quoted;
    else if (c != ' ' || quoted) word += c;
    else words.push_back(std::exchange(word, ""));
  }
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = program(static_cast<int>(arguments.size()), arguments.data());
  testing::internal::GetCapturedStderr();
  return {code, testing::internal::GetCapturedStdout()};
}

// A kernel without one of its barriers fails whatever the data.
TEST(CliVerify, ACommandOfEveryKindOfCaseFindsTheSameFailureAgain) {
  const auto backend = open_sim();
  const auto why_of = [&](const Case& c) -> std::string {
    try {
      return run_case(c, *backend);
    } catch (const DeviceError& e) {
      return e.what();
    } catch (const std::exception& e) {
      return std::string("threw: ") + e.what();
    }
  };
  std::set<std::string> seen;
  for (const char* id : {"multiblock/last-block", "twopass/multiple-of-32", "exact/sum", "tuned/sum",
                         "ablation/grid-stride+interleaved+last-block"}) {
    const Variant& v = find_variant(id);
    const std::vector<Case> cases = battery(v, backend->info(), Tier::check, 1);
    std::set<sim::SynchronizingLine> lines;
    {
      const sim::LineRecorder recorder;
      for (const Case& c : cases)
        if (c.check == "calls") EXPECT_EQ(why_of(c), "") << c.describe();
      lines = recorder.lines();
    }
    const auto barrier = std::find_if(lines.begin(), lines.end(), [](const sim::SynchronizingLine& line) {
      return line.what == sim::Synchronization::block_barrier;
    });
    ASSERT_NE(barrier, lines.end()) << id;
    const sim::LineMutant mutant(*barrier);
    std::set<std::string> of_this;
    for (const Case& c : cases) {
      const std::string kind = fmt::format("{} {} {} {} {} {}", c.dataset, c.check, c.order, c.like, c.index_limit > 0,
                                           c.offset_elements > 0);
      if (c.problem.n > (1 << 18) + 3 || of_this.contains(kind)) continue;
      const std::string why = why_of(c);
      if (why.empty()) continue;  // of so few elements that no two threads meet
      of_this.insert(kind);
      seen.insert({c.dataset, "--check " + c.check, "--order " + c.order, c.like});
      const auto [code, out] = output_of(c.command(DeviceKind::sim) + " --patience 0 --json");
      EXPECT_EQ(code, exit_wrong) << c.describe() << '\n' << out;
      const auto told = nlohmann::json::parse(out).at("verified").at(0).at("failures");
      ASSERT_EQ(told.size(), 1u) << c.describe();
      EXPECT_EQ(told.at(0).at("case"), c.describe());
      EXPECT_EQ(told.at(0).at("why"), why) << c.describe();
    }
    EXPECT_GT(of_this.size(), 30u) << id;
  }
  for (const auto check : case_checks)
    if (std::string_view(check) != "neighbours")  // of rows and segments, which these do not sum
      EXPECT_TRUE(seen.contains(std::string("--check ") + check)) << check;
  for (const auto order : case_orders) EXPECT_TRUE(seen.contains(std::string("--order ") + order)) << order;
  for (const char* other : {"largest", "alternating", "wide", "tiny-square", "infinity-pair", "nan", "sm-75", "sm-86"})
    EXPECT_TRUE(seen.contains(other)) << other;
}
#endif

}  // namespace
}  // namespace reductio::cli
