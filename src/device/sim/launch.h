#pragma once
/// What plans call on the simulated device: launches, memory with an owner, and copies.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <typeinfo>

#include "device/sim/memory.h"
#include "device/sim/pointers.h"
#include "device/sim/streams.h"
#include "device/sim/waiting.h"

namespace reductio::device {
inline namespace on_sim {

/// Carries a kernel in its type: the only place where both compilers keep the template arguments of its name.
template <auto Kernel>
struct KernelName {};

/// A kernel's argument. `const T* __restrict__` promises that the launch writes nothing there, and no macro tells which
/// pointers are so: here all of its parameters that point to const do.
template <class T>
const T& as_parameter(const T& argument) {
  return argument;
}
template <class T>
GlobalPtr<const T> as_parameter(GlobalPtr<const T> p) {
  sim::View view = p.view();
  view.constant = true;
  return {p.address(), view};
}

/// One launch of a kernel: what every thread of it calls. Each gets its own copy of the arguments, as parameters of a
/// kernel are.
template <class... Parameters>
struct KernelCall {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> args;
  void operator()() const { std::apply(kernel, args); }
};

/// What launches of all kernels with these parameters share.
template <class... Parameters>
[[gnu::noinline]] void enqueue(const Launch& l, bool cooperative, void (*kernel)(Parameters...),
                               const std::type_info& name, const std::type_identity_t<Parameters>&... args) {
  sim::enqueue_kernel(Stream{l.stream}, {l.grid, l.block, l.shared_bytes, cooperative, l.overlaps},
                      KernelCall<Parameters...>{kernel, {as_parameter(args)...}}, name);
}

/// A kernel with its parameters, for launch<kernel>.
template <auto kernel>
struct Launcher;
template <class... Parameters, void (*kernel)(Parameters...)>
struct Launcher<kernel> {
  // Nobody would check what is read and written through it.
  static_assert(
      (!std::is_pointer_v<Parameters> && ...),
      "a kernel's parameter is a GlobalPtr<T>, not a raw pointer T*: on CUDA it is just that, and the simulated "
      "device checks every access through it");

  static void run(const Launch& l, Parameters... args) {
    enqueue(l, false, kernel, typeid(KernelName<kernel>), args...);
  }
  static void run_cooperative(const Launch& l, Parameters... args) {
    enqueue(l, true, kernel, typeid(KernelName<kernel>), args...);
  }
};

/// Kernels of one stream run one after the other here, but where Launch::overlaps says that they need not, what touches
/// global memory before this is a fault.
inline void wait_for_previous_kernel() { sim::wait_for_previous_kernel(); }
inline void let_next_kernel_begin() {}

template <auto kernel>
inline constexpr auto launch = &Launcher<kernel>::run;
template <auto kernel>
inline constexpr auto launch_cooperative = &Launcher<kernel>::run_cooperative;

template <class T>
GlobalPtr<T> global(void* p, std::size_t count, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const sim::View v = sim::view(p, count * sizeof(T), alignof(T), !std::is_const_v<T>, {file, line});
  return GlobalPtr<T>(v.begin, v);
}

/// The memory of a Buffer.
inline std::shared_ptr<void> allocate_workspace(std::size_t bytes) {
  return {sim::allocate_workspace(bytes), [](void* p) { sim::release(p); }};
}

/// All host memory is alike here.
template <class T>
class HostBuffer {
 public:
  HostBuffer(std::size_t count, bool pinned) : count_(count), memory_(std::make_unique<T[]>(count ? count : 1)) {
    if (pinned) sim::forbid_in_enqueue("allocates page-locked memory", "take it when the plan is prepared");
  }
  T* data() { return memory_.get(); }
  std::size_t size() const { return count_; }

 private:
  std::size_t count_;
  std::unique_ptr<T[]> memory_;
};

/// The memory behind `count` elements from p, for the host. Throws Fault, which names the caller, if they pass the end
/// of p's view.
template <class T>
void* host_range(GlobalPtr<T> p, std::size_t count, const char* caller = "host_range()", sim::Site site = {}) {
  const sim::View& v = p.view();
  if (count && (p.address() - v.begin > v.end - v.begin || (v.end - p.address()) / sizeof(T) < count))
    sim::fail_range(count, (v.end - v.begin) / sizeof(T), caller, site);
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(p.address()));
}

template <class T>
void zero(GlobalPtr<T> p, std::size_t count, Stream s, const char* file = __builtin_FILE(),
          int line = __builtin_LINE()) {
  sim::enqueue_fill(s, host_range(p, count, "zero()", {file, line}), 0, count * sizeof(T));
}

template <class T>
void copy_to_host(T* dst, std::type_identity_t<GlobalPtr<const T>> src, std::size_t count, Stream s,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  sim::copy_out(s, dst, host_range(src, count, "copy_to_host()", {file, line}), count * sizeof(T));
}

}  // namespace on_sim
}  // namespace reductio::device
