/// One release of CUB and Thrust, compiled once for each (cmake/CcclReleases.cmake), its headers before the toolkit's.
///
/// Release 1.15 and 2.0 have no namespace of their own. THRUST_CUB_WRAPPED_NAMESPACE gives each release one: without it
/// the linker merges functions of the same name, and one release's code runs for all.

#include "baselines/cccl_release.h"

#ifdef REDUCTIO_CCCL_UNCOMPILED  // cmake/release_or_none.sh: it does not compile

static const reductio::RegisterCcclRelease release({.name = REDUCTIO_CCCL_RELEASE, .toolkit = REDUCTIO_CCCL_TOOLKIT});

#else

#include <cub/version.cuh>
#if CUB_VERSION >= 300300  // cub/thread/thread_load.cuh names the inline namespace of cuda::std that is renamed here
namespace cuda::std {
inline namespace _LIBCUDACXX_ABI_NAMESPACE {}
namespace __4 = _LIBCUDACXX_ABI_NAMESPACE;
}  // namespace cuda::std
#endif

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/system_error.h>

#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <limits>
#include <new>
#include <string>
#include <type_traits>

#include "core/error.h"
#if CUB_VERSION >= 300200
#include <iterator>

#include "baselines/cub_environment.h"
#include "baselines/cub_segmented.h"
#endif
#if defined(REDUCTIO_CCCL_VERSION) && REDUCTIO_CCCL_VERSION != CUB_VERSION
#error "another release's headers were found"
#endif
#if CUB_VERSION >= 200400
#include <cuda/std/functional>
#else
#include <cub/iterator/transform_input_iterator.cuh>
#endif

// Named, not anonymous: nvcc tells anonymous namespaces of one file apart by the compiler's process id alone.
namespace reductio::THRUST_CUB_WRAPPED_NAMESPACE {

namespace cub = ::THRUST_CUB_WRAPPED_NAMESPACE::cub;
namespace thrust = ::THRUST_CUB_WRAPPED_NAMESPACE::thrust;

#ifdef REDUCTIO_CCCL_SUMS_ALONE  // experiments/releases.py looks at their machine code
constexpr bool has_64_bit_counts = false;
#else
constexpr bool has_64_bit_counts = CUB_VERSION >= 200100;
#endif
#ifdef CCCL_VERSION
constexpr bool lacks_libcudacxx = CCCL_VERSION / 1000 != CUB_VERSION / 100;
#else
constexpr bool lacks_libcudacxx = false;
#endif

/// An element as the accumulator's type has it, and its square.
template <class Acc>
struct Widened {
  template <class In>
  __host__ __device__ Acc operator()(In x) const {
    return static_cast<Acc>(x);
  }
};
template <class Acc>
struct WidenedSquare {
  template <class In>
  __host__ __device__ Acc operator()(In x) const {
    const Acc wide = static_cast<Acc>(x);
    return wide * wide;
  }
};

#if CUB_VERSION >= 200400
template <class Transform, class In, class Acc, class Count>
cudaError_t transformed(void* temporary, std::size_t& bytes, const In* in, Acc* out, Count n, cudaStream_t s) {
  return cub::DeviceReduce::TransformReduce(temporary, bytes, in, out, n, ::cuda::std::plus<Acc>(), Transform(), Acc{0},
                                            s);
}
#else
template <class Acc>
struct Plus {
  __host__ __device__ Acc operator()(Acc a, Acc b) const { return a + b; }
};
/// Before TransformReduce: the addition's parameters widen, and an iterator squares. `in` stays a pointer where nothing
/// is squared, of which alone CUB's kernels load several elements at once.
template <class Transform, class In, class Acc, class Count>
cudaError_t transformed(void* temporary, std::size_t& bytes, const In* in, Acc* out, Count n, cudaStream_t s) {
  if constexpr (std::is_same_v<Transform, Widened<Acc>>)
    return cub::DeviceReduce::Reduce(temporary, bytes, in, out, n, Plus<Acc>(), Acc{0}, s);
  else
    return cub::DeviceReduce::Sum(temporary, bytes, cub::TransformInputIterator<Acc, Transform, const In*>(in, {}), out,
                                  n, s);
}
#endif

struct Sum {
  template <class In, class Acc, class Count>
  static cudaError_t call(void* temporary, std::size_t& bytes, const In* in, Acc* out, Count n, cudaStream_t s) {
    if constexpr (std::is_same_v<In, Acc>)
      return cub::DeviceReduce::Sum(temporary, bytes, in, out, n, s);
    else
      return transformed<Widened<Acc>>(temporary, bytes, in, out, n, s);
  }
};
struct SumOfSquares {
  template <class In, class Acc, class Count>
  static cudaError_t call(void* temporary, std::size_t& bytes, const In* in, Acc* out, Count n, cudaStream_t s) {
    return transformed<WidenedSquare<Acc>>(temporary, bytes, in, out, n, s);
  }
};

template <class Call, class In, class Acc>
cudaError_t cub_call(void* temporary, std::size_t& bytes, const void* in, void* out, std::size_t n, cudaStream_t s) {
  const auto with = [&](auto count) {
    return Call::call(temporary, bytes, static_cast<const In*>(in), static_cast<Acc*>(out), count, s);
  };
  if constexpr (has_64_bit_counts)
    if (n > std::numeric_limits<std::int32_t>::max()) return with(static_cast<std::int64_t>(n));
  return with(static_cast<std::int32_t>(n));
}

#if CUB_VERSION >= 300200  // 3.1 has gpu_to_gpu, too, whose sums with infinities are NaN
template <class Determinism>
struct SumWith {
  template <class In, class Acc, class Count>
  static cudaError_t call(void* temporary, std::size_t& bytes, const In* in, Acc* out, Count n, cudaStream_t s) {
    using Requirements = ::cuda::std::execution::env<Determinism>;
    return sum_by_environment<::cuda::execution::__get_requirements_t, Requirements>(temporary, bytes, in, out, n, s);
  }
};
#endif

template <class T>
void thrust_reduce(const void* in, std::size_t n, void* value, cudaStream_t s) {
  const T* const first = static_cast<const T*>(in);
  try {
    *static_cast<T*>(value) = thrust::reduce(thrust::cuda::par.on(s), first, first + n, T{0}, thrust::plus<T>());
  } catch (const thrust::system_error& e) {
    throw DeviceError(std::string("Thrust: ") + e.what());
  } catch (const std::bad_alloc& e) {
    throw DeviceError(std::string("Thrust: no memory for its temporary storage: ") + e.what());
  }
}

const RegisterCcclRelease release([] {
  CcclRelease r{.name = REDUCTIO_CCCL_RELEASE,
                .toolkit = REDUCTIO_CCCL_TOOLKIT,
                .version = CUB_VERSION,
                .takes_more_than_2_to_30 = has_64_bit_counts,
                .lacks_libcudacxx = lacks_libcudacxx};
  r.sum[ElementType::i8] = cub_call<Sum, std::int8_t, std::uint32_t>;
  r.sum[ElementType::i32] = cub_call<Sum, std::uint32_t, std::uint32_t>;
  r.sum[ElementType::i64] = cub_call<Sum, std::uint64_t, std::uint64_t>;
  r.sum[ElementType::i128] = cub_call<Sum, UInt128, UInt128>;
  r.sum[ElementType::f16] = cub_call<Sum, __half, float>;
  r.sum[ElementType::bf16] = cub_call<Sum, __nv_bfloat16, float>;
  r.sum[ElementType::f32] = cub_call<Sum, float, float>;
  r.sum[ElementType::f64] = cub_call<Sum, double, double>;
#ifndef REDUCTIO_CCCL_SUMS_ALONE
  r.transform_reduce[ElementType::i32] = cub_call<SumOfSquares, std::uint32_t, std::uint32_t>;
  r.transform_reduce[ElementType::f32] = cub_call<SumOfSquares, float, float>;
  r.transform_reduce[ElementType::f64] = cub_call<SumOfSquares, double, double>;
  r.reduce[ElementType::i32] = thrust_reduce<std::uint32_t>;
  r.reduce[ElementType::i64] = thrust_reduce<std::uint64_t>;
  r.reduce[ElementType::i128] = thrust_reduce<UInt128>;
  r.reduce[ElementType::f32] = thrust_reduce<float>;
  r.reduce[ElementType::f64] = thrust_reduce<double>;
#if CUB_VERSION >= 300200
  namespace determinism = ::cuda::execution::determinism;
  using GpuToGpu = SumWith<determinism::gpu_to_gpu_t>;
  using NotGuaranteed = SumWith<determinism::not_guaranteed_t>;
  r.gpu_to_gpu[ElementType::f32] = cub_call<GpuToGpu, float, float>;
  r.gpu_to_gpu[ElementType::f64] = cub_call<GpuToGpu, double, double>;
  r.by_offsets[ElementType::i32] = sum_by_offsets<std::uint32_t>;
  r.by_offsets[ElementType::f32] = sum_by_offsets<float>;
  r.by_offsets[ElementType::f64] = sum_by_offsets<double>;
  r.by_fixed_size[ElementType::i32] = sum_by_fixed_size<std::uint32_t>;
  r.by_fixed_size[ElementType::f32] = sum_by_fixed_size<float>;
  r.by_fixed_size[ElementType::f64] = sum_by_fixed_size<double>;
  r.not_guaranteed[ElementType::i32] = cub_call<NotGuaranteed, std::uint32_t, std::uint32_t>;
  r.not_guaranteed[ElementType::f32] = cub_call<NotGuaranteed, float, float>;
  r.not_guaranteed[ElementType::f64] = cub_call<NotGuaranteed, double, double>;
#endif
#endif
  return r;
}());

}  // namespace reductio::THRUST_CUB_WRAPPED_NAMESPACE

#endif
