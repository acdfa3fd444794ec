#include "device/sim/fault.h"

#include <cstdio>
#include <utility>

#include "device/sim/place.h"

namespace reductio::sim {

std::string_view name(FaultKind k) {
  switch (k) {
    case FaultKind::launch: return "launch refused";
    case FaultKind::out_of_bounds: return "out of bounds";
    case FaultKind::misaligned: return "misaligned";
    case FaultKind::use_after_free: return "use after free";
    case FaultKind::unwritten: return "read of unwritten memory";
    case FaultKind::race: return "race";
    case FaultKind::divergent_barrier: return "divergent barrier";
    case FaultKind::unfinished_barrier: return "unfinished barrier";
    case FaultKind::warp_mask: return "warp mask";
    case FaultKind::endless_wait: return "endless wait";
    case FaultKind::host_access: return "device code on the host";
    case FaultKind::stopped: return "stopped by the kernel";
    case FaultKind::memory: return "out of memory";
    case FaultKind::contract: return "broken contract";
  }
  return "fault";
}

PlainName::PlainName(const Index& size, std::size_t number) {
  const Index i = place_in(size, number);
  if (is_flat(size)) std::snprintf(text, sizeof text, "%zu", number);
  else std::snprintf(text, sizeof text, "(%u,%u,%u)", i.x, i.y, i.z);
}

std::string thread_name(unsigned thread) { return PlainName(blockDim, thread).text; }
std::string block_name(std::size_t block) { return PlainName(gridDim, block).text; }

std::string ranges(const std::vector<unsigned>& ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += thread_name(ascending[i]);
    if (end - i > 1) text += "-" + thread_name(ascending[end - 1]);
    i = end;
  }
  return text;
}

namespace {

std::string one_line(FaultKind kind, const std::string& kernel, std::size_t block, const std::vector<unsigned>& threads,
                     const std::string& file, int line, int column, const std::string& what) {
  std::string text = "simulated device: " + std::string(name(kind));
  if (!kernel.empty()) text += " in kernel " + kernel;
  if (!threads.empty())
    text += ", block " + block_name(block) + (threads.size() > 1 ? ", threads " : ", thread ") + ranges(threads);
  if (line) text += ", " + file + ":" + std::to_string(line) + (column ? ":" + std::to_string(column) : "");
  return text + ": " + what;
}

}  // namespace

Fault::Fault(FaultKind kind_, std::string kernel_, std::size_t block_, std::vector<unsigned> threads_,
             std::string file_, int line_, const std::string& what_happened, int column_)
    : DeviceError(one_line(kind_, kernel_, block_, threads_, file_, line_, column_, what_happened)),
      kind(kind_),
      kernel(std::move(kernel_)),
      block(block_),
      threads(std::move(threads_)),
      file(std::move(file_)),
      line(line_),
      column(column_) {}

}  // namespace reductio::sim
