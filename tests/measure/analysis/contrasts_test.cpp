/// Lists of contrasts, read and applied to rows that are known.

#include "measure/analysis/contrasts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "measure/stats/ratio.h"
#include "tests/error_of.h"
#include "tests/measure/stored_row.h"

namespace reductio {
namespace {

constexpr int each = 3;  // samples of a context that stored_row() gives

StoredResults folder(std::vector<StoredRow> rows) {
  StoredResults out;
  out.machine =
      std::make_shared<nlohmann::ordered_json>(nlohmann::ordered_json::parse(R"({"gpu": {"sm_count": 132}})"));
  out.rows = std::move(rows);
  return out;
}

TimedRounds rounds(const StoredRow& row) { return {row.seconds, row.contexts, 1e-9}; }

/// A list of one group, with these contrasts and whatever else the group has.
std::string list(const std::string& contrasts, const std::string& more = R"("timing_mode": "device", "n": [1024])") {
  return R"({"effects": {"device": 0.02}, "groups": [{"experiments": ["levels", "comparison"], )"
         R"("element_type": "f32", )" +
         more + R"(, "contrasts": {)" + contrasts + "}}]}";
}

/// The records by name and n, each by column.
std::map<std::string, std::map<std::string, std::string>> summarized(const std::string& text,
                                                                     const StoredResults& results) {
  const auto table = contrast_table(contrasts_in(text, "the list"), results, results);
  std::map<std::string, std::map<std::string, std::string>> out;
  for (std::size_t i = 1; i < table.size(); ++i) {
    std::map<std::string, std::string> record;
    for (std::size_t c = 0; c < table[0].size(); ++c) record[table[0][c]] = table[i][c];
    out[record["name"] + " " + record["n"]] = record;
  }
  return out;
}

std::string six(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

TEST(MeasureContrasts, APairIsASpeedupAndOnePointATime) {
  const StoredRow a = stored_row("levels/a", "block=64;finish=atomic", 3e-6),
                  b = stored_row("levels/b", "block=528", 2e-6);
  const auto found = summarized(list(R"("gain": [[1, "levels/a:finish=atomic"], [-1, "levels/b:block=4*SMs"]],
                                        "time": [[1, "levels/a"]])"),
                                folder({a, b}));
  const Ratio wanted = paired_ratio(rounds(a), rounds(b), 0.95);
  auto gain = found.at("gain 1024");
  EXPECT_EQ(gain["value"], six(wanted.value));
  EXPECT_EQ(gain["ci_low"], six(wanted.interval.low));
  EXPECT_EQ(gain["ci_high"], six(wanted.interval.high));
  EXPECT_LT(wanted.interval.high / wanted.interval.low, 1.01) << "what contexts have in common is in neither";
  EXPECT_EQ(gain["verdict"], "FASTER");
  EXPECT_EQ(gain["enough"], "yes");
  EXPECT_EQ(gain["contexts"], "12");
  EXPECT_EQ(gain["experiment"], "levels");
  EXPECT_EQ(gain["reason"], "");
  auto time = found.at("time 1024");
  EXPECT_NEAR(std::stod(time["value"]), 3e-6, 1e-6);
  EXPECT_EQ(time["verdict"], "");
}

TEST(MeasureContrasts, AGroupIsOfOneDataset) {
  const StoredRow a = stored_row("levels/a", "", 3e-6), b = stored_row("levels/b", "", 2e-6);
  StoredRow far_a = stored_row("levels/a", "", 9e-6), far_b = stored_row("levels/b", "", 3e-6);
  far_a.row.point.dataset = far_b.row.point.dataset = "scaled:2^70";
  const std::string gain = R"("gain": [[1, "levels/a"], [-1, "levels/b"]])";
  const auto value = [&](const std::string& dataset) {
    const auto found =
        summarized(list(gain, R"("timing_mode": "device", "n": [1024])" + dataset), folder({a, b, far_a, far_b}));
    return found.at("gain 1024").at("value");
  };
  EXPECT_NEAR(std::stod(value("")), 1.5, 0.02);
  EXPECT_NEAR(std::stod(value(R"(, "dataset": "scaled:2^70")")), 3, 0.04);
  EXPECT_EQ(value(R"(, "dataset": "giants")"), "");
}

TEST(MeasureContrasts, PartsRestsAndCyclesAreTimesOfTheirOwn) {
  const StoredRow whole = stored_row("levels/a", "", 4e-6, TimingMode::end_to_end),
                  read = stored_row("levels/a", "", 4e-6, TimingMode::clock);
  const auto found = summarized(list(R"("part": [[1, "levels/a", "device_part"]], "rest": [[1, "levels/a", "rest"]],
                                        "whole": [[1, "levels/a"]],
                                         "rate": [[1, "levels/a", "clock"], [-1, "levels/a"]])",
                                     R"("timing_mode": "end_to_end", "n": "all")"),
                                folder({whole, read}));
  const auto value = [&](const char* name) { return std::stod(found.at(std::string(name) + " 1024").at("value")); };
  EXPECT_NEAR(value("part"), value("whole") / 4, 1e-11);
  EXPECT_NEAR(value("rest"), value("whole") * 3 / 4, 1e-11);
  EXPECT_NEAR(value("rate"), 1e9, 1e4);
}

TEST(MeasureContrasts, StarsGiveTheMeanOverAllPairsThatWereMeasured) {
  const StoredRow ax = stored_row("ablation/a+x", "", 4e-6), bx = stored_row("ablation/b+x", "", 2e-6),
                  ay = stored_row("ablation/a+y", "", 9e-6), by = stored_row("ablation/b+y", "", 3e-6),
                  az = stored_row("ablation/a+z", "", 5e-6);  // without its other half
  const auto found =
      summarized(list(R"("effect": [[1, "ablation/a+*"], [-1, "ablation/b+*"]])"), folder({ax, bx, ay, by, az}));
  const TimedRounds r[] = {rounds(ax), rounds(bx), rounds(ay), rounds(by)};
  const Factor factors[] = {{0.5, &r[0]}, {-0.5, &r[1]}, {0.5, &r[2]}, {-0.5, &r[3]}};
  auto effect = found.at("effect 1024");
  EXPECT_EQ(effect["value"], six(product_of(factors, 0.95).value));
  EXPECT_NEAR(std::stod(effect["value"]), std::sqrt(2 * 3), 0.01);
  EXPECT_EQ(effect["pairs"], "2");
}

TEST(MeasureContrasts, ForMakesOneOfEachValueAndAllTakesEverySize) {
  std::vector<StoredRow> rows;
  for (const std::size_t n : {1024u, 4096u})
    for (const int block : {64, 128})
      for (const char* variant : {"levels/a", "levels/b"})
        rows.push_back(stored_row(variant, "block=" + std::to_string(block), 1e-6 * block, TimingMode::device, n));
  const auto found =
      summarized(list(R"("gain.{block}": [[1, "levels/a:block={block}"], [-1, "levels/b:block={block}"]])",
                      R"("timing_mode": "device", "n": "all", "for": {"block": [64, 128]})"),
                 folder(rows));
  EXPECT_EQ(found.size(), 4u);
  for (const char* key : {"gain.64 1024", "gain.64 4096", "gain.128 1024", "gain.128 4096"})
    EXPECT_NEAR(std::stod(found.at(key).at("value")), 1, 0.01) << key;
}

TEST(MeasureContrasts, TheFirstExperimentThatHasAllPointsAnswersAndWhatIsLackingIsSaid) {
  StoredRow refused = stored_row("levels/c", "", 1e-6);
  refused.row.status = Status::refused;
  refused.row.reason = "planted";
  StoredResults results =
      folder({stored_row("levels/a", "", 2e-6, TimingMode::device, 1024, "comparison"),
              stored_row("levels/b", "", 1e-6, TimingMode::device, 1024, "comparison"),
              stored_row("levels/b", "block=1", 1e-6), stored_row("levels/b", "block=2", 1e-6), refused});
  const auto reason = [&](const std::string& points,
                          const std::string& more = R"("timing_mode": "device", "n": [1024])") {
    auto record = summarized(list(R"("x": )" + points, more), results).at("x 1024");
    EXPECT_EQ(record["value"], "");
    return record["reason"];
  };
  EXPECT_EQ(summarized(list(R"("x": [[1, "levels/a"], [-1, "levels/b"]])"), results).at("x 1024")["experiment"],
            "comparison");
  EXPECT_EQ(summarized(list(R"("x": [[1, "levels/b"]])"), results).at("x 1024")["experiment"], "comparison")
      << "as levels has two";
  EXPECT_NE(reason(R"([[1, "levels/c"]])").find("levels.csv has no time of levels/c (device, n = 1024): planted"),
            std::string::npos);
  EXPECT_NE(reason(R"([[1, "levels/d*"]])").find("has no variants that differ"), std::string::npos);
  EXPECT_NE(reason(R"([[1, "levels/b:block=1"], [-1, "levels/b:block=1"]])").find("does not tell its points apart"),
            std::string::npos);
  results.without_samples = {"levels"};
  std::erase_if(results.rows, [](const StoredRow& row) { return row.row.experiment == "levels"; });
  EXPECT_NE(reason(R"([[1, "levels/c"]])").find("no raw samples of levels"), std::string::npos);
  results.rows.clear();
  results.without_samples.clear();
  EXPECT_EQ(reason(R"([[1, "levels/c"]])"), "no levels.csv; no comparison.csv");
}

TEST(MeasureContrasts, TimesOfDifferentRunsMakeNoRatioAndFewContextsNoInterval) {
  StoredRow a = stored_row("levels/a", "", 2e-6), b = stored_row("levels/b", "", 1e-6);
  const std::string pair = list(R"("x": [[1, "levels/a"], [-1, "levels/b"]])");
  StoredRow few_a = a, few_b = b;
  for (StoredRow* row : {&few_a, &few_b}) {
    row->seconds.resize(3 * each);
    row->contexts.resize(3 * each);
  }
  auto few = summarized(pair, folder({few_a, few_b})).at("x 1024");
  EXPECT_EQ(few["enough"], "no");
  EXPECT_EQ(few["verdict"], "UNDECIDED");
  EXPECT_EQ(few["reason"], "too few contexts for an interval: 3, it takes 6");
  b.row.run_id = "another";
  EXPECT_EQ(summarized(pair, folder({a, b})).at("x 1024")["reason"],
            "levels.csv has levels/a and levels/b from different runs; no comparison.csv");
  b.row.run_id = a.row.run_id;
  ++b.row.point.seed;
  EXPECT_EQ(summarized(pair, folder({a, b})).at("x 1024")["reason"],
            "levels.csv has levels/a and levels/b from different seeds; no comparison.csv");
}

TEST(MeasureContrasts, WhatIsMalformedIsOneClearLine) {
  const auto error = [](const std::string& text) { return error_of([&] { contrasts_in(text, "the list"); }); };
  EXPECT_EQ(error("["), "the list: is not a JSON object");
  EXPECT_EQ(error(R"({"effects": {}})"), "the list: lacks 'groups'");
  const std::string device = R"("timing_mode": "device", "n": [1024])";
  EXPECT_EQ(error(list(R"("x": [[1]])", device)),
            "the list: group 1: x: a point is [power, call] or [power, call, way], and not [1]");
  EXPECT_NE(error(list(R"("x": [[1, "a/b", "soon"]])", device)).find("the list: group 1: x: "), std::string::npos);
  EXPECT_NE(error(list(R"("x": [[1, "a/b:block"]])", device)).find("malformed setting 'block'"), std::string::npos);
  EXPECT_EQ(error(list(R"("x": [[1, "a/*"], [-1, "a/b"]])", device)),
            "the list: group 1: x: its points have different numbers of '*'");
  EXPECT_EQ(error(list(R"("x": [[1, "a/b"]])", R"("timing_mode": "device", "n": "some")")),
            "the list: group 1: 'n' is malformed");
  EXPECT_EQ(error(list(R"("x": [[1, "a/b"]])", R"("timing_mode": "device", "n": "all", "for": {"block": []})")),
            "the list: group 1: 'for' has no list of values for block");
  EXPECT_EQ(error(list(R"("x": [[1, "a/{k}"]], "y": [[1, "a/c"]])",
                       R"("timing_mode": "device", "n": "all", "for": {"k": [1, 2]})")),
            "the list: group 1: the name x stands twice");
}

}  // namespace
}  // namespace reductio
