#pragma once
/// The simulated GPU's memory: allocations, what of them kernels may touch, and what is known of each word.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "device/sim/place.h"
#include "device/sim/plans.h"
#include "device/sim/records.h"

namespace reductio::sim {

/// Where the addresses of allocations begin, each above the last, and where they begin anew: far from what the system
/// chooses itself. An allocation leaves a page free behind it.
inline constexpr std::uintptr_t first_address = std::uintptr_t{1} << 45, last_address = std::uintptr_t{1} << 46;

/// Plain writes, and atomic updates and stores. Atomics conflict with plain accesses, not with each other. Of shared
/// memory; that of global memory is packed.
struct Record {
  Accesses writes, atomics;
};

/// Words of shared memory of which threads have touched single bytes: neighbours in an array of char do not race.
struct SplitWord {
  std::array<Record, word_bytes> records;
  std::array<Accesses, word_bytes> reads;
};
using SplitWords = std::unordered_map<std::size_t, SplitWord>;  // by the word's number

/// One allocation. Its addresses are not used again soon, so a stale pointer finds none.
struct Memory {
  std::uintptr_t begin = 0, end = 0;
  std::uintptr_t reach = 0;      ///< the first byte that kernels may touch
  std::size_t reach_bytes = 0;   ///< how many from there; 0 while another plan's kernel runs
  std::size_t hidden_bytes = 0;  ///< reach_bytes then
  bool hidden = false;
  bool input = false;            ///< no kernel may write to it, so its readers need not be kept
  bool of_host = false;          ///< the host may touch it, too: managed and page-locked memory of programs
  PlanId plan = 0;               ///< whose workspace it is (plans.h)
  bool forgotten = false;        ///< what was in it, by forget_now()
  const char* name = nullptr;    ///< of a __device__ variable
  std::uint8_t* written = nullptr;  ///< by word: a bit for each byte that has a value
  // By word; null until a kernel makes such an access.
  Packed *writes = nullptr, *atomics = nullptr;
  Packed* reads = nullptr;  ///< plain ones, of the block that read last
  std::unique_ptr<Apart> apart;
};
inline constexpr std::uint8_t whole_word = 0xF;  ///< of Memory::written
inline std::size_t words(const Memory& m) { return (m.end - m.begin + word_bytes - 1) / word_bytes; }

namespace pages {
// Which allocation a page belongs to, in two steps.
inline constexpr int page_bits = 12, table_bits = 30, address_bits = 47;
inline constexpr std::size_t page_bytes = std::size_t{1} << page_bits;
struct Table {
  std::size_t live;  ///< pages that have an owner
  Memory* owner[std::size_t{1} << (table_bits - page_bits)];
};
extern Table* tables[std::size_t{1} << (address_bits - table_bits)];
}  // namespace pages

/// The live allocation in whose pages the address lies, or null.
[[gnu::always_inline]] inline Memory* owner_of(std::uintptr_t at) {
  if (at >> pages::address_bits) [[unlikely]] return nullptr;
  const pages::Table* const t = pages::tables[at >> pages::table_bits];
  return t ? t->owner[at >> pages::page_bits & ((std::size_t{1} << (pages::table_bits - pages::page_bits)) - 1)]
           : nullptr;
}

/// The variable of a kernel's file in which the address lies, or null: a __device__ one, as others no kernel can name.
/// Kernels touch it as global memory that all plans share.
Memory* variable_at(std::uintptr_t);
/// The name of the program's variable of the host there, or "".
std::string host_variable_at(std::uintptr_t);
/// Whether a parameter of the kernel that runs points to what is there in the program: there the host has put its own
/// address, which is none of a GPU's.
bool is_parameters_target(std::uintptr_t);
/// The allocation, or such a variable, in which it lies, or null.
inline Memory* memory_at(std::uintptr_t at) {
  Memory* const m = owner_of(at);
  return m ? m : variable_at(at);
}
/// The host gives such a variable a value, or bytes of it.
void write_variable(void* to, const void* from, std::size_t bytes);
/// A call of the plan begins, for which what kernels have written there is as if nobody had written it.
void forget_variables(PlanId);
/// They are as when the program began: on a GPU a fault ends the context.
void restore_variables();

/// Poisoned with 0xFF bytes and unwritten. Throws Unavailable if the memory is not there.
void* allocate(std::size_t bytes);
/// The same for a plan's workspace.
void* allocate_workspace(std::size_t bytes);
/// The same for both, kernels and the host, whose writes nobody follows: as if all of it were written.
void* allocate_for_host(std::size_t bytes);
void release(void*) noexcept;
/// Whether a live allocation begins there.
bool begins_allocation(const void*);
std::size_t memory_free();
/// Throws Fault where kernels may not touch all of these bytes: `what`, called at `site`, asks for them as elements.
void check_range(const void* p, std::size_t bytes, std::size_t element_bytes, const char* what, Site site);
/// What an address is that no kernel may touch: "128 bytes behind the end of an allocation of 512", "in memory that was
/// released before this kernel ran".
struct Stray {
  bool released = false;
  std::string words;
};
Stray describe_stray(std::uintptr_t);
/// Begins to keep records of a kind of accesses. Ends the launch by NoHostMemory if the machine lacks memory for them.
void make_records(Memory&, Packed*& of_kind);
void free_records(Memory&);
/// All records are of launches that are over: they say no more than that somebody wrote.
void forget_records();
void forget_records(Memory&);
void forget_variables_records();
/// So many processes as this one run at once, each of which is going to need what this one needs.
void share_memory(std::size_t processes);

/// The plan that enqueues (ActsAs); 0: none.
PlanId acting_plan();
/// The plan whose work runs (WorksAs); 0: none.
PlanId working_plan();
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
