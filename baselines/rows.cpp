/// Sums of rows, columns and segments on one core, beside which all others stand:
///
///   host/rows       a loop over each row, one addition after the other
///   host/columns    a loop over the rows, which adds each to all outputs: it reads as the memory lies
///   host/segments   a loop over each segment
///   eigen/rowwise   Map::rowwise().sum()
///   eigen/colwise   Map::colwise().sum()

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <string>

#include "baselines/cpu_types.h"
#include "core/variant.h"

namespace reductio {
namespace {

template <class T>
using Matrix = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>, Eigen::Unaligned,
                          Eigen::OuterStride<>>;
template <class T>
using RowOfSums = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;
template <class T>
using ColumnOfSums = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;

/// A plan that calls `call(in, out)` with T's pointers, of sums of at most `longest` elements one after the other.
template <class Call>
std::unique_ptr<Plan> plan_over_shape(const Problem& p, std::size_t longest, Call call) {
  return dispatch_cpu(p, [&]<class T>() -> std::unique_ptr<Plan> {
    return plan_of({.longest_chain = longest},
                   [=](void* in, void* out, Stream) { call(static_cast<const T*>(in), static_cast<T*>(out)); });
  });
}

std::unique_ptr<Plan> prepare_rows(const Problem& p, const Settings&, const DeviceInfo&) {
  return plan_over_shape(p, p.columns(),
                         [rows = p.rows(), columns = p.columns(), pitch = p.pitch()]<class T>(const T* in, T* out) {
                           for (std::size_t r = 0; r < rows; ++r) {
                             T sum = 0;
                             for (std::size_t c = 0; c < columns; ++c) sum += in[r * pitch + c];
                             out[r] = sum;
                           }
                         });
}

std::unique_ptr<Plan> prepare_columns(const Problem& p, const Settings&, const DeviceInfo&) {
  return plan_over_shape(p, p.rows(),
                         [rows = p.rows(), columns = p.columns(), pitch = p.pitch()]<class T>(const T* in, T* out) {
                           std::fill_n(out, columns, T(0));
                           for (std::size_t r = 0; r < rows; ++r)
                             for (std::size_t c = 0; c < columns; ++c) out[c] += in[r * pitch + c];
                         });
}

std::unique_ptr<Plan> prepare_segments(const Problem& p, const Settings&, const DeviceInfo&) {
  const std::int64_t* const offsets = p.shape.offsets_on_device;
  return plan_over_shape(p, longest_line(p), [offsets, segments = p.segments()]<class T>(const T* in, T* out) {
    for (std::size_t s = 0; s < segments; ++s) {
      T sum = 0;
      for (std::int64_t i = offsets[s]; i < offsets[s + 1]; ++i) sum += in[i];
      out[s] = sum;
    }
  });
}

template <class T>
Matrix<T> matrix_at(const T* in, std::size_t rows, std::size_t columns, std::size_t pitch) {
  return {in, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns),
          Eigen::OuterStride<>(static_cast<Eigen::Index>(pitch))};
}

/// Eigen folds packets, so no element passes through more additions than there are.
std::unique_ptr<Plan> prepare_rowwise(const Problem& p, const Settings&, const DeviceInfo&) {
  return plan_over_shape(p, p.columns(),
                         [rows = p.rows(), columns = p.columns(), pitch = p.pitch()]<class T>(const T* in, T* out) {
                           ColumnOfSums<T>(out, static_cast<Eigen::Index>(rows)) =
                               matrix_at(in, rows, columns, pitch).rowwise().sum();
                         });
}

std::unique_ptr<Plan> prepare_colwise(const Problem& p, const Settings&, const DeviceInfo&) {
  return plan_over_shape(p, p.rows(),
                         [rows = p.rows(), columns = p.columns(), pitch = p.pitch()]<class T>(const T* in, T* out) {
                           RowOfSums<T>(out, static_cast<Eigen::Index>(columns)) =
                               matrix_at(in, rows, columns, pitch).colwise().sum();
                         });
}

Variant describe_over_shape(std::string id, std::string title, std::string cites, Operation operation,
                            Determinism determinism) {
  return {.id = std::move(id),
          .title = std::move(title),
          .cites = std::move(cites),
          .kind = VariantKind::cpu,
          .own_experiment = "shapes",
          .how = {.thread = "one output after the other", .block = "", .grid = "one core"},
          .operations = {operation},
          .types = {ElementType::f32, ElementType::f64, ElementType::i32},
          .determinism = determinism};
}

const RegisterCpu rows(describe_over_shape("host/rows", "loop over rows", "our own", Operation::row_sums,
                                           Determinism::always),
                       prepare_rows);
const RegisterCpu columns(describe_over_shape("host/columns", "rows added to all columns", "our own",
                                              Operation::column_sums, Determinism::always),
                          prepare_columns);
const RegisterCpu segments(describe_over_shape("host/segments", "loop over segments", "our own",
                                               Operation::segment_sums, Determinism::always),
                           prepare_segments);
const RegisterCpu rowwise(describe_over_shape("eigen/rowwise", "Eigen rowwise sum", "Map::rowwise().sum()",
                                              Operation::row_sums, Determinism::per_launch_shape),
                          prepare_rowwise);
const RegisterCpu colwise(describe_over_shape("eigen/colwise", "Eigen colwise sum", "Map::colwise().sum()",
                                              Operation::column_sums, Determinism::per_launch_shape),
                          prepare_colwise);

}  // namespace
}  // namespace reductio
