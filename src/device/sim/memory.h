#pragma once
/// The simulated GPU's memory: allocations, the views that pointers have of them, and what is known of each word.

#include <cstddef>
#include <cstdint>

#include "device/sim/place.h"
#include "device/sim/plans.h"

namespace reductio::sim {

inline constexpr std::size_t word_bytes = 4;  ///< memory is watched in words of this size

/// Which lanes of one block touched a word last, and when. An epoch ends with each barrier, warp barrier, fence or
/// acquire of the block.
struct Accesses {
  std::uint32_t serial = 0;  ///< of the block's run; 0: nobody
  std::uint32_t epoch = 0;   ///< of the last of them
  std::uint32_t lanes = 0;   ///< of the last one's warp
  std::uint32_t thread : 10 = 0;      ///< the last one's threadIdx.x
  std::uint32_t others : 1 = 0;       ///< of reads: also lanes of other warps; of atomics: also others (causality.h)
  std::uint32_t block_scope : 1 = 0;  ///< of atomics: ordered with those of its own block only
  std::uint32_t site : 20 = 0;        ///< the last one's SiteCode
};
static_assert(sizeof(Accesses) == 16);

/// Plain writes, and atomic updates and stores. Atomics conflict with plain accesses, not with each other.
struct Record {
  Accesses writes, atomics;
};

/// One allocation. It is never freed, only reused under another generation, so that stale pointers are recognised.
struct Memory {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t generation = 0;
  bool writable = false;            ///< there has been a view through which kernels may write
  bool input = false;               ///< an input that no kernel may write to
  PlanId plan = 0;                  ///< whose workspace it is (plans.h)
  bool forgotten = false;           ///< what was in it, by forget_now()
  std::uint64_t hidden = 0;         ///< while another plan's kernel runs: its generation
  std::uint8_t* written = nullptr;  ///< by word: whether it has a value
  Record* records = nullptr;        ///< by word; null until a kernel touches it through a non-const pointer
  Accesses* reads = nullptr;        ///< by word, plain ones, of the block that read last; null until a kernel reads
};

/// A part of an allocation, as one GlobalPtr may touch it.
struct View {
  std::uintptr_t begin = 0, end = 0;
  Memory* memory = nullptr;
  std::uint64_t generation = 0;
  bool constant = false;  ///< of a kernel's parameter that is a pointer to const: this launch writes nothing there
};

/// Poisoned with 0xFF bytes and unwritten. Throws Unavailable if the memory is not there.
void* allocate(std::size_t bytes);
/// The same for a plan's workspace.
void* allocate_workspace(std::size_t bytes);
void release(void*) noexcept;
std::size_t memory_free();
/// `bytes` at `p`, which must lie in one live allocation; `writable` by kernels. Throws Fault, which names `site`: host
/// code is in no kernel.
View view(const void* p, std::size_t bytes, std::size_t alignment, bool writable, Site site);
/// Throws Fault: `what`, called at `site`, asks for `count` elements where a view has `in_view`.
[[noreturn]] void fail_range(std::size_t count, std::size_t in_view, const char* what, Site site);
/// Begins to keep records of what kernels write, or read, in an allocation.
void make_records(Memory&);
void make_reads(Memory&);

/// The plan that enqueues (ActsAs); 0: none.
PlanId acting_plan();
/// While one lives, that plan's work runs.
class WorksAs {
 public:
  explicit WorksAs(PlanId);
  ~WorksAs();
  WorksAs(const WorksAs&) = delete;
  WorksAs& operator=(const WorksAs&) = delete;

 private:
  PlanId before_;
};
void forget_now(PlanId);
inline constexpr const char* of_another_plan =
    "another plan's: each plan has a workspace of its own, since two may run at once";

/// While one lives, the workspaces of other plans than the one whose work runs are out of reach.
class OthersHidden {
 public:
  OthersHidden();
  ~OthersHidden();
  OthersHidden(const OthersHidden&) = delete;
  OthersHidden& operator=(const OthersHidden&) = delete;
};

// Done at once, not in a stream. Throw Fault where the range is in no live allocation.
void fill_now(void* dst, unsigned char byte, std::size_t bytes);
void copy_in_now(void* dst, const void* host, std::size_t bytes);
void copy_within_now(void* dst, const void* src, std::size_t bytes);
void copy_out_now(void* host, const void* src, std::size_t bytes);
bool equal_now(const void* a, const void* b, std::size_t bytes);

}  // namespace reductio::sim
