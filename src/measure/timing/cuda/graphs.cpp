#include "measure/timing/cuda/graphs.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "measure/timing/cold_copies.h"

namespace reductio::cuda {
namespace {

/// As check(), but a graph for which there is no memory is refused, as an input would be.
void check_fits(cudaError_t status, const char* what) {
  if (status != cudaErrorMemoryAllocation) return check(status, what);
  cudaGetLastError();  // or this error would show up as the failure of the next launch
  throw NoMemory(std::string(what) + " needs more GPU memory than is free");
}

}  // namespace

Graphs::~Graphs() {
  for (auto& [key, graph] : graphs_) cudaGraphExecDestroy(graph.exec);
  cudaStreamSynchronize(native(stream_.get()));  // nothing that still runs may read the copies, which are freed next
}

void Graphs::forget(const Plan* plan) {
  std::erase_if(graphs_, [&](const auto& entry) {
    if (std::get<0>(entry.first) != plan) return false;
    cudaGraphExecDestroy(entry.second.exec);
    return true;
  });
  if (graphs_.empty()) copies_.reset();  // the next allocation's shall lie elsewhere, too
}

double Graphs::interval(const Call& c, const Graph& graph, CacheState cache) {
  ElementPlace place;
  if (c.changed)
    place = {graph.first_input + c.changed->index * c.changed->bytes, graph.input_stride, graph.inputs};
  return stream_.graph_interval(c, cache, graph.exec, place);
}

const Graphs::Graph& Graphs::of(const Call& c, CacheState cache) {
  const std::tuple key(static_cast<const Plan*>(c.plan), static_cast<const void*>(c.in), std::optional(cache));
  if (const auto at = graphs_.find(key); at != graphs_.end()) return at->second;
  return graphs_.emplace(key, capture(c, cache)).first->second;
}

const Graphs::Graph& Graphs::of_one(const Call& c) {
  const std::tuple key(static_cast<const Plan*>(c.plan), static_cast<const void*>(c.in), std::optional<CacheState>());
  if (const auto at = graphs_.find(key); at != graphs_.end()) return at->second;
  Graph graph;
  graph.calls = 1;
  graph.first_input = static_cast<std::byte*>(c.pristine ? c.pristine : c.in);
  try {
    capture(graph, c, {c.in});
  } catch (const Refused&) {
    throw;
  } catch (const DeviceError& e) {
    throw Refused("its call cannot be captured in a graph (" + std::string(e.what()) + "); timed end to end");
  }
  return graphs_.emplace(key, graph).first->second;
}

/// Copies of an input, aligned as it is, so many that none is in L2 when it is read again; or the input alone.
std::vector<void*> Graphs::copies_of(const Call& c) {
  const std::size_t l2 = stream_.l2().bytes() / 2;  // the flush has twice as much
  const std::size_t count = cold_copies(c.input_bytes, l2);
  if (count == 1) return {c.in};
  constexpr std::size_t alignment = 256, vector = 16, most = 1024;
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(c.in) % alignment;
  const std::size_t stride = (offset + c.input_bytes + vector + alignment - 1) / alignment * alignment;
  if (count > most)
    throw Refused(
        "a cold graph reads copies of its input in turn, so many that none is in L2 when it is read again: of "
        "this one " +
        std::to_string(count) + ", more than the " + std::to_string(most) + " that it may have");
  // As large as it can ever be needed, so that graphs which are captured already keep their copies.
  if (!copies_)
    copies_.emplace(memory_for("the copies of the input that a cold graph reads", stream_.backend(),
                               cold_copies_bytes(l2)));
  std::vector<void*> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(copies_->bytes_at(i * stride + offset));
    check(cudaMemcpyAsync(out.back(), c.in, c.input_bytes, cudaMemcpyDeviceToDevice, native(stream_.get())),
          "copying the input");
  }
  return out;
}

Graphs::Graph Graphs::capture(const Call& c, CacheState cache) {
  const std::vector<void*> inputs = cache == CacheState::warm ? std::vector<void*>{c.in} : copies_of(c);
  // About two milliseconds, so that the graph's own launch is a small part and large inputs do not take for ever;
  // every copy the same number of times.
  const double one = std::max(stream_.device_interval(c, cache), 1e-7);
  Graph graph;
  graph.first_input = static_cast<std::byte*>(inputs.front());
  graph.inputs = static_cast<unsigned>(inputs.size());
  if (inputs.size() > 1)
    graph.input_stride = static_cast<std::size_t>(static_cast<std::byte*>(inputs[1]) - graph.first_input);
  const int wanted = static_cast<int>(std::clamp(2e-3 / one, 10.0, 100.0)), copies = static_cast<int>(inputs.size());
  graph.calls = (wanted + copies - 1) / copies * copies;
  capture(graph, c, inputs);
  return graph;
}

void Graphs::capture(Graph& graph, const Call& c, const std::vector<void*>& inputs) {
  const cudaStream_t stream = native(stream_.get());
  cudaGraph_t captured = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
  try {
    for (int i = 0; i < graph.calls; ++i)
      c.plan->enqueue(inputs[static_cast<std::size_t>(i) % inputs.size()], c.out, stream_.get());
  } catch (...) {
    if (cudaStreamEndCapture(stream, &captured) == cudaSuccess) cudaGraphDestroy(captured);
    cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(stream, &captured), "capturing a graph");
  const cudaError_t status = cudaGraphInstantiate(&graph.exec, captured, 0);
  cudaGraphDestroy(captured);
  check_fits(status, "instantiating a graph");
  // The first launch uploads the graph; that is no part of a call.
  const cudaError_t first = cudaGraphLaunch(graph.exec, stream);
  const cudaError_t done = first == cudaSuccess ? cudaStreamSynchronize(stream) : first;
  if (done != cudaSuccess) cudaGraphExecDestroy(graph.exec);
  check_fits(done, "running a graph");
}

}  // namespace reductio::cuda
