#include "core/call.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/error_of.h"

namespace reductio {
namespace {

TEST(CallName, HasAVariantAndTheSettingsThatItNames) {
  const CallName call = parse_call("multiblock/last-block:block=256,index=u64");
  EXPECT_EQ(call.variant, "multiblock/last-block");
  EXPECT_EQ(call.settings, (Assignments{{"block", "256"}, {"index", "u64"}}));
  EXPECT_EQ(call.settings_at(1000, 132), call.settings);
  EXPECT_TRUE(parse_call("twopass/rolled").settings.empty());
  EXPECT_EQ(parse_call("ablation/*+*+atomic").variant, "ablation/*+*+atomic") << "patterns are for the caller";
}

TEST(CallName, MayDependOnTheNumberOfElementsAndOfMultiprocessors) {
  const CallName call = parse_call("multiblock/two-launch:grid=8*SMs,granularity=ceil(n/1024)");
  EXPECT_EQ(call.settings, (Assignments{{"grid", "8*SMs"}, {"granularity", "ceil(n/1024)"}}));
  EXPECT_EQ(call.settings_at(2049, 100), (Assignments{{"grid", "800"}, {"granularity", "3"}}));
  EXPECT_EQ(call.settings_at(2048, 132), (Assignments{{"grid", "1056"}, {"granularity", "2"}}));
  EXPECT_EQ(call.settings_at(0, 1), (Assignments{{"grid", "8"}, {"granularity", "0"}}));
  EXPECT_TRUE(call.needs_sm_count());
  EXPECT_FALSE(parse_call("multiblock/two-launch:grid=8,granularity=ceil(n/1024)").needs_sm_count());
}

TEST(CallName, IsRefusedByOneLineThatNamesIt) {
  const auto error = [](const char* text) { return error_of<UsageError>([&] { parse_call(text); }); };
  EXPECT_EQ(error(":block=1"), "call ':block=1': it names no variant; write VARIANT:NAME=VALUE,NAME=VALUE");
  EXPECT_EQ(error("a/b:block"), "call 'a/b:block': malformed setting 'block'; write NAME=VALUE,NAME=VALUE");
  EXPECT_EQ(error("a/b:grid=-1*SMs"),
            "call 'a/b:grid=-1*SMs': malformed value '-1'; give 4*SMs, blocks for each multiprocessor");
  for (const char* text : {"", "a/b:x=1,x=2", "a/b:x=*SMs", "a/b:x=4.5*SMs", "a/b:x=99999999999*SMs", "a/b:x=ceil(n/0)",
                           "a/b:x=ceil(n/1024", "a/b:x=ceil(n/)", "a/b:x=ceil(n/-1)", "a/b:x=ceil(n/4)+1"})
    EXPECT_NE(error(text), "") << text;
}

}  // namespace
}  // namespace reductio
