#include "core/variant.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

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

TEST(Variant, TooManyBlocksSayHowManyAndWhatToDo) {
  const Settings s({Tunable::choice("block", {"32"}, "32")});
  const Problem p{.n = std::size_t{1} << 37};
  EXPECT_EQ(too_many_blocks(p, s, 0x7fffffff, "no matter"), "");
  EXPECT_EQ(too_many_blocks(p, s, 0x80000000, "choose a larger block"),
            "n = 137438953472 takes 2147483648 blocks of 32 threads, a launch has at most 2147483647: choose a larger "
            "block");
}

TEST(Variant, RowsOfATableShareWhatTheyDoNotSay) {
  const Variant shared{.id = {},
                       .title = {},
                       .cites = {},
                       .how = {.thread = "one load", .block = "tree", .grid = "atomic"},
                       .operations = {Operation::sum},
                       .types = {ElementType::f32},
                       .tunables = {Tunable::choice("block", {"32", "64"}, "64"), Tunable::choice("finish", {"host"}, "host")},
                       .determinism = Determinism::none,
                       .document_n = 5};
  const Variant v = combined(shared, {.id = "a/b",
                                      .title = "c",
                                      .cites = "d",
                                      .how = {.block = "shuffles"},
                                      .tunables = {Tunable::choice("block", {"32"}, "32"), Tunable::choice("test", {"x"}, "x")}});
  EXPECT_EQ(v.id + v.title + v.cites, "a/bcd");
  EXPECT_EQ(v.how.thread + ", " + v.how.block + ", " + v.how.grid, "one load, shuffles, atomic");
  EXPECT_EQ(v.settings().str(), "block=32;finish=host;test=x") << "replaced in its place, or added behind";
  EXPECT_EQ(v.determinism, Determinism::none);
  EXPECT_EQ(v.document_n, 5u);
  EXPECT_EQ(combined(shared, {.id = "a/c", .title = "", .cites = "", .determinism = Determinism::always}).determinism,
            Determinism::always);
}

}  // namespace
}  // namespace reductio
