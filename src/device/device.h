#pragma once
/// The only header that a kernel file needs. A kernel is plain CUDA C++ in a .cu file and is compiled twice from
/// the same source: by nvcc for the GPU (cuda.cuh), and by the host compiler for the simulated device (sim.h).
/// Both headers give the same names, listed here:
///
///   in kernels   threadIdx, blockIdx, blockDim, gridDim (x only), __global__, __device__, __launch_bounds__;
///                __syncthreads, __syncthreads_or, __syncwarp, __shfl_down_sync, __shfl_xor_sync, __shfl_sync,
///                __reduce_add_sync, __threadfence, atomicAdd, atomicInc, clock64 as CUDA defines them;
///                globaltimer(): nanoseconds of the GPU's one clock; grid_sync(): all blocks of a cooperative launch;
///                load_acquire(p), store_release(p, v): scope of the whole GPU; waiting loops poll by load_acquire
///   pointers     GlobalPtr<T>, SharedPtr<T>: on CUDA exactly T*; on the simulated device checked at every access.
///                Write the type of what you read (`T x = p[i];`, never `auto`)
///   shared       shared_memory<T>(): the block's dynamic shared memory, whose bytes the launch states
///   launching    launch<kernel>(Launch{grid, block, shared_bytes, stream}, args...), the only place with <<<>>>;
///                launch_cooperative<kernel>(...): the same, all blocks resident at once
///   memory       Buffer<T>(count): workspace, poisoned when made, shared by copies, freed with the last;
///                global<T>(p, count): the harness's pointer as GlobalPtr; zero(p, count, stream), asynchronous;
///                copy_to_host(dst, p, count, stream), returns when the values have arrived;
///                HostBuffer<T>(count, pinned): host memory, page-locked if `pinned`; moves, does not copy
///   planning     dispatch(), dispatch_type(): from a Problem to template arguments; Types<...>: types as an argument;
///                AddOnHost<T>: the host's part, a finish function; ceil_div(a, b)
///   registering  Register(Variant, Prepare), device_kind
///
/// Everything of one device lives in an inline namespace of its own, and kernels in anonymous namespaces: both
/// objects are linked into one program, and `inline` functions of the same name would otherwise be merged.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "core/variant.h"

namespace reductio::device {

/// The shape of a launch. `shared_bytes` is dynamic shared memory per block.
struct Launch {
  std::size_t grid;
  unsigned block;
  std::size_t shared_bytes;
  Stream stream;
};

/// a / b rounded up; does not overflow.
constexpr std::size_t ceil_div(std::size_t a, std::size_t b) { return a / b + (a % b != 0); }

}  // namespace reductio::device

#ifdef __CUDACC__
#include "device/cuda/cuda.cuh"
#else
#include "device/sim/sim.h"
#endif

namespace reductio::device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

/// What an operation does to each element as it is loaded: every operation here is a sum of loaded values.
struct Identity {
  template <class T>
  __device__ T operator()(T x) const { return x; }
};
struct Square {
  template <class T>
  __device__ T operator()(T x) const { return x * x; }
};

/// Calls f.template operator()<T, Load>() with the problem's types. T is the type that kernels add in: unsigned for
/// i32, because signed overflow is undefined in C++ while integer sums here are defined modulo 2^32.
template <class F>
auto dispatch(const Problem& p, F&& f) {
  const auto with_load = [&]<class T>() {
    return p.operation == Operation::sum ? f.template operator()<T, Identity>() : f.template operator()<T, Square>();
  };
  switch (p.type) {
    case ElementType::i32: return with_load.template operator()<std::uint32_t>();
    case ElementType::f32: return with_load.template operator()<float>();
    case ElementType::f64: return with_load.template operator()<double>();
  }
  throw Refused("element type is not supported");
}

/// The same for variants that know one operation only: f.template operator()<T>().
template <class F>
auto dispatch_type(const Problem& p, F&& f) {
  switch (p.type) {
    case ElementType::i32: return f.template operator()<std::uint32_t>();
    case ElementType::f32: return f.template operator()<float>();
    case ElementType::f64: return f.template operator()<double>();
  }
  throw Refused("element type is not supported");
}

/// Types as an argument. A lambda that launches a kernel takes its template arguments by it:
/// `[]<class T, class Load>(Types<T, Load>, const auto&... args) { launch<kernel<T, Load>>(args...); }`.
template <class...>
struct Types {};

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

/// Registers a variant for the device that this file is being compiled for.
struct Register {
  Register(Variant v, Prepare p) { register_variant(std::move(v), device_kind, std::move(p)); }
};

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::device
