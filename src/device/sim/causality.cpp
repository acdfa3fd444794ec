// What happens before what by fences and atomics: what threads publish, what they acquire, and the search through both.

#include "device/sim/causality.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

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
}

const Causality::BlockHistory* Causality::history(std::uint32_t serial) const {
  const auto it = blocks_.find(serial);
  return it == blocks_.end() ? nullptr : &it->second;
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
    h.acquisitions.push_back({event(m, l.site), l.chain, l.read[k], s, own});
    l.acquired[k] = l.read[k];
    if (s == Scope::gpu) l.acquired[0] = std::max(l.acquired[0], l.read[k]);
  }
}

void Causality::fence(Scope scope) {
  BlockHistory& h = blocks_[running->serial];
  ThreadState& t = h.threads[thread_now];
  for (Look& l : t.looks) acquire(h, l, scope);
  if (scope != Scope::block) {
    Moment m = now();
    for (auto r = h.readings.rbegin(); r != h.readings.rend(); ++r) {
      if (!m.ordered(r->event)) continue;
      Look& l = look(t, r->chain);
      if (r->count <= l.fenced) continue;
      m.epoch = ++running->epoch;
      h.acquisitions.push_back({event(m, r->event.site), r->chain, r->count, Scope::gpu, fences});
      l.fenced = r->count;
    }
  }
  t.fence[0] = begin_epoch(h);
  if (scope == Scope::block) return;
  t.fence[1] = t.fence[0];
  h.fences.push_back(&fences_.emplace_back(Fence{t.fence[1]}));
}

bool Causality::Publication::comes_after(const Fence& f) const { return write.ordered(event(f.moment, 0)) != 0; }

std::uint32_t Causality::known(const Publication& p, Means by, const Accesses& a, std::uint64_t atomic_at) const {
  std::uint32_t lanes = 0;
  bool published = p.moment.serial != 0;  // the atomic itself, by a fence or a release before it
  if (by == own) {
    lanes = p.moment.ordered(a);
  } else {
    for (const Fence* const f : history(p.write.serial)->fences) {
      if (!p.comes_after(*f)) continue;
      published = true;
      if (a.lanes & ~lanes && a.epoch < f->moment.epoch) lanes |= f->moment.ordered(a);
    }
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
}

void Causality::atomic(Access kind, std::uint64_t location, MemoryOrder order, Scope scope, SiteCode site) {
  const auto found = locations_.find(location);
  Location* at = found == locations_.end() ? nullptr : &found->second;
  const bool acquires = order == MemoryOrder::acquire || order == MemoryOrder::acq_rel;
  const bool releases = order == MemoryOrder::release || order == MemoryOrder::acq_rel;

  if (kind != Access::atomic_store && at && at->chain) {
    BlockHistory& h = blocks_[running->serial];
    Look& l = look(h.threads[thread_now], at->chain);
    l.read[0] = at->chain->publications.size();
    l.site = site;
    if (scope != Scope::block && l.read[1] < l.read[0]) {
      l.read[1] = l.read[0];
      Moment m = now();
      m.epoch = running->epoch;
      h.readings.push_back({event(m, site), at->chain, l.read[1]});
    }
    if (acquires) acquire(h, l, scope);
  }
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
  if (!late_) return;
  Location& at = locations_[location];
  std::memcpy(&at.before, reinterpret_cast<const void*>(location), bytes);
  at.bytes = bytes;
  at.replaced = event(now(), 0);
  at.replaced.epoch = running->epoch;
}

const void* Causality::earlier(std::uint64_t location, std::size_t bytes) {
  if (!late_) return nullptr;
  const auto found = locations_.find(location);
  if (found == locations_.end()) return nullptr;
  Location& at = found->second;
  const Accesses& by = at.replaced;
  if (std::exchange(at.bytes, 0) != bytes || at.chain || by.serial == running->serial) return nullptr;
  if (by.epoch < running->grid_epoch || !unordered(now(), by, location)) return nullptr;
  return &at.before;
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
    for (const Means by : {own, fences})
      for (std::size_t i = theirs->publications.size(); left && i-- > 0;) {
        const Publication& p = *theirs->publications[i];
        const std::uint32_t lanes = left & known(p, by, a, atomic_at);
        if (!lanes) continue;
        for (const Acquisition& q : mine->acquisitions)
          if (q.by == by && q.chain == p.chain && p.index < q.count && reaches(p, here.serial, q.scope) &&
              here.ordered(q.event)) {
            left &= ~lanes;
            break;
          }
      }
  if (!left) return 0;

  // Else along any path.
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
    for (Fence* const f : history(p.write.serial)->fences)
      if (f->search != searches_ && p.comes_after(*f)) {
        f->search = searches_;
        paths.push_back(&f->moment);
      }
  };
  while (left && !paths.empty()) {
    const Moment& at = *paths.back();
    paths.pop_back();
    const BlockHistory* const h = history(at.serial);
    for (std::size_t i = 0; h && i < std::min(at.acquired, h->acquisitions.size()); ++i) {
      const Acquisition& q = h->acquisitions[i];
      if (!at.ordered(q.event)) continue;
      for (Publication* const p : h->publications)
        if (p->chain == q.chain && p->index < q.count) follow(*p, q.by);
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
  return h && std::any_of(h->acquisitions.begin(), h->acquisitions.end(), [&](const Acquisition& q) {
    return q.by == own && here.ordered(q.event) &&
           std::any_of(h->publications.begin(), h->publications.end(), [&](const Publication* p) {
             return p->chain == q.chain && p->index < q.count && p->moment.serial && p->moment.thread != here.thread;
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
    return block + " has published nothing since: no __threadfence() and then an atomic, and no store_release()";
  }
  for (const Means by : {own, fences})
    for (std::size_t i = 0; published[by] && mine && i < mine->acquisitions.size(); ++i)
      if (const Acquisition& q = mine->acquisitions[i]; q.by == by && q.chain == published[by]->chain &&
                                                        q.count > published[by]->index && q.scope != Scope::block)
        return "no barrier stands between thread " + thread_name(q.event.thread) +
               " of this block, which has learnt of that" + at(q.event.site) + ", and " + reader;
  const Publication& first = *(published[own] ? published[own] : published[fences]);
  if (mine)
    for (const auto& [thread, state] : mine->threads)
      for (const Look& l : state.looks) {
        if (l.chain != first.chain || l.read[0] <= first.index) continue;
        if (l.read[1] <= first.index) return "this block has learnt of that with block scope only" + at(l.site);
        return "this block has passed no __threadfence() since it learnt of that" + at(l.site) +
               ": a block that reads what others stored needs a fence of its own after its atomic";
      }
  return "no atomic or acquire of this block has read what " + block + " then published" + at(first.site);
}

std::uint64_t Causality::location(const Touch& t) {
  // No address is so high; a block's shared memory is nobody else's.
  return t.memory ? t.where : std::uint64_t{1} << 63 | std::uint64_t{running->serial} << 17 | t.where;
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
  const bool shared = offset < shared_span;
  return {kind, shared ? nullptr : owner_of(at), shared ? offset : at, bytes, code_of(site), scope};
}

template <Access kind>
void check(const volatile void* p, std::size_t bytes, Site site, Scope scope) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  if (at % bytes)
    stop_here(FaultKind::misaligned, site,
              "an atomic of " + std::to_string(bytes) + " bytes at an address that is not aligned to them");
  if (bytes == 4) on_access<kind, 4>(at, code_of(site), scope);
  else on_access<kind, 8>(at, code_of(site), scope);
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
                          Site site, bool changes) {
  if (!running) fail_outside();
  settle();
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const bool looks = kind == Access::atomic_read || !changes, global = is_global(p);
  if (looks) poll(at, site);
  else give_way();
  const void* const earlier = looks && global ? causality.earlier(at, bytes) : nullptr;
  check(kind, p, bytes, site, scope);
  on_atomic(touch_of(kind, p, bytes, site, scope), order);
  if (earlier) return earlier;
  if (!looks) note_progress();
  if (!looks && global) causality.replace(at, bytes);
  return const_cast<const void*>(p);
}

void check_access(Access kind, const volatile void* p, std::size_t bytes, Site site) {
  check(kind, p, bytes, site, Scope::gpu);
}
bool left_out_atomic(Site site) { return left_out(Synchronization::atomic_update, site); }
bool is_global(const volatile void* p) { return owner_of(reinterpret_cast<std::uintptr_t>(p)) != nullptr; }

void check_read_only(const volatile void* p, std::size_t bytes, Site site) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const Memory* const m = running ? owner_of(at) : nullptr;
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

void on_atomic(const Touch& t, MemoryOrder order) {
  causality.atomic(t.kind, Causality::location(t), order, t.scope, t.site);
}

}  // namespace reductio::sim
