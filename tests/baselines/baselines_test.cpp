/// The baselines that need no GPU compute what a plain loop computes, and every baseline says why where it declines.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "core/variant.h"
#include "device/backend.h"
#include "tests/error_of.h"

namespace reductio::baselines_tests {

[[gnu::weak]] void register_early_release();  // early_release.cu; null where CUDA is not built

namespace {

bool is_registered(const std::string& id) {
  for (const Variant& v : variants())
    if (v.id == id) return true;
  return false;
}

template <class T>
constexpr ElementType element_type = std::is_same_v<T, float>    ? ElementType::f32
                                     : std::is_same_v<T, double> ? ElementType::f64
                                                                 : ElementType::i32;

/// Sets an environment variable for the life of the object.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { old_.empty() ? unsetenv(name_) : setenv(name_, old_.c_str(), 1); }

 private:
  const char* name_;
  std::string old_;
};

/// Runs one call the way the harness does: input at an offset of `offset` elements, poisoned output.
template <class T>
class OneCall {
 public:
  OneCall(const Variant& v, Operation operation, const Settings& s, const std::vector<T>& x, std::size_t offset)
      : backend_(open_backend(DeviceKind::cpu)),
        x_(x),
        variant_(v),
        in_(*backend_, (x.size() + offset) * sizeof(T)),
        out_(*backend_, 2 * sizeof(T)),  // moments leave two results, the sum first
        input_(reinterpret_cast<T*>(in_.get()) + offset),
        plan_(make_plan(v, {operation, element_type<T>, x.size()}, s, backend_->info())) {}

  T operator()() {
    backend_->copy_in(input_, x_.data(), x_.size() * sizeof(T), {});
    backend_->fill(out_.get(), 0xFF, sizeof(T), {});
    plan_->enqueue(input_, out_.get(), {});
    T result{};
    if (!variant_.consumes_input && !x_.empty()) {
      EXPECT_EQ(std::memcmp(input_, x_.data(), x_.size() * sizeof(T)), 0) << "the input was written to";
    }
    if (plan_->info().result == ResultLocation::on_device) std::memcpy(&result, out_.get(), sizeof(T));
    return result;
  }
  PlanInfo info() const { return plan_->info(); }

 private:
  std::unique_ptr<Backend> backend_;
  std::vector<T> x_;
  const Variant& variant_;
  DeviceMemory in_, out_;
  T* input_;
  std::unique_ptr<Plan> plan_;
};

template <class T>
class CpuBaselines : public testing::Test {
 protected:
  /// f(call, variant) for every CPU baseline, setting and operation, and sizes about the edges of unrolled loops.
  template <class Fill, class F>
  void for_all(Fill fill, F f) {
    std::size_t calls = 0;
    for (const std::size_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 1000, 100003}) {
      const std::vector<T> x = fill(n);
      for (const Variant& v : variants()) {
        if (!v.runs_on(DeviceKind::cpu)) continue;
        for (const Settings& s : all_settings(v.tunables))
          for (const Operation operation : v.operations)
            for (const std::size_t offset : {0, 1, 3}) {
              if (n > 1000 && offset != 1) continue;
              if (accumulator_of(operation, element_type<T>) != element_type<T>) continue;  // a wide sum is no T
              if (has_shape(operation)) continue;  // of many outputs: tests/verify/shapes_test.cpp
              const Problem p{operation, element_type<T>, n};
              if (!refusal(v, DeviceKind::cpu, p, s).empty()) continue;
              SCOPED_TRACE(v.id + " " + std::string(name(operation)) + " n=" + std::to_string(n) + " " + s.str() +
                           " offset=" + std::to_string(offset));
              try {
                OneCall<T> call(v, operation, s, x, offset);
                f(call, x, operation);
                ++calls;
              } catch (const Refused& e) {  // a library that this machine lacks
                EXPECT_TRUE(v.id == "std/reduce" || v.id == "openmp/sum") << e.what();
              }
            }
      }
    }
    EXPECT_GE(calls, 40u * 28);  // sizes and offsets; 25 settings of the loops that add up, Eigen's two, std::reduce
  }
};

using Types = testing::Types<std::uint32_t, float, double>;
TYPED_TEST_SUITE(CpuBaselines, Types);

/// Integers so small that every sum in every order is exact: results must match bit for bit.
TYPED_TEST(CpuBaselines, MatchAPlainLoopExactly) {
  using T = TypeParam;
  const auto fill = [](std::size_t n) {
    std::mt19937_64 random(n);
    std::vector<T> x(n);
    for (T& e : x) e = static_cast<T>(static_cast<int>(random() % 23) - 11);
    return x;
  };
  this->for_all(fill, [](OneCall<T>& call, const std::vector<T>& x, Operation operation) {
    T want = 0;
    for (const T e : x) want += operation == Operation::sum_of_squares ? e * e : e;
    EXPECT_EQ(call(), want);
    EXPECT_EQ(call(), want) << "at the second call";
  });
}

/// Integers over their full range wrap; floats stay within the bound of the declared longest chain.
TYPED_TEST(CpuBaselines, MatchAnAccurateSumOfArbitraryData) {
  using T = TypeParam;
  const auto fill = [](std::size_t n) {
    std::mt19937_64 random(n + 1);
    std::vector<T> x(n);
    for (T& e : x) {
      if constexpr (std::is_floating_point_v<T>)
        e = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(random));
      else
        e = static_cast<T>(random());
    }
    return x;
  };
  this->for_all(fill, [](OneCall<T>& call, const std::vector<T>& x, Operation operation) {
    const std::size_t chain = call.info().longest_chain;
    EXPECT_LE(chain, x.size());
    if constexpr (std::is_floating_point_v<T>) {
      long double want = 0, magnitudes = 0;
      for (const T e : x) {
        const long double term = operation == Operation::sum_of_squares ? static_cast<long double>(e) * e : e;
        want += term;
        magnitudes += std::fabs(term);
      }
      // Squaring rounds once more; the reference is exact to 2^-64, which the last 2 cover.
      const double h = static_cast<double>(chain) + 2, u = std::numeric_limits<T>::epsilon() / 2;
      EXPECT_LE(std::fabs(static_cast<double>(call() - want)), h * u / (1 - h * u) * static_cast<double>(magnitudes));
    } else {
      T want = 0;
      for (const T e : x) want += operation == Operation::sum_of_squares ? e * e : e;
      EXPECT_EQ(call(), want);
    }
  });
}

TEST(Baselines, AllAreRegistered) {
  for (const char* id : {"eigen/sum", "eigen/squared-norm", "std/reduce", "openmp/sum", "host/plain", "host/unroll2",
                         "host/unroll4", "host/unroll8", "host/recursive"}) {
    ASSERT_TRUE(is_registered(id)) << id;
    EXPECT_TRUE(find_variant(id).runs_on(DeviceKind::cpu)) << id;
  }
  if (!is_registered("cub/sum")) return;  // built without CUDA
  EXPECT_TRUE(find_variant("thrust/cpu").runs_on(DeviceKind::cpu));
  for (const char* id : {"thrust/reduce", "thrust/transform-reduce", "cub/sum", "cub/sum-to-host", "cub/sum-tuned",
                         "cub/transform-reduce", "cublas/dot"})
    EXPECT_TRUE(find_variant(id).runs_on(DeviceKind::cuda)) << id;
}

/// They overflow an int near 2^31 elements and read outside the input. In a process of its own, because what is
/// registered stays.
TEST(Baselines, CallsOfReleasesBefore21DeclineMoreThan2To30) {
  if (!register_early_release) GTEST_SKIP() << "built without CUDA";
  const auto ask_all = [] {
    register_early_release();
    for (const char* id : {"cub@0.9/sum", "cub@0.9/transform-reduce", "thrust@0.9/reduce"}) {
      const Variant& v = find_variant(id);
      for (const std::size_t more : {0, 1}) {
        const Problem p{v.operations.front(), ElementType::i32, (std::size_t{1} << 30) + more};
        std::fprintf(stderr, "%s\n", refusal(v, DeviceKind::cuda, p, v.settings()).c_str());
      }
    }
    std::exit(3);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string why =
      " 0.9 overflows an int near 2\\^31 and reads outside the input; use at most 2\\^30 elements\n";
  EXPECT_EXIT(ask_all(), testing::ExitedWithCode(3), "^\nCUB" + why + "\nCUB" + why + "\nThrust" + why);
}

TEST(Baselines, DescribeThemselves) {
  for (const Variant& v : variants()) {
    if (!v.runs_on(DeviceKind::cpu) && !v.id.starts_with("cub") && !v.id.starts_with("thrust/")) continue;
    EXPECT_FALSE(v.title.empty()) << v.id;
    EXPECT_FALSE(v.cites.empty()) << v.id;
    EXPECT_FALSE(v.how.thread.empty()) << v.id;
    EXPECT_FALSE(v.how.grid.empty()) << v.id;
    EXPECT_EQ(v.consumes_input, v.id == "host/recursive") << v.id;
  }
}

/// Whatever a loop is unrolled by, n leaves every remainder.
TYPED_TEST(CpuBaselines, HostLoopsTakeEveryRemainder) {
  using T = TypeParam;
  for (std::size_t n = 0; n <= 40; ++n) {
    std::vector<T> x(n);
    T want = 0;
    for (std::size_t i = 0; i < n; ++i) want += x[i] = static_cast<T>(1 + i * i);
    for (const Variant& v : variants()) {
      if (!v.id.starts_with("host/") || has_shape(v.operations.front())) continue;
      for (const Settings& s : all_settings(v.tunables)) {
        const Problem p{v.operations.front(), element_type<T>, n};
        if (!refusal(v, DeviceKind::cpu, p, s).empty()) continue;
        OneCall<T> call(v, p.operation, s, x, 1);
        EXPECT_EQ(call(), want) << v.id << " " << s.str() << " n=" << n;
      }
    }
  }
}

TEST(Baselines, HostLoopsAreThereAtEveryLevelOfOptimisation) {
  std::size_t loops = 0;
  for (const Variant& v : variants()) {
    if (!v.id.starts_with("host/") || has_shape(v.operations.front())) continue;
    ++loops;
    ASSERT_EQ(v.tunables.size(), 1u) << v.id;
    EXPECT_EQ(v.tunables[0].name, "opt") << v.id;
    EXPECT_EQ(v.tunables[0].values, (std::vector<std::string>{"O0", "O1", "O2", "O3", "O3-fast-math"})) << v.id;
    EXPECT_EQ(v.tunables[0].standard, "O2") << v.id;
  }
  EXPECT_EQ(loops, 5u);
}

TEST(Baselines, HostLoopsCountByAnIntAndDeclineMore) {
  for (const char* id : {"host/plain", "host/recursive"}) {
    const Variant& v = find_variant(id);
    const auto why = [&](std::size_t n) {
      return refusal(v, DeviceKind::cpu, {v.operations.front(), ElementType::f32, n}, v.settings());
    };
    EXPECT_EQ(why((std::size_t{1} << 31) - 1), "") << id;
    EXPECT_NE(why(std::size_t{1} << 31).find("2^31 - 1"), std::string::npos) << id;
  }
}

/// A program that is linked with -ffast-math takes subnormal numbers for zero, everywhere.
TEST(Baselines, FastMathEndsAtItsLoops) {
  const float least = std::numeric_limits<float>::denorm_min();
  volatile float zero = 0;  // added by the machine, not by the compiler
  EXPECT_NE(least + zero, 0);
  const Variant& v = find_variant("host/plain");
  OneCall<float> call(v, Operation::sum, v.settings({{"opt", "O3-fast-math"}}), std::vector<float>(100, least), 0);
  EXPECT_EQ(call(), 100 * least);
}

TEST(Baselines, RecursiveHalvingDeclaresATreesDepth) {
  const Variant& v = find_variant("host/recursive");
  const auto chain = [&](std::size_t n) {
    return make_plan(v, {Operation::sum, ElementType::f32, n}, v.settings(), {})->info().longest_chain;
  };
  EXPECT_EQ(chain(0), 0u);
  EXPECT_EQ(chain(1), 0u);
  EXPECT_EQ(chain(2), 1u);
  EXPECT_EQ(chain(3), 2u);
  EXPECT_EQ(chain(1024), 10u);
  EXPECT_EQ(chain(1025), 11u);
}

/// An f32 sum by halving keeps what a single accumulator loses, so the loop must really be the tree that it declares.
TEST(Baselines, RecursiveHalvingAddsInATree) {
  const Variant& v = find_variant("host/recursive");
  std::vector<float> x(1 << 20, 1e-4f);
  x[0] = 4096;  // one accumulator that starts here loses most of every small addend
  for (const Settings& s : all_settings(v.tunables)) {
    OneCall<float> tree(v, Operation::sum, s, x, 0);
    EXPECT_NEAR(tree(), 4096 + ((1 << 20) - 1) * 1e-4, 0.01) << s.str();
  }
  const Variant& loop = find_variant("host/plain");
  OneCall<float> chain(loop, Operation::sum, loop.settings(), x, 0);
  EXPECT_GT(std::fabs(chain() - (4096 + ((1 << 20) - 1) * 1e-4)), 0.1);
}

TEST(Baselines, OpenMpTakesAnyNumberOfThreads) {
  const Variant& v = find_variant("openmp/sum");
  const std::vector<std::uint32_t> x(1001, 3);
  for (const char* threads : {"1", "2", "5", "64"}) {
    OneCall<std::uint32_t> call(v, Operation::sum, v.settings({{"threads", threads}}), x, 0);
    EXPECT_EQ(call(), 3003u) << threads;
  }
  const Problem p{Operation::sum, ElementType::i32, 10};
  EXPECT_NE(refusal(v, DeviceKind::cpu, p, v.settings({{"threads", "0"}})), "");
  EXPECT_NE(refusal(v, DeviceKind::cpu, p, v.settings({{"threads", "many"}})), "");
}

TEST(Baselines, StdReduceInParallelIsRefusedWhereItsModuleIsAbsent) {
  const Variant& v = find_variant("std/reduce");
  const Environment folder("REDUCTIO_MODULES", "/nonexistent");
  const Problem p{Operation::sum, ElementType::i32, 10};
  const std::string why = error_of<Refused>([&] { make_plan(v, p, v.settings({{"policy", "par"}}), {}); });
  EXPECT_NE(why.find("/nonexistent/libreductio_std_parallel.so, which is not there"), std::string::npos) << why;
  EXPECT_NE(why.find("libtbb"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos) << why;
  EXPECT_NO_THROW(make_plan(v, p, v.settings({{"policy", "seq"}}), {}));
}

/// The module that the build put beside this test is found and works.
TEST(Baselines, StdReduceInParallelIsFoundBesideTheProgram) {
  const auto module = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libreductio_std_parallel.so";
  if (!std::filesystem::exists(module)) GTEST_SKIP() << "built without TBB";
  const Variant& v = find_variant("std/reduce");
  const std::vector<double> x(100003, 2);
  OneCall<double> sum(v, Operation::sum, v.settings({{"policy", "par"}}), x, 0);
  EXPECT_EQ(sum(), 200006);
  OneCall<double> squares(v, Operation::sum_of_squares, v.settings({{"policy", "par"}}), x, 0);
  EXPECT_EQ(squares(), 400012);
}

class GpuBaselines : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_registered("cub/sum")) GTEST_SKIP() << "built without CUDA";
    gpu.kind = DeviceKind::cuda;
    gpu.sm_count = 132;
  }
  DeviceInfo gpu;
};

TEST_F(GpuBaselines, CubWith32BitCountsDeclines2To31) {
  const std::size_t limit = std::size_t{1} << 31;
  for (const char* id : {"cub/sum", "cub/transform-reduce"}) {
    const Variant& v = find_variant(id);
    const auto why = [&](const char* counts, std::size_t n) {
      return refusal(v, DeviceKind::cuda, {v.operations.front(), ElementType::f32, n},
                     v.settings({{"counts", counts}}));
    };
    EXPECT_EQ(why("32", limit - 1), "");
    EXPECT_NE(why("32", limit).find("2^31"), std::string::npos);
    for (const char* counts : {"auto", "64"})
      for (const std::size_t n : {limit - 1, limit, 4 * limit}) EXPECT_EQ(why(counts, n), "");
  }
}

TEST_F(GpuBaselines, CublasHasNoIntegers) {
  const Variant& v = find_variant("cublas/dot");
  EXPECT_NE(refusal(v, DeviceKind::cuda, {Operation::sum_of_squares, ElementType::i32, 10}, v.settings()), "");
  EXPECT_NE(refusal(v, DeviceKind::cuda, {Operation::sum, ElementType::f32, 10}, v.settings()), "");
}

/// In a process of its own, because a cuBLAS that was loaded once stays.
TEST_F(GpuBaselines, CublasIsRefusedWhereItIsAbsent) {
  const Variant& v = find_variant("cublas/dot");
  const auto say_why = [&] {
    setenv("REDUCTIO_CUBLAS", "/nonexistent/libcublas.so", 1);
    try {
      make_plan(v, {Operation::sum_of_squares, ElementType::f32, 10}, v.settings(), gpu);
    } catch (const Refused& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::exit(3);
    }
    std::exit(4);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(say_why(), testing::ExitedWithCode(3),
              "cuBLAS cannot be loaded .*/nonexistent/libcublas.so.*REDUCTIO_CUBLAS");
}

}  // namespace
}  // namespace reductio::baselines_tests
