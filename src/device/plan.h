#pragma once
/// What variants are prepared and registered with, but for sum_kernel(); device/device.h lists it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/loop_index.h"
#include "core/variant.h"
#include "device/kernel.h"
#ifdef __CUDACC__
#include "device/cuda/cuda.cuh"
// "template parameter is not used": of `[]<class T>() { ... }`, whose template arguments are always given.
#pragma nv_diag_suppress 445
#endif

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// Workspace of `count` elements. Poisoned with 0xFF bytes, which is NaN for floats, so that reading before writing
/// gives a wrong result. Copies share it, and it is freed with the last.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count), memory_(allocate_workspace((count ? count : 1) * sizeof(T))) {}
  T* ptr() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  std::size_t count_;
  std::shared_ptr<void> memory_;
};

/// A Buffer of zeros, not poisoned: state that one call of a plan leaves to the next (Variant::persistent_state). The
/// zeros are there when this returns. For preparing plans; never in enqueue().
template <class T>
Buffer<T> zeroed_buffer(std::size_t count) {
  Buffer<T> buffer(count);
#ifdef __CUDACC__
  check(cudaMemsetAsync(buffer.ptr(), 0, buffer.bytes(), native(workspace_stream())), "zeroing of a plan's state");
  check(cudaStreamSynchronize(native(workspace_stream())), "zeroing of a plan's state");
#else
  sim::fill_now(buffer.ptr(), 0, buffer.bytes());
#endif
  return buffer;
}

/// Calls f.template operator()<T, Load>() with the problem's types, or <T>() where f knows one operation only. T is the
/// type that kernels add in: unsigned for i32, because signed overflow is undefined in C++ while integer sums here are
/// defined modulo 2^32. What adds up in another type than the element's is in device/wide.h.
template <class F>
auto dispatch(const Problem& p, F&& f) {
  const auto with = [&]<class T>() {
    if constexpr (requires { f.template operator()<T>(); }) {
      return f.template operator()<T>();
    } else {
      switch (p.operation) {
        case Operation::sum: return f.template operator()<T, Identity>();
        case Operation::sum_of_squares: return f.template operator()<T, Square>();
        default: break;
      }
      throw Refused("operation is not supported");
    }
  };
  switch (p.type) {
    case ElementType::i32: return with.template operator()<std::uint32_t>();
    case ElementType::f32: return with.template operator()<float>();
    case ElementType::f64: return with.template operator()<double>();
    default: throw Refused("element type is not supported");
  }
}

/// for_loop_index(), but an i32 has 16 bits where the simulated device is to show that it wraps.
template <class F>
auto for_index(std::string_view type, F f) {
  if constexpr (device_kind == DeviceKind::sim)
    if (type == "i32" && indices_are_narrow()) return f.template operator()<std::int16_t>();
  return for_loop_index(type, f);
}

/// Calls f with the launch of a variant's kernel for these types. `choose` is that launch, or returns it:
/// `[]<class T, class Load>() { return launch<kernel<T, Load>>; }`, with or without settings. It leaves out
/// Load if the kernel knows one operation only. It has a third type,
/// `[]<class T, class Load, class Index>(const Settings& s)`, if the variant has the setting `index`
/// (core/loop_index.h).
template <class T, class Load, class Choose, class F>
auto with_kernel(const Choose& choose, [[maybe_unused]] const Settings& s, F f) {
  if constexpr (std::is_pointer_v<Choose>)
    return f(choose);
  else if constexpr (requires { choose.template operator()<T, Load, int>(s); })
    return for_index(s.text("index"),
                     [&]<class Index>() { return f(choose.template operator()<T, Load, Index>(s)); });
  else if constexpr (requires { choose.template operator()<T, Load, int>(); })
    return for_index(s.text("index"),
                     [&]<class Index>() { return f(choose.template operator()<T, Load, Index>()); });
  else if constexpr (requires { choose.template operator()<T, Load>(s); })
    return f(choose.template operator()<T, Load>(s));
  else if constexpr (requires { choose.template operator()<T, Load>(); })
    return f(choose.template operator()<T, Load>());
  else if constexpr (requires { choose.template operator()<T>(s); })
    return f(choose.template operator()<T>(s));
  else
    return f(choose.template operator()<T>());
}
/// Whether such a function takes Load, too.
template <class Choose>
constexpr bool takes_load =
    requires(const Choose& c, const Settings& s) { c.template operator()<float, Identity>(s); } ||
    requires(const Choose& c) { c.template operator()<float, Identity>(); } ||
    requires(const Choose& c, const Settings& s) { c.template operator()<float, Identity, int>(s); } ||
    requires(const Choose& c) { c.template operator()<float, Identity, int>(); };

/// Launches a kernel with these parameters: launch<kernel>, or a function that calls it.
template <class... Parameters>
using Start = std::function<void(const Launch&, Parameters...)>;

/// One variant's kernel, for whatever types a problem has, written as the function that with_kernel() calls.
/// `StartOf<T, Load>` is the Start of the document's kernels, which have the same parameters.
template <template <class T, class Load> class StartOf>
class Kernels {
 public:
  Kernels() = default;
  template <class Choose>
  Kernels(Choose) {  // NOLINT: written in place of the kernels
    add<Choose, std::uint32_t>();
    add<Choose, float>();
    add<Choose, double>();
  }
  template <class T, class Load = Identity>
  StartOf<T, Load> get(const Settings& s) const {
    return static_cast<const One<T, Load>&>(all_).choose(s);
  }

 private:
  template <class T, class Load>
  struct One {
    StartOf<T, Load> (*choose)(const Settings&) = nullptr;
  };
  template <class T>
  struct Both : One<T, Identity>, One<T, Square> {};
  struct All : Both<std::uint32_t>, Both<float>, Both<double> {};

  template <class Choose, class T>
  void add() {
    static_cast<One<T, Identity>&>(all_).choose = start_of<Choose, T, Identity>;
    static_cast<One<T, Square>&>(all_).choose = start_of<Choose, T, Square>;
  }
  template <class Choose, class T, class Load>
  static StartOf<T, Load> start_of(const Settings& s) {
    return with_kernel<T, Load>(Choose{}, s, [](auto start) -> StartOf<T, Load> { return start; });
  }
  All all_;
};

/// The host's part of a reduction as the documents do it: copies the partial results and adds them up one after the
/// other, in T. A finish function for plan_of(). Its host memory is taken when the plan is made: no call allocates.
/// The documents' memory is pageable, which the driver copies through a page-locked buffer of its own; `finish` says
/// whether this one is page-locked itself ("host-pinned").
template <class T>
class AddOnHost {
 public:
  AddOnHost(Buffer<T> partials, const std::string& finish)
      : partials_(std::move(partials)), host_(partials_.size(), finish == "host-pinned") {}
  void operator()(void* result, Stream stream) {
    copy_to_host<T>(host_.data(), partials_.ptr(), host_.size(), stream);
    T sum = 0;
    for (std::size_t i = 0; i < host_.size(); ++i) sum += host_.data()[i];
    std::memcpy(result, &sum, sizeof sum);
  }

 private:
  Buffer<T> partials_;
  HostBuffer<T> host_;
};

/// A plan whose `blocks(in, partials, stream)` leaves one value per block for the host to add. `info` says what the
/// device does with n elements; the host's part is added to it.
template <class T, class Blocks>
std::unique_ptr<Plan> plan_with_host_part(PlanInfo info, const Settings& s, std::size_t n, Blocks blocks) {
  const Buffer<T> partials(info.grid_blocks);
  info.longest_chain += std::min(partials.size(), ceil_div(n, info.block_threads));  // the others are zero
  info.workspace_bytes += partials.bytes();
  info.result = ResultLocation::host_part;
  const auto enqueue = [=](void* in, void*, Stream stream) { blocks(in, partials.ptr(), stream); };
  return plan_of(info, enqueue, AddOnHost<T>(partials, s.text("finish")));
}

/// One row of a document's table of variants: what it does not share with the others, and its kernel.
template <class Kernel>
struct Row {
  Own own;
  Kernel kernel;
};

/// Registers variants for the device that this file is being compiled for: one, or a document's table of them. There
/// `shared` is what all have in common; prepare(kernel, problem, settings, gpu) makes the plan of each, and where it is
/// given declines(kernel, problem, settings) is its Variant::declines.
struct Register {
  Register(Variant v, Prepare p, const char* file = __builtin_FILE()) {
    register_variant(std::move(v), device_kind, std::move(p), file);
  }

  template <class Kernel>
  Register(const Variant& shared,
           std::unique_ptr<Plan> (*prepare)(const Kernel&, const Problem&, const Settings&, const DeviceInfo&),
           const std::vector<Row<Kernel>>& rows,
           std::string (*declines)(const Kernel&, const Problem&, const Settings&) = nullptr,
           const char* file = __builtin_FILE()) {
    for (const Row<Kernel>& row : rows) {
      Variant v = combined(shared, row.own);
      if (declines)
        v.declines = [=, k = row.kernel](const Problem& p, const Settings& s) { return declines(k, p, s); };
      register_variant(
          std::move(v), device_kind,
          [=, k = row.kernel](const Problem& p, const Settings& s, const DeviceInfo& gpu) {
            return prepare(k, p, s, gpu);
          },
          file);
    }
  }
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::device
