// Kernels use memory by pointers, references, names and lambdas, as in any C++, and each access is found.

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "tests/device/sim/support.h"

namespace reductio::sim_tests {
namespace {

class SimPointers : public InEachOrder {};
INSTANTIATE_TEST_SUITE_P(Orders, SimPointers, testing::ValuesIn(all_orders), order_name);

/// `what` is the fault of thread `thread` of block 0, at `line` of this file, and says `words`.
void expect_fault(const Fault& f, FaultKind kind, unsigned thread, int line, const std::string& words) {
  EXPECT_EQ(f.kind, kind) << f.what();
  EXPECT_EQ(f.block, 0u) << f.what();
  EXPECT_EQ(f.threads, Threads{thread}) << f.what();
  EXPECT_EQ(f.file, "tests/device/sim/pointers_test.cpp") << f.what();
  EXPECT_EQ(f.line, line) << f.what();
  EXPECT_TRUE(says(f, words)) << f.what() << "\nwanted: " << words;
}

template <class T>
__global__ void operators(T* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* s = reinterpret_cast<T*>(raw);
  s[0] = T{6};
  s[1] = T{4};
  T* p = out;
  *p++ = s[0] + s[1];
  *p++ = s[0] - T{1};
  *p++ = 2 * s[1];
  p[0] = s[0] / s[1];
  p[1] = p[0];
  p[2] = T{0};
  p[2] += s[0];
  p[2] *= s[1];
  T local = 1;
  local += s[1];
  p[3] = local;
  p[4] = s[0] > s[1] ? s[0] : T{0};
  p[5] = -s[0] + s[0] + s[1]++;
  p[6] = ++s[1];
  p[7] = T(p - out) + T(s[0] == s[0]) + T(&p[1] == p + 1) + T(&*s == s) + T(p > out);
}

template <class T>
void operators_work() {
  const Buffer<T> out(11);
  run<operators<T>>(1, 1, 2 * sizeof(T), out.ptr());
  EXPECT_EQ(on_host(out), (std::vector<T>{10, 5, 8, T(6) / T(4), T(6) / T(4), 24, 5, 6, 4, 6, 7}));
}

TEST_P(SimPointers, PointersAreOfTheLanguage) {
  operators_work<unsigned>();
  operators_work<float>();
  operators_work<double>();
}

template <class T>
__device__ void exchange(T& a, T& b) {
  const auto kept = a;
  a = b;
  b = kept;
}

/// What the device's own pointers refused: a name for an element, a reference to it, and a function that deduces it.
__global__ void names_and_references(float* out) {
  __shared__ float s[4];
  __shared__ float2 v[1];
  float* const p = &s[1];
  for (auto& x : s) x = 2.5f;
  auto before = s[0];
  s[0] = 7;
  out[0] = before;
  float& first = *p;
  first += 1;
  out[1] = s[1];
  const auto get = [&](unsigned i) { return s[i] + out[0]; };
  out[2] = get(1);
  exchange(s[0], s[1]);
  std::swap(s[2], p[2]);
  out[3] = s[0] - s[1];
  v[0] = make_float2(1, 2);
  auto [x, y] = v[0];
  out[4] = x + y;
  const auto read = [value = s[0]] { return value; };
  s[0] = 0;
  out[5] = read();
  float local[4] = {s[0], s[1], 2, 3};
  float* const mine = local + 1;
  *mine += 1;
  out[6] = local[1];
  out[7] = static_cast<float>(true ? 0xfffffff0u : -1) + (s[2] > 0 ? s[2] : 0.5);
}

TEST_P(SimPointers, ElementsHaveNamesAndReferences) {
  const Buffer<float> out(8);
  run<names_and_references>(1, 1, 0, out.ptr());
  EXPECT_EQ(on_host(out), (std::vector<float>{2.5f, 3.5f, 6, -3.5f, 3, 3.5f, 8, 4294967280.0f + 2.5f}));
}

__global__ void through_a_reference(float* out, unsigned n) {
  __shared__ float sums[32];
  float& mine = sums[threadIdx.x];
  const auto neighbour = [&](unsigned k) -> float& { return sums[threadIdx.x ^ k]; };
  mine = 1;
  if (n == 0) __syncthreads();
  out[threadIdx.x] = neighbour(1);
}
constexpr int stores_mine = __LINE__ - 4, reads_neighbour = __LINE__ - 2;

TEST_P(SimPointers, AReferenceAndALambdaRaceLikeTheirElement) {
  const Buffer<float> out(32);
  run<through_a_reference>(1, 32, 0, out.ptr(), 0u);
  const Fault f = fault_of<through_a_reference>(1, 32, 0, out.ptr(), 1u);
  EXPECT_EQ(f.kind, FaultKind::race) << f.what();
  EXPECT_TRUE(f.line == reads_neighbour || f.line == stores_mine) << f.what();
  EXPECT_TRUE(says(f, "of shared array sums, which thread ")) << f.what();
  EXPECT_TRUE(says(f, " with no barrier between")) << f.what();
}

/// Thread t writes element t, and reads its neighbour's behind the barrier, if there is one.
template <class T>
__global__ void small_elements(T* global, unsigned* out, bool barrier) {
  __shared__ T small[64];
  const unsigned t = threadIdx.x;
  small[t] = static_cast<T>(t % 2);
  global[t] = static_cast<T>(t % 2 == 0);
  if (barrier) __syncthreads();
  out[t] = small[t ^ 1] == global[t];
}
template <class T>
__global__ void two_write_one_small_element(T* p) {
  if (threadIdx.x % 32 == 0) p[3] = static_cast<T>(threadIdx.x != 0);
}

template <class T>
void small_elements_are_their_own() {
  const Buffer<T> global(64);
  const Buffer<unsigned> out(64);
  run<small_elements<T>>(1, 64, 0, global.ptr(), out.ptr(), true);
  EXPECT_EQ(on_host(out), std::vector<unsigned>(64, 1));
  const FaultKind early = fault_of<small_elements<T>>(1, 64, 0, global.ptr(), out.ptr(), false).kind;
  EXPECT_EQ(early, FaultKind::race) << name(early);
  const Fault same = fault_of<two_write_one_small_element<T>>(1, 64, 0, global.ptr());
  EXPECT_EQ(same.kind, FaultKind::race) << same.what();
  EXPECT_TRUE(says(same, "element 3 of 64 elements in global memory")) << same.what();
}

TEST_P(SimPointers, NeighboursInAWordDoNotRace) {
  small_elements_are_their_own<char>();
  small_elements_are_their_own<unsigned char>();
  small_elements_are_their_own<short>();
}

/// A block's flags, and a word that a thread writes as bytes and another reads as a whole.
__global__ void flags_of_a_block(unsigned* out) {
  __shared__ bool is_last;
  __shared__ bool done[32];
  __shared__ unsigned word[1];
  done[threadIdx.x] = true;
  if (threadIdx.x < 4) reinterpret_cast<unsigned char*>(word)[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
  if (threadIdx.x == 0) is_last = true;
  __syncthreads();
  if (is_last) out[threadIdx.x] = done[31 - threadIdx.x] ? word[0] : 0;
}
__global__ void a_byte_unwritten(unsigned* out) {
  __shared__ unsigned word[1];
  if (threadIdx.x < 3) reinterpret_cast<unsigned char*>(word)[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 9) out[0] = word[0];
}
constexpr int reads_word = __LINE__ - 2;

TEST_P(SimPointers, BytesMakeAWord) {
  const Buffer<unsigned> out(32);
  run<flags_of_a_block>(1, 32, 0, out.ptr());
  EXPECT_EQ(on_host(out), std::vector<unsigned>(32, 0x03020100u));
  expect_fault(fault_of<a_byte_unwritten>(1, 32, 0, out.ptr()), FaultKind::unwritten, 9, reads_word,
               "reads byte 0 of shared array word, which nobody in this block has written");
}

/// Each of these is wrong in thread 5 of block 0, in its second line.
template <class T>
__global__ void misaligned_read(const float* in, float* out, std::size_t first) {
  if (threadIdx.x == 5) out[0] = reinterpret_cast<const T*>(in + first)[0].x;
}
constexpr int reads_misaligned = __LINE__ - 2;
template <class T>
__global__ void misaligned_write(float* out, std::size_t first) {
  if (threadIdx.x == 5) *reinterpret_cast<T*>(out + first) = T{};
}
constexpr int writes_misaligned = __LINE__ - 2;
__global__ void misaligned_in_shared() {
  __shared__ __align__(16) float s[8];
  if (threadIdx.x == 5) *reinterpret_cast<float4*>(s + 1) = make_float4(1, 2, 3, 4);
}
constexpr int writes_misaligned_shared = __LINE__ - 2;
__global__ void misaligned_double(const char* in, double* out, int first) {
  if (threadIdx.x == 5) out[0] = *reinterpret_cast<const double*>(in + first);
}
constexpr int reads_misaligned_double = __LINE__ - 2;

TEST_P(SimPointers, AVectorIsAlignedToItsSize) {
  const auto in = zeros<float>(8);
  const Buffer<float> out(8);
  const float* const p = in.ptr();
  const std::string of_16 = "uses an address that is not aligned to the 16 bytes that its type needs";
  const std::string of_8 = "uses an address that is not aligned to the 8 bytes that its type needs";
  for (const std::size_t first : {1, 2, 3}) {
    expect_fault(fault_of<misaligned_read<float4>>(1, 32, 0, p, out.ptr(), first), FaultKind::misaligned, 5,
                 reads_misaligned, of_16);
    expect_fault(fault_of<misaligned_write<float4>>(1, 32, 0, out.ptr(), first), FaultKind::misaligned, 5,
                 writes_misaligned, of_16);
  }
  expect_fault(fault_of<misaligned_read<float2>>(1, 32, 0, p, out.ptr(), std::size_t{3}), FaultKind::misaligned, 5,
               reads_misaligned, of_8);
  expect_fault(fault_of<misaligned_in_shared>(1, 32, 0), FaultKind::misaligned, 5, writes_misaligned_shared, of_16);
  const Buffer<double> sum(1);
  const auto* const bytes = reinterpret_cast<const char*>(p);
  expect_fault(fault_of<misaligned_double>(1, 32, 0, bytes, sum.ptr(), 4), FaultKind::misaligned, 5,
               reads_misaligned_double, of_8);
  run<misaligned_read<float4>>(1, 32, 0, p, out.ptr(), std::size_t{4});
  run<misaligned_read<float2>>(1, 32, 0, p, out.ptr(), std::size_t{2});
  run<misaligned_double>(1, 32, 0, bytes, sum.ptr(), 8);
}

__global__ void index_past_the_size(float* out, int i) {
  __shared__ float sums[32];
  if (threadIdx.x == 5) sums[i] = 1;
  if (threadIdx.x == 5) out[0] = sums[i];
}
constexpr int stores_past = __LINE__ - 3;

TEST_P(SimPointers, AnIndexStaysBelowTheSizeOfItsArray) {
  const Buffer<float> out(1);
  run<index_past_the_size>(1, 32, 0, out.ptr(), 31);
  expect_fault(fault_of<index_past_the_size>(1, 32, 0, out.ptr(), 32), FaultKind::out_of_bounds, 5, stores_past,
               "index 32 is outside the array");
  expect_fault(fault_of<index_past_the_size>(1, 32, 0, out.ptr(), -1), FaultKind::out_of_bounds, 5, stores_past,
               "index -1 is outside the array");
}

__global__ void local_past_the_size(float* out, int i) {
  float local[4] = {0, 1, 2, 3};
  if (threadIdx.x == 5) out[0] = local[i];
}
constexpr int reads_past_local = __LINE__ - 2;

TEST_P(SimPointers, ALocalArrayHasASizeToo) {
  const Buffer<float> out(1);
  run<local_past_the_size>(1, 32, 0, out.ptr(), 3);
  expect_fault(fault_of<local_past_the_size>(1, 32, 0, out.ptr(), 4), FaultKind::out_of_bounds, 5, reads_past_local,
               "index 4 is outside the array");
}

__global__ void hands_out_its_local(unsigned* out) {
  __shared__ unsigned* mine;
  volatile unsigned local = 42;
  if (threadIdx.x == 0) mine = const_cast<unsigned*>(&local);
  __syncthreads();
  if (threadIdx.x == 5) out[0] = *mine;
  __syncthreads();
  if (threadIdx.x == 0) out[1] = local;
}
constexpr int reads_anothers_local = __LINE__ - 4;

TEST_P(SimPointers, AnotherThreadsLocalVariableIsOutOfReach) {
  const Buffer<unsigned> out(2);
  expect_fault(fault_of<hands_out_its_local>(1, 32, 0, out.ptr()), FaultKind::out_of_bounds, 5, reads_anothers_local,
               "reads 4 bytes of another thread's local variable");
}

/// Block 1 leaves block 0 the address of its own array.
__global__ void hands_out_its_shared(unsigned** where, unsigned* flag, unsigned* out) {
  __shared__ unsigned sums[32];
  sums[threadIdx.x] = threadIdx.x;
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0) *where = sums, store_release(flag, 1u);
    while (load_acquire(flag) != 2) {
    }
  } else if (threadIdx.x == 5) {
    while (load_acquire(flag) != 1) {
    }
    out[0] = **where;
    store_release(flag, 2u);
  }
}
constexpr int reads_anothers_shared = __LINE__ - 4;

TEST_P(SimPointers, AnotherBlocksSharedMemoryIsOutOfReach) {
  const Buffer<unsigned*> where(1);
  const auto flag = zeros<unsigned>(1);
  const Buffer<unsigned> out(1);
  expect_fault(fault_of<hands_out_its_shared>(2, 32, 0, where.ptr(), flag.ptr(), out.ptr()), FaultKind::out_of_bounds,
               5, reads_anothers_shared, "reads 4 bytes of the shared memory of another block, number 1");
}

__global__ void reads_at(const unsigned* p, unsigned* out) {
  if (threadIdx.x == 5) out[0] = *p;
}
constexpr int reads_p = __LINE__ - 2;
__global__ void writes_at(unsigned* p) {
  if (threadIdx.x == 5) *p = 1;
}
constexpr int writes_p = __LINE__ - 2;
__global__ void adds_at(unsigned* p) {
  if (threadIdx.x == 5) atomicAdd(p, 1u);
}
constexpr int adds_p = __LINE__ - 2;

/// What a struct of parameters points to.
struct Pointers {
  const unsigned* plain;
  std::span<const unsigned> span;
};
__global__ void reads_by_struct(Pointers p, unsigned* out) {
  if (threadIdx.x == 5) out[0] = p.span.empty() ? p.plain[2] : p.span[2];
}
__device__ unsigned of_the_device[4] = {7, 7, 7, 7};
static const unsigned of_the_program[4] = {7, 7, 7, 7};
__global__ void adds_to_a_variable(unsigned* out) {
  if (threadIdx.x == 5) out[0] = of_the_device[2] += of_the_program[1 + threadIdx.x % 2];
}
__global__ void past_a_variable(std::size_t i) {
  unsigned* const p = of_the_device;
  if (threadIdx.x == 5) p[i] = 1;
}

TEST_P(SimPointers, PointersThatAreNone) {
  const auto before = zeros<unsigned>(4), out = zeros<unsigned>(4), behind = zeros<unsigned>(4);
  unsigned local = 7;
  const auto heap = std::make_unique<unsigned>(7);
  const auto expect_all = [&](unsigned* p, FaultKind kind, const std::string& words) {
    expect_fault(fault_of<reads_at>(1, 32, 0, static_cast<const unsigned*>(p), out.ptr()), kind, 5, reads_p,
                 "reads 4 bytes " + words);
    expect_fault(fault_of<writes_at>(1, 32, 0, p), kind, 5, writes_p, "writes 4 bytes " + words);
    expect_fault(fault_of<adds_at>(1, 32, 0, p), kind, 5, adds_p, "updates (atomic) 4 bytes " + words);
  };
  expect_all(nullptr, FaultKind::out_of_bounds, "at a null pointer");
  expect_all(reinterpret_cast<unsigned*>(12), FaultKind::out_of_bounds, "at a null pointer");
  const std::string host = "that are not memory of the device: a kernel can access what it has pointers to, and";
  for (unsigned* const p : {&local, heap.get()}) expect_all(p, FaultKind::out_of_bounds, host);
  EXPECT_EQ(local, 7u);
  EXPECT_EQ(*heap, 7u);

  unsigned* freed = nullptr;
  {
    const auto gone = zeros<unsigned>(4);
    freed = gone.ptr();
  }
  const Buffer<unsigned> other(4);
  expect_all(freed + 1, FaultKind::use_after_free, "of global memory that was released before this kernel ran");

  // Beside an allocation: in its last page, which is its own, and beyond.
  expect_fault(fault_of<writes_at>(1, 32, 0, out.ptr() + 4), FaultKind::out_of_bounds, 5, writes_p,
               "writes element 4 of 4 elements of 4 bytes in global memory");
  expect_fault(fault_of<adds_at>(1, 32, 0, out.ptr() + 4), FaultKind::out_of_bounds, 5, adds_p,
               "updates (atomic) element 4 of 4 elements of 4 bytes in global memory");
  expect_all(out.ptr() - 1, FaultKind::out_of_bounds, "4 bytes before the start of an allocation of 16 bytes");
  expect_all(out.ptr() + 4096 / 4, FaultKind::out_of_bounds,
             std::to_string(4096 - 16) + " bytes past the end of an allocation of 16 bytes");
}

__global__ void tells_where_its_shared_is(const void** out) {
  __shared__ unsigned s[4];
  if (threadIdx.x == 0) out[0] = s;
}
/// "---p" of the memory that holds this address; empty where nothing is mapped.
std::string permissions_at(std::uintptr_t at) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string permissions;
    std::istringstream(line) >> std::hex >> begin >> dash >> end >> permissions;
    if (at >= begin && at < end) return permissions;
  }
  return "";
}
/// Else it could be a constant of the program's, which a kernel may read.
TEST(SimAccesses, NothingLiesNearABlocksSharedMemory) {
  const Buffer<const void*> out(1);
  run<tells_where_its_shared_is>(1, 32, 0, out.ptr());
  const auto at = reinterpret_cast<std::uintptr_t>(on_host(out)[0]);
  EXPECT_EQ(permissions_at(at), "rw-p");
  EXPECT_EQ(permissions_at(at - sim::first_shared - 60'000), "---p");
  EXPECT_EQ(permissions_at(at + sim::shared_span), "---p");
}

TEST_P(SimPointers, PointersInAStructThatAreNone) {
  const auto there = counting(4), out = zeros<unsigned>(1);
  const auto heap = std::make_unique<unsigned[]>(4);
  std::array<unsigned, 4> local{};
  run<reads_by_struct>(1, 32, 0, Pointers{there.ptr(), {}}, out.ptr());
  run<reads_by_struct>(1, 32, 0, Pointers{nullptr, {there.ptr(), 4}}, out.ptr());
  EXPECT_EQ(on_host(out)[0], 2u);
  for (const unsigned* const p : {static_cast<const unsigned*>(heap.get()), static_cast<const unsigned*>(local.data()),
                                  of_the_program, static_cast<const unsigned*>(of_the_device)})
    for (const bool spans : {false, true}) {
      const Fault f =
          fault_of<reads_by_struct>(1, 32, 0, spans ? Pointers{nullptr, {p, 4}} : Pointers{p, {}}, out.ptr());
      EXPECT_EQ(f.kind, FaultKind::out_of_bounds) << f.what();
      EXPECT_TRUE(says(f, "reads 4 bytes that are not memory of the device")) << f.what();
    }
}

/// A variable that the kernel itself names is global memory of its own.
TEST_P(SimPointers, VariablesOfTheDevice) {
  const auto out = zeros<unsigned>(1);
  const unsigned before = of_the_device[2];
  run<adds_to_a_variable>(1, 32, 0, out.ptr());
  EXPECT_EQ(on_host(out)[0], before + 7);
  EXPECT_EQ(of_the_device[2], before + 7);
  EXPECT_EQ(fault_of<past_a_variable>(1, 32, 0, std::size_t{4}).kind, FaultKind::out_of_bounds);
  EXPECT_EQ(of_the_device[2], 7u) << "a fault brings back what was there at first";
  const Fault f = fault_of<adds_to_a_variable>(2, 32, 0, out.ptr());
  EXPECT_EQ(f.kind, FaultKind::race);
  EXPECT_TRUE(says(f, "element 2 of 4 elements of variable of_the_device, which block ")) << f.what();
}

/// A long local array is filled from a constant of the program's; a pointer may lead to one or to memory.
__global__ void reads_constants(unsigned* out) {
  unsigned table[40] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
                        9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  static constexpr unsigned weights[4] = {10, 20, 30, 40};
  const unsigned* const from = threadIdx.x % 2 ? weights : table;
  table[threadIdx.x % 40] += 1;
  out[threadIdx.x] = from[threadIdx.x % 4];
}

TEST_P(SimPointers, ConstantsOfTheProgramAreReadable) {
  const Buffer<unsigned> out(4);
  run<reads_constants>(1, 4, 0, out.ptr());
  EXPECT_EQ(on_host(out), (std::vector<unsigned>{10, 20, 8, 40}));
}

struct Place {
  uint3 thread, block, threads, blocks;
};
__global__ void copies_its_place(Place* places, unsigned* out) {
  const uint3 thread = threadIdx;
  const Place mine{thread, blockIdx, blockDim, gridDim};
  places[blockIdx.x * blockDim.x + threadIdx.x] = mine;
  out[blockIdx.x * blockDim.x + threadIdx.x] = mine.thread.x + 10 * mine.block.x + 100 * mine.threads.x;
}

TEST_P(SimPointers, AThreadCopiesItsPlace) {
  const Buffer<Place> places(4);
  const Buffer<unsigned> out(4);
  run<copies_its_place>(2, 2, 0, places.ptr(), out.ptr());
  EXPECT_EQ(on_host(out), (std::vector<unsigned>{200, 201, 210, 211}));
  EXPECT_EQ(on_host(places)[3].blocks.x, 2u);
}

__global__ void writes_its_parameter(unsigned n, unsigned* out) {
  unsigned* const p = &n;
  *p += threadIdx.x;
  out[threadIdx.x] = n;
}

TEST_P(SimPointers, AThreadHasParametersOfItsOwn) {
  const Buffer<unsigned> out(3);
  run<writes_its_parameter>(1, 3, 0, 10u, out.ptr());
  EXPECT_EQ(on_host(out), (std::vector<unsigned>{10, 11, 12}));
}

__global__ void reads_named_arrays(unsigned* out, int which) {
  extern __shared__ unsigned dynamic[];
  __shared__ unsigned counts[4];
  __shared__ double sums[4];
  dynamic[threadIdx.x] = 0;
  const unsigned* const in_counts = counts;
  const double* const in_sums = sums;
  if (threadIdx.x != 5) return;
  out[0] = which == 0 ? in_counts[7] : which == 1 ? static_cast<unsigned>(in_sums[-1]) : dynamic[40];
}
constexpr int reads_named = __LINE__ - 2;

TEST_P(SimPointers, MessagesNameTheSharedArray) {
  const Buffer<unsigned> out(1);
  const auto message_of = [&](int which, const char* words) {
    expect_fault(fault_of<reads_named_arrays>(1, 32, 32 * 4, out.ptr(), which), FaultKind::out_of_bounds, 5,
                 reads_named, words);
  };
  message_of(0, "reads 4 bytes at byte 28 of shared array counts, which has 16 bytes");
  message_of(1, "reads 8 bytes at byte -8 of shared array sums, which has 32 bytes");
  message_of(2, "reads 4 bytes at byte 160 of the block's shared memory, which the launch made 128 bytes");
}

// --------------------------------------------------------------------------------- accesses of any size, in any form

struct Rgb {
  unsigned char r, g, b;
};
template <std::size_t n>
struct Bytes {
  unsigned char all[n];
};
struct Point {
  float x, y, z;
};
template <std::size_t n>
struct Doubles {
  double all[n];
};
struct __attribute__((packed)) Field24 {
  unsigned value : 24;
};
struct __attribute__((packed)) Field40 {
  unsigned long long value : 40;
};
typedef float Wide __attribute__((vector_size(32), aligned(4)));

template <class T>
__attribute__((noinline)) unsigned by_value(T v) {
  Bytes<sizeof(T)> bytes;
  __builtin_memcpy(&bytes, &v, sizeof v);
  unsigned sum = 0;
  for (const unsigned char b : bytes.all) sum += b;
  return sum;
}
template <class T>
__attribute__((noinline)) T returned(unsigned char x) {
  T v{};
  __builtin_memcpy(&v, &x, 1);
  return v;
}

using Raw = unsigned char*;
template <auto access>
__global__ void accesses(Raw p, Raw other) {
  access(p, other);
}
struct Snippet {
  const char* text;
  std::size_t bytes;  ///< that it touches from p on
  bool reads, writes;
  void (*start)(const Launch&, Raw, Raw);
};
#define IN(T) (*reinterpret_cast<T*>(p))
#define OUT(T) (*reinterpret_cast<T*>(other))
#define SNIPPET(bytes, reads, writes, ...)                                                                    \
  Snippet{#__VA_ARGS__, bytes, reads, writes, launch<accesses<[]([[maybe_unused]] Raw p, [[maybe_unused]] Raw other) { \
            __VA_ARGS__;                                                                                      \
          }>>}
#define READS(bytes, ...) SNIPPET(bytes, true, false, __VA_ARGS__)
#define WRITES(bytes, ...) SNIPPET(bytes, false, true, __VA_ARGS__)
#define UPDATES(bytes, ...) SNIPPET(bytes, true, true, __VA_ARGS__)
#define COPIES(T) READS(sizeof(T), OUT(T) = IN(T)), WRITES(sizeof(T), IN(T) = OUT(T))
#define PASSES(T) READS(sizeof(T), OUT(unsigned) = by_value(IN(T))), WRITES(sizeof(T), IN(T) = returned<T>(3))

const Snippet snippets[] = {
    COPIES(char), COPIES(bool), COPIES(short), COPIES(int), COPIES(long long), COPIES(__int128), COPIES(float),
    COPIES(double), COPIES(float2), COPIES(float4), COPIES(double2), COPIES(int*), COPIES(Wide), COPIES(Rgb),
    COPIES(Bytes<5>), COPIES(Bytes<6>), COPIES(Bytes<7>), COPIES(Bytes<11>), COPIES(Point), COPIES(Doubles<5>),
    COPIES(volatile char), COPIES(volatile short), COPIES(volatile int), COPIES(volatile double),
    PASSES(Rgb), PASSES(Bytes<5>), PASSES(Bytes<6>), PASSES(Bytes<7>), PASSES(Bytes<9>), PASSES(Point),
    PASSES(Doubles<2>), PASSES(Doubles<3>), PASSES(Doubles<5>), PASSES(float4),
    READS(3, OUT(unsigned) = IN(Field24).value), WRITES(3, IN(Field24).value = 3),
    READS(5, OUT(unsigned long long) = IN(Field40).value), WRITES(5, IN(Field40).value = 3),
    READS(10, OUT(long double) = IN(long double)), WRITES(10, IN(long double) = OUT(long double)),
    UPDATES(1, IN(char) = static_cast<char>(IN(char) + 3)), UPDATES(4, ++IN(int)), UPDATES(8, IN(double) *= 2),
    UPDATES(4, IN(volatile int) += 2), UPDATES(4, IN(volatile float) -= 1), UPDATES(4, ++IN(volatile unsigned)),
    UPDATES(12, std::swap(IN(Point), OUT(Point))), UPDATES(3, std::swap(IN(Rgb), OUT(Rgb))),
    UPDATES(4, atomicAdd(&IN(int), 1)), READS(4, OUT(int) = __ldg(&IN(const int))),
    READS(7, __builtin_memcpy(other, p, 7)), WRITES(7, __builtin_memcpy(p, other, 7)),
    READS(7, __builtin_memmove(other, p, 7)), WRITES(7, __builtin_memset(p, 1, 7)),
    READS(7, OUT(int) = __builtin_memcmp(p, other, 7)), READS(7, OUT(bool) = __builtin_memcmp(p, other, 7) == 0),
    READS(13, for (int i = 0; i < 13; ++i) other[i] = p[i]), WRITES(13, for (int i = 0; i < 13; ++i) p[i] = 0),
};

/// The bytes of each are found exactly: with one less in reach at either end it fails. Some compilers leave all but
/// those of 1, 2, 4, 8 and 16 bytes without a hook.
TEST(SimAccesses, HaveTheirBytesInAnyForm) {
  constexpr std::size_t size = 128, before = 32;
  const auto other = zeros<unsigned char>(size);
  for (const Snippet& s : snippets) {
    const auto outcome = [&](const Buffer<unsigned char>& b) {
      s.start({1, 1, 0, {}}, b.ptr() + before, other.ptr());
      try {
        sim::synchronize({});
      } catch (const Fault& f) {
        EXPECT_GT(f.line, 0) << f.what();
        return std::string(name(f.kind));
      }
      return std::string("passes");
    };
    const auto within = [&](std::size_t first, std::size_t bytes) {
      const auto b = zeros<unsigned char>(size);
      sim::set_reach(b.ptr() + before + first, bytes);
      return outcome(b);
    };
    EXPECT_EQ(within(0, s.bytes), "passes") << s.text;
    EXPECT_EQ(within(0, s.bytes - 1), "out of bounds") << s.text;
    EXPECT_EQ(within(1, s.bytes), "out of bounds") << s.text;
    EXPECT_EQ(outcome(Buffer<unsigned char>(size)), s.reads ? "read of unwritten memory" : "passes") << s.text;
    const auto input = zeros<unsigned char>(size);
    sim::protect_input(input.ptr());
    EXPECT_EQ(outcome(input), s.writes ? "broken contract" : "passes") << s.text;
  }
}

const Doubles<9> constants{{1, 0, 0, 0, 0, 0, 0, 0, 0}};
__global__ void passes_a_constant(unsigned* out) { out[0] = by_value(constants) + by_value(Doubles<9>{}); }

TEST(SimAccesses, ConstantsOfTheProgramMayBePassed) {
  const Buffer<unsigned> out(1);
  run<passes_a_constant>(1, 32, 0, out.ptr());
  EXPECT_EQ(on_host(out)[0], 0x3fu + 0xf0u);
}

template <auto access>
void expect_refused_atomic() {
  const auto p = zeros<unsigned>(1);
  const Fault f = fault_of<access>(1, 32, 0, p.ptr());
  EXPECT_EQ(f.kind, FaultKind::contract) << f.what();
  EXPECT_EQ(f.file, "tests/device/sim/pointers_test.cpp") << f.what();
  EXPECT_TRUE(says(f, "uses a C++ atomic, such as std::atomic or __atomic_fetch_add, which")) << f.what();
}
__global__ void adds_by_a_builtin(unsigned* p) { __atomic_fetch_add(p, 1u, __ATOMIC_RELAXED); }
__global__ void loads_by_a_builtin(unsigned* p) { while (__atomic_load_n(p, __ATOMIC_ACQUIRE) == 0) {} }
__global__ void stores_by_a_builtin(unsigned* p) { __atomic_store_n(p, 1u, __ATOMIC_RELEASE); }
__global__ void exchanges_by_a_builtin(unsigned* p) { __sync_bool_compare_and_swap(p, 0u, 1u); }

TEST(SimAccesses, AtomicsOfTheLanguageAreRefused) {
  expect_refused_atomic<adds_by_a_builtin>();
  expect_refused_atomic<loads_by_a_builtin>();
  expect_refused_atomic<stores_by_a_builtin>();
  expect_refused_atomic<exchanges_by_a_builtin>();
}

// ------------------------------------------------------------------------------------- what is not found any more

/// A promise on a raw parameter is the compiler's to use and nobody's to check.
__global__ void breaks_a_promise(const unsigned* __restrict__ in, unsigned* out) {
  if (threadIdx.x == 0) out[0] = in[0] + 1;
}

TEST_P(SimPointers, AConstPromiseOfARawParameterIsNotChecked) {
  const auto p = on_device<unsigned>({41});
  run<breaks_a_promise>(1, 32, 0, static_cast<const unsigned*>(p.ptr()), p.ptr());
  EXPECT_EQ(on_host(p)[0], 42u);
}

/// Lanes may store one value together, so the first line is wrong. The compiler removes it, as nvcc does.
__global__ void stores_twice(unsigned char* p) {
  p[0] = static_cast<unsigned char>(threadIdx.x);
  p[0] = 7;
}

TEST_P(SimPointers, AStoreThatTheCompilerRemovesIsNotFound) {
  const auto p = zeros<unsigned char>(1);
#ifdef __OPTIMIZE__
  run<stores_twice>(1, 32, 0, p.ptr());
#else
  EXPECT_EQ(fault_of<stores_twice>(1, 32, 0, p.ptr()).kind, FaultKind::race);
#endif
}

struct __align__(16) Own {
  float x, y, z, w;
};
__global__ void copies_own(const float* in, float* out) {
  const Own v = *reinterpret_cast<const Own*>(in + 1);
  out[threadIdx.x] = v.x + v.w;
}

TEST_P(SimPointers, AMisalignedCopyOfAStructOfTheKernelsOwnIsNotFound) {
  const auto in = on_device<float>({0, 1, 2, 3, 4});
  const Buffer<float> out(1);
  run<copies_own>(1, 1, 0, static_cast<const float*>(in.ptr()), out.ptr());
  EXPECT_EQ(on_host(out)[0], 5.0f);
}

}  // namespace
}  // namespace reductio::sim_tests
