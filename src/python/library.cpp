/// The program as a shared library: what the Python package calls by ctypes (reductio/_library.py).

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "core/error.h"
#include "core/variant.h"
#include "experiments/cli/commands.h"
#include "experiments/cli/plugins.h"
#include "plugin/load.h"
#include "python/sum.h"
#include "tuned/partial.h"
#define REDUCTIO_WITHOUT_MACROS
#include "plugin/include/reductio/plugin.h"

namespace {

/// The text of an error until the next one.
const char* kept(const std::string& text) {
  static std::string last;
  last = text;
  return last.c_str();
}

template <class Body>
const char* error_of(const Body& body) {
  try {
    body();
    return nullptr;
  } catch (const std::exception& e) {
    return kept(e.what());
  }
}

}  // namespace

// Functions that return const char* return null where all is well, else what is wrong.
extern "C" {

/// The command line; returns its exit code. Once in a process: it leaves signal handlers and what it loaded behind.
/// `error`: if not null, takes what is wrong, which is not printed then.
int reductio_main(int argc, char** argv, const char** error) {
  std::string told;
  const int code = reductio::cli::program(argc, argv, "python -m reductio", error ? &told : nullptr);
  if (error && !told.empty()) *error = kept(told);
  return code;
}

/// Whether the program has a variant of this id.
int reductio_has(const char* id) {
  for (const reductio::Variant& v : reductio::variants())
    if (v.id == id) return 1;
  return 0;
}

/// Registers a table of variants that Python calls; it stays where it is. `load`: as of add_plugin(). `peers`: they are
/// the package's, which the experiment of that name measures.
const char* reductio_add(const reductio_table* table, const char* named, const char* (*load)(const reductio_variant*),
                         int peers) {
  return error_of([&] { reductio::add_plugin(*table, named, "Python", load, peers ? "peers" : ""); });
}

/// `loader`: runs a .py file that stands where a variant may be named.
void reductio_load_python_by(const char* (*loader)(const char*)) { reductio::cli::load_python_by(loader); }

/// tuned's sum of n elements at `in` into `out`, both in GPU memory, put onto `stream`. `type`: REDUCTIO_F32, ... The
/// first call on a stream allocates its workspace.
const char* reductio_sum(std::uint32_t type, const void* in, std::uint64_t n, void* out, void* stream) {
  return error_of([&] { reductio::sum_on_gpu(type, in, static_cast<std::size_t>(n), out, stream); });
}

/// The exact sum, rounded once, likewise; and of squares.
const char* reductio_exact_sum(std::uint32_t type, const void* in, std::uint64_t n, void* out, void* stream) {
  return error_of([&] { reductio::exact_sum_on_gpu(type, false, in, static_cast<std::size_t>(n), out, stream); });
}
const char* reductio_exact_sum_of_squares(std::uint32_t type, const void* in, std::uint64_t n, void* out,
                                          void* stream) {
  return error_of([&] { reductio::exact_sum_on_gpu(type, true, in, static_cast<std::size_t>(n), out, stream); });
}

/// The same bits of n floats (size 4) or doubles (8) in the host's memory, as a double.
double reductio_exact_sum_on_host(const void* in, std::uint64_t n, std::uint32_t size, int squares) {
  reductio::tuned::exact::Partial sum;
  const auto add_all = [&](const auto* x) { squares ? add_squares(sum, x, n) : add(sum, x, n); };
  if (size == sizeof(double)) {
    add_all(static_cast<const double*>(in));
    return sum.rounded<double>();
  }
  add_all(static_cast<const float*>(in));
  return sum.rounded<float>();
}
}
