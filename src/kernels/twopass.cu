/// twopass: a two-stage reduction. Draft; the kernels' own work fills this file.
#include "device/device.h"

namespace reductio {
namespace {
using namespace device;

template <class T, class Load>
__global__ void rolled(GlobalPtr<const T> in, GlobalPtr<T> out, std::size_t n) {
  SharedPtr<T> buffer = shared_memory<T>();
  T sum = 0;
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) sum += Load{}(T(in[i]));
  buffer[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) buffer[threadIdx.x] += buffer[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = buffer[0];
}

std::unique_ptr<Plan> prepare_rolled(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return dispatch(p, [&]<class T, class Load>() {
    const unsigned block = static_cast<unsigned>(s.integer("block"));
    const std::size_t grid = 2 * gpu.sm_count, n = p.n;
    Buffer<T> partials(grid);
    return plan_of({grid, block, n / (grid * block) + 20, partials.bytes()},
                   [=](void* in, void* out, Stream stream) {
                     const Launch first{grid, block, block * sizeof(T), stream};
                     const Launch second{1, block, block * sizeof(T), stream};
                     launch<rolled<T, Load>>(first, global<const T>(in, n), partials.ptr(), n);
                     launch<rolled<T, Identity>>(second, GlobalPtr<const T>(partials.ptr()), global<T>(out, 1), grid);
                   });
  });
}

const Register register_rolled({.id = "twopass/rolled", .title = "two-pass, rolled", .cites = "twopass", .how = {},
                                .operations = {Operation::sum, Operation::sum_of_squares},
                                .types = {ElementType::i32, ElementType::f32, ElementType::f64},
                                .tunables = {Tunable::powers_of_two("block", 32, 1024, 256)}},
                               prepare_rolled);

}  // namespace
}  // namespace reductio
