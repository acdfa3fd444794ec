#pragma once
/// Happens-before between accesses of one launch that no barrier orders: by fences and atomics, as docs/memory_model.md
/// states it. A thread publishes: its next atomic write after a fence, or a release, makes known all that happens
/// before that fence or release. A thread acquires: if it reads the written value and then passes a fence, or reads
/// with acquire, it knows all of that. Fences of GPU scope may also be other threads', if something orders one before
/// the write and one after the read. Blocks run on one OS thread, so accesses always have an order in time. This class
/// tells whether anything enforced it.

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/sim/access.h"

namespace reductio::sim {

struct BlockState;

/// A thread at some point of its run, and what barriers and warp barriers order before that point.
struct Moment {
  std::uint32_t serial = 0;  ///< of the block's run
  std::uint32_t thread = 0;
  // What was done in an older epoch than these comes before:
  std::uint32_t epoch = 0;          ///< by this thread
  std::uint32_t barrier_epoch = 0;  ///< by any thread of the block
  std::uint32_t warp_epoch = 0;     ///< by any lane of its warp
  const std::array<std::uint32_t, warp_size>* seen = nullptr;  ///< by each lane of its warp; may be null
  std::size_t acquired = 0;  ///< how many acquisitions the threads of its block had made

  /// The lanes of `a`, an access of the same block, that did it before.
  std::uint32_t ordered(const Accesses& a) const;
};

/// The running thread, now.
Moment now();

class Causality {
 public:
  /// `late`: atomic reads may give earlier values, earlier() says which.
  void begin_launch(bool late);
  /// All threads of these blocks, a cluster's, have met.
  void meet(const std::vector<BlockState*>&);
  /// All its threads have ended.
  void end_block(std::uint32_t serial);

  /// The running thread passes a fence.
  void fence(Scope);
  /// The running thread makes an atomic access to the word at `location`, after the race check. `late`: it reads
  /// earlier().
  void atomic(Access kind, std::uint64_t location, MemoryOrder, Scope, SiteCode, bool late);
  /// The running thread is about to replace the `bytes` here by an atomic: before atomic().
  void replace(std::uint64_t location, std::size_t bytes);
  /// What an atomic read may give in place of the newest value: the one before, if another block has replaced it and
  /// nothing orders that before the read. Once. Else null.
  const void* earlier(std::uint64_t location, std::size_t bytes);
  /// A plain write replaces the atomic's value here.
  void overwrite(std::uint64_t location);

  /// The lanes of `a`, an earlier access of this launch, that nothing orders before `here`. `atomic_at`: the location
  /// if `a` is atomic, else 0. A thread that has read what an atomic published comes after the atomic, too.
  std::uint32_t unordered(const Moment& here, const Accesses& a, std::uint64_t atomic_at);
  /// Why not: "block 3 has passed no __threadfence() between ...". `a` is an access of `block`, another one.
  std::string missing(const Moment& here, const Accesses& a, std::uint64_t atomic_at, const std::string& block) const;
  /// Has the thread learnt anything from another thread of its block?
  bool learnt_in_block(const Moment& here) const;

  /// Atomics at a location that its record has no room for: in blocks, warps or epochs other than the last one's.
  std::vector<Accesses> other_atomics(std::uint64_t location) const;
  void keep_atomics(std::uint64_t location, const Accesses&);

  static std::uint64_t location(const Touch&);

 private:
  struct Chain;
  /// How a publication becomes known. own: by the writer's fence or release and the reader's fence or acquire. fences:
  /// by any threads' fences of GPU scope, before the write and after the read.
  enum Means { own, fences, n_means };
  /// Of the GPU's scope.
  struct Fence {
    Moment moment;
    std::size_t number;        ///< among all blocks', in the order in which they were passed
    std::uint64_t search = 0;  ///< the last search that has been here
  };
  /// What an atomic write makes known: itself, and all that happens before `moment` or before a fence of its block that
  /// is ordered before the write.
  struct Publication {
    Moment moment;  ///< of the thread's own fence or release; serial 0: none
    Moment write;
    SiteCode site;
    std::uint64_t location;
    Scope scope;
    Chain* chain;
    std::size_t index;                   ///< in the chain
    std::uint64_t search[n_means] = {};  ///< the last search that has been here
    bool comes_after(const Fence&) const;
  };
  /// The publications that a reader of a location's newest value observes: an atomic store begins a chain, atomic
  /// updates extend it (a release sequence; in PTX, observation through read-modify-writes).
  struct Chain {
    std::vector<Publication*> publications;
    std::uint64_t search[n_means] = {};  ///< the last search that has been here, and how far
    std::size_t searched[n_means] = {};
    std::size_t acquired[n_means] = {};  ///< how far anybody has
  };
  /// A thread acquires all that was published in a chain so far.
  struct Acquisition {
    Accesses event;
    Chain* chain;
    std::size_t count;
    Scope scope;
    Means by;
  };
  /// An atomic read of GPU scope: later fences of any thread of the block make it an acquisition.
  struct Reading {
    Accesses event;
    Chain* chain;
    std::size_t count;
  };
  /// What a thread has read of a chain, and published there. Index 0: with block scope, 1: with the GPU's.
  struct Look {
    Chain* chain;
    std::size_t read[2] = {}, acquired[2] = {};
    std::size_t fenced = 0;                ///< acquired by fences after any thread's read
    const Publication* published[2] = {};  ///< the thread's last there
    SiteCode site = 0;                     ///< of the last read
    bool fresh = false;                    ///< in ThreadState::fresh
  };
  struct ThreadState {
    Moment fence[2];  ///< the last; serial 0: none
    std::unordered_map<const Chain*, Look> looks;
    std::vector<Look*> fresh;   ///< read since they were acquired
    std::size_t fenced_to = 0;  ///< the block's readings that the thread's fences have all made acquisitions
  };
  /// What of another block's warp a thread is known to come after.
  struct Known {
    std::uint32_t epoch = 0, lanes = 0;
  };
  /// How far back from a thread a search has been.
  struct Visit {
    std::uint64_t search = 0;
    std::uint32_t epoch = 0;
  };
  /// All in the order of time.
  struct BlockHistory {
    std::vector<Publication*> publications;
    std::unordered_map<const Chain*, std::vector<Publication*>> by_chain;  // the same
    std::vector<Acquisition> acquisitions;
    std::vector<Fence*> fences;
    std::vector<Reading> readings;
    std::unordered_map<std::uint32_t, ThreadState> threads;  // of those that fence, publish or read a chain
    std::unordered_map<std::uint64_t, Known> known;          // by thread, block and warp
    std::vector<Visit> visits;                               // by thread
    Visit all_fences;                                        // that search has been at all of older epochs
    Accesses last_atomic;                                    // write
  };
  struct Location {
    Chain* chain = nullptr;
    std::unordered_map<std::uint64_t, std::vector<Accesses>> atomics;  // by block and warp; no lane twice
    // The value that the last atomic write replaced, by `replaced`, and what its readers observe.
    std::uint64_t before = 0;
    std::size_t bytes = 0;  // of `before`; 0: reads give the newest value
    Accesses replaced{};
    Chain* chain_before = nullptr;
    std::size_t count_before = 0;
  };

  static void acquire(BlockHistory&, const Acquisition&);
  Moment kept(Moment);
  Moment begin_epoch(const BlockHistory&);
  void publish(std::uint64_t location, BlockHistory&, ThreadState&, const Moment&, Scope, SiteCode);
  static void acquire(BlockHistory&, Look&, Scope);
  static Look& look(ThreadState&, Chain*);
  /// The lanes of `a` that are left when what `here` has read of the block that did it is taken off.
  std::uint32_t not_told(const BlockHistory& mine, const Moment& here, const Accesses& a,
                         std::uint64_t atomic_at) const;
  /// Whether anybody has read what makes any of `a` known.
  bool has_told(const Accesses& a, std::uint64_t atomic_at) const;
  /// The same with what it has read of others that had read of it.
  std::uint32_t not_heard(const Moment& here, const Accesses& a, std::uint64_t atomic_at);
  /// Whether a fence after `a`, of its block, came before one that is ordered before `here`.
  bool fences_between(const Accesses& a, const Moment& here) const;
  /// The lanes of `a`, an access of the publishing block, that become known by these means.
  std::uint32_t known(const Publication&, Means, const Accesses& a, std::uint64_t atomic_at) const;
  static bool reaches(const Publication& p, std::uint32_t serial, Scope reader) {
    return p.write.serial == serial || (p.scope != Scope::block && reader != Scope::block);
  }
  static std::vector<Fence*>::const_iterator fences_from(const BlockHistory&, std::uint32_t epoch);
  const BlockHistory* history(std::uint32_t serial) const;
  BlockHistory* history(std::uint32_t serial);

  std::unordered_map<std::uint32_t, BlockHistory> blocks_;  // by serial
  std::unordered_map<std::uint64_t, Location> locations_;
  // Pointed to.
  std::deque<Publication> publications_;
  std::deque<Fence> fences_;
  std::deque<Chain> chains_;
  std::deque<std::array<std::uint32_t, warp_size>> seen_;
  std::uint64_t searches_ = 0;
  bool late_ = false;
};

extern Causality causality;

}  // namespace reductio::sim
