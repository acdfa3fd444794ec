/// ablation: what each idea is worth. A reduction is composed of three levels, src/strategies/thread.h, block.h and
/// between.h, each of which has several ways to do its part; a variant is one choice of each. No document has them as
/// such; where a kernel of a document makes the same choices, `embodies` names it, and `differs` says what remains
/// between the two.
///
/// Variants: ablation/<thread>+<block>+<between>
///
///   thread   one-load, grid-stride, local-stride, unrolled-4, vectors, vectors-4
///   block    neighbored, neighbored-less, interleaved, last-warp, shuffle
///   between  host, second-launch, atomic, last-block-zeroed, last-block, fan-in
///
/// Not every choice with every other, which would be 180. Around grid-stride+shuffle+last-block each level alone; whole
/// tables of thread by between, and of block by between, for those that differ most; and what documents have.
///
/// The launch is the same for all: blocks of 256, and of a thread level that loops as many blocks as the GPU holds, and
/// no more than have something to load. A second launch is one such block over the blocks' sums, which it takes by
/// grid-stride. last-block-zeroed is last-block with the count zeroed by a memset in every call, which it does not
/// need.

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "device/device.h"
#include "strategies/between.h"
#include "strategies/block.h"
#include "strategies/thread.h"

namespace reductio {
namespace {
using namespace device;
using namespace strategies;

constexpr unsigned block = 256, tree = std::countr_zero(block);

/// The launches of one variant for one problem. Each choice between blocks makes its plan of these.
template <class T>
struct Launches {
  using Kernel = void (*)(const Launch&, const T*, std::int64_t, T*, Workspace<T>);
  Kernel first, second;  ///< second: adds up the blocks' sums; null but for SecondLaunch
  std::size_t n, grid, shared_bytes;
  std::size_t longest_chain;  ///< of a block's sum

  void operator()(void* in, T* out, Stream stream, const Workspace<T>& w = {}) const {
    first({grid, block, shared_bytes, stream}, static_cast<const T*>(in), static_cast<std::int64_t>(n), out, w);
  }
  /// How many of the blocks' sums each thread of one block adds up.
  std::size_t sums_per_thread() const { return ceil_div(grid, block); }
  /// `additions`: those that a block's sum passes through until it is in the result.
  PlanInfo info(std::size_t additions = 0, std::size_t workspace_bytes = 0) const {
    return {.grid_blocks = grid,
            .block_threads = block,
            .longest_chain = longest_chain + additions,
            .workspace_bytes = workspace_bytes};
  }
};

/// What most choices between blocks share. Each adds its name, its words for listings, its kernel and its plan.
struct Choice {
  static constexpr const char* state = "";
  static constexpr ResultLocation result = ResultLocation::on_device;
  static constexpr Determinism determinism = Determinism::per_launch_shape;
};

struct Host : Choice {
  static constexpr const char *name = "host", *words = "host adds blocks";
  static constexpr ResultLocation result = ResultLocation::host_part;
  using Kernel = Partials;
  template <class T>
  static std::unique_ptr<Plan> plan(const Launches<T>& launches, const Settings& s) {
    return plan_with_host_part<T>(launches.info(), s, launches.n, launches);
  }
};

struct SecondLaunch : Choice {
  static constexpr const char *name = "second-launch", *words = "second launch";
  using Kernel = Partials;
  template <class T>
  static std::unique_ptr<Plan> plan(const Launches<T>& launches, const Settings&) {
    const Buffer<T> partials(launches.grid);
    return plan_of(launches.info(launches.sums_per_thread() + tree, partials.bytes()),
                   [=](void* in, void* out, Stream stream) {
                     launches(in, partials.ptr(), stream);
                     launches.second({1, block, launches.shared_bytes, stream}, partials.ptr(),
                                     static_cast<std::int64_t>(launches.grid), static_cast<T*>(out), {});
                   });
  }
};

struct AtomicAdd : Choice {
  static constexpr const char *name = "atomic", *words = "atomic";
  static constexpr Determinism determinism = Determinism::none;
  using Kernel = Atomic;
  template <class T>
  static std::unique_ptr<Plan> plan(const Launches<T>& launches, const Settings&) {
    PlanInfo info = launches.info(launches.grid);
    info.flushes_subnormals = std::is_same_v<T, float>;  // as f32 atomics do, whatever the compiler's flags
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      zero(static_cast<T*>(out), 1, stream);
      launches(in, static_cast<T*>(out), stream);
    });
  }
};

template <bool zeroed>
struct CountedBlocks : Choice {
  static constexpr const char* name = zeroed ? "last-block-zeroed" : "last-block";
  static constexpr const char* words = zeroed ? "last block, count zeroed by a memset" : "last block, count wraps";
  static constexpr const char* state = zeroed ? "" : "the count of blocks that arrived, zero when prepared";
  using Kernel = LastBlock;
  template <class T>
  static std::unique_ptr<Plan> plan(const Launches<T>& launches, const Settings&) {
    const Buffer<T> partials(launches.grid);
    const Buffer<unsigned> arrived = zeroed_buffer<unsigned>(1);
    return plan_of(launches.info(launches.sums_per_thread() + tree, partials.bytes() + arrived.bytes()),
                   [=](void* in, void* out, Stream stream) {
                     if (zeroed) zero(arrived.ptr(), 1, stream);
                     launches(in, static_cast<T*>(out), stream, {.partials = partials.ptr(), .arrived = arrived.ptr()});
                   });
  }
};

using LastBlockZeroed = CountedBlocks<true>;
using LastBlockWraps = CountedBlocks<false>;

struct FanInSlots : Choice {
  static constexpr const char *name = "fan-in", *words = "fan-in over marked slots";
  static constexpr const char* state = "the blocks' slots, empty between calls";
  using Kernel = FanIn;
  template <class T>
  static std::unique_ptr<Plan> plan(const Launches<T>& launches, const Settings&) {
    const Buffer<std::uint64_t> slots = zeroed_buffer<std::uint64_t>(tuned::Message<T>::words * launches.grid);
    return plan_of(launches.info(launches.sums_per_thread() + 1 + tree, slots.bytes()),
                   [=](void* in, void* out, Stream stream) {
                     launches(in, static_cast<T*>(out), stream, {.slots = slots.ptr()});
                   });
  }
};

/// As many blocks as have something to load; of threads that loop, no more than the GPU holds.
template <class Thread>
std::size_t grid_for(const Problem& p, const DeviceInfo& gpu) {
  const std::size_t busy = blocks_for(p.n, block * (Thread::load_bytes / size_of(p.type)));
  const std::size_t per_sm = std::max(gpu.threads_per_sm / static_cast<int>(block), 1);
  return Thread::loops ? std::min(busy, per_sm * static_cast<std::size_t>(gpu.sm_count)) : busy;
}

/// Registers one choice of each level.
template <class Thread, class Block, class Between>
void add(std::string embodies = "", std::string differs = "") {
  const std::string name = std::string(Thread::name) + "+" + Block::name + "+" + Between::name;
  Variant v{.id = "ablation/" + name,
            .title = name,
            .cites = "src/strategies, a choice of each level",
            .kind = VariantKind::ours,
            .own_experiment = "ablation",
            .how = {.thread = Thread::words, .block = Block::words, .grid = Between::words},
            .operations = {Operation::sum},
            .types = {ElementType::f32, ElementType::i32},
            .result = Between::result,
            .persistent_state = Between::state,
            .determinism = Between::determinism,
            .embodies = std::move(embodies),
            .differs = std::move(differs)};
  if (Between::result == ResultLocation::host_part) v.tunables = {Tunable::choice("finish", {"host"}, "host")};
  Register(std::move(v), [](const Problem& p, const Settings& s, const DeviceInfo& gpu) {
    const std::size_t grid = grid_for<Thread>(p, gpu);
    const auto plan = [&]<class T>() {
      Launches<T> launches{.first = launch<strategies::reduce<T, Thread, Block, typename Between::Kernel>>,
                           .second = nullptr,
                           .n = p.n,
                           .grid = grid,
                           .shared_bytes = Block::shared_elements(block) * sizeof(T),
                           .longest_chain = Thread::longest_chain(p.n, grid * block) + tree};
      if constexpr (std::is_same_v<Between, SecondLaunch>)
        launches.second = launch<strategies::reduce<T, GridStride, Block, Partials>>;
      return Between::plan(launches, s);
    };
    return p.type == ElementType::i32 ? plan.template operator()<std::uint32_t>() : plan.template operator()<float>();
  });
}

const bool registered = [] {
  // thread by between
  add<OneLoad, Shuffle, Host>();
  add<OneLoad, Shuffle, SecondLaunch>();
  add<OneLoad, Shuffle, AtomicAdd>();
  add<OneLoad, Shuffle, LastBlockWraps>();
  add<OneLoad, Shuffle, FanInSlots>();
  add<GridStride, Shuffle, Host>();
  add<GridStride, Shuffle, SecondLaunch>();
  add<GridStride, Shuffle, AtomicAdd>();
  add<GridStride, Shuffle, LastBlockWraps>();
  add<GridStride, Shuffle, FanInSlots>();
  add<Vectors4, Shuffle, Host>();
  add<Vectors4, Shuffle, SecondLaunch>();
  add<Vectors4, Shuffle, AtomicAdd>();
  add<Vectors4, Shuffle, LastBlockWraps>();
  add<Vectors4, Shuffle, FanInSlots>();
  // block by between; with grid-stride+shuffle above
  add<GridStride, Neighbored, SecondLaunch>();
  add<GridStride, Neighbored, AtomicAdd>();
  add<GridStride, Neighbored, LastBlockWraps>();
  add<GridStride, Neighbored, FanInSlots>();
  add<GridStride, Interleaved, SecondLaunch>("twopass/rolled:block=256,finish=second-launch");
  add<GridStride, Interleaved, AtomicAdd>("levels/global-stride:block=256,granularity=ceil(n/262144),finish=atomic",
                                          "1024 blocks there, as many as the GPU holds here");
  add<GridStride, Interleaved, LastBlockWraps>();
  add<GridStride, Interleaved, FanInSlots>();
  // each level alone
  add<LocalStride, Shuffle, LastBlockWraps>();
  add<Unrolled4, Shuffle, LastBlockWraps>();
  add<Vectors, Shuffle, LastBlockWraps>();
  add<GridStride, NeighboredLess, LastBlockWraps>();
  add<GridStride, LastWarp, LastBlockWraps>();
  // what documents have beside
  add<GridStride, Shuffle, LastBlockZeroed>("multiblock/last-block-warp:block=256,grid=8*SMs,index=u64");
  add<Unrolled4, Shuffle, LastBlockZeroed>("multiblock/last-block-warp:block=256,grid=8*SMs,index=i32",
                                           "there it is nvcc that unrolls");
  add<GridStride, Interleaved, LastBlockZeroed>("multiblock/last-block:block=256,grid=8*SMs,index=u64");
  add<GridStride, Interleaved, Host>("twopass/rolled:block=256,finish=host");
  add<GridStride, LastWarp, SecondLaunch>("twopass/warp-unrolled:block=256,finish=second-launch");
  add<OneLoad, Neighbored, SecondLaunch>();  // the first idea at every level
  add<OneLoad, Neighbored, AtomicAdd>("levels/naive:block=256,finish=atomic,test=bits");
  add<OneLoad, Interleaved, AtomicAdd>("levels/divergence-free:block=256,finish=atomic");
  add<OneLoad, LastWarp, AtomicAdd>("levels/completely-unrolled:finish=atomic",
                                    "there the levels above the last warp are written out too");
  add<LocalStride, Interleaved, AtomicAdd>("levels/local-stride:block=256,granularity=ceil(n/262144),finish=atomic",
                                           "1024 blocks there, as many as the GPU holds here");
  add<OneLoad, Interleaved, Host>("unroll/interleaved:block=256,finish=host",
                                  "there the tree is in place, in global memory");
  return true;
}();

}  // namespace
}  // namespace reductio
