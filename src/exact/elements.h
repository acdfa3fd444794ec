#pragma once
/// Elements as their bits: what a window and bins ask of a float, a double or a number of 16 bits.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../device/kernel.h"
#include "../tuned/digits.h"
#include "../tuned/reading.h"

#ifndef __CUDACC__
// Only declared, as CUDA's are in reading.h.
namespace reductio {
template <int fraction_bits>
struct NarrowFloat;
namespace device {
inline namespace REDUCTIO_DEVICE_NAMESPACE {
struct __nv_bfloat16;
}
}  // namespace device
}  // namespace reductio
#endif

namespace reductio::tuned {
inline namespace REDUCTIO_DEVICE_NAMESPACE {

template <class In>
struct IsBFloat {
#ifdef __CUDACC__
  static constexpr bool value = std::is_same<In, __nv_bfloat16>::value;
#else  // the host's numbers of that format, too
  static constexpr bool value =
      std::is_same<In, device::__nv_bfloat16>::value || std::is_same<In, NarrowFloat<7>>::value;
#endif
};

/// Elements as their bits. `head`: the 32 bits with the sign and the exponent, whose lowest bit may stand for others
/// below; its exponent starts at bit `places`. `precision`: bits that an element has at most.
template <class In>
struct ElementBits {  // of 16 bits, as the float that has its value
  static constexpr int places = 23, bias = 127, mantissa = 24, most_exponent = 255,
                       precision = sizeof(In) == 2 ? 11 : mantissa;
  static constexpr unsigned lanes = 16 / sizeof(In);
  static __device__ unsigned head(const std::uint32_t (&w)[4], unsigned k) {
    if constexpr (sizeof(In) == 4) return w[k];
    const float x = single(w, k);
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
  }
  /// Of 16 bits without a conversion, which takes four times an addition's time: the exponent's field as it is, and
  /// multiplied to its place. Subnormal numbers, too; infinities and NaN become finite.
  static __device__ double value(const std::uint32_t (&w)[4], unsigned k) {
    if constexpr (sizeof(In) == 4) return single(w, k);
    constexpr bool is_bfloat = IsBFloat<In>::value;
    constexpr int moved = is_bfloat ? 3 : 6;  // from a float's place for the exponent to a double's
    const auto own = static_cast<std::int32_t>(k % 2 == 0 ? w[k / 2] << 16 : w[k / 2]);
    const std::uint64_t bits =
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(own >> moved) & (is_bfloat ? 0x8fffe000u : 0x81fffc00u))
        << 32;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x * power_of_two<double>(is_bfloat ? 1023 - 127 : 1023 - 15);
  }
  static __device__ std::uint64_t fraction(const std::uint32_t (&w)[4], unsigned k) { return head(w, k) & 0x7fffffu; }
  /// Of two bfloats.
  static __device__ float sum_of_two(std::uint32_t both) {
    const std::uint32_t low = both << 16, high = both & 0xffff0000u;
    float x, y;
    memcpy(&x, &low, sizeof x);
    memcpy(&y, &high, sizeof y);
    return x + y;
  }

 private:
  static __device__ float single(const std::uint32_t (&w)[4], unsigned k) {
    In x;
    if constexpr (sizeof(In) == 4) {
      memcpy(&x, &w[k], sizeof x);
    } else {
      const auto own = static_cast<std::uint16_t>(w[k / 2] >> 16 * (k % 2));
      memcpy(&x, &own, sizeof x);
    }
    return widened<float>(x);
  }
};

template <>
struct ElementBits<double> {
  static constexpr int places = 20, bias = 1023, mantissa = 53, most_exponent = 2047, precision = mantissa;
  static constexpr unsigned lanes = 2;
  static __device__ unsigned head(const std::uint32_t (&w)[4], unsigned k) {
    return w[2 * k + 1] | static_cast<unsigned>(w[2 * k] != 0);
  }
  static __device__ double value(const std::uint32_t (&w)[4], unsigned k) {
    const std::uint64_t bits = std::uint64_t{w[2 * k + 1]} << 32 | w[2 * k];
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
  static __device__ std::uint64_t fraction(const std::uint32_t (&w)[4], unsigned k) {
    return std::uint64_t{w[2 * k + 1] & 0xfffffu} << 32 | w[2 * k];
  }
};

/// Sixteen bytes of -0, which changes no sum, not even that of zeros.
template <class In>
__device__ uint4 negative_zeros() {
  const unsigned sign = sizeof(In) == 2 ? 0x80008000u : 0x80000000u;
  return {sizeof(In) == 8 ? 0 : sign, sign, sizeof(In) == 8 ? 0 : sign, sign};
}

}  // namespace REDUCTIO_DEVICE_NAMESPACE
}  // namespace reductio::tuned
