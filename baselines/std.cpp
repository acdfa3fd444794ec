/// The C++ standard library.
///
///   std/reduce  sum, and sum of squares by std::transform_reduce
///
/// Setting `policy`: seq is the overload without an execution policy; par is std::execution::par, which in libstdc++
/// stands on TBB and is loaded from libreductio_std_parallel.so beside the program (or in REDUCTIO_MODULES, a folder).

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <thread>

#include "baselines/cpu_types.h"
#include "baselines/std_parallel.h"
#include "core/program_file.h"
#include "core/variant.h"

namespace reductio {
namespace {

/// libstdc++ adds four elements to each other before it adds them to the sum; others may add one by one.
std::size_t sequential_chain(std::size_t n) {
#ifdef __GLIBCXX__
  return std::min(n, n / 4 + 5);
#else
  return n;
#endif
}

std::filesystem::path modules() {
  if (const char* folder = std::getenv("REDUCTIO_MODULES")) return folder;
  return program_file().parent_path();
}

StdParallelReduce* load_parallel() {
  const std::filesystem::path file = modules() / std_parallel_file;
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function = module ? dlsym(module, std_parallel_symbol) : nullptr;
  if (!function) {
    const char* const why = dlerror();
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored))
      throw Unavailable("policy=par needs the file " + file.string() +
                        ", which is not there; a build with TBB (Debian: libtbb-dev) writes it beside the program: "
                        "copy it, too, or name its folder in REDUCTIO_MODULES");
    throw Unavailable("policy=par cannot be loaded (" + std::string(why ? why : "no reason given") +
                      "); it needs TBB when building and running (Debian: libtbb-dev, libtbb12)");
  }
  return reinterpret_cast<StdParallelReduce*>(function);
}

template <class T>
std::unique_ptr<Plan> plan_sequential(const Problem& p) {
  return plan_of(
      {.longest_chain = sequential_chain(p.n)}, [operation = p.operation, n = p.n](void* in, void* out, Stream) {
        const T* const x = static_cast<const T*>(in);
        *static_cast<T*>(out) = operation == Operation::sum
                                    ? std::reduce(x, x + n, T{0})
                                    : std::transform_reduce(x, x + n, T{0}, std::plus<T>(), [](T v) { return v * v; });
      });
}

std::unique_ptr<Plan> plan_parallel(const Problem& p) {
  StdParallelReduce* const reduce = load_parallel();
  require_threads(std::min<int>(std::thread::hardware_concurrency(), most_threads), "use policy=seq");
  // TBB splits as it sees fit: with one thread to run on, a single chain.
  return plan_of({.longest_chain = p.n}, [=](void* in, void* out, Stream) {
    char error[256];
    reduce(p.operation, p.type, in, out, p.n, error, sizeof error);
    if (error[0]) throw DeviceError("std::reduce with policy par: " + std::string(error) + address_space_advice());
  });
}

std::unique_ptr<Plan> prepare(const Problem& p, const Settings& s, const DeviceInfo&) {
  if (s.text("policy") == "par") return plan_parallel(p);
  return dispatch_cpu(p, [&]<class T>() { return plan_sequential<T>(p); });
}

const RegisterCpu register_reduce(
    {.id = "std/reduce",
     .title = "std::reduce",
     .cites = "std::reduce, std::transform_reduce",
     .kind = VariantKind::cpu,
     .how = {.thread = "the library's choice", .block = "", .grid = "one core, or TBB's tasks"},
     .operations = {Operation::sum, Operation::sum_of_squares},
     .types = {ElementType::i32, ElementType::f32, ElementType::f64},
     .tunables = {Tunable::choice("policy", {"seq", "par"}, "seq")},
     .determinism = Determinism::none},
    prepare);

}  // namespace
}  // namespace reductio
