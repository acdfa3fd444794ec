// The compensated sums keep what rounding loses: on data where a plain sum is far off, and by what would be left of
// them if a compiler took floats for real numbers, or somebody dropped the compensation.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/dataset.h"
#include "core/reference.h"
#include "core/variant.h"
#include "device/backend.h"

namespace reductio {
namespace {

struct HardData {
  ElementType type;
  std::vector<std::byte> tile;
  std::size_t n() const { return tile.size() / size_of(type); }
};

template <class T>
HardData hard_data_of(const std::vector<T>& values) {
  HardData out{sizeof(T) == 4 ? ElementType::f32 : ElementType::f64, std::vector<std::byte>(values.size() * sizeof(T))};
  std::memcpy(out.tile.data(), values.data(), out.tile.size());
  return out;
}

/// One, and behind it numbers of which each is lost beside it: 2^-p is half a unit of a sum of p digits.
template <class T>
HardData one_and_many_small() {
  std::vector<T> values(100'000, std::ldexp(T(1), -std::numeric_limits<T>::digits) * T(0.99));
  values[0] = 1;
  return hard_data_of(values);
}

/// Takes what was added before away again: of the first sum, small numbers alone are left.
template <class T>
HardData large_that_cancel() {
  std::vector<T> values(100'000, T(0.1));
  for (std::size_t i = 0; i < values.size(); i += 1000) {
    values[i] = std::ldexp(T(1), 20);
    values[i + 100] = -values[i];
  }
  return hard_data_of(values);
}

std::vector<HardData> hard_data() {
  std::vector<HardData> out{one_and_many_small<float>(), one_and_many_small<double>(), large_that_cancel<float>(),
                        large_that_cancel<double>()};
  for (const ElementType type : {ElementType::f32, ElementType::f64})
    out.push_back({type, make_tile("ill-conditioned", type, 100'000, 1)});
  return out;
}

/// |result - exact| in units of the exact sum's last place, of one thread's sum: no tree helps a plain one.
double error_in_ulp(const std::string& id, const HardData& data, Backend& device) {
  const Variant& v = find_variant(id);
  const Problem problem{Operation::sum, data.type, data.n()};
  const auto plan = make_plan(v, problem, v.settings({{"block", "32"}, {"grid", "1"}}), device.info());
  const DeviceMemory in(device, data.tile.size()), out(device, 8);
  device.copy_in(in.get(), data.tile.data(), data.tile.size(), {});
  plan->enqueue(in.get(), out.get(), {});
  std::byte result[8]{};
  device.copy_out(result, out.get(), size_of(data.type), {});
  device.synchronize({});
  const Reference want = reference(Operation::sum, data.type, data.tile, data.n());
  const int digits = data.type == ElementType::f32 ? 24 : 53;
  const double ulp = std::ldexp(1.0, std::ilogb(want.value) + 1 - digits);
  return check_result(result, want, data.n(), Operation::sum, false).abs_error / ulp;
}

/// Empty, or what shows that a variant does not keep what rounding loses.
std::string loses(const std::string& id, Backend& device) {
  for (const HardData& data : hard_data()) {
    const Variant& v = find_variant(id);
    if (std::find(v.types.begin(), v.types.end(), data.type) == v.types.end()) continue;
    const double error = error_in_ulp(id, data, device), plain = error_in_ulp("compensated/plain", data, device);
    // Rounded once a sum is half a unit off at most. A pair's own rounding shows where plain sums are millions off.
    if (!(error <= std::max(0.6, plain / 10'000)))
      return id + " is " + std::to_string(error) + " units off, plain " + std::to_string(plain);
    if (!(plain >= 20)) return "the data are too easy: plain is " + std::to_string(plain) + " units off";
  }
  return {};
}

std::vector<std::unique_ptr<Backend>> devices() {
  std::vector<std::unique_ptr<Backend>> out;
  out.push_back(open_sim());
  try {
    out.push_back(open_backend(DeviceKind::cuda));
  } catch (const NoGpu&) {
  }
  return out;
}

TEST(Compensated, SumsAreAsGoodAsRoundedOnceWherePlainOnesAreFarOff) {
  for (const auto& device : devices())
    for (const char* id : {"compensated/neumaier", "compensated/double-double", "compensated/in-double"})
      EXPECT_EQ(loses(id, *device), "") << device->info().name;
}

// Kahan's loses digits of the sum where an element is larger.
TEST(Compensated, KahansSumIsAsGoodWhereTheSumIsTheLargerOne) {
  for (const auto& device : devices()) {
    EXPECT_LE(error_in_ulp("compensated/kahan", one_and_many_small<float>(), *device), 0.6) << device->info().name;
    EXPECT_LE(error_in_ulp("compensated/kahan", one_and_many_small<double>(), *device), 0.6) << device->info().name;
  }
}

// Without its compensation each of them is plain, which the same check tells.
TEST(Compensated, WithoutCompensationTheCheckFails) {
  EXPECT_NE(loses("compensated/plain", *open_sim()).find("compensated/plain is "), std::string::npos);
}

TEST(Compensated, PairwiseLosesLittleOfManyAlike) {
  for (const auto& device : devices()) {
    const HardData tenths = hard_data_of(std::vector<float>(1'000'000, 0.1f));
    EXPECT_LT(error_in_ulp("compensated/pairwise", tenths, *device), 4) << device->info().name;
    EXPECT_GT(error_in_ulp("compensated/plain", tenths, *device), 40) << device->info().name;
  }
}

}  // namespace
}  // namespace reductio
