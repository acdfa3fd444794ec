#include "inspect/counts.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "device/sim/block.h"
#include "device/sim/diagnosis.h"
#include "device/sim/follower.h"
#include "device/sim/streams.h"

namespace reductio::inspect {
namespace {

using sim::warp_size;

/// The accesses of one place by a warp since its lanes last met.
struct Visits {
  sim::SiteCode site = 0;
  Kind kind{};
  std::array<std::uint32_t, warp_size> next{};  ///< by lane: which of `requests` its next visit joins
  struct Request {
    std::uint32_t lanes = 0;
    std::size_t bytes = 0;
    std::array<std::uint64_t, warp_size> at;
  };
  std::vector<Request> requests{};
};

struct WarpTrack {
  std::vector<Visits> visits;
  std::uint32_t at_work = 0;  ///< lanes, since the last barrier of the block
};
struct BlockTrack {
  std::vector<WarpTrack> warps;
  bool is_first = false;  ///< of its kernel
  std::size_t level = 0;
};

struct Place {
  sim::SiteCode site;
  Kind kind;
  bool operator==(const Place&) const = default;
};
struct HashOfPlace {
  std::size_t operator()(const Place& p) const { return p.site * kinds + static_cast<std::size_t>(p.kind); }
};

struct Tally {
  std::string kernel;
  std::size_t launches = 0, blocks = 0;
  unsigned threads = 0;
  std::unordered_map<Place, Counts, HashOfPlace> places{};
  std::vector<Level> levels{};
  std::vector<Request> first_requests{};
  std::unordered_map<std::uint64_t, std::uint64_t> atomics{};  ///< by address
};

Kind kind_of(sim::Access access, sim::Space space) {
  const bool is_shared = space == sim::Space::shared;
  switch (access) {
    case sim::Access::read: return is_shared ? Kind::shared_load : Kind::global_load;
    case sim::Access::write: return is_shared ? Kind::shared_store : Kind::global_store;
    default: return is_shared ? Kind::shared_atomic : Kind::global_atomic;
  }
}

bool is_of_shared_memory(Kind k) {
  return k == Kind::shared_load || k == Kind::shared_store || k == Kind::shared_atomic;
}

}  // namespace

std::string_view name(Kind k) {
  static constexpr std::array<std::string_view, kinds> names = {"global load",   "global store",  "global atomic",
                                                                "shared load",   "shared store",  "shared atomic",
                                                                "block barrier", "warp operation"};
  return names[static_cast<std::size_t>(k)];
}

void Counts::add(const Counts& c) {
  threads += c.threads;
  requests += c.requests;
  bytes += c.bytes;
  sectors += c.sectors;
  wavefronts += c.wavefronts;
  conflicts += c.conflicts;
}

Counts KernelCounts::of(Kind k) const {
  Counts sum;
  for (const SourceCounts& p : places)
    if (p.kind == k) sum.add(p.counts);
  return sum;
}

Counts count_request(Kind kind, std::uint32_t lanes, const std::array<std::uint64_t, 32>& at, std::size_t bytes) {
  Counts c{.threads = static_cast<std::uint64_t>(std::popcount(lanes)), .requests = 1};
  const bool is_shared = is_of_shared_memory(kind);
  const std::size_t unit = is_shared ? sim::word_bytes : sector_bytes;
  // Shared memory serves 128 bytes at a time: all lanes of 4 bytes, half of those of 8.
  const unsigned together = is_shared && bytes > unit ? std::max<unsigned>(warp_size * unit / bytes, 1) : warp_size;
  std::array<std::uint64_t, warp_size> begins{};
  unsigned distinct = 0;
  for (unsigned first = 0; first < warp_size; first += together) {
    std::vector<std::uint64_t> units;
    for (unsigned l = first; l < std::min(first + together, warp_size); ++l) {
      if (!(lanes >> l & 1)) continue;
      for (std::uint64_t u = at[l] / unit; u <= (at[l] + bytes - 1) / unit; ++u) units.push_back(u);
      begins[distinct++] = at[l];
    }
    std::sort(units.begin(), units.end());
    units.erase(std::unique(units.begin(), units.end()), units.end());
    if (units.empty()) continue;
    if (!is_shared) {
      c.sectors += units.size();
      continue;
    }
    std::array<unsigned, banks> in_bank{};
    for (const std::uint64_t u : units) ++in_bank[u % banks];
    const unsigned most = *std::max_element(in_bank.begin(), in_bank.end());
    c.wavefronts += most;
    c.conflicts += most - 1;
  }
  // What lies beyond the block's own memory is served elsewhere.
  if (is_shared &&
      std::any_of(begins.begin(), begins.begin() + distinct, [](std::uint64_t at) { return at >= sim::shared_span; }))
    c.wavefronts = c.conflicts = 0;
  std::sort(begins.begin(), begins.begin() + distinct);
  for (unsigned i = 0; i < distinct; ++i)
    c.bytes += i + 1 < distinct ? std::min<std::uint64_t>(bytes, begins[i + 1] - begins[i]) : bytes;
  return c;
}

class Counter::Implementation final : public sim::Follower {
 public:
  void launch_begins(const std::string& kernel, const sim::Shape& shape) override {
    const auto known =
        std::find_if(tallies_.begin(), tallies_.end(), [&](const Tally& t) { return t.kernel == kernel; });
    now_ = static_cast<std::size_t>(known - tallies_.begin());
    if (known == tallies_.end()) tallies_.push_back({.kernel = kernel, .blocks = shape.grid, .threads = shape.block});
    ++tally().launches;
    last_block_ = nullptr;
    blocks_.clear();
  }

  void launch_ends() override {
    for (auto& [serial, block] : blocks_) finish(block);  // of a launch that ended early
    blocks_.clear();
    last_block_ = nullptr;
    first_warp_ = nullptr;
  }

  void access(sim::Access access, std::uintptr_t at, std::size_t bytes, sim::SiteCode site) override {
    const sim::Space space = sim::space_of(at);
    if (space == sim::Space::other) return;
    const Kind kind = kind_of(access, space);
    const unsigned lane = sim::thread_now % warp_size;
    WarpTrack& warp = block(*sim::running).warps[sim::thread_now / warp_size];
    warp.at_work |= 1u << lane;
    Visits& v = visits(warp, site, kind);
    const std::uint32_t k = v.next[lane]++;
    if (k >= v.requests.size()) v.requests.resize(k + 1);
    Visits::Request& r = v.requests[k];
    r.lanes |= 1u << lane;
    r.bytes = std::max(r.bytes, bytes);
    r.at[lane] = space == sim::Space::shared ? at - reinterpret_cast<std::uintptr_t>(sim::running->shared) : at;
    if (kind == Kind::global_atomic) ++tally().atomics[at];
  }

  void warp_meets(const sim::BlockState& b, unsigned w, std::uint32_t mask, sim::WarpOperation,
                  const sim::Site& site) override {
    WarpTrack& warp = block(b).warps[w];
    warp.at_work |= mask;
    count(sim::code_of(site), Kind::warp_operation, mask);
    meet(warp, mask, mask == (b.warps[w].existing & ~b.warps[w].exited));
  }

  void block_meets(const sim::BlockState& b, const sim::Site& site) override {
    BlockTrack& track = block(b);
    tally().places[{sim::code_of(site), Kind::block_barrier}].add({.threads = b.threads - b.exited, .requests = 1});
    for (WarpTrack& warp : track.warps) meet(warp, ~0u, true);
    end_level(track);
  }

  void block_ends(const sim::BlockState& b) override {
    const auto at = blocks_.find(b.serial);
    if (at == blocks_.end()) return;
    finish(at->second);
    if (at->second.is_first) first_warp_ = nullptr;
    blocks_.erase(at);
    last_block_ = nullptr;
  }

  std::vector<KernelCounts> kernels() const {
    std::vector<KernelCounts> out;
    for (const Tally& t : tallies_) {
      KernelCounts k{.kernel = t.kernel,
                     .launches = t.launches,
                     .blocks = t.blocks,
                     .threads = t.threads,
                     .levels = t.levels,
                     .first_requests = t.first_requests,
                     .atomic_addresses = t.atomics.size()};
      for (const auto& [at, times] : t.atomics) k.most_atomics = std::max(k.most_atomics, times);
      for (const auto& [place, counts] : t.places) {
        const sim::Site site = sim::site_of(place.site);
        k.places.push_back({site.file ? site.file : "", site.line, site.column, place.kind, counts});
      }
      std::sort(k.places.begin(), k.places.end(), [](const SourceCounts& a, const SourceCounts& b) {
        return std::tie(a.file, a.line, a.column, a.kind) < std::tie(b.file, b.line, b.column, b.kind);
      });
      out.push_back(std::move(k));
    }
    return out;
  }

 private:
  Tally& tally() { return tallies_[now_]; }

  BlockTrack& block(const sim::Block& b) {
    if (last_block_ && last_serial_ == b.serial) return *last_block_;
    BlockTrack& track = blocks_[b.serial];
    if (track.warps.empty()) track.warps.resize((tally().threads + warp_size - 1) / warp_size);
    // A kernel may be launched anew with larger blocks.
    const unsigned threads = static_cast<const sim::BlockState&>(b).threads;
    track.warps.resize(std::max<std::size_t>(track.warps.size(), (threads + warp_size - 1) / warp_size));
    if (b.index == 0 && tally().launches == 1) track.is_first = true, first_warp_ = track.warps.data();
    last_serial_ = b.serial;
    last_block_ = &track;
    return track;
  }

  static Visits& visits(WarpTrack& warp, sim::SiteCode site, Kind kind) {
    for (Visits& v : warp.visits)
      if (v.site == site && v.kind == kind) return v;
    warp.visits.push_back({.site = site, .kind = kind});
    return warp.visits.back();
  }

  void count(sim::SiteCode site, Kind kind, std::uint32_t lanes) {
    tally().places[{site, kind}].add({.threads = static_cast<std::uint64_t>(std::popcount(lanes)), .requests = 1});
  }

  /// Later visits by the lanes of `mask` join none of the requests before.
  void meet(WarpTrack& warp, std::uint32_t mask, bool all) {
    for (Visits& v : warp.visits) {
      if (all) {
        settle(v, &warp == first_warp_);
        v.next = {};
        continue;
      }
      for (std::uint32_t m = mask; m; m &= m - 1)
        v.next[std::countr_zero(m)] = static_cast<std::uint32_t>(v.requests.size());
    }
  }

  void settle(Visits& v, bool is_of_first_warp) {
    if (v.requests.empty()) return;
    if (auto& known = tally().first_requests; is_of_first_warp) {
      const std::string source = to_string(sim::site_of(v.site));
      const bool is_new = std::none_of(known.begin(), known.end(),
                                       [&](const Request& r) { return r.kind == v.kind && r.source == source; });
      if (const Visits::Request& r = v.requests.front(); is_new)
        known.push_back({v.kind, source, r.lanes, r.bytes, r.at});
    }
    Counts& counts = tally().places[{v.site, v.kind}];
    for (const Visits::Request& r : v.requests)
      if (r.lanes) counts.add(count_request(v.kind, r.lanes, r.at, r.bytes));
    v.requests.clear();
  }

  void end_level(BlockTrack& block) {
    auto& levels = tally().levels;
    if (levels.size() <= block.level) levels.resize(block.level + 1);
    for (WarpTrack& warp : block.warps) {
      levels[block.level].warps += warp.at_work != 0;
      levels[block.level].lanes += static_cast<unsigned>(std::popcount(warp.at_work));
      warp.at_work = 0;
    }
    ++block.level;
  }

  void finish(BlockTrack& block) {
    for (WarpTrack& warp : block.warps)
      for (Visits& v : warp.visits) settle(v, &warp == first_warp_);
    if (std::any_of(block.warps.begin(), block.warps.end(), [](const WarpTrack& w) { return w.at_work != 0; }))
      end_level(block);
  }

  std::vector<Tally> tallies_;
  std::size_t now_ = 0;
  std::unordered_map<std::uint32_t, BlockTrack> blocks_;  ///< by serial
  std::uint32_t last_serial_ = 0;
  BlockTrack* last_block_ = nullptr;
  const WarpTrack* first_warp_ = nullptr;
};

Counter::Counter() : implementation_(std::make_unique<Implementation>()) { sim::follower = implementation_.get(); }
Counter::~Counter() { sim::follower = nullptr; }
std::vector<KernelCounts> Counter::kernels() const { return implementation_->kernels(); }

}  // namespace reductio::inspect
