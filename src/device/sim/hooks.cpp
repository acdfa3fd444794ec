// What kernels' objects call before each access to memory: clang's -fsanitize=thread puts the calls there, and
// hooks.awk gives each its place in the source. Clang takes it for granted that they throw nothing, so where one ends
// the launch, its thread's stack is abandoned and not unwound.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "device/sim/access.h"
#include "device/sim/diagnosis.h"
#include "device/sim/follower.h"
#include "device/sim/runtime.h"
#include "device/sim/scheduler.h"
#include "device/sim/streams.h"
#include "device/sim/tables.h"

namespace reductio::sim {
namespace {

/// Hooks' places count from 1 up, those of calls (barriers, atomics) from the top down.
constexpr SiteCode top = (SiteCode{1} << site_bits) - 1;
struct Called {
  std::vector<Site> sites;
  std::map<std::tuple<std::string_view, int, int>, SiteCode> codes;
  Site last;  // an atomic in a loop asks for the same again and again
  SiteCode last_code = 0;
};
Called& called() {
  static Called c;
  return c;
}

/// The table in which a hook last found its place, and the code of its first. Mostly all are of one.
struct CodedTable {
  Table<Place> places;
  SiteCode first = 0;
};
CodedTable last_table;

/// The table of the object that the hook is in.
[[gnu::noinline]] void find_table(const Place* p) {
  SiteCode first = 1;
  for (const Tables& t : tables()) {
    if (p >= t.places.first && p < t.places.last) last_table = {t.places, first};
    first += static_cast<SiteCode>(t.places.size());
  }
}

SiteCode code_of(const Place* p) {
  if (static_cast<std::size_t>(p - last_table.places.first) >= last_table.places.size()) [[unlikely]] find_table(p);
  return static_cast<SiteCode>(p - last_table.places.first) + last_table.first;
}

/// Host code of a file that has kernels, too.
[[gnu::always_inline]] inline void on_host(Access kind, const void* p, const Place* place) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  if (at - first_address >= last_address - first_address) [[likely]] return;
  if (const Memory* const m = owner_of(at); !m || !m->of_host)
    note_host_access(kind == Access::read ? "reads" : "writes", place->site());
}

const Place* last_place = nullptr;

template <Access kind, std::size_t size>
[[gnu::always_inline]] inline void hook(void* p, const Place* place) {
  if (!runs_launch) return on_host(kind, p, place);
  last_place = place;
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  checked([&] {
    settle();
    if (follower) [[unlikely]] follower->access(kind, at, size, code_of(place));
    if (size % word_bytes == 0 && at % word_bytes == 0) [[likely]]
      on_access<kind, size % word_bytes == 0 ? size : word_bytes>(at, code_of(place));
    else
      on_bytes(kind, at, size, code_of(place));
  });
}

/// A copy, a fill or a comparison, in words where it is of whole ones.
void on_range(Access kind, const void* p, std::size_t bytes, const Place* place) {
  if (!runs_launch) return on_host(kind, p, place);
  const auto begin = reinterpret_cast<std::uintptr_t>(p);
  const Fiber& mine = *scheduler().fibers().current();
  if (begin - reinterpret_cast<std::uintptr_t>(mine.stack) < mine.size) return;  // mostly it is a local variable
  checked([&] {
    if (follower) [[unlikely]] follower->access(kind, begin, bytes, code_of(place));
    for (std::uintptr_t at = begin; at < begin + bytes;) {
      settle();
      const std::size_t left = begin + bytes - at;
      const bool is_word = at % word_bytes == 0 && left >= word_bytes;
      const std::size_t size = is_word ? word_bytes : at % 2 == 0 && left >= 2 ? 2 : 1;
      if (size < word_bytes) on_bytes(kind, at, size, code_of(place));
      else if (kind == Access::read) on_access<Access::read, word_bytes>(at, code_of(place));
      else on_access<Access::write, word_bytes>(at, code_of(place));
      at += size;
    }
  });
}

/// What -fsanitize=alignment and array-bounds hand to their handlers.
struct SourceLocation {
  const char* file;
  std::uint32_t line, column;
};
struct Type {
  std::uint16_t kind, info;  ///< of an integer: twice the logarithm of its bits, and 1 if it is signed
};
struct TypeMismatch {
  SourceLocation at;
  const Type* type;
  unsigned char log_alignment, kind;  // 1: a store
};
struct AlignmentAssumption {
  SourceLocation at, assumption;
  const Type* type;
};
struct OutOfBounds {
  SourceLocation at;
  const Type *array_type, *index_type;
};

/// `what` makes the message, where unwinding frees it: the caller's frame is abandoned.
template <class What>
[[noreturn]] void stop_at(FaultKind kind, const SourceLocation& at, What what) {
  const Site site{at.file, static_cast<int>(at.line), known_column(static_cast<int>(at.column))};
  if (!runs_launch) {
    std::fprintf(stderr, "%s: %s\n", to_string(site).c_str(), what().c_str());
    std::abort();
  }
  checked([&] {
    scheduler().leave_silently(kind);
    stop_here(kind, site, what());
  });
  std::abort();
}

}  // namespace

Site last_access() { return last_place ? last_place->site() : Site{}; }

SiteCode code_of(const Site& s) {
  if (!s.file) return 0;
  Called& c = called();
  if (c.last.file == s.file && c.last.line == s.line && c.last.column == s.column) return c.last_code;
  const auto [at, is_new] =
      c.codes.try_emplace({s.file, s.line, s.column}, top - static_cast<SiteCode>(c.sites.size()));
  if (is_new) c.sites.push_back(s);
  c.last = s;
  return c.last_code = at->second;
}

Site site_of(SiteCode code) {
  if (code == 0) return {};
  if (top - code < called().sites.size()) return called().sites[top - code];
  std::size_t i = code - 1;
  for (const Tables& t : tables()) {
    if (i < t.places.size()) return t.places.first[i].site();
    i -= t.places.size();
  }
  return {};
}

extern "C" {

#define REDUCTIO_HOOK(name, kind, size)                                                \
  void reductio_##name##size(void* p, const Place* at) { hook<kind, size>(p, at); }    \
  void reductio_unaligned_##name##size(void* p, const Place* at) { hook<kind, size>(p, at); } \
  void reductio_volatile_##name##size(void* p, const Place* at) { hook<kind, size>(p, at); }  \
  void reductio_unaligned_volatile_##name##size(void* p, const Place* at) { hook<kind, size>(p, at); }
#define REDUCTIO_HOOKS(size)                   \
  REDUCTIO_HOOK(read, Access::read, size)      \
  REDUCTIO_HOOK(write, Access::write, size)
REDUCTIO_HOOKS(1)
REDUCTIO_HOOKS(2)
REDUCTIO_HOOKS(4)
REDUCTIO_HOOKS(8)
REDUCTIO_HOOKS(16)
#undef REDUCTIO_HOOKS
#undef REDUCTIO_HOOK

void* reductio_memcpy(void* to, const void* from, std::size_t bytes, const Place* at) {
  on_range(Access::read, from, bytes, at), on_range(Access::write, to, bytes, at);
  return std::memcpy(to, from, bytes);
}
void* reductio_memmove(void* to, const void* from, std::size_t bytes, const Place* at) {
  on_range(Access::read, from, bytes, at), on_range(Access::write, to, bytes, at);
  return std::memmove(to, from, bytes);
}
void* reductio_memset(void* to, int byte, std::size_t bytes, const Place* at) {
  on_range(Access::write, to, bytes, at);
  return std::memset(to, byte, bytes);
}

int reductio_memcmp(const void* a, const void* b, std::size_t bytes, const Place* at) {
  on_range(Access::read, a, bytes, at), on_range(Access::read, b, bytes, at);
  return std::memcmp(a, b, bytes);
}
int reductio_bcmp(const void* a, const void* b, std::size_t bytes, const Place* at) {
  return reductio_memcmp(a, b, bytes, at);
}

// Functions of math.h that store a second result.
#define REDUCTIO_STORES_TWICE(T, suffix)                                                    \
  void reductio_sincos##suffix(T x, T* sine, T* cosine, const Place* at) {                  \
    T of_x[2];                                                                              \
    sincos##suffix(x, of_x, of_x + 1);                                                      \
    hook<Access::write, sizeof(T)>(sine, at), *sine = of_x[0];                              \
    hook<Access::write, sizeof(T)>(cosine, at), *cosine = of_x[1];                          \
  }                                                                                         \
  T reductio_frexp##suffix(T x, int* exponent, const Place* at) {                           \
    hook<Access::write, sizeof(int)>(exponent, at);                                         \
    return std::frexp(x, exponent);                                                         \
  }                                                                                         \
  T reductio_modf##suffix(T x, T* whole, const Place* at) {                                 \
    hook<Access::write, sizeof(T)>(whole, at);                                              \
    return std::modf(x, whole);                                                             \
  }                                                                                         \
  T reductio_remquo##suffix(T x, T y, int* quotient, const Place* at) {                     \
    hook<Access::write, sizeof(int)>(quotient, at);                                         \
    return std::remquo(x, y, quotient);                                                     \
  }
REDUCTIO_STORES_TWICE(float, f)
REDUCTIO_STORES_TWICE(double, )
#undef REDUCTIO_STORES_TWICE

/// In a kernel what clock64() is.
std::clock_t reductio_clock() { return runs_launch ? static_cast<std::clock_t>(steps()) : std::clock(); }

// odd_accesses.awk adds these.
void reductio_read_range(void* p, std::size_t bytes, const Place* at) { on_range(Access::read, p, bytes, at); }
void reductio_write_range(void* p, std::size_t bytes, const Place* at) { on_range(Access::write, p, bytes, at); }
void reductio_cpp_atomic(void* p, const Place* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  if (!runs_launch || !running) return;
  if (address - reinterpret_cast<std::uintptr_t>(running->shared) >= shared_span && !owner_of(address)) return;
  checked([&] {
    stop_here(FaultKind::contract, at->site(),
              "uses a C++ atomic, such as std::atomic or __atomic_fetch_add, which kernels do not have: use atomicAdd "
              "or the like, " +
                  in_words("load_acquire or store_release", "or cuda::atomic_ref"));
  });
}

void reductio_type_mismatch_v1(TypeMismatch* what, std::uintptr_t at) {
  const std::size_t alignment = std::size_t{1} << what->log_alignment;
  if (at % alignment == 0) return;  // a null pointer, which the access itself tells
  stop_at(FaultKind::misaligned, what->at, [&] {
    return "uses an address that is not aligned to the " + std::to_string(alignment) + " bytes that its type needs";
  });
}
/// What __builtin_assume_aligned(at, alignment, offset) promises.
void reductio_alignment_assumption(AlignmentAssumption* what, std::uintptr_t at, std::uintptr_t alignment,
                                   std::uintptr_t offset) {
  if ((at - offset) % alignment == 0) return;
  stop_at(FaultKind::misaligned, what->at, [&] {
    return "uses an address that is not aligned to the " + std::to_string(alignment) +
           " bytes that __builtin_assume_aligned() says";
  });
}
/// Where other checks of pointers are on as well, as in a sanitized build, and none may go on.
[[noreturn]] void reductio_type_mismatch_v1_abort(TypeMismatch* what, std::uintptr_t at) {
  reductio_type_mismatch_v1(what, at);
  const unsigned bits = what->type->kind == 0 ? 1u << (what->type->info >> 1) : what->type->info;
  stop_at(FaultKind::out_of_bounds, what->at, [&] {
    return (what->kind == 1 ? "writes " : "reads ") + std::to_string(bits / 8) +
           (at > 4096 ? " bytes of memory that holds no object of this type" : " bytes at a null pointer");
  });
}
void reductio_out_of_bounds(OutOfBounds* what, std::uintptr_t index) {
  const unsigned unused = 64 - std::min(64u, 1u << (what->index_type->info >> 1));
  const std::int64_t value = what->index_type->info & 1 ? static_cast<std::int64_t>(index << unused) >> unused
                                                        : static_cast<std::int64_t>(index);
  stop_at(FaultKind::out_of_bounds, what->at,
          [&] { return "index " + std::to_string(value) + " is outside the array"; });
}

[[noreturn]] void reductio_out_of_bounds_abort(OutOfBounds* what, std::uintptr_t index) {
  reductio_out_of_bounds(what, index);
  std::abort();  // it does not return
}

void reductio_init() {}
void reductio_vptr_update(void**, void*) {}
void reductio_vptr_read(void**) {}

}  // extern "C"

}  // namespace reductio::sim
