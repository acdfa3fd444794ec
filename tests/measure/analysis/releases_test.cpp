/// Releases of CUB, compared in rows that are known.

#include "measure/analysis/releases.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/error_of.h"
#include "tests/measure/stored_row.h"

namespace reductio {
namespace {

const char* const table_of_code =
    "architecture,element_type,kernel,code,instructions,registers,load_bytes,releases\n"
    "80,f32,blocks,aaaa,10,32,16,2.7.0\n"
    "90,f32,blocks,aaaa,10,32,16,2.7.0 2.8.2\n"
    "90,f32,blocks,bbbb,12,40,16,3.10.0 3.5.0\n"
    "90,f32,finish,cccc,8,32,16,2.7.0 2.8.2 3.5.0 3.10.0\n"
    "90,i8,blocks,dddd,8,32,4,2.7.0\n";

StoredRow history_row(const std::string& variant, const std::string& settings, double seconds,
                      TimingMode mode = TimingMode::device, const std::string& experiment = "history") {
  return stored_row(variant, settings, seconds, mode, 1024, experiment, 24, 2);
}

StoredResults history_of(std::vector<StoredRow> rows) {
  StoredResults out;
  out.named = "results/a";
  out.machine = std::make_shared<nlohmann::ordered_json>(
      nlohmann::ordered_json::parse(R"({"gpu": {"compute_capability": "9.0"}})"));
  out.rows = std::move(rows);
  return out;
}

/// The records by "pair base variant timing_mode", each by column.
std::map<std::string, std::map<std::string, std::string>> by_pair(const ReleaseTable& table) {
  std::map<std::string, std::map<std::string, std::string>> out;
  for (std::size_t i = 1; i < table.records.size(); ++i) {
    std::map<std::string, std::string> record;
    for (std::size_t c = 0; c < table.records[0].size(); ++c) record[table.records[0][c]] = table.records[i][c];
    out[record["pair"] + " " + record["base"] + " " + record["variant"] + " " + record["timing_mode"]] = record;
  }
  return out;
}

TEST(MeasureReleases, the_machine_code_of_releases_is_told_apart) {
  const ReleaseCode code(table_of_code);
  using Same = ReleaseCode::Same;
  EXPECT_EQ(code.same("2.7.0", "2.8.2", ElementType::f32, 90), Same::yes);
  EXPECT_EQ(code.same("2.8.2", "3.5.0", ElementType::f32, 90), Same::no) << "one of two kernels differs";
  EXPECT_EQ(code.same("2.7.0", "2.8.2", ElementType::f32, 80), Same::unknown);
  EXPECT_EQ(code.same("2.7.0", "mine", ElementType::f32, 90), Same::unknown);
  EXPECT_EQ(code.letter("2.7.0", ElementType::f32, 90), "A");
  EXPECT_EQ(code.letter("2.8.2", ElementType::f32, 90), "A");
  EXPECT_EQ(code.letter("3.5.0", ElementType::f32, 90), "B");
  EXPECT_EQ(code.letter("3.10.0", ElementType::f32, 90), "B");
  EXPECT_EQ(code.letter("3.5.0", ElementType::i8, 90), "");
  EXPECT_EQ(code.capabilities(), (std::vector<int>{80, 90}));
  EXPECT_NE(error_of([] { ReleaseCode("architecture,code\n90,aaaa\n"); }).find("lacks element_type"),
            std::string::npos);
}

TEST(MeasureReleases, each_release_is_compared_with_the_one_before_and_the_newest) {
  const ReleaseTable table = release_table(
      history_of({history_row("cub@3.10.0/sum", "determinism=run_to_run", 2e-6), history_row("cub@2.8.2/sum", "", 4e-6),
                  history_row("cub@3.5.0/sum", "determinism=run_to_run", 2e-6), history_row("cub@2.7.0/sum", "", 4e-6),
                  history_row("cub@3.10.0/sum", "determinism=gpu_to_gpu", 3e-6), history_row("cub@mine/sum", "", 1e-6),
                  history_row("cub/sum", "", 2e-6),
                  history_row("cub@2.7.0/sum", "", 1e-6, TimingMode::device, "comparison")}),
      ReleaseCode(table_of_code), 0.95, 0.01);
  auto found = by_pair(table);
  EXPECT_EQ(found.size(), 3u + 4u + 1u);
  const std::string newest = "cub@3.10.0/sum determinism=run_to_run";
  auto same = found.at("adjacent cub@2.7.0/sum cub@2.8.2/sum device");
  EXPECT_EQ(same["verdict"], "SAME");
  EXPECT_EQ(same["same_code"], "yes");
  auto faster = found.at("adjacent cub@2.8.2/sum cub@3.5.0/sum determinism=run_to_run device");
  EXPECT_EQ(faster["verdict"], "FASTER");
  EXPECT_EQ(faster["same_code"], "no");
  EXPECT_NEAR(std::stod(faster["speedup"]), 2, 0.01);
  EXPECT_EQ(faster["base_time_s"], "4e-06");
  EXPECT_TRUE(found.contains("adjacent cub@3.5.0/sum determinism=run_to_run " + newest + " device"))
      << "releases are in the order of their numbers, not of their letters";
  EXPECT_EQ(found.at("newest cub@mine/sum " + newest + " device")["verdict"], "SLOWER");
  EXPECT_EQ(found.at("determinism " + newest + " cub@3.10.0/sum determinism=gpu_to_gpu device")["verdict"], "SLOWER");
  EXPECT_EQ(table.intervals, 8u);
  EXPECT_EQ(table.on_device.pairs, 2u);
  EXPECT_EQ(table.on_device.told_apart, 0u);
}

TEST(MeasureReleases, controls_that_are_told_apart_are_counted) {
  const auto slower = [](TimingMode mode) {
    return std::vector{history_row("cub@2.7.0/sum", "", 4e-6, mode), history_row("cub@2.8.2/sum", "", 4.4e-6, mode)};
  };
  std::vector<StoredRow> rows = slower(TimingMode::device);
  for (StoredRow& row : slower(TimingMode::end_to_end)) rows.push_back(std::move(row));
  const ReleaseTable table = release_table(history_of(rows), ReleaseCode(table_of_code), 0.95, 0.01);
  EXPECT_EQ(table.on_device.pairs, 1u);
  EXPECT_EQ(table.on_device.told_apart, 1u);
  EXPECT_EQ(table.end_to_end.pairs, 1u);
  EXPECT_EQ(table.end_to_end.told_apart, 1u);
}

TEST(MeasureReleases, a_variant_is_named_by_its_release_and_its_call) {
  EXPECT_EQ(release_of("cub@3.10.0/sum determinism=run_to_run"), "3.10.0");
  EXPECT_EQ(release_of("cub/sum"), "");
  EXPECT_EQ(call_of("cub@3.10.0/sum determinism=run_to_run"), "cub sum");
  EXPECT_EQ(call_of("thrust@2.7.0/reduce"), "thrust reduce");
}

TEST(MeasureReleases, a_folder_without_two_releases_is_refused) {
  const auto refused = error_of([] {
    release_table(history_of({history_row("cub@2.7.0/sum", "", 4e-6), history_row("cub/sum", "", 4e-6)}),
                  ReleaseCode(table_of_code), 0.95, 0.01);
  });
  EXPECT_EQ(refused, "results/a has no two releases of CUB measured together; `reductio run history` measures them");
}

}  // namespace
}  // namespace reductio
