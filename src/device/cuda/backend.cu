/// An NVIDIA GPU through the CUDA runtime.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "device/backend.h"
#include "device/device.h"

namespace reductio {
namespace {

using device::check;
using device::native;

/// "12.8" from CUDA's 12080.
std::string cuda_version(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

/// What this file, and so the whole program, was compiled for: 90 for compute capability 9.0.
std::vector<int> built_for() {
  std::vector<int> out;
  for (const int arch : {__CUDA_ARCH_LIST__}) out.push_back(arch / 10);
  return out;
}

/// "GPU-1b2c...": the form of nvidia-smi.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string out = "GPU";
  for (int i = 0; i < 16; ++i) {
    char byte[3];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    out += (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) ? std::string("-") + byte : std::string(byte);
  }
  return out;
}

/// Never launched: it is there exactly if this program holds code for the GPU, and its attributes tell for which.
__global__ void probe() {}

/// Sets *found if any of the words at p + step differs from the one a step before it.
template <class Word>
__global__ void find_difference(const Word* p, std::size_t step, std::size_t words, unsigned* found) {
  const std::size_t stride = std::size_t{blockDim.x} * gridDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += stride)
    if (p[i] != p[i + step]) *found = 1;
}

/// How many GPUs there are, at least one. Throws NoGpu with the reason if none can be used.
int count_gpus() {
  int driver = 0, runtime = 0, count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  cudaGetLastError();  // a failed start must not show up as the failure of a later call
  if (driver == 0)
    throw NoGpu("no usable GPU: the NVIDIA driver is not installed or not loaded ('nvidia-smi' shows it)");
  if (status == cudaErrorInsufficientDriver)
    throw NoGpu("no usable GPU: the driver supports CUDA " + cuda_version(driver) + ", this program needs CUDA " +
                cuda_version(runtime) + "; update the driver or rebuild with an older toolkit");
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    throw NoGpu("no usable GPU: the driver finds none (is CUDA_VISIBLE_DEVICES set to hide it?)");
  if (status != cudaSuccess)
    throw NoGpu(std::string("no usable GPU: CUDA does not start: ") + cudaGetErrorString(status) +
                (status == cudaErrorMemoryAllocation ? address_space_advice() : ""));
  return count;
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const std::string& selector) {
    const int count = count_gpus();
    std::vector<cudaDeviceProp> gpus(count);
    std::vector<std::string> uuids(count);
    for (int i = 0; i < count; ++i) {
      check(cudaGetDeviceProperties(&gpus[i], i), "reading the GPU's properties");
      uuids[i] = uuid_text(gpus[i].uuid);
    }
    // An instance of a divided GPU is listed by nvidia-smi as MIG-..., with the UUID that CUDA reports.
    const std::size_t index = select_gpu(
        selector.starts_with("MIG-") || selector.starts_with("mig-") ? "GPU" + selector.substr(3) : selector, uuids);
    const cudaDeviceProp& gpu = gpus[index];
    const std::string who = "GPU " + std::to_string(index) + " (" + gpu.name + ")";
    // From here on this thread works on this GPU, and so do the kernels that it launches.
    if (const cudaError_t e = cudaSetDevice(static_cast<int>(index)); e != cudaSuccess) {
      cudaGetLastError();
      throw NoGpu(who + " cannot be used: " + cudaGetErrorString(e));
    }
    cudaFuncAttributes attributes{};
    const cudaError_t e = cudaFuncGetAttributes(&attributes, probe);
    cudaGetLastError();
    if (e != cudaSuccess && e != cudaErrorNoKernelImageForDevice && e != cudaErrorInvalidDeviceFunction)
      throw NoGpu(who + " cannot be used: " + cudaGetErrorString(e));
    require_code(who, gpu.major * 10 + gpu.minor, built_for(), e == cudaSuccess);
    info_.kind = DeviceKind::cuda;
    info_.name = gpu.name;
    info_.sm_count = gpu.multiProcessorCount;
    info_.threads_per_sm = gpu.maxThreadsPerMultiProcessor;
    info_.shared_bytes_per_block = gpu.sharedMemPerBlock;
    info_.l2_bytes = static_cast<std::size_t>(gpu.l2CacheSize);
    info_.memory_bytes = gpu.totalGlobalMem;
    info_.max_grid = static_cast<unsigned>(gpu.maxGridSize[0]);
    info_.capability = static_cast<int>(device::usable_capability<probe>());
    info_.cluster_blocks = static_cast<int>(device::most_cluster_blocks<probe>(512));
    device::workspace_stream() = stream_ = create_stream();
  }
  ~CudaBackend() override {
    if (device::workspace_stream().handle == stream_.handle) device::workspace_stream() = {};
    destroy_stream(stream_);
    device::places().drawn.reset();
  }

  const DeviceInfo& info() const override { return info_; }

  void* allocate(std::size_t bytes) override {
    void* p = nullptr;
    const cudaError_t status = device::allocate_block(&p, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw NoMemory("needs " + gib(bytes) + " of GPU memory, " + gib(memory_free()) + " free");
    }
    check(status, "allocating GPU memory");
    // Other streams do not wait for this one, so the poison must have landed before anyone writes.
    cudaError_t poisoned = cudaMemsetAsync(p, 0xFF, bytes, native(stream_));
    if (poisoned == cudaSuccess) poisoned = cudaStreamSynchronize(native(stream_));
    if (poisoned != cudaSuccess) device::free_block(p);
    check(poisoned, "poisoning GPU memory");
    return p;
  }
  void release(void* p) noexcept override { device::free_block(p); }
  bool scatter() override {
    if (!device::places().drawn) device::places().drawn.emplace(std::random_device{}());
    return true;
  }

  std::size_t memory_free() const override {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for free GPU memory");
    return free;
  }

  void fill(void* dst, unsigned char byte, std::size_t bytes, Stream s) override {
    check(cudaMemsetAsync(dst, byte, bytes, native(s)), "filling GPU memory");
  }
  // From pageable host memory CUDA stages the bytes before it returns: the caller may change them at once.
  void copy_in(void* dst, const void* host, std::size_t bytes, Stream s) override {
    check(cudaMemcpyAsync(dst, host, bytes, cudaMemcpyHostToDevice, native(s)), "copying to the GPU");
  }
  void copy_within(void* dst, const void* src, std::size_t bytes, Stream s) override {
    check(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, native(s)), "copying within the GPU");
  }
  void copy_out(void* host, const void* src, std::size_t bytes, Stream s) override {
    check(cudaMemcpyAsync(host, src, bytes, cudaMemcpyDeviceToHost, native(s)), "copying from the GPU");
    synchronize(s);
  }
  bool repeats(const void* p, std::size_t period, std::size_t bytes, Stream s) override {
    if (bytes <= period) return true;
    const DeviceMemory result(*this, sizeof(unsigned));
    fill(result.get(), 0, result.size(), s);
    const auto compare = [&]<class Word>(const Word* first) {
      const std::size_t words = (bytes - period) / sizeof(Word), step = period / sizeof(Word);
      const auto grid = static_cast<unsigned>(std::min<std::size_t>(words / 256 + 1, std::size_t(info_.sm_count) * 8));
      find_difference<<<grid, 256, 0, native(s)>>>(first, step, words, static_cast<unsigned*>(result.get()));
    };
    // Elements of one and two bytes may begin and end anywhere.
    if ((reinterpret_cast<std::uintptr_t>(p) | period | bytes) % sizeof(unsigned) == 0)
      compare(static_cast<const unsigned*>(p));
    else
      compare(static_cast<const unsigned char*>(p));
    check(cudaGetLastError(), "comparing GPU memory");
    unsigned found = 0;
    copy_out(&found, result.get(), sizeof found, s);
    return found == 0;
  }

  Stream stream() const override { return stream_; }
  Stream create_stream() override {
    cudaStream_t s = nullptr;
    check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "making a stream");
    return {s};
  }
  void destroy_stream(Stream s) noexcept override { cudaStreamDestroy(native(s)); }
  void synchronize(Stream s) override { check(cudaStreamSynchronize(native(s)), "waiting for the GPU"); }

  std::function<void()> watch_enqueue(const std::function<void()>& enqueue, Stream s, FirstLaunch* first) override {
    // A capture takes what is asynchronous and on this stream, and fails at whatever allocates, frees or waits.
    check(cudaStreamBeginCapture(native(s), cudaStreamCaptureModeThreadLocal), "capturing a stream");
    std::exception_ptr thrown;
    try {
      enqueue();
    } catch (...) {
      thrown = std::current_exception();
    }
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(native(s), &graph);
    cudaGetLastError();  // or this error would show up as the failure of the next launch
    if (thrown || status != cudaSuccess) {
      if (graph) cudaGraphDestroy(graph);
      throw_not_captured(thrown, status);
    }
    cudaGraphExec_t exec = nullptr;
    cudaError_t made = first ? read_first_launch(graph, *first) : cudaSuccess;
    if (made == cudaSuccess) made = cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    // CUDA frees one that still runs when it has ended.
    const std::shared_ptr<CUgraphExec_st> kept(exec, [](cudaGraphExec_t e) { if (e) cudaGraphExecDestroy(e); });
    check(made, "launching a captured call");
    const auto launch = [kept, s] { check(cudaGraphLaunch(kept.get(), native(s)), "launching a captured call"); };
    launch();
    return launch;
  }

 private:
  [[noreturn]] static void throw_not_captured(const std::exception_ptr& thrown, cudaError_t status) {
    std::string why = cudaGetErrorString(status);
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Refused&) {
      throw;
    } catch (const std::exception& e) {
      why = e.what();
    }
    throw DeviceError("enqueue() cannot be captured into a graph (" + why +
                      "): it may only put work onto its stream; allocate when the plan is prepared, wait in finish()");
  }

  /// That of the first kernel among the nodes: a captured stream's stand in the order of its operations.
  static cudaError_t read_first_launch(cudaGraph_t graph, FirstLaunch& first) {
    std::size_t count = 0;
    cudaError_t status = cudaGraphGetNodes(graph, nullptr, &count);
    std::vector<cudaGraphNode_t> nodes(count);
    if (status == cudaSuccess && count) status = cudaGraphGetNodes(graph, nodes.data(), &count);
    for (std::size_t i = 0; status == cudaSuccess && i < count; ++i) {
      cudaGraphNodeType type{};
      status = cudaGraphNodeGetType(nodes[i], &type);
      if (status != cudaSuccess || type != cudaGraphNodeTypeKernel) continue;
      cudaKernelNodeParams kernel{};
      status = cudaGraphKernelNodeGetParams(nodes[i], &kernel);
      first = {std::size_t{kernel.gridDim.x} * kernel.gridDim.y * kernel.gridDim.z,
               kernel.blockDim.x * kernel.blockDim.y * kernel.blockDim.z};
      break;
    }
    return status;
  }

  DeviceInfo info_;
  Stream stream_;
};

}  // namespace

std::shared_ptr<void> cuda_workspace(std::size_t bytes) {
  constexpr std::size_t guard = Guarded::guard_bytes;
  const std::shared_ptr<void> all = device::allocate_workspace(bytes + 2 * guard);
  char* const begin = static_cast<char*>(all.get());
  const cudaStream_t stream = native(device::workspace_stream());
  check(cudaMemsetAsync(begin, Guarded::mark, guard, stream), "marking a workspace");
  check(cudaMemsetAsync(begin + guard + bytes, Guarded::mark, guard, stream), "marking a workspace");
  check(cudaStreamSynchronize(stream), "marking a workspace");
  return {all, begin + guard};
}

std::unique_ptr<Backend> open_cuda(const std::string& selector) { return std::make_unique<CudaBackend>(selector); }

}  // namespace reductio
