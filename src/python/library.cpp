/// The program as a shared library: what the Python package calls by ctypes (reductio/_library.py).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/plugins.h"
#include "core/error.h"
#include "core/threads.h"
#include "core/types.h"
#include "core/variant.h"
#include "plugin/load.h"
#include "python/sum.h"
#include "reductio_build.h"
#include "exact/partial.h"
#define REDUCTIO_WITHOUT_MACROS
#include "plugin/include/reductio/plugin.h"

namespace {

/// The text of an error until the thread's next one.
const char* kept(const std::string& text) {
  static thread_local std::string last;
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

/// Threads for `work` elements in all, where 0 were asked for: as many as pay, and as there are cores.
std::size_t threads_for(std::size_t work, std::size_t asked) {
  constexpr std::size_t least_share = 1 << 18;  // elements; starting a thread takes longer than adding up fewer
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  return asked ? asked : std::clamp<std::size_t>(work / least_share, 1, cores);
}

using reductio::tuned::exact::HostSum;
using reductio::tuned::exact::Partial;

/// Adds n elements to `sum`, and their squares to `squares`. Null: not wanted.
template <class T>
void add_moments(const T* x, std::size_t n, HostSum* sum, HostSum* squares) {
  constexpr std::size_t in_cache = 1 << 12;  // so that squares do not read memory again; whole blocks of HostSum
  static_assert(in_cache % reductio::tuned::exact::HostBlock<T>::elements == 0);
  for (std::size_t i = 0; i < n; i += in_cache) {
    const std::size_t count = std::min(in_cache, n - i);
    if (sum) sum->add(x + i, count);
    if (squares) squares->add_squares(x + i, count);
  }
}

/// As reductio_exact_add().
template <class T>
void add_to_partials(const T* x, std::size_t n, std::size_t threads, Partial* sum, Partial* squares) {
  std::mutex mutex;
  reductio::in_shares(n, threads_for(n, threads), [&](std::size_t first, std::size_t count) {
    HostSum own, own_squares;
    add_moments(x + first, count, sum ? &own : nullptr, squares ? &own_squares : nullptr);
    const std::lock_guard lock(mutex);
    if (sum) *sum += own.take();
    if (squares) *squares += own_squares.take();
  });
}

double rounded(const Partial& sum, std::uint32_t size) {
  return size == sizeof(float) ? sum.rounded<float>() : sum.rounded<double>();
}

/// As reductio_exact_rows().
template <class T>
void sums_of_rows(const T* x, std::size_t rows, std::size_t n, std::uint32_t to, std::size_t threads, double* sums,
                  double* squares) {
  if (rows == 1) {
    Partial sum, of_squares;
    add_to_partials(x, n, threads, sums ? &sum : nullptr, squares ? &of_squares : nullptr);
    if (sums) *sums = rounded(sum, to);
    if (squares) *squares = rounded(of_squares, to);
    return;
  }
  reductio::in_shares(rows, threads_for(rows * n, threads), [=](std::size_t first, std::size_t count) {
    HostSum sum, of_squares;
    for (std::size_t row = first; row < first + count; ++row) {
      add_moments(x + row * n, n, sums ? &sum : nullptr, squares ? &of_squares : nullptr);
      if (sums) sums[row] = rounded(sum.take(), to);
      if (squares) squares[row] = rounded(of_squares.take(), to);
    }
  });
}

Partial partial_of(const std::int64_t* words) {
  Partial out;
  std::copy_n(words, reductio::tuned::exact::words, out.word);
  return out;
}
void store(const Partial& sum, std::int64_t* words) { std::copy_n(sum.word, reductio::tuned::exact::words, words); }

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

/// "0.1.0"; of a build without CUDA "0.1.0+cpu".
const char* reductio_version() { return REDUCTIO_BUILD_PACKAGE_VERSION; }

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

/// Sums of an array (outer, n, inner) along its middle. `what`: 0 sums, 1 sums of squares, 2 exact sums. `pitch`:
/// elements from row to row, or where `inner` is 1 from one sum's first to the next one's.
const char* reductio_along_axis(std::uint32_t what, std::uint32_t type, const void* in, std::uint64_t outer,
                                std::uint64_t n, std::uint64_t inner, std::uint64_t pitch, void* out, void* stream) {
  return error_of([&] {
    if (what > 2) throw reductio::UsageError("what to add up is 0, 1 or 2: sums, sums of squares, exact sums");
    reductio::along_axis_on_gpu(static_cast<reductio::Along>(what), type, in, outer, n, inner, pitch, out, stream);
  });
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

/// The same bits of `rows` rows of n floats (size 4) or doubles (8) in host memory: a sum for each row, rounded to
/// `to` bytes and given as doubles. A null pointer: not wanted. `threads`: 0 for as many as pay.
const char* reductio_exact_rows(const void* in, std::uint64_t rows, std::uint64_t n, std::uint32_t size,
                                std::uint32_t to, std::uint32_t threads, double* sums, double* squares) {
  return error_of([&] {
    if (size == sizeof(double)) sums_of_rows(static_cast<const double*>(in), rows, n, to, threads, sums, squares);
    else sums_of_rows(static_cast<const float*>(in), rows, n, to, threads, sums, squares);
  });
}

/// Adds n elements, or their squares, to the 96 words of a Partial (exact/partial.h).
const char* reductio_exact_add(std::int64_t* words, const void* in, std::uint64_t n, std::uint32_t size, int squares,
                               std::uint32_t threads) {
  return error_of([&] {
    Partial sum = partial_of(words);
    Partial *const plain = squares ? nullptr : &sum, *const squared = squares ? &sum : nullptr;
    if (size == sizeof(double)) add_to_partials(static_cast<const double*>(in), n, threads, plain, squared);
    else add_to_partials(static_cast<const float*>(in), n, threads, plain, squared);
    store(sum, words);
  });
}
/// Adds the words of another one, and makes room for more.
void reductio_exact_merge(std::int64_t* words, const std::int64_t* other) {
  store(partial_of(words) + partial_of(other), words);
}
/// Its sum, rounded to a float (size 4) or a double (8).
double reductio_exact_rounded(const std::int64_t* words, std::uint32_t size) {
  return rounded(partial_of(words), size);
}
}
