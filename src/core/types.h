#pragma once
/// The vocabulary of a reduction: what is added up (ElementType), how (Operation), and where (DeviceKind).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/shape.h"

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
  row_sums,      ///< of rows and columns: the sum of each row
  column_sums,   ///< likewise of each column
  segment_sums,  ///< the sum of each segment
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
/// Accumulators that one output consists of: 2 of moments, the sum before the sum of squares; else 1.
std::size_t values_of(Operation);
/// Whether it has an output for each row, column or segment: operations over shapes (InputShape), which have no other.
bool has_shape(Operation);

/// Room for one element of any type.
using ElementBytes = std::array<std::byte, 16>;

/// Bytes of one element.
std::size_t size_of(ElementType);
bool is_floating(ElementType);

/// The type in which elements are added up, and which the result has: i32 for i8, f32 for f16 and bf16, else the
/// element's own; of a wide sum i64 for i8 and i32, f64 for f32. Integers wrap: arithmetic modulo 2^width of the
/// accumulator.
ElementType accumulator_of(Operation, ElementType);

/// One reduction to be done: n elements of one type, one operation, and for operations over shapes how they lie.
struct Problem {
  Operation operation = Operation::sum;
  ElementType type = ElementType::i32;
  std::size_t n = 0;    ///< that are added up: without what lies between rows
  InputShape shape{};   ///< without one, an operation over shapes has one row, or one segment

  ElementType accumulator() const { return accumulator_of(operation, type); }
  std::size_t rows() const { return shape.rows.value_or(1); }
  std::size_t columns() const { return shape.columns.value_or(n); }
  std::size_t pitch() const { return shape.pitch_elements.value_or(columns()); }
  std::size_t segments() const { return shape.segments.value_or(1); }
  /// Elements of memory that the input spans, what lies between its rows included.
  std::size_t extent() const { return n == 0 ? 0 : shape.pitch_elements ? (rows() - 1) * pitch() + columns() : n; }
  /// One, or one for each row, column or segment.
  std::size_t outputs() const;
  /// Bytes of the input's elements, counted once; what every bandwidth is derived from.
  std::size_t bytes() const { return n * size_of(type); }
  /// Bytes of the result, which lies in memory as accumulators one after the other; at most 16 of one output.
  std::size_t result_bytes() const { return outputs() * values_of(operation) * size_of(accumulator()); }
};

/// Elements of the output that has most. A plan may know no more than that, n and `segments` of how segments lie.
std::size_t longest_line(const Problem&);

/// What a person asks of shapes; both empty: nothing.
struct AskedShapes {
  std::vector<AskedShape> matrices{};   ///< for sums of rows and of columns
  std::vector<std::string> segments{};  ///< their lengths, for sums of segments
  bool empty() const { return matrices.empty() && segments.empty(); }
};

/// Whether the operation is over such shapes as are asked for; any is where none are.
bool takes(Operation, const AskedShapes&);
/// The problems of an operation over each of `sizes` elements; of operations over shapes each shape that is asked for,
/// else about as many rows as columns, or segments of 32. Shapes that leave nothing open come once. Throws UsageError.
std::vector<Problem> problems_of(Operation, ElementType, const std::vector<std::size_t>& sizes, const AskedShapes&);
/// The problem of that many elements whose shape has this text (InputShape::text).
Problem problem_with_shape(Operation, ElementType, std::size_t n, const std::string& shape);


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
