#pragma once
/// The only header that a kernel file needs: what a kernel is written with (device/kernel.h lists it), and what its
/// variants are prepared and registered with:
///
///   memory       Buffer<T>(count): workspace, poisoned when made, shared by copies, freed with the last;
///                global<T>(p, count): the harness's pointer as GlobalPtr; zero(p, count, stream), asynchronous;
///                copy_to_host(dst, p, count, stream), returns when the values have arrived;
///                HostBuffer<T>(count, pinned): host memory, page-locked if `pinned`; moves, does not copy
///   planning     dispatch(problem, f): from a problem to template arguments; Kernels<Start>: a variant's kernel for
///                all of them; blocks_or_refuse(); plan_of(info, enqueue); AddOnHost<T>: the host's part
///   registering  Register(Variant, Prepare), or for a table of variants Register(variant, prepare, rows)

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/variant.h"
#include "device/kernel.h"
#ifdef __CUDACC__
#include "device/cuda/cuda.cuh"
// "template parameter is not used": of `[]<class T>() { ... }`, whose template arguments are always given.
#pragma nv_diag_suppress 445
#endif

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// Calls f.template operator()<T, Load>() with the problem's types, or <T>() where f knows one operation only. T is the
/// type that kernels add in: unsigned for i32, because signed overflow is undefined in C++ while integer sums here are
/// defined modulo 2^32.
template <class F>
auto dispatch(const Problem& p, F&& f) {
  const auto with = [&]<class T>() {
    if constexpr (requires { f.template operator()<T>(); })
      return f.template operator()<T>();
    else
      return p.operation == Operation::sum ? f.template operator()<T, Identity>() : f.template operator()<T, Square>();
  };
  switch (p.type) {
    case ElementType::i32: return with.template operator()<std::uint32_t>();
    case ElementType::f32: return with.template operator()<float>();
    case ElementType::f64: return with.template operator()<double>();
  }
  throw Refused("element type is not supported");
}

/// One variant's kernel, for whatever types a problem has. It is written as a function of those types that gives the
/// launch of the kernel, `[]<class T, class Load>() { return launch<kernel<T, Load>>; }`. The function may take the
/// settings, `(const Settings& s)`, and may leave out Load where the kernel knows one operation only.
/// `Start<T, Load>` is what the document's kernels are launched by: `std::function<void(const Launch&, parameters...)>`.
template <template <class T, class Load> class Start>
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
  Start<T, Load> get(const Settings& s) const {
    return static_cast<const One<T, Load>&>(all_).choose(s);
  }

 private:
  template <class T, class Load>
  struct One {
    Start<T, Load> (*choose)(const Settings&) = nullptr;
  };
  template <class T>
  struct Both : One<T, Identity>, One<T, Square> {};
  struct All : Both<std::uint32_t>, Both<float>, Both<double> {};

  template <class Choose, class T>
  void add() {
    static_cast<One<T, Identity>&>(all_).choose = [](const Settings& s) { return chosen<Choose, T, Identity>(s); };
    static_cast<One<T, Square>&>(all_).choose = [](const Settings& s) { return chosen<Choose, T, Square>(s); };
  }
  template <class Choose, class T, class Load>
  static Start<T, Load> chosen([[maybe_unused]] const Settings& s) {
    constexpr Choose choose{};
    if constexpr (requires { choose.template operator()<T, Load>(s); })
      return choose.template operator()<T, Load>(s);
    else if constexpr (requires { choose.template operator()<T, Load>(); })
      return choose.template operator()<T, Load>();
    else if constexpr (requires { choose.template operator()<T>(s); })
      return choose.template operator()<T>(s);
    else
      return choose.template operator()<T>();
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

/// Whether this way of finishing leaves partial results to the host.
inline bool finishes_on_host(const std::string& finish) { return finish == "host" || finish == "host-pinned"; }

/// Registers variants for the device that this file is being compiled for: one, or a table of those that share
/// variant(row), which says what a row is to the harness, and prepare(row, problem, settings, gpu).
struct Register {
  Register(Variant v, Prepare p) { register_variant(std::move(v), device_kind, std::move(p)); }

  template <class Row>
  Register(Variant (*variant)(const Row&),
           std::unique_ptr<Plan> (*prepare)(const Row&, const Problem&, const Settings&, const DeviceInfo&),
           const std::vector<Row>& rows) {
    for (const Row& row : rows)
      register_variant(variant(row), device_kind, [=](const Problem& p, const Settings& s, const DeviceInfo& gpu) {
        return prepare(row, p, s, gpu);
      });
  }
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::device
