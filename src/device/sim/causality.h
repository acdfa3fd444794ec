#pragma once
/// What happens before what, of the accesses of one launch, where no barrier says so: by fences and atomics, as
/// docs/memory_model.md states it. A thread that has passed a fence, or releases, publishes by its next atomic write
/// whatever happens before the fence; a thread that reads the value, and then passes a fence or acquires, has learnt of
/// that. Fences of the GPU's scope need not be those two threads' own: it will do that something orders one before the
/// write and one after the read. Blocks run on one OS thread, so whatever is asked here has an order in time, and the
/// question is whether anything made it so.

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/sim/access.h"

namespace reductio::sim {

/// A thread at some point of its run, and what barriers and warp barriers order before that.
struct Moment {
  std::uint32_t serial = 0;  ///< of the block's run
  std::uint32_t thread = 0;
  std::uint32_t epoch = 0;          ///< what this thread did in an older one comes before
  std::uint32_t barrier_epoch = 0;  ///< the same of all threads of the block
  std::uint32_t warp_epoch = 0;     ///< of all lanes of its warp
  const std::array<std::uint32_t, warp_size>* seen = nullptr;  ///< of each lane of its warp; may be null
  std::size_t acquired = 0;  ///< so many acquisitions had the threads of its block made

  /// Those lanes of `a`, an access of this very block, that did it before.
  std::uint32_t ordered(const Accesses& a) const;
};

/// The running thread, now.
Moment now();

class Causality {
 public:
  void begin_launch();
  /// No thread of it will do anything more.
  void end_block(std::uint32_t serial);

  /// The running thread passes a fence.
  void fence(Scope);
  /// The running thread makes an atomic access, which the race check has let pass. `location` is of the word.
  void atomic(Access kind, std::uint64_t location, MemoryOrder, Scope, SiteCode);
  /// A plain write: who reads an atomic's value here from now on reads this one.
  void overwrite(std::uint64_t location);

  /// Those of the lanes of `a`, an access earlier in this launch, that nothing orders before `here`. `atomic_at` is the
  /// location of an atomic access, 0 of a plain one: who has read what an atomic published comes after the atomic, too.
  std::uint32_t unordered(const Moment& here, const Accesses& a, std::uint64_t atomic_at);
  /// Why not: "block 3 has passed no __threadfence() between ...". `a` is an access of `block`, another one.
  std::string missing(const Moment& here, const Accesses& a, std::uint64_t atomic_at, const std::string& block) const;
  /// Has the thread learnt anything from another thread of its block?
  bool learnt_in_block(const Moment& here) const;

  /// Atomics at a location that its record has no room for: of other blocks, other warps or other epochs than the last.
  std::vector<Accesses> other_atomics(std::uint64_t location) const;
  void keep_atomics(std::uint64_t location, const Accesses&);

  static std::uint64_t location(const Touch&);

 private:
  struct Chain;
  /// By what a publication becomes known: the own fence or release of who writes with the own fence or acquire of who
  /// reads, or fences of the GPU's scope, whoever passes them, before the write and after the read.
  enum Means { own, fences, n_means };
  /// Of the GPU's scope.
  struct Fence {
    Moment moment;
    std::uint64_t search = 0;  ///< the last search that has been here
  };
  /// Made known by an atomic write: whatever happens before `moment`, or before a fence of the block that is ordered
  /// before the write, and the write itself.
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
  /// The publications that whoever reads the newest value of a location reads: an atomic store begins a chain, atomic
  /// updates go on with it (PTX's observation through read-modify-writes, a release sequence).
  struct Chain {
    std::vector<Publication*> publications;
    std::uint64_t search[n_means] = {};  ///< the last search that has been here, and how far
    std::size_t searched[n_means] = {};
  };
  /// By a thread, of all that was published in a chain so far.
  struct Acquisition {
    Accesses event;
    Chain* chain;
    std::size_t count;
    Scope scope;
    Means by;
  };
  /// An atomic read of the GPU's scope, for the fences of all threads of the block.
  struct Reading {
    Accesses event;
    Chain* chain;
    std::size_t count;
  };
  /// What a thread has read of a chain, and published there. Index 0: with block scope, 1: with the GPU's.
  struct Look {
    Chain* chain;
    std::size_t read[2] = {}, acquired[2] = {};
    std::size_t fenced = 0;                ///< acquired by fences, whoever has read it
    const Publication* published[2] = {};  ///< the thread's last there
    SiteCode site = 0;                     ///< of the last read
  };
  struct ThreadState {
    Moment fence[2];  ///< the last; serial 0: none
    std::vector<Look> looks;
  };
  struct BlockHistory {
    std::vector<Publication*> publications;
    std::vector<Acquisition> acquisitions;
    std::vector<Fence*> fences;
    std::vector<Reading> readings;
    std::unordered_map<std::uint32_t, ThreadState> threads;  // of those that fence, publish or read a chain
    Accesses last_atomic;  // write
  };
  struct Location {
    Chain* chain = nullptr;
    std::unordered_map<std::uint64_t, std::vector<Accesses>> atomics;  // by block and warp; no lane twice
  };

  Moment kept(Moment);
  Moment begin_epoch(const BlockHistory&);
  void publish(std::uint64_t location, BlockHistory&, ThreadState&, const Moment&, Scope, SiteCode);
  static void acquire(BlockHistory&, Look&, Scope);
  static Look& look(ThreadState&, Chain*);
  /// Those lanes of `a`, an access of the block that published, that become known by these means.
  std::uint32_t known(const Publication&, Means, const Accesses& a, std::uint64_t atomic_at) const;
  static bool reaches(const Publication& p, std::uint32_t serial, Scope reader) {
    return p.write.serial == serial || (p.scope != Scope::block && reader != Scope::block);
  }
  const BlockHistory* history(std::uint32_t serial) const;

  std::unordered_map<std::uint32_t, BlockHistory> blocks_;  // by serial
  std::unordered_map<std::uint64_t, Location> locations_;
  // Pointed to.
  std::deque<Publication> publications_;
  std::deque<Fence> fences_;
  std::deque<Chain> chains_;
  std::deque<std::array<std::uint32_t, warp_size>> seen_;
  std::uint64_t searches_ = 0;
};

extern Causality causality;

}  // namespace reductio::sim
