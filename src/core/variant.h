#pragma once
/// The contract of a variant: everything that reductio knows about one reduction is one `Variant`, registered
/// at the foot of the file that implements it. Listing, tests, experiments, CSV and figures read only this.

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/settings.h"
#include "core/types.h"

namespace reductio {

/// Where a call leaves its result.
enum class ResultLocation {
  on_device,  ///< enqueue() leaves the result in `out`; the harness copies it
  host_part,  ///< enqueue() leaves partial results; finish() copies them and adds them up on the host
  on_host,    ///< the call blocks and its value arrives on the host (thrust::reduce); no asynchronous part to time
};
std::string_view name(ResultLocation);

/// The launch that a plan chose, and what follows from it.
struct PlanInfo {
  std::size_t grid_blocks = 0;  ///< of the first launch, against which verification holds it; 0 on a CPU
  unsigned block_threads = 0;   ///< the same; 0 on a CPU
  /// The most additions that any one element passes through on its way into the result, for this n and these settings,
  /// the host's part included: the rounding error is at most gamma_h * sum|x| with h this number. Additions to zero, as
  /// by threads without an element, do not count. Verification counts the additions on the simulated device. It fails
  /// if one passes through more, or if the number declared is over four times both the count and a balanced tree's
  /// depth. What is added up in a wider type hardly rounds: declare the tree's depth. 0: it is exact, but rounded once.
  std::size_t longest_chain = 0;
  std::size_t workspace_bytes = 0;  ///< device memory that the plan holds beside input and output
  /// Where this plan's calls leave their result: what Variant::result_of() says of its settings. make_plan() looks.
  ResultLocation result = ResultLocation::on_device;
  /// Some additions flush subnormal inputs and results to zero, as f32 atomics on a GPU's global memory do (PTX,
  /// atom.add.f32). The error bound then allows for it. Empty: verification finds out by a call.
  std::optional<bool> flushes_subnormals = false;
};

/// Readings of the device's own clock, taken by the kernel itself. Cycles of the SM clock: on current GPUs each
/// SM has a counter of its own, so a difference across blocks mixes counters.
struct ClockReading {
  double cycles = 0;
  std::optional<double> seconds{};  ///< the same interval by the GPU's one clock, which all SMs share
};

/// Memory between guards, which must stay as they are.
struct Guarded {
  static constexpr std::size_t guard_bytes = 512;  ///< on each side
  static constexpr unsigned char mark = 0xA5;      ///< each of their bytes
  void* memory = nullptr;                          ///< behind the first guard; null: there is none
  std::size_t bytes = 0;                           ///< between them
};

/// A reduction that is ready to run. Preparing has chosen the launch, queried and allocated, so enqueue() is
/// exactly the timed region. A plan is not reentrant; two plans are independent of each other.
class Plan {
 public:
  virtual ~Plan() = default;
  virtual PlanInfo info() const = 0;

  /// Puts the whole device part of one call onto `stream`: asynchronous, no allocation, no host synchronisation
  /// (but see ResultLocation::on_host), which verification watches. Whatever one call needs, zeroing of outputs and
  /// counters included, is in here.
  /// `in`: n elements in device memory, aligned to the element type only, written to only by variants that
  /// declare `consumes_input`. `out`: Problem::result_bytes() in device memory, aligned to the accumulator (unused
  /// unless ResultLocation::on_device).
  virtual void enqueue(void* in, void* out, Stream stream) = 0;

  /// Only where info().result is not on_device: waits for `stream`, does the host's part and writes the result to
  /// `result` in host memory. With enqueue() it makes up the end-to-end time. It does not read the input, which may no
  /// longer be the call's.
  virtual void finish(void* result, Stream stream);

  /// The clock readings of the last finished call, where the variant declares `reads_clock`. Fetching them may use the
  /// device, so ask outside the timed interval: before the next enqueue(), while that call's stream exists.
  virtual std::optional<ClockReading> clock_reading() { return std::nullopt; }

  /// The workspace of a plan that the simulated device cannot watch. Verification reads its guards after each call.
  virtual Guarded guarded() const { return {}; }
};

/// Whether repeated calls on the same input give the same bits.
enum class Determinism {
  none,              ///< the order of additions changes from call to call (floating-point atomics)
  per_launch_shape,  ///< fixed for one grid, block and n
  always,            ///< fixed by n alone
};

/// Where a variant stands in the three levels of a reduction, in a few words each; for figures and listings. A level
/// may be left empty.
struct Strategy {
  std::string thread{};  ///< inside a thread: "one load", "grid stride"
  std::string block{};   ///< inside a block: "tree, stride halves"
  std::string grid{};    ///< between blocks: "second launch", "atomic"
};

/// A known fault of a document's kernel with some settings.
struct KnownFault {
  std::string why{};  ///< in one line; empty: none, the result is right
  /// Whether element i is still in the result of a plan with such settings.
  std::function<bool(std::size_t i, const PlanInfo&)> keeps{};

  explicit operator bool() const { return !why.empty(); }
};

struct Variant;

/// Whether the setting `finish`, where there is one, leaves partial results to the host.
bool finishes_on_host(const Settings&);

/// Prepares a plan: chooses the launch, allocates workspace. Throws Refused where the variant declines, but not every
/// size and setting of an operation and type that its lists name: that fails verification, unless it is Unavailable.
using Prepare = std::function<std::unique_ptr<Plan>(const Problem&, const Settings&, const DeviceInfo&)>;

/// Whose a variant is. Figures, tables and experiments treat each kind alike.
enum class VariantKind {
  yours,     ///< its user's own
  document,  ///< a document's kernel; the document is its group
  ours,      ///< a kernel of this project: tuned, modern, ablation
  library,   ///< a library's call on the GPU
  cpu,       ///< what runs on the CPU: loops, and libraries' calls
};
std::string_view name(VariantKind);

struct Variant {
  std::string id{};     ///< "levels/global-stride": filter, test name, CSV key; its group, then its name
  std::string title{};  ///< legend of figures; empty: registration takes the id
  std::string cites{};  ///< where in its document it stands, or which library call it is; empty for a user's own
  VariantKind kind = VariantKind::yours;
  /// The operations whose speedups are over its call with default settings, where that was sampled in the same rounds.
  std::vector<Operation> base_of{};
  /// The only experiment that measures it unless the user names variants, or "compare", the command. Empty: each
  /// experiment that measures all variants does.
  std::string own_experiment{};
  Strategy how{};
  std::vector<Operation> operations;  ///< the first is the document's own
  std::vector<ElementType> types;     ///< the first is the document's own
  std::vector<Tunable> tunables{};
  ResultLocation result = ResultLocation::on_device;  ///< with settings for which finishes_on_host() is false
  bool consumes_input = false;  ///< overwrites its input: the harness restores it before each call, untimed
  bool reads_clock = false;     ///< plans give clock_reading()
  /// State that persists between calls of one plan, and how it is first set. Empty: none.
  std::string persistent_state{};
  Determinism determinism = Determinism::per_launch_shape;  ///< unless determinism_of() says otherwise of the settings
  std::size_t document_n = 0;  ///< the document's own problem size; 0: it names none
  /// The settings that are compile-time constants in the kernel, in words: "block=256 or 512". Others are read at run
  /// time. Empty: all are.
  std::string compiled_in{};
  /// Launches that the document compares with its first, the default settings: of each, the settings that differ.
  std::vector<Assignments> further_launches{};
  /// A document's call with the same choices at the three levels, for comparison; named as in paper/claims.json:
  /// "multiblock/last-block:block=256,grid=8*SMs". Empty: none.
  std::string embodies{};
  std::string differs{};  ///< what still differs from that call, in words; empty: nothing
  /// Why the GPU alone runs it, in words: "uses cub::BlockReduce". Its file is in src/kernels/cuda_only, which only
  /// nvcc compiles. Empty: the simulated device runs it, too.
  std::string cuda_only{};
  /// The plug-in that it came with, as the user named it: "./mine.cu". Empty: it is built into the program.
  std::string plugin{};
  /// The language whose interpreter runs within each call, as "Python": its kernels are timed by mode replay. Empty:
  /// none.
  std::string interpreter{};
  /// Brings in what plans need, before processes are forked; a plan says what is missing. Empty: nothing to bring in.
  std::function<void()> load{};
  /// Declines what the lists above cannot say: "" accepts, else the reason. Must be cheap: no allocation.
  std::function<std::string(const Problem&, const Settings&)> declines{};
  /// The fault of some settings that the tunables allow. These settings are refused, so never timed. Verification still
  /// runs them, and expects a result that is wrong in just this way. Empty: no settings have one.
  std::function<KnownFault(const Settings&)> known_fault{};
  /// Data that its call is known to add up wrongly, by the dataset's name: why, in one line; empty: none. Verification
  /// refuses such cases for that reason. Timed data are none of these.
  std::function<std::string(std::string_view dataset, const Settings&)> wrong_for{};

  /// By DeviceKind; filled by registration. The same source registers once per device it is compiled for.
  std::array<Prepare, device_kinds> prepare{};
  std::array<std::string, device_kinds> file{};  ///< likewise: the source that registered it

  std::string_view group() const { return std::string_view(id).substr(0, id.find('/')); }  ///< "levels"
  bool is_base_of(Operation) const;
  bool runs_on(DeviceKind device) const { return static_cast<bool>(prepare[static_cast<int>(device)]); }
  /// The values of all tunables: defaults, overridden by those of `chosen` that this variant has.
  Settings settings(const Assignments& chosen = {}) const;
  /// Where calls with these settings leave their result, so which timing modes they have: known before any plan.
  ResultLocation result_of(const Settings& s) const { return finishes_on_host(s) ? ResultLocation::host_part : result; }
  /// None where the setting `determinism` is not_guaranteed.
  Determinism determinism_of(const Settings&) const;
  KnownFault fault_of(const Settings& s) const { return known_fault ? known_fault(s) : KnownFault{}; }
  /// `s` with each other value of one tunable, except settings with a known fault.
  std::vector<Settings> with_other_values(const Settings& s, const Tunable&) const;
};

/// Why `variant` cannot do this, in one line; empty if it can. Checks device, operation, type, settings, known_fault()
/// and declines(). Preparing may still throw Refused for what only the device knows (a library that is absent).
std::string refusal(const Variant&, DeviceKind, const Problem&, const Settings&);

/// Why a launch of so many blocks for p.n elements is declined, for Variant::declines; empty if a launch takes them.
/// `advice` says what to do: "choose a larger block".
std::string too_many_blocks(const Problem&, const Settings&, std::size_t blocks, const std::string& advice);

/// Throws Unavailable unless kernels may use the instructions of compute capability `needed` / 10
/// (DeviceInfo::capability).
void require_capability(const DeviceInfo&, int needed);

/// refusal() first, then the variant's own preparation. Throws Refused, and DeviceError where the plan leaves its
/// result elsewhere than result_of() says.
std::unique_ptr<Plan> make_plan(const Variant&, const Problem&, const Settings&, const DeviceInfo&);

/// What one of several variants that share a Variant has of its own.
struct Own {
  std::string id, title, cites;
  std::string own_experiment{};              ///< empty: shared
  Strategy how{};                            ///< what is empty is shared
  std::vector<Tunable> tunables{};           ///< each in place of the shared one of its name, or beside those
  std::optional<Determinism> determinism{};  ///< none: shared
  std::string compiled_in{};                 ///< empty: shared
  std::vector<Assignments> further_launches{};    ///< empty: shared
  std::function<KnownFault(const Settings&)> known_fault{};  ///< empty: shared
};
Variant combined(Variant shared, const Own&);

/// Adds a variant, or a further device to one that is registered already. Called before main() by static objects
/// (kernel files use device::Register, baselines on the CPU RegisterCpu), and when a plug-in is loaded. If an id is
/// registered twice for one device, the program ends with one line that names both files, and exit code 1. `file`: the
/// caller's source.
void register_variant(Variant, DeviceKind, Prepare, const char* file = __builtin_FILE());

struct RegisterCpu {
  RegisterCpu(Variant v, Prepare p, const char* file = __builtin_FILE()) {
    register_variant(std::move(v), DeviceKind::cpu, std::move(p), file);
  }
};

/// Ends the program with "reductio: `why`" and exit code 1. For registration, which runs before main(): nothing there
/// catches an exception.
[[noreturn]] void end_registration(const std::string& why);
/// A source file as it is told: from the project's folder where it lies there, else as the compiler has it.
std::string shown_path(std::string_view file);
/// That part of its path.
std::string_view shown_part(std::string_view file);
/// "is registered twice, in a.cu and in b.cu; rename one".
std::string registered_twice(const std::string& file, const std::string& other);

/// All registered variants, sorted by id. They stay where they are: pointers to them hold while others are registered.
const std::list<Variant>& variants();
/// The variant of that id; throws UsageError that suggests the nearest one.
const Variant& find_variant(std::string_view id);
/// Those whose whole id matches, or contains a match of, the regular expression (ECMAScript), sorted by id.
/// Throws UsageError if the expression is malformed, too large for std::regex's stack, or selects nothing (suggests the
/// nearest id).
std::vector<const Variant*> select_variants(std::string_view regex);
/// A message about an unknown id that replaces "did you mean"; empty: there is none. Called before main().
void explain_unknown(std::function<std::string(std::string_view id)>);

/// The nearest of `candidates` by edit distance, for "did you mean"; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// A plan made of functions, so that a kernel file needs no class of its own. `enqueue(in, out, stream)` owns
/// the workspace by capture; `finish(result, stream)` and `clock()`, which gives the std::optional<ClockReading> of
/// clock_reading(), are optional and share it through the Plan's lifetime.
template <class Enqueue, class Finish, class Clock>
class FunctionPlan final : public Plan {
 public:
  FunctionPlan(PlanInfo info, Enqueue enqueue, Finish finish, Clock clock)
      : info_(info), enqueue_(std::move(enqueue)), finish_(std::move(finish)), clock_(std::move(clock)) {}
  PlanInfo info() const override { return info_; }
  void enqueue(void* in, void* out, Stream stream) override { enqueue_(in, out, stream); }
  void finish(void* result, Stream stream) override {
    if constexpr (std::is_same_v<Finish, std::nullptr_t>)
      Plan::finish(result, stream);
    else
      finish_(result, stream);
  }
  std::optional<ClockReading> clock_reading() override {
    if constexpr (std::is_same_v<Clock, std::nullptr_t>)
      return Plan::clock_reading();
    else
      return clock_();
  }

 private:
  PlanInfo info_;
  Enqueue enqueue_;
  Finish finish_;
  Clock clock_;
};

template <class Enqueue, class Finish = std::nullptr_t, class Clock = std::nullptr_t>
std::unique_ptr<Plan> plan_of(PlanInfo info, Enqueue enqueue, Finish finish = nullptr, Clock clock = nullptr) {
  return std::make_unique<FunctionPlan<Enqueue, Finish, Clock>>(info, std::move(enqueue), std::move(finish),
                                                               std::move(clock));
}

}  // namespace reductio
