// Packs and unpacks the records of global memory.

#include "device/sim/records.h"

#include <utility>

#include "device/sim/access.h"
#include "device/sim/memory.h"

namespace reductio::sim {

Stamps stamps;

void Stamps::begin_launch(std::uint32_t first, std::uint32_t unordered_from, std::uint32_t kept_from) {
  // Each launch's serials, and so its stamps, come after all of the one before.
  const auto from = [&](std::uint32_t serial) {
    const auto at = serial == first ? meanings_.end()
                                    : std::partition_point(meanings_.begin(), meanings_.end(),
                                                           [&](const Meaning& m) { return m.serial < serial; });
    return static_cast<std::uint32_t>(at - meanings_.begin());
  };
  const std::uint32_t kept = from(kept_from);
  unordered_from_ = std::uint64_t{first_ + from(unordered_from)} << Packed::stamp_at;
  kept_from_ = std::uint64_t{first_ + kept} << Packed::stamp_at;
  if (kept < meanings_.size() / 2 && kept != meanings_.size()) return;
  meanings_.erase(meanings_.begin(), meanings_.begin() + kept);
  first_ += kept;
  if (!meanings_.empty() || first_ < most / 2) return;
  forget_records();
  first_ = 2;
  unordered_from_ = kept_from_ = std::uint64_t{first_} << Packed::stamp_at;
}

std::uint64_t Stamps::next(std::uint32_t serial, std::uint32_t epoch) {
  const std::uint64_t next = first_ + meanings_.size();
  if (next >= most) return Packed::apart;
  meanings_.push_back({serial, epoch});
  return next << Packed::stamp_at;
}

namespace {

constexpr std::uint64_t place_bits = Packed::words_apart - 1;
constexpr std::uint64_t thread_and_shape = (std::uint64_t{1} << Packed::flags_at) - (std::uint64_t{1} << site_bits);

Apart& apart_of(Memory& m) {
  if (!m.apart) m.apart = std::make_unique<Apart>();
  return *m.apart;
}

template <class T>
std::size_t place(std::deque<T>& all, std::vector<std::size_t>& free, const T& value) {
  if (free.empty()) {
    all.push_back(value);
    return all.size() - 1;
  }
  const std::size_t at = free.back();
  free.pop_back();
  all[at] = value;
  return at;
}

/// Nobody's, from here on.
void clear(Memory& m, Packed& p) {
  const Packed old = std::exchange(p, Packed{});
  if (!old.is_apart()) return;
  const std::size_t at = old.bits & place_bits;
  if (!(old.bits & Packed::words_apart)) return m.apart->free_accesses.push_back(at);
  for (Packed& byte : m.apart->words[at]) clear(m, byte);
  m.apart->free_words.push_back(at);
}

constexpr std::uint32_t run(unsigned lanes) { return ~0u >> (warp_size - lanes); }

std::uint32_t lanes_of(unsigned shape, unsigned lane) {
  if (shape == Packed::all_lanes) return ~0u;
  if (shape < Packed::run_up) return run(shape + 1) << (lane - shape);
  return shape < Packed::bytes ? run(shape - Packed::run_up + 2) << lane : 1u << lane;
}

/// -1: these lanes have gaps.
int shape_of(std::uint32_t lanes, unsigned lane) {
  if (lanes == ~0u) return Packed::all_lanes;
  const unsigned first = std::countr_zero(lanes), last = 31 - std::countl_zero(lanes);
  if (lanes >> first != run(last - first + 1)) return -1;
  if (lane == last) return static_cast<int>(last - first);
  return lane == first ? static_cast<int>(Packed::run_up + last - first - 1) : -1;
}

/// Which bytes of the word it is of, and whose the byte is, counted from its thread on.
std::uint8_t bytes_of(unsigned shape) { return shape < Packed::bytes || shape == Packed::halves ? 15 : shape % 16; }
unsigned steps_to(unsigned shape, unsigned byte) {
  if (shape == Packed::halves) return byte / 2;
  return shape < Packed::bytes_in_turn ? 0 : byte - std::countr_zero(bytes_of(shape));
}

/// The byte's part of what lies in the record itself.
Packed byte_in(Packed p, unsigned byte) {
  const unsigned shape = p.shape();
  if (shape < Packed::bytes) return p;
  if (!(bytes_of(shape) >> byte & 1)) return {};
  const std::uint64_t thread = p.thread() + steps_to(shape, byte);
  return {(p.bits & ~thread_and_shape) | thread << Packed::thread_at};
}

/// A word's record, of its bytes' ones: apart if they have too little in common.
Packed word_of(Memory& m, std::array<Packed, word_bytes>& all) {
  std::uint8_t there = 0;
  bool fits = true;
  for (unsigned i = 0; i < word_bytes; ++i) {
    if (stamps.is_forgotten(all[i])) all[i] = {};
    if (all[i].bits) there |= 1u << i;
  }
  if (!there) return {};
  if (all[0].bits == all[1].bits && all[0].bits == all[2].bits && all[0].bits == all[3].bits && !all[0].is_apart())
    return all[0];
  const Packed first = all[std::countr_zero(there)];
  for (unsigned shape : {Packed::bytes + there, Packed::bytes_in_turn + there, Packed::halves}) {
    if (shape == Packed::halves && there != 15) break;
    fits = first.shape() == Packed::one_lane && !first.is_apart();
    const Packed word{first.bits | std::uint64_t{shape} << Packed::shape_at};
    for (unsigned i = 0; i < word_bytes && fits; ++i) fits = byte_in(word, i).bits == all[i].bits;
    if (fits) return word;
  }
  Apart& a = apart_of(m);
  return {Packed::apart | Packed::words_apart | place(a.words, a.free_words, all)};
}

}  // namespace

Accesses unpacked(const Memory& m, Packed p, unsigned byte) {
  if (stamps.is_forgotten(p)) return {};
  if (p.is_apart()) {
    const std::size_t at = p.bits & place_bits;
    return p.bits & Packed::words_apart ? unpacked(m, m.apart->words[at][byte]) : m.apart->accesses[at];
  }
  p = byte_in(p, byte);
  if (!p.bits) return {};
  const Stamps::Meaning when = stamps[p];
  const unsigned flags = p.bits >> Packed::flags_at & 7;
  return {.serial = when.serial,
          .epoch = when.epoch,
          .lanes = lanes_of(p.shape(), p.thread() % warp_size),
          .thread = p.thread(),
          .others = flags & 1,
          .block_scope = flags >> 1 & 1,
          .of_another_size = flags >> 2,
          .site = static_cast<std::uint32_t>(p.bits & ((1u << site_bits) - 1))};
}

void pack(Memory& m, Packed& p, const Accesses& a) {
  if (a.serial == 0) return clear(m, p);
  const int shape = shape_of(a.lanes, a.thread % warp_size);
  const std::uint64_t stamp = shape < 0 ? Packed::apart : stamp_now();
  if (stamp != Packed::apart) {
    if (p.is_apart()) clear(m, p);
    const std::uint64_t flags = a.others | a.block_scope << 1 | a.of_another_size << 2;
    p.bits = stamp | flags << Packed::flags_at | static_cast<std::uint64_t>(shape) << Packed::shape_at |
             std::uint64_t{a.thread} << Packed::thread_at | a.site;
  } else if (p.is_apart() && !p.by_bytes()) {
    m.apart->accesses[p.bits & place_bits] = a;
  } else {
    clear(m, p);
    Apart& all = apart_of(m);
    p.bits = Packed::apart | place(all.accesses, all.free_accesses, a);
  }
}

void pack_bytes(Memory& m, Packed& p, std::uint8_t bytes, const Accesses& a) {
  std::array<Packed, word_bytes> all{};
  if (!p.is_apart()) {
    for (unsigned i = 0; i < word_bytes; ++i)
      if (!stamps.is_forgotten(p)) all[i] = byte_in(p, i);
  } else if (p.by_bytes()) {
    const std::size_t at = p.bits & place_bits;
    all = m.apart->words[at];
    m.apart->free_words.push_back(at);
  } else {
    const Accesses word = m.apart->accesses[p.bits & place_bits];
    clear(m, p);
    Apart& apart = apart_of(m);
    for (Packed& byte : all) byte.bits = Packed::apart | place(apart.accesses, apart.free_accesses, word);
  }
  for (unsigned i = 0; i < word_bytes; ++i)
    if (bytes >> i & 1) pack(m, all[i], a);
  p = word_of(m, all);
}

bool join(Memory& m, Packed& reads, SiteCode site) {
  if (reads.by_bytes()) return false;
  const Block& b = *running;
  const std::uint32_t thread = thread_now, lane = 1u << thread % warp_size;
  if (!reads.is_apart()) {
    if (reads.stamp() != Packed{stamp_now()}.stamp() || reads.thread() / warp_size != thread / warp_size) return false;
    const int shape = shape_of(lanes_of(reads.shape(), reads.thread() % warp_size) | lane, thread % warp_size);
    if (shape >= 0) {
      constexpr std::uint64_t kept = ~std::uint64_t{0} << Packed::flags_at;
      reads.bits = (reads.bits & kept) | static_cast<std::uint64_t>(shape) << Packed::shape_at |
                   std::uint64_t{thread} << Packed::thread_at | site;
      return true;
    }
  }
  Accesses all = unpacked(m, reads);
  if (all.serial != b.serial || all.epoch < b.barrier_epoch)
    all = {.serial = b.serial, .epoch = b.epoch};  // nobody's that is kept
  else if (all.epoch != b.epoch || all.thread / warp_size != thread / warp_size)
    return false;
  all.lanes |= lane;
  all.thread = thread;
  all.site = site;
  pack(m, reads, all);
  return true;
}

}  // namespace reductio::sim
