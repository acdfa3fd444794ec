#include "core/parse.h"

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "tests/error_of.h"

namespace reductio {
namespace {

using Sizes = std::vector<std::size_t>;

std::string complaint_about(const std::string& sizes) {
  return error_of<UsageError>([&] { parse_sizes(sizes); });
}

TEST(ParseSize, ReadsEveryForm) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("1000"), 1000u);
  EXPECT_EQ(parse_size("2^20"), 1048576u);
  EXPECT_EQ(parse_size("3^4"), 81u);
  EXPECT_EQ(parse_size("0^3"), 0u);
  EXPECT_EQ(parse_size("2^0"), 1u);
  EXPECT_EQ(parse_size("1^99999999999"), 1u) << "must not loop over the exponent";
  EXPECT_EQ(parse_size("1e6"), 1000000u);
  EXPECT_EQ(parse_size("0e99999999999"), 0u);
  EXPECT_EQ(parse_size("2.5e6"), 2500000u);
  EXPECT_EQ(parse_size("1.50e1"), 15u);
  EXPECT_EQ(parse_size("2^20-1"), 1048575u);
  EXPECT_EQ(parse_size("2^32+3"), 4294967299u);
}

TEST(ParseSize, IsExactUpToTheLargest) {
  EXPECT_EQ(parse_size("1152921504606846976"), std::size_t{1} << 60);
  EXPECT_EQ(parse_size("2^60"), std::size_t{1} << 60);
  EXPECT_EQ(parse_size("9007199254740993e0"), 9007199254740993u) << "2^53+1, which a double cannot hold";
}

TEST(ParseSizes, ReadsListsAndRanges) {
  EXPECT_EQ(parse_sizes("1000,2^20"), (Sizes{1000, 1048576}));
  EXPECT_EQ(parse_sizes("2^10:2^13"), (Sizes{1024, 2048, 4096, 8192}));
  EXPECT_EQ(parse_sizes("3:20"), (Sizes{3, 6, 12}));
  EXPECT_EQ(parse_sizes("1:100:*10"), (Sizes{1, 10, 100}));
  EXPECT_EQ(parse_sizes("100:1000:300"), (Sizes{100, 400, 700, 1000}));
  EXPECT_EQ(parse_sizes("0:10:4"), (Sizes{0, 4, 8}));
  EXPECT_EQ(parse_sizes("7:7"), (Sizes{7}));
  EXPECT_EQ(parse_sizes("2^59:2^60"), (Sizes{std::size_t{1} << 59, std::size_t{1} << 60}));
  EXPECT_EQ(parse_sizes("1:2^60:*2^60"), (Sizes{1, std::size_t{1} << 60})) << "multiplying must not wrap around";
}

TEST(ParseSizes, SortsAndDropsDuplicates) { EXPECT_EQ(parse_sizes("8,1:8,2"), (Sizes{1, 2, 4, 8})); }

TEST(ParseSizes, RejectsWhatIsNoSize) {
  for (const char* bad :
       {"",      ",",   "1,,2", "1,", "abc",  "-1",      "+1",      "1.5",   "2^",    "^2",   "2^-1",
        "2^2^2", "1e",  "1e-3", "e6", ".5e1", "5.e1",    "1.2.3e9", "0x10",  "1 000", " 1",   "1k",
        "inf",   "nan", "1:",   ":5", ":",    "1:2:3:4", "1:2:",    "1:4:*", "2^20-", "1+-1", "1-1-1"})
    EXPECT_NE(complaint_about(bad).find("malformed size"), std::string::npos)
        << "'" << bad << "' gave '" << complaint_about(bad) << "'";
}

TEST(ParseSizes, NamesThePartThatIsWrong) {
  EXPECT_NE(complaint_about("1000,2^2x").find("'2^2x'"), std::string::npos);
  EXPECT_NE(complaint_about("10:x").find("'x'"), std::string::npos);
}

TEST(ParseSizes, RejectsWhatCannotBeHeld) {
  for (const char* bad : {"1152921504606846977", "2^60+1", "2^61", "2^64-1", "18446744073709551616", "1e20",
                          "2^59+2^60", "99999999999999999999999"})
    EXPECT_NE(complaint_about(bad).find("too large"), std::string::npos) << bad;
  EXPECT_NE(complaint_about("1.25e1").find("not a whole number"), std::string::npos);
  EXPECT_NE(complaint_about("5-6").find("below zero"), std::string::npos);
  EXPECT_NE(complaint_about("2^10:2^9").find("empty range"), std::string::npos);
  for (const char* bad : {"0:8", "1:8:0", "1:8:*1", "1:8:*0", "0:8:*2"})
    EXPECT_NE(complaint_about(bad).find("never ends"), std::string::npos) << bad;
  EXPECT_NE(complaint_about("0:2^40:1").find("more than 100000"), std::string::npos);
}

}  // namespace
}  // namespace reductio
