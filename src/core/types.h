#pragma once
/// The vocabulary of a reduction: what is added up (ElementType), how (Operation), and where (DeviceKind).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace reductio {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T> || std::is_same_v<T, Int128> || std::is_same_v<T, UInt128>;

enum class DeviceKind { cuda, sim, cpu };
enum class Operation {
  sum,
  sum_of_squares,
  moments,   ///< the sum and the sum of squares, by one call: a result of two values
  wide_sum,  ///< the sum in an accumulator of 64 bits, of types whose own is narrower: i8, i32 and f32
};
enum class ElementType {
  i8,
  i32,
  i64,
  i128,  ///< of the releases of CUB and Thrust alone; only its sum is defined
  f16,   ///< IEEE 754's binary16 (core/narrow_float.h)
  bf16,  ///< bfloat16, the upper half of an f32
  f32,
  f64,
};

inline constexpr int device_kinds = 3;

/// The names that commands, file names and CSV fields use ("cuda", "sum_of_squares", "f32").
std::string_view name(DeviceKind);
std::string_view name(Operation);
std::string_view name(ElementType);

/// The inverse of name(). Throws UsageError, which lists the known names.
DeviceKind parse_device(std::string_view);
Operation parse_operation(std::string_view);
ElementType parse_type(std::string_view);

std::span<const DeviceKind> all_devices();
std::span<const Operation> all_operations();
std::span<const ElementType> all_types();

/// Whether elements are squared before they are added.
bool has_squares(Operation);
/// Whether the operation takes elements of that type. The wide sum does not take all, and the sum alone takes i128.
bool is_defined(Operation, ElementType);
/// Accumulators that a result consists of: 2 of moments, the sum before the sum of squares; else 1.
std::size_t values_of(Operation);

/// Room for one element of any type.
using ElementBytes = std::array<std::byte, 16>;

/// Bytes of one element.
std::size_t size_of(ElementType);
bool is_floating(ElementType);

/// The type in which elements are added up, and which the result has: i32 for i8, f32 for f16 and bf16, else the
/// element's own; of a wide sum i64 for i8 and i32, f64 for f32. Integers wrap: arithmetic modulo 2^width of the
/// accumulator.
ElementType accumulator_of(Operation, ElementType);

/// One reduction to be done: n elements of one type, one operation.
struct Problem {
  Operation operation = Operation::sum;
  ElementType type = ElementType::i32;
  std::size_t n = 0;

  ElementType accumulator() const { return accumulator_of(operation, type); }
  /// Bytes of the input, counted once; what every bandwidth is derived from.
  std::size_t bytes() const { return n * size_of(type); }
  /// Bytes of the result, which lies in memory as accumulators one after the other; at most 16.
  std::size_t result_bytes() const { return values_of(operation) * size_of(accumulator()); }
};

/// What a variant may know of the device when it chooses its launch.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::cpu;
  std::string name;                      ///< "NVIDIA H200", "simulated GPU", the CPU's model
  int sm_count = 0;                      ///< multiprocessors; 0 on a CPU
  int threads_per_sm = 0;                ///< most resident threads of a multiprocessor
  std::size_t shared_bytes_per_block = 0;  ///< dynamic shared memory a launch gets without opting in
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;          ///< all of the device's memory
  unsigned max_grid = 0x7fffffffu;       ///< most blocks of a one-dimensional grid
  /// Ten times the compute capability whose instructions the kernels may use: 90 for 9.0. That of the GPU, or an older
  /// one that the program's code for it was compiled for. 0 on a CPU.
  int capability = 0;
  int cluster_blocks = 0;  ///< most blocks of a thread block cluster; 0 where there are none
};

/// A queue of a device's work. The handle is the device's own (cudaStream_t); null is its default stream.
struct Stream {
  void* handle = nullptr;
  operator void*() const { return handle; }  ///< as a launch takes it
};

}  // namespace reductio
