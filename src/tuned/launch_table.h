#pragma once
/// Which launch tuned/tuned.h uses for which size of input: the one place to change when it is tuned. Plain C++, so
/// that files which are not CUDA can hold a Gpu and know the size of a workspace.

#include <cstddef>
#include <cstdint>

namespace reductio::tuned {

inline constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

/// The properties of a GPU that the launch depends on; tuned::current_gpu() fills it in.
struct Gpu {
  unsigned sm_count;
  unsigned threads_per_sm;  ///< most resident threads of a multiprocessor
  /// 90 for 9.0: the GPU's, or the kernels' target if that is lower. 0: use nothing that needs newer hardware.
  unsigned compute_capability = 0;
  unsigned most_cluster_blocks = 0;  ///< in a thread block cluster; 0: no clusters. The capability does not decide it
  std::size_t l2_bytes = 60 * MiB;   ///< as CUDA reports it; here an H200's
};

/// The GPU whose measurements the tables are made from.
inline constexpr Gpu h200{132, 2048, 90, 16, 60 * MiB};

/// How blocks share and read the input (tuned/reading.h, tuned/cluster.cuh).
enum class Reading {
  strided,  ///< blocks of 256; all threads of the grid in turn
  tiled,    ///< blocks of 512; each reads a tile of 64 KiB a round
  claimed,  ///< the same tiles by dynamic scheduling: blocks claim them from a counter in the workspace
  cluster,  ///< blocks of 512 in one cluster: from compute capability 9.0
};
constexpr unsigned block_of(Reading r) { return r == Reading::strided ? 256 : 512; }
/// Vectors of 16 bytes that a thread has in flight.
constexpr unsigned vectors_at_once(Reading r) { return r == Reading::strided || r == Reading::cluster ? 4 : 8; }

/// The alignment of the first vector, in bytes. Large inputs: a cache line, so that warps load whole lines. Small
/// inputs: a vector, which leaves few elements to single loads.
constexpr unsigned aligned_to(Reading r) { return vectors_at_once(r) == 8 ? 128 : 16; }

/// The launch for inputs of at most up_to_bytes. Bytes, because the time to read them decides: one row serves every
/// element type. The numbers are an H200's. For another GPU they scale with its SMs, in rows with kept_bytes with its
/// L2, and not at all where one block or one cluster reads everything.
struct LaunchRow {
  std::size_t up_to_bytes;
  Reading reading;
  unsigned vectors_per_thread;  ///< the grid grows only while each thread has this many vectors of 16 bytes
  unsigned most_blocks;         ///< for each SM; in a cluster: in all, 8 or 16; 0: a single block
  /// Tiled: the first kept_bytes are read by plain loads and may stay in L2 for the next call. The rest is evict-first.
  std::size_t kept_bytes = SIZE_MAX;
};

/// This much stays in L2 from call to call whatever else is in it (trial 37 of experiments/trials.csv).
inline constexpr std::size_t kept_in_l2 = 32 * MiB;

/// For sums in one word: 4-byte integers.
inline constexpr LaunchRow one_word_table[] = {
    {16 * KiB, Reading::strided, 4, 0},
    {64 * KiB, Reading::tiled, 8, 0},
    {512 * KiB, Reading::strided, 2, 4},
    {16 * MiB, Reading::strided, 4, 2},
    {24 * MiB, Reading::strided, 4, 4},
    {48 * MiB, Reading::tiled, 8, 1, kept_in_l2},
    {256 * MiB, Reading::tiled, 8, 2, kept_in_l2},
    {SIZE_MAX, Reading::claimed, 8, 2},
};

/// For all others, in two words or more. That takes a little longer, so clusters win up to larger sizes.
inline constexpr LaunchRow words_table[] = {
    {16 * KiB, Reading::strided, 4, 0},
    {32 * KiB, Reading::tiled, 8, 0},
    {256 * KiB, Reading::cluster, 4, 8},
    {512 * KiB, Reading::cluster, 4, 16},
    {16 * MiB, Reading::strided, 4, 2},
    {24 * MiB, Reading::strided, 4, 4},
    {48 * MiB, Reading::tiled, 8, 1, kept_in_l2},
    {256 * MiB, Reading::tiled, 8, 2, kept_in_l2},
    {SIZE_MAX, Reading::claimed, 8, 2},
};

/// For sums that the host adds up (trial 39). No block waits for another, so a cluster gains nothing. Fewer blocks are
/// read sooner. Made by hand, not by autotune.
inline constexpr LaunchRow to_host_table[] = {
    {512 * KiB, Reading::strided, 4, 4},
    {256 * MiB, Reading::tiled, 8, 1, kept_in_l2},
    {SIZE_MAX, Reading::tiled, 8, 2},
};

/// Where the blocks' sums are combined (tuned/finish.h).
enum class FinishedBy { one_word, words, host };
constexpr const LaunchRow* table_of(FinishedBy who) {
  return who == FinishedBy::one_word ? one_word_table : who == FinishedBy::words ? words_table : to_host_table;
}

/// Overrides the table, for experiments such as autotune. Counts that no launch can have become the nearest possible.
struct Choice {
  bool fixed = false;                               ///< false: use the table
  Reading reading = Reading::strided;                ///< claimed becomes tiled to the host and from 2^40 bytes on
  unsigned vectors_per_thread = 4, most_blocks = 4;  ///< as in a LaunchRow
  std::size_t kept_bytes = SIZE_MAX;
  bool overlaps = true;  ///< starts while the kernel before still runs, if the GPU can; also if not `fixed`
  /// Floating-point sums of large inputs may be added in another order at each call, so their last bits may differ.
  /// Also if not `fixed`. Integers always may.
  bool any_order = false;
};

struct LaunchShape {
  Reading reading;
  unsigned grid, block;
  std::size_t kept_bytes = SIZE_MAX;
};

/// The most blocks of a launch for each SM.
inline constexpr unsigned most_blocks_per_sm = 8;
/// The most blocks that one word can count (tuned/digits.h).
inline constexpr unsigned most_sums = 4095;
/// The most blocks of a cluster.
inline constexpr unsigned most_blocks_of_cluster = 16;

/// The workspace, in words: the sums, the counter of claimed tiles on 128 bytes of its own, and the far bands of two
/// sums (tuned/digits.h). All are zero between calls.
inline constexpr unsigned claims_word = 32, far_word = 48, far_words = 128;
inline constexpr std::size_t workspace_words = far_word + 2 * far_words;
inline constexpr std::size_t workspace_bytes = workspace_words * sizeof(std::uint64_t);
constexpr std::size_t most_blocks(const Gpu& gpu) { return std::size_t{most_blocks_per_sm} * gpu.sm_count; }
/// The most words that a block sends to the host.
inline constexpr unsigned most_words = 4;
/// The memory where the blocks' words of one call arrive on the host, block by block.
constexpr std::size_t arrival_words(const Gpu& gpu) { return most_words * most_blocks(gpu); }
constexpr std::size_t arrival_bytes(const Gpu& gpu) { return arrival_words(gpu) * sizeof(std::uint64_t); }

/// bytes * by / of, without overflow.
constexpr std::size_t scaled(std::size_t bytes, std::size_t by, std::size_t of) {
  return bytes == SIZE_MAX ? bytes : bytes / of * by + bytes % of * by / of;
}
/// A row of a table, scaled to this GPU.
constexpr LaunchRow row_for(LaunchRow row, const Gpu& gpu) {
  if (row.reading == Reading::cluster || row.most_blocks == 0) return row;
  if (row.kept_bytes == SIZE_MAX) {
    row.up_to_bytes = scaled(row.up_to_bytes, gpu.sm_count, h200.sm_count);
  } else {
    row.up_to_bytes = scaled(row.up_to_bytes, gpu.l2_bytes, h200.l2_bytes);
    row.kept_bytes = scaled(row.kept_bytes, gpu.l2_bytes, h200.l2_bytes);
  }
  return row;
}

/// The launch for `bytes` of input. To the host it uses neither clusters nor claims, whatever is chosen.
constexpr LaunchShape launch_shape(std::size_t bytes, FinishedBy who, const Gpu& gpu, const Choice& choice = {}) {
  LaunchRow r{bytes, choice.reading, choice.vectors_per_thread, choice.most_blocks, choice.kept_bytes};
  if (!choice.fixed) {
    const LaunchRow* row = table_of(who);
    while (bytes > row_for(*row, gpu).up_to_bytes) ++row;
    r = row_for(*row, gpu);
  }
  // Claims need a workspace, which a call to the host lacks; and a block can add up at most 2^24 tiles.
  if (r.reading == Reading::claimed && (who == FinishedBy::host || bytes >> 40)) r.reading = Reading::tiled;
  const std::size_t vectors = bytes / 16 + (bytes % 16 != 0);
  if (r.reading == Reading::cluster) {
    if (r.most_blocks > most_blocks_of_cluster) r.most_blocks = most_blocks_of_cluster;
    if (r.most_blocks < 2) r.most_blocks = 2;
    if (r.most_blocks <= gpu.most_cluster_blocks && who != FinishedBy::host) {
      unsigned blocks = 2;  // a power of two
      while (2 * blocks <= r.most_blocks && std::size_t{blocks} * block_of(r.reading) < vectors) blocks *= 2;
      return {r.reading, blocks, block_of(r.reading)};
    }
    r = {bytes, Reading::strided, 4, 2};
  }
  const unsigned block = block_of(r.reading);
  if (r.most_blocks == 0) return {r.reading, 1, block, r.kept_bytes};
  unsigned per_sm = gpu.threads_per_sm / block;  // resident at once
  if (per_sm == 0) per_sm = 1;
  if (per_sm > r.most_blocks) per_sm = r.most_blocks;
  if (per_sm > most_blocks_per_sm) per_sm = most_blocks_per_sm;
  std::size_t most = std::size_t{per_sm} * gpu.sm_count;
  if (most > most_sums) most = most_sums;
  std::size_t share = std::size_t{block} * (r.vectors_per_thread ? r.vectors_per_thread : 1);
  if (r.reading == Reading::claimed) share *= 2;  // with less there is nothing to claim
  const std::size_t wanted = vectors / share + (vectors % share != 0);
  return {r.reading, static_cast<unsigned>(wanted == 0 ? 1 : wanted < most ? wanted : most), block, r.kept_bytes};
}

}  // namespace reductio::tuned
