#pragma once
/// What plans call on the simulated device: launches, memory with an owner, and copies.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "device/sim/memory.h"
#include "device/sim/place.h"
#include "device/sim/streams.h"
#include "device/sim/waiting.h"

namespace reductio::device {
inline namespace on_sim {

/// Carries a kernel in its type: the only place where both compilers keep the template arguments of its name.
template <auto Kernel>
struct KernelName {};

/// One launch of a kernel: what every thread of it calls. Each gets its own copy of the arguments, as parameters of a
/// kernel are.
template <class... Parameters>
struct KernelCall {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> values;
  std::tuple<const Parameters*...> places;

  KernelCall(void (*k)(Parameters...), const Parameters&... arguments)
      : kernel(k),
        values(arguments...),
        places(std::apply([](const auto&... v) { return std::tuple{&v...}; }, values)) {}
  KernelCall(const KernelCall&) = delete;

  /// Reads the host's memory, which no kernel does: without hooks.
  __attribute__((no_sanitize("thread"))) static void run(const void* self) {
    const auto& call = *static_cast<const KernelCall*>(self);
    call.start(std::index_sequence_for<Parameters...>());
  }
  template <std::size_t... I>
  __attribute__((no_sanitize("thread"))) void start(std::index_sequence<I...>) const {
    kernel(*std::get<I>(places)...);
  }
};

/// What launches of all kernels with these parameters share.
template <class... Parameters>
[[gnu::noinline]] void enqueue(const Launch& l, bool cooperative, void (*kernel)(Parameters...),
                               const char* name, const std::type_identity_t<Parameters>&... args) {
  using Call = KernelCall<Parameters...>;
  sim::Shape shape = sim::shape_of({l.grid.x, l.grid.y, l.grid.z}, {l.block.x, l.block.y, l.block.z});
  shape.shared_bytes = l.shared_bytes;
  shape.cooperative = cooperative;
  shape.overlaps = l.overlaps;
  shape.cluster = l.cluster;
  sim::enqueue_kernel(Stream{l.stream}, shape,
                      {&Call::run, std::make_shared<const Call>(kernel, args...), sizeof(Call), name});
}

/// A kernel with its parameters, for launch<kernel>.
template <auto kernel>
struct Launcher;
template <class... Parameters, void (*kernel)(Parameters...)>
struct Launcher<kernel> {
  static void run(const Launch& l, Parameters... args) {
    enqueue(l, false, kernel, typeid(KernelName<kernel>).name(), args...);
  }
  static void run_cooperative(const Launch& l, Parameters... args) {
    enqueue(l, true, kernel, typeid(KernelName<kernel>).name(), args...);
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

template <class T>
void zero(T* p, std::size_t count, Stream s, sim::Site site = sim::here()) {
  sim::check_range(p, count * sizeof(T), sizeof(T), "zero()", site);
  sim::enqueue_fill(s, p, 0, count * sizeof(T));
}

template <class T>
void copy_to_host(T* dst, const std::type_identity_t<T>* src, std::size_t count, Stream s,
                  sim::Site site = sim::here()) {
  sim::check_range(src, count * sizeof(T), sizeof(T), "copy_to_host()", site);
  sim::copy_out(s, dst, src, count * sizeof(T));
}

}  // namespace on_sim
}  // namespace reductio::device
