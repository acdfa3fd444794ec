#include "measure/results/csv.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "core/error.h"
#include "measure/results/provenance.h"
#include "measure/results/sha256.h"
#include "tests/error_of.h"
#include "tests/measure/scripted_timer.h"

namespace reductio {
namespace {

using scripted::Folder;

TEST(MeasureCsv, QuotesWhatNeedsItAndReadsItBack) {
  const Fields fields{"", "plain", "a,b", "say \"no\"", "two\nlines", "cr\r\nlf", ";", " "};
  const std::string text = csv_record(fields);
  EXPECT_EQ(text, ",plain,\"a,b\",\"say \"\"no\"\"\",\"two\nlines\",\"cr\r\nlf\",;, \n");
  const CsvText read = parse_csv(text + csv_record({"x"}));
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_EQ(read.records[0], fields);
  EXPECT_EQ(read.records[1], Fields{"x"});
  EXPECT_EQ(parse_csv("a,b\r\nc,d\r\n").records, (std::vector<Fields>{{"a", "b"}, {"c", "d"}}));
}

TEST(MeasureCsv, ACutAnywhereLeavesTheWholeRecordsBeforeIt) {
  const std::vector<Fields> rows{{"1", "a,b"}, {"2", "x\ny"}, {"3", "\"q\""}};
  std::string text;
  std::vector<std::size_t> ends{0};
  for (const auto& r : rows) ends.push_back((text += csv_record(r)).size());
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const CsvText read = parse_csv(std::string_view(text).substr(0, cut));
    const auto whole = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin()) - 1;
    ASSERT_EQ(read.records.size(), whole) << cut;
    EXPECT_EQ(read.whole_bytes, ends[whole]) << cut;
    for (std::size_t i = 0; i < whole; ++i) EXPECT_EQ(read.records[i], rows[i]);
  }
}

TEST(MeasureCsv, ADamagedLineHarmsNoOtherAndIsNamedByLineAndColumn) {
  using namespace std::string_literals;
  const auto damage = [](const std::string& lines) {
    const CsvLines read = parse_csv_lines("h,i\n1,2\n" + lines + "3,\"x,y\"\n", "f");
    EXPECT_EQ(read.records, (std::vector<Fields>{{"h", "i"}, {"1", "2"}, {"3", "x,y"}})) << lines;
    return read.damage.size() == 1 ? read.damage.front() : std::to_string(read.damage.size()) + " are damaged";
  };
  EXPECT_EQ(damage("2,a\"b\n"), "3:4: a quotation mark that does not belong there");
  EXPECT_EQ(damage("2,\"ab\n"), "3:3: a quotation mark that does not belong there");
  EXPECT_EQ(damage("2,\"a\"b\n"), "3:3: a quotation mark that does not belong there");
  EXPECT_EQ(damage("2,a\0b\n"s), "3:4: a NUL byte");
  EXPECT_EQ(damage("2,\"a,b\",c\n"), "3:1: 3 fields where 2 belong");
  EXPECT_EQ(damage(""), "0 are damaged");
  const CsvLines cut = parse_csv_lines("\xef\xbb\xbfh,i\r\n1,\"2", "f");
  EXPECT_EQ(cut.records, std::vector<Fields>({{"h", "i"}})) << "a byte-order mark is no part of the header";
  EXPECT_EQ(cut.cut, "1,\"2");
  EXPECT_TRUE(cut.damage.empty());
  EXPECT_NE(error_of([] { parse_csv_lines("\xff\xfeh\0"s, "f"); }).find("f is UTF-16"), std::string::npos);
  EXPECT_NE(error_of([] { parse_csv_lines("h,\"i\n", "f"); }).find("f has a damaged header, at line and column 1:3"),
            std::string::npos);
}

TEST(MeasureCsv, AnExistingFileIsNeverOverwrittenNorSharedByTwo) {
  const Folder folder;
  const auto path = folder.path() / "a.csv";
  {
    AppendFile one = AppendFile::create(path);
    one.append("x\n");
    EXPECT_NE(error_of([&] { AppendFile::open(path); }).find("another run is writing"), std::string::npos);
  }
  EXPECT_NE(error_of([&] { AppendFile::create(path); }).find("continue with --resume"), std::string::npos);
  AppendFile again = AppendFile::open(path);
  again.append("y\n");
  EXPECT_EQ(again.read(), "x\ny\n");
}

TEST(MeasureCsv, AFullDiskIsToldAndTakesNothingWithIt) {
  AppendFile full = AppendFile::open("/dev/full");
  const std::string why = error_of([&] { full.append("x\n"); });
  EXPECT_NE(why.find("No space left on device"), std::string::npos) << why;
  EXPECT_NE(why.find("rows so far are intact"), std::string::npos) << why;
  EXPECT_NE(why.find("'reductio run' then continues with --resume"), std::string::npos)
      << why;  // compare has no such thing
}

TEST(MeasureCsv, ABlockThatFitsOnlyPartlyIsTakenBack) {
  const Folder folder;
  const auto path = folder.path() / "a.csv";
  AppendFile file = AppendFile::create(path);
  file.append("whole\n");
  // A limit on the size of files stands in for a disk that runs full in the middle of a block.
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{10, 10};
    setrlimit(RLIMIT_FSIZE, &small);
    _exit(error_of([&] { file.append("does not fit\n"); }).empty() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the error was not noticed";
  EXPECT_EQ(file.read(), "whole\n");
}

TEST(MeasureCsv, GzipMembersReadBackAndACutOneIsLeftOut) {
  const std::string a = gzip_member("first\n"), b = gzip_member(std::string(100000, 'x')), c = gzip_member("last\n");
  EXPECT_EQ(gunzip(a + b + c), "first\n" + std::string(100000, 'x') + "last\n");
  EXPECT_TRUE(gzip_intact(a + b + c));
  EXPECT_TRUE(gzip_intact(""));
  for (const std::size_t cut : {std::size_t{1}, b.size() / 2, b.size() - 1}) {
    EXPECT_EQ(gunzip(a + b.substr(0, cut)), "first\n");
    EXPECT_FALSE(gzip_intact(a + b.substr(0, cut)));
  }
  EXPECT_EQ(gunzip("not gzip"), "");
}

TEST(MeasureCsv, Sha256IsTheOneOfTheStandardHoweverTheTextComes) {
  const auto hex = [](const std::string& text, std::size_t step) {
    Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += step) hash.add(std::string_view(text).substr(at, step));
    return hash.hex();
  };
  const std::pair<std::string, const char*> known[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1'000'000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};
  for (const auto& [text, sha256] : known)
    for (const std::size_t step : {std::size_t{1} << 20, std::size_t{63}, std::size_t{64}, std::size_t{200}})
      EXPECT_EQ(hex(text, step), sha256) << text.substr(0, 60) << " in steps of " << step;
}

TEST(MeasureCsv, TheHashOfARunIsOfItsLinesAlone) {
  const std::string header = "a,run_id,b\n", one = "1,x,2\n", other = "3,y,\"4,x\"\n";
  const auto hash = [](const std::string& text) { return hash_of_run(text, "x"); };
  EXPECT_TRUE(hash(header + one));
  EXPECT_EQ(hash(header + one), hash(header + other + one));
  EXPECT_NE(hash(header + one), hash(header + one + one));
  EXPECT_NE(hash(header + one), hash("a,run_id,c\n" + one));
  EXPECT_EQ(hash("a,b\n1,x\n"), std::nullopt) << "no column run_id";
}

TEST(MeasureCsv, ColumnsAreThePublishedOnes) {
  std::string text;
  for (const auto& c : columns()) text += (text.empty() ? "" : ", ") + c;
  EXPECT_EQ(
      text,
      "schema_version, run_id, timestamp_utc, experiment, machine, device, variant, operation, element_type, "
      "accumulator_type, n, offset_elements, dataset, seed, block_threads, grid_blocks, settings, timing_mode, "
      "cache_state, caller, shape_rows, shape_columns, pitch_elements, segments, gpus, "
      "n_samples, n_rejected, timer_resolution_s, time_median_s, time_ci_low_s, "
      "time_ci_high_s, time_min_s, time_p95_s, device_part_median_s, device_part_ci_low_s, device_part_ci_high_s, "
      "cycles_median, read_time_s, launch_floor_s, polled_launch_floor_s, bytes, bandwidth_bytes_per_s, "
      "share_of_read_ceiling, speedup_reference, speedup, speedup_ci_low, speedup_ci_high, speedup_enough, "
      "result, result2, abs_error, error_bound, "
      "exact_result, sum_of_magnitudes, distinct_results, status, reason");
}

TEST(MeasureCsv, ARowsCellsMatchItsColumnsAndItsKeyReadsBack) {
  Variant v = scripted::variant("a/b", 1);
  v.tunables = {Tunable::powers_of_two("block", 32, 64, 32), Tunable::choice("finish", {"x", "y"}, "y")};
  Row row;
  row.point = scripted::point(v, 1000, TimingMode::device, CacheState::warm);
  row.time_median_s = 2e-6;
  row.reason = "with, comma";
  const Fields fields = row.fields();
  ASSERT_EQ(fields.size(), columns().size());
  const auto at = [&](std::string_view name) {
    return fields[std::find(columns().begin(), columns().end(), name) - columns().begin()];
  };
  EXPECT_EQ(at("schema_version"), "3");
  EXPECT_EQ(at("settings"), "block=32;finish=y");
  EXPECT_EQ(at("bytes"), "4000");
  EXPECT_EQ(at("time_median_s"), "2e-06");
  EXPECT_EQ(at("bandwidth_bytes_per_s"), "2000000000");
  EXPECT_EQ(at("time_min_s"), "");  // missing is empty, never a number that looks like one
  EXPECT_EQ(at("block_threads"), "");
  EXPECT_EQ(at("status"), "ok");
  EXPECT_EQ(row_key(Row::parse(parse_csv(csv_record(fields)).records.at(0)).point), row_key(row.point));
}

TEST(MeasureCsv, NumbersReadBackExactly) {
  Variant v = scripted::variant("a/b", 1);
  Row row;
  row.point = scripted::point(v, 7);
  for (const double d : {0.1, 1.0 / 3, 4.096e-6, 123456789.123456789, 5e-324}) {
    row.abs_error = d;
    const Fields fields = row.fields();
    EXPECT_EQ(
        std::strtod(fields[std::find(columns().begin(), columns().end(), "abs_error") - columns().begin()].c_str(),
                    nullptr),
        d);
  }
}

}  // namespace
}  // namespace reductio
