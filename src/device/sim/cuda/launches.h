#pragma once
/// Launches of a program's kernels: what `<<<>>>` becomes, and CUDA's functions that launch.

#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "device/sim/cuda/runtime_calls.h"
#include "device/sim/vectors.h"

namespace reductio::sim::cuda {

struct cudaLaunchConfig_t {
  device::dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

/// A launch, as `<<<grid, block, shared_bytes, stream>>>` states it.
struct Configuration : Launched {
  Configuration(device::dim3 g, device::dim3 b, std::size_t shared = 0, cudaStream_t s = nullptr) {
    grid = {g.x, g.y, g.z};
    block = {b.x, b.y, b.z};
    shared_bytes = shared;
    stream = s;
  }
  explicit Configuration(const cudaLaunchConfig_t& c)
      : Configuration(c.gridDim, c.blockDim, c.dynamicSmemBytes, c.stream) {
    for (unsigned i = 0; i < c.numAttrs; ++i) {
      const auto& [id, value] = c.attrs[i];
      if (id == cudaLaunchAttributeCooperative) cooperative = value.cooperative != 0;
      if (id == cudaLaunchAttributeClusterDimension)
        cluster = value.clusterDim.x * value.clusterDim.y * value.clusterDim.z;
      if (id == cudaLaunchAttributeProgrammaticStreamSerialization)
        overlaps = value.programmaticStreamSerializationAllowed != 0;
    }
  }
};

/// A kernel's call with the arguments of one launch: what every thread of it runs. `f` names the kernel, so that
/// whatever a call may be written with, deduced template arguments, say, may stand before `<<<`, too. Without hooks:
/// the arguments are read from the host's memory, and each thread gets its own copy of them.
template <class F, class... Arguments>
struct Call {
  F f;
  std::tuple<Arguments...> values;

  __attribute__((no_sanitize("thread"))) static void run(const void* self) {
    const auto& call = *static_cast<const Call*>(self);
    call.start(std::index_sequence_for<Arguments...>());
  }
  template <std::size_t... I>
  __attribute__((no_sanitize("thread"))) void start(std::index_sequence<I...>) const {
    f(std::get<I>(values)...);
  }
};

template <class F, class... Arguments>
cudaError_t launch(const char* name, const Configuration& c, Site site, F f, Arguments... arguments) {
  using Made = Call<F, Arguments...>;
  return launch(c, {&Made::run, std::make_shared<const Made>(Made{f, {std::move(arguments)...}}), sizeof(Made), name},
                site);
}

/// `kernel<<<c...>>>(arguments...)` becomes `launching("&kernel", call, here()).in(Configuration(c...))(arguments...)`
/// (src/plugin/launches.cpp).
template <class F>
struct Launching {
  const char* name;
  F f;
  Site site;
  std::optional<Configuration> configuration{};

  Launching& in(const Configuration& c) { return configuration = c, *this; }
  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    launch(name, *configuration, site, f, std::move(arguments)...);
  }
};
template <class F>
Launching<F> launching(const char* name, F f, Site site) {
  forbid_in_kernel("<<<>>>", site);
  return {name, f, site};
}

/// A kernel by its address, which knows its parameters; `(void*)kernel` becomes one, too.
template <class... P>
struct NamedKernel {
  const char* name;
  void (*kernel)(P...);
  NamedKernel(const char* name, void (*kernel)(P...)) : name(name), kernel(kernel) {}
  __attribute__((no_sanitize("thread"))) void operator()(const P&... p) const { kernel(p...); }
};
template <class... P, std::size_t... I>
cudaError_t launch(const NamedKernel<P...>& kernel, void** arguments, const Configuration& c, Site site,
                   std::index_sequence<I...>) {
  return launch(kernel.name, c, site, kernel, *static_cast<P*>(arguments[I])...);
}
template <class... P>
cudaError_t cudaLaunchKernel(NamedKernel<P...> kernel, device::dim3 grid, device::dim3 block, void** arguments,
                             std::size_t shared_bytes = 0, cudaStream_t stream = nullptr, Site site = here()) {
  return launch(kernel, arguments, {grid, block, shared_bytes, stream}, site, std::index_sequence_for<P...>());
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(NamedKernel<P...> kernel, device::dim3 grid, device::dim3 block,
                                        void** arguments, std::size_t shared_bytes = 0, cudaStream_t stream = nullptr,
                                        Site site = here()) {
  Configuration c(grid, block, shared_bytes, stream);
  c.cooperative = true;
  return launch(kernel, arguments, c, site, std::index_sequence_for<P...>());
}
template <class... P>
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, NamedKernel<P...> kernel, void** arguments,
                                Site site = here()) {
  return launch(kernel, arguments, Configuration(*config), site, std::index_sequence_for<P...>());
}
/// It has a parameter pack last, where no Site can be.
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, NamedKernel<P...> kernel, A... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "cudaLaunchKernelEx() takes as many arguments as the kernel has");
  return launch(kernel.name, Configuration(*config), Site{}, kernel, static_cast<P>(arguments)...);
}

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel*, int block, std::size_t shared_bytes) {
  return blocks_per_sm(blocks, block, shared_bytes);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel*, int block,
                                                                   std::size_t shared_bytes, unsigned) {
  return blocks_per_sm(blocks, block, shared_bytes);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel*, std::size_t shared_bytes = 0,
                                               int most = 0) {
  *block = most > 0 && most < 1024 ? most : 1024;
  return blocks_on_device(grid, *block, shared_bytes);
}
template <class Kernel, class Bytes>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, Kernel* kernel, Bytes bytes,
                                                           int most = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, bytes(most ? most : 1024), most);
}
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, Kernel*) {
  return attributes_of_kernel(a);
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute a, int value, Site site = here()) {
  return set_attribute_of_kernel(a, value, site);
}
template <class Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel*, cudaFuncCache) {
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetSharedMemConfig(Kernel*, cudaSharedMemConfig) {
  return cudaSuccess;
}

}  // namespace reductio::sim::cuda
