#include "measure/timing/cuda/graphs.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "measure/timing/cold_copies.h"

namespace reductio::cuda {
namespace {

/// As check(), but a graph for which there is no memory is refused, as an input would be.
void check_fits(cudaError_t status, const char* what) {
  if (status != cudaErrorMemoryAllocation) return check(status, what);
  cudaGetLastError();  // or this error would show up as the failure of the next launch
  throw NoMemory(std::string(what) + " needs more GPU memory than is free");
}

void destroy(const Graphs::Graph& graph) {
  cudaGraphExecDestroy(graph.exec);
  if (graph.captured) cudaGraphDestroy(graph.captured);
}

using Nodes = std::vector<cudaGraphNode_t>;

/// The nodes of the graph that is captured in a stream behind which the next one would come.
Nodes last_nodes(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  const cudaGraphNode_t* nodes = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, &edges, &count), "capturing a graph");
  return Nodes(nodes, nodes + count);
}

/// Puts steps between the calls of a captured graph.
class Steps {
 public:
  explicit Steps(cudaGraph_t graph) : graph_(graph) {
    std::size_t count = 0;
    check(cudaGraphGetRootNodes(graph, nullptr, &count), editing);
    roots_.resize(count);
    check(cudaGraphGetRootNodes(graph, roots_.data(), &count), editing);
  }

  /// What `add` puts behind all before: it gets the nodes to wait for. `behind`: the call's last nodes. What came
  /// behind those comes behind the steps.
  template <class Add>
  void insert(const Nodes& behind, Add&& add) {
    const Nodes next = behind.empty() ? roots_ : followers_of(behind);
    Nodes before = behind;
    if (last_) before.push_back(last_);
    for (const auto& node : add(before)) mine_.insert(last_ = node);
    const Nodes from(next.size(), last_);
    if (!next.empty())
      check(cudaGraphAddDependencies(graph_, from.data(), next.data(), nullptr, next.size()), editing);
  }

  cudaGraphNode_t copy(const Nodes& before, void* to, const void* from, std::size_t bytes) {
    cudaGraphNode_t node = nullptr;
    check(cudaGraphAddMemcpyNode1D(&node, graph_, before.data(), before.size(), to, from, bytes,
                                   cudaMemcpyDeviceToDevice),
          editing);
    return node;
  }
  cudaGraphNode_t poison(const Nodes& before, void* to, std::size_t bytes) {
    cudaMemsetParams set{};
    set.dst = to;
    set.value = 0xFF;
    set.elementSize = 1;
    set.width = bytes;
    set.height = 1;
    cudaGraphNode_t node = nullptr;
    check(cudaGraphAddMemsetNode(&node, graph_, before.data(), before.size(), &set), editing);
    return node;
  }

 private:
  static constexpr const char* editing = "putting steps between a graph's calls";

  /// Of the captured nodes those that come right behind any of these. Launches that may overlap no longer do.
  Nodes followers_of(const Nodes& behind) {
    std::set<cudaGraphNode_t> out;
    for (const cudaGraphNode_t node : behind) {
      std::size_t count = 0;
      check(cudaGraphNodeGetDependentNodes(node, nullptr, nullptr, &count), editing);
      Nodes to(count);
      std::vector<cudaGraphEdgeData> edges(count);
      if (count) check(cudaGraphNodeGetDependentNodes(node, to.data(), edges.data(), &count), editing);
      for (std::size_t i = 0; i < count; ++i) {
        if (mine_.contains(to[i])) continue;
        out.insert(to[i]);
        if (edges[i].type != cudaGraphDependencyTypeDefault)
          check(cudaGraphRemoveDependencies(graph_, &node, &to[i], &edges[i], 1), editing);
      }
    }
    return Nodes(out.begin(), out.end());
  }

  cudaGraph_t graph_;
  Nodes roots_;
  std::set<cudaGraphNode_t> mine_;
  cudaGraphNode_t last_ = nullptr;
};

}  // namespace

Graphs::~Graphs() {
  for (auto& [key, graph] : graphs_) destroy(graph);
  cudaStreamSynchronize(native(stream_.get()));  // nothing that still runs may read the copies, which are freed next
}

void Graphs::forget(const Plan* plan) {
  std::erase_if(graphs_, [&](const auto& entry) {
    if (std::get<0>(entry.first) != plan) return false;
    destroy(entry.second);
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

const Graphs::Graph& Graphs::of(const Call& c, CacheState cache) { return captured(c, cache); }

Graphs::Graph& Graphs::captured(const Call& c, CacheState cache) {
  const std::tuple key(static_cast<const Plan*>(c.plan), static_cast<const void*>(c.in), std::optional(cache));
  if (const auto at = graphs_.find(key); at != graphs_.end()) return at->second;
  return graphs_.emplace(key, capture(c, cache)).first->second;
}

/// What the capture left out of any of its calls, the timed graph lacks, too: both come from one capture, in which a
/// call cannot know that it will be checked.
std::vector<std::array<std::byte, 16>> Graphs::results(const Call& c, CacheState cache) {
  using Result = std::array<std::byte, 16>;
  if (!c.changed) return {};
  Graph& graph = captured(c, cache);
  if (!graph.captured) return {};
  const auto calls = static_cast<std::size_t>(graph.calls);
  const DeviceMemory memory = memory_for("checking a graph's calls", stream_.backend(), (2 + calls) * sizeof(Result));
  const auto slot = [&](std::size_t i) { return memory.bytes_at(i * sizeof(Result)); };  // was, is, then the results
  const cudaStream_t stream = native(stream_.get());
  const auto copy = [&](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check(cudaMemcpyAsync(to, from, bytes, kind, stream), "checking a graph's calls");
  };
  const std::size_t bytes = c.changed->bytes;
  copy(slot(0), c.changed->was.data(), bytes, cudaMemcpyHostToDevice);
  copy(slot(1), c.changed->is.data(), bytes, cudaMemcpyHostToDevice);
  const auto place = [&](std::size_t call) {
    return graph.first_input + call % graph.inputs * graph.input_stride + c.changed->index * bytes;
  };

  Steps steps(graph.captured);
  const auto before_call = [&](std::size_t call, const Nodes& before) {
    const cudaGraphNode_t poisoned = steps.poison(before, c.out, c.result_bytes);
    return Nodes{poisoned, steps.copy({poisoned}, place(call), slot(call % 2), bytes)};
  };
  steps.insert({}, [&](const Nodes& before) { return before_call(0, before); });
  for (std::size_t call = 0; call < calls; ++call)
    steps.insert(graph.ends[call], [&](const Nodes& before) {
      Nodes all{steps.copy(before, slot(2 + call), c.out, c.result_bytes)};
      if (call + 1 < calls)
        for (const cudaGraphNode_t node : before_call(call + 1, all)) all.push_back(node);
      return all;
    });
  cudaGraphExec_t exec = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&exec, graph.captured, 0);
  cudaGraphDestroy(std::exchange(graph.captured, nullptr));
  check_fits(made, "instantiating a graph");
  const cudaError_t launched = cudaGraphLaunch(exec, stream);
  for (std::size_t input = 0; input < graph.inputs && launched == cudaSuccess; ++input)
    copy(place(input), slot(0), bytes, cudaMemcpyDeviceToDevice);
  std::vector<Result> out(calls);
  if (launched == cudaSuccess)
    for (std::size_t call = 0; call < calls; ++call)
      copy(out[call].data(), slot(2 + call), c.result_bytes, cudaMemcpyDeviceToHost);
  const cudaError_t done = launched == cudaSuccess ? cudaStreamSynchronize(stream) : launched;
  cudaGraphExecDestroy(exec);
  check_fits(done, "running a graph");
  return out;
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
    for (int i = 0; i < graph.calls; ++i) {
      c.plan->enqueue(inputs[static_cast<std::size_t>(i) % inputs.size()], c.out, stream_.get());
      graph.ends.push_back(last_nodes(stream));
    }
  } catch (...) {
    if (cudaStreamEndCapture(stream, &captured) == cudaSuccess) cudaGraphDestroy(captured);
    cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(stream, &captured), "capturing a graph");
  const cudaError_t status = cudaGraphInstantiate(&graph.exec, captured, 0);
  if (status == cudaSuccess && graph.calls > 1)
    graph.captured = captured;
  else
    cudaGraphDestroy(captured);
  check_fits(status, "instantiating a graph");
  // The first launch uploads the graph; that is no part of a call.
  const cudaError_t first = cudaGraphLaunch(graph.exec, stream);
  const cudaError_t done = first == cudaSuccess ? cudaStreamSynchronize(stream) : first;
  if (done != cudaSuccess) destroy(graph);
  check_fits(done, "running a graph");
}

}  // namespace reductio::cuda
