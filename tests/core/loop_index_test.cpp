/// The setting `index`: which type a loop counts with.

#include "core/loop_index.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace reductio {
namespace {

constexpr std::size_t two_31 = std::size_t{1} << 31, two_32 = std::size_t{1} << 32;

std::string decided(std::string asked, std::string_view documents, std::size_t last) {
  Settings s({loop_index()});
  s.set("index", std::move(asked));
  return with_loop_index(s, documents, last).text("index");
}

TEST(LoopIndex, IsTheDocumentsWhereverThatCountsSoFarAndSignedOf64BitsBeyond) {
  EXPECT_EQ(decided("document", "i32", 0), "i32");
  EXPECT_EQ(decided("document", "i32", two_31 - 1), "i32");
  EXPECT_EQ(decided("document", "i32", two_31), "i64");
  EXPECT_EQ(decided("document", "u32", two_32 - 1), "u32");
  EXPECT_EQ(decided("document", "u32", two_32), "i64");
  EXPECT_EQ(decided("document", "u64", two_32), "u64");
}

TEST(LoopIndex, IsTheOneAskedForOrRefused) {
  for (const char* type : {"i32", "i64", "u32", "u64"}) EXPECT_EQ(decided(type, "i32", 1000), type);
  EXPECT_EQ(decided("i64", "i32", two_32), "i64");
  EXPECT_EQ(decided("u32", "i32", two_31), "u32");
  EXPECT_THROW(decided("i32", "i32", two_31), Refused);
  EXPECT_THROW(decided("u32", "i32", two_32), Refused);
  try {
    decided("i32", "u64", two_31);
  } catch (const Refused& e) {
    EXPECT_STREQ(e.what(), "an index of type i32 cannot count to 2147483648: choose index=i64, u64 or document");
  }
}

TEST(LoopIndex, ALimitIsLoweredForAsLongAsItLives) {
  {
    const LoweredIndexLimit lowered(1000);
    EXPECT_EQ(decided("document", "i32", 1000), "i32");
    EXPECT_EQ(decided("document", "i32", 1001), "i64");
    EXPECT_THROW(decided("u32", "i32", 1001), Refused);
    {
      const LoweredIndexLimit unchanged(0), more(2000);
      EXPECT_EQ(decided("document", "i32", 1001), "i32");
    }
    EXPECT_EQ(decided("document", "i32", 1001), "i64");
  }
  EXPECT_EQ(decided("document", "i32", 1001), "i32");
}

TEST(LoopIndex, NamesAType) {
  const auto bytes_and_sign = [](std::string_view type) {
    return for_loop_index(type, []<class Index>() { return (Index(-1) < Index(0) ? -1 : 1) * int(sizeof(Index)); });
  };
  EXPECT_EQ(bytes_and_sign("i32"), -4);
  EXPECT_EQ(bytes_and_sign("i64"), -8);
  EXPECT_EQ(bytes_and_sign("u32"), 4);
  EXPECT_EQ(bytes_and_sign("u64"), 8);
}

}  // namespace
}  // namespace reductio
