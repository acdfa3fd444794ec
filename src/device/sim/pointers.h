#pragma once
/// Pointers of the simulated device: GlobalPtr and SharedPtr, whose every access is checked (access.h). A pointer to
/// const gives values; of one that is not, `p[i]` and `*p` are a Reference, which reads and writes through the checks.

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "device/sim/access.h"

namespace reductio::device {
inline namespace on_sim {

/// What `p[i]` and `*p` give where p is not const: reads convert to T, writes go through the checks. It is used where
/// it stands. `auto x = p[i]` would read only when x is used, so what uses one that has a name copies it, and the copy
/// does not compile. It converts implicitly to T alone; otherwise `cond ? p[i] : 0` would quietly be an int for a float
/// p.
template <class Pointer>
class Reference;

template <class T>
inline constexpr bool is_reference = false;
template <class Pointer>
inline constexpr bool is_reference<Reference<Pointer>> = true;
template <class T>
concept Operand = std::is_arithmetic_v<T> || is_reference<T>;

template <class T>
constexpr auto value_of(const T& x) {
  if constexpr (is_reference<T>)
    return x.read();
  else
    return x;
}
template <class T>
using ValueOf = decltype(value_of(std::declval<const T&>()));

template <class Pointer>
class Reference {
 public:
  using T = typename Pointer::value_type;
  Reference(Pointer p, sim::SiteCode site) : p_(p), site_(site) {}
  /// The other side of `cond ? p[i] : 0`, which then has the type of p[i].
  template <class U>
    requires(std::is_arithmetic_v<U> && std::is_arithmetic_v<T> && !std::same_as<U, T>)
  Reference(U other) : other_(static_cast<T>(other)), is_other_(true) {
    static_assert(std::same_as<std::common_type_t<T, U>, T>,
                  "the two sides of ?: have different types: write the wider one, `cond ? double(p[i]) : 0.5`");
  }
  Reference(const Reference&) { refuse(); }

  T read() const {
    if constexpr (std::is_arithmetic_v<T>)
      if (is_other_) return other_;
    return p_.read(site_);
  }
  T write(T v) const { return p_.write(v, site_), v; }
  T step(int by) const {
    const T before = read();
    write(static_cast<T>(before + static_cast<T>(by)));
    return before;
  }
  Pointer pointer() const { return p_; }

  template <class U>
    requires std::is_arithmetic_v<U> || std::same_as<U, T>
  explicit(!std::same_as<U, T>) operator U() const&& {
    return static_cast<U>(read());
  }
  T operator=(T v) const&& { return write(v); }
  T operator=(Reference o) const&& { return write(o.read()); }
  // Of one that has a name; and `T& x = p[i]`.
  template <class U>
    requires std::is_arithmetic_v<U> || std::same_as<U, T>
  explicit(!std::same_as<U, T>) operator U&() const& {
    refuse();
  }
  T operator=(T) const& { refuse(); }
  T operator=(Reference) const& { refuse(); }

 private:
  [[noreturn]] static void refuse() {
    static_assert(!is_reference<Reference>,
                  "write the type of what you read, `T x = p[i];`: auto, auto& and T& do not hold an element of a "
                  "GlobalPtr or SharedPtr, nor does a template's parameter (f(T(p[i]))) or std::swap");
    __builtin_unreachable();
  }
  struct Nothing {};
  Pointer p_;
  sim::SiteCode site_ = 0;
  [[no_unique_address]] std::conditional_t<std::is_arithmetic_v<T>, T, Nothing> other_{};
  bool is_other_ = false;
};

// Operators take a Reference by value: one without a name needs no copy for that. Built-in ones do not see a conversion
// that is a template, so each is spelt out. The operands are first brought to their common type, as the language does:
// here the compiler cannot see that a literal is not negative, and would warn.
#define REDUCTIO_BINARY(op)                                                      \
  template <Operand A, Operand B>                                                \
    requires(is_reference<A> || is_reference<B>)                                 \
  auto operator op(A a, B b) {                                                   \
    using Common = std::common_type_t<ValueOf<A>, ValueOf<B>>;                   \
    return static_cast<Common>(value_of(a)) op static_cast<Common>(value_of(b)); \
  }
#define REDUCTIO_SHIFT(op)                       \
  template <Operand A, Operand B>                \
    requires(is_reference<A> || is_reference<B>) \
  auto operator op(A a, B b) {                   \
    return value_of(a) op value_of(b);           \
  }
#define REDUCTIO_COMPOUND(op)                                                           \
  template <class Pointer, Operand B>                                                   \
  auto operator op##=(Reference<Pointer> a, B b) {                                      \
    return a.write(static_cast<typename Pointer::value_type>(a.read() op value_of(b))); \
  }                                                                                     \
  template <class A, class Pointer>                                                     \
    requires std::is_arithmetic_v<A>                                                    \
  A& operator op##=(A& a, Reference<Pointer> b) {                                       \
    return a = static_cast<A>(a op b.read());                                           \
  }
#define REDUCTIO_UNARY(signature, result) \
  template <class Pointer>                \
  auto operator signature {               \
    return result;                        \
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
REDUCTIO_UNARY(&(Reference<Pointer> a), a.pointer())
REDUCTIO_UNARY(-(Reference<Pointer> a), -a.read())
REDUCTIO_UNARY(+(Reference<Pointer> a), +a.read())
REDUCTIO_UNARY(~(Reference<Pointer> a), ~a.read())
REDUCTIO_UNARY(!(Reference<Pointer> a), !a.read())
REDUCTIO_UNARY(++(Reference<Pointer> a), (a.step(1), a.read()))
REDUCTIO_UNARY(--(Reference<Pointer> a), (a.step(-1), a.read()))
REDUCTIO_UNARY(++(Reference<Pointer> a, int), a.step(1))
REDUCTIO_UNARY(--(Reference<Pointer> a, int), a.step(-1))
#undef REDUCTIO_BINARY
#undef REDUCTIO_SHIFT
#undef REDUCTIO_COMPOUND
#undef REDUCTIO_UNARY

/// From U* to T* the language converts by itself, and both are pointers to the same type: T is more const or volatile.
template <class U, class T>
concept AddsQualifiers =
    !std::same_as<U, T> && std::same_as<std::remove_cv_t<U>, std::remove_cv_t<T>> && std::is_convertible_v<U*, T*>;

/// An index in brackets, which knows its line.
struct Subscript {
  template <class Index>
    requires std::convertible_to<Index, std::size_t> || is_reference<Index>
  Subscript(Index i, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : index(static_cast<std::size_t>(value_of(i))), site(sim::code_of(file, line)) {}
  std::size_t index;
  sim::SiteCode site;
};

/// What both kinds of pointer share: arithmetic on an address. Derived gives read(site) and write(v, site) of what it
/// points to.
/// What is volatile is read and written as anything else.
/// Addresses are integers, since forming a C++ pointer outside its array would be undefined; only accesses are checked.
template <class Derived, class T>
class PointerArithmetic {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  static_assert(std::is_trivially_copyable_v<value_type>);

  /// Const, so that `auto& x = p[i]` is rejected like `auto x`.
  using Element = std::conditional_t<std::is_const_v<T>, value_type, const Reference<Derived>>;
  Element operator[](Subscript i) const { return dereference(self() + i.index, i.site); }
  Element operator*() const { return dereference(self(), 0); }  // an operator without arguments cannot know its line
  /// A member of a struct, for reading: the whole struct is read.
  auto operator->() const {
    struct Value {
      value_type value;
      const value_type* operator->() const { return &value; }
    };
    return Value{self().read(0)};
  }

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
  static Element dereference(const Derived& p, sim::SiteCode site) {
    if constexpr (std::is_const_v<T>)
      return p.read(site);
    else
      return Reference<Derived>(p, site);
  }
};

/// A pointer into global memory that knows the view it came from: the count given to global(), or the whole Buffer.
template <class T>
class GlobalPtr : public PointerArithmetic<GlobalPtr<T>, T> {
 public:
  using typename PointerArithmetic<GlobalPtr<T>, T>::value_type;
  // Each word has one last writer; two threads that write two bytes of it would look like a race.
  static_assert(std::is_const_v<T> || sizeof(T) % sim::word_bytes == 0,
                "written elements are of 4 bytes or a multiple");

  GlobalPtr() : GlobalPtr(0, {}) {}
  GlobalPtr(std::nullptr_t) : GlobalPtr() {}
  GlobalPtr(std::uint64_t at, const sim::View& view) : PointerArithmetic<GlobalPtr<T>, T>(at), view_(view) {}
  template <class U>
    requires AddsQualifiers<U, T>
  GlobalPtr(const GlobalPtr<U>& p) : GlobalPtr(p.address(), p.view()) {}

  explicit operator bool() const { return this->at_ != 0; }
  std::uint64_t address() const { return this->at_; }
  const sim::View& view() const { return view_; }

  value_type read(sim::SiteCode site) const {
    if constexpr (std::is_const_v<T>)
      sim::on_const_read<sizeof(T)>(view_, this->at_, site);
    else
      sim::on_global<sim::Access::read, sizeof(T)>(view_, this->at_, site);
    return *raw();
  }
  void write(value_type v, sim::SiteCode site) const {
    sim::on_global<sim::Access::write, sizeof(T)>(view_, this->at_, site, sim::Scope::gpu, &v);
    *raw() = v;
  }
  /// Checks an atomic access; the caller then reads and writes this.
  template <sim::Access kind>
  value_type* atomic(sim::MemoryOrder order, sim::Scope scope, sim::SiteCode site) const {
    value_type* const word = checked<kind>(site, scope);
    sim::on_atomic({kind, &view_, this->at_, sizeof(T), site, scope}, order);
    return word;
  }
  /// The same, as far as it touches the word: what it would order is not noted.
  template <sim::Access kind>
  value_type* checked(sim::SiteCode site, sim::Scope scope = sim::Scope::gpu) const {
    sim::on_global<kind, sizeof(T)>(view_, this->at_, site, scope);
    return raw();
  }

 private:
  value_type* raw() const { return reinterpret_cast<value_type*>(static_cast<std::uintptr_t>(this->at_)); }
  sim::View view_;
};

/// A pointer into the running block's shared memory: an offset, checked against the array it came from, which is the
/// bytes of the launch or those of a shared_array.
template <class T>
class SharedPtr : public PointerArithmetic<SharedPtr<T>, T> {
 public:
  using typename PointerArithmetic<SharedPtr<T>, T>::value_type;
  static_assert(sizeof(T) % sim::word_bytes == 0,
                "shared elements are of 4 bytes or a multiple: write unsigned for bool or char");
  static_assert(alignof(T) <= 16, "shared memory is aligned to 16 bytes");

  SharedPtr() : SharedPtr(0, {}) {}
  SharedPtr(std::uint64_t offset, sim::SharedRange array) : PointerArithmetic<SharedPtr<T>, T>(offset), array_(array) {}
  template <class U>
    requires AddsQualifiers<U, T>
  SharedPtr(const SharedPtr<U>& p) : SharedPtr(p.address(), p.array()) {}

  std::uint64_t address() const { return this->at_; }
  sim::SharedRange array() const { return array_; }

  value_type read(sim::SiteCode site) const { return *checked<sim::Access::read>(site); }
  void write(value_type v, sim::SiteCode site) const { *checked<sim::Access::write>(site, sim::Scope::gpu, &v) = v; }
  template <sim::Access kind>
  value_type* atomic(sim::MemoryOrder order, sim::Scope scope, sim::SiteCode site) const {
    value_type* const word = checked<kind>(site, scope);
    sim::on_atomic({kind, nullptr, this->at_, sizeof(T), site, scope}, order);
    return word;
  }
  template <sim::Access kind>
  value_type* checked(sim::SiteCode site, sim::Scope scope = sim::Scope::gpu, const void* value = nullptr) const {
    return reinterpret_cast<value_type*>(sim::on_shared<kind, sizeof(T)>(array_, this->at_, site, scope, value));
  }

 private:
  sim::SharedRange array_;
};

template <class T>
SharedPtr<T> shared_memory() {
  return SharedPtr<T>(0, sim::dynamic_shared_memory());
}

/// Its address is all that tells the arrays of a block apart.
template <class T, std::size_t N, int Which>
inline constexpr char shared_array_key = 0;
template <class T, std::size_t N, int Which = 0>
SharedPtr<T> shared_array(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const sim::SharedRange array = sim::shared_array(&shared_array_key<T, N, Which>, N * sizeof(T), {file, line});
  return SharedPtr<T>(array.begin, array);
}

/// The same place as a pointer to U. The view keeps the U that lie wholly in it; a place that is not aligned to U keeps
/// none, so that only an access is a fault.
template <class U, class T>
GlobalPtr<U> pointer_cast(GlobalPtr<T> p) {
  static_assert(std::is_const_v<U> || !std::is_const_v<T>, "a pointer to const stays one");
  return GlobalPtr<U>(p.address(), sim::view_of(p.view(), p.address(), sizeof(U), alignof(U)));
}
template <class U, class T>
SharedPtr<U> pointer_cast(SharedPtr<T> p) {
  static_assert(std::is_const_v<U> || !std::is_const_v<T>, "a pointer to const stays one");
  return SharedPtr<U>(p.address(), sim::array_of(p.array(), p.address(), alignof(U)));
}

template <class T>
std::uintptr_t address_of(GlobalPtr<T> p) {
  return p.address();
}

// Loads and stores with a hint to the caches, which are not here: plain ones. Those through the read-only cache may not
// meet what this very launch wrote, whatever orders the two.
#define REDUCTIO_READ_ONLY_LOAD(name)                                                                           \
  template <class T>                                                                                            \
  std::remove_cv_t<T> name(GlobalPtr<T> p, const char* file = __builtin_FILE(), int line = __builtin_LINE()) { \
    const sim::SiteCode site = sim::code_of(file, line);                                                        \
    const auto value = GlobalPtr<const T>(p).read(site);                                                        \
    if (p.view().memory->records)                                                                               \
      sim::on_constant_load(p.view(), p.address(), sizeof(T), site, "through the read-only cache");             \
    return value;                                                                                               \
  }
#define REDUCTIO_LOAD(name)                                                                                       \
  template <class T>                                                                                              \
  std::remove_cv_t<T> name(GlobalPtr<T> p, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {   \
    return GlobalPtr<const T>(p).read(sim::code_of(file, line));                                                  \
  }
#define REDUCTIO_STORE(name)                                                                     \
  template <class T>                                                                             \
  void name(GlobalPtr<T> p, std::type_identity_t<T> value, const char* file = __builtin_FILE(),  \
            int line = __builtin_LINE()) {                                                       \
    p.write(value, sim::code_of(file, line));                                                    \
  }
REDUCTIO_READ_ONLY_LOAD(load_past_l1)
REDUCTIO_READ_ONLY_LOAD(__ldg)
REDUCTIO_LOAD(__ldca)
REDUCTIO_LOAD(__ldcg)
REDUCTIO_LOAD(__ldcs)
REDUCTIO_LOAD(__ldlu)
REDUCTIO_LOAD(__ldcv)
REDUCTIO_STORE(__stwb)
REDUCTIO_STORE(__stcg)
REDUCTIO_STORE(__stcs)
REDUCTIO_STORE(__stwt)
#undef REDUCTIO_READ_ONLY_LOAD
#undef REDUCTIO_LOAD
#undef REDUCTIO_STORE

}  // namespace on_sim
}  // namespace reductio::device

// `auto [x, y] = p[i]`.
template <class Pointer>
struct std::tuple_size<reductio::device::Reference<Pointer>> {
  static_assert(!reductio::device::is_reference<reductio::device::Reference<Pointer>>,
                "write the type of what you read: `float2 v = p[i]; auto [x, y] = v;`");
};

// CUDA's own names are global there, so they are here.
using reductio::device::__ldca;
using reductio::device::__ldcg;
using reductio::device::__ldcs;
using reductio::device::__ldcv;
using reductio::device::__ldg;
using reductio::device::__ldlu;
using reductio::device::__stcg;
using reductio::device::__stcs;
using reductio::device::__stwb;
using reductio::device::__stwt;
