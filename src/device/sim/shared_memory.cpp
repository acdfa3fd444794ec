// Where a launch's shared arrays lie, and each block's memory for them.

#include "device/sim/shared_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/sim/access.h"
#include "device/sim/block.h"
#include "device/sim/diagnosis.h"
#include "device/sim/kernel_name.h"
#include "device/sim/limits.h"
#include "device/sim/out_of_memory.h"
#include "device/sim/scheduler.h"
#include "device/sim/tables.h"

namespace reductio::sim {

SharedLayout shared_layout;

namespace {

constexpr std::size_t shared_words = shared_span / word_bytes;

/// Zeros that take memory as they are touched.
template <class T>
T* map_array(std::size_t count) {
  void* const p = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                       -1, 0);
  if (p == MAP_FAILED) end_out_of_memory();
  return static_cast<T*>(p);
}

/// No address near a block's shared memory is anything else, such as a constant of the program's, which may be read.
constexpr std::size_t around_shared = std::size_t{1} << 16;

std::string name_of(const SharedVariable* variable) {
  for (const Tables& t : tables())
    for (const NamedArray& array : t.arrays)
      if (array.variable == variable) return last_name(array.mangled);
  return "?";
}

}  // namespace

BlockState::BlockState() {
  std::byte* const all = map_array<std::byte>(around_shared + shared_span + around_shared);
  shared = all + around_shared;
  mprotect(all, around_shared, PROT_NONE);
  mprotect(shared + shared_span, around_shared, PROT_NONE);
  shared_records = map_array<Record>(shared_words);
  shared_reads = map_array<Accesses>(shared_words);
}
BlockState::~BlockState() {
  munmap(shared - around_shared, around_shared + shared_span + around_shared);
  munmap(shared_records, shared_words * sizeof(Record));
  munmap(shared_reads, shared_words * sizeof(Accesses));
}

void SharedLayout::begin(std::size_t dynamic_bytes) {
  if (!arrays.empty()) {
    const std::size_t used = arrays.back().end / word_bytes + 1;
    std::fill_n(valid.begin(), used, std::uint8_t{0});
  }
  arrays.clear();
  add(nullptr, dynamic_bytes, 16);
}

std::uint32_t SharedLayout::add(const SharedVariable* variable, std::size_t bytes, std::size_t alignment) {
  const std::size_t aligned = std::max(alignment, std::size_t{16});
  const std::size_t from = arrays.empty() ? first_shared : arrays.back().end + shared_gap;
  const std::size_t begin = (from + aligned - 1) / aligned * aligned, end = begin + bytes;
  for (std::size_t w = begin / word_bytes; w * word_bytes < end; ++w)
    valid[w] = static_cast<std::uint8_t>((1u << std::min(word_bytes, end - w * word_bytes)) - 1);
  arrays.push_back({variable, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  return arrays.back().begin;
}

std::string place_in_shared_memory(std::uint64_t offset, bool with_size) {
  const auto distance = [offset](const SharedArray& a) {
    return offset < a.begin ? a.begin - offset : offset < a.end ? 0 : offset - a.end + 1;
  };
  const auto a =
      std::min_element(shared_layout.arrays.begin(), shared_layout.arrays.end(),
                       [&](const SharedArray& x, const SharedArray& y) { return distance(x) < distance(y); });
  const std::string byte =
      "byte " + std::to_string(static_cast<std::int64_t>(offset) - std::int64_t{a->begin}) + " of ";
  const std::string bytes = std::to_string(a->end - a->begin) + " bytes";
  const std::string array = a->variable ? "shared array " + name_of(a->variable) : "the block's shared memory";
  if (!with_size) return byte + array;
  return byte + array + (a->variable ? ", which has " : ", which the launch made ") + bytes;
}

namespace {

/// The launch has one array more.
[[gnu::noinline]] void* place_array(SharedVariable& v) {
  std::size_t taken = v.bytes;
  for (const SharedArray& a : shared_layout.arrays) taken += (a.end - a.begin + 15) / 16 * 16;
  if (taken > shared_bytes_per_block)
    stop_here(FaultKind::launch, {},
              "shared arrays and the launch's shared memory take " + std::to_string(taken) + " bytes a block; " +
                  std::to_string(shared_bytes_per_block) + " are there");
  const std::uint32_t at = shared_layout.add(&v, v.bytes, v.alignment);
  v.place = std::uint64_t{running->first_serial} << 32 | at;
  return running->shared + at;
}

/// A thread_local variable of the host's code in an object with kernels: a copy for each thread of the system's.
void* host_variable(const SharedVariable& v) {
  static std::mutex mutex;
  static std::map<std::pair<const SharedVariable*, std::thread::id>, std::unique_ptr<std::byte[]>> all;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& mine = all[{&v, std::this_thread::get_id()}];
  if (!mine) {
    mine = std::make_unique<std::byte[]>(v.bytes);
    if (v.initial) std::copy_n(static_cast<const std::byte*>(v.initial), v.bytes, mine.get());
  }
  return mine.get();
}

}  // namespace

/// The running block's copy of a __shared__ variable.
extern "C" void* reductio_emutls_get_address(SharedVariable* v) {
  if (!runs_launch) [[unlikely]] return host_variable(*v);
  if (v->bytes == 0) return running->shared + first_shared;
  if (v->place >> 32 == running->first_serial) [[likely]]
    return running->shared + static_cast<std::uint32_t>(v->place);
  return place_array(*v);
}

}  // namespace reductio::sim
