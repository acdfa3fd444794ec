/// The tables of columns: what is written is read back, whatever else a file's header holds.

#include "measure/results/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "measure/analysis/schema_file.h"
#include "tests/error_of.h"
#include "tests/measure/scripted_timer.h"

namespace reductio {
namespace {

/// A row with a value of its own in every member.
Row full_row() {
  Row r;
  r.run_id = "run";
  r.timestamp_utc = "2000-01-01T00:00:00Z";
  r.experiment = "test";
  r.machine = "none";
  r.point.variant = "a/b";
  r.point.device = DeviceKind::cpu;
  r.point.problem = {Operation::sum_of_squares, ElementType::f64, 1000};
  r.point.settings = "block=32;finish=x";
  r.point.timing_mode = TimingMode::end_to_end;
  r.point.cache_state = CacheState::warm;
  r.point.offset_elements = 11;
  r.point.dataset = "ones";
  r.point.seed = 18446744073709551615u;
  r.point.caller = "first";
  r.point.problem.shape = {.rows = 31, .columns = 37, .pitch_elements = 41, .segments = 43};
  r.point.gpus = 2;
  r.grid_blocks = 5000000000u;
  r.block_threads = 64;
  r.n_samples = 48;
  r.n_rejected = 13;
  double value = 1.0 / 3;
  for (auto* d : {&r.timer_resolution_s,
                  &r.time_median_s,
                  &r.time_ci_low_s,
                  &r.time_ci_high_s,
                  &r.time_min_s,
                  &r.time_p95_s,
                  &r.device_part_median_s,
                  &r.device_part_ci_low_s,
                  &r.device_part_ci_high_s,
                  &r.cycles_median,
                  &r.read_time_s,
                  &r.launch_floor_s,
                  &r.polled_launch_floor_s,
                  &r.share_of_read_ceiling,
                  &r.speedup,
                  &r.speedup_ci_low,
                  &r.speedup_ci_high,
                  &r.abs_error,
                  &r.error_bound,
                  &r.exact_result,
                  &r.sum_of_magnitudes})
    *d = value /= 7;
  r.distinct_results = 17;
  r.speedup_reference = "c/d";
  r.speedup_enough = true;
  r.result = "1.5";
  r.result2 = "2.5";
  r.status = Status::impossible;
  r.reason = "with, comma";
  return r;
}

RawSample full_sample() {
  return {.run_id = "run",
          .point = full_row().point,
          .round = 7,
          .context = 5,
          .time_s = 1e-6,
          .device_part_s = 2e-6,
          .cycles = 3.5,
          .voided = true};
}

TEST(MeasureSchema, EveryColumnOfARowIsWrittenAndReadBack) {
  const Fields fields = full_row().fields();
  std::set<std::string> distinct;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    EXPECT_NE(fields[i], "") << columns()[i];
    EXPECT_TRUE(distinct.insert(fields[i]).second || columns()[i] == "accumulator_type") << columns()[i];
  }
  EXPECT_EQ(Row::parse(fields).fields(), fields);
  EXPECT_EQ(Row::parse(Row().fields()).fields(), Row().fields()) << "and where next to nothing is known";
}

TEST(MeasureSchema, TheAccumulatorOfARowIsThatOfItsOperation) {
  const auto fields_of_f32 = [](Operation operation) {
    Row r = full_row();
    r.point.problem = {operation, ElementType::f32, 1000};
    return r.fields();
  };
  const auto place = std::find(columns().begin(), columns().end(), "accumulator_type") - columns().begin();
  const auto at = static_cast<std::size_t>(place);
  EXPECT_EQ(fields_of_f32(Operation::sum)[at], "f32");
  EXPECT_EQ(fields_of_f32(Operation::wide_sum)[at], "f64");
  EXPECT_NE(row_key(Row::parse(fields_of_f32(Operation::wide_sum)).point),
            row_key(Row::parse(fields_of_f32(Operation::sum)).point));
}

TEST(MeasureSchema, EveryColumnOfARawSampleIsWrittenAndReadBack) {
  const Fields fields = fields_of(full_sample());
  EXPECT_EQ(std::count(fields.begin(), fields.end(), ""), 0);
  EXPECT_EQ(fields_of(RecordReader<RawSample>("", {sample_columns(), fields}).at(0)), fields);
}

/// Samples of two points by turns, as they are taken; what a file holds of them.
std::vector<RawSample> samples_by_turns() {
  std::vector<RawSample> samples;
  for (int i = 0; i < 6; ++i) {
    RawSample s = full_sample();
    s.round = i / 2;
    s.time_s = 1e-6 / (i + 1);
    s.voided = i == 3;
    if (i % 2 == 0) {
      s.point.variant = "other";
      s.cycles = std::nullopt;  // none of this point's samples has any, of the other one all but one
    } else if (i == 5) {
      s.cycles = std::nullopt;
    }
    samples.push_back(std::move(s));
  }
  return samples;
}

std::vector<Fields> records_of(const std::vector<RawSample>& samples) {
  return parse_csv(csv_record(sample_columns()) + csv_records(samples)).records;
}

TEST(MeasureSchema, RawSamplesAreStoredByColumnAndReadBack) {
  std::vector<RawSample> samples = samples_by_turns();
  const auto records = records_of(samples);
  ASSERT_EQ(records.size(), 3u) << "the header, and a record for each point";
  const auto field = [&](std::size_t record, const std::string& column) {
    return records[record][static_cast<std::size_t>(std::find(records[0].begin(), records[0].end(), column) -
                                                    records[0].begin())];
  };
  EXPECT_EQ(field(1, "variant"), "other") << "in the order in which they first occur";
  EXPECT_EQ(field(1, "round"), "0 1 2");
  EXPECT_EQ(field(1, "cycles"), "");
  EXPECT_EQ(field(2, "cycles"), "3.5 3.5 ");
  EXPECT_EQ(field(2, "voided"), "no yes no");

  std::stable_sort(samples.begin(), samples.end(),
                   [](const RawSample& a, const RawSample& b) { return a.point.variant > b.point.variant; });
  const std::vector<RawSample> back = samples_in("f", records);
  ASSERT_EQ(back.size(), samples.size());
  for (std::size_t i = 0; i < back.size(); ++i) EXPECT_EQ(fields_of(back[i]), fields_of(samples[i])) << i;
}

TEST(MeasureSchema, ARecordForEachRawSampleIsReadAsWell) {
  const std::vector<RawSample> samples = samples_by_turns();
  std::vector<Fields> records{sample_columns()};
  for (const RawSample& s : samples) records.push_back(fields_of(s));
  const std::vector<RawSample> back = samples_in("f", records);
  ASSERT_EQ(back.size(), samples.size());
  for (std::size_t i = 0; i < back.size(); ++i) EXPECT_EQ(fields_of(back[i]), fields_of(samples[i])) << i;
}

TEST(MeasureSchema, ListsThatDoNotFitTogetherAreToldByTheirColumns) {
  const auto told = [](const std::string& column, const std::string& field) {
    auto records = records_of(samples_by_turns());
    records[2][static_cast<std::size_t>(std::find(records[0].begin(), records[0].end(), column) - records[0].begin())] =
        field;
    return error_of([&] { samples_in("f", records); });
  };
  EXPECT_EQ(told("time_s", "1e-6 2e-6"),
            "f:3 has 2 values for time_s and 3 for round; copy the whole results folder again");
  EXPECT_EQ(told("time_s", "1e-6 2e-6 3e-6 4e-6"),
            "f:3 has 4 values for time_s and 3 for round; copy the whole results folder again");
  EXPECT_EQ(told("time_s", "1e-6 soon 3e-6"),
            "f:3: time_s is 'soon', not a finite number of 0 or more; fix or remove it");
  for (const char* bad : {"inf", "nan", "-1e-6"})
    EXPECT_EQ(told("time_s", "1e-6 " + std::string(bad) + " 3e-6"),
              "f:3: time_s is '" + std::string(bad) + "', not a finite number of 0 or more; fix or remove it");
  EXPECT_EQ(told("time_s", "1e-6 0 3e-6"), "") << "a clock that saw no time pass";
  EXPECT_EQ(told("context", "0 -1 2"), "f:3: context is '-1', not a whole number; fix or remove it");
  EXPECT_EQ(told("round", "0  2"), "f:3: round is '', not a whole number; fix or remove it");
  EXPECT_EQ(told("round", ""), "f:3: round is '', not a whole number; fix or remove it");
  EXPECT_EQ(told("time_s", ""), "") << "what all samples lack needs no separators";
}

TEST(MeasureSchema, ColumnsMayStandInAnyOrderBesideOthersAndOptionalOnesBeAbsent) {
  Fields names = columns(), fields = full_row().fields();
  std::reverse(names.begin(), names.end());
  std::reverse(fields.begin(), fields.end());
  names.insert(names.begin() + 5, "added_later");
  fields.insert(fields.begin() + 5, "whatever");
  EXPECT_EQ(RecordReader<Row>("f", {names, fields}).at(0).fields(), full_row().fields());
  std::size_t optional = 0;
  for (const auto& column : columns_of<Row>()) {
    Fields fewer_names = names, fewer = fields;
    const auto at = std::find(names.begin(), names.end(), column.name) - names.begin();
    fewer_names.erase(fewer_names.begin() + at);
    fewer.erase(fewer.begin() + at);
    optional += column.optional;
    if (column.optional)
      EXPECT_EQ(RecordReader<Row>("f", {fewer_names, fewer}).at(0).at(column.name), "");
    else
      EXPECT_EQ(error_of([&] { RecordReader<Row>("f", {fewer_names, fewer}); }),
                "f lacks the column '" + column.name + "'; measure again with this program");
  }
  EXPECT_EQ(optional, 15u) << "caller, the shape's four, GPUs, the polled floor, the speedup's five, and three of "
                              "errors and results";
}

TEST(MeasureSchema, WhatIsNoSuchValueIsToldByItsColumn) {
  const auto told = [](const std::string& column, const std::string& field) {
    Fields fields = full_row().fields();
    fields[static_cast<std::size_t>(std::find(columns().begin(), columns().end(), column) - columns().begin())] = field;
    return error_of([&] { RecordReader<Row>("f", {columns(), fields}).at(0); });
  };
  for (const char* bad : {"many", "", "-1", "-5", "1.5", "1e3"})
    EXPECT_EQ(told("n", bad), "f:2: n is '" + std::string(bad) + "', not a whole number; fix or remove it");
  for (const char* bad : {"1e-6 s", "inf", "-inf", "nan", "-1e-6"}) {
    EXPECT_EQ(told("time_median_s", bad),
              "f:2: time_median_s is '" + std::string(bad) + "', not a finite number of 0 or more; fix or remove it");
    EXPECT_EQ(told("speedup", bad),
              "f:2: speedup is '" + std::string(bad) + "', not a finite number above 0; fix or remove it");
  }
  EXPECT_EQ(told("time_median_s", "0"), "");
  EXPECT_EQ(told("speedup", "0"), "f:2: speedup is '0', not a finite number above 0; fix or remove it");
  EXPECT_EQ(told("abs_error", "inf"), "f:2: abs_error is 'inf', not a finite number; fix or remove it");
  EXPECT_EQ(told("abs_error", "0"), "");
  EXPECT_EQ(told("time_ci_low_s", "-1e-6"), "") << "a clock that is too coarse for the call";
  const std::string types = "', not one of i8, i32, i64, i128, f16, bf16, f32, f64; fix or remove it";
  EXPECT_EQ(told("element_type", "f99"), "f:2: element_type is 'f99" + types);
  EXPECT_EQ(told("accumulator_type", "f99"), "f:2: accumulator_type is 'f99" + types);
  EXPECT_EQ(told("timing_mode", "fast"),
            "f:2: timing_mode is 'fast', not one of device, graph, replay, launch_to_idle, end_to_end, "
            "clock, globaltimer; fix or remove it");
  EXPECT_EQ(told("status", "fine"),
            "f:2: status is 'fine', not one of ok, refused, over_limit, failed, wrong, impossible, "
            "timeout, no_memory; fix or remove it");
  EXPECT_EQ(told("time_median_s", ""), "");
}

TEST(MeasureSchema, EveryColumnOfThePointIsInItsKey) {
  const std::string key = row_key(full_row().point);
  std::set<std::string> keys{key};
  const auto differs = [&](auto&& change) {
    PointKey p = full_row().point;
    change(p);
    EXPECT_TRUE(keys.insert(row_key(p)).second) << row_key(p);
    return p;
  };
  EXPECT_EQ(group_key(differs([](PointKey& p) { p.variant = "x"; })), group_key(full_row().point));
  EXPECT_EQ(group_key(differs([](PointKey& p) { p.settings = "x"; })), group_key(full_row().point));
  for (const auto& other :
       {differs([](PointKey& p) { p.device = DeviceKind::cuda; }), differs([](PointKey& p) { p.seed = 2; }),
        differs([](PointKey& p) { p.problem.operation = Operation::sum; }),
        differs([](PointKey& p) { p.problem.type = ElementType::f32; }), differs([](PointKey& p) { p.problem.n = 1; }),
        differs([](PointKey& p) { p.offset_elements = 1; }), differs([](PointKey& p) { p.dataset = "x"; }),
        differs([](PointKey& p) { p.timing_mode = TimingMode::graph; }), differs([](PointKey& p) { p.caller = "x"; }),
        differs([](PointKey& p) { p.cache_state = CacheState::cold_clean; }),
        differs([](PointKey& p) { p.problem.shape.rows = 2; }),
        differs([](PointKey& p) { p.problem.shape.columns = 2; }),
        differs([](PointKey& p) { p.problem.shape.pitch_elements = 2; }),
        differs([](PointKey& p) { p.problem.shape.segments = 2; }), differs([](PointKey& p) { p.gpus = 3; })})
    EXPECT_NE(group_key(other), group_key(full_row().point));
  EXPECT_EQ(keys.size(), 1 + columns_of<PointKey>().size());
}

TEST(MeasureSchema, TimesAreWrittenToNineDigitsAndResultsToAll) {
  Row row = full_row();
  row.time_median_s = 4.738661674355529e-06;
  row.time_min_s = 3e-06;
  row.speedup = 0.98765432149;
  row.share_of_read_ceiling = 1;
  row.sum_of_magnitudes = 0.12345678901234566;
  const auto field = [&](const char* name) { return text_of(column_named<Row>(name).value(row)); };
  EXPECT_EQ(field("time_median_s"), "4.73866167e-06");
  EXPECT_EQ(field("time_min_s"), "3e-06");
  EXPECT_EQ(field("speedup"), "0.987654321");
  EXPECT_EQ(field("share_of_read_ceiling"), "1");
  EXPECT_EQ(field("sum_of_magnitudes"), "0.12345678901234566");
  for (const auto& [exact, written] : {std::pair{0.99999999996, "1"},
                                       {12345.678901234, "12345.6789"},
                                       {0.0, "0"},
                                       {0.0001234567890123, "0.000123456789"},
                                       {0.00001234567890123, "1.23456789e-05"}}) {
    row.time_min_s = exact;
    EXPECT_EQ(field("time_min_s"), written);
  }
  row.time_median_s.reset();
  EXPECT_EQ(field("time_median_s"), "");
}

TEST(MeasureSchema, ARowThatIsReadBackIsWrittenTheSame) {
  Row row = full_row();
  for (int i = 1; i < 200; ++i) {
    row.time_median_s = 1.0 / 3 / i;
    const Fields fields = row.fields();
    EXPECT_EQ(Row::parse(fields).fields(), fields) << "bandwidth, too, which is computed of the time";
  }
}

TEST(MeasureSchema, JsonHasNumbersAsNumbersAndWhatIsMissingAsNull) {
  Row row = full_row();
  row.time_median_s.reset();
  row.time_p95_s = 4.738661674355529e-06;
  row.run_id = row.point.settings = "";
  const auto json = to_json(row);
  EXPECT_EQ(json.size(), columns().size());
  EXPECT_EQ(json.at("seed").get<std::uint64_t>(), row.point.seed);
  EXPECT_EQ(json.at("abs_error").get<double>(), *row.abs_error);
  EXPECT_EQ(json.at("time_p95_s").get<double>(), 4.73866167e-06);
  EXPECT_EQ(json.at("result"), "1.5") << "text that reads back exactly, of whatever type";
  EXPECT_TRUE(json.at("time_median_s").is_null());
  EXPECT_TRUE(json.at("run_id").is_null());
  EXPECT_EQ(json.at("settings"), "") << "a variant that has none";
}

/// REDUCTIO_REWRITE=1 writes the file anew.
TEST(MeasureSchema, TheFileThatPythonReadsIsOfTheseTables) {
  const std::filesystem::path path = "src/report/schema.json";
  if (std::getenv("REDUCTIO_REWRITE")) write_whole_file(path, schema_json());
  EXPECT_EQ(content_of(path), schema_json())
      << "run REDUCTIO_REWRITE=1 reductio_tests --gtest_filter='MeasureSchema.*' in the repository's root";
  EXPECT_TRUE(nlohmann::json::accept(schema_json()));
}

}  // namespace
}  // namespace reductio
