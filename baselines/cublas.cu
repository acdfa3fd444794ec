/// cuBLAS: the sum of squares as the dot product of the input with itself, and sums of rows or columns as the product
/// of a matrix with a vector of ones, which is how many compute them.
///
///   cublas/dot        sum of squares, f32 and f64
///   cublas/gemv-ones  sums of rows and of columns, f32 and f64
///
/// cuBLAS exists only as shared libraries of hundreds of megabytes, so it is loaded when a plan first asks for it and
/// refused where it is absent; nothing of its headers is needed to build. REDUCTIO_CUBLAS names the file to load.

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "baselines/longest_chain.h"
#include "device/device.h"

namespace reductio {
namespace {

using device::Buffer;
using device::native;

/// The part of cuBLAS's C interface that is used here, as its documentation gives it.
using Handle = struct cublasContext*;
using Status = int;
constexpr Status success = 0;
constexpr int pointer_mode_device = 1;

template <class T, class Count>
using Dot = Status (*)(Handle, Count n, const T* x, Count incx, const T* y, Count incy, T* result);

template <class T>
using Gemv = Status (*)(Handle, int transposed, int m, int n, const T* alpha, const T* a, int lda, const T* x, int incx,
                        const T* beta, T* y, int incy);

struct Library {
  Status (*create)(Handle*);
  Status (*destroy)(Handle);
  Status (*set_stream)(Handle, cudaStream_t);
  Status (*set_workspace)(Handle, void*, std::size_t);
  Status (*set_pointer_mode)(Handle, int);
  const char* (*status_text)(Status);
  Gemv<float> gemv_f32;
  Gemv<double> gemv_f64;
  Dot<float, int> dot_f32;
  Dot<double, int> dot_f64;
  Dot<float, std::int64_t> dot_f32_64;  ///< null before cuBLAS 12
  Dot<double, std::int64_t> dot_f64_64;

  template <class T, class Count>
  Dot<T, Count> dot() const {
    if constexpr (std::is_same_v<Count, int>) {
      if constexpr (std::is_same_v<T, float>)
        return dot_f32;
      else
        return dot_f64;
    } else {
      if constexpr (std::is_same_v<T, float>)
        return dot_f32_64;
      else
        return dot_f64_64;
    }
  }
};

void* open_library() {
  std::vector<std::string> names;
  if (const char* named = std::getenv("REDUCTIO_CUBLAS")) {
    names = {named};
  } else {
    // First the one that belongs to the CUDA runtime in this program.
    const std::string own = "libcublas.so." + std::to_string(CUDART_VERSION / 1000);
    names = {own, "libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"};
  }
  std::string why;
  for (const std::string& name : names) {
    if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char* const error = dlerror();
    if (why.empty()) why = error ? error : name;
  }
  throw Unavailable("cuBLAS cannot be loaded (" + why + "); install libcublas or name its file in REDUCTIO_CUBLAS");
}

/// Loaded by the first plan that asks and never unloaded. After a failure the next plan tries again.
const Library& library() {
  static const Library loaded = [] {
    void* const library = open_library();
    const auto find = [&]<class F>(F& function, const char* symbol, bool required = true) {
      function = reinterpret_cast<F>(dlsym(library, symbol));
      if (required && !function)
        throw Unavailable(std::string("the cuBLAS that was found is too old: it lacks ") + symbol);
    };
    Library l{};
    find(l.create, "cublasCreate_v2");
    find(l.destroy, "cublasDestroy_v2");
    find(l.set_stream, "cublasSetStream_v2");
    find(l.set_workspace, "cublasSetWorkspace_v2");
    find(l.set_pointer_mode, "cublasSetPointerMode_v2");
    find(l.status_text, "cublasGetStatusString");
    find(l.gemv_f32, "cublasSgemv_v2");
    find(l.gemv_f64, "cublasDgemv_v2");
    find(l.dot_f32, "cublasSdot_v2");
    find(l.dot_f64, "cublasDdot_v2");
    find(l.dot_f32_64, "cublasSdot_v2_64", false);
    find(l.dot_f64_64, "cublasDdot_v2_64", false);
    return l;
  }();
  return loaded;
}

template <class Error>
void check_status(Status status, const char* what) {
  if (status != success)
    throw Error(std::string("cuBLAS: ") + what + ": " + library().status_text(status) + " (status " +
                std::to_string(status) + ")");
}

/// A handle of its own for each plan: cuBLAS ties stream and workspace to the handle.
class Context {
 public:
  /// What cuBLAS recommends for GPUs before Hopper; a dot product needs one partial result a block, far less.
  static constexpr std::size_t workspace_bytes = std::size_t{4} << 20;

  Context() : workspace_(workspace_bytes), handle_(create(), library().destroy) {
    check_status<Refused>(library().set_pointer_mode(handle_.get(), pointer_mode_device), "choosing where results go");
  }

  /// The handle, directed to `stream`. Changing the stream makes cuBLAS forget the workspace and take memory of its
  /// own, so it is given again.
  Handle on(cudaStream_t stream) {
    if (!ready_ || stream != stream_) {
      check_status<DeviceError>(library().set_stream(handle_.get(), stream), "choosing the stream");
      check_status<DeviceError>(library().set_workspace(handle_.get(), workspace_.ptr(), workspace_bytes),
                                "giving it workspace");
      stream_ = stream;
      ready_ = true;
    }
    return handle_.get();
  }

 private:
  static Handle create() {
    Handle h = nullptr;
    check_status<Refused>(library().create(&h), "it does not start");
    return h;
  }

  Buffer<unsigned char> workspace_;
  std::unique_ptr<cublasContext, Status (*)(Handle)> handle_;
  cudaStream_t stream_ = nullptr;
  bool ready_ = false;
};

template <class T, class Count>
std::unique_ptr<Plan> plan(const Problem& p, const DeviceInfo& gpu) {
  const auto dot = library().dot<T, Count>();
  if (!dot) throw Refused("this cuBLAS counts in 32 bits: it takes fewer than 2^31 elements, cuBLAS 12 takes more");
  const auto context = std::make_shared<Context>();
  // Blocks of 128: nothing is documented, so half of what CUB is known to launch is assumed.
  const PlanInfo info{.longest_chain = assumed_longest_chain(p.n, gpu, 128),
                      .workspace_bytes = Context::workspace_bytes};
  return plan_of(info, [=, n = static_cast<Count>(p.n)](void* in, void* out, Stream stream) {
    // What a dot product of nothing leaves in `result` is not documented.
    if (n == 0) return device::zero(static_cast<T*>(out), 1, stream);
    const T* const x = static_cast<const T*>(in);
    check_status<DeviceError>(dot(context->on(native(stream)), n, x, Count{1}, x, Count{1}, static_cast<T*>(out)),
                              "dot");
  });
}

template <class T>
std::unique_ptr<Plan> plan_by_count(const Problem& p, const DeviceInfo& gpu) {
  return p.n <= std::numeric_limits<int>::max() ? plan<T, int>(p, gpu) : plan<T, std::int64_t>(p, gpu);
}

std::unique_ptr<Plan> prepare(const Problem& p, const Settings&, const DeviceInfo& gpu) {
  return p.type == ElementType::f32 ? plan_by_count<float>(p, gpu) : plan_by_count<double>(p, gpu);
}

/// Ones for the vector, and the factors of the product: 1 and 0, in device memory as Context has it.
template <class T>
Buffer<T> values_of(std::size_t ones) {
  Buffer<T> out(ones + 2);
  std::vector<T> values(ones + 2, T(1));
  values[ones + 1] = 0;
  device::check(cudaMemcpy(out.ptr(), values.data(), out.bytes(), cudaMemcpyHostToDevice), "copying ones");
  return out;
}

/// cuBLAS counts along columns, so it takes a matrix whose rows lie one after the other for its transpose.
template <class T>
std::unique_ptr<Plan> gemv_plan(const Problem& p, const DeviceInfo&) {
  constexpr int as_it_is = 0, transposed = 1;
  Gemv<T> gemv;
  if constexpr (std::is_same_v<T, float>) gemv = library().gemv_f32;
  else gemv = library().gemv_f64;
  const auto context = std::make_shared<Context>();
  const std::size_t longest = longest_line(p), outputs = p.outputs();
  const Buffer<T> values = values_of<T>(longest);
  // Not documented: a warp a line is the least that is seen.
  const PlanInfo info{.longest_chain = std::min(longest, longest / 32 + 128),
                      .workspace_bytes = Context::workspace_bytes + values.bytes()};
  return plan_of(info, [=, m = static_cast<int>(p.columns()), n = static_cast<int>(p.rows()),
                        lda = static_cast<int>(p.pitch()),
                        how = p.operation == Operation::row_sums ? transposed : as_it_is](void* in, void* out,
                                                                                           Stream stream) {
    if (outputs == 0) return;
    if (longest == 0) return device::zero(static_cast<T*>(out), outputs, stream);
    const T *const one = values.ptr() + longest, *const zero = one + 1;
    check_status<DeviceError>(gemv(context->on(native(stream)), how, m, n, one, static_cast<const T*>(in), lda,
                                   values.ptr(), 1, zero, static_cast<T*>(out), 1),
                              "gemv");
  });
}

std::unique_ptr<Plan> prepare_gemv(const Problem& p, const Settings&, const DeviceInfo& gpu) {
  return p.type == ElementType::f32 ? gemv_plan<float>(p, gpu) : gemv_plan<double>(p, gpu);
}

const device::Register register_gemv(
    {.id = "cublas/gemv-ones",
     .title = "cuBLAS gemv with ones",
     .cites = "cublasSgemv, cublasDgemv; the cuBLAS found at run time",
     .kind = VariantKind::library,
     .own_experiment = "shapes",
     .how = {.thread = "not documented", .block = "not documented", .grid = "not documented"},
     .operations = {Operation::row_sums, Operation::column_sums},
     .types = {ElementType::f32, ElementType::f64},
     .determinism = Determinism::per_launch_shape,
     .declines =
         [](const Problem& p, const Settings&) -> std::string {
           const bool narrow = std::max({p.rows(), p.columns(), p.pitch()}) <= 0x7fffffff;
           return narrow ? "" : "cuBLAS counts rows and columns by an int, so fewer than 2^31 of each";
         }},
    prepare_gemv);

const device::Register register_dot(
    {.id = "cublas/dot",
     .title = "cuBLAS dot",
     .cites = "cublasSdot, cublasDdot; the cuBLAS found at run time",
     .kind = VariantKind::library,
     .how = {.thread = "not documented", .block = "not documented", .grid = "not documented"},
     .operations = {Operation::sum_of_squares},
     .types = {ElementType::f32, ElementType::f64},
     .determinism = Determinism::per_launch_shape},
    prepare);

}  // namespace
}  // namespace reductio
