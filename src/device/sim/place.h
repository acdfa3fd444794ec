#pragma once
/// Where the running thread is: its place in the grid, by CUDA's names, and a place in a kernel's source.

#include <cstdint>

namespace reductio::sim {

inline constexpr unsigned warp_size = 32;
inline constexpr unsigned max_threads_per_block = 1024;

struct Index {
  unsigned x, y, z;
};
/// Of the thread that runs now; the scheduler sets them before it lets a thread go on. Not const: a compiler may keep
/// a constant in a register across a switch.
extern Index threadIdx, blockIdx, blockDim, gridDim;

/// A place in a kernel's source.
struct Site {
  const char* file = nullptr;
  int line = 0;
};

/// A Site in 20 bits, for the record of an access: 6 bits of the file's number, 14 of the line; 0 if not known.
using SiteCode = std::uint32_t;
inline constexpr int line_bits = 14, site_bits = line_bits + 6;
Site site_of(SiteCode);

/// The file that was asked for last: the lines of a kernel mostly lie in one.
struct NumberedFile {
  const char* file = nullptr;
  SiteCode code = 0;
};
extern NumberedFile last_file;
void number_file(const char* file);

inline SiteCode code_of(const char* file, int line) {
  if (file != last_file.file) [[unlikely]] number_file(file);
  return last_file.code | (static_cast<unsigned>(line) >> line_bits ? 0 : static_cast<unsigned>(line));
}
inline SiteCode code_of(const Site& s) { return s.file ? code_of(s.file, s.line) : 0; }

}  // namespace reductio::sim
