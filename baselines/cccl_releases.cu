/// Releases of CUB and Thrust side by side, as many as the program was built with (docs/releases.md):
///
///   cub@VERSION/sum               sum; from 3.2 on by the determinism that its caller demands
///   cub@VERSION/transform-reduce  sum of squares; before 2.4, which has no TransformReduce, by an iterator
///   thrust@VERSION/reduce         sum
///   cub@VERSION/segmented         sums of rows and segments, from 3.2 on; also cub@VERSION/segmented-fixed
///
/// All are compiled by one nvcc, so a difference is the library's. Calls are those of cub.cu and thrust.cu.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/cccl_release.h"
#include "baselines/cub_plan.h"
#include "baselines/longest_chain.h"
#include "device/device.h"
#include "reductio_cccl.h"

namespace reductio {
namespace {

/// Of releases before 2.1. Their blocks add the stride of the whole grid to an int after each tile, the last one
/// included (agent_reduce.cuh of 2.0.1, line 381). Near 2^31 elements that overflows, and they read in front of the
/// input: with 2^31 - 1 elements CUB's sum of i8 made an illegal access, and Thrust's of i32.
constexpr std::size_t most_early = std::size_t{1} << 30;

/// What is known of releases that are not built, by name, in words.
std::map<std::string, std::string>& absent() {
  static std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> found;
    std::string_view lines = REDUCTIO_CCCL_ABSENT;
    while (!lines.empty()) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      lines.remove_prefix(std::min(lines.size(), line.size() + 1));
      const std::size_t space = line.find(' ');
      found.emplace(line.substr(0, space), line.substr(space + 1));
    }
    return found;
  }();
  return all;
}

bool is_known(const std::string& release) {
  return std::string_view(" " REDUCTIO_CCCL_KNOWN ",").find(" " + release + ",") != std::string_view::npos;
}

/// Of "cub@2.2.0/sum", where no variant has that id. May stand for a regular expression.
std::string explain(std::string_view id) {
  if (id.starts_with('^')) id.remove_prefix(1);
  if (!id.starts_with("cub@") && !id.starts_with("thrust@")) return "";
  id.remove_prefix(id.find('@') + 1);
  std::string release(id.substr(0, id.find('/')));
  std::erase(release, '\\');
  if (const auto at = absent().find(release); at != absent().end())
    return "the program is built without CUB " + release + ": " + at->second;
  if (is_known(release))
    return "the program is built without CUB " + release +
           "; configure it with -DREDUCTIO_CCCL_RELEASES=all or =" + release;
  return "releases of CUB are " REDUCTIO_CCCL_KNOWN;
}
[[maybe_unused]] const bool explained = (explain_unknown(explain), true);

/// "CUB 1.15.1 (CUDA 11.8), compiled by nvcc 13.0.88".
std::string cites(const CcclRelease& r, const std::string& call) {
  const std::string number = std::to_string(r.version / 100000) + "." + std::to_string(r.version / 100 % 1000) + "." +
                             std::to_string(r.version % 100);
  const std::string nvcc = std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__);
  const std::string toolkit = r.toolkit;
  return call + ", CUB " + number + (toolkit.empty() ? "" : " of CUDA " + toolkit) +
         (r.lacks_libcudacxx ? " with this toolkit's libcu++" : "") + ", compiled by nvcc " + nvcc + "." +
         std::to_string(__CUDACC_VER_BUILD__) +
         (toolkit.empty() || toolkit == nvcc ? "" : ", not by the one it shipped with");
}

template <class Call>
std::vector<ElementType> types(const ByType<Call>& calls) {
  std::vector<ElementType> has;
  for (const ElementType t : {ElementType::i32, ElementType::f32, ElementType::f64, ElementType::i8, ElementType::i64,
                              ElementType::i128, ElementType::f16, ElementType::bf16})
    if (calls[t]) has.push_back(t);
  return has;
}

Variant describe(std::string id, std::string title, std::string cites, Operation operation,
                 std::vector<ElementType> types) {
  return {.id = std::move(id),
          .title = std::move(title),
          .cites = std::move(cites),
          .kind = VariantKind::library,
          .own_experiment = "history",
          .how = {.thread = "even share of tiles", .block = "warp shuffles", .grid = "second launch"},
          .operations = {operation},
          .types = std::move(types),
          .determinism = Determinism::per_launch_shape};
}

/// The call of each value that the setting `determinism` has; the first is the default.
struct Call {
  std::string determinism;
  ByType<CubFunction> by_type;
};

/// Elements that gpu_to_gpu adds up rightly. A thread renormalizes its accumulator after each 512 floats (2,048
/// doubles), and not once more at its end: then the block's reduction adds two accumulators without room for a carry
/// (kernel_reduce_deterministic.cuh of 3.5, line 271; docs/releases.md). The grid has five times the blocks that are
/// resident at once: at least 4 of 224 threads on each SM (8 of 128).
std::size_t most_gpu_to_gpu(ElementType type, const DeviceInfo& gpu) {
  const std::size_t of_a_thread = type == ElementType::f32 ? 512 : 2048;
  const std::size_t resident = type == ElementType::f32 ? 4 * 224 : 8 * 128;
  return of_a_thread * 5 * resident * static_cast<std::size_t>(gpu.sm_count);
}

/// Why this library's sums decline so many elements; empty: they do not.
std::string too_many(const std::string& library, bool takes_more, std::size_t n) {
  if (takes_more || n <= most_early) return "";
  return library + " overflows an int near 2^31 and reads outside the input; use at most 2^30 elements";
}

const Call& chosen(const std::vector<Call>& calls, const Settings& s) {
  if (!s.has("determinism")) return calls.front();
  return *std::find_if(calls.begin(), calls.end(),
                       [&](const Call& c) { return c.determinism == s.text("determinism"); });
}

void register_cub(const CcclRelease& r, const std::string& name, const std::string& title, const std::string& call,
                  Operation operation, const std::vector<Call>& calls) {
  const std::string release = r.name;
  Variant v = describe("cub@" + release + "/" + name, "CUB " + release + " " + title, cites(r, call), operation,
                       types(calls.front().by_type));
  if (calls.size() > 1) {
    std::vector<std::string> values;
    for (const Call& c : calls) values.push_back(c.determinism);
    v.tunables = {Tunable::choice("determinism", values, values.front())};
  }
  v.declines = [=, takes_more = r.takes_more_than_2_to_30](const Problem& p, const Settings& s) -> std::string {
    if (std::string why = too_many("CUB " + release, takes_more, p.n); !why.empty()) return why;
    const Call& c = chosen(calls, s);
    if (c.by_type[p.type]) return "";
    return "CUB " + release + " has no sum of " + std::string(reductio::name(p.type)) + " of its own by determinism=" +
           c.determinism + "; use " + calls.front().determinism;
  };
  if (calls.size() > 1)
    v.wrong_for = [=](std::string_view dataset, const Settings& s) -> std::string {
      if (chosen(calls, s).determinism != "gpu_to_gpu") return "";
      // Of infinities it makes NaN; numbers near the type's limits fall out of its bins.
      for (const std::string_view wrong : {"subnormal", "tiny", "huge", "alternating", "infinity", "mixed-infinities"})
        if (dataset.starts_with(wrong))
          return "CUB's gpu_to_gpu sum of infinities and of numbers near the type's limits is wrong (docs/releases.md)";
      return "";
    };
  const device::Register registered(std::move(v), [=](const Problem& p, const Settings& s, const DeviceInfo& gpu) {
    const Call& c = chosen(calls, s);
    if (const std::size_t most = most_gpu_to_gpu(p.type, gpu); c.determinism == "gpu_to_gpu" && p.n > most)
      throw Refused("CUB's gpu_to_gpu sum of more than " + std::to_string(most) + " " +
                    std::string(reductio::name(p.type)) + " is wrong on this GPU (docs/releases.md)");
    auto prepared = cub_call<void, void, std::size_t>(p, gpu, c.by_type[p.type]);
    // PTX, atom.add.f32
    prepared.info.flushes_subnormals = c.determinism == "not_guaranteed" && p.type == ElementType::f32;
    return plan_of(prepared.info, prepared.enqueue);
  });
}

void register_thrust(const CcclRelease& r) {
  const std::string release = r.name;
  Variant v = describe("thrust@" + release + "/reduce", "Thrust " + release + " reduce", cites(r, "thrust::reduce"),
                       Operation::sum, types(r.reduce));
  v.how.grid = "second launch, value to the host";
  v.result = ResultLocation::on_host;
  v.declines = [=, takes_more = r.takes_more_than_2_to_30](const Problem& p, const Settings&) {
    return too_many("Thrust " + release, takes_more, p.n);
  };
  const device::Register registered(
      std::move(v), [calls = r.reduce](const Problem& p, const Settings&, const DeviceInfo& gpu) {
        const PlanInfo info{.longest_chain = assumed_longest_chain(p.n, gpu, 256), .result = ResultLocation::on_host};
        const auto value = std::make_shared<UInt128>();  // room for each type
        return plan_of(
            info,
            [=, reduce = calls[p.type], n = p.n](void* in, void*, Stream stream) {
              reduce(in, n, value.get(), device::native(stream));
            },
            [value, size = size_of(p.type)](void* result, Stream) { std::memcpy(result, value.get(), size); });
      });
}

}  // namespace

RegisterCcclRelease::RegisterCcclRelease(const CcclRelease& r) {
  if (r.version == 0) {
    absent()[r.name] = "this nvcc does not compile it";
    return;
  }
  std::vector<Call> sums{{"run_to_run", r.sum}};
  if (r.not_guaranteed[ElementType::f32]) sums.push_back({"not_guaranteed", r.not_guaranteed});
  if (r.gpu_to_gpu[ElementType::f32]) sums.push_back({"gpu_to_gpu", r.gpu_to_gpu});
  register_cub(r, "sum", "Sum", "cub::DeviceReduce::Sum", Operation::sum, sums);
  register_cub(r, "transform-reduce", "TransformReduce",
               r.version >= 200400 ? "cub::DeviceReduce::TransformReduce" : "cub::DeviceReduce::Sum of an iterator",
               Operation::sum_of_squares, {{"run_to_run", r.transform_reduce}});
  register_thrust(r);
  const std::string group = "cub@" + std::string(r.name);
  if (r.by_offsets[ElementType::f32])
    register_segmented(group + "/segmented", group + "/segmented-fixed", "CUB " + std::string(r.name) + " ",
                       cites(r, ""), r.by_offsets, r.by_fixed_size, false);
}

}  // namespace reductio
