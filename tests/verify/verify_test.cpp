// The battery as a list of cases, and what verify() and the JUnit file make of variants that fail, refuse or throw.
// Stand-ins on the CPU: a variant there is a function.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/dataset.h"
#include "core/reference.h"
#include "device/backend.h"
#include "tests/error_of.h"
#include "tests/sanitized.h"
#include "verify/junit.h"
#include "verify/verify.h"

namespace reductio {
namespace {

template <class T>
T sequential(Operation op, const void* in, std::size_t n) {
  const T* x = static_cast<const T*>(in);
  std::conditional_t<std::is_same_v<T, float>, double, T> sum = 0;  // one of f32 would stop at 2^24
  for (std::size_t i = 0; i < n; ++i) sum += op == Operation::sum ? x[i] : x[i] * x[i];
  return static_cast<T>(sum);
}

template <class T>
std::unique_ptr<Plan> sequential_plan(const Problem& p) {
  return plan_of({.longest_chain = p.n}, [p](void* in, void* out, Stream) {
    const T sum = sequential<T>(p.operation, in, p.n);
    std::memcpy(out, &sum, sizeof sum);
  });
}

std::unique_ptr<Plan> sequential_plan(const Problem& p) {
  switch (p.type) {
    case ElementType::i32: return sequential_plan<std::uint32_t>(p);
    case ElementType::f32: return sequential_plan<float>(p);
    case ElementType::f64: return sequential_plan<double>(p);
    default: return nullptr;
  }
}

Variant cpu_variant(std::string id, Prepare prepare) {
  Variant v{.id = std::move(id),
            .title = "stand-in",
            .cites = "none",
            .how = {},
            .operations = {Operation::sum, Operation::sum_of_squares},
            .types = {ElementType::i32, ElementType::f32, ElementType::f64},
            .tunables = {Tunable::choice("colour", {"red", "green", "blue"}, "green")}};
  v.prepare[static_cast<int>(DeviceKind::cpu)] = std::move(prepare);
  return v;
}

Variant sound() {
  return cpu_variant("stand-in/sound",
                     [](const Problem& p, const Settings&, const DeviceInfo&) { return sequential_plan(p); });
}

VerifyReport report_on(std::vector<const Variant*> selected, Tier tier = Tier::quick) {
  return verify(selected, *open_cpu(), tier, 1);
}

DeviceInfo info_of(DeviceKind device) {
  return {.kind = device,
          .name = "a device",
          .sm_count = 4,
          .threads_per_sm = 2048,
          .shared_bytes_per_block = 49152,
          .l2_bytes = 1 << 20,
          .memory_bytes = std::size_t{1} << 34};
}

/// The sound variant as if it ran everywhere; its shape is that of a small grid.
Variant everywhere() {
  Variant v = sound();
  for (auto& prepare : v.prepare)
    prepare = [](const Problem& p, const Settings&, const DeviceInfo&) {
      return plan_of({.grid_blocks = 6, .block_threads = 64, .longest_chain = p.n}, [](void*, void*, Stream) {});
    };
  return v;
}

TEST(BatteryCases, every_pair_of_factors_meets) {
  const Variant v = everywhere();
  for (const DeviceKind device : all_devices()) {
    const auto cases = battery(v, info_of(device), Tier::quick, 1);
    std::set<std::string> seen;
    for (const Case& c : cases) {
      const std::vector<std::string> words{"type " + std::string(name(c.problem.type)),
                                           "operation " + std::string(name(c.problem.operation)),
                                           "offset " + std::to_string(c.offset_elements),
                                           "dataset " + c.dataset,
                                           "order " + c.order,
                                           "colour " + c.settings.text("colour")};
      for (const auto& a : words)
        for (const auto& b : words) seen.insert(a + " with " + b);
      for (const auto& a : words) seen.insert(a + " with n=" + std::to_string(c.problem.n));
    }
    const auto expect_all = [&](const std::vector<std::string>& all, const std::vector<std::string>& others) {
      for (const auto& a : all)
        for (const auto& b : others)
          EXPECT_TRUE(seen.count(a + " with " + b)) << name(device) << ": " << a << " with " << b;
    };
    const std::vector<std::string> types{"type i32", "type f32", "type f64"};
    const std::vector<std::string> operations{"operation sum", "operation sum_of_squares"};
    const std::vector<std::string> offsets{"offset 0", "offset 1", "offset 2", "offset 3"};
    const std::vector<std::string> colours{"colour red", "colour green", "colour blue"};
    const std::vector<std::string> orders =
        device == DeviceKind::sim ? std::vector<std::string>{"order forward", "order reverse", "order random"}
                                  : std::vector<std::string>{"order "};
    std::vector<std::string> datasets;
    for (const auto d : dataset_names(ElementType::f32))
      // "wide" has one for each operation; others show a kernel nothing that "random" and "ill-conditioned" do not.
      if (!d.starts_with("wide") && !d.ends_with("-square") && d != "tiny" && d != "huge" && d != "normal" &&
          d != "positive" && d != "spread" && d != "whole-range" && d != "infinity-pair" && d != "ones" &&
          d != "gradients" && d != "giants" && d != "constants")
        datasets.push_back("dataset " + std::string(d));
    const std::vector<std::string> sizes{"n=0", "n=1", "n=31", "n=33", "n=257", "n=1023", "n=1024", "n=1025"};
    for (const auto& some : {types, operations, offsets, colours, orders, datasets}) expect_all(some, sizes);
    expect_all(types, operations);
    expect_all(types, offsets);
    expect_all(types, colours);
    expect_all(types, orders);
    expect_all(operations, offsets);
    expect_all(operations, colours);
    expect_all(operations, orders);
    expect_all(operations, datasets);
    expect_all({"dataset wide"}, {"operation sum"});
    expect_all({"dataset wide-square"}, {"operation sum_of_squares"});
    expect_all({"dataset tiny", "dataset huge"}, {"operation sum"});
    expect_all({"dataset tiny-square", "dataset huge-square"}, {"operation sum_of_squares"});
    expect_all(offsets, colours);
    expect_all(offsets, orders);
    expect_all(offsets, datasets);
    expect_all(colours, orders);
    expect_all(colours, datasets);
    expect_all(orders, datasets);
  }
}

TEST(BatteryCases, whole_product_of_sizes_settings_types_operations_and_orders) {
  Variant v = everywhere();
  std::set<std::string> seen;
  for (const Case& c : battery(v, info_of(DeviceKind::sim), Tier::standard, 1))
    seen.insert(std::to_string(c.problem.n) + std::string(name(c.problem.type)) +
                std::string(name(c.problem.operation)) + c.settings.str() + c.order);
  std::set<std::size_t> sizes{0,   1,   2,   3,   63, 64,  65, 129,
                              383, 384, 385, 769, 61, 251, 509};  // own tiles: 64 and 6 * 64
  for (std::size_t p = 4; p <= 1024; p *= 2) sizes.insert({p - 1, p, p + 1});
  for (const std::size_t n : sizes)
    for (const ElementType type : v.types)
      for (const Operation op : v.operations)
        for (const std::string colour : {"red", "green", "blue"})
          for (const std::string order : {"forward", "reverse", "random"}) {
            const std::string what =
                std::to_string(n) + std::string(name(type)) + std::string(name(op)) + "colour=" + colour + order;
            EXPECT_TRUE(seen.count(what)) << what;
          }
}

TEST(BatteryCases, tiers_reach_as_far_as_they_say) {
  const Variant v = everywhere();
  const auto largest = [&](DeviceKind device, Tier tier) {
    std::size_t most = 0;
    for (const Case& c : battery(v, info_of(device), tier, 1)) most = std::max(most, c.problem.n);
    return most;
  };
  EXPECT_LE(largest(DeviceKind::sim, Tier::quick), 1025u);
  EXPECT_LE(largest(DeviceKind::sim, Tier::sanitizer), 4097u);
  EXPECT_LE(largest(DeviceKind::cuda, Tier::sanitizer), 4097u);
  EXPECT_EQ(largest(DeviceKind::sim, Tier::standard), (1u << 25) + 7) << "ones, as its chain of additions is long";
  EXPECT_GT(largest(DeviceKind::cuda, Tier::gpu), std::size_t{1} << 32);
  EXPECT_EQ(largest(DeviceKind::cpu, Tier::standard), (1u << 25) + 7) << "2^31 of 4 bytes take 8 GB";
  EXPECT_EQ(largest(DeviceKind::cpu, Tier::gpu), (std::size_t{1} << 31) + 5);
  EXPECT_EQ(largest(DeviceKind::sim, Tier::gpu), (std::size_t{1} << 32) - 1);
}

TEST(BatteryCases, large_sizes_that_memory_does_not_hold_are_left_out_and_say_so) {
  DeviceInfo small = info_of(DeviceKind::sim);
  small.memory_bytes = std::size_t{1} << 30;
  std::set<std::string> why;
  const Variant v = everywhere();
  for (const Case& c : battery(v, small, Tier::gpu, 1))
    if (!c.left_out.empty()) why.insert(c.left_out);
  EXPECT_EQ(why, (std::set<std::string>{
                     "too little memory: 2147483647 elements of i32 take 10495 MiB on the simulated device, of "
                     "1024 MiB that are free",
                     "too little memory: 4294967295 elements of i32 take 20735 MiB on the simulated device, of "
                     "1024 MiB that are free"}));
}

/// Sums of bytes on the CPU, by an index of 32 bits.
template <class Index>
Variant sum_of_bytes() {
  Variant v = cpu_variant("stand-in/bytes", [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [n = p.n](void* in, void* out, Stream) {
      std::int32_t sum = 0;
      const auto end = static_cast<Index>(n);
      for (Index i = 0; i < end; ++i) sum += static_cast<const std::int8_t*>(in)[i];
      std::memcpy(out, &sum, sizeof sum);
    });
  });
  v.types = {ElementType::i8};
  v.operations = {Operation::sum};
  return v;
}

TEST(BatteryCases, an_index_of_a_cpu_that_cannot_count_beyond_2_to_31_is_found) {
  const Variant narrow = sum_of_bytes<std::int32_t>(), wide = sum_of_bytes<std::int64_t>();
  const auto cpu = open_cpu();
  for (const auto& [v, is_right] : {std::pair(&narrow, false), std::pair(&wide, true)}) {
    EXPECT_EQ(report_on({v}, Tier::check).failed, 0u) << "smaller sizes do not show it";
    std::vector<Case> cases = battery(*v, cpu->info(), Tier::standard, 1);
    std::erase_if(cases, [](const Case& c) { return c.problem.n < std::size_t{1} << 31; });
    ASSERT_EQ(cases.size(), 1u);
    if (!cases.front().left_out.empty()) GTEST_SKIP() << cases.front().left_out;
    const VerifyReport report = verify({v}, *cpu, [&](const Variant&) { return cases; });
    EXPECT_EQ(report.failed, is_right ? 0u : 1u);
    EXPECT_EQ(report.by_variant.front().largest_n, is_right ? cases.front().problem.n : 0u);
  }
}

TEST(BatteryCases, an_f32_accumulator_of_a_cpu_that_stops_is_found) {
  Variant stops = cpu_variant("stand-in/stops", [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [n = p.n](void* in, void* out, Stream) {
      float sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += static_cast<const float*>(in)[i];
      std::memcpy(out, &sum, sizeof sum);
    });
  });
  stops.types = {ElementType::f32};
  stops.operations = {Operation::sum};
  Variant goes_on = sound();
  const auto cpu = open_cpu();
  for (const auto& [v, is_right] : {std::pair(&stops, false), std::pair(&goes_on, true)}) {
    std::vector<Case> cases = battery(*v, cpu->info(), Tier::check, 1);
    std::erase_if(cases, [](const Case& c) { return c.dataset != "ones"; });
    ASSERT_EQ(cases.size(), 1u);
    const std::string why = run_case(cases.front(), *cpu);
    EXPECT_EQ(why.empty(), is_right) << why;
    EXPECT_EQ(why.find("got 16777216, want 33554440") == 0, !is_right) << why;
  }
}

TEST(BatteryCases, only_the_check_tier_spares_large_sizes_the_random_order) {
  const Variant v = everywhere();
  const auto largest_of = [&](Tier tier, const std::string& order) {
    std::size_t most = 0;
    for (const Case& c : battery(v, info_of(DeviceKind::sim), tier, 1))
      if (c.order == order && c.problem.n < 20000 && (c.check != "repeat" || c.dataset != "ill-conditioned"))
        most = std::max(most, c.problem.n);
    return most;
  };
  EXPECT_EQ(largest_of(Tier::check, "random"), 4093u) << "but for the calls whose bits are compared";
  for (const std::string order : {"forward", "reverse"}) EXPECT_GE(largest_of(Tier::check, order), 16384u);
  EXPECT_EQ(largest_of(Tier::sanitizer, "random"), 4097u);
  EXPECT_GE(largest_of(Tier::standard, "random"), 16384u);
}

TEST(BatteryCases, gpu_tier_meets_every_type_past_2_to_the_30) {
  const Variant v = everywhere();
  std::set<std::pair<ElementType, std::string>> past_30;
  std::set<std::string> colours;
  std::set<std::pair<ElementType, std::string>> past_32;
  for (const Case& c : battery(v, info_of(DeviceKind::cuda), Tier::gpu, 1)) {
    if (c.problem.n > std::size_t{1} << 30) {
      past_30.insert({c.problem.type, c.check});
      colours.insert(c.settings.text("colour"));
    }
    if (c.problem.n > std::size_t{1} << 32) past_32.insert({c.problem.type, c.check});
  }
  EXPECT_EQ(past_30.size(), 5u);  // i32 exact; f32 and f64 exact and bounded
  EXPECT_EQ(past_32, past_30);
  EXPECT_EQ(colours.size(), 3u);
}

// Sums are what variants with wide sums are measured by.
TEST(BatteryCases, wide_sums_take_no_large_case_from_sums) {
  Variant v = everywhere();
  v.operations = {Operation::sum};
  const auto large_sums = [&] {
    std::set<std::tuple<ElementType, std::size_t, std::size_t, std::string>> out;
    for (const Case& c : battery(v, info_of(DeviceKind::cuda), Tier::gpu, 1))
      if (c.problem.n > std::size_t{1} << 30 && c.problem.operation == Operation::sum)
        out.insert({c.problem.type, c.problem.n, c.offset_elements, c.check});
    return out;
  };
  const auto alone = large_sums();
  v.operations.push_back(Operation::wide_sum);
  EXPECT_EQ(large_sums(), alone);
}

TEST(BatteryCases, sizes_leave_every_remainder_of_common_tiles) {
  const Variant v = everywhere();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::set<std::pair<std::size_t, std::size_t>> seen;
    std::size_t two_of_four = 0;
    for (const Case& c : battery(v, info_of(DeviceKind::sim), Tier::check, seed)) {
      for (const std::size_t tile : {1000, 4096, 5120, 6144})
        if (c.problem.n >= tile && c.check == "exact") seen.insert({tile, c.problem.n % tile});
      two_of_four += c.problem.n > 1025 && c.problem.n % 4 == 2;
    }
    for (const std::size_t tile : {1000, 4096, 5120, 6144})
      for (std::size_t rest = 0; rest < 4; ++rest) EXPECT_TRUE(seen.count({tile, rest})) << tile << ' ' << rest;
    EXPECT_GE(two_of_four, 4u);
  }
}

TEST(BatteryCases, what_would_be_too_slow_is_left_out_and_counted) {
  Variant v = everywhere();
  const auto left_out = [&](const Variant& variant) {
    std::set<std::size_t> sizes;
    for (const Case& c : battery(variant, info_of(DeviceKind::cuda), Tier::gpu, 1))
      if (!c.left_out.empty()) sizes.insert(c.problem.n);
    return sizes;
  };
  EXPECT_TRUE(left_out(v).empty());
  v.prepare[static_cast<int>(DeviceKind::cuda)] = [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.grid_blocks = 1, .block_threads = 1, .longest_chain = p.n}, [](void*, void*, Stream) {});
  };
  const std::set<std::size_t> slow = left_out(v);
  EXPECT_TRUE(slow.contains((std::size_t{1} << 28) + 1) && slow.contains((std::size_t{1} << 32) + 5));
  v.prepare[static_cast<int>(DeviceKind::cuda)] = [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [](void*, void*, Stream) {});
  };
  EXPECT_TRUE(left_out(v).empty()) << "a library's launches are its own";

  const Variant here = sound();
  const auto cases_of = [&](const Variant&) {
    Case c{&here, {Operation::sum, ElementType::i32, 3}, here.settings(), 0, "random", 1, "", "exact"};
    Case slow_one = c;
    slow_one.left_out = "too slow";
    return std::vector<Case>{c, slow_one, slow_one};
  };
  const VerifyReport report = verify({&here}, *open_cpu(), cases_of);
  EXPECT_EQ(report.passed, 1u);
  EXPECT_EQ(report.by_variant.at(0).left_out, 2u);
  EXPECT_EQ(report.by_variant.at(0).reasons_left_out, std::vector<std::string>{"too slow"});
}

TEST(BatteryCases, are_the_same_for_the_same_seed_and_others_for_another) {
  const Variant v = everywhere();
  const auto described = [&](std::uint64_t seed) {
    std::string all;
    for (const Case& c : battery(v, info_of(DeviceKind::sim), Tier::quick, seed)) all += c.describe() + "\n";
    return all;
  };
  EXPECT_EQ(described(1), described(1));
  EXPECT_NE(described(1), described(2));
}

TEST(BatteryCases, exact_data_is_exact) {
  const Variant v = everywhere();
  for (const Case& c : battery(v, info_of(DeviceKind::sim), Tier::quick, 3)) {
    const auto tile = make_tile(c.dataset, c.problem.type, c.problem.n, c.seed);
    const Reference r = reference(c.problem.operation, c.problem.type, tile, c.problem.n);
    if (c.check == "exact") {
      EXPECT_TRUE(r.exact_in_any_order) << c.describe();
    }
    // No data may overflow on the way to a finite result: no order of adding could be blamed for it.
    if (is_floating(c.problem.type) && std::isfinite(r.value)) {
      EXPECT_LT(r.sum_of_magnitudes, c.problem.type == ElementType::f32 ? 0x1p127 : 0x1p1023) << c.describe();
    }
  }
}

TEST(BatteryCases, describe_themselves) {
  const Variant v = sound();
  const Case c{&v, {Operation::sum, ElementType::f32, 1025}, v.settings(), 1, "random", 3, "reverse", "bounded"};
  EXPECT_EQ(c.describe(), "stand-in/sound sum f32 n=1025 colour=green offset=1 random seed=3 order=reverse");
  Case twice = c;
  twice.offset_elements = 0;
  twice.order = "";
  twice.check = "repeat";
  EXPECT_EQ(twice.describe(), "stand-in/sound sum f32 n=1025 colour=green random seed=3 check=repeat");
}

TEST(BatteryVerify, a_sound_variant_passes_everything) {
  const Variant v = sound();
  const VerifyReport report = report_on({&v}, Tier::standard);
  EXPECT_EQ(report.failed, 0u) << (report.failures.empty()
                                       ? ""
                                       : report.failures[0].what.describe() + report.failures[0].why);
  EXPECT_GT(report.passed, 800u);
  EXPECT_EQ(report.refused, 0u);
  ASSERT_EQ(report.by_variant.size(), 1u);
  EXPECT_EQ(report.by_variant[0].passed, report.passed);
  EXPECT_GT(report.by_variant[0].seconds, 0);
}

TEST(BatteryVerify, finish_is_asked_where_the_plan_says_so) {
  Variant v = cpu_variant("stand-in/on-host", [](const Problem& p, const Settings&, const DeviceInfo&) {
    const auto kept = std::make_shared<void*>();
    return plan_of(
        {.longest_chain = p.n, .result = ResultLocation::on_host}, [=](void* in, void*, Stream) { *kept = in; },
        [=](void* result, Stream) { sequential_plan(p)->enqueue(*kept, result, {}); });
  });
  v.result = ResultLocation::on_host;
  EXPECT_EQ(report_on({&v}).failed, 0u);
}

TEST(BatteryVerify, consumed_input_is_restored_before_each_call) {
  const auto destroys = [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [p](void* in, void* out, Stream) {
      sequential_plan(p)->enqueue(in, out, {});
      if (p.n) std::memset(in, 0x5A, p.bytes());
    });
  };
  Variant v = cpu_variant("stand-in/in-place", destroys);
  v.consumes_input = true;
  EXPECT_EQ(report_on({&v}).failed, 0u);
  v.consumes_input = false;
  const VerifyReport undeclared = report_on({&v});
  ASSERT_GT(undeclared.failed, 0u);
  EXPECT_NE(undeclared.failures[0].why.find("changed its input"), std::string::npos);
}

// Of 2^23 ints, 32 MiB: what is far from the beginning of the input is compared, too.
TEST(BatteryVerify, whoever_changes_an_input_fails_and_not_who_comes_next) {
  constexpr std::size_t n = std::size_t{1} << 23;
  const auto sum = [](const Problem& p, const Settings&, const DeviceInfo&) { return sequential_plan(p); };
  const auto spoils = [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [p](void* in, void* out, Stream stream) {
      sequential_plan(p)->enqueue(in, out, stream);
      static_cast<std::uint32_t*>(in)[p.n - 1] += 1;
    });
  };
  const Variant guilty = cpu_variant("stand-in/guilty", spoils), innocent = cpu_variant("stand-in/innocent", sum);
  const auto cases_of = [&](const Variant& v) {
    return std::vector<Case>{{&v, {Operation::sum, ElementType::i32, n}, v.settings(), 1, "random", 1, "", "exact"}};
  };
  const VerifyReport report = verify({&guilty, &innocent}, *open_cpu(), cases_of);
  ASSERT_EQ(report.by_variant.at(0).failed, 1u);
  EXPECT_NE(report.failures.at(0).why.find("changed its input"), std::string::npos) << report.failures.at(0).why;
  EXPECT_EQ(report.by_variant.at(1).passed, 1u);
}

// What it did to the input is not asked where the result is wrong already, or there is none.
TEST(BatteryVerify, whoever_fails_otherwise_leaves_no_changed_input_to_who_comes_next) {
  enum class Also { wrong_result, throws, device_error };
  const auto spoils = [](Also also) {
    return [=](const Problem& p, const Settings&, const DeviceInfo&) {
      return plan_of({.longest_chain = p.n}, [=](void* in, void* out, Stream stream) {
        static_cast<std::uint32_t*>(in)[p.n - 1] += 1;
        if (also == Also::throws) throw std::runtime_error("no more");
        if (also == Also::device_error) throw DeviceError("an illegal address");
        sequential_plan(p)->enqueue(in, out, stream);
      });
    };
  };
  const Variant innocent = sound();
  for (const std::size_t n : {std::size_t{1000}, (std::size_t{1} << 20) + 7})  // by itself, and among shared inputs
    for (const std::string check : {"exact", "repeat"})
      for (const Also also : {Also::wrong_result, Also::throws, Also::device_error}) {
        const Variant guilty = cpu_variant("stand-in/guilty", spoils(also));
        const auto cases_of = [&](const Variant& v) {
          const Problem problem{Operation::sum, ElementType::i32, n};
          return std::vector<Case>{{&v, problem, v.settings(), 1, "random", 1, "", check}};
        };
        const VerifyReport report = verify({&guilty, &innocent}, *open_cpu(), cases_of);
        EXPECT_EQ(report.by_variant.at(0).failed, 1u);
        EXPECT_EQ(report.by_variant.at(1).passed, 1u) << n << ' ' << check << ": " << report.failures.back().why;
      }
}

/// Answers from memory where it has met `key` before, which is of the input and where it lies; or met it last.
using KeyOf = std::string (*)(const std::byte* in, std::size_t bytes);
Variant remembering(KeyOf key_of, bool in_each_plan, bool only_last = false) {
  using Memory = std::map<std::string, std::vector<std::byte>>;
  const auto shared = std::make_shared<Memory>();
  return cpu_variant("stand-in/remembering", [=](const Problem& p, const Settings&, const DeviceInfo&) {
    const auto memory = in_each_plan ? std::make_shared<Memory>() : shared;
    const std::string problem = std::string(name(p.operation)) + std::string(name(p.type)) + std::to_string(p.n) + ":";
    return plan_of({.longest_chain = p.n}, [=](void* in, void* out, Stream stream) {
      const std::string key = problem + key_of(static_cast<const std::byte*>(in), p.bytes());
      if (only_last) std::erase_if(*memory, [&](const auto& known) { return known.first != key; });
      std::vector<std::byte>& result = (*memory)[key];
      if (result.empty()) {
        result.resize(p.result_bytes());
        sequential_plan(p)->enqueue(in, result.data(), stream);
      }
      std::memcpy(out, result.data(), result.size());
    });
  });
}

/// What lies at some places of an input, a few bytes each.
std::string bytes_at(const std::byte* in, std::size_t bytes, const std::vector<double>& places) {
  std::string out;
  for (const double place : places) {
    const std::size_t from = static_cast<std::size_t>(place * static_cast<double>(bytes)) / 8 * 8;
    for (std::size_t i = std::min(from, bytes); i < std::min(from + 8, bytes); ++i) out += static_cast<char>(in[i]);
  }
  return out;
}

constexpr KeyOf no_key = [](const std::byte*, std::size_t) { return std::string(); };
constexpr KeyOf address = [](const std::byte* in, std::size_t) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(in));
};
constexpr KeyOf first_middle_last = [](const std::byte* in, std::size_t bytes) {
  return bytes_at(in, bytes, {0, 0.5, 1 - 8.0 / static_cast<double>(std::max<std::size_t>(bytes, 8))});
};
constexpr KeyOf sampled = [](const std::byte* in, std::size_t bytes) {
  std::vector<double> places;
  for (int i = 0; i < 64; ++i) places.push_back(i / 64.0);
  return bytes_at(in, bytes, places);
};

TEST(BatteryVerify, whoever_answers_from_memory_fails) {
  for (const KeyOf key : {no_key, address, first_middle_last, sampled})
    for (const auto& [in_each_plan, only_last] :
         {std::pair(true, true), {true, false}, {false, true}, {false, false}}) {
      const Variant v = remembering(key, in_each_plan, only_last);
      for (const std::uint64_t seed : few_if_sanitized<std::uint64_t>(1, {1, 2, 3})) {
        const VerifyReport report = verify({&v}, *open_cpu(), Tier::quick, seed);
        EXPECT_GT(report.failed, 0u) << in_each_plan << " with seed " << seed;
      }
      // One case finds it, so that the command of a failure says it again.
      const Case calls{&v, {Operation::sum, ElementType::f64, 2000}, v.settings(), 0, "random", 1, "", "calls"};
      const std::string why = run_case(calls, *open_cpu());
      EXPECT_NE(why.find("of one plan"), std::string::npos) << why;
      if ((key == first_middle_last || key == sampled) && !only_last) {
        EXPECT_NE(why.find("which was right before element "), std::string::npos) << why;
      }
    }
}

TEST(BatteryVerify, the_same_input_is_no_more_the_same_for_the_next_case) {
  const Variant v = remembering(first_middle_last, false), honest = sound();
  for (const ElementType type : v.types) {
    const auto cases_of = [&](const Variant& of) {
      const Case one{&of, {Operation::sum, type, 1000}, of.settings(), 0, "exact", 1, "", "exact"};
      return std::vector<Case>(4, one);
    };
    const VerifyReport report = verify({&v, &honest}, *open_cpu(), cases_of);
    EXPECT_GE(report.by_variant.at(0).failed, 2u) << "one element of 1000 may be among those that it looks at";
    EXPECT_NE(report.failures.at(0).why.find("which was right before element "), std::string::npos);
    EXPECT_EQ(report.by_variant.at(1).failed, 0u);
  }
}

TEST(BatteryVerify, whoever_gives_an_earlier_result_for_all_settings_fails) {
  Variant v = remembering(first_middle_last, false);
  v.determinism = Determinism::always;
  const Case c{&v, {Operation::sum, ElementType::f64, 2000}, v.settings(), 0, "random", 1, "", "settings"};
  const std::string why = run_case(c, *open_cpu());
  EXPECT_EQ(why.rfind("with another element in the input: ", 0), 0u) << why;
}

/// The simulated device, as if it had memory for so many allocations alone. Knows which streams have work of the
/// harness's own that was not awaited.
class ShortOfMemory final : public Backend {
 public:
  explicit ShortOfMemory(std::size_t allocations) : left_(allocations) {}
  bool released_with_work_pending = false;

  const DeviceInfo& info() const override { return sim_->info(); }
  void* allocate(std::size_t bytes) override {
    if (left_ == 0) throw Refused("no memory");
    --left_;
    return sim_->allocate(bytes);
  }
  void release(void* p) noexcept override {
    if (!pending_.empty()) released_with_work_pending = true;
    sim_->release(p);
  }
  std::size_t memory_free() const override { return sim_->memory_free(); }
  void fill(void* d, unsigned char b, std::size_t n, Stream s) override { put(s), sim_->fill(d, b, n, s); }
  void copy_in(void* d, const void* h, std::size_t n, Stream s) override { put(s), sim_->copy_in(d, h, n, s); }
  void copy_within(void* d, const void* p, std::size_t n, Stream s) override { put(s), sim_->copy_within(d, p, n, s); }
  void copy_out(void* h, const void* p, std::size_t n, Stream s) override { await(s), sim_->copy_out(h, p, n, s); }
  bool repeats(const void* p, std::size_t period, std::size_t n, Stream s) override {
    return await(s), sim_->repeats(p, period, n, s);
  }
  Stream create_stream() override { return sim_->create_stream(); }
  void destroy_stream(Stream s) noexcept override { sim_->destroy_stream(s); }
  void synchronize(Stream s) override { await(s), sim_->synchronize(s); }
  std::function<void()> watch_enqueue(const std::function<void()>& f, Stream s, FirstLaunch* l) override {
    return sim_->watch_enqueue(f, s, l);
  }

 private:
  void put(Stream s) { pending_.insert(s); }
  void await(Stream s) { pending_.erase(s); }
  std::unique_ptr<Backend> sim_ = open_sim();
  std::set<Stream> pending_;
  std::size_t left_;
};

TEST(BatteryVerify, a_case_whose_memory_is_refused_leaves_no_work_on_what_it_had) {
  Variant v = find_variant("levels/naive");
  v.determinism = Determinism::always;  // or "settings" would be refused before
  for (const std::string check : {"exact", "repeat", "two-plans", "calls", "settings", "chain"})
    for (const bool consumes : {false, true}) {
      v.consumes_input = consumes;
      const Case c{&v, {Operation::sum, ElementType::f32, 1000}, v.settings(), 1, "exact", 1, "forward", check};
      for (std::size_t allocations = 0;; ++allocations) {
        ShortOfMemory device(allocations);
        bool refused = false;
        try {
          EXPECT_EQ(run_case(c, device), "") << check;
        } catch (const Refused&) {
          refused = true;
        }
        EXPECT_FALSE(device.released_with_work_pending) << check << " with memory for " << allocations;
        if (!refused) break;
        ASSERT_LT(allocations, 20u) << check;
      }
    }
}

TEST(BatteryVerify, a_declared_determinism_is_checked) {
  // Adds from both ends in turn: the same value on exact data, other roundings on random data.
  auto calls = std::make_shared<int>(0);
  Variant v = cpu_variant("stand-in/moody", [calls](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [p, calls](void* in, void* out, Stream) {
      if (p.type != ElementType::f32) return sequential_plan(p)->enqueue(in, out, {});
      const float* x = static_cast<const float*>(in);
      float sum = 0;
      const bool backwards = (*calls)++ % 4 < 2;
      for (std::size_t i = 0; i < p.n; ++i) {
        const float y = x[backwards ? p.n - 1 - i : i];
        sum += p.operation == Operation::sum ? y : y * y;
      }
      std::memcpy(out, &sum, sizeof sum);
    });
  });
  const VerifyReport report = report_on({&v});
  ASSERT_GT(report.failed, 0u);
  EXPECT_NE(report.failures[0].why.find("differ in bits"), std::string::npos) << report.failures[0].why;
  v.determinism = Determinism::none;
  EXPECT_EQ(report_on({&v}).failed, 0u);
}

// Nothing promises the order of additions, so that a wider type is no fault: only that it changes nothing else.
TEST(BatteryVerify, f64_in_long_double_passes_unless_a_setting_decides_though_n_alone_should) {
  for (const bool by_setting : {false, true}) {
    Variant v = cpu_variant("stand-in/long-double", [=](const Problem& p, const Settings& s, const DeviceInfo&) {
      const bool wide = !by_setting || s.text("colour") == "red";
      return plan_of({.longest_chain = p.n}, [=, n = p.n](void* in, void* out, Stream) {
        const double* x = static_cast<const double*>(in);
        long double sum = 0;
        for (std::size_t i = 0; i < n; ++i)
          sum = wide ? sum + x[i] : static_cast<long double>(static_cast<double>(sum) + x[i]);
        const auto rounded = static_cast<double>(sum);
        std::memcpy(out, &rounded, sizeof rounded);
      });
    });
    v.types = {ElementType::f64};
    v.operations = {Operation::sum};
    v.determinism = Determinism::always;
    const VerifyReport report = report_on({&v});
    EXPECT_EQ(report.failed > 0, by_setting);
    for (const Failure& f : report.failures)
      EXPECT_NE(f.why.find("differs in bits from that with colour="), std::string::npos) << f.why;
  }
}

TEST(BatteryVerify, refusals_are_counted_and_told_once) {
  Variant v = sound();
  v.declines = [](const Problem& p, const Settings&) {
    return p.type == ElementType::f64 ? std::string("f64 is beyond it") : std::string();
  };
  const VerifyReport report = report_on({&v});
  EXPECT_GT(report.passed, 0u);
  EXPECT_GT(report.refused, 10u);
  EXPECT_EQ(report.failed, 0u);
  EXPECT_EQ(report.refusals, std::vector<std::string>{"stand-in/sound: f64 is beyond it"});
}

TEST(BatteryVerify, data_that_a_call_is_known_to_add_up_wrongly_are_refused_for_that_reason) {
  Variant v = sound();
  const auto only_normal_numbers = [plan = v.prepare[static_cast<int>(DeviceKind::cpu)]](
                                       const Problem& p, const Settings& s, const DeviceInfo& device) {
    const std::shared_ptr<Plan> sum = plan(p, s, device);
    return plan_of(sum->info(), [=](void* in, void* out, Stream stream) {
      sum->enqueue(in, out, stream);
      const auto spoil = [&]<class T>(T value) {
        std::memcpy(&value, out, sizeof value);
        if (std::fpclassify(value) == FP_SUBNORMAL) std::memset(out, 0x42, sizeof value);
      };
      if (p.type == ElementType::f32) spoil(0.0f);
      if (p.type == ElementType::f64) spoil(0.0);
    });
  };
  v.prepare[static_cast<int>(DeviceKind::cpu)] = only_normal_numbers;
  EXPECT_GT(report_on({&v}, Tier::standard).failed, 0u);
  v.wrong_for = [](std::string_view dataset, const Settings&) {
    return dataset == "subnormal" ? std::string("subnormal numbers are beyond it") : std::string();
  };
  const VerifyReport report = report_on({&v}, Tier::standard);
  EXPECT_EQ(report.failed, 0u) << report.failures[0].why;
  EXPECT_GT(report.passed, report.refused);
  EXPECT_EQ(report.refusals, std::vector<std::string>{"stand-in/sound: subnormal numbers are beyond it"});
}

/// Declares that with colour=red every third element is left out; `leaves_out` says what it leaves out in fact.
Variant faulty(bool (*leaves_out)(std::size_t i)) {
  Variant v = cpu_variant("stand-in/faulty", [=](const Problem& p, const Settings& s, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [=, red = s.text("colour") == "red"](void* in, void* out, Stream) {
      std::vector<std::byte> kept(p.bytes());
      if (p.n) std::memcpy(kept.data(), in, kept.size());
      for (std::size_t i = 0; i < p.n; ++i)
        if (red && leaves_out(i)) std::memset(kept.data() + i * size_of(p.type), 0, size_of(p.type));
      sequential_plan(p)->enqueue(kept.data(), out, {});
    });
  });
  v.known_fault = [](const Settings& s) {
    if (s.text("colour") != "red") return KnownFault{};
    return KnownFault{"red leaves out every third", [](std::size_t i, const PlanInfo&) { return i % 3 != 2; }};
  };
  return v;
}

TEST(BatteryVerify, a_known_fault_is_seen_as_it_is_declared_and_the_other_settings_pass_the_battery) {
  Variant v = faulty([](std::size_t i) { return i % 3 == 2; });
  v.tunables.front().standard = "red";
  const VerifyReport report = report_on({&v}, Tier::standard);
  EXPECT_EQ(report.failed + report.refused, 0u) << (report.failures.empty() ? "" : report.failures[0].why);
  EXPECT_GT(report.passed, 500u);
  EXPECT_EQ(report.by_variant.at(0).faults, std::vector<std::string>{"red leaves out every third"});
  std::size_t faults = 0;
  for (const Case& c : battery(v, info_of(DeviceKind::cpu), Tier::standard, 1)) {
    EXPECT_EQ(c.check == "fault", c.settings.text("colour") == "red") << c.describe();
    faults += c.check == "fault";
  }
  EXPECT_EQ(faults, 1u) << "one for each such setting";
}

TEST(BatteryVerify, a_result_that_is_right_in_spite_of_a_known_fault_fails) {
  const Variant mended = faulty([](std::size_t) { return false; });
  const VerifyReport report = report_on({&mended});
  ASSERT_EQ(report.failed, 1u);
  EXPECT_NE(report.failures[0].why.find("which is right, though the variant declares that red leaves out every third"),
            std::string::npos)
      << report.failures[0].why;
  EXPECT_TRUE(report.by_variant.at(0).faults.empty());
}

TEST(BatteryVerify, a_result_that_is_wrong_in_another_way_than_the_known_fault_fails) {
  const Variant other = faulty([](std::size_t i) { return i % 3 == 2 && i != 5; });
  const VerifyReport report = report_on({&other});
  ASSERT_EQ(report.failed, 1u);
  EXPECT_NE(report.failures[0].why.find("wrong, but not as the variant declares"), std::string::npos)
      << report.failures[0].why;
}

TEST(BatteryVerify, a_variant_with_a_known_fault_in_all_settings_has_no_other_cases) {
  Variant v = faulty([](std::size_t i) { return i % 3 == 2; });
  v.tunables = {Tunable::choice("colour", {"red"}, "red")};
  const VerifyReport report = report_on({&v}, Tier::standard);
  EXPECT_EQ(report.passed, 1u);
  EXPECT_EQ(report.by_variant.at(0).cases(), 1u);
}

TEST(BatteryVerify, whatever_a_variant_throws_is_a_failure_of_that_variant) {
  const Variant good = sound();
  const Variant throws = cpu_variant(
      "stand-in/throws",
      [](const Problem&, const Settings&, const DeviceInfo&) -> std::unique_ptr<Plan> { throw std::bad_alloc(); });
  const Variant faults = cpu_variant("stand-in/faults", [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [](void*, void*, Stream) { throw DeviceError("an illegal address"); });
  });
  const VerifyReport report = report_on({&throws, &faults, &good});
  ASSERT_EQ(report.by_variant.size(), 3u);
  EXPECT_EQ(report.by_variant[0].failed, most_failures);
  EXPECT_GT(report.by_variant[0].not_run, 0u);
  EXPECT_EQ(report.by_variant[0].failures.size(), most_failures);
  EXPECT_NE(report.by_variant[0].failures[0].why.find("threw: "), std::string::npos);
  EXPECT_EQ(report.by_variant[1].failures[0].why, "an illegal address");
  EXPECT_EQ(report.by_variant[2].failed, 0u);
  EXPECT_EQ(report.by_variant[2].not_run, 0u);
  EXPECT_EQ(report.failures.size(), 2 * most_failures);
  EXPECT_TRUE(report.stopped.empty());
}

TEST(BatteryVerify, finds_loads_of_16_bytes_that_are_aligned_to_8) {
  Variant v = cpu_variant("stand-in/aligned-to-8", [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [p](void* in, void* out, Stream stream) {
      const bool faults = p.n >= 4 && reinterpret_cast<std::uintptr_t>(in) % 16 == 8;
      sequential_plan({p.operation, p.type, faults ? p.n - 1 : p.n})->enqueue(in, out, stream);
    });
  });
  v.types = {ElementType::i32, ElementType::f32};
  const VerifyReport report = report_on({&v});
  ASSERT_GT(report.failed, 0u);
  for (const Failure& f : report.failures) EXPECT_EQ(f.what.offset_elements, 2u) << f.what.describe();
}

TEST(BatteryVerify, a_repeated_call_takes_the_opposite_order) {
  Variant v = find_variant("levels/global-stride");  // f32 atomics: the order of the blocks decides the last bits
  const auto sim = open_sim();
  for (const char* order : {"forward", "reverse", "random"}) {
    v.determinism = Determinism::none;
    const Case c{&v, {Operation::sum, ElementType::f32, 20000}, v.settings({{"granularity", "1"}}),
                 0, "random", 2, order, "repeat"};
    EXPECT_EQ(run_case(c, *sim), "") << order;
    v.determinism = Determinism::always;
    EXPECT_NE(run_case(c, *sim).find("differ in bits"), std::string::npos) << order;
  }
}

TEST(BatteryVerify, an_output_that_was_not_written_is_told_as_such) {
  const Variant silent = cpu_variant("stand-in/silent", [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [](void*, void*, Stream) {});
  });
  for (const ElementType type : {ElementType::i32, ElementType::f32, ElementType::f64}) {
    const Case c{&silent, {Operation::sum, type, 3}, silent.settings(), 0, "exact", 1, "", "exact"};
    EXPECT_EQ(run_case(c, *open_cpu()).rfind("the output was not written", 0), 0u) << run_case(c, *open_cpu());
    EXPECT_EQ(run_case(c, *open_cpu()).find("state behind"), std::string::npos) << "no call came before";
  }
  const Variant wrong = cpu_variant("stand-in/wrong", [](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [](void*, void* out, Stream) { std::memset(out, 0, 4); });
  });
  const Case c{&wrong, {Operation::sum, ElementType::i32, 3}, wrong.settings(), 0, "exact", 1, "", "exact"};
  EXPECT_EQ(run_case(c, *open_cpu()).rfind("got 0, want ", 0), 0u) << run_case(c, *open_cpu());
}

TEST(BatteryVerify, a_case_has_a_command_that_runs_it_again) {
  const Variant& v = find_variant("levels/naive");
  Settings s = v.settings({{"block", "32"}});
  const Case c{&v, {Operation::sum, ElementType::f32, 1025}, s, 1, "random", 3, "reverse", "repeat"};
  EXPECT_EQ(
      c.command(DeviceKind::sim),
      "reductio verify --device sim --variants '^levels/naive$' --operations sum --types f32 --sizes 1025 "
      "--set block=32,finish=atomic,test=bits --offset 1 --dataset random --seed 3 --order reverse --check repeat");

  // The id is a regular expression there, and selects its variant alone.
  for (const Variant& composed : variants()) {
    const Case of{&composed, {Operation::sum, ElementType::f32, 1}, composed.settings(), 0, "random", 1, "", "exact"};
    const std::string command = of.command(DeviceKind::sim);
    const std::size_t from = command.find('\'') + 1;
    const auto selected = select_variants(command.substr(from, command.find('\'', from) - from));
    EXPECT_EQ(selected, std::vector{&composed}) << command;
  }
}

TEST(BatteryVerify, progress_counts_every_case_once) {
  const Variant v = sound();
  std::size_t calls = 0, expected = battery(v, open_cpu()->info(), Tier::quick, 1).size();
  verify({&v, &v}, *open_cpu(), Tier::quick, 1,
         [&](std::size_t done, std::size_t total, const std::string& current, double) {
           EXPECT_EQ(done, calls++);
           EXPECT_EQ(total, 2 * expected);
           EXPECT_FALSE(current.empty());
         });
  EXPECT_EQ(calls, 2 * expected);
}

TEST(BatteryVerify, time_left_follows_costs_not_cases) {
  // A thousand small cases of 1 ms, then ten large ones of 1 s; costs are twice that and the clock is scripted.
  std::vector<double> seconds(1000, 1e-3);
  seconds.insert(seconds.end(), 10, 1.0);
  double elapsed = 0, left = 0;
  for (const double s : seconds) left += s;
  EXPECT_LT(time_left(0.9, 1.8, 20), 0) << "too early";
  for (const double s : seconds) {
    elapsed += s;
    left -= s;
    if (elapsed >= 1) {
      EXPECT_NEAR(time_left(elapsed, 2 * elapsed, 2 * left), left, 1e-6);
    }
  }
}

TEST(BatteryVerify, costs_of_cases_grow_with_threads_calls_and_elements) {
  const Variant v = sound();
  double small = 0, large = 0;
  for (const Case& c : battery(v, open_cpu()->info(), Tier::standard, 1)) {
    EXPECT_GT(c.cost, 0) << c.describe();
    if (c.problem.n < 100 && !is_protocol(c.check)) small = std::max(small, c.cost);
    if (c.problem.n > 1'000'000) large = std::max(large, c.cost);
  }
  EXPECT_GT(large, 50 * small);
}

/// A CPU whose memory breaks for good, as a GPU's context does after an illegal access.
class BreakableCpu final : public Backend {
 public:
  mutable bool broken = false;
  const DeviceInfo& info() const override { return cpu_->info(); }
  void* allocate(std::size_t bytes) override { return check(), cpu_->allocate(bytes); }
  void release(void* p) noexcept override { cpu_->release(p); }
  std::size_t memory_free() const override { return cpu_->memory_free(); }
  void fill(void* d, unsigned char b, std::size_t n, Stream s) override { check(), cpu_->fill(d, b, n, s); }
  void copy_in(void* d, const void* h, std::size_t n, Stream s) override { check(), cpu_->copy_in(d, h, n, s); }
  void copy_within(void* d, const void* p, std::size_t n, Stream s) override { check(), cpu_->copy_within(d, p, n, s); }
  void copy_out(void* h, const void* p, std::size_t n, Stream s) override { check(), cpu_->copy_out(h, p, n, s); }
  bool repeats(const void* p, std::size_t period, std::size_t n, Stream s) override {
    return check(), cpu_->repeats(p, period, n, s);
  }
  Stream create_stream() override { return check(), cpu_->create_stream(); }
  void destroy_stream(Stream s) noexcept override { cpu_->destroy_stream(s); }
  void synchronize(Stream s) override { check(), cpu_->synchronize(s); }
  std::function<void()> watch_enqueue(const std::function<void()>& f, Stream s, FirstLaunch* l) override {
    return cpu_->watch_enqueue(f, s, l);
  }

 private:
  void check() const {
    if (broken) throw DeviceError("the context is lost");
  }
  std::unique_ptr<Backend> cpu_ = open_cpu();
};

// As a launch that failed, which is told by another exception than the harness's own.
TEST(BatteryVerify, stops_when_the_device_is_lost_to_whatever_was_thrown) {
  BreakableCpu cpu;
  const Variant good = sound();
  const Variant breaks = cpu_variant("stand-in/breaks", [&](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [&](void*, void*, Stream) {
      cpu.broken = true;
      throw std::runtime_error("kernel launch: unspecified launch failure");
    });
  });
  const VerifyReport report = verify({&breaks, &good}, cpu, Tier::quick, 1);
  EXPECT_EQ(report.by_variant[1].passed, 0u);
  EXPECT_NE(report.stopped.find("kernel launch: unspecified launch failure"), std::string::npos) << report.stopped;
}

TEST(BatteryVerify, stops_when_the_device_no_longer_works) {
  BreakableCpu cpu;
  const Variant good = sound();
  const Variant breaks = cpu_variant("stand-in/breaks", [&](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [&](void*, void*, Stream) { cpu.broken = true; });
  });
  const VerifyReport report = verify({&breaks, &good}, cpu, Tier::quick, 1);
  EXPECT_EQ(report.by_variant[0].failed, 1u);
  EXPECT_EQ(report.by_variant[1].passed, 0u);
  EXPECT_GT(report.by_variant[1].not_run, 0u);
  EXPECT_NE(report.stopped.find("the device no longer works after stand-in/breaks"), std::string::npos)
      << report.stopped;
}

/// The sound variant, whose calls do something else from 100 elements on.
Variant misbehaving(const std::string& what, const std::function<void()>& misbehave) {
  return cpu_variant("stand-in/" + what, [=](const Problem& p, const Settings&, const DeviceInfo&) {
    return plan_of({.longest_chain = p.n}, [=](void* in, void* out, Stream stream) {
      if (p.n >= 100) misbehave();
      sequential_plan(p)->enqueue(in, out, stream);
    });
  });
}

VerifyReport report_apart(const std::vector<const Variant*>& selected,
                          const std::function<std::unique_ptr<Backend>()>& open = open_cpu,
                          const VerifyProgress& progress = {}, const std::function<bool()>& interrupted = {}) {
  const auto cases_of = [](const Variant& v, const DeviceInfo& device) { return battery(v, device, Tier::quick, 1); };
  const auto patience_s = [](const Case& c) {
    return c.variant->id == "stand-in/hangs" && c.problem.n >= 100 ? 0.1 : 1e9;
  };
  return verify_apart(selected, DeviceKind::cpu, open, cases_of, patience_s, progress, interrupted);
}

TEST(BatteryApart, says_the_same_as_in_one_process) {
  Variant refuses = misbehaving("refuses", [] { throw Refused("no more"); });
  const Variant good = sound(), wrong = misbehaving("wrong", [] { throw std::runtime_error("a\nb"); });
  const VerifyReport apart = report_apart({&good, &refuses, &wrong}), here = report_on({&good, &refuses, &wrong});
  for (std::size_t v = 0; v < 3; ++v) {
    const VariantResult &a = apart.by_variant.at(v), &b = here.by_variant.at(v);
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.device, b.device);
    EXPECT_EQ(std::tie(a.passed, a.failed, a.refused, a.not_run), std::tie(b.passed, b.failed, b.refused, b.not_run));
    EXPECT_EQ(a.refusals, b.refusals);
    ASSERT_EQ(a.failures.size(), b.failures.size());
    for (std::size_t i = 0; i < a.failures.size(); ++i) {
      EXPECT_EQ(a.failures[i].why, b.failures[i].why);
      EXPECT_EQ(a.failures[i].what.command(DeviceKind::cpu), b.failures[i].what.command(DeviceKind::cpu));
    }
  }
  EXPECT_GT(apart.by_variant[0].seconds, 0);
  EXPECT_EQ(apart.passed, here.passed);
}

TEST(BatteryApart, what_a_wrong_variant_wrote_elsewhere_does_not_reach_the_next) {
  static bool damaged = false;
  const Variant wrong = misbehaving("wrong", [] {
    damaged = true;
    throw std::runtime_error("wrong");
  });
  const Variant next = misbehaving("next", [] {
    if (damaged) throw std::runtime_error("damaged by another");
  });
  const VerifyReport report = report_apart({&wrong, &next});
  EXPECT_GT(report.by_variant.at(0).failed, 0u);
  EXPECT_EQ(report.by_variant.at(1).failed, 0u);
  EXPECT_EQ(report.by_variant.at(1).not_run, 0u);
}

TEST(BatteryApart, what_hangs_crashes_or_exits_costs_its_own_variant_alone) {
  const Variant hangs = misbehaving("hangs", [] { for (;;) pause(); });
  const Variant crashes = misbehaving("crashes", [] {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would exit
    std::raise(SIGSEGV);
  });
  const Variant exits = misbehaving("exits", [] { sanitized ? std::_Exit(3) : std::exit(3); });
  const Variant crashes_early = cpu_variant(
      "stand-in/crashes-early", [](const Problem&, const Settings&, const DeviceInfo&) -> std::unique_ptr<Plan> {
        std::_Exit(4);
      });
  const Variant good = sound();
  const VerifyReport report = report_apart({&good, &crashes_early, &hangs, &good, &crashes, &exits, &good});
  const std::size_t all = battery(good, open_cpu()->info(), Tier::quick, 1).size();
  for (const std::size_t v : {0, 3, 6}) EXPECT_EQ(report.by_variant.at(v).passed, all) << v;
  const auto expect_given_up = [&](std::size_t v, const std::string& why) {
    const VariantResult& r = report.by_variant.at(v);
    ASSERT_EQ(r.failures.size(), 1u) << r.id;
    EXPECT_EQ(r.failed, 1u) << r.id;
    EXPECT_EQ(r.failures[0].why.rfind(why, 0), 0u) << r.failures[0].why;
    EXPECT_EQ(r.failures[0].what.variant->id, r.id);
    EXPECT_EQ(r.cases(), v == 1 ? 1 : all) << r.id;
    if (v == 1) return;
    EXPECT_GE(r.failures[0].what.problem.n, 100u) << r.id;
    EXPECT_GT(r.passed, 0u) << r.id;
    EXPECT_GT(r.not_run, 0u) << r.id;
  };
  expect_given_up(1, "while its cases were made: ended the process by exit(4)");
  expect_given_up(2, "did not end within 0.1 s and was killed: does a block wait for one that is not running");
  expect_given_up(4, "ended the process by SIGSEGV");
  expect_given_up(5, "ended the process by exit(3)");
  EXPECT_EQ(report.failed, 4u);
  EXPECT_EQ(report.stopped, "");
}

TEST(BatteryApart, what_its_maker_throws_is_no_failure_of_a_case) {
  const Variant good = sound();
  const VerifyProgress throws = [](auto...) { throw std::runtime_error("no terminal"); };
  EXPECT_EQ(error_of<std::runtime_error>([&] { report_apart({&good}, open_cpu, throws); }), "no terminal");
}

TEST(BatteryApart, what_the_system_may_have_ended_says_so) {
  const Variant killed = misbehaving("killed", [] { std::raise(SIGKILL); });
  EXPECT_EQ(report_apart({&killed}).failures.at(0).why,
            "ended the process by SIGKILL (Killed); the system may have run out of memory");
}

TEST(BatteryApart, a_lost_device_is_opened_anew_for_the_other_variants) {
  static BreakableCpu* opened = nullptr;  // in the child
  const auto open = [] {
    auto cpu = std::make_unique<BreakableCpu>();
    opened = cpu.get();
    return cpu;
  };
  const Variant breaks = misbehaving("breaks", [] { opened->broken = true; }), good = sound();
  const VerifyReport report = report_apart({&breaks, &good}, open);
  EXPECT_EQ(report.by_variant.at(0).failed, 1u);
  EXPECT_NE(report.failures.at(0).why.find("the context is lost"), std::string::npos) << report.failures[0].why;
  EXPECT_GT(report.by_variant.at(0).not_run, 0u);
  EXPECT_EQ(report.by_variant.at(1).cases(), report.by_variant.at(1).passed);
  EXPECT_EQ(report.stopped, "");
}

TEST(BatteryApart, a_device_that_is_not_there_is_told_of_as_one) {
  const Variant good = sound();
  EXPECT_THROW(report_apart({&good}, []() -> std::unique_ptr<Backend> { throw NoGpu("none"); }), NoGpu);
  EXPECT_THROW(report_apart({}, []() -> std::unique_ptr<Backend> { throw NoGpu("none"); }), NoGpu);
  EXPECT_THROW(report_apart({&good}, []() -> std::unique_ptr<Backend> { std::_Exit(1); }), DeviceError);
  const auto wrong_cases = [](const Variant&, const DeviceInfo&) -> std::vector<Case> { throw UsageError("no such"); };
  EXPECT_THROW(verify_apart({&good}, DeviceKind::cpu, open_cpu, wrong_cases, [](const Case&) { return 1e9; }),
               UsageError);
}

TEST(BatteryApart, ends_when_interrupted_with_what_it_had) {
  const Variant good = sound();
  const std::size_t all = battery(good, open_cpu()->info(), Tier::quick, 1).size();
  for (const bool apart : {true, false}) {
    int begun = 0;
    const auto progress = [&](std::size_t, std::size_t, const std::string&, double) { ++begun; };
    const auto interrupted = [&] { return begun == 3; };
    const auto cases_of = [](const Variant& v) { return battery(v, open_cpu()->info(), Tier::quick, 1); };
    const VerifyReport report = apart ? report_apart({&good}, open_cpu, progress, interrupted)
                                      : verify({&good}, *open_cpu(), cases_of, progress, interrupted);
    EXPECT_TRUE(report.interrupted);
    if (apart) EXPECT_GE(report.passed, 2u);  // the third is under way; what the process had sent by then counts
    else EXPECT_EQ(report.passed, 3u);
    EXPECT_EQ(report.passed + report.not_run, all);
  }
}

/// The sound variant with i64 among its types, which prepares as `refuse` lets it.
Variant with_i64(const std::function<void(const Problem&, const Settings&)>& refuse) {
  Variant v = cpu_variant("stand-in/i64", [=](const Problem& p, const Settings& s, const DeviceInfo&) {
    if (p.type == ElementType::i64) refuse(p, s);
    return p.type == ElementType::i64 ? sequential_plan<std::uint64_t>(p) : sequential_plan(p);
  });
  v.types.push_back(ElementType::i64);
  return v;
}

TEST(BatteryVerify, a_declared_type_that_preparing_refuses_fails) {
  const Variant v = with_i64([](auto&, auto&) { throw Refused("element type is not supported"); });
  const VerifyReport report = report_on({&v});
  ASSERT_EQ(report.failures.size(), 2u);
  EXPECT_EQ(report.failed, 2u);
  EXPECT_GT(report.passed, 0u);
  EXPECT_EQ(report.not_run, 0u);
  EXPECT_EQ(
      report.failures[0].why.rfind("declares sum of i64, but preparing refuses every case of it: element type is not "
                                   "supported; leave i64 out of .types",
                                   0),
      0u)
      << report.failures[0].why;
  EXPECT_EQ(report.failures[1].why.rfind("declares sum_of_squares of i64, but", 0), 0u) << report.failures[1].why;
  // Also where nothing else was asked for, and by the command that the failure prints.
  Variant alone = v;
  alone.types = {ElementType::i64};
  EXPECT_EQ(report_on({&alone}).failed, 2u);
  const Case c = report.failures[0].what;
  EXPECT_EQ(verify({&v}, *open_cpu(), [&](const Variant&) { return std::vector<Case>{c}; }).failed, 1u);
}

TEST(BatteryVerify, what_else_is_refused_is_no_failure) {
  const auto expect_refused = [](const Variant& v, std::size_t least_n = 0) {
    const VerifyReport report =
        verify({&v}, *open_cpu(), [&](const Variant& of) {
          std::vector<Case> cases = battery(of, open_cpu()->info(), Tier::quick, 1);
          std::erase_if(cases, [&](const Case& c) { return c.problem.n < least_n; });
          return cases;
        });
    EXPECT_EQ(report.failed, 0u) << report.failures.at(0).why;
    EXPECT_GT(report.refused, 0u);
  };
  expect_refused(with_i64([](auto&, auto&) { throw Unavailable("needs compute capability 9.0"); }));
  expect_refused(with_i64([](const Problem& p, auto&) { if (p.n > 1000) throw Refused("too large"); }), 1001);
  expect_refused(with_i64([](auto&, const Settings& s) {
    if (s.text("colour") != "blue") throw Refused("not in that");
  }));
  Variant declines = with_i64([](auto&, auto&) { throw Refused("never asked"); });
  declines.declines = [](const Problem& p, const Settings&) { return p.type == ElementType::i64 ? "no i64" : ""; };
  expect_refused(declines);
}

TEST(BatteryVerify, a_later_call_is_blamed_only_where_the_first_is_right) {
  const Case like{nullptr, {Operation::sum, ElementType::i32, 1000}, {}, 0, "random", 1, "", "repeat"};
  const auto why_of = [&](const std::string& check, auto prepare_) {
    const Variant v = cpu_variant("stand-in/blamed", prepare_);
    Case c = like;
    c.variant = &v;
    c.settings = v.settings();
    c.check = check;
    return run_case(c, *open_cpu());
  };
  const auto adds_one = [](const auto& when) {
    return [=](const Problem& p, const Settings&, const DeviceInfo&) {
      return plan_of({.longest_chain = p.n}, [=, calls = 0](void* in, void* out, Stream stream) mutable {
        sequential_plan(p)->enqueue(in, out, stream);
        if (when(static_cast<const std::uint32_t*>(in)[0], calls++)) ++*static_cast<std::uint32_t*>(out);
      });
    };
  };
  const std::string blame = "; does a call leave a counter or other state behind?";
  const auto says = [](const std::string& why, const std::string& what) { return why.find(what) != std::string::npos; };

  const auto tile = make_tile("random", ElementType::i32, 1000, 2);  // of the second call
  std::uint32_t first_of_second;
  std::memcpy(&first_of_second, tile.data(), sizeof first_of_second);
  const std::string of_data = why_of("repeat", adds_one([=](std::uint32_t x, int) { return x == first_of_second; }));
  EXPECT_EQ(of_data.rfind("second call of the same plan: got ", 0), 0u) << of_data;
  EXPECT_TRUE(says(of_data, "; so is the first call of a plan on this data: got ")) << of_data;
  EXPECT_FALSE(says(of_data, blame)) << of_data;

  const std::string of_state = why_of("repeat", adds_one([](std::uint32_t, int calls) { return calls > 0; }));
  EXPECT_TRUE(says(of_state, blame)) << of_state;

  const std::string always = why_of("two-plans", adds_one([](std::uint32_t, int) { return true; }));
  EXPECT_EQ(always.rfind("two plans at once, second plan: got ", 0), 0u) << always;
  EXPECT_FALSE(says(always, blame)) << always;
}

TEST(BatteryJunit, tells_what_became_of_each_variant) {
  const Variant v = sound();
  const Case c{&v, {Operation::sum, ElementType::i32, 3}, v.settings(), 0, "random", 1, "", "exact"};
  const std::vector<VariantResult> results{
      {.id = "a/fine", .device = DeviceKind::sim, .passed = 7, .seconds = 1.5},
      {.id = "a/<wrong>",
       .device = DeviceKind::sim,
       .passed = 1,
       .failed = 2,
       .failures = {{c, "got \"1\" & want 2\n\x01"}}},
      {.id = "b/absent", .device = DeviceKind::cpu, .refused = 9, .refusals = {"b/absent: not here"}},
      {.id = "b/cut", .device = DeviceKind::cpu, .passed = 2, .not_run = 3},
      {.id = "b/slow", .device = DeviceKind::cpu, .passed = 2, .left_out = 4, .reasons_left_out = {"a < b", "c"}}};
  std::ostringstream out;
  write_junit(out, results);
  EXPECT_EQ(out.str(), R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="reductio verify">
  <testsuite name="sim" tests="2" failures="1" errors="0" skipped="0" time="1.500">
    <testcase classname="reductio.sim" name="a/fine" time="1.500">
    </testcase>
    <testcase classname="reductio.sim" name="a/&lt;wrong&gt;" time="0.000">
      <failure message="2 of 3 cases failed">stand-in/sound sum i32 n=3 colour=green )"
                       R"(random seed=1: got &quot;1&quot; &amp; want 2&#10;?&#10;</failure>
    </testcase>
  </testsuite>
  <testsuite name="cpu" tests="3" failures="1" errors="0" skipped="1" time="0.000">
    <testcase classname="reductio.cpu" name="b/absent" time="0.000">
      <skipped message="b/absent: not here"/>
    </testcase>
    <testcase classname="reductio.cpu" name="b/cut" time="0.000">
      <failure message="0 of 5 cases failed, 3 were not run"></failure>
    </testcase>
    <testcase classname="reductio.cpu" name="b/slow" time="0.000">
      <system-out>4 cases left out: a &lt; b; c</system-out>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(BatteryJunit, an_unwritable_file_is_a_clear_error) {
  EXPECT_THROW(write_junit("/nonexistent/folder/report.xml", {}), UsageError);
  const auto path = std::filesystem::path(testing::TempDir()) / "reductio_junit_test.xml";
  write_junit(path.string(), {});
  std::ifstream file(path);
  std::string first;
  std::getline(file, first);
  EXPECT_EQ(first, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace reductio
