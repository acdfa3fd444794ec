#pragma once
/// Who touched each word of global memory last, in 8 bytes a kind of access. Most words are touched by one thread, by
/// lanes that stand side by side, or byte by byte by threads that do. What does not fit lies apart.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "device/sim/place.h"

namespace reductio::sim {

inline constexpr std::size_t word_bytes = 4;  ///< memory is watched in words of this size

/// Which lanes of one block touched a word last, and when. An epoch ends with each barrier, warp barrier, fence or
/// acquire of the block.
struct Accesses {
  std::uint32_t serial = 0;       ///< of the block's run; 0: nobody
  std::uint32_t epoch = 0;        ///< of the last of them
  std::uint32_t lanes = 0;        ///< of the last one's warp
  std::uint32_t thread : 10 = 0;  ///< the last one's number in its block
  /// Of reads: also lanes of other warps. Of atomics: also others (causality.h). Of writes to shared memory: the word's
  /// bytes have records of their own (SplitWords).
  std::uint32_t others : 1 = 0;
  std::uint32_t block_scope : 1 = 0;      ///< of atomics: ordered with those of its own block only
  std::uint32_t of_another_size : 1 = 0;  ///< of atomics: of 2 or 8 bytes
  std::uint32_t site : site_bits = 0;     ///< the last one's SiteCode
};
static_assert(sizeof(Accesses) == 16);

/// The same packed: the SiteCode, the thread, how its lanes or its bytes lie (a shape), the three bits, and a stamp,
/// which is a number for serial and epoch. 0: nobody.
struct Packed {
  std::uint64_t bits = 0;
  static constexpr int thread_at = site_bits, shape_at = thread_at + 10, flags_at = shape_at + 7,
                       stamp_at = flags_at + 3;
  /// From here on `bits` has no stamp, but says where more lies (Apart).
  static constexpr std::uint64_t apart = ~std::uint64_t{0} << stamp_at;
  static constexpr std::uint32_t most_stamps = apart >> stamp_at;
  static constexpr std::uint64_t words_apart = std::uint64_t{1} << (stamp_at - 1);  ///< a bit: its bytes lie apart

  // Shapes. Of a whole word: a run of lanes that ends at the thread's, one that begins there, all lanes. Of bytes:
  // some, all by the thread; some, each by the thread after the one before; two by the thread and two by the next.
  static constexpr unsigned one_lane = 0, run_up = 32, all_lanes = 63, bytes = 64, bytes_in_turn = 80, halves = 96;

  unsigned thread() const { return bits >> thread_at & 1023; }
  unsigned shape() const { return bits >> shape_at & 127; }
  bool is_apart() const { return bits >= apart; }
  bool by_bytes() const { return is_apart() ? (bits & words_apart) != 0 : shape() >= bytes; }
  bool others() const { return bits >> flags_at & 1; }
  std::uint32_t stamp() const { return static_cast<std::uint32_t>(bits >> stamp_at); }
  /// But for the site.
  bool equals(Packed p) const { return (bits ^ p.bits) >> thread_at == 0; }
};

/// Of each stamp: the serial and the epoch. Stamps grow in the order of time, so one comparison tells what an earlier
/// launch has done.
class Stamps {
 public:
  struct Meaning {
    std::uint32_t serial, epoch;
  };
  /// A launch begins whose first block has serial `first`. Nothing orders what blocks did from `unordered_from` on, and
  /// nobody asks for what those before `kept_from` did.
  void begin_launch(std::uint32_t first, std::uint32_t unordered_from, std::uint32_t kept_from);
  /// For an epoch of a block, which begins; Packed::apart if there are no more.
  std::uint64_t next(std::uint32_t serial, std::uint32_t epoch);
  Meaning operator[](Packed p) const { return meanings_[p.stamp() - first_]; }
  /// What comes before it, its launch orders.
  std::uint64_t unordered_from() const { return unordered_from_; }
  bool is_forgotten(Packed p) const { return p.bits < kept_from_; }

  std::uint32_t most = Packed::most_stamps;  ///< for tests

 private:
  std::vector<Meaning> meanings_;  // from stamp first_ on
  std::uint32_t first_ = 2;        // 1 is that of all records that are older than the numbers
  std::uint64_t unordered_from_ = 0, kept_from_ = 0;
};
extern Stamps stamps;

/// What does not fit into records: lanes with gaps, bytes that threads touched in no order.
struct Apart {
  std::deque<Accesses> accesses;
  std::deque<std::array<Packed, word_bytes>> words;
  std::vector<std::size_t> free_accesses, free_words;
};

struct Memory;
/// One byte's record in a word's.
Accesses unpacked(const Memory&, Packed, unsigned byte = 0);
/// Packs what the running block has done just now.
void pack(Memory&, Packed&, const Accesses&);
void pack_bytes(Memory&, Packed&, std::uint8_t bytes, const Accesses&);
/// The running thread reads where lanes of its warp may have read in the same epoch. False if others have.
bool join(Memory&, Packed& reads, SiteCode);

}  // namespace reductio::sim
