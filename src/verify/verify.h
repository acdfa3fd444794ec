#pragma once
/// The battery that every variant must pass on every device where it runs. `reductio verify` and the tests run it.
/// battery.cpp decides which sizes, settings, types, orders and alignments are combined.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/variant.h"
#include "device/backend.h"

namespace reductio {

/// How much of the full product is run.
enum class Tier {
  quick,      ///< seconds: a smoke test, for `./reproduce` and while writing a variant
  sanitizer,  ///< sizes up to 2^12: for ASan/UBSan on the host and compute-sanitizer on the GPU
  check,      ///< ./check on the simulated device and the CPU: a smaller sample than standard's. Variants that repeat
              ///< others' parts (repeats_parts()) get the quick tier, as in the tier sanitizer
  standard,   ///< `reductio verify` on the simulated device and the CPU
  gpu,        ///< the larger product, past 2^30 and 2^32 elements
};

struct Case {
  const Variant* variant;
  Problem problem;
  Settings settings;
  std::size_t offset_elements;
  std::string dataset;
  std::uint64_t seed;  ///< of the data, and of the order where that is random
  std::string order;   ///< the simulated device's schedule: "forward", "reverse", "starve", "random"; empty elsewhere
  /// One call whose result is "exact" (bit for bit), "bounded" (within the rounding bound) or "special" (an infinity or
  /// NaN). "fault": one call with a known fault, whose result must be wrong in just the declared way. The others make
  /// several calls (checks.cpp): "repeat", one plan on differing data; "two-plans", two plans on two streams at once;
  /// "calls", nine calls of one plan on two streams, one of them captured and launched twice; "many-calls", 300 of one
  /// plan, and those in which its counters wrap; "bias", 16 or more of one plan, whose errors must be of both signs;
  /// "settings", other settings and a GPU of more SMs, whose bits must agree (Determinism::always); "chain", the
  /// declared longest chain of additions against the executed one (simulated device, floats); "neighbours", rows or
  /// segments by themselves, whose bits must be those that they have beside others (Determinism::always).
  std::string check;
  std::string like{};      ///< the GPU that the simulated device is like (device/sim/gpu.h); empty: itself
  /// Indices of 32 bits count to this only (core/loop_index.h); 0: as far as they do.
  std::size_t index_limit = 0;
  std::string left_out{};  ///< why the tier does not run it; empty: it does
  double cost = 1;         ///< relative to other cases, to estimate the time left

  /// "levels/naive sum f32 n=1025 block=32;finish=atomic offset=1 random seed=3 order=reverse": enough to run it again.
  std::string describe() const;
  /// Runs it again, alone.
  std::string command(DeviceKind, const std::string& program = "reductio") const;
};

/// "reductio verify --device sim --variants '^levels/naive$' --types f32", with further options and their values; of a
/// function that no file has, as in a notebook, "reductio.verify('mine/sum', device='cpu', types='f32')".
std::string verify_command(const Variant&, DeviceKind, const std::string& program,
                           const std::vector<std::pair<std::string, std::string>>& options);

/// What a case's order and check may be.
inline constexpr std::array case_orders{"forward", "reverse", "starve", "random"};
inline constexpr std::array case_checks{"exact", "bounded",    "special",  "repeat", "two-plans", "calls",
                                        "many-calls", "settings", "chain", "bias", "neighbours", "fault"};
/// Throws UsageError for the name of a GPU that the simulated device cannot be like; empty is itself.
void check_like(std::string_view gpu);
inline constexpr int many_calls = 300;
/// A bias shows in fewer sums where each has many additions.
constexpr int bias_calls(std::size_t n) { return n < 1000 ? 64 : 16; }
/// Whether a check makes several calls, so that it does not follow from the data.
bool is_protocol(std::string_view check);

struct Failure {
  Case what;
  std::string why;  ///< "got 41, want 42", or the fault that the device diagnosed
  bool ended = true;          ///< the case did; else it ended its process, or was killed
  bool needs_others = false;  ///< by itself the case passes: one before it leaves something behind
};

/// A variant that fails this often is given up: more cases would say the same, slowly.
inline constexpr std::size_t most_failures = 20;

/// What became of one variant.
struct VariantResult {
  std::string id;
  DeviceKind device = DeviceKind::cpu;
  std::size_t passed = 0, failed = 0, refused = 0;
  std::size_t not_run = 0;  ///< the variant was given up, the device no longer works, or the run was interrupted
  /// Cases that the tier skips because of their cost on a GPU. Cases of the whole product that it does not draw are not
  /// counted.
  std::size_t left_out = 0;
  std::size_t largest_n = 0;  ///< of those that passed
  double seconds = 0;
  std::vector<Failure> failures{};
  std::vector<std::string> refusals{};  ///< distinct reasons
  std::vector<std::string> faults{};    ///< distinct known faults that were seen as the variant declares them
  std::vector<std::string> reasons_left_out{};  ///< distinct

  std::size_t cases() const { return passed + failed + refused + not_run; }
};

struct VerifyReport {
  std::size_t passed = 0, failed = 0, refused = 0, not_run = 0;
  std::vector<Failure> failures;          ///< the first 20 of each variant
  std::vector<std::string> refusals;      ///< distinct: "id: reason"
  std::vector<VariantResult> by_variant;  ///< in the order of `selected`
  std::string stopped;                    ///< why the device no longer works and nothing more was run; empty if it does
  bool interrupted = false;
};

/// Whether every part of a composed variant ("ablation/one-load+shuffle+atomic") stands at the same place in an earlier
/// id. Those for which this is false cover all parts.
bool repeats_parts(const Variant&);

/// The cases of one variant on one device. They point at the variant.
std::vector<Case> battery(const Variant&, const DeviceInfo&, Tier, std::uint64_t seed);

/// Runs one case. Empty if it passes, else why not. Throws Refused where the variant declines, DeviceError where the
/// device fails, and whatever else the variant throws.
std::string run_case(const Case&, Backend&);

/// progress(done, total, current, left_s), before each case. left_s: as time_left() says.
using VerifyProgress = std::function<void(std::size_t, std::size_t, const std::string&, double left_s)>;

/// The seconds that the rest takes at the rate so far, in costs, not in cases: a large case takes a thousand times as
/// long as a small one. Negative in the first second, which shows no rate.
double time_left(double elapsed_s, double cost_done, double cost_left);

/// Runs the batteries of `selected`. A variant that fails, throws or faults is a failure in the report, never an
/// exception. So is one whose preparation refuses every size and setting of an operation and type that it declares.
VerifyReport verify(const std::vector<const Variant*>& selected, Backend&, Tier, std::uint64_t seed,
                    const VerifyProgress& progress = {});

/// The same with the cases of `cases_of`, which is called twice and must return the same. Ends before the next case
/// once `interrupted` returns true.
VerifyReport verify(const std::vector<const Variant*>& selected, Backend&,
                    const std::function<std::vector<Case>(const Variant&)>& cases_of,
                    const VerifyProgress& progress = {}, const std::function<bool()>& interrupted = {});

/// The same in a child process (core/child.h), which calls `open` and `cases_of`. A variant that crashes, calls exit(),
/// loses the device or exceeds its case's `patience_s` fails and is given up; a fresh process continues with the
/// others. Throws what `open` throws, and UsageErrors of `cases_of`.
VerifyReport verify_apart(const std::vector<const Variant*>& selected, DeviceKind,
                          const std::function<std::unique_ptr<Backend>()>& open,
                          const std::function<std::vector<Case>(const Variant&, const DeviceInfo&)>& cases_of,
                          const std::function<double(const Case&)>& patience_s, const VerifyProgress& progress = {},
                          const std::function<bool()>& interrupted = {});

/// Several times what the slowest variants take on slow machines, in seconds.
double usual_patience_s(DeviceKind, const Case&);

}  // namespace reductio
