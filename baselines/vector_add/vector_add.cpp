/// vector_add: what unrolling by hand gains where iterations do not wait for each other, on one core of the CPU. The
/// opening examples of two documents add vectors, a[i] = b[i] + c[i]: twopass holds that unrolling makes such a loop
/// faster (claim T5), unroll that on the host nothing is to be seen (U7). It is no reduction, so no variant.
///
///   build/bin/vector_add out/results/MACHINE        # writes vector_add.csv and its raw samples there
///   build/bin/vector_add out/here 6 2^10            # fewer contexts than 48, and other sizes
///
/// g++ and clang++, as far as CMake finds them, compile the loops at -O0 to -O3; all are timed in the same rounds. Rows
/// and samples are as an experiment's. `operation` says sum, because each row has one: nothing is added up. Of the
/// loops (baselines/host_loops.h) host/add-plain takes one element a turn, host/add-unroll2 two, as in twopass, and
/// host/add-unroll4 four, as in unroll. n counts the elements of b and c together. Vectors are warm, and new in each
/// context, which is no more than that here. 200 and 2000 are the examples of the documents: vectors of 100 and 1000
/// elements. Every fourth context alone has long vectors, since they take seconds.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "baselines/host_loops.h"
#include "core/error.h"
#include "core/parse.h"
#include "device/backend.h"
#include "measure/results/writer.h"
#include "measure/sampling/summarise.h"
#include "measure/timing/host_clock.h"

namespace reductio {

// REDUCTIO_LOOPS: LOOP(gcc, O2) and so on, each of what CMake had compiled of baselines/host_loops.cpp.
#define LOOP(compiler, level) HostVectorAdd compiler##_##level(HostAdd, ElementType);
REDUCTIO_LOOPS
#undef LOOP

namespace {

constexpr double least_interval_s = 20e-6;
constexpr int calls_of_short_vectors = 10'000;  // in a sample: a call takes a tenth of a microsecond
constexpr std::size_t short_vectors = 1U << 12;
constexpr int rounds_of_a_context = 2, contexts_to_one_of_long_vectors = 4;

struct Level {
  const char *compiler, *name;
  HostVectorAdd (*pick)(HostAdd, ElementType);
};
constexpr Level levels[] = {
#define LOOP(compiler, level) {#compiler, #level, compiler##_##level},
    REDUCTIO_LOOPS
#undef LOOP
};
struct Loop {
  const char* name;
  HostAdd how;
};
constexpr Loop loops[] = {{"host/add-plain", HostAdd::plain},
                          {"host/add-unroll2", HostAdd::unroll2},
                          {"host/add-unroll4", HostAdd::unroll4}};

/// Every loop at every level, timed in the same rounds.
struct Adds {
  Problem problem;
  std::vector<HostVectorAdd> calls{};
  GroupSamples samples{};

  explicit Adds(const Problem& p) : problem(p) {
    samples.resolution_s = host_clock_resolution_s();
    for (const Level& level : levels)
      for (const Loop& loop : loops) {
        calls.push_back(level.pick(loop.how, p.type));
        PointKey& point = samples.points.emplace_back().row.point;
        point.variant = loop.name;
        point.device = DeviceKind::cpu;
        point.problem = p;
        point.settings = fmt::format("compiler={};level={}", level.compiler, level.name);
        point.timing_mode = TimingMode::end_to_end;
        point.cache_state = CacheState::warm;
        point.dataset = "random";
      }
  }

  std::string name_of(std::size_t i) const {
    const PointKey& point = samples.points[i].row.point;
    return point.variant + " at " + point.settings;
  }
};

/// Among so many calls, or more where their interval is too short for the clock.
template <class Function>
Sample time_of(int least_calls, Function&& call) {
  Sample s;
  for (s.calls = least_calls;; s.calls *= 2) {
    const double begin = host_now();
    for (int i = 0; i < s.calls; ++i) call();
    s.timed_s = host_now() - begin;
    s.seconds = s.timed_s / s.calls;
    if (s.timed_s >= least_interval_s) return s;
  }
}

template <class T>
void run_context(Adds& adds, int context, std::mt19937& random) {
  const std::size_t half = adds.problem.n / 2;
  std::vector<T> a(half), b(half), c(half), sums(half);
  for (std::size_t i = 0; i < half; ++i) {
    b[i] = static_cast<T>(random() % 1000);
    c[i] = static_cast<T>(random() % 1000);
    sums[i] = b[i] + c[i];
  }
  std::vector<std::size_t> order(adds.calls.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int k = 0; k < rounds_of_a_context; ++k) {
    TakenRound round;
    round.round = static_cast<int>(adds.samples.rounds.size());
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      const auto call = [&] { adds.calls[i](b.data(), c.data(), a.data(), static_cast<int>(half)); };
      std::fill(a.begin(), a.end(), T{5000});  // more than any sum
      call();
      if (a != sums) throw DeviceError(adds.name_of(i) + " stored wrong sums");
      TakenSample& taken = round.samples.emplace_back();
      taken.call = i;
      taken.sample = time_of(adds.problem.n <= short_vectors ? calls_of_short_vectors : 1, call);
    }
    adds.samples.rounds.push_back(std::move(round));
    adds.samples.contexts.push_back(context);
  }
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.size() > 3)
    throw UsageError("write vector_add FOLDER, and then the number of contexts and the sizes, where others are wanted");
  const auto contexts =
      static_cast<int>(arguments.size() > 1 ? parse_whole("CONTEXTS", arguments[1], "a number up to 1000", 1000) : 48);
  std::vector<Adds> all;
  for (const std::size_t n : parse_sizes(arguments.size() > 2 ? arguments[2] : "200,2^10,2000,2^24")) {
    if (n < 2 || n > std::size_t{1} << 31) throw UsageError("sizes are from 2 to 2^31, half of which an int counts");
    for (const ElementType type : {ElementType::i32, ElementType::f32})
      all.emplace_back(Problem{Operation::sum, type, n});
  }
  if (const auto csv = std::filesystem::path(arguments[0]) / "vector_add.csv"; std::filesystem::exists(csv))
    throw UsageError(csv.string() + " already exists; remove it to measure again");
  const Machine machine = describe_machine(*open_backend(DeviceKind::cpu));
  const RunRecord record{
      .run_id = new_run_id(), .experiment = "vector_add", .started_utc = utc_now(), .arguments = arguments};
  std::mt19937 random(1);
  for (int context = 0; context < contexts; ++context)
    for (Adds& adds : all) {
      if (adds.problem.n > short_vectors && context % contexts_to_one_of_long_vectors) continue;
      if (adds.problem.type == ElementType::i32)
        run_context<std::uint32_t>(adds, context, random);
      else
        run_context<float>(adds, context, random);
    }
  Results results(arguments[0], machine, record, false);
  for (const Adds& adds : all) {
    GroupOutcome outcome = summarise(adds.samples, {}, record.run_id);
    for (Row& row : outcome.rows) {
      row.run_id = record.run_id;
      row.timestamp_utc = utc_now();
      row.experiment = record.experiment;
      row.machine = machine.name;
    }
    results.append(outcome.rows, outcome.samples_csv);
  }
  results.entry()["host_compilers"] = REDUCTIO_COMPILERS;
  results.entry()["ended_utc"] = utc_now();
  results.record_hashes();
  results.write_machine();
  fmt::print("{}\n", results.csv_path().string());
  return 0;
}

}  // namespace
}  // namespace reductio

int main(int argc, char** argv) {
  try {
    return reductio::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "vector_add: %s\n", e.what());
    return 1;
  }
}
