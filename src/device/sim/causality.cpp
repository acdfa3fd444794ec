// What happens before what by fences and atomics: what threads publish, what they acquire, and the search through both.

#include "device/sim/causality.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "device/sim/block.h"
#include "device/sim/diagnosis.h"
#include "device/sim/follower.h"
#include "device/sim/mutation.h"
#include "device/sim/order.h"
#include "device/sim/runtime.h"
#include "device/sim/scheduler.h"

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
  const Warp& warp = b.warps[thread_now / warp_size];
  constexpr auto all = std::numeric_limits<std::uint32_t>::max();
  return {.serial = b.serial,
          .thread = thread_now,
          .epoch = all,
          .barrier_epoch = b.barrier_epoch,
          .warp_epoch = warp.full_epoch,
          .seen = warp.partial ? &(*warp.seen)[thread_now % warp_size] : nullptr,
          .acquired = all};
}

/// What a single thread did at one moment.
static Accesses event(const Moment& m, SiteCode site) {
  return {.serial = m.serial, .epoch = m.epoch, .lanes = 1u << m.thread % warp_size, .thread = m.thread, .site = site};
}

void Causality::begin_launch(bool late) {
  late_ = late;
  blocks_.clear();
  locations_.clear();
  publications_.clear();
  fences_.clear();
  chains_.clear();
  seen_.clear();
}

void Causality::end_block(std::uint32_t serial) {
  const auto it = blocks_.find(serial);
  if (it == blocks_.end()) return;
  it->second.threads.clear();
  it->second.readings.clear();
  it->second.known.clear();
}

const Causality::BlockHistory* Causality::history(std::uint32_t serial) const {
  const auto it = blocks_.find(serial);
  return it == blocks_.end() ? nullptr : &it->second;
}
Causality::BlockHistory* Causality::history(std::uint32_t serial) {
  return const_cast<BlockHistory*>(std::as_const(*this).history(serial));
}

Moment Causality::kept(Moment m) {
  if (m.seen) m.seen = &seen_.emplace_back(*m.seen);
  return m;
}

/// Now, to be kept: what the block does from here on is told from what it did before.
Moment Causality::begin_epoch(const BlockHistory& h) {
  Moment m = kept(now());
  m.epoch = ++running->epoch;
  m.acquired = h.acquisitions.size();
  return m;
}

Causality::Look& Causality::look(ThreadState& t, Chain* chain) {
  return t.looks.try_emplace(chain, Look{.chain = chain}).first->second;
}

void Causality::acquire(BlockHistory& h, const Acquisition& q) {
  h.acquisitions.push_back(q);
  q.chain->acquired[q.by] = std::max(q.chain->acquired[q.by], q.count);
}

/// What the thread has read of a chain becomes known to it, if a fence or acquire of this scope lets it.
void Causality::acquire(BlockHistory& h, Look& l, Scope scope) {
  for (const Scope s : {Scope::gpu, Scope::block}) {
    const int k = s == Scope::gpu;
    if (s > scope || l.read[k] <= l.acquired[k]) continue;
    Moment m = now();
    m.epoch = ++running->epoch;
    acquire(h, {event(m, l.site), l.chain, l.read[k], s, own});
    l.acquired[k] = l.read[k];
    if (s == Scope::gpu) l.acquired[0] = std::max(l.acquired[0], l.read[k]);
  }
}

void Causality::fence(Scope scope) {
  BlockHistory& h = blocks_[running->serial];
  ThreadState& t = h.threads[thread_now];
  std::erase_if(t.fresh, [&](Look* l) {
    acquire(h, *l, scope);
    l->fresh = l->acquired[0] < l->read[0] || l->acquired[1] < l->read[1];
    return !l->fresh;
  });
  if (scope != Scope::block) {
    Moment m = now();
    std::size_t first_left = h.readings.size();
    for (std::size_t i = h.readings.size(); i-- > t.fenced_to;) {
      const Reading& r = h.readings[i];
      if (!m.ordered(r.event)) {
        first_left = i;
        continue;
      }
      Look& l = look(t, r.chain);
      if (r.count <= l.fenced) continue;
      m.epoch = ++running->epoch;
      acquire(h, {event(m, r.event.site), r.chain, r.count, Scope::gpu, fences});
      l.fenced = r.count;
    }
    t.fenced_to = first_left;
  }
  t.fence[0] = begin_epoch(h);
  if (scope == Scope::block) return;
  t.fence[1] = t.fence[0];
  h.fences.push_back(&fences_.emplace_back(Fence{t.fence[1], fences_.size()}));
}

bool Causality::Publication::comes_after(const Fence& f) const { return write.ordered(event(f.moment, 0)) != 0; }

/// Those that came after this epoch of the block.
std::vector<Causality::Fence*>::const_iterator Causality::fences_from(const BlockHistory& h, std::uint32_t epoch) {
  return std::partition_point(h.fences.begin(), h.fences.end(),
                              [&](const Fence* f) { return f->moment.epoch <= epoch; });
}

std::uint32_t Causality::known(const Publication& p, Means by, const Accesses& a, std::uint64_t atomic_at) const {
  std::uint32_t lanes = 0;
  bool published = p.moment.serial != 0;  // the atomic itself, by a fence or a release before it
  if (by == own) {
    lanes = p.moment.ordered(a);
  } else {
    const BlockHistory& h = *history(p.write.serial);
    for (auto f = fences_from(h, a.epoch);
         f != h.fences.end() && (*f)->moment.epoch < p.write.epoch && (a.lanes & ~lanes); ++f)
      if (p.comes_after(**f)) lanes |= (*f)->moment.ordered(a);
    published |= atomic_at == p.location &&
                 std::any_of(h.fences.begin(), h.fences.end(), [&](const Fence* f) { return p.comes_after(*f); });
  }
  if (published && atomic_at == p.location && a.thread / warp_size == p.write.thread / warp_size &&
      a.epoch < p.write.epoch)
    lanes |= a.lanes & 1u << p.write.thread % warp_size;
  return lanes;
}

void Causality::publish(std::uint64_t location, BlockHistory& h, ThreadState& t, const Moment& m, Scope scope,
                        SiteCode site) {
  Location& at = locations_[location];
  if (!at.chain) at.chain = &chains_.emplace_back();
  const Publication*& last = look(t, at.chain).published[scope != Scope::block];
  Moment write = now();
  write.epoch = running->epoch + 1;
  if (last && last->moment.epoch == m.epoch && last->write.epoch == write.epoch) return;  // nothing that is not known
  last = &publications_.emplace_back(
      Publication{m, kept(write), site, location, scope, at.chain, at.chain->publications.size()});
  at.chain->publications.push_back(&publications_.back());
  h.publications.push_back(&publications_.back());
  h.by_chain[at.chain].push_back(&publications_.back());
}

/// Each publishes by the barrier, and then acquires what all have.
void Causality::meet(const std::vector<BlockState*>& blocks) {
  Chain& chain = chains_.emplace_back();
  for (BlockState* const b : blocks) {
    BlockHistory& h = blocks_[b->serial];
    Moment m{.serial = b->serial, .acquired = h.acquisitions.size()};
    m.epoch = m.barrier_epoch = m.warp_epoch = ++b->epoch;
    constexpr std::uint64_t nowhere = ~std::uint64_t{0};
    Publication& p =
        publications_.emplace_back(Publication{m, m, 0, nowhere, Scope::gpu, &chain, chain.publications.size()});
    chain.publications.push_back(&p);
    h.publications.push_back(&p);
    h.by_chain[&chain].push_back(&p);
  }
  for (BlockState* const b : blocks) {
    const Accesses all{.serial = b->serial, .epoch = b->epoch, .lanes = ~0u};
    acquire(blocks_[b->serial], {all, &chain, chain.publications.size(), Scope::gpu, own});
    b->barrier_epoch = ++b->epoch;
  }
}

void Causality::atomic(Access kind, std::uint64_t location, MemoryOrder order, Scope scope, SiteCode site, bool late) {
  const auto found = locations_.find(location);
  Location* at = found == locations_.end() ? nullptr : &found->second;
  const bool acquires = order == MemoryOrder::acquire || order == MemoryOrder::acq_rel;
  const bool releases = order == MemoryOrder::release || order == MemoryOrder::acq_rel;

  Chain* const chain = !at || kind == Access::atomic_store ? nullptr : late ? at->chain_before : at->chain;
  if (chain) {
    BlockHistory& h = blocks_[running->serial];
    ThreadState& t = h.threads[thread_now];
    Look& l = look(t, chain);
    const std::size_t count = late ? at->count_before : chain->publications.size();
    l.read[0] = std::max(l.read[0], count);
    l.site = site;
    if (scope != Scope::block && l.read[1] < count) {
      l.read[1] = count;
      Moment m = now();
      m.epoch = running->epoch;
      h.readings.push_back({event(m, site), chain, l.read[1]});
    }
    if (!std::exchange(l.fresh, true)) t.fresh.push_back(&l);
    if (acquires) acquire(h, l, scope);
  }
  if (late) return;
  if (kind == Access::atomic_read) return;

  BlockHistory& h = blocks_[running->serial];
  h.last_atomic = event(now(), site);
  h.last_atomic.epoch = running->epoch;
  if (kind == Access::atomic_store && at) at->chain = nullptr;
  const auto thread = h.threads.find(thread_now);
  if (!releases && thread == h.threads.end() && h.fences.empty()) return;
  ThreadState& t = thread == h.threads.end() ? h.threads[thread_now] : thread->second;
  if (releases) {
    publish(location, h, t, begin_epoch(h), scope, site);
    return;
  }
  const bool whole_gpu = scope != Scope::block && !h.fences.empty();
  if (whole_gpu) publish(location, h, t, t.fence[1], scope, site);
  if (whole_gpu ? t.fence[1].epoch < t.fence[0].epoch : t.fence[0].serial != 0)
    publish(location, h, t, t.fence[0], Scope::block, site);
}

void Causality::overwrite(std::uint64_t location) {
  locations_.erase(location);
}

void Causality::replace(std::uint64_t location, std::size_t bytes) {
  // Of an array of atomics each word would take many times its size.
  constexpr std::size_t most = 4096;
  if (!late_ || (locations_.size() >= most && !locations_.contains(location))) return;
  Location& at = locations_[location];
  std::memcpy(&at.before, reinterpret_cast<const void*>(location), bytes);
  at.bytes = bytes;
  at.replaced = event(now(), 0);
  at.replaced.epoch = running->epoch;
  at.chain_before = at.chain;
  at.count_before = at.chain ? at.chain->publications.size() : 0;
}

const void* Causality::earlier(std::uint64_t location, std::size_t bytes) {
  if (!late_) return nullptr;
  const auto found = locations_.find(location);
  if (found == locations_.end()) return nullptr;
  Location& at = found->second;
  const Accesses& by = at.replaced;
  if (std::exchange(at.bytes, 0) != bytes || by.serial == running->serial) return nullptr;
  const Moment here = now();
  if (by.epoch < running->grid_epoch || fences_between(by, here)) return nullptr;
  if (has_told(by, location) && !unordered(here, by, location)) return nullptr;  // mostly nobody knows: no search
  return &at.before;
}

/// PTX: of two fences, here those of GPU scope, the one that is passed first synchronizes with the other.
bool Causality::fences_between(const Accesses& a, const Moment& here) const {
  const BlockHistory* const theirs = history(a.serial);
  const BlockHistory* const mine = history(here.serial);
  if (!theirs || !mine) return false;
  const auto first = std::find_if(fences_from(*theirs, a.epoch), theirs->fences.end(),
                                  [&](const Fence* f) { return f->moment.ordered(a) != 0; });
  const auto last = std::find_if(mine->fences.rbegin(), mine->fences.rend(),
                                 [&](const Fence* f) { return here.ordered(event(f->moment, 0)) != 0; });
  return first != theirs->fences.end() && last != mine->fences.rend() && (*first)->number < (*last)->number;
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
  BlockHistory* const mine = history(here.serial);
  if (!mine || mine->acquisitions.empty()) return a.lanes;
  // What a thread comes after once, it comes after for ever, and after all that was before it.
  Known& known_now =
      mine->known[std::uint64_t{here.thread} << 37 | std::uint64_t{a.serial} << 5 | a.thread / warp_size];
  const bool is_known = a.epoch <= known_now.epoch;
  Accesses left = a;
  if (is_known) left.lanes &= ~known_now.lanes;
  if (left.lanes) left.lanes = not_told(*mine, here, left, atomic_at);
  if (left.lanes) left.lanes = not_heard(here, left, atomic_at);
  if (!left.lanes && !atomic_at) {
    if (!is_known)
      known_now = {a.epoch, a.lanes};
    else if (a.epoch == known_now.epoch)
      known_now.lanes |= a.lanes;
  }
  return left.lanes;
}

/// How many of a block's publications in a chain are among the chain's first `count`.
static std::size_t count_below(const auto& publications, std::size_t count) {
  const auto end =
      std::partition_point(publications.begin(), publications.end(), [&](const auto* p) { return p->index < count; });
  return static_cast<std::size_t>(end - publications.begin());
}

std::uint32_t Causality::not_told(const BlockHistory& mine, const Moment& here, const Accesses& a,
                                  std::uint64_t atomic_at) const {
  std::uint32_t left = a.lanes;
  const BlockHistory* const theirs = history(a.serial);
  if (!theirs) return left;
  // The last that was read says most.
  for (auto q = mine.acquisitions.rbegin(); q != mine.acquisitions.rend(); ++q) {
    const auto in_chain = theirs->by_chain.find(q->chain);
    if (in_chain == theirs->by_chain.end() || !here.ordered(q->event)) continue;
    for (std::size_t i = count_below(in_chain->second, q->count); i-- > 0;) {
      const Publication& p = *in_chain->second[i];
      if (reaches(p, here.serial, q->scope)) left &= ~known(p, q->by, a, atomic_at);
      if (!left) return 0;
    }
  }
  return left;
}

bool Causality::has_told(const Accesses& a, std::uint64_t atomic_at) const {
  const BlockHistory* const theirs = history(a.serial);
  if (!theirs) return false;
  for (auto p = theirs->publications.rbegin(); p != theirs->publications.rend() && (*p)->write.epoch > a.epoch; ++p)
    for (const Means by : {own, fences})
      if ((*p)->chain->acquired[by] > (*p)->index && known(**p, by, a, atomic_at)) return true;
  return false;
}

std::uint32_t Causality::not_heard(const Moment& here, const Accesses& a, std::uint64_t atomic_at) {
  std::uint32_t left = a.lanes;
  ++searches_;
  std::vector<const Moment*> paths{&here};
  const auto follow = [&](Publication& p, Means by) {
    if (p.search[by] == searches_) return;
    p.search[by] = searches_;
    if (p.write.serial == a.serial) left &= ~known(p, by, a, atomic_at);
    if (by == own) {
      paths.push_back(&p.moment);
      return;
    }
    BlockHistory& h = *history(p.write.serial);
    const bool some = h.all_fences.search == searches_;
    for (auto f = some ? fences_from(h, h.all_fences.epoch) : h.fences.cbegin();
         f != h.fences.cend() && (*f)->moment.epoch < p.write.epoch; ++f)
      if ((*f)->search != searches_ && p.comes_after(**f)) {
        (*f)->search = searches_;
        paths.push_back(&(*f)->moment);
      }
    // All that were passed before its last barrier.
    if (p.write.barrier_epoch > 0 && (!some || h.all_fences.epoch < p.write.barrier_epoch - 1))
      h.all_fences = {searches_, p.write.barrier_epoch - 1};
  };
  while (left && !paths.empty()) {
    const Moment& at = *paths.back();
    paths.pop_back();
    BlockHistory* const h = history(at.serial);
    if (!h) continue;
    if (h->visits.size() <= at.thread) h->visits.resize(at.thread + 1);
    Visit& visit = h->visits[at.thread];
    if (visit.search == searches_ && visit.epoch >= at.epoch) continue;  // what is before comes before
    visit = {searches_, at.epoch};
    for (std::size_t i = std::min(at.acquired, h->acquisitions.size()); i-- > 0;) {
      const Acquisition& q = h->acquisitions[i];
      if (!at.ordered(q.event)) continue;
      if (const auto in_chain = h->by_chain.find(q.chain); in_chain != h->by_chain.end())
        for (std::size_t k = 0, end = count_below(in_chain->second, q.count); k < end; ++k)
          follow(*in_chain->second[k], q.by);
      if (q.scope == Scope::block) continue;
      if (q.chain->search[q.by] != searches_) {
        q.chain->search[q.by] = searches_;
        q.chain->searched[q.by] = 0;
      }
      for (std::size_t& next = q.chain->searched[q.by]; next < q.count; ++next)
        if (Publication& p = *q.chain->publications[next]; p.scope != Scope::block) follow(p, q.by);
    }
  }
  return left;
}

bool Causality::learnt_in_block(const Moment& here) const {
  const BlockHistory* const h = history(here.serial);
  return h && std::any_of(h->acquisitions.rbegin(), h->acquisitions.rend(), [&](const Acquisition& q) {
           const auto in_chain = h->by_chain.find(q.chain);
           return q.by == own && in_chain != h->by_chain.end() && here.ordered(q.event) &&
                  std::any_of(in_chain->second.begin(), in_chain->second.end(), [&](const Publication* p) {
                    return p->index < q.count && p->moment.serial && p->moment.thread != here.thread;
                  });
         });
}

std::string Causality::missing(const Moment& here, const Accesses& a, std::uint64_t atomic_at,
                               const std::string& block) const {
  const auto at = [](SiteCode site) { return site ? " (" + to_string(site_of(site)) + ")" : std::string(); };
  const std::string reader = "thread " + thread_name(here.thread) + " of this block";
  const BlockHistory* const theirs = history(a.serial);
  const BlockHistory* const mine = history(here.serial);

  const Publication *published[n_means] = {}, *within = nullptr, *unaware = nullptr;
  const Fence* fenced = nullptr;
  if (theirs) {
    for (const Publication* const p : theirs->publications) {
      bool covers = false;
      for (const Means by : {own, fences}) {
        if (!known(*p, by, a, atomic_at)) continue;
        covers = true;
        const Publication*& first = p->scope == Scope::block ? within : published[by];
        if (!first) first = p;
      }
      if (!covers && p->moment.epoch > a.epoch && p->moment.thread != a.thread && !unaware) unaware = p;
    }
    for (const Fence* const f : theirs->fences)
      if (f->moment.ordered(a)) fenced = f;
  }
  if (!published[own] && !published[fences]) {
    if (within) return block + " has published that with block scope only" + at(within->site);
    const bool atomic_since = theirs && theirs->last_atomic.serial && theirs->last_atomic.epoch >= a.epoch;
    const std::string thread = atomic_since ? "thread " + thread_name(theirs->last_atomic.thread) : "";
    if (fenced && atomic_since && theirs->last_atomic.epoch >= fenced->moment.epoch)
      return "no barrier of " + block + " stands between the __threadfence() of its thread " +
             thread_name(fenced->moment.thread) + " and the atomic of its " + thread + at(theirs->last_atomic.site);
    if (unaware)
      return "no barrier of " + block + " orders that before the __threadfence() or release of its thread " +
             thread_name(unaware->moment.thread) + at(unaware->site);
    if (atomic_since)
      return thread + " of " + block + " has passed no __threadfence() between that and its atomic" +
             at(theirs->last_atomic.site);
    return block + " has published nothing since: no __threadfence() and then an atomic, and no " +
           in_words("store_release()", "release by cuda::atomic_ref");
  }
  for (const Means by : {own, fences})
    for (std::size_t i = 0; published[by] && mine && i < mine->acquisitions.size(); ++i)
      if (const Acquisition& q = mine->acquisitions[i]; q.by == by && q.chain == published[by]->chain &&
                                                        q.count > published[by]->index && q.scope != Scope::block)
        return "no barrier stands between thread " + thread_name(q.event.thread) +
               " of this block, which has acquired that" + at(q.event.site) + ", and " + reader;
  const Publication& first = *(published[own] ? published[own] : published[fences]);
  if (mine)
    for (const auto& [thread, state] : mine->threads)
      for (const auto& [chain, l] : state.looks) {
        if (chain != first.chain || l.read[0] <= first.index) continue;
        if (l.read[1] <= first.index) return "this block has acquired that with block scope only" + at(l.site);
        return "this block has passed no __threadfence() since it acquired that" + at(l.site) +
               ": a block that reads what others stored needs a fence of its own after its atomic";
      }
  // It may have read an atomic that came between, as a lock's.
  for (const Publication* const p : theirs->publications) {
    if (p->write.epoch <= a.epoch || known(*p, own, a, atomic_at)) continue;
    const bool read = mine && std::any_of(mine->threads.begin(), mine->threads.end(), [&](const auto& of_thread) {
                        const auto l = of_thread.second.looks.find(p->chain);
                        return l != of_thread.second.looks.end() && l->second.read[1] > p->index;
                      });
    if (read)
      return "thread " + thread_name(p->write.thread) + " of " + block +
             " has passed no __threadfence() between that and its atomic" + at(p->site);
  }
  return "no atomic or acquire of this block has read what " + block + " then published" + at(first.site);
}

std::uint64_t Causality::location(const Touch& t) {
  // No address is so high; a block's shared memory is nobody else's.
  return t.memory ? t.where : std::uint64_t{1} << 63 | std::uint64_t{t.owner->serial} << 17 | t.where;
}

void fence(Scope scope, Site site) {
  if (!running) fail_outside();
  settle();
  if (left_out(Synchronization::fence, site)) return;
  give_way();
  causality.fence(scope);
}

namespace {

Touch touch_of(Access kind, const volatile void* p, std::size_t bytes, Site site, Scope scope) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const std::uintptr_t offset = at - reinterpret_cast<std::uintptr_t>(running->shared);
  if (offset < shared_span) return {kind, nullptr, offset, bytes, code_of(site), scope};
  if (Memory* const m = memory_at(at)) return {kind, m, at, bytes, code_of(site), scope};
  Block* const peer = peer_at(kind, at, bytes, code_of(site));  // it has passed the checks
  return {kind, nullptr, at - reinterpret_cast<std::uintptr_t>(peer->shared), bytes, code_of(site), scope, peer};
}

template <Access kind>
void check(const volatile void* p, std::size_t bytes, Site site, Scope scope) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  check_alignment(p, bytes, site);
  if (bytes == 4) on_access<kind, 4>(at, code_of(site), scope);
  else if (bytes == 8) on_access<kind, 8>(at, code_of(site), scope);
  else on_bytes(kind, at, bytes, code_of(site), scope);
}

void check(Access kind, const volatile void* p, std::size_t bytes, Site site, Scope scope) {
  if (!running) fail_outside();
  settle();
  switch (kind) {
    case Access::read: return check<Access::read>(p, bytes, site, scope);
    case Access::write: return check<Access::write>(p, bytes, site, scope);
    case Access::atomic_read: return check<Access::atomic_read>(p, bytes, site, scope);
    case Access::atomic_store: return check<Access::atomic_store>(p, bytes, site, scope);
    case Access::atomic_update: return check<Access::atomic_update>(p, bytes, site, scope);
  }
}

}  // namespace

const void* atomic_access(Access kind, const volatile void* p, std::size_t bytes, MemoryOrder order, Scope scope,
                          Site site, Effect effect) {
  if (!running) fail_outside();
  settle();
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const bool looks = effect == Effect::looks, stays = looks || effect == Effect::keeps, global = is_global(p);
  if (stays)
    poll(at, looks, site);
  else give_way();
  const void* const earlier = looks && global ? causality.earlier(at, bytes) : nullptr;
  const bool fills = kind == Access::atomic_update && effect == Effect::replaces && is_unset(p, bytes);
  if (follower) [[unlikely]] follower->access(kind, at, bytes, code_of(site));
  check(fills ? Access::atomic_store : kind, p, bytes, site, scope);
  if (fills) {
    poke(const_cast<void*>(const_cast<const void*>(p)), bytes, ~std::uint64_t{0});
    scheduler().note_unset_exchange(site);
  }
  if (!stays && global) causality.replace(at, bytes);
  causality.atomic(kind, Causality::location(touch_of(kind, p, bytes, site, scope)), order, scope, code_of(site),
                   earlier != nullptr);
  if (earlier) return earlier;
  if (!stays) note_progress();
  return const_cast<const void*>(p);
}

void check_alignment(const volatile void* p, std::size_t bytes, Site site) {
  if (reinterpret_cast<std::uintptr_t>(p) % bytes)
    stop_here(FaultKind::misaligned, site,
              "an atomic of " + std::to_string(bytes) + " bytes at an address that is not aligned to them");
}
void check_access(Access kind, const volatile void* p, std::size_t bytes, Site site) {
  check(kind, p, bytes, site, Scope::gpu);
}
bool left_out_atomic(Site site) { return left_out(Synchronization::atomic_update, site); }
bool is_global(const volatile void* p) { return memory_at(reinterpret_cast<std::uintptr_t>(p)) != nullptr; }
bool is_shared(const volatile void* p) {
  return running && reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(running->shared) <
                        shared_span;
}

void check_read_only(const volatile void* p, std::size_t bytes, Site site) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const Memory* const m = running ? memory_at(at) : nullptr;
  if (m) on_constant_load(*m, at, bytes, code_of(site));
}

std::uint64_t peek(const volatile void* p, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, const_cast<const void*>(p), bytes);
  return value;
}
void poke(volatile void* p, std::size_t bytes, std::uint64_t value) {
  std::memcpy(const_cast<void*>(p), &value, bytes);
}

}  // namespace reductio::sim
