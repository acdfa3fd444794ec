#pragma once
/// Where the running thread is: its place in the grid, by CUDA's names, and a place in a kernel's source.

#include <cstddef>
#include <cstdint>

namespace reductio::sim {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned max_threads_per_block = 1024;

struct Index {
  unsigned x, y, z;
};
/// Whether a grid or a block of this size has x alone.
constexpr bool is_flat(const Index& size) { return size.y == 1 && size.z == 1; }
/// The place of number n in it: CUDA counts x first, then y, then z.
constexpr Index place_in(const Index& size, std::size_t n) {
  const std::size_t rows = n / size.x;
  return {static_cast<unsigned>(n % size.x), static_cast<unsigned>(rows % size.y),
          static_cast<unsigned>(rows / size.y)};
}

}  // namespace reductio::sim

// Of the thread that runs now; the scheduler sets them before it lets a thread go on. They are read all the time, and
// clang's -fsanitize=thread puts no hook before an access to a global whose name begins so.
extern "C" {
extern reductio::sim::Index __llvm_gcov_threadIdx, __llvm_gcov_blockIdx, __llvm_gcov_blockDim, __llvm_gcov_gridDim;
extern unsigned __llvm_gcov_thread;
}

namespace reductio::sim {

inline constexpr Index &threadIdx = __llvm_gcov_threadIdx, &blockIdx = __llvm_gcov_blockIdx,
                       &blockDim = __llvm_gcov_blockDim, &gridDim = __llvm_gcov_gridDim;
/// The thread's number in its block: x first, then y, then z.
inline constexpr unsigned& thread_now = __llvm_gcov_thread;

/// A place in a kernel's source.
struct Site {
  const char* file = nullptr;
  int line = 0, column = 0;
};

/// What a macro expands to begins behind this column in a program (src/plugin/columns.h, hooks.awk): its place is no
/// column of the user's file.
inline constexpr int columns = 1000;
constexpr int known_column(int column) { return column <= columns ? column : 0; }

/// As a default argument: where the function that has it is called.
#if __has_builtin(__builtin_COLUMN)
constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE(), int column = __builtin_COLUMN()) {
  return {file, line, known_column(column)};
}
#else
constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
#endif

/// A Site in 19 bits, for the record of an access; 0 if not known.
using SiteCode = std::uint32_t;
inline constexpr int site_bits = 19;
Site site_of(SiteCode);
SiteCode code_of(const Site&);

}  // namespace reductio::sim
