/// The loops themselves. This file is compiled five times, with -O0, -O1, -O2, -O3 and -O3 -ffast-math, and
/// REDUCTIO_HOST_LOOP names the functions that each copy exports. Nothing else may leave the file and nothing inline of
/// another header may be called here: the linker would keep one copy of it, at one of the levels, for all.
///
/// The documents unroll `a[i] = b[i] + c[i]`, whose iterations are independent. In a sum they are not: one accumulator
/// is kept, as carrying the idea over leaves it, so that unrolling saves loop tests and increments and nothing else.
/// Several accumulators would break the chain of dependent additions, which is another idea than the documents'.
/// -ffast-math lets the compiler do just that to floats; integers may be added in any order at every level.
///
/// The index is an `int`, as in the documents. Pointers are plain: nothing says that a, b and c do not overlap, as
/// nothing does in the documents, so a compiler that wants to load ahead must find that out at run time.

#include "baselines/host_loops.h"

#include <cstdint>

namespace reductio {
namespace {

template <class T>
void plain(void* in, void* out, int n) {
  const T* const x = static_cast<const T*>(in);
  T sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i];
  *static_cast<T*>(out) = sum;
}

template <class T>
void unroll2(void* in, void* out, int n) {
  const T* const x = static_cast<const T*>(in);
  T sum = 0;
  int i = 0;
  for (; i < n - 1; i += 2) {
    sum += x[i];
    sum += x[i + 1];
  }
  for (; i < n; ++i) sum += x[i];
  *static_cast<T*>(out) = sum;
}

template <class T>
void unroll4(void* in, void* out, int n) {
  const T* const x = static_cast<const T*>(in);
  T sum = 0;
  int i = 0;
  for (; i < n - 3; i += 4) {
    sum += x[i];
    sum += x[i + 1];
    sum += x[i + 2];
    sum += x[i + 3];
  }
  for (; i < n; ++i) sum += x[i];
  *static_cast<T*>(out) = sum;
}

template <class T>
void unroll8(void* in, void* out, int n) {
  const T* const x = static_cast<const T*>(in);
  T sum = 0;
  int i = 0;
  for (; i < n - 7; i += 8) {
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
T halve(T* x, int n) {
  if (n == 0) return 0;
  if (n == 1) return x[0];
  const int half = n - n / 2;
  for (int i = 0; i < n / 2; ++i) x[i] += x[i + half];
  return halve(x, half);
}

template <class T>
void recursive(void* in, void* out, int n) {
  *static_cast<T*>(out) = halve(static_cast<T*>(in), n);
}

template <class T>
void add(const void* pb, const void* pc, void* pa, int n) {
  const T* const b = static_cast<const T*>(pb);
  const T* const c = static_cast<const T*>(pc);
  T* const a = static_cast<T*>(pa);
  for (int i = 0; i < n; ++i) a[i] = b[i] + c[i];
}

template <class T>
void add2(const void* pb, const void* pc, void* pa, int n) {
  const T* const b = static_cast<const T*>(pb);
  const T* const c = static_cast<const T*>(pc);
  T* const a = static_cast<T*>(pa);
  int i = 0;
  for (; i < n - 1; i += 2) {
    a[i] = b[i] + c[i];
    a[i + 1] = b[i + 1] + c[i + 1];
  }
  for (; i < n; ++i) a[i] = b[i] + c[i];
}

template <class T>
void add4(const void* pb, const void* pc, void* pa, int n) {
  const T* const b = static_cast<const T*>(pb);
  const T* const c = static_cast<const T*>(pc);
  T* const a = static_cast<T*>(pa);
  int i = 0;
  for (; i < n - 3; i += 4) {
    a[i] = b[i] + c[i];
    a[i + 1] = b[i + 1] + c[i + 1];
    a[i + 2] = b[i + 2] + c[i + 2];
    a[i + 3] = b[i + 3] + c[i + 3];
  }
  for (; i < n; ++i) a[i] = b[i] + c[i];
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

template <class T>
HostVectorAdd pick(HostAdd loop) {
  switch (loop) {
    case HostAdd::plain: return add<T>;
    case HostAdd::unroll2: return add2<T>;
    case HostAdd::unroll4: return add4<T>;
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
    default: return nullptr;
  }
}

HostVectorAdd REDUCTIO_HOST_LOOP(HostAdd loop, ElementType type) {
  switch (type) {
    case ElementType::i32: return pick<std::uint32_t>(loop);
    case ElementType::f32: return pick<float>(loop);
    default: return nullptr;  // no document adds vectors of it
  }
}

}  // namespace reductio
