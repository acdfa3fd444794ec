/// The program as a shared library: what the Python package calls by ctypes (reductio/_library.py).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "core/error.h"
#include "core/types.h"
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

const char* exact(reductio::Operation operation, std::uint32_t type, const void* in, std::uint64_t n, void* out,
                  void* stream) {
  return error_of([&] { reductio::exact_on_gpu(operation, type, in, static_cast<std::size_t>(n), out, stream); });
}

template <class T>
void exact_on_host(const T* x, std::size_t n, double* sum, double* squares) {
  constexpr std::size_t in_cache = 1 << 12;  // so that squares do not read memory again; whole blocks of add()
  static_assert(in_cache % reductio::tuned::exact::HostBlock<T>::elements == 0);
  reductio::tuned::exact::Partial of_sum, of_squares;
  for (std::size_t i = 0; i < n; i += in_cache) {
    const std::size_t count = std::min(in_cache, n - i);
    if (sum) add(of_sum, x + i, count);
    if (squares) add_squares(of_squares, x + i, count);
  }
  if (sum) *sum = of_sum.rounded<T>();
  if (squares) *squares = of_squares.rounded<T>();
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

/// The exact sum, rounded once, likewise; of squares; and both, as out[0] and out[1], from one read.
const char* reductio_exact_sum(std::uint32_t type, const void* in, std::uint64_t n, void* out, void* stream) {
  return exact(reductio::Operation::sum, type, in, n, out, stream);
}
const char* reductio_exact_sum_of_squares(std::uint32_t type, const void* in, std::uint64_t n, void* out,
                                          void* stream) {
  return exact(reductio::Operation::sum_of_squares, type, in, n, out, stream);
}
const char* reductio_exact_moments(std::uint32_t type, const void* in, std::uint64_t n, void* out, void* stream) {
  return exact(reductio::Operation::moments, type, in, n, out, stream);
}

/// The same bits of n floats (size 4) or doubles (8) in the host's memory, as doubles. A null pointer: not wanted.
void reductio_exact_on_host(const void* in, std::uint64_t n, std::uint32_t size, double* sum, double* squares) {
  if (size == sizeof(double)) exact_on_host(static_cast<const double*>(in), n, sum, squares);
  else exact_on_host(static_cast<const float*>(in), n, sum, squares);
}
}
