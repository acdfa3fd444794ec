#include "inspect/tree.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "device/sim/block.h"
#include "device/sim/diagnosis.h"
#include "device/sim/follower.h"
#include "device/sim/order.h"
#include "device/sim/streams.h"

namespace reductio::inspect {

ElementType tree_type(const std::vector<ElementType>& types) {
  for (const ElementType wanted : {ElementType::f64, ElementType::i32, ElementType::f32})
    if (std::find(types.begin(), types.end(), wanted) != types.end()) return wanted;
  throw Refused("a picture is decoded from values of f64, i32 or f32, and the variant takes none of them");
}

std::size_t most_decoded(ElementType type, Operation operation) {
  const std::size_t bits = type == ElementType::f64 ? 53 : type == ElementType::f32 ? 24 : 32;
  return std::min(most_drawn, operation == Operation::sum_of_squares ? bits / 2 : bits);
}

std::vector<std::byte> powers_of_two(ElementType type, std::size_t n, std::size_t every) {
  std::vector<std::byte> out(n * every * size_of(type));
  for (std::size_t i = 0; i < n; ++i) {
    std::byte* const at = out.data() + i * every * size_of(type);
    if (type == ElementType::f64) {
      const double v = std::ldexp(1.0, static_cast<int>(i));
      std::memcpy(at, &v, sizeof v);
    } else if (type == ElementType::f32) {
      const float v = std::ldexp(1.0f, static_cast<int>(i));
      std::memcpy(at, &v, sizeof v);
    } else {
      const std::uint32_t v = 1u << i;
      std::memcpy(at, &v, sizeof v);
    }
  }
  return out;
}

std::string Tree::spell(std::uint64_t elements) {
  std::string out;
  for (unsigned i = 0; i < 64; ++i) {
    if (!(elements >> i & 1)) continue;
    unsigned last = i;
    while (last < 63 && elements >> (last + 1) & 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(i) + (last > i ? "-" + std::to_string(last) : "");
    i = last;
  }
  return out;
}

namespace {

std::string words_of(const Tree& t, std::size_t i) {
  const Node& node = t.nodes[i];
  if (node.place == Node::Place::input) return std::to_string(node.index);
  std::vector<std::size_t> parts = node.made_of;
  std::sort(parts.begin(), parts.end(), [&](std::size_t a, std::size_t b) {
    return std::countr_zero(t.nodes[a].elements) < std::countr_zero(t.nodes[b].elements);
  });
  if (parts.size() == 1) return words_of(t, parts.front());
  std::string out;
  for (const std::size_t part : parts) out += (out.empty() ? "" : " ") + words_of(t, part);
  return "(" + out + ")";
}

}  // namespace

std::string Tree::in_words() const {
  std::string out;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].is_result) out += (out.empty() ? "" : " ") + words_of(*this, i);
  return out;
}

class TreeTracer::Implementation final : public sim::Follower {
 public:
  Implementation(const Problem& p, std::size_t every, const std::byte* input, const std::byte* output)
      : problem_(p),
        every_(every),
        cells_(p.n / every),
        input_(reinterpret_cast<std::uintptr_t>(input)),
        output_(reinterpret_cast<std::uintptr_t>(output)),
        size_(size_of(p.accumulator())) {
    for (std::size_t i = 0; i < cells_; ++i) nodes_.push_back({.elements = std::uint64_t{1} << i, .index = i});
  }

  void launch_begins(const std::string& kernel, const sim::Shape& shape) override {
    settle();
    launches_.push_back({kernel, shape.grid, rows_, shape.block});
    launch_floor_ = rows_;
    threads_.clear();
    shared_.clear();
    floors_.clear();
    block_rows_.clear();
  }
  void launch_ends() override { pending_.there = false; }  // of a thread that a fault ended

  void access(sim::Access access, std::uintptr_t at, std::size_t bytes, sim::SiteCode site) override {
    settle();
    const sim::Space space = sim::space_of(at);
    if (space == sim::Space::other) return;
    last_ = {true, launches_.size() - 1, sim::running->index, 0, sim::thread_now};
    const bool reads =
        access == sim::Access::read || access == sim::Access::atomic_read || access == sim::Access::atomic_update;
    const bool is_input = at - input_ < problem_.n * size_of(problem_.type);
    if (const std::size_t step = is_input ? size_of(problem_.type) : size_; reads && bytes % step == 0)
      for (std::size_t b = 0; b < bytes; b += step) take(at + b, is_input);
    if (access != sim::Access::read && access != sim::Access::atomic_read && bytes % size_ == 0)
      pending_ = {true,
                  access != sim::Access::write,
                  space,
                  at,
                  bytes,
                  site,
                  sim::running->index,
                  sim::thread_now,
                  reinterpret_cast<std::uintptr_t>(sim::running->shared)};
  }

  void warp_meets(const sim::BlockState& b, unsigned w, std::uint32_t mask, sim::WarpOperation operation,
                  const sim::Site& site) override {
    settle();
    if (operation == sim::WarpOperation::sync) {
      const std::size_t row = last_row(b.index, static_cast<int>(w));
      barriers_.push_back({launches_.size() - 1, b.index, row, static_cast<int>(w), to_string(site)});
      floors_[{b.index, static_cast<int>(w)}] = row;
      return;
    }
    const bool adds_up = operation == sim::WarpOperation::reduce_add;
    if (operation != sim::WarpOperation::shuffle && !adds_up) return;
    const sim::Warp& warp = b.warps[w];
    std::array<std::size_t, sim::warp_size> brought{};  // the node of each lane, from 1 up
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const unsigned l = std::countr_zero(m);
      if (const std::uint64_t set = decoded(warp.lanes[l].bits); set)
        brought[l] = make(b.index, w * sim::warp_size + l, set, Node::Place::register_, 0, to_string(site), false) + 1;
    }
    if (adds_up) {  // all get the sum, which the picture gives to the first
      const unsigned first = w * sim::warp_size + std::countr_zero(mask);
      auto& has = threads_[{b.index, first}];
      has.clear();
      for (const std::size_t node : brought)
        if (node) has.push_back(node - 1);
      const std::uint64_t set = decoded(warp.lanes[std::countr_zero(mask)].result);
      const std::size_t sum = set ? make(b.index, first, set, Node::Place::register_, 0, to_string(site), false) : none;
      for (std::uint32_t m = mask; m; m &= m - 1) {
        auto& lane = threads_[{b.index, w * sim::warp_size + std::countr_zero(m)}];
        lane.clear();
        if (sum != none) lane.push_back(sum);
      }
      return;
    }
    for (std::uint32_t m = mask; m; m &= m - 1) {
      const unsigned l = std::countr_zero(m), source = warp.lanes[l].source;
      if (mask >> source & 1 && brought[source])
        threads_[{b.index, w * sim::warp_size + l}].push_back(brought[source] - 1);
    }
  }

  void block_meets(const sim::BlockState& b, const sim::Site& site) override {
    settle();
    const std::size_t row = last_row(b.index, -1);
    barriers_.push_back({launches_.size() - 1, b.index, row, -1, to_string(site)});
    floors_[{b.index, -1}] = row;
  }
  void block_ends(const sim::BlockState& b) override {
    settle();
    const auto at = reinterpret_cast<std::uintptr_t>(b.shared);
    shared_.erase(shared_.lower_bound(at), shared_.lower_bound(at + sim::shared_span));  // the next block's, too
  }

  Tree tree(bool failed) const {
    Tree out;
    out.n = cells_;
    out.launches = launches_;
    out.fault = last_;
    out.fault.there = failed && last_.there;
    // Only what the result is made of: the others are the upper halves of shuffles, and copies that nobody needs.
    std::vector<bool> kept(nodes_.size());
    for (std::size_t i = 0; i < cells_; ++i) kept[i] = true;
    const auto at = global_.find(output_);
    std::vector<std::size_t> roots;
    if (at != global_.end())
      roots.push_back(at->second);
    else
      roots = left_to_the_host();
    if (failed)
      for (std::size_t i = cells_; i < nodes_.size(); ++i) roots.push_back(i);
    std::vector<std::size_t> open = roots;
    while (!open.empty()) {
      const std::size_t i = open.back();
      open.pop_back();
      if (kept[i] && i >= cells_) continue;
      kept[i] = true;
      open.insert(open.end(), nodes_[i].made_of.begin(), nodes_[i].made_of.end());
    }
    // A value that is only loaded again, to be handed on, is the one that it was loaded from.
    std::vector<std::size_t> same(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      const std::size_t from = node.made_of.size() == 1 ? node.made_of.front() : i;
      const bool is_loaded = node.place == Node::Place::register_ && from != i && from >= cells_;
      same[i] = is_loaded ? same[from] : i;
      if (is_loaded) kept[i] = false;
    }
    std::vector<std::size_t> place(nodes_.size());
    std::vector<std::size_t> used_rows;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (kept[i]) used_rows.push_back(nodes_[i].row);
    std::sort(used_rows.begin(), used_rows.end());
    used_rows.erase(std::unique(used_rows.begin(), used_rows.end()), used_rows.end());
    const auto compact = [&](std::size_t row) {  // the last used row up to it
      return static_cast<std::size_t>(std::upper_bound(used_rows.begin(), used_rows.end(), row) - used_rows.begin()) -
             1;
    };
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!kept[i]) continue;
      place[i] = out.nodes.size();
      Node node = nodes_[i];
      for (std::size_t& m : node.made_of) m = place[same[m]];
      node.row = compact(node.row);
      node.is_result = !failed && std::find(roots.begin(), roots.end(), i) != roots.end();
      out.nodes.push_back(std::move(node));
    }
    out.rows = used_rows.size();
    for (TreeLaunch& l : out.launches) l.first_row = compact(l.first_row);
    for (BarrierLine b : barriers_) {
      b.row = compact(b.row);
      bool before = false, after = false;
      for (const Node& node : out.nodes)
        if (node.place != Node::Place::input && node.launch == b.launch && node.block == b.block)
          (node.row <= b.row ? before : after) = true;
      const bool known = std::any_of(out.barriers.begin(), out.barriers.end(), [&](const BarrierLine& o) {
        return o.launch == b.launch && o.block == b.block && o.warp == b.warp && o.row == b.row;
      });
      if (before && after && !known) out.barriers.push_back(std::move(b));
    }
    out.fault.row = out.rows;
    return out;
  }

 private:
  using Thread = std::pair<std::size_t, unsigned>;
  struct Pending {
    bool there = false, by_atomic = false;
    sim::Space space{};
    std::uintptr_t at = 0;
    std::size_t bytes = 0;
    sim::SiteCode site = 0;
    std::size_t block = 0;
    unsigned thread = 0;
    std::uintptr_t shared = 0;
  };

  /// The elements in a value; 0 if it is no sum of some.
  std::uint64_t decoded(std::uint64_t bits) const {
    std::uint64_t whole = bits;
    if (is_floating(problem_.accumulator())) {
      double v;
      if (size_ == sizeof(double)) {
        std::memcpy(&v, &bits, sizeof v);
      } else {
        float f;
        std::memcpy(&f, &bits, sizeof f);
        v = f;
      }
      if (!(v > 0 && v < 0x1p63) || v != std::floor(v)) return 0;
      whole = static_cast<std::uint64_t>(v);
    } else if (size_ == 4) {
      whole &= 0xffffffffu;
    }
    if (problem_.operation == Operation::sum_of_squares) {
      std::uint64_t set = 0;
      for (unsigned i = 0; i < 32; ++i) {
        if (whole >> (2 * i + 1) & 1) return 0;
        set |= (whole >> (2 * i) & 1) << i;
      }
      whole = set;
    }
    return whole >> cells_ ? 0 : whole;
  }

  /// What nobody has added to more, from the largest sum down, each element once: lanes may also leave sums that nobody
  /// needs.
  std::vector<std::size_t> left_to_the_host() const {
    std::vector<bool> is_used(nodes_.size());
    for (const Node& node : nodes_)
      for (const std::size_t m : node.made_of) is_used[m] = true;
    std::vector<std::size_t> open, out;
    for (const auto& [place, node] : global_)
      if (!is_used[node]) open.push_back(node);
    std::sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
      const int in_a = std::popcount(nodes_[a].elements), in_b = std::popcount(nodes_[b].elements);
      return in_a != in_b ? in_a > in_b : a < b;
    });
    std::uint64_t covered = 0;
    for (const std::size_t node : open) {
      if (nodes_[node].elements & covered) continue;
      covered |= nodes_[node].elements;
      out.push_back(node);
    }
    return out;
  }

  void take(std::uintptr_t at, bool is_input) {
    auto& has = threads_[{sim::running->index, sim::thread_now}];
    if (is_input && !global_.contains(at)) {
      const std::size_t i = (at - input_) / size_of(problem_.type);
      if (i % every_ == 0) has.push_back(i / every_);
      return;
    }
    const std::uint64_t set = decoded(sim::peek(reinterpret_cast<const void*>(at), size_));
    if (const std::size_t* const node = latest(at); node && nodes_[*node].elements == set) has.push_back(*node);
  }

  /// Blocks of a cluster read each other's shared memory.
  const std::size_t* latest(std::uintptr_t at) const {
    if (const auto found = shared_.find(at); found != shared_.end()) return &found->second;
    const auto found = global_.find(at);
    return found == global_.end() ? nullptr : &found->second;
  }

  /// What the last store has stored.
  void settle() {
    if (!std::exchange(pending_.there, false)) return;
    const Pending& p = pending_;
    for (std::size_t b = 0; b < p.bytes; b += size_) {
      const std::uintptr_t at = p.at + b;
      const std::uint64_t set = decoded(sim::peek(reinterpret_cast<const void*>(at), size_));
      const std::size_t* const before = latest(at);
      if (before && nodes_[*before].elements == set) continue;
      const bool is_shared = p.space == sim::Space::shared;
      const std::size_t node = set ? make(p.block, p.thread, set, is_shared ? Node::Place::shared : Node::Place::global,
                                          is_shared ? (at - p.shared - sim::first_shared) / size_ : 0,
                                          to_string(sim::site_of(p.site)), p.by_atomic)
                                   : none;
      const auto keep = [&](auto& places, const auto& key) {
        if (node == none)
          places.erase(key);
        else
          places[key] = node;
      };
      if (is_shared)
        keep(shared_, at);
      else
        keep(global_, at);
    }
  }

  static constexpr std::size_t none = ~std::size_t{0};

  /// The node of these elements that the thread has now, made of what it has taken up; none if that does not give it.
  std::size_t make(std::size_t block, unsigned thread, std::uint64_t set, Node::Place place, std::size_t index,
                   std::string source, bool by_atomic) {
    auto& has = threads_[{block, thread}];
    std::uint64_t left = set;
    std::vector<std::size_t> made_of;
    for (std::size_t i = has.size(); i-- > 0 && left;) {
      const std::uint64_t part = nodes_[has[i]].elements;
      if ((part & left) != part) continue;
      left &= ~part;
      made_of.push_back(has[i]);
    }
    if (left) return none;
    if (place == Node::Place::register_ && made_of.size() == 1 && made_of.front() >= cells_ &&
        nodes_[made_of.front()].place == Node::Place::register_)
      return made_of.front();  // it has been seen there already
    std::size_t row =
        std::max({floor(block, -1), floor(block, static_cast<int>(thread / sim::warp_size)), launch_floor_});
    for (const std::size_t m : made_of) row = std::max(row, nodes_[m].row);
    ++row;
    rows_ = std::max(rows_, row);
    std::sort(made_of.begin(), made_of.end());
    for (const auto& key : {std::pair{block, -1}, std::pair{block, static_cast<int>(thread / sim::warp_size)}})
      block_rows_[key] = std::max(block_rows_[key], row);
    nodes_.push_back({place, set, launches_.size() - 1, block, thread, index, row, std::move(made_of),
                      std::move(source), by_atomic, false});
    has = {nodes_.size() - 1};
    return nodes_.size() - 1;
  }

  std::size_t floor(std::size_t block, int warp) const {
    const auto at = floors_.find({block, warp});
    return at == floors_.end() ? 0 : at->second;
  }
  /// The last row of a block (warp -1), or of one of its warps, and at least the one behind which it began.
  std::size_t last_row(std::size_t block, int warp) {
    return std::max({block_rows_[{block, warp}], floor(block, -1), launch_floor_});
  }

  Problem problem_;
  std::size_t every_, cells_;
  std::uintptr_t input_, output_;
  std::size_t size_;
  std::vector<Node> nodes_;
  std::vector<TreeLaunch> launches_;
  std::vector<BarrierLine> barriers_;
  std::size_t rows_ = 0, launch_floor_ = 0;
  std::map<Thread, std::vector<std::size_t>> threads_;  ///< what each has taken up since its last node
  std::map<std::uintptr_t, std::size_t> shared_, global_;                   ///< by address
  std::map<std::pair<std::size_t, int>, std::size_t> floors_, block_rows_;  ///< by block, and warp or -1
  Pending pending_;
  FaultMark last_;
};

TreeTracer::TreeTracer(const Problem& p, std::size_t every, const std::byte* input, const std::byte* output)
    : implementation_(std::make_unique<Implementation>(p, every, input, output)) {
  sim::follower = implementation_.get();
}
TreeTracer::~TreeTracer() { sim::follower = nullptr; }
Tree TreeTracer::tree(bool failed) const { return implementation_->tree(failed); }

}  // namespace reductio::inspect
