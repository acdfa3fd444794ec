#include "measure/stats/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "measure/analysis/models.h"
#include "measure/sampling/sampler.h"
#include "tests/error_of.h"
#include "tests/measure/scripted_timer.h"
#include "tests/sanitized.h"

namespace reductio {
namespace {

constexpr double latency = 5e-6, bandwidth = 4e12;
double modelled(double bytes) { return latency + bytes / bandwidth; }

/// Sizes 2^first .. 2^last bytes; `rounds` rounds on each of `contexts` contexts, each drawn by `time`.
std::vector<SizeSamples> samples(int first, int last, const std::function<double(double bytes, int context)>& time,
                                 int contexts = 3, int rounds = 8) {
  std::vector<SizeSamples> out;
  for (int e = first; e <= last; ++e) {
    SizeSamples s{.bytes = std::ldexp(1.0, e), .by_context = {}, .resolution_s = 0};
    for (int a = 0; a < contexts; ++a) {
      s.by_context.emplace_back();
      for (int r = 0; r < rounds; ++r) s.by_context.back().push_back(time(s.bytes, a));
    }
    out.push_back(std::move(s));
  }
  return out;
}

TEST(MeasureModel, ALineIsRecoveredExactly) {
  for (const int first : {3, 12, 26}) {  // where either term may be a rounding error of the other
    std::vector<double> bytes, seconds;
    for (int e = first; e < first + 8; ++e) {
      bytes.push_back(std::ldexp(1.0, e));
      seconds.push_back(modelled(bytes.back()));
    }
    const Line line = fit_line(bytes, seconds);
    EXPECT_NEAR(line.latency_s / latency, 1, 1e-9) << first;
    if (first > 3) {
      EXPECT_NEAR(line.s_per_byte * bandwidth, 1, 1e-6) << first;
    }
  }
}

TEST(MeasureModel, ErrorsAreRelative) {
  // Three points off a line; the minimum of the sum of squared relative errors, by brute force around the answer.
  const std::vector<double> bytes{1e3, 1e6, 1e9}, seconds{5e-6, 8e-6, 2e-4};
  const auto cost = [&](const Line& line) {
    double sum = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) sum += std::pow(line.at(bytes[i]) / seconds[i] - 1, 2);
    return sum;
  };
  const Line best = fit_line(bytes, seconds);
  for (const double by : {0.999, 1.001}) {
    EXPECT_GT(cost({best.latency_s * by, best.s_per_byte}), cost(best));
    EXPECT_GT(cost({best.latency_s, best.s_per_byte * by}), cost(best));
  }
  // On absolute error the largest time would decide everything: it is met within 1e-3 there, and not here.
  EXPECT_GT(std::abs(best.at(1e9) / 2e-4 - 1), 1e-4);
}

TEST(MeasureModel, ConstantTimesGiveTheModelAndNoWidth) {
  const Model m = fit_model(samples(12, 26, [](double b, int) { return modelled(b); }), 0.95);
  EXPECT_TRUE(m.fits());
  EXPECT_LT(m.largest_residual, 1e-9);
  EXPECT_NEAR(m.latency_s.value, latency, 1e-12);
  ASSERT_TRUE(m.bandwidth_bytes_per_s && m.half_bytes);
  EXPECT_NEAR(m.bandwidth_bytes_per_s->value / bandwidth, 1, 1e-6);
  EXPECT_NEAR(m.half_bytes->value / (latency * bandwidth), 1, 1e-6);
  EXPECT_NEAR(m.latency_s.interval.high - m.latency_s.interval.low, 0, 1e-12);
}

TEST(MeasureModel, TheResolutionWidensWhatItHides) {
  auto exact = samples(12, 26, [](double b, int) { return modelled(b); });
  for (SizeSamples& s : exact) s.resolution_s = 1e-6;
  const Interval i = fit_model(exact, 0.95).latency_s.interval;
  EXPECT_GT(i.high - i.low, 1e-7);
  EXPECT_LT(i.high - i.low, 1e-6);  // fifteen sizes tell more than one
}

/// The share of 300 trials whose intervals hold the truth: of the latency, the bandwidth and the half-performance size.
std::vector<double> coverage(double noise, double per_context, int contexts, int rounds) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 1);
  constexpr int trials = 300;
  std::vector<double> held(3);
  for (int t = 0; t < trials; ++t) {
    std::vector<double> of_context;
    double last = 0;
    const auto data = samples(
        14, 26,
        [&](double b, int context) {
          if (b != last) {  // each size has contexts of its own
            of_context.clear();
            last = b;
          }
          const auto a = static_cast<std::size_t>(context);
          while (of_context.size() <= a) of_context.push_back(per_context * normal(random));
          return modelled(b) * (1 + of_context[a] + noise * normal(random));
        },
        contexts, rounds);
    const Model m = fit_model(data, 0.95, 200, static_cast<std::uint64_t>(t));
    const auto holds = [](const Estimate& e, double truth) {
      return e.interval.low <= truth && truth <= e.interval.high;
    };
    held[0] += holds(m.latency_s, latency) / double(trials);
    held[1] += m.bandwidth_bytes_per_s && holds(*m.bandwidth_bytes_per_s, bandwidth) ? 1 / double(trials) : 0;
    held[2] += m.half_bytes && holds(*m.half_bytes, latency * bandwidth) ? 1 / double(trials) : 0;
  }
  return held;
}

TEST(MeasureModel, IntervalsCoverTheTruthAsOftenAsTheySay) {
  LEFT_TO_RELEASE_BUILDS();
  // The numbers that model.h states, less three standard deviations of 300 trials. Rounds independent: drawing
  // contexts first makes the intervals a little too wide, never too narrow.
  for (const double share : coverage(0.02, 0, 3, 8)) EXPECT_GE(share, 0.97);
  // Allocations differ by more than rounds: three of them tell too little about how much.
  for (const double share : coverage(0.01, 0.02, 3, 8)) EXPECT_GE(share, 0.87);
  for (const double share : coverage(0.01, 0.02, 12, 2)) EXPECT_GE(share, 0.94);
}

TEST(MeasureModel, WhatIsNoLineIsSaidNotToFit) {
  // A second launch from 2^18 bytes on.
  const Model m =
      fit_model(samples(12, 26, [](double b, int) { return modelled(b) + (b >= 1 << 18 ? 3e-6 : 0); }), 0.95);
  EXPECT_FALSE(m.fits());
  EXPECT_GT(m.largest_residual, 0.15);
  // 4 % off at one size is within the 5 % that a model may be off.
  const auto once_off = [](double b, int) { return modelled(b) * (b == 1 << 20 ? 1.04 : 1); };
  EXPECT_TRUE(fit_model(samples(12, 26, once_off), 0.95).fits());
}

TEST(MeasureModel, ATimeThatDoesNotGrowHasNoBandwidthAndAFallingOneNoHalf) {
  const Model flat = fit_model(samples(3, 8, [](double b, int) { return 5e-6 - b * 1e-12; }), 0.95);
  EXPECT_FALSE(flat.bandwidth_bytes_per_s);
  EXPECT_FALSE(flat.half_bytes);
  const Model slower = fit_model(samples(26, 32, [](double b, int) { return b / bandwidth - 4e-6; }), 0.95);
  EXPECT_LT(slower.latency_s.value, 0);
  EXPECT_TRUE(slower.bandwidth_bytes_per_s);
  EXPECT_FALSE(slower.half_bytes);
}

TEST(MeasureModel, TooFewSizesAndBadConfidencesAreErrors) {
  const auto exact = [](double b, int) { return modelled(b); };
  EXPECT_THROW(fit_model(samples(12, 14, exact), 0.95), UsageError);
  for (const double bad : {0.0, 1.0, std::nan("")}) EXPECT_THROW(fit_model(samples(12, 20, exact), bad), UsageError);
}

// ------------------------------------------------------------------------------------------------------- models.csv

const std::string& field(const Fields& record, const std::string& column) {
  const auto& names = model_columns();
  return record.at(static_cast<std::size_t>(std::find(names.begin(), names.end(), column) - names.begin()));
}

/// A results folder, written by a run whose clock follows the model; 2 us slower beyond 4 KiB.
std::filesystem::path measured(const scripted::Folder& folder) {
  static const Variant fast = scripted::variant("a/fast", 1);
  scripted::Scripted script([](std::size_t id, std::size_t bytes) {
    const double b = static_cast<double>(bytes);
    if (id == scripted::floor_id) return 1e-6;
    if (id >= scripted::reader_id) return 1e-6 + b / 4e9;
    return (b > 4096 ? 4e-6 : 2e-6) + b / 2e9;
  });
  script.calls().kernels_that_read = 2;
  std::vector<Point> points;
  for (const std::size_t n : {64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384})
    points.push_back(scripted::point(fast, n, TimingMode::device));
  auto session = scripted::session(folder, points, std::move(script));
  session.machine.cpu.last_level_cache_bytes = 4096;
  scripted::Heard heard;
  run_session(std::move(session), heard);
  return folder.path() / "scripted";
}

TEST(MeasureModel, AFolderGivesOneModelOnEachSideOfTheCacheAndTheCeilings) {
  const scripted::Folder folder;
  const auto table = model_table(read_results(measured(folder)), 0.95).records;
  ASSERT_EQ(table.size(), 4u);
  const Fields &ceiling_in = table[0], &ceiling_out = table[1], &in = table[2], &out = table[3];
  for (const Fields& r : table) EXPECT_EQ(r.size(), model_columns().size());
  EXPECT_EQ(field(ceiling_in, "variant"), "(read-ceiling)");
  EXPECT_EQ(field(in, "variant"), "a/fast");
  EXPECT_EQ(field(in, "range"), "inside");
  EXPECT_EQ(field(in, "n_sizes"), "5");
  EXPECT_EQ(field(in, "n_largest"), "1024");  // 4096 bytes, which the cache just holds
  EXPECT_EQ(field(in, "status"), "ok");
  EXPECT_NEAR(std::stod(field(in, "latency_s")), 2e-6, 1e-10);
  EXPECT_NEAR(std::stod(field(in, "bandwidth_bytes_per_s")), 2e9, 1e6);
  EXPECT_NEAR(std::stod(field(in, "half_performance_n")), 1000, 2);
  EXPECT_EQ(field(out, "range"), "beyond");
  EXPECT_EQ(field(out, "n_sizes"), "4");
  EXPECT_NEAR(std::stod(field(out, "latency_s")), 4e-6, 1e-10);
  EXPECT_NEAR(std::stod(field(ceiling_out, "bandwidth_bytes_per_s")), 4e9, 1e6);
}

TEST(MeasureModel, WhatDoesNotFitHasNoNumbersButTheResidual) {
  const scripted::Folder folder;
  auto results = read_results(measured(folder));
  (*results.machine)["cpu"]["last_level_cache_bytes"] = 0;  // unknown: one model over the jump
  const auto table = model_table(results, 0.95).records;
  ASSERT_EQ(table.size(), 2u);
  const Fields& r = table[1];
  EXPECT_EQ(field(r, "range"), "all");
  EXPECT_EQ(field(r, "status"), "does_not_fit");
  EXPECT_EQ(field(r, "latency_s"), "");
  EXPECT_EQ(field(r, "bandwidth_bytes_per_s"), "");
  EXPECT_GT(std::stod(field(r, "largest_residual")), 0.05);
  EXPECT_NE(field(r, "reason").find("more than 5 %"), std::string::npos);
  (*results.machine)["cpu"]["last_level_cache_bytes"] = 512;
  const auto few = model_table(results, 0.95).records;
  EXPECT_EQ(field(few[2], "status"), "too_few_sizes");
  EXPECT_EQ(field(few[2], "reason"), "fitting takes 4 sizes");
}

TEST(MeasureModel, TheTableIsTheSameEachTime) {
  const scripted::Folder folder;
  const auto path = measured(folder);
  EXPECT_EQ(model_table(read_results(path), 0.95).records, model_table(read_results(path), 0.95).records);
}

TEST(MeasureModel, ASeriesOfTooFewSizesOnBothSidesHasNoRecordAndIsCounted) {
  const scripted::Folder folder;
  auto results = read_results(measured(folder));
  EXPECT_EQ(model_table(results, 0.95).left_out, 0u);
  std::erase_if(results.rows, [](const StoredRow& row) { return row.row.point.problem.n > 8192; });  // leaves 5 and 3
  const auto one_side = model_table(results, 0.95);
  EXPECT_EQ(one_side.left_out, 0u);
  ASSERT_EQ(one_side.records.size(), 4u);
  EXPECT_EQ(field(one_side.records[3], "status"), "too_few_sizes");
  std::erase_if(results.rows, [](const StoredRow& row) { return row.row.point.problem.n < 256; });  // leaves 3 and 3
  const auto neither = model_table(results, 0.95);
  EXPECT_EQ(neither.left_out, 2u) << "the variant and the read ceiling";
  EXPECT_TRUE(neither.records.empty());
}

// --------------------------------------------------------------------------------------------------- damaged folders

void edit(const std::filesystem::path& path, const std::function<std::string(std::string)>& change) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  in.close();
  std::ofstream(path, std::ios::binary) << change(text);
}

TEST(MeasureStored, RowsComeBackWithTheirSamples) {
  const scripted::Folder folder;
  const auto results = read_results(measured(folder));
  ASSERT_EQ(results.rows.size(), 9u);
  const StoredRow& row = results.rows.front();
  EXPECT_EQ(row.row.at("variant"), "a/fast");
  EXPECT_EQ(row.row.point.problem.n, 64u);
  EXPECT_EQ(row.seconds.size(), row.row.n_samples);
  EXPECT_EQ(row.read_s.size(), row.seconds.size());
  EXPECT_DOUBLE_EQ(median(std::vector<double>{*row.seconds[0]}), *row.row.time_median_s);
  EXPECT_EQ(row.contexts.front(), 0);
  EXPECT_EQ(row.contexts.back(), 11);
  EXPECT_THROW(row.row.at("nothing"), std::out_of_range);
}

/// Rewrites the records of a folder's raw samples, header included, as those that `change` makes of them.
/// Whose files then may be edited.
void forget_hashes(const std::filesystem::path& path) {
  edit(path / "machine.json", [](const std::string& text) {
    auto json = nlohmann::ordered_json::parse(text);
    for (auto& run : json["runs"]) run.erase("sha256");
    return json.dump(2);
  });
}

void edit_samples(const std::filesystem::path& path, const std::function<std::string(std::vector<Fields>)>& change) {
  forget_hashes(path);
  edit(path / "test.samples.csv.gz",
       [&](const std::string& compressed) { return gzip_member(change(parse_csv(gunzip(compressed)).records)); });
}

TEST(MeasureStored, VoidedRoundsAreLeftOut) {
  for (const bool voided : {true, false}) {
    const scripted::Folder folder;
    const auto path = measured(folder);
    const ByRound before = read_results(path).rows.front().seconds;
    edit_samples(path, [&](std::vector<Fields> records) {
      std::vector<RawSample> samples;
      for (const RawSample& sample : samples_in("the samples", std::move(records))) {
        samples.push_back(sample);
        samples.push_back(sample);  // the same round once more, in which everything took a second
        samples.back().time_s = 1;
        samples.back().voided = voided;
      }
      return csv_record(sample_columns()) + csv_records(samples);
    });
    EXPECT_EQ(read_results(path).rows.front().seconds == before, voided);
  }
}

TEST(MeasureStored, SamplesFromBeforeClocksWereWatchedAreRead) {
  const scripted::Folder folder;
  const auto path = measured(folder);
  const ByRound before = read_results(path).rows.front().seconds;
  edit_samples(path, [](std::vector<Fields> records) {
    std::string text;
    for (Fields& record : records) {
      record.resize(17);  // without voided and what came after it
      text += csv_record(record);
    }
    return text;
  });
  EXPECT_EQ(read_results(path).rows.front().seconds, before);
}

TEST(MeasureStored, AnEditedFileIsToldByItsHashAndARunThatDidNotEndHasNone) {
  const scripted::Folder folder;
  const auto path = measured(folder);
  const auto told = [&] { return error_of([&] { read_results(path); }); };
  const std::string rows = *content_of(path / "test.csv"), samples = *content_of(path / "test.samples.csv.gz");
  const auto doubled = [](std::string text) {  // the first median, and the first time: values like any other
    const auto at = text.find("e-05");
    return text.replace(at, 4, "e-04");
  };
  const std::string id = parse_csv(rows).records.at(1).at(1);
  const auto changed = [&](const char* file) {
    return (path / file).string() + " is not as run " + id +
           " wrote it, by the SHA-256 in machine.json: it was edited, or is of another copy; copy the whole results "
           "folder again";
  };
  EXPECT_EQ(told(), "");
  write_whole_file(path / "test.csv", doubled(rows));
  EXPECT_EQ(told(), changed("test.csv"));
  write_whole_file(path / "test.csv", "\xef\xbb\xbf" + rows);
  EXPECT_EQ(told(), "") << "a byte-order mark does no harm";
  write_whole_file(path / "test.samples.csv.gz", gzip_member(doubled(gunzip(samples))));
  EXPECT_EQ(told(), changed("test.samples.csv.gz"));
  write_whole_file(path / "test.samples.csv.gz", gzip_member(gunzip(samples)));
  EXPECT_EQ(told(), "") << "compressed in another way it is the same";
  const std::string other = rows + std::string(csv_record([&] {
                              Fields fields = parse_csv(rows).records.at(1);
                              fields[1] = "another run";
                              fields[6] = "a/other";
                              fields[std::find(columns().begin(), columns().end(), "status") - columns().begin()] =
                                  "refused";
                              return fields;
                            }()));
  write_whole_file(path / "test.csv", other);
  EXPECT_EQ(told(), "") << "with another run's rows";
  write_whole_file(path / "test.csv", doubled(rows));
  forget_hashes(path);
  EXPECT_EQ(told(), "");
}

TEST(MeasureStored, AFolderOfAnotherSchemaVersionSaysWhichProgramReadsIt) {
  const scripted::Folder folder;
  const auto path = measured(folder);
  edit(path / "machine.json", [](const std::string& text) {
    auto json = nlohmann::ordered_json::parse(text);
    json["schema_version"] = 2;
    json["build"]["git_revision"] = "0123456789abcdef";
    return json.dump(2);
  });
  EXPECT_EQ(error_of([&] { read_results(path); }),
            (path / "machine.json").string() +
                " has schema version 2, this program reads 3: measure anew, or use the "
                "program that wrote it (commit 01234567)");
}

TEST(MeasureStored, ACompressedTableIsReadAndNotAddedTo) {
  const scripted::Folder folder;
  const auto path = measured(folder);
  const auto csv = path / "test.csv", compressed = path / "test.csv.gz";
  const ByRound before = read_results(path).rows.front().seconds;
  write_whole_file(compressed, gzip_member(*content_of(csv)));
  std::filesystem::remove(csv);
  EXPECT_EQ(read_results(path).rows.size(), 9u);
  EXPECT_EQ(read_results(path).rows.front().seconds, before);
  EXPECT_NE(
      error_of([&] { measured(folder); }).find("test.csv.gz already has this experiment's rows, compressed; gunzip it"),
      std::string::npos);
  const std::string whole = *content_of(compressed);
  write_whole_file(compressed, whole.substr(0, whole.size() - 3));
  EXPECT_NE(error_of([&] { read_results(path); }).find("test.csv.gz was cut"), std::string::npos);
}

TEST(MeasureStored, WhatIsMissingCutOrForeignIsOneClearLine) {
  struct Damage {
    std::string what, file;
    std::function<std::string(std::string)> change;  ///< empty: the file is removed
    std::string says;
  };
  const auto replaced = [](const std::string& from, const std::string& to) {
    return [=](std::string text) {
      const auto at = text.find(from);
      return at == std::string::npos ? text : text.replace(at, from.size(), to);
    };
  };
  for (const Damage& d : std::vector<Damage>{
           {"no machine", "machine.json", {}, "is"},
           {"machine cut", "machine.json", [](std::string t) { return t.substr(0, 40); }, "machine.json is damaged"},
           {"no rows", "test.csv", {}, "copy the whole results folder"},
           {"empty", "test.csv", [](std::string) { return ""; }, "is empty"},
           {"a cut row", "test.csv", [](std::string t) { return t.substr(0, t.size() - 20); }, "a row that was cut"},
           {"other columns", "test.csv", replaced("variant", "kernel"), "lacks the column 'variant'"},
           {"no header", "test.csv", [](std::string t) { return t.substr(t.find('\n') + 1); },
            "test.csv has no header: its first line names no column, as schema_version does"},
           {"another schema", "test.csv", replaced("\n3,", "\n2,"),
            "test.csv has schema version 2, this program reads 3: measure anew, or use the program that wrote it"},
           {"a lost field", "test.csv", replaced(",random,", ","), ":2:1: 56 fields where 57 belong"},
           {"no number", "test.csv", replaced(",64,", ",many,"), ":2: n is 'many', not a whole number"},
           {"no samples", "test.samples.csv.gz", {}, "lacks the raw samples of 9 of the 9 timed rows of test.csv"},
           {"samples cut", "test.samples.csv.gz", [](std::string t) { return t.substr(0, t.size() - 9); },
            "lacks the raw samples of 1 of the 9"},
           {"other samples", "test.samples.csv.gz", [](std::string) { return gzip_member("a,b\n1,2\n"); },
            "test.samples.csv.gz has no header: its first line names no column, as run_id does"}}) {
    const scripted::Folder folder;
    const auto path = measured(folder);
    if (d.change)
      edit(path / d.file, d.change);
    else
      std::filesystem::remove(path / d.file);
    try {
      read_results(path);
      ADD_FAILURE() << d.what << ": no complaint";
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find(d.says), std::string::npos) << d.what << ": " << e.what();
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << d.what;
    }
  }
  EXPECT_THROW(read_results("/nowhere/at/all"), UsageError);
}

}  // namespace
}  // namespace reductio
