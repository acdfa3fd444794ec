#include "core/types.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/error.h"

namespace reductio {
namespace {

constexpr std::array devices{DeviceKind::cuda, DeviceKind::sim, DeviceKind::cpu};
constexpr std::array operations{Operation::sum,      Operation::sum_of_squares, Operation::moments,
                                Operation::wide_sum, Operation::row_sums,       Operation::column_sums,
                                Operation::segment_sums};
constexpr std::array types{ElementType::i8,  ElementType::i32,  ElementType::i64, ElementType::i128,
                           ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64};

template <class E, std::size_t N>
E parse(std::string_view text, const std::array<E, N>& all, const char* what) {
  std::string known;
  for (E e : all) {
    if (name(e) == text) return e;
    known += (known.empty() ? "" : ", ") + std::string(name(e));
  }
  throw UsageError("unknown " + std::string(what) + " '" + std::string(text) + "'; known: " + known);
}

}  // namespace

std::string_view name(DeviceKind d) {
  switch (d) {
    case DeviceKind::cuda: return "cuda";
    case DeviceKind::sim: return "sim";
    case DeviceKind::cpu: return "cpu";
  }
  return "?";
}

std::string_view name(Operation o) {
  switch (o) {
    case Operation::sum: return "sum";
    case Operation::sum_of_squares: return "sum_of_squares";
    case Operation::moments: return "moments";
    case Operation::wide_sum: return "wide_sum";
    case Operation::row_sums: return "row_sums";
    case Operation::column_sums: return "column_sums";
    case Operation::segment_sums: return "segment_sums";
  }
  return "?";
}

std::string_view name(ElementType t) {
  switch (t) {
    case ElementType::i8: return "i8";
    case ElementType::i32: return "i32";
    case ElementType::i64: return "i64";
    case ElementType::i128: return "i128";
    case ElementType::f16: return "f16";
    case ElementType::bf16: return "bf16";
    case ElementType::f32: return "f32";
    case ElementType::f64: return "f64";
  }
  return "?";
}

DeviceKind parse_device(std::string_view text) { return parse(text, devices, "device"); }
Operation parse_operation(std::string_view text) { return parse(text, operations, "operation"); }
ElementType parse_type(std::string_view text) { return parse(text, types, "element type"); }

std::span<const DeviceKind> all_devices() { return devices; }
std::span<const Operation> all_operations() { return operations; }
std::span<const ElementType> all_types() { return types; }

bool has_squares(Operation o) { return o == Operation::sum_of_squares || o == Operation::moments; }
std::size_t values_of(Operation o) { return o == Operation::moments ? 2 : 1; }
bool has_shape(Operation o) {
  return o == Operation::row_sums || o == Operation::column_sums || o == Operation::segment_sums;
}

std::size_t Problem::outputs() const {
  switch (operation) {
    case Operation::row_sums: return rows();
    case Operation::column_sums: return columns();
    case Operation::segment_sums: return segments();
    default: return 1;
  }
}

std::size_t longest_line(const Problem& p) {
  if (p.operation == Operation::row_sums) return p.columns();
  if (p.operation == Operation::column_sums) return p.rows();
  if (p.operation != Operation::segment_sums || !p.shape.offsets) return p.n;
  std::int64_t longest = 0;
  const auto& offsets = *p.shape.offsets;
  for (std::size_t i = 1; i < offsets.size(); ++i) longest = std::max(longest, offsets[i] - offsets[i - 1]);
  return static_cast<std::size_t>(longest);
}

namespace {

Problem over_shape(Operation operation, ElementType type, InputShape shape) {
  const std::size_t n = shape.offsets ? static_cast<std::size_t>(shape.offsets->back()) : *shape.rows * *shape.columns;
  return {operation, type, n, std::move(shape)};
}

}  // namespace

bool takes(Operation operation, const AskedShapes& asked) {
  if (asked.empty()) return true;
  return operation == Operation::segment_sums ? !asked.segments.empty()
                                              : has_shape(operation) && !asked.matrices.empty();
}

std::vector<Problem> problems_of(Operation operation, ElementType type, const std::vector<std::size_t>& sizes,
                                 const AskedShapes& asked) {
  std::vector<Problem> out;
  if (!has_shape(operation)) {
    for (const std::size_t n : sizes) out.push_back({operation, type, n});
    return out;
  }
  const auto add = [&](InputShape shape) {
    Problem p = over_shape(operation, type, std::move(shape));
    const auto same = [&](const Problem& o) { return o.n == p.n && o.shape == p.shape; };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(p));
  };
  if (operation == Operation::segment_sums) {
    for (const std::size_t n : sizes)
      for (const std::string& lengths :
           asked.segments.empty() ? std::vector<std::string>{"uniform:32"} : asked.segments)
        add(ragged(lengths, n));
    return out;
  }
  for (const AskedShape& shape : asked.matrices.empty() ? std::vector<AskedShape>{{}} : asked.matrices)
    if (shape.fits_any_n())
      for (const std::size_t n : sizes) add(shape_of(shape, n));
    else
      add(shape_of(shape, 0));
  return out;
}

Problem problem_with_shape(Operation operation, ElementType type, std::size_t n, const std::string& shape) {
  if (shape.empty()) return {operation, type, n};
  if (operation == Operation::segment_sums) return over_shape(operation, type, ragged(shape, n));
  return over_shape(operation, type, shape_of(parse_shapes(shape).front(), n));
}

std::size_t size_of(ElementType t) {
  switch (t) {
    case ElementType::i8: return 1;
    case ElementType::f16:
    case ElementType::bf16: return 2;
    case ElementType::i32:
    case ElementType::f32: return 4;
    case ElementType::i64:
    case ElementType::f64: return 8;
    case ElementType::i128: return 16;
  }
  return 0;
}

bool is_floating(ElementType t) { return t >= ElementType::f16; }

bool is_defined(Operation o, ElementType t) {
  if (t == ElementType::i128) return o == Operation::sum;
  return o != Operation::wide_sum || accumulator_of(o, t) != accumulator_of(Operation::sum, t);
}

ElementType accumulator_of(Operation o, ElementType t) {
  const bool wide = o == Operation::wide_sum;
  switch (t) {
    case ElementType::i8: return wide ? ElementType::i64 : ElementType::i32;
    case ElementType::i32: return wide ? ElementType::i64 : t;
    case ElementType::f32: return wide ? ElementType::f64 : t;
    case ElementType::f16:
    case ElementType::bf16: return ElementType::f32;
    default: return t;
  }
}

}  // namespace reductio
