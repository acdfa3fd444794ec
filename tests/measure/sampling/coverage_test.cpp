/// How often a row's 95 % interval holds what it is an interval of: simulated through the real sampler, so
/// with the pilot, the rule that takes the number of samples from it, and several contexts. docs/measuring.md tells
/// users the numbers; this file makes them and checks that the document holds just these.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <numbers>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "measure/sampling/sampler.h"
#include "tests/measure/scripted_timer.h"
#include "tests/sanitized.h"

namespace reductio {
namespace {

using namespace scripted;

constexpr int repeats = 2000;

/// Not the standard library's distributions, which may differ from one library to the next: the document's numbers
/// must come out the same everywhere.
class PortableRandom {
 public:
  explicit PortableRandom(std::uint64_t seed) : bits_(seed) {}
  double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }  // in (0, 1)
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  std::mt19937_64 bits_;
};

/// One run of one point, as a distribution sees it when it is asked for the next time.
struct Run {
  PortableRandom& random;
  int sample;             ///< 0 is a pilot, which is thrown away
  int context;
  std::map<int, double> shifts;  ///< of each context
  double state = 0;       ///< what one sample leaves to the next
};

/// Times of a call, in microseconds.
struct Distribution {
  std::string times, held;  ///< in the table: the times, and what the interval is asked to hold
  std::function<double(Run&)> draw;
  /// Where none is said, what the row's time is on average, of all repeats.
  std::function<double(int samples)> truth;
  /// Whether the interval holds what it says: samples are independent of each other and of the pilots and all of one
  /// distribution, or depend on each other by their context only.
  bool kept = true;
  double resolution = 1e-3;
};

std::function<double(int)> always(double time) {
  return [=](int) { return time; };
}

/// A clock that counts whole microseconds, read at an arbitrary moment of its first.
double in_ticks(double microseconds, PortableRandom& random) {
  const double begin = random.uniform();
  return std::floor(begin + microseconds) - std::floor(begin);
}

std::vector<Distribution> distributions() {
  // 1 % slower with each sample: the centre of the path that the samples 1 ... count take.
  const auto path = [](int count) { return 10 * (1 + 0.01 * (1 + count) / 2.0); };
  const auto drifting = [](Run& r) { return 10 * (1 + 0.01 * r.sample) + 0.1 * r.random.normal(); };
  return {
      {"normal, standard deviation 20 %", "the centre", [](Run& r) { return 10 + 2 * r.random.normal(); }, {}},
      {"bimodal: 8 us in 40 %, else 12 us",
       "the centre",
       [](Run& r) { return (r.random.uniform() < 0.4 ? 8 : 12) + 0.1 * r.random.normal(); },
       {}},
      {"heavy-tailed: Pareto, without a mean", "the centre", [](Run& r) { return 5 / r.random.uniform(); }, {}},
      {"constant", "the time", [](Run&) { return 10.0; }, always(10)},
      {"constant, by a clock whose resolution is a tenth of it", "the true time",
       [](Run& r) { return in_ticks(10.3, r.random); }, always(10.3), true, 1},
      {"normal, all within the clock's resolution", "the centre of the true times",
       [](Run& r) { return in_ticks(10.3 + 0.2 * r.random.normal(), r.random); }, always(10.3), true, 1},
      {"drifting by 1 % a sample, noise 1 %", "the middle of the path", drifting, path, false},
      {"drifting by 1 % a sample, noise 1 %", "the time at its start", drifting, always(10), false},
      {"each a tenth new, nine tenths the last", "the long-run centre",
       [](Run& r) {
         r.state = r.sample == 0 ? r.random.normal() : 0.9 * r.state + std::sqrt(1 - 0.81) * r.random.normal();
         return 10 + 0.2 * r.state;
       },
       always(10), false},
      {"shifted by 1 % with each context, noise 0.3 %", "the centre over all contexts",
       [](Run& r) {
         const auto [shift, unused] = r.shifts.try_emplace(r.context, 0.1 * r.random.normal());
         return 10 + shift->second + 0.03 * r.random.normal();
       },
       always(10)},
  };
}

struct Coverage {
  int held = 0, of = 0;
  std::size_t fewest = 1000, most = 0;  ///< samples
  double share() const { return held / static_cast<double>(of); }
  /// Standard deviation of a share of 95 % over this many repeats.
  double error() const { return std::sqrt(0.05 * 0.95 / of); }
};

/// Runs a point `repeats` times. What a row says of itself counts: one that tells that its interval is none of 95 % is
/// left out.
Coverage simulate(const Distribution& d, double confidence = 0.95) {
  PortableRandom random(1);
  Run run{random, 0, 0, {}};
  int of_pilots = 0;  // the context that they are made on
  Scripted script([&](std::size_t id, std::size_t) {
    if (id != 1) return 1e-6;
    return 1e-6 * d.draw(run);
  });
  script.clock().resolution = 1e-6 * d.resolution;
  script.clock().overhead_s = 0;
  script.clock().before_sample = [&](const Call& c) {
    if (c.info.grid_blocks == 1 && run.context != of_pilots) ++run.sample;
  };
  // 30 samples of 10 us, more where the pilots were faster and fewer where they were slower. No call is slow here.
  const SamplingRules rules{.min_samples = 7, .max_samples = 48, .time_budget_s = 300e-6, .slow_s = 1e9, .full = true,
                            .confidence = confidence};
  const auto backend = open_cpu();
  Sampler sampler({backend.get(), script, rules, 1});
  Variant v = variant("a", 1);
  Prepare& prepare = v.prepare[static_cast<int>(DeviceKind::cpu)];
  prepare = [&run, made = prepare](const Problem& p, const Settings& s, const DeviceInfo& d) {
    ++run.context;  // a plan for each
    return made(p, s, d);
  };
  const Point p = point(v, 1);
  struct Interval {
    double low, centre, high;
    int samples;
  };
  std::vector<Interval> found;
  double sum = 0;  // of logarithms
  for (int i = 0; i < repeats; ++i) {
    run.sample = 0;
    of_pilots = run.context + 1;
    run.shifts.clear();
    script.clock().asked.clear();
    const GroupOutcome outcome = scripted::measure(sampler, {&p});
    const Row& row = outcome.rows.at(0);
    if (row.status != Status::ok || !row.reason.empty()) continue;
    EXPECT_EQ(static_cast<std::size_t>(run.sample), row.n_samples) << "all but the pilots, which are sample 0";
    found.push_back({*row.time_ci_low_s, *row.time_median_s, *row.time_ci_high_s, run.sample});
    sum += std::log(*row.time_median_s);
  }
  Coverage out;
  for (const Interval& i : found) {
    const double truth = d.truth ? 1e-6 * d.truth(i.samples) : std::exp(sum / static_cast<double>(found.size()));
    // A constant differs from itself in the last bits, once it has been a sum of logarithms.
    out.held += i.low <= truth * (1 + 1e-9) && truth * (1 - 1e-9) <= i.high;
    ++out.of;
    out.fewest = std::min(out.fewest, static_cast<std::size_t>(i.samples));
    out.most = std::max(out.most, static_cast<std::size_t>(i.samples));
  }
  return out;
}

constexpr const char* begin_mark = "<!-- coverage, made by tests/measure/sampling/coverage_test.cpp -->\n";
constexpr const char* end_mark = "<!-- end of coverage -->\n";

/// One test, since each distribution takes long to simulate.
TEST(MeasureCoverage, IntervalsKeepTheirWordAndTheDocumentSaysHowFar) {
  LEFT_TO_RELEASE_BUILDS();
  std::string table = "| times of a call | samples | the 95 % interval holds | in |\n|---|--:|---|--:|\n";
  std::map<std::string, double> shares;
  for (const Distribution& d : distributions()) {
    const Coverage c = simulate(d);
    shares[d.times + ": " + d.held] = c.share();
    EXPECT_GT(c.of, repeats * 99 / 100) << d.times;
    if (d.kept) {
      EXPECT_GE(c.share(), 0.95 - 3 * c.error()) << d.times;
    }
    const std::string fewest = c.fewest == c.most ? "" : fmt::format("{} to ", c.fewest);
    table += fmt::format("| {} | {}{} | {} | {:.1f} % |\n", d.times, fewest, c.most, d.held, 100 * c.share());
  }
  std::ifstream file("docs/measuring.md");  // ctest runs tests in the project's root
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(begin_mark + table + end_mark), std::string::npos)
      << "docs/measuring.md does not hold what is simulated:\n" << begin_mark << table << end_mark;

  // The simulation would notice intervals that are too narrow.
  const Coverage eighty = simulate(distributions().front(), 0.8);
  EXPECT_LT(eighty.share(), 0.95 - 3 * eighty.error());
  // Nor are those of 95 % merely wide: order statistics come in steps, and so does what they cover, up to this.
  EXPECT_LT(shares.at("normal, standard deviation 20 %: the centre"), 0.985);
  // Drift is inside the interval, and dependence is not.
  EXPECT_GE(shares.at("drifting by 1 % a sample, noise 1 %: the middle of the path"), 0.95);
  EXPECT_LT(shares.at("drifting by 1 % a sample, noise 1 %: the time at its start"), 0.2);
  EXPECT_LT(shares.at("each a tenth new, nine tenths the last: the long-run centre"), 0.8);
}

}  // namespace
}  // namespace reductio
