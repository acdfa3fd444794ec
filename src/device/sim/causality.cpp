// What happens before what by fences and atomics: what threads publish, what they acquire, and the search through both.

#include "device/sim/causality.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "device/sim/block.h"
#include "device/sim/diagnosis.h"
#include "device/sim/mutation.h"
#include "device/sim/order.h"

namespace reductio::sim {

Causality causality;

std::uint32_t Moment::ordered(const Accesses& a) const {
  if (a.epoch < barrier_epoch) return a.lanes;
  if (a.thread / warp_size != thread / warp_size) return 0;
  if (a.epoch < warp_epoch) return a.lanes;
  std::uint32_t lanes = a.epoch < epoch ? a.lanes & 1u << thread % warp_size : 0;
  if (seen)
    for (std::uint32_t m = a.lanes & ~lanes; m; m &= m - 1) {
      const unsigned l = std::countr_zero(m);
      if (a.epoch < (*seen)[l]) lanes |= 1u << l;
    }
  return lanes;
}

Moment now() {
  const BlockState& b = *static_cast<const BlockState*>(running);
  const Warp& warp = b.warps[threadIdx.x / warp_size];
  constexpr auto all = std::numeric_limits<std::uint32_t>::max();
  return {.serial = b.serial,
          .thread = threadIdx.x,
          .epoch = all,
          .barrier_epoch = b.barrier_epoch,
          .warp_epoch = warp.full_epoch,
          .seen = warp.partial ? &(*warp.seen)[threadIdx.x % warp_size] : nullptr,
          .acquired = all};
}

/// What a single thread did at one moment.
static Accesses event(const Moment& m, SiteCode site) {
  return {.serial = m.serial, .epoch = m.epoch, .lanes = 1u << m.thread % warp_size, .thread = m.thread, .site = site};
}

void Causality::begin_launch() {
  blocks_.clear();
  locations_.clear();
  publications_.clear();
  chains_.clear();
  seen_.clear();
}

void Causality::end_block(std::uint32_t serial) {
  if (const auto it = blocks_.find(serial); it != blocks_.end()) it->second.threads.clear();
}

const Causality::BlockHistory* Causality::history(std::uint32_t serial) const {
  const auto it = blocks_.find(serial);
  return it == blocks_.end() ? nullptr : &it->second;
}

/// Now, to be kept: what the block does from here on is told from what it did before.
Moment Causality::begin_epoch(const BlockHistory& h) {
  Moment m = now();
  m.epoch = ++running->epoch;
  if (m.seen) m.seen = &seen_.emplace_back(*m.seen);
  m.acquired = h.acquisitions.size();
  return m;
}

Causality::Look& Causality::look(ThreadState& t, Chain* chain) {
  for (Look& l : t.looks)
    if (l.chain == chain) return l;
  return t.looks.emplace_back(Look{.chain = chain});
}

/// What the thread has read of a chain becomes known to it, if a fence or acquire of this scope lets it.
void Causality::acquire(BlockHistory& h, Look& l, Scope scope) {
  for (const Scope s : {Scope::gpu, Scope::block}) {
    const int k = s == Scope::gpu;
    if (s > scope || l.read[k] <= l.acquired[k]) continue;
    Moment m = now();
    m.epoch = ++running->epoch;
    h.acquisitions.push_back({event(m, l.site), l.chain, l.read[k], s});
    l.acquired[k] = l.read[k];
    if (s == Scope::gpu) l.acquired[0] = std::max(l.acquired[0], l.read[k]);
  }
}

void Causality::fence(Scope scope) {
  BlockHistory& h = blocks_[running->serial];
  ThreadState& t = h.threads[threadIdx.x];
  for (Look& l : t.looks) acquire(h, l, scope);
  t.fence[0] = begin_epoch(h);
  if (scope != Scope::block) t.fence[1] = t.fence[0];
}

std::uint32_t Causality::Publication::covers(const Accesses& a, std::uint64_t atomic_at) const {
  std::uint32_t lanes = moment.ordered(a);
  if (atomic_at == location && a.thread / warp_size == write.thread / warp_size && a.epoch <= write.epoch)
    lanes |= a.lanes & write.lanes;
  return lanes;
}

void Causality::publish(std::uint64_t location, BlockHistory& h, ThreadState& t, const Moment& m, Scope scope,
                        SiteCode site) {
  Location& at = locations_[location];
  if (!at.chain) at.chain = &chains_.emplace_back();
  const Publication*& last = look(t, at.chain).published[scope != Scope::block];
  Accesses write = event(m, site);
  write.epoch = running->epoch;
  if (last && last->moment.epoch == m.epoch && last->write.epoch == write.epoch) return;  // nothing that is not known
  last = &publications_.emplace_back(Publication{m, write, location, scope, at.chain, at.chain->publications.size()});
  at.chain->publications.push_back(&publications_.back());
  h.publications.push_back(&publications_.back());
}

void Causality::atomic(Access kind, std::uint64_t location, MemoryOrder order, Scope scope, SiteCode site) {
  const auto found = locations_.find(location);
  Location* at = found == locations_.end() ? nullptr : &found->second;
  const bool acquires = order == MemoryOrder::acquire || order == MemoryOrder::acq_rel;
  const bool releases = order == MemoryOrder::release || order == MemoryOrder::acq_rel;

  if (kind != Access::atomic_store && at && at->chain) {
    BlockHistory& h = blocks_[running->serial];
    Look& l = look(h.threads[threadIdx.x], at->chain);
    l.read[0] = at->chain->publications.size();
    if (scope != Scope::block) l.read[1] = l.read[0];
    l.site = site;
    if (acquires) acquire(h, l, scope);
  }
  if (kind == Access::atomic_read) return;

  BlockHistory& h = blocks_[running->serial];
  h.last_atomic = event(now(), site);
  h.last_atomic.epoch = running->epoch;
  if (kind == Access::atomic_store && at) at->chain = nullptr;
  const auto thread = h.threads.find(threadIdx.x);
  if (!releases && thread == h.threads.end()) return;
  ThreadState& t = thread == h.threads.end() ? h.threads[threadIdx.x] : thread->second;
  if (releases) {
    publish(location, h, t, begin_epoch(h), scope, site);
  } else if (t.fence[0].serial) {
    const bool whole_gpu = scope != Scope::block && t.fence[1].serial;
    if (whole_gpu) publish(location, h, t, t.fence[1], scope, site);
    if (!whole_gpu || t.fence[1].epoch < t.fence[0].epoch) publish(location, h, t, t.fence[0], Scope::block, site);
  }
}

void Causality::overwrite(std::uint64_t location) {
  locations_.erase(location);
}

std::vector<Accesses> Causality::other_atomics(std::uint64_t location) const {
  std::vector<Accesses> all;
  if (const auto it = locations_.find(location); it != locations_.end())
    for (const auto& [warp, some] : it->second.atomics) all.insert(all.end(), some.begin(), some.end());
  return all;
}

void Causality::keep_atomics(std::uint64_t location, const Accesses& a) {
  std::vector<Accesses>& of_warp = locations_[location].atomics[std::uint64_t{a.serial} << 5 | a.thread / warp_size];
  for (Accesses& earlier : of_warp) earlier.lanes &= ~a.lanes;
  std::erase_if(of_warp, [](const Accesses& earlier) { return !earlier.lanes; });
  of_warp.push_back(a);
}

std::uint32_t Causality::unordered(const Moment& here, const Accesses& a, std::uint64_t atomic_at) {
  std::uint32_t left = a.lanes;
  const BlockHistory* const mine = history(here.serial);
  if (!mine || mine->acquisitions.empty()) return left;

  // Mostly: published by the block that did it, and read from there.
  if (const BlockHistory* const theirs = history(a.serial))
    for (std::size_t i = theirs->publications.size(); left && i-- > 0;) {
      const Publication& p = *theirs->publications[i];
      if (!(left & p.covers(a, atomic_at))) continue;
      for (const Acquisition& q : mine->acquisitions)
        if (q.chain == p.chain && p.index < q.count && reaches(p, here.serial, q.scope) && here.ordered(q.event)) {
          left &= ~p.covers(a, atomic_at);
          break;
        }
    }
  if (!left) return 0;

  // Else along any path.
  ++searches_;
  std::vector<const Moment*> paths{&here};
  const auto follow = [&](Publication& p) {
    if (p.search == searches_) return;
    p.search = searches_;
    if (p.moment.serial == a.serial) left &= ~p.covers(a, atomic_at);
    paths.push_back(&p.moment);
  };
  while (left && !paths.empty()) {
    const Moment& at = *paths.back();
    paths.pop_back();
    const BlockHistory* const h = history(at.serial);
    for (std::size_t i = 0; h && i < std::min(at.acquired, h->acquisitions.size()); ++i) {
      const Acquisition& q = h->acquisitions[i];
      if (!at.ordered(q.event)) continue;
      for (Publication* const p : h->publications)
        if (p->chain == q.chain && p->index < q.count) follow(*p);
      if (q.scope == Scope::block) continue;
      if (q.chain->search != searches_) {
        q.chain->search = searches_;
        q.chain->searched = 0;
      }
      for (std::size_t& next = q.chain->searched; next < q.count; ++next)
        if (Publication& p = *q.chain->publications[next]; p.scope != Scope::block) follow(p);
    }
  }
  return left;
}

bool Causality::learnt_in_block(const Moment& here) const {
  const BlockHistory* const h = history(here.serial);
  return h && std::any_of(h->acquisitions.begin(), h->acquisitions.end(), [&](const Acquisition& q) {
    return here.ordered(q.event) && std::any_of(h->publications.begin(), h->publications.end(), [&](const Publication* p) {
             return p->chain == q.chain && p->index < q.count && p->moment.thread != here.thread;
           });
  });
}

std::string Causality::missing(const Moment& here, const Accesses& a, std::uint64_t atomic_at,
                               const std::string& block) const {
  const auto at = [](SiteCode site) { return site ? " (" + to_string(site_of(site)) + ")" : std::string(); };
  const std::string reader = "thread " + std::to_string(here.thread) + " of this block";
  const BlockHistory* const theirs = history(a.serial);
  const BlockHistory* const mine = history(here.serial);

  const Publication *published = nullptr, *within = nullptr, *unaware = nullptr;
  if (theirs)
    for (const Publication* const p : theirs->publications) {
      if (p->covers(a, atomic_at)) {
        const Publication*& first = p->scope == Scope::block ? within : published;
        if (!first) first = p;
      } else if (p->moment.epoch > a.epoch && p->moment.thread != a.thread && !unaware) {
        unaware = p;
      }
    }
  if (!published) {
    if (within) return block + " has published that with block scope only" + at(within->write.site);
    if (unaware)
      return "no barrier of " + block + " orders that before the __threadfence() or release of its thread " +
             std::to_string(unaware->moment.thread) + at(unaware->write.site);
    if (theirs && theirs->last_atomic.serial && theirs->last_atomic.epoch >= a.epoch) {
      const unsigned thread = theirs->last_atomic.thread;
      return "thread " + std::to_string(thread) + " of " + block +
             " has passed no __threadfence() between that and its atomic" + at(theirs->last_atomic.site) +
             (thread == a.thread ? "" : ", and another thread's fence publishes nothing there");
    }
    return block + " has published nothing since: no __threadfence() and then an atomic, and no store_release()";
  }
  if (mine) {
    for (const Acquisition& q : mine->acquisitions)
      if (q.chain == published->chain && q.count > published->index && q.scope != Scope::block)
        return "no barrier stands between thread " + std::to_string(q.event.thread) +
               " of this block, which has learnt of that" + at(q.event.site) + ", and " + reader;
    for (const auto& [thread, state] : mine->threads)
      for (const Look& l : state.looks) {
        if (l.chain != published->chain || l.read[0] <= published->index) continue;
        if (l.read[1] <= published->index)
          return "this block has learnt of that with block scope only" + at(l.site);
        return "this block has passed no __threadfence() since it learnt of that" + at(l.site);
      }
  }
  return "no atomic or acquire of this block has read what " + block + " then published" + at(published->write.site);
}

std::uint64_t Causality::location(const Touch& t) {
  // No address is so high; a block's shared memory is nobody else's.
  return t.view ? t.where : std::uint64_t{1} << 63 | std::uint64_t{running->serial} << 17 | t.where;
}

void fence(Scope scope, Site site) {
  if (left_out(Synchronization::fence, site)) return;
  give_way();
  if (!running) fail_outside();
  causality.fence(scope);
}

void on_atomic(const Touch& t, MemoryOrder order) {
  causality.atomic(t.kind, Causality::location(t), order, t.scope, t.site);
}

}  // namespace reductio::sim
