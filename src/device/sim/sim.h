#pragma once
/// The simulated side of device.h: a small GPU (4 SMs) that runs every CUDA thread as a fiber on one OS thread, and
/// checks what a GPU does not: accesses outside a view, an allocation or the block's shared memory; reads of what nobody
/// wrote; memory released too early; two threads of one block that touch a word, one of them writing, with no barrier
/// between; barriers and warp operations that not all threads reach; waits that never end. It is a checker and never a
/// clock: it reports no times.
///
/// What it cannot see:
///   - Missing fences and wrong memory orders. Memory is sequentially consistent: a store is seen by everybody at once.
///     Each __threadfence, acquire and release needs its written argument.
///   - Data races between blocks, and between kernels. Only the orders (sim_schedule.h) can show them, where the result
///     comes out wrong in one of them. Work of different streams never overlaps.
///   - Races through GlobalPtr<const T> where the read comes first and the write after: such reads leave no record.
///   - Order that threads of one block make by flags and atomics alone. Within a block only barriers and warp operations
///     count, so a hand-over by a flag inside a block is reported as a race although CUDA allows it.
///   - Interleavings inside a stretch without a switch point. Threads give way at barriers and warp operations, when they
///     look again at what they polled, and in the random order also at atomics, fences and acquire loads.
///   - Stores torn in two, __launch_bounds__, registers, alignment of anything but single elements, and time.
/// Stricter than CUDA: a block barrier or warp operation that names a thread which has already returned is a fault, and so
/// is reaching one barrier from two source lines.
///
/// All simulated work of the program runs on one OS thread at a time, whichever waits for a stream; a lock sees to it.
/// Streams are queues whose work starts only when somebody waits for that stream, so that what was put on the wrong
/// stream is missing from the result.

// Everything standard comes before the macros below.
#include <bit>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/types.h"
#include "device/sim/engine.h"

#define REDUCTIO_DEVICE_NAMESPACE on_sim

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

namespace reductio::device {
inline namespace on_sim {

inline constexpr DeviceKind device_kind = DeviceKind::sim;

using sim::blockDim;
using sim::blockIdx;
using sim::gridDim;
using sim::threadIdx;

// ---------------------------------------------------------------------------------------------------- pointers

/// What `p[i]` and `*p` give where p is not const: reads convert to T, writes go through the checks. It converts
/// implicitly to T alone; otherwise `cond ? p[i] : 0` would quietly be an int for a float p.
template <class Pointer>
class Reference;

template <class T>
inline constexpr bool is_reference = false;
template <class Pointer>
inline constexpr bool is_reference<Reference<Pointer>> = true;
template <class T>
concept Operand = std::is_arithmetic_v<T> || is_reference<T>;

template <class T>
auto value_of(const T& x) {
  if constexpr (is_reference<T>)
    return x.read();
  else
    return x;
}

template <class Pointer>
class Reference {
 public:
  using T = typename Pointer::value_type;
  explicit Reference(Pointer p) : p_(p) {}
  Reference(const Reference&) = default;

  T read() const { return p_.read(); }
  template <class U>
    requires std::is_arithmetic_v<U> || std::same_as<U, T>
  explicit(!std::same_as<U, T>) operator U() const {
    return static_cast<U>(read());
  }
  Pointer operator&() const { return p_; }

  const Reference& operator=(T v) const { return p_.write(v), *this; }
  const Reference& operator=(const Reference& o) const { return *this = o.read(); }
  const Reference& operator=(const Reference& o) { return *this = o.read(); }
  T operator++() const { return step(1), read(); }
  T operator--() const { return step(-1), read(); }
  T operator++(int) const { return step(1); }
  T operator--(int) const { return step(-1); }
  T operator-() const { return -read(); }
  T operator+() const { return read(); }
  T operator~() const { return ~read(); }
  bool operator!() const { return !read(); }

 private:
  T step(int by) const {
    const T before = read();
    p_.write(static_cast<T>(before + static_cast<T>(by)));
    return before;
  }
  Pointer p_;
};

// Built-in operators do not see a conversion that is a template, so each is spelt out. The operands are first brought to
// their common type, as the language does: here the compiler cannot see that a literal is not negative, and would warn.
#define REDUCTIO_BINARY(op)                                                        \
  template <class A, class B>                                                      \
    requires(Operand<A> && Operand<B> && (is_reference<A> || is_reference<B>))     \
  auto operator op(const A& a, const B& b) {                                       \
    using Common = std::common_type_t<decltype(value_of(a)), decltype(value_of(b))>; \
    return static_cast<Common>(value_of(a)) op static_cast<Common>(value_of(b));   \
  }
#define REDUCTIO_SHIFT(op)                                                     \
  template <class A, class B>                                                  \
    requires(Operand<A> && Operand<B> && (is_reference<A> || is_reference<B>)) \
  auto operator op(const A& a, const B& b) {                                   \
    return value_of(a) op value_of(b);                                         \
  }
#define REDUCTIO_COMPOUND(op)                                                                      \
  template <class Pointer, Operand B>                                                              \
  const Reference<Pointer>& operator op##=(const Reference<Pointer>& a, const B& b) {              \
    return a = static_cast<typename Pointer::value_type>(a.read() op value_of(b));                 \
  }                                                                                                \
  template <class A, class Pointer>                                                                \
    requires std::is_arithmetic_v<A>                                                               \
  A& operator op##=(A& a, const Reference<Pointer>& b) {                                           \
    return a = static_cast<A>(a op b.read());                                                      \
  }
REDUCTIO_BINARY(+)
REDUCTIO_BINARY(-)
REDUCTIO_BINARY(*)
REDUCTIO_BINARY(/)
REDUCTIO_BINARY(%)
REDUCTIO_BINARY(&)
REDUCTIO_BINARY(|)
REDUCTIO_BINARY(^)
REDUCTIO_BINARY(==)
REDUCTIO_BINARY(!=)
REDUCTIO_BINARY(<)
REDUCTIO_BINARY(>)
REDUCTIO_BINARY(<=)
REDUCTIO_BINARY(>=)
REDUCTIO_SHIFT(<<)
REDUCTIO_SHIFT(>>)
REDUCTIO_COMPOUND(+)
REDUCTIO_COMPOUND(-)
REDUCTIO_COMPOUND(*)
REDUCTIO_COMPOUND(/)
REDUCTIO_COMPOUND(%)
REDUCTIO_COMPOUND(&)
REDUCTIO_COMPOUND(|)
REDUCTIO_COMPOUND(^)
REDUCTIO_COMPOUND(<<)
REDUCTIO_COMPOUND(>>)
#undef REDUCTIO_BINARY
#undef REDUCTIO_SHIFT
#undef REDUCTIO_COMPOUND

/// What both kinds of pointer share: arithmetic on an address. Derived gives read() and write(v) of what it points to.
/// Addresses are integers, since forming a C++ pointer outside its array would be undefined; only accesses are checked.
template <class Derived, class T>
class PointerArithmetic {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  static_assert(std::is_trivially_copyable_v<value_type>);

  auto operator[](std::size_t i) const { return dereference(self() + i); }
  auto operator*() const { return dereference(self()); }

  friend Derived operator+(Derived p, std::size_t i) { return p += i; }
  friend Derived operator+(std::size_t i, Derived p) { return p += i; }
  friend Derived operator-(Derived p, std::size_t i) { return p -= i; }
  friend std::ptrdiff_t operator-(const Derived& a, const Derived& b) {
    return static_cast<std::ptrdiff_t>(a.at_ - b.at_) / static_cast<std::ptrdiff_t>(sizeof(T));
  }
  Derived& operator+=(std::size_t i) { return at_ += i * sizeof(T), self(); }
  Derived& operator-=(std::size_t i) { return at_ -= i * sizeof(T), self(); }
  Derived& operator++() { return self() += 1; }
  Derived& operator--() { return self() -= 1; }
  Derived operator++(int) { return std::exchange(self(), self() + 1); }
  Derived operator--(int) { return std::exchange(self(), self() - 1); }
  friend bool operator==(const Derived& a, const Derived& b) { return a.at_ == b.at_; }
  friend auto operator<=>(const Derived& a, const Derived& b) { return a.at_ <=> b.at_; }

 protected:
  explicit PointerArithmetic(std::uint64_t at) : at_(at) {}
  std::uint64_t at_;

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  static auto dereference(const Derived& p) {
    if constexpr (std::is_const_v<T>)
      return p.read();
    else
      return Reference<Derived>(p);
  }
};

/// A pointer into global memory that knows the view it came from: the count given to global(), or the whole Buffer.
template <class T>
class GlobalPtr : public PointerArithmetic<GlobalPtr<T>, T> {
 public:
  using typename PointerArithmetic<GlobalPtr<T>, T>::value_type;
  // Each word has one last writer; two threads that write two bytes of it would look like a race.
  static_assert(std::is_const_v<T> || sizeof(T) % sim::word_bytes == 0, "written elements are words");

  GlobalPtr() : GlobalPtr(0, {}) {}
  GlobalPtr(std::nullptr_t) : GlobalPtr() {}
  GlobalPtr(std::uint64_t at, const sim::View& view) : PointerArithmetic<GlobalPtr<T>, T>(at), view_(view) {}
  /// To a pointer to const.
  template <class U>
    requires(std::is_const_v<T> && std::same_as<U, value_type>)
  GlobalPtr(const GlobalPtr<U>& p) : GlobalPtr(p.address(), p.view()) {}

  explicit operator bool() const { return this->at_ != 0; }
  std::uint64_t address() const { return this->at_; }
  const sim::View& view() const { return view_; }

  value_type read() const {
    if constexpr (std::is_const_v<T>)
      sim::on_const_read<sizeof(T)>(view_, this->at_);
    else
      sim::on_global<sim::Access::read, sizeof(T)>(view_, this->at_);
    return *raw();
  }
  void write(value_type v) const {
    sim::on_global<sim::Access::write, sizeof(T)>(view_, this->at_);
    *raw() = v;
  }
  /// Checks an atomic access; the caller then reads and writes this.
  template <sim::Access kind>
  value_type* atomic() const {
    sim::on_global<kind, sizeof(T)>(view_, this->at_);
    return const_cast<value_type*>(raw());
  }

 private:
  T* raw() const { return reinterpret_cast<T*>(static_cast<std::uintptr_t>(this->at_)); }
  sim::View view_;
};

/// A pointer into the running block's dynamic shared memory: an offset, checked against the bytes of the launch.
template <class T>
class SharedPtr : public PointerArithmetic<SharedPtr<T>, T> {
 public:
  using typename PointerArithmetic<SharedPtr<T>, T>::value_type;
  static_assert(sizeof(T) % sim::word_bytes == 0, "shared elements are words");
  static_assert(alignof(T) <= 16, "shared memory is aligned to 16 bytes");

  explicit SharedPtr(std::uint64_t offset = 0) : PointerArithmetic<SharedPtr<T>, T>(offset) {}
  template <class U>
    requires(std::is_const_v<T> && std::same_as<U, value_type>)
  SharedPtr(const SharedPtr<U>& p) : SharedPtr(p.address()) {}

  std::uint64_t address() const { return this->at_; }

  value_type read() const { return *atomic<sim::Access::read>(); }
  void write(value_type v) const { *atomic<sim::Access::write>() = v; }
  /// Checks an access, which the caller then makes.
  template <sim::Access kind>
  value_type* atomic() const {
    return reinterpret_cast<value_type*>(sim::on_shared<kind, sizeof(T)>(this->at_));
  }
};

template <class T>
SharedPtr<T> shared_memory() {
  return SharedPtr<T>(0);
}

// ---------------------------------------------------------------------------------------------------- in kernels
// The last two parameters of each are where it was called; nobody passes them.

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  sim::block_barrier(false, false, {file, line});
}
inline int __syncthreads_or(int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return sim::block_barrier(predicate != 0, true, {file, line});
}
inline void grid_sync(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  sim::grid_barrier({file, line});
}
inline void __syncwarp(unsigned mask = 0xffffffffu, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  sim::warp_operation(sim::WarpOperation::sync, mask, 0, 0, {file, line});
}

template <class T>
T shuffle(unsigned mask, T value, unsigned source, sim::Site site) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "CUDA shuffles 4 and 8 bytes");
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const auto bits = sim::warp_operation(sim::WarpOperation::shuffle, mask, std::bit_cast<Bits>(value), source, site);
  return std::bit_cast<T>(static_cast<Bits>(bits));
}
/// A lane whose source is beyond its segment of `width` lanes gets its own value back.
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  const unsigned lane = threadIdx.x % 32, w = static_cast<unsigned>(width);
  return shuffle(mask, value, delta < w - lane % w ? lane + delta : lane, {file, line});
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  const unsigned lane = threadIdx.x % 32, w = static_cast<unsigned>(width);
  const unsigned source = lane ^ static_cast<unsigned>(lane_mask);
  // Lower segments may be read, higher ones may not.
  return shuffle(mask, value, source < 32 && source / w <= lane / w ? source : lane, {file, line});
}
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, const char* file = __builtin_FILE(),
              int line = __builtin_LINE()) {
  const unsigned lane = threadIdx.x % 32, w = static_cast<unsigned>(width);
  return shuffle(mask, value, lane / w * w + static_cast<unsigned>(source) % w, {file, line});
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value, const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) {
  return static_cast<unsigned>(
      sim::warp_operation(sim::WarpOperation::reduce_add, mask, value, 0, {file, line}));
}
inline int __reduce_add_sync(unsigned mask, int value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value), file, line));
}

inline void __threadfence() { sim::give_way(); }

/// Zero, with its sign, in place of a subnormal number.
inline float flush_subnormal(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}

/// The types that CUDA's atomicAdd takes among those used here.
template <class T>
concept AtomicAddable = std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long long> ||
                        std::same_as<T, float> || std::same_as<T, double>;

template <template <class> class Pointer, AtomicAddable T>
T atomicAdd(Pointer<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
  // Adding nothing is how one polls by atomics.
  if (value == T{0}) sim::poll(p.address(), {file, line});
  else sim::give_way();
  T* const word = p.template atomic<sim::Access::atomic_update>();
  const T before = *word;
  if constexpr (std::same_as<T, int>)
    *word = static_cast<int>(static_cast<unsigned>(before) + static_cast<unsigned>(value));
  else if constexpr (std::same_as<T, float> && std::same_as<Pointer<T>, GlobalPtr<T>>)
    // PTX: atom.add.f32 on global memory takes and gives subnormal numbers as zero; on shared memory it does not.
    *word = flush_subnormal(flush_subnormal(before) + flush_subnormal(value));
  else
    *word = before + value;
  if (value != T{0}) sim::note_progress();
  return before;
}

template <template <class> class Pointer>
unsigned atomicInc(Pointer<unsigned> p, unsigned limit) {
  sim::give_way();
  unsigned* const word = p.template atomic<sim::Access::atomic_update>();
  const unsigned before = *word;
  *word = before >= limit ? 0 : before + 1;
  sim::note_progress();
  return before;
}

template <class T>
T load_acquire(GlobalPtr<T> p, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  sim::poll(p.address(), {file, line});
  return *p.template atomic<sim::Access::atomic_read>();
}

template <class T>
void store_release(GlobalPtr<T> p, T value) {
  sim::give_way();
  *p.template atomic<sim::Access::atomic_store>() = value;
  sim::note_progress();
}

/// Counters that only ever grow, the same for all SMs. They count the scheduler's steps and are no time.
inline long long clock64() { return static_cast<long long>(sim::steps()); }
inline std::uint64_t globaltimer() { return sim::steps(); }

// ---------------------------------------------------------------------------------------------------- for plans

/// Carries a kernel in its type: the only place where both compilers keep the template arguments of its name.
template <auto Kernel>
struct KernelName {};

template <auto Kernel, class... Parameters>
void enqueue(const Launch& l, bool cooperative, void (*)(Parameters...), std::type_identity_t<Parameters>... args) {
  // Each thread gets its own copy of the arguments, as parameters of a kernel are.
  sim::enqueue_kernel(l.stream, {l.grid, l.block, l.shared_bytes, cooperative},
                      [args = std::tuple<Parameters...>(args...)] { std::apply(Kernel, args); },
                      typeid(KernelName<Kernel>));
}

template <auto Kernel, class... Args>
void launch(const Launch& l, Args... args) {
  enqueue<Kernel>(l, false, Kernel, args...);
}

template <auto Kernel, class... Args>
void launch_cooperative(const Launch& l, Args... args) {
  enqueue<Kernel>(l, true, Kernel, args...);
}

template <class T>
GlobalPtr<T> global(void* p, std::size_t count) {
  const sim::View v = sim::view(p, count * sizeof(T), alignof(T));
  return GlobalPtr<T>(v.begin, v);
}

template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count)
      : count_(count), memory_(sim::allocate((count ? count : 1) * sizeof(T)), [](void* p) { sim::release(p); }) {}
  GlobalPtr<T> ptr() const { return global<T>(memory_.get(), count_); }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  std::size_t count_;
  std::shared_ptr<void> memory_;
};

/// All host memory is alike here.
template <class T>
class HostBuffer {
 public:
  HostBuffer(std::size_t count, bool /*pinned*/) : count_(count), memory_(std::make_unique<T[]>(count ? count : 1)) {}
  T* data() { return memory_.get(); }
  std::size_t size() const { return count_; }

 private:
  std::size_t count_;
  std::unique_ptr<T[]> memory_;
};

/// The memory behind `count` elements from p, for the host. Throws Fault if they pass the end of p's view.
template <class T>
void* host_range(GlobalPtr<T> p, std::size_t count) {
  const sim::View& v = p.view();
  if (count && (p.address() - v.begin > v.end - v.begin || (v.end - p.address()) / sizeof(T) < count))
    throw sim::Fault(sim::FaultKind::out_of_bounds, "", 0, {}, "", 0,
                     std::to_string(count) + " elements asked for where " +
                         std::to_string((v.end - v.begin) / sizeof(T)) + " are in view");
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(p.address()));
}

template <class T>
void zero(GlobalPtr<T> p, std::size_t count, Stream s) {
  sim::enqueue_fill(s, host_range(p, count), 0, count * sizeof(T));
}

template <class T>
void copy_to_host(T* dst, std::type_identity_t<GlobalPtr<const T>> src, std::size_t count, Stream s) {
  sim::copy_out(s, dst, host_range(src, count), count * sizeof(T));
}

}  // namespace on_sim
}  // namespace reductio::device

// CUDA's own names are global there, so they are here.
using reductio::device::__reduce_add_sync;
using reductio::device::__shfl_down_sync;
using reductio::device::__shfl_sync;
using reductio::device::__shfl_xor_sync;
using reductio::device::__syncthreads;
using reductio::device::__syncthreads_or;
using reductio::device::__syncwarp;
using reductio::device::__threadfence;
using reductio::device::atomicAdd;
using reductio::device::atomicInc;
using reductio::device::blockDim;
using reductio::device::blockIdx;
using reductio::device::clock64;
using reductio::device::gridDim;
using reductio::device::threadIdx;
