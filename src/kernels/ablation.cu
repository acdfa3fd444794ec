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
#include "device/state.h"
#include "strategies/between.h"
#include "strategies/block.h"
#include "strategies/thread.h"

namespace reductio {
namespace {
using namespace device;
using namespace strategies;

constexpr unsigned block = 256, tree = std::countr_zero(block);

/// Between blocks, as a call has it: the kernel's part, and what precedes or follows its launch.
enum class End { host, second_launch, atomic, last_block_zeroed, last_block, fan_in };

struct Words {
  const char *id, *words, *state = "";
};
Words words_of(End end) {
  switch (end) {
    case End::host: return {"host", "host adds blocks"};
    case End::second_launch: return {"second-launch", "second launch"};
    case End::atomic: return {"atomic", "atomic"};
    case End::last_block_zeroed: return {"last-block-zeroed", "last block, count zeroed by a memset"};
    case End::last_block:
      return {"last-block", "last block, count wraps", "the count of blocks that arrived, zero when prepared"};
    case End::fan_in:
      return {"fan-in", "fan-in over marked slots", "the blocks' slots, empty between calls"};
  }
  return {};
}

template <End end>
using KernelOf = std::conditional_t<
    end == End::host || end == End::second_launch, Partials,
    std::conditional_t<end == End::atomic, Atomic, std::conditional_t<end == End::fan_in, FanIn, LastBlock>>>;

/// A composed kernel, and the one that a second launch takes.
template <class T>
struct Composed {
  using Launched = void (*)(const Launch&, GlobalPtr<const T>, std::int64_t, GlobalPtr<T>, Workspace<T>);
  Launched first, second;
};

/// One choice of each level.
struct Combination {
  std::string id;
  Strategy how;
  End end;
  unsigned load_bytes;
  bool loops;
  std::size_t (*longest_chain)(std::size_t n, std::size_t threads);
  std::size_t shared_elements;
  Composed<std::uint32_t> i32;
  Composed<float> f32;
  std::string embodies, differs;
};

template <class Thread, class Block, End end>
Combination combination(std::string embodies = "", std::string differs = "") {
  const auto composed = []<class T>() -> Composed<T> {
    const auto first = launch<strategies::reduce<T, Thread, Block, KernelOf<end>>>;
    if constexpr (end == End::second_launch)
      return {first, launch<strategies::reduce<T, GridStride, Block, Partials>>};
    else
      return {first, nullptr};
  };
  const Words between = words_of(end);
  return {.id = std::string("ablation/") + Thread::name + "+" + Block::name + "+" + between.id,
          .how = {.thread = Thread::words, .block = Block::words, .grid = between.words},
          .end = end,
          .load_bytes = Thread::load_bytes,
          .loops = Thread::loops,
          .longest_chain = Thread::longest_chain,
          .shared_elements = Block::shared_elements(block),
          .i32 = composed.template operator()<std::uint32_t>(),
          .f32 = composed.template operator()<float>(),
          .embodies = std::move(embodies),
          .differs = std::move(differs)};
}

std::size_t grid_for(const Combination& c, const Problem& p, const DeviceInfo& gpu) {
  const std::size_t busy = blocks_for(p.n, block * (c.load_bytes / size_of(p.type)));
  const std::size_t per_sm = std::max(gpu.threads_per_sm / static_cast<int>(block), 1);
  return c.loops ? std::min(busy, per_sm * static_cast<std::size_t>(gpu.sm_count)) : busy;
}

template <class T>
std::unique_ptr<Plan> plan(const Combination& c, const Composed<T>& kernels, const Problem& p, const Settings& s,
                           const DeviceInfo& gpu) {
  const std::size_t n = p.n, grid = grid_for(c, p, gpu), shared_bytes = c.shared_elements * sizeof(T);
  const std::size_t a_thread_of_one_block = ceil_div(grid, block);  // of the blocks' sums
  PlanInfo info{.grid_blocks = grid, .block_threads = block, .longest_chain = c.longest_chain(n, grid * block) + tree};
  const auto first = [=, start = kernels.first](void* in, GlobalPtr<T> out, const Workspace<T>& w, Stream stream) {
    start({grid, block, shared_bytes, stream}, global<const T>(in, n), static_cast<std::int64_t>(n), out, w);
  };
  switch (c.end) {
    case End::host:
      return plan_with_host_part<T>(
          info, s, n, [=](void* in, GlobalPtr<T> partials, Stream stream) { first(in, partials, {}, stream); });
    case End::second_launch: {
      const Buffer<T> partials(grid);
      info.longest_chain += a_thread_of_one_block + tree;
      info.workspace_bytes = partials.bytes();
      return plan_of(info, [=, second = kernels.second](void* in, void* out, Stream stream) {
        first(in, partials.ptr(), {}, stream);
        second({1, block, shared_bytes, stream}, partials.ptr(), static_cast<std::int64_t>(grid), global<T>(out, 1),
               {});
      });
    }
    case End::atomic:
      info.longest_chain += grid;
      info.flushes_subnormals = p.type == ElementType::f32;  // as f32 atomics do, whatever the compiler's flags
      return plan_of(info, [=](void* in, void* out, Stream stream) {
        zero(global<T>(out, 1), 1, stream);
        first(in, global<T>(out, 1), {}, stream);
      });
    case End::last_block_zeroed:
    case End::last_block: {
      const Buffer<T> partials(grid);
      const Buffer<unsigned> arrived = zeroed_buffer<unsigned>(1);
      info.longest_chain += a_thread_of_one_block + tree;
      info.workspace_bytes = partials.bytes() + arrived.bytes();
      return plan_of(info, [=, zeroed = c.end == End::last_block_zeroed](void* in, void* out, Stream stream) {
        if (zeroed) zero(arrived.ptr(), 1, stream);
        first(in, global<T>(out, 1), {.partials = partials.ptr(), .arrived = arrived.ptr()}, stream);
      });
    }
    case End::fan_in: {
      const Buffer<std::uint64_t> slots = zeroed_buffer<std::uint64_t>(tuned::Message<T>::words * grid);
      info.longest_chain += a_thread_of_one_block + 1 + tree;
      info.workspace_bytes = slots.bytes();
      return plan_of(info, [=](void* in, void* out, Stream stream) {
        first(in, global<T>(out, 1), {.slots = slots.ptr()}, stream);
      });
    }
  }
  return nullptr;
}

void add(const Combination& c) {
  const bool on_host = c.end == End::host;
  Variant v{.id = c.id,
            .title = c.id.substr(c.id.find('/') + 1),
            .cites = "src/strategies, a choice of each level",
            .kind = VariantKind::ours,
            .own_experiment = "ablation",
            .how = c.how,
            .operations = {Operation::sum},
            .types = {ElementType::f32, ElementType::i32},
            .result = on_host ? ResultLocation::host_part : ResultLocation::on_device,
            .persistent_state = words_of(c.end).state,
            .determinism = c.end == End::atomic ? Determinism::none : Determinism::per_launch_shape,
            .embodies = c.embodies,
            .differs = c.differs};
  if (on_host) v.tunables = {Tunable::choice("finish", {"host"}, "host")};
  Register(std::move(v), [c](const Problem& p, const Settings& s, const DeviceInfo& gpu) {
    return p.type == ElementType::i32 ? plan<std::uint32_t>(c, c.i32, p, s, gpu) : plan<float>(c, c.f32, p, s, gpu);
  });
}

const bool registered = [] {
  using enum End;
  for (const Combination& c : {
           // thread by between
           combination<OneLoad, Shuffle, host>(),
           combination<OneLoad, Shuffle, second_launch>(),
           combination<OneLoad, Shuffle, atomic>(),
           combination<OneLoad, Shuffle, last_block>(),
           combination<OneLoad, Shuffle, fan_in>(),
           combination<GridStride, Shuffle, host>(),
           combination<GridStride, Shuffle, second_launch>(),
           combination<GridStride, Shuffle, atomic>(),
           combination<GridStride, Shuffle, last_block>(),
           combination<GridStride, Shuffle, fan_in>(),
           combination<Vectors4, Shuffle, host>(),
           combination<Vectors4, Shuffle, second_launch>(),
           combination<Vectors4, Shuffle, atomic>(),
           combination<Vectors4, Shuffle, last_block>(),
           combination<Vectors4, Shuffle, fan_in>(),
           // block by between; with grid-stride+shuffle above
           combination<GridStride, Neighbored, second_launch>(),
           combination<GridStride, Neighbored, atomic>(),
           combination<GridStride, Neighbored, last_block>(),
           combination<GridStride, Neighbored, fan_in>(),
           combination<GridStride, Interleaved, second_launch>("twopass/rolled:block=256,finish=second-launch"),
           combination<GridStride, Interleaved, atomic>(
               "levels/global-stride:block=256,granularity=ceil(n/262144),finish=atomic",
               "1024 blocks there, as many as the GPU holds here"),
           combination<GridStride, Interleaved, last_block>(),
           combination<GridStride, Interleaved, fan_in>(),
           // each level alone
           combination<LocalStride, Shuffle, last_block>(),
           combination<Unrolled4, Shuffle, last_block>(),
           combination<Vectors, Shuffle, last_block>(),
           combination<GridStride, NeighboredLess, last_block>(),
           combination<GridStride, LastWarp, last_block>(),
           // what documents have beside
           combination<GridStride, Shuffle, last_block_zeroed>(
               "multiblock/last-block-warp:block=256,grid=8*SMs,index=u64"),
           combination<Unrolled4, Shuffle, last_block_zeroed>(
               "multiblock/last-block-warp:block=256,grid=8*SMs,index=i32", "there it is nvcc that unrolls"),
           combination<GridStride, Interleaved, last_block_zeroed>(
               "multiblock/last-block:block=256,grid=8*SMs,index=u64"),
           combination<GridStride, Interleaved, host>("twopass/rolled:block=256,finish=host"),
           combination<GridStride, LastWarp, second_launch>("twopass/warp-unrolled:block=256,finish=second-launch"),
           combination<OneLoad, Neighbored, second_launch>(),  // the first idea at every level
           combination<OneLoad, Neighbored, atomic>("levels/naive:block=256,finish=atomic,test=bits"),
           combination<OneLoad, Interleaved, atomic>("levels/divergence-free:block=256,finish=atomic"),
           combination<OneLoad, LastWarp, atomic>("levels/completely-unrolled:finish=atomic",
                                                  "there the levels above the last warp are written out too"),
           combination<LocalStride, Interleaved, atomic>(
               "levels/local-stride:block=256,granularity=ceil(n/262144),finish=atomic",
               "1024 blocks there, as many as the GPU holds here"),
           combination<OneLoad, Interleaved, host>("unroll/interleaved:block=256,finish=host",
                                                   "there the tree is in place, in global memory"),
       })
    add(c);
  return true;
}();

}  // namespace
}  // namespace reductio
