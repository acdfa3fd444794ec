/// The loops themselves. This file is compiled four times, with -O0, -O1, -O2 and -O3, and REDUCTIO_HOST_LOOP names the
/// one function that each copy exports. Nothing else may leave the file and nothing inline of another header may be
/// called here: the linker would keep one copy of it, at one of the four levels, for all.
///
/// The documents unroll `a[i] = b[i] + c[i]`, whose iterations are independent. In a sum they are not: one accumulator
/// is kept, as carrying the idea over leaves it, so that unrolling saves loop tests and increments and nothing else.
/// Several accumulators would break the chain of dependent additions, which is another idea than the documents'.

#include "baselines/host_loops.h"

#include <cstddef>
#include <cstdint>

namespace reductio {
namespace {

template <class T>
void plain(void* in, void* out, std::size_t n) {
  const T* const x = static_cast<const T*>(in);
  T sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i];
  *static_cast<T*>(out) = sum;
}

template <class T>
void unroll2(void* in, void* out, std::size_t n) {
  const T* const x = static_cast<const T*>(in);
  T sum = 0;
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    sum += x[i];
    sum += x[i + 1];
  }
  for (; i < n; ++i) sum += x[i];
  *static_cast<T*>(out) = sum;
}

template <class T>
void unroll4(void* in, void* out, std::size_t n) {
  const T* const x = static_cast<const T*>(in);
  T sum = 0;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    sum += x[i];
    sum += x[i + 1];
    sum += x[i + 2];
    sum += x[i + 3];
  }
  for (; i < n; ++i) sum += x[i];
  *static_cast<T*>(out) = sum;
}

template <class T>
void unroll8(void* in, void* out, std::size_t n) {
  const T* const x = static_cast<const T*>(in);
  T sum = 0;
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    sum += x[i];
    sum += x[i + 1];
    sum += x[i + 2];
    sum += x[i + 3];
    sum += x[i + 4];
    sum += x[i + 5];
    sum += x[i + 6];
    sum += x[i + 7];
  }
  for (; i < n; ++i) sum += x[i];
  *static_cast<T*>(out) = sum;
}

/// Folds the upper half onto the lower one, then does the same to what is left. An odd middle element stays where it
/// is.
template <class T>
T halve(T* x, std::size_t n) {
  if (n == 0) return 0;
  if (n == 1) return x[0];
  const std::size_t half = n - n / 2;
  for (std::size_t i = 0; i < n / 2; ++i) x[i] += x[i + half];
  return halve(x, half);
}

template <class T>
void recursive(void* in, void* out, std::size_t n) {
  *static_cast<T*>(out) = halve(static_cast<T*>(in), n);
}

template <class T>
HostSum pick(HostLoop loop) {
  switch (loop) {
    case HostLoop::plain: return plain<T>;
    case HostLoop::unroll2: return unroll2<T>;
    case HostLoop::unroll4: return unroll4<T>;
    case HostLoop::unroll8: return unroll8<T>;
    case HostLoop::recursive: return recursive<T>;
  }
  return nullptr;
}

}  // namespace

// Integers are added as unsigned: signed overflow is undefined in C++, while integer sums here are modulo 2^32.
HostSum REDUCTIO_HOST_LOOP(HostLoop loop, ElementType type) {
  switch (type) {
    case ElementType::i32: return pick<std::uint32_t>(loop);
    case ElementType::f32: return pick<float>(loop);
    case ElementType::f64: return pick<double>(loop);
  }
  return nullptr;
}

}  // namespace reductio
