// CUDA's runtime for programs and plug-ins on the simulated device, and what their kernels call of the C library.

#include "device/sim/runtime.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/variant.h"
#include "device/sim/access.h"
#include "device/sim/cuda/runtime_calls.h"
#include "device/sim/diagnosis.h"
#include "device/sim/gpu.h"
#include "device/sim/limits.h"
#include "device/sim/lock.h"
#include "device/sim/memory.h"
#include "device/sim/scheduler.h"
#include "device/sim/streams.h"

namespace reductio::sim {
namespace {

using namespace cuda;

/// Under the device's lock.
struct Runtime {
  std::optional<ProgramEvents> program;
  cudaError_t last = cudaSuccess, broken = cudaSuccess;
  std::vector<Stream> streams;         ///< in the order of their creation
  std::set<void*> waits_for_standard;  ///< those that were not created with cudaStreamNonBlocking
  bool said_no_times = false;
  std::string printed;  ///< by the kernel that runs
};
Runtime& runtime() {
  static Runtime* const r = new Runtime;  // a program's destructors may call
  return *r;
}

struct Event {
  std::shared_ptr<bool> reached;  ///< null: not recorded
  Stream stream;
  bool is_timed = true;
};

/// One line to the user, beside the error that the call returns.
void note(Site site, const char* call, const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "reductio: %s%s%s\n", site.line ? (to_string(site) + ": ").c_str() : "",
               *call ? (std::string(call) + ": ").c_str() : "", what.c_str());
}

cudaError_t error_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::out_of_bounds:
    case FaultKind::use_after_free: return cudaErrorIllegalAddress;
    case FaultKind::misaligned: return cudaErrorMisalignedAddress;
    case FaultKind::stopped: return cudaErrorAssert;
    case FaultKind::endless_wait:
    case FaultKind::unfinished_barrier: return cudaErrorLaunchTimeout;
    case FaultKind::launch: return cudaErrorInvalidConfiguration;
    default: return cudaErrorLaunchFailure;
  }
}

/// Of a launch that is refused.
cudaError_t error_of_launch(const Shape& s) {
  if (s.shared_bytes > shared_bytes_per_block) return cudaErrorInvalidValue;
  const bool fits = s.block >= 1 && s.block <= max_threads_per_block && s.grid >= 1 && s.grid <= max_grid;
  return s.cooperative && fits && s.grid > resident_blocks(s) ? cudaErrorCooperativeLaunchTooLarge
                                                              : cudaErrorInvalidConfiguration;
}
std::string refusal_in(const Fault& e) {
  const std::string text = e.what();
  return text.substr(text.rfind(": ") + 2);
}

/// A fault of a copy, with its place.
Fault placed(const Fault& f, Site site) {
  if (f.line || !site.line || !f.kernel.empty()) return f;
  const std::string text = f.what(), before = "simulated device: " + std::string(name(f.kind)) + ": ";
  return Fault(f.kind, f.kernel, f.block, f.threads, shown_path(site.file), site.line,
               text.starts_with(before) ? text.substr(before.size()) : text, site.column);
}

cudaError_t fail(cudaError_t error, Site site, const char* call, const std::string& what) {
  const std::string text = std::string(cudaGetErrorName(error)) + ", " + what;
  note(site, call, text);
  if (const auto& program = runtime().program)
    program->failed({site.file ? shown_path(site.file) : "", site.line, site.column, std::string(call) + ": " + text});
  return error;
}

}  // namespace

void cuda::forbid_in_kernel(const char* name, Site site) {
  if (running)
    stop_here(
        FaultKind::contract, site,
        std::string("a kernel calls ") + name +
            ": only host code calls the runtime here; launches by kernels (dynamic parallelism) are not simulated");
}

namespace {

/// A call of the runtime. What `body` throws becomes CUDA's error; in a plug-in it goes on to whoever called that.
template <class Body>
cudaError_t call(const char* name, Site site, Body body) {
  forbid_in_kernel(name, site);
  const DeviceLock lock;
  Runtime& r = runtime();
  if (r.broken) return r.last = r.broken;
  cudaError_t error = cudaSuccess;
  try {
    error = body();
  } catch (const Fault& e) {
    if (!r.program) throw;
    error = error_of(e.kind);
    if (e.kind == FaultKind::launch) {
      fail(error, site, name, refusal_in(e));
    } else {
      if (!r.program->goes_on) r.broken = error;
      r.program->found(placed(e, site));
    }
  } catch (const NoHostMemory& e) {
    if (!r.program) throw;
    error = r.broken = cudaErrorMemoryAllocation;
    r.program->found(placed(Fault(FaultKind::memory, "", 0, {}, "", 0, e.what()), site));
  } catch (const NoMemory& e) {
    error = fail(cudaErrorMemoryAllocation, site, name, e.what());
  } catch (const DeviceError& e) {
    if (!r.program) throw;
    error = fail(cudaErrorUnknown, site, name, e.what());
  }
  if (error != cudaSuccess && error != cudaErrorNotReady) r.last = error;
  return error;
}

bool in_arena(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) - first_address < last_address - first_address;
}
bool of_host(const void* p) {
  const Memory* const m = owner_of(reinterpret_cast<std::uintptr_t>(p));
  return m && m->of_host;
}
bool is_variable(const void* p) { return !in_arena(p) && variable_at(reinterpret_cast<std::uintptr_t>(p)); }
bool of_device(const void* p) { return in_arena(p) || is_variable(p); }

Stream stream_of(cudaStream_t s) {
  return s == cudaStreamLegacy || s == cudaStreamPerThread ? Stream{} : Stream{s};
}

/// The default stream waits for those that were not made with cudaStreamNonBlocking, and they for it: whatever is put
/// on either comes after what the other holds. That is run now.
void wait_for_others(Stream s) {
  Runtime& r = runtime();
  if (!r.program) return;  // a plug-in's streams are the harness's
  if (!s.handle) {
    for (const Stream other : r.streams)
      if (r.waits_for_standard.contains(other.handle)) synchronize(other);
  } else if (r.waits_for_standard.contains(s.handle)) {
    synchronize(Stream{});
  }
}

void synchronize_all() {
  synchronize(Stream{});
  const auto all = runtime().streams;
  for (const Stream s : all) synchronize(s);
}

/// What a stream's handle must be.
template <class Body>
cudaError_t on_stream(const char* name, cudaStream_t handle, Site site, Body body) {
  return call(name, site, [&] {
    const Stream s = stream_of(handle);
    if (s.handle && runtime().program && !is_stream(s))
      return fail(cudaErrorInvalidResourceHandle, site, name, "the stream was destroyed, or never created");
    return body(s);
  });
}

// ---- copies ----

/// Why CUDA refuses such a copy; empty if it does not. A variable fits either side: in an object, the host's globals
/// look as __device__ ones do.
std::string wrong_direction(const void* to, const void* from, cudaMemcpyKind kind) {
  const auto fits = [](const void* p, bool device) { return of_host(p) || is_variable(p) || in_arena(p) == device; };
  const auto side = [](bool device) { return device ? "the device's" : "the host's"; };
  if (kind == cudaMemcpyDefault) return "";
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (!fits(to, to_device))
    return std::string("the destination is ") + side(!to_device) + " memory, and the kind says " + side(to_device);
  if (!fits(from, from_device))
    return std::string("the source is ") + side(!from_device) + " memory, and the kind says " + side(from_device);
  return "";
}

void copy_now(void* to, const void* from, std::size_t bytes) {
  const bool to_arena = in_arena(to), from_arena = in_arena(from);
  if (!to_arena && is_variable(to)) {
    if (!from_arena) return write_variable(to, from, bytes);
    std::vector<std::byte> through(bytes);
    copy_out_now(through.data(), from, bytes);
    return write_variable(to, through.data(), bytes);
  }
  if (to_arena && from_arena) copy_within_now(to, from, bytes);
  else if (to_arena) copy_in_now(to, from, bytes);
  else if (from_arena) copy_out_now(to, from, bytes);
  else std::memmove(to, from, bytes);
}

/// Puts work onto a stream whose faults have the place of the call.
void put(Stream s, Site site, std::function<void()> work) {
  enqueue_host_work(s, [site, work = std::move(work)] {
    try {
      work();
    } catch (const Fault& e) {
      throw placed(e, site);
    }
  });
}

struct Rows {
  std::size_t to_pitch, from_pitch, width, height;
};
cudaError_t copy(const char* name, void* to, const void* from, Rows rows, cudaMemcpyKind kind, cudaStream_t handle,
                 bool waits, Site site) {
  return on_stream(name, handle, site, [&](Stream s) {
    if (rows.width == 0 || rows.height == 0) return cudaSuccess;
    if (!to || !from) return fail(cudaErrorInvalidValue, site, name, "a null pointer");
    if (rows.width > rows.to_pitch || rows.width > rows.from_pitch)
      return fail(cudaErrorInvalidPitchValue, site, name, "the width is more than a pitch");
    if (const std::string wrong = wrong_direction(to, from, kind); !wrong.empty())
      return fail(cudaErrorInvalidValue, site, name, wrong);
    wait_for_others(s);
    // The host may reuse ordinary memory when the call returns.
    std::shared_ptr<std::vector<std::byte>> kept;
    if (!waits && (!of_device(from) || (is_variable(from) && kind == cudaMemcpyHostToDevice))) {
      const auto* const first = static_cast<const std::byte*>(from);
      kept = std::make_shared<std::vector<std::byte>>(first,
                                                      first + (rows.height - 1) * rows.from_pitch + rows.width);
      from = kept->data();
    }
    put(s, site, [=] {
      (void)kept;
      for (std::size_t row = 0; row < rows.height; ++row)
        copy_now(static_cast<std::byte*>(to) + row * rows.to_pitch,
                 static_cast<const std::byte*>(from) + row * rows.from_pitch, rows.width);
    });
    if (waits) synchronize(s);
    return cudaSuccess;
  });
}

cudaError_t fill(const char* name, void* p, std::size_t pitch, int byte, std::size_t width, std::size_t height,
                 cudaStream_t handle, bool waits, Site site) {
  return on_stream(name, handle, site, [&](Stream s) {
    if (width == 0 || height == 0) return cudaSuccess;
    if (!of_device(p)) return fail(cudaErrorInvalidValue, site, name, "it is not memory of the device");
    wait_for_others(s);
    put(s, site, [=] {
      for (std::size_t row = 0; row < height; ++row) {
        auto* const first = static_cast<std::byte*>(p) + row * pitch;
        if (in_arena(p)) {
          fill_now(first, static_cast<unsigned char>(byte), width);
        } else {
          const std::vector<std::byte> bytes(width, static_cast<std::byte>(byte));
          write_variable(first, bytes.data(), width);
        }
      }
    });
    if (waits) synchronize(s);
    return cudaSuccess;
  });
}

cudaError_t free_memory(const char* name, void* p, Site site) {
  return call(name, site, [&] {
    if (!p) return cudaSuccess;
    if (runtime().program) synchronize_all();
    if (!begins_allocation(p))
      return fail(cudaErrorInvalidValue, site, name,
                  in_arena(p) ? "the address is not the start of a live allocation: freed before, or inside one"
                              : "the address is not in the device's memory");
    release(p);
    return cudaSuccess;
  });
}

Event* event_of(cudaEvent_t e) { return reinterpret_cast<Event*>(e); }

/// What was put before the event onto its stream is done.
void wait_for(const Event& e) {
  if (e.reached && !*e.reached) synchronize(e.stream, *e.reached);
}

}  // namespace

void begin_program(ProgramEvents events) {
  const DeviceLock lock;
  if (events.goes_on) scheduler().listen_to_races(events.found);
  share_memory(events.processes);
  runtime().program = std::move(events);
}

namespace {

/// As to_string(Site), behind `before`; empty if it is not known.
struct PlainPlace {
  char text[1024] = "";
  PlainPlace(const char* before, Site s) {
    if (!s.line) return;
    const std::string_view file = s.file ? shown_part(s.file) : "?";
    const int n = std::snprintf(text, sizeof text, "%s%.*s:%d", before, static_cast<int>(file.size()), file.data(),
                                s.line);
    if (s.column && n > 0 && static_cast<std::size_t>(n) < sizeof text)
      std::snprintf(text + n, sizeof text - static_cast<std::size_t>(n), ":%d", s.column);
  }
};

}  // namespace

const char* where_it_runs() {
  static char text[4096];
  if (!running) return "host code is running, and no kernel";
  Site site = last_access();
  // In a function of ours, as a group's, it is where the user called that.
  if (site.file && std::strstr(site.file, "/device/sim/")) site = scheduler().last_wait();
  std::snprintf(text, sizeof text, "kernel %s, block %s, thread %s is running%s", scheduler().kernel().c_str(),
                PlainName(gridDim, running->index).text, PlainName(blockDim, thread_now).text,
                PlainPlace(", last at ", site).text);
  return text;
}

std::string in_words(const char* ours, const char* cudas) { return runtime().program ? cudas : ours; }

const char* tell_stack_overflow() {
  static char text[4096];
  const Site site = last_access();
  const char* const kernel = scheduler().kernel().c_str();
  std::snprintf(text, sizeof text,
                "simulated device: %s in kernel %s, block %s, thread %s%s: its stack of %zu KiB overflowed: local "
                "arrays or calls that are too deep (the line is that of the last access)",
                name(FaultKind::out_of_bounds).data(), kernel, PlainName(gridDim, running->index).text,
                PlainName(blockDim, thread_now).text, PlainPlace(", ", site).text, stack_bytes / 1024);
  if (const auto& program = runtime().program)
    program->overflowed({kernel, running->index, thread_now, site.file ? shown_part(site.file) : "", site.line,
                         site.column, text});
  return text;
}

void end_program() {
  call("the end of the program", {}, [] {
    synchronize_all();
    return cudaSuccess;
  });
  if (const std::string undefined = scheduler().undefined_shuffles(); runtime().program && !undefined.empty())
    note({}, "", undefined + "; what depends on it is undefined");
}

// ---- the calls ----

namespace cuda {

cudaError_t allocate(void** p, std::size_t bytes, Site site) {
  return call("cudaMalloc", site, [&] {
    *p = bytes ? sim::allocate(bytes) : nullptr;
    return cudaSuccess;
  });
}
cudaError_t allocate_for_host(void** p, std::size_t bytes, Site site) {
  return call("cudaMallocManaged", site, [&] {
    *p = bytes ? sim::allocate_for_host(bytes) : nullptr;
    return cudaSuccess;
  });
}
cudaError_t allocate_pitched(void** p, std::size_t* pitch, std::size_t width, std::size_t height, Site site) {
  constexpr std::size_t pitch_step = 512;
  *pitch = (width + pitch_step - 1) / pitch_step * pitch_step;
  return allocate(p, *pitch * height, site);
}
cudaError_t cudaMalloc3D(cudaPitchedPtr* p, cudaExtent e, Site site) {
  *p = {nullptr, 0, e.width, e.height};
  return allocate_pitched(&p->ptr, &p->pitch, e.width, e.height * e.depth, site);
}
cudaError_t cudaHostRegister(void*, std::size_t, unsigned, Site site) {
  return call("cudaHostRegister", site, [&] {
    return fail(cudaErrorNotSupported, site, "cudaHostRegister",
                "not simulated: allocate the memory by cudaMallocHost");
  });
}
cudaError_t cudaHostUnregister(void*, Site) { return cudaSuccess; }
cudaError_t device_pointer(void** device, void* host, Site site) {
  return call("cudaHostGetDevicePointer", site, [&] {
    if (!of_host(host))
      return fail(cudaErrorInvalidValue, site, "cudaHostGetDevicePointer", "the memory is not page-locked");
    *device = host;
    return cudaSuccess;
  });
}
cudaError_t cudaFree(void* p, Site site) { return free_memory("cudaFree", p, site); }
cudaError_t cudaFreeHost(void* p, Site site) { return free_memory("cudaFreeHost", p, site); }
cudaError_t cudaFreeAsync(void* p, cudaStream_t, Site site) { return free_memory("cudaFreeAsync", p, site); }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = memory_free();
  *total = device_memory_bytes;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p, Site site) {
  return call("cudaPointerGetAttributes", site, [&] {
    const bool device = of_device(p);
    void* const as_is = const_cast<void*>(p);
    *a = {of_host(p) ? cudaMemoryTypeManaged
          : device   ? cudaMemoryTypeDevice
                     : cudaMemoryTypeUnregistered,
          0, device ? as_is : nullptr, !device || of_host(p) ? as_is : nullptr};
    return cudaSuccess;
  });
}
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t, Site) { return cudaSuccess; }
cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, int, Site) { return cudaSuccess; }

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, Site site) {
  return copy("cudaMemcpy", to, from, {bytes, bytes, bytes, 1}, kind, nullptr, true, site);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t s,
                            Site site) {
  return copy("cudaMemcpyAsync", to, from, {bytes, bytes, bytes, 1}, kind, s, false, site);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind, Site site) {
  return copy("cudaMemcpy2D", to, from, {to_pitch, from_pitch, width, height}, kind, nullptr, true, site);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t s, Site site) {
  return copy("cudaMemcpy2DAsync", to, from, {to_pitch, from_pitch, width, height}, kind, s, false, site);
}
cudaError_t cudaMemset(void* p, int byte, std::size_t bytes, Site site) {
  return fill("cudaMemset", p, bytes, byte, bytes, 1, nullptr, true, site);
}
cudaError_t cudaMemsetAsync(void* p, int byte, std::size_t bytes, cudaStream_t s, Site site) {
  return fill("cudaMemsetAsync", p, bytes, byte, bytes, 1, s, false, site);
}
cudaError_t cudaMemset2D(void* p, std::size_t pitch, int byte, std::size_t width, std::size_t height, Site site) {
  return fill("cudaMemset2D", p, pitch, byte, width, height, nullptr, true, site);
}

namespace {

/// What a symbol's copies have in common: a check, then a copy.
cudaError_t copy_symbol(const char* name, void* to, const void* from, std::size_t symbol_bytes, std::size_t bytes,
                        std::size_t offset, cudaStream_t s, Site site) {
  if (offset > symbol_bytes || bytes > symbol_bytes - offset)
    return call(name, site, [&] {
      return fail(cudaErrorInvalidValue, site, name,
                  std::to_string(bytes) + " bytes from byte " + std::to_string(offset) + " of a variable of " +
                      std::to_string(symbol_bytes) + " bytes");
    });
  return copy(name, to, from, {bytes, bytes, bytes, 1}, cudaMemcpyDefault, s, s == nullptr, site);
}

}  // namespace

cudaError_t copy_to_symbol(const void* symbol, std::size_t symbol_bytes, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind, cudaStream_t s, Site site) {
  auto* const to = static_cast<std::byte*>(const_cast<void*>(symbol)) + offset;
  return copy_symbol("cudaMemcpyToSymbol", to, from, symbol_bytes, bytes, offset, s, site);
}
cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t symbol_bytes, std::size_t bytes,
                             std::size_t offset, cudaMemcpyKind, cudaStream_t s, Site site) {
  const auto* const from = static_cast<const std::byte*>(symbol) + offset;
  return copy_symbol("cudaMemcpyFromSymbol", to, from, symbol_bytes, bytes, offset, s, site);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
  return call("cudaStreamCreate", {}, [&] {
    const Stream made = create_stream();
    runtime().streams.push_back(made);
    if (!(flags & cudaStreamNonBlocking)) runtime().waits_for_standard.insert(made.handle);
    *s = static_cast<cudaStream_t>(made.handle);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreate(cudaStream_t* s) { return cudaStreamCreateWithFlags(s, cudaStreamDefault); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int) {
  return cudaStreamCreateWithFlags(s, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t handle, Site site) {
  return on_stream("cudaStreamDestroy", handle, site, [&](Stream s) {
    if (!s.handle) return fail(cudaErrorInvalidResourceHandle, site, "cudaStreamDestroy", "the default stream");
    std::erase_if(runtime().streams, [&](Stream other) { return other.handle == s.handle; });
    runtime().waits_for_standard.erase(s.handle);
    destroy_stream(s);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle, Site site) {
  return on_stream("cudaStreamSynchronize", handle, site, [&](Stream s) {
    wait_for_others(s);
    synchronize(s);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamQuery(cudaStream_t s, Site site) { return cudaStreamSynchronize(s, site); }
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t e, unsigned, Site site) {
  return on_stream("cudaStreamWaitEvent", handle, site, [&](Stream) {
    wait_for(*event_of(e));
    return cudaSuccess;
  });
}
cudaError_t cudaStreamAddCallback(cudaStream_t handle, void (*f)(cudaStream_t, cudaError_t, void*), void* data,
                                  unsigned, Site site) {
  return on_stream("cudaStreamAddCallback", handle, site, [&](Stream s) {
    wait_for_others(s);
    put(s, site, [=] { f(handle, cudaSuccess, data); });
    return cudaSuccess;
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t handle, void (*f)(void*), void* data, Site site) {
  return on_stream("cudaLaunchHostFunc", handle, site, [&](Stream s) {
    wait_for_others(s);
    put(s, site, [=] { f(data); });
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned flags) {
  auto* const made = new Event;
  made->is_timed = (flags & cudaEventDisableTiming) == 0;
  *e = reinterpret_cast<cudaEvent_t>(made);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, cudaEventDefault); }
cudaError_t cudaEventCreate(cudaEvent_t* e, unsigned flags) { return cudaEventCreateWithFlags(e, flags); }
cudaError_t cudaEventDestroy(cudaEvent_t e, Site) {
  delete event_of(e);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t handle, Site site) {
  return on_stream("cudaEventRecord", handle, site, [&](Stream s) {
    wait_for_others(s);
    event_of(e)->reached = std::make_shared<bool>(false);
    event_of(e)->stream = s;
    put(s, site, [reached = event_of(e)->reached] { *reached = true; });
    return cudaSuccess;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t e, Site site) {
  return call("cudaEventSynchronize", site, [&] {
    wait_for(*event_of(e));
    return cudaSuccess;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t e, Site site) { return cudaEventSynchronize(e, site); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop, Site site) {
  return call("cudaEventElapsedTime", site, [&] {
    if (!event_of(start)->reached || !event_of(stop)->reached)
      return fail(cudaErrorInvalidResourceHandle, site, "cudaEventElapsedTime", "an event that was not recorded");
    if (!event_of(start)->is_timed || !event_of(stop)->is_timed)
      return fail(cudaErrorInvalidResourceHandle, site, "cudaEventElapsedTime", "an event of cudaEventDisableTiming");
    if (!*event_of(start)->reached || !*event_of(stop)->reached)
      return fail(cudaErrorNotReady, site, "cudaEventElapsedTime",
                  "the work before an event has not ended; cudaEventSynchronize waits for it");
    *ms = 0;
    if (!std::exchange(runtime().said_no_times, true))
      note(site, "", "elapsed times are 0: the simulated device measures no time");
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize(Site site) {
  return call("cudaDeviceSynchronize", site, [] {
    synchronize_all();
    return cudaSuccess;
  });
}
cudaError_t cudaThreadSynchronize(Site site) { return cudaDeviceSynchronize(site); }
cudaError_t cudaDeviceReset(Site site) { return cudaDeviceSynchronize(site); }
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device, Site site) {
  return call("cudaSetDevice", site, [&] {
    return device == 0 ? cudaSuccess
                       : fail(cudaErrorInvalidDevice, site, "cudaSetDevice",
                              "device " + std::to_string(device) + "; there is one, number 0");
  });
}
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaInitDevice(int, unsigned, unsigned) { return cudaSuccess; }
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device, Site site) {
  const Gpu& like = gpu();
  *p = {};
  std::snprintf(p->name, sizeof p->name, "simulated GPU");
  p->totalGlobalMem = device_memory_bytes;
  p->sharedMemPerBlock = p->sharedMemPerBlockOptin = shared_bytes_per_block;
  p->sharedMemPerMultiprocessor = like.shared_bytes_per_sm;
  p->reservedSharedMemPerBlock = shared_bytes_reserved;
  p->regsPerBlock = p->regsPerMultiprocessor = 1 << 16;
  p->warpSize = warp_size;
  p->memPitch = 0x7fffffff;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = max_threads_per_block;
  p->maxThreadsDim[2] = max_block_z;
  p->maxGridSize[0] = max_grid;
  p->maxGridSize[1] = p->maxGridSize[2] = max_grid_yz;
  p->clockRate = p->memoryClockRate = 1000000;  // kHz, of a clock that is none; programs divide by it
  p->memoryBusWidth = 32;
  p->totalConstMem = 1 << 16;
  p->major = like.capability / 10;
  p->minor = like.capability % 10;
  p->textureAlignment = 512;
  p->texturePitchAlignment = 32;
  p->multiProcessorCount = like.sm_count;
  p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = p->deviceOverlap = 1;
  p->concurrentManagedAccess = p->cooperativeLaunch = p->streamPrioritiesSupported = p->asyncEngineCount = 1;
  p->clusterLaunch = like.capability >= 90;
  p->l2CacheSize = 4 << 20;
  p->maxThreadsPerMultiProcessor = static_cast<int>(like.threads_per_sm);
  p->maxBlocksPerMultiProcessor = static_cast<int>(like.blocks_per_sm);
  return cudaSetDevice(device, site);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device, Site site) {
  cudaDeviceProp p;
  if (const cudaError_t error = cudaGetDeviceProperties(&p, device, site); error != cudaSuccess) return error;
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
    case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(p.sharedMemPerBlock); break;
    case cudaDevAttrTotalConstantMemory: *value = static_cast<int>(p.totalConstMem); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMaxPitch: *value = static_cast<int>(p.memPitch); break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = p.regsPerBlock; break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate: *value = p.clockRate; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = static_cast<int>(p.reservedSharedMemPerBlock); break;
    case cudaDevAttrClusterLaunch: *value = p.clusterLaunch; break;
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrAsyncEngineCount:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrIntegrated:
    case cudaDevAttrComputeMode:
    case cudaDevAttrPageableMemoryAccess: *value = 0; break;
    default: return call("cudaDeviceGetAttribute", site, [] { return cudaErrorInvalidValue; });
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) { return cudaSuccess; }
cudaError_t cudaThreadSetLimit(cudaLimit which, std::size_t value) { return cudaDeviceSetLimit(which, value); }
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit which) {
  *value = which == cudaLimitStackSize ? stack_bytes : std::size_t{8} << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
cudaError_t cudaGetLastError() {
  Runtime& r = runtime();
  return std::exchange(r.last, r.broken);
}
cudaError_t cudaPeekAtLastError() { return runtime().last; }

namespace {

struct ErrorText {
  cudaError_t error;
  const char *name, *text;
};
#define REDUCTIO_ERROR(name, text) {name, #name, text}
constexpr ErrorText errors[] = {
    REDUCTIO_ERROR(cudaSuccess, "no error"),
    REDUCTIO_ERROR(cudaErrorInvalidValue, "invalid argument"),
    REDUCTIO_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    REDUCTIO_ERROR(cudaErrorInitializationError, "initialization error"),
    REDUCTIO_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    REDUCTIO_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    REDUCTIO_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    REDUCTIO_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    REDUCTIO_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    REDUCTIO_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    REDUCTIO_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    REDUCTIO_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    REDUCTIO_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    REDUCTIO_ERROR(cudaErrorNotReady, "device not ready"),
    REDUCTIO_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    REDUCTIO_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    REDUCTIO_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    REDUCTIO_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    REDUCTIO_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    REDUCTIO_ERROR(cudaErrorAssert, "device-side assert triggered"),
    REDUCTIO_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    REDUCTIO_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    REDUCTIO_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    REDUCTIO_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    REDUCTIO_ERROR(cudaErrorNotSupported, "operation not supported"),
    REDUCTIO_ERROR(cudaErrorUnknown, "unknown error")};
#undef REDUCTIO_ERROR

const ErrorText& text_of(cudaError_t error) {
  const auto is_it = [&](const ErrorText& t) { return t.error == error; };
  const auto* const at = std::find_if(std::begin(errors), std::end(errors), is_it);
  return at == std::end(errors) ? errors[std::size(errors) - 1] : *at;
}

}  // namespace

const char* cudaGetErrorString(cudaError_t error) { return text_of(error).text; }
const char* cudaGetErrorName(cudaError_t error) { return text_of(error).name; }

// ---- launches ----

cudaError_t launch(const Launched& c, KernelCode code, Site site) {
  return on_stream("the launch", c.stream, site, [&](Stream s) {
    Shape shape = shape_of({c.grid.x, c.grid.y, c.grid.z}, {c.block.x, c.block.y, c.block.z});
    shape.shared_bytes = c.shared_bytes;
    shape.cooperative = c.cooperative;
    shape.cluster = c.cluster;
    shape.overlaps = c.overlaps;
    wait_for_others(s);
    try {
      enqueue_kernel(s, shape, std::move(code));
    } catch (const Fault& e) {
      if (e.kind != FaultKind::launch || !runtime().program) throw;
      return fail(error_of_launch(shape), site, "the launch", refusal_in(e));
    }
    return cudaSuccess;
  });
}

cudaError_t blocks_per_sm(int* blocks, int block, std::size_t shared_bytes) {
  const cudaError_t error = blocks_on_device(blocks, block, shared_bytes);
  if (error == cudaSuccess) *blocks /= gpu().sm_count;
  return error;
}
cudaError_t blocks_on_device(int* grid, int block, std::size_t shared_bytes) {
  if (block < 1 || block > static_cast<int>(max_threads_per_block)) return cudaErrorInvalidValue;
  Shape shape;
  shape.block = static_cast<unsigned>(block);
  shape.shared_bytes = shared_bytes;
  *grid = static_cast<int>(sim::resident_blocks(shape));
  return cudaSuccess;
}
cudaError_t attributes_of_kernel(cudaFuncAttributes* a) {
  *a = {};
  a->maxThreadsPerBlock = max_threads_per_block;
  a->maxDynamicSharedSizeBytes = static_cast<int>(shared_bytes_per_block);
  a->numRegs = 1;
  a->ptxVersion = a->binaryVersion = gpu().capability;
  return cudaSuccess;
}
cudaError_t set_attribute_of_kernel(cudaFuncAttribute which, int value, Site site) {
  if (which != cudaFuncAttributeMaxDynamicSharedMemorySize || value <= static_cast<int>(shared_bytes_per_block))
    return cudaSuccess;
  return call("cudaFuncSetAttribute", site, [&] {
    return fail(cudaErrorInvalidValue, site, "cudaFuncSetAttribute",
                std::to_string(value) + " bytes of shared memory; the simulated device has " +
                    std::to_string(shared_bytes_per_block) + " a block");
  });
}

}  // namespace cuda

// ---- what a kernel calls of the C library ----

extern "C" {

/// hooks.awk puts these in place of the C library's in the objects of programs: a kernel's memory is the device's, and
/// what it prints comes when it has ended.
void* reductio_malloc(std::size_t bytes) {
  if (!runs_launch || !running) return std::malloc(bytes);
  std::exception_ptr lack;
  try {
    return allocate(bytes);
  } catch (const NoHostMemory&) {
    lack = std::current_exception();
  } catch (const NoMemory&) {
    return nullptr;
  }
  stop_launch(lack);
}
void reductio_free(void* p) {
  if (!runs_launch || !running) return in_arena(p) ? note({}, "free", "memory of the device's") : std::free(p);
  if (!p) return;
  checked([&] {
    if (!begins_allocation(p))
      stop_here(FaultKind::use_after_free, {},
                "frees an address that is not the start of a live allocation: freed before, or inside one");
  });
  release(p);
}

int reductio_vprintf(const char* format, std::va_list arguments) {
  if (!runs_launch || !running) return std::vprintf(format, arguments);
  char text[1024];
  const int n = std::vsnprintf(text, sizeof text, format, arguments);
  runtime().printed += text;
  return n;
}
int reductio_printf(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int n = reductio_vprintf(format, arguments);
  va_end(arguments);
  return n;
}
int reductio_puts(const char* text) { return reductio_printf("%s\n", text); }
int reductio_putchar(int c) { return reductio_printf("%c", c), c; }

}  // extern "C"

void flush_device_output() {
  std::string& printed = runtime().printed;
  if (printed.empty()) return;
  if (runtime().program) std::putchar(begins_device_output);
  std::fwrite(printed.data(), 1, printed.size(), stdout);
  if (runtime().program) std::putchar(ends_device_output);
  printed.clear();
}

}  // namespace reductio::sim
