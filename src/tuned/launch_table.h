#pragma once
/// Which launch tuned/tuned.h takes for how much input: the one place to change when it is tuned. Plain C++, so that a
/// file which is not compiled as CUDA can hold a Gpu and know how large a workspace is.

#include <cstddef>
#include <cstdint>

namespace reductio::tuned {

inline constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

/// What of a GPU the launch depends on; tuned::current_gpu() asks for it.
struct Gpu {
  unsigned sm_count;
  unsigned threads_per_sm;  ///< most resident threads of a multiprocessor
  /// 90 for 9.0: of the GPU, or of what the kernels were compiled for if that is less. 0: nothing that needs newer
  /// hardware is used.
  unsigned compute_capability = 0;
  unsigned most_cluster_blocks =
      0;  ///< of a thread block cluster; 0: no clusters. It differs by GPU, not by capability
  std::size_t l2_bytes = 60 * MiB;   ///< as CUDA names it; of an H200
};

/// The GPU whose measurements the tables are made from.
inline constexpr Gpu h200{132, 2048, 90, 16, 60 * MiB};

/// How the input is shared out, and read (tuned/reading.h and tuned/cluster.cuh).
enum class Reading {
  strided,  ///< blocks of 256, all threads of the grid taking turns
  tiled,    ///< blocks of 512, each with a tile of 64 KiB at a time
  claimed,  ///< the same tiles, but blocks claim them one by one as they go, by a word of the workspace
  cluster,  ///< blocks of 512 in one cluster: from compute capability 9.0
};
constexpr unsigned block_of(Reading r) { return r == Reading::strided ? 256 : 512; }
/// Vectors of 16 bytes that a thread asks for before it waits for the first.
constexpr unsigned vectors_at_once(Reading r) { return r == Reading::strided || r == Reading::cluster ? 4 : 8; }

/// Where vectors start: at a multiple of so many bytes. At a line of the caches where there is much to read, because a
/// warp then asks for whole lines. Where there is little, at a vector: few elements are then left to single loads.
constexpr unsigned aligned_to(Reading r) { return vectors_at_once(r) == 8 ? 128 : 16; }

/// Up to so many bytes of input, such a launch. Bytes, because the time to read them is what the launch has to hide: so
/// one row serves every element type. The bytes are an H200's. Another GPU's are more or fewer as it has SMs, in rows
/// that keep a part in L2 as it has L2, and the same where one block or one cluster reads.
struct LaunchRow {
  std::size_t up_to_bytes;
  Reading reading;
  /// There is another block only if each thread has so many vectors of 16 bytes.
  unsigned vectors_per_thread;
  unsigned most_blocks;         ///< for each SM; of a cluster: in all, 8 or 16; 0: one block does it all
  /// Tiled: so much of the input, from its start, is read by plain loads, so that it may stay in L2 for the next call.
  /// What is behind it is read so that L2 gives it up first.
  std::size_t kept_bytes = SIZE_MAX;
};

/// So much stays in L2 from call to call whatever else lies there, which of an input that is read to be given up first
/// cannot be said (docs/tuning.md, 37).
inline constexpr std::size_t kept_in_l2 = 32 * MiB;

/// For sums that meet in one word: those of 4 bytes of integer.
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

/// For all others, which meet in two words or more. That takes a little longer, so a cluster is quicker for longer.
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

/// For sums that each block sends to the host, which adds them up (docs/tuning.md, 39): no block waits for another, so
/// a cluster gains nothing, and the fewer blocks the sooner the host has read them all. By hand, not by autotune.
inline constexpr LaunchRow to_host_table[] = {
    {512 * KiB, Reading::strided, 4, 4},
    {256 * MiB, Reading::tiled, 8, 1, kept_in_l2},
    {SIZE_MAX, Reading::tiled, 8, 2},
};

/// Who makes one result of the blocks' sums (tuned/finish.h).
enum class FinishedBy { one_word, words, host };
constexpr const LaunchRow* table_of(FinishedBy who) {
  return who == FinishedBy::one_word ? one_word_table : who == FinishedBy::words ? words_table : to_host_table;
}

/// What the caller chooses in place of the table, as an experiment that makes the table does. Counts that no launch can
/// have are taken as the nearest that one can.
struct Choice {
  bool fixed = false;  ///< false: as the table says
  /// In place of claimed, tiled to the host, and from 2^40 bytes on.
  Reading reading = Reading::strided;
  unsigned vectors_per_thread = 4, most_blocks = 4;  ///< as in a LaunchRow
  std::size_t kept_bytes = SIZE_MAX;
  bool overlaps = true;  ///< also if not `fixed`: with the kernel before, where the hardware can
  /// Also if not `fixed`: floating-point sums of much input may be added up in another order at each call, so their
  /// last bits may differ (docs/tuned.md: what it is worth). Of integers the order makes no difference, so it always
  /// may.
  bool any_order = false;
};

struct LaunchShape {
  Reading reading;
  unsigned grid, block;
  std::size_t kept_bytes = SIZE_MAX;
};

/// The most blocks that a launch has for each SM.
inline constexpr unsigned most_blocks_per_sm = 8;
/// The most blocks whose sums can meet in one word (tuned/digits.h).
inline constexpr unsigned most_sums = 4095;
/// The most blocks of a cluster that there are sums for.
inline constexpr unsigned most_blocks_of_cluster = 16;

/// The workspace, in words: those that sums are added up in, and how many tiles have been claimed, each alone on 128
/// bytes; and for each of two sums a long accumulator (tuned/long_accumulator.h). All are zero between calls.
inline constexpr unsigned claims_word = 16, long_accumulator_word = 32, long_accumulator_words = 80;
inline constexpr std::size_t workspace_words = long_accumulator_word + 2 * long_accumulator_words;
inline constexpr std::size_t workspace_bytes = workspace_words * sizeof(std::uint64_t);
constexpr std::size_t most_blocks(const Gpu& gpu) { return std::size_t{most_blocks_per_sm} * gpu.sm_count; }
/// The words of a block's sums, as the host is sent them.
inline constexpr unsigned most_words = 4;
/// Where the sums of one call arrive that the host adds up: of each block all words, one behind the other.
constexpr std::size_t arrival_words(const Gpu& gpu) { return most_words * most_blocks(gpu); }
constexpr std::size_t arrival_bytes(const Gpu& gpu) { return arrival_words(gpu) * sizeof(std::uint64_t); }

/// A row of a table for this GPU.
constexpr LaunchRow row_for(LaunchRow row, const Gpu& gpu) {
  const auto scaled = [](std::size_t bytes, std::size_t by, std::size_t of) {
    return bytes == SIZE_MAX ? bytes : bytes / of * by + bytes % of * by / of;
  };
  if (row.reading == Reading::cluster || row.most_blocks == 0) return row;
  if (row.kept_bytes == SIZE_MAX) {
    row.up_to_bytes = scaled(row.up_to_bytes, gpu.sm_count, h200.sm_count);
  } else {
    row.up_to_bytes = scaled(row.up_to_bytes, gpu.l2_bytes, h200.l2_bytes);
    row.kept_bytes = scaled(row.kept_bytes, gpu.l2_bytes, h200.l2_bytes);
  }
  return row;
}

/// The launch for so many bytes of input. To the host neither a cluster nor claims, whatever is chosen.
constexpr LaunchShape launch_shape(std::size_t bytes, FinishedBy who, const Gpu& gpu, const Choice& choice = {}) {
  LaunchRow r{bytes, choice.reading, choice.vectors_per_thread, choice.most_blocks, choice.kept_bytes};
  if (!choice.fixed) {
    const LaunchRow* row = table_of(who);
    while (bytes > row_for(*row, gpu).up_to_bytes) ++row;
    r = row_for(*row, gpu);
  }
  // To the host there is no workspace, where claims are counted; and one block can add up the sums of 2^24 tiles.
  if (r.reading == Reading::claimed && (who == FinishedBy::host || bytes >> 40)) r.reading = Reading::tiled;
  const std::size_t vectors = bytes / 16 + (bytes % 16 != 0);
  if (r.reading == Reading::cluster) {
    if (r.most_blocks > most_blocks_of_cluster) r.most_blocks = most_blocks_of_cluster;
    if (r.most_blocks < 2) r.most_blocks = 2;  // there is no cluster of one
    if (r.most_blocks <= gpu.most_cluster_blocks && who != FinishedBy::host) {
      unsigned blocks = 2;  // a power of two
      while (2 * blocks <= r.most_blocks && std::size_t{blocks} * block_of(r.reading) < vectors) blocks *= 2;
      return {r.reading, blocks, block_of(r.reading)};
    }
    r = {bytes, Reading::strided, 4, 2};
  }
  const unsigned block = block_of(r.reading);
  if (r.most_blocks == 0) return {r.reading, 1, block, r.kept_bytes};
  unsigned per_sm = gpu.threads_per_sm / block;  // held at once by an SM
  if (per_sm == 0) per_sm = 1;
  if (per_sm > r.most_blocks) per_sm = r.most_blocks;
  if (per_sm > most_blocks_per_sm) per_sm = most_blocks_per_sm;
  std::size_t most = std::size_t{per_sm} * gpu.sm_count;
  if (most > most_sums) most = most_sums;
  std::size_t share = std::size_t{block} * (r.vectors_per_thread ? r.vectors_per_thread : 1);
  if (r.reading == Reading::claimed) share *= 2;  // else there is nothing to claim
  const std::size_t wanted = vectors / share + (vectors % share != 0);
  return {r.reading, static_cast<unsigned>(wanted == 0 ? 1 : wanted < most ? wanted : most), block, r.kept_bytes};
}

}  // namespace reductio::tuned
