// The battery of operations over shapes finds what sums of rows, columns or segments may do wrong. Stand-ins on the
// CPU.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "device/backend.h"
#include "verify/call.h"
#include "verify/verify.h"
#include "verify/workbench.h"

namespace reductio {
namespace {

using Sums = std::function<void(const Problem&, const float* in, float* out)>;

Variant over_shapes(Operation operation, Sums sums, Determinism determinism = Determinism::per_launch_shape) {
  Variant v{.id = "stand-in/shapes",
            .title = "stand-in",
            .cites = "none",
            .how = {},
            .operations = {operation},
            .types = {ElementType::f32},
            .determinism = determinism};
  v.prepare[static_cast<int>(DeviceKind::cpu)] = [sums = std::move(sums)](const Problem& p, const Settings&,
                                                                           const DeviceInfo&) {
    return plan_of({.longest_chain = longest_line(p)}, [=](void* in, void* out, Stream) {
      sums(p, static_cast<const float*>(in), static_cast<float*>(out));
    });
  };
  return v;
}

/// The first failure; empty if all pass.
std::string first_failure(const Variant& v) {
  const VerifyReport report = verify({&v}, *open_cpu(), Tier::quick, 1);
  EXPECT_GT(report.passed + report.failed, 0u);
  return report.failures.empty() ? "" : report.failures.front().what.describe() + ": " + report.failures.front().why;
}

float sum_of(const float* in, std::size_t n) {
  float sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += in[i];
  return sum;
}

void rows(const Problem& p, const float* in, float* out) {
  for (std::size_t r = 0; r < p.rows(); ++r) out[r] = sum_of(in + r * p.pitch(), p.columns());
}
void columns(const Problem& p, const float* in, float* out) {
  for (std::size_t c = 0; c < p.columns(); ++c) out[c] = 0;
  for (std::size_t r = 0; r < p.rows(); ++r)
    for (std::size_t c = 0; c < p.columns(); ++c) out[c] += in[r * p.pitch() + c];
}
void segments(const Problem& p, const float* in, float* out) {
  const std::int64_t* const offsets = p.shape.offsets_on_device;
  for (std::size_t s = 0; s < p.segments(); ++s)
    out[s] = sum_of(in + offsets[s], static_cast<std::size_t>(offsets[s + 1] - offsets[s]));
}

TEST(ShapesBattery, PassesWhatIsRight) {
  EXPECT_EQ(first_failure(over_shapes(Operation::row_sums, rows, Determinism::always)), "");
  EXPECT_EQ(first_failure(over_shapes(Operation::column_sums, columns, Determinism::always)), "");
  EXPECT_EQ(first_failure(over_shapes(Operation::segment_sums, segments, Determinism::always)), "");
}

TEST(ShapesBattery, FindsThatThePitchIsIgnored) {
  EXPECT_NE(first_failure(over_shapes(Operation::row_sums,
                                      [](const Problem& p, const float* in, float* out) {
                                        for (std::size_t r = 0; r < p.rows(); ++r)
                                          out[r] = sum_of(in + r * p.columns(), p.columns());
                                      }))
                .find("/"),  // of a shape with a pitch
            std::string::npos);
}

TEST(ShapesBattery, FindsOneWrongOutputAmongMany) {
  const std::string why =
      first_failure(over_shapes(Operation::row_sums, [](const Problem& p, const float* in, float* out) {
        rows(p, in, out);
        if (p.rows() == 1021) out[517] = 0.5f * out[518];
      }));
  EXPECT_NE(why.find("row 517 of 1021"), std::string::npos) << why;
}

TEST(ShapesBattery, FindsTheOddColumnThatAVectorLeaves) {
  EXPECT_NE(first_failure(over_shapes(Operation::column_sums,
                                      [](const Problem& p, const float* in, float* out) {
                                        columns(p, in, out);
                                        if (p.columns() % 4 == 1) out[p.columns() - 1] = 0;
                                      })),
            "");
}

TEST(ShapesBattery, FindsAnEmptySegmentThatIsNotWritten) {
  const std::string why =
      first_failure(over_shapes(Operation::segment_sums, [](const Problem& p, const float* in, float* out) {
        const std::int64_t* const offsets = p.shape.offsets_on_device;
        for (std::size_t s = 0; s < p.segments(); ++s)
          if (offsets[s] < offsets[s + 1])
            out[s] = sum_of(in + offsets[s], static_cast<std::size_t>(offsets[s + 1] - offsets[s]));
      }));
  EXPECT_NE(why.find("got nan, want 0"), std::string::npos) << why;
}

TEST(ShapesBattery, FindsWhatIsWrittenBesideTheOutput) {
  const std::string behind =
      first_failure(over_shapes(Operation::row_sums, [](const Problem& p, const float* in, float* out) {
        rows(p, in, out);
        out[p.rows()] = 0;
      }));
  EXPECT_NE(behind.find("past the output"), std::string::npos) << behind;
}

TEST(ShapesBattery, FindsBitsThatDependOnNeighbours) {
  // Whether there are other rows decides in which order a row is added up.
  const std::string why = first_failure(over_shapes(
      Operation::row_sums,
      [](const Problem& p, const float* in, float* out) {
        for (std::size_t r = 0; r < p.rows(); ++r) {
          float sum = 0;
          for (std::size_t c = 0; c < p.columns(); ++c)
            sum += in[r * p.pitch() + (p.rows() > 1 ? p.columns() - 1 - c : c)];
          out[r] = sum;
        }
      },
      Determinism::always));
  EXPECT_NE(why.find("differs in bits from that of the same elements alone"), std::string::npos) << why;
}

TEST(ShapesBattery, APlanKeepsTheOffsetsThatItPointsTo) {
  const auto backend = open_sim();
  Workbench bench(*backend);
  const std::int64_t* offsets = nullptr;
  Variant v = over_shapes(Operation::segment_sums, segments);
  v.prepare[static_cast<int>(DeviceKind::sim)] = [&](const Problem& p, const Settings&, const DeviceInfo&) {
    offsets = p.shape.offsets_on_device;
    return plan_of({}, [](void*, void*, Stream) {});
  };
  const auto plan_for = [&](std::size_t n) {
    const Problem p = problem_with_shape(Operation::segment_sums, ElementType::f32, n, "uniform:32");
    return OwnPlan::of({&v, p, v.settings(), 0, "exact", 1, "forward", "exact"}, bench);
  };
  const OwnPlan first = plan_for(1000);
  const std::int64_t* const of_first = offsets;
  const OwnPlan second = plan_for(2000);
  const OwnStream stream(*backend);
  std::int64_t value = 0;
  EXPECT_NO_THROW(backend->copy_out(&value, of_first + 1, sizeof value, stream));
  EXPECT_EQ(value, 32);
}

TEST(ShapesBattery, FindsAResultThatIsRemembered) {
  const auto remembered = std::make_shared<std::vector<float>>();
  EXPECT_NE(first_failure(over_shapes(Operation::row_sums,
                                      [=](const Problem& p, const float* in, float* out) {
                                        rows(p, in, out);
                                        if (remembered->size() == p.rows() && p.rows() > 1) out[1] = (*remembered)[1];
                                        remembered->assign(out, out + p.rows());
                                      })),
            "");
}

}  // namespace
}  // namespace reductio
