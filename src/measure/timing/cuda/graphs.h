#pragma once
/// Captured graphs of many calls in one stream. Each call waits for the one before, unless its launches overlap on
/// purpose. Warm graphs read one input. Cold graphs read copies in turn, so many that each copy is evicted before it is
/// read again.

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "measure/timing/cuda/timed_stream.h"

namespace reductio::cuda {

class Graphs {
 public:
  explicit Graphs(TimedStream& stream) : stream_(stream) {}
  ~Graphs();
  Graphs(const Graphs&) = delete;

  struct Graph {
    cudaGraphExec_t exec = nullptr;
    int calls = 0;
    /// The inputs that its calls read, in which a call's changed element is another.
    std::byte* first_input = nullptr;
    std::size_t input_stride = 0;
    unsigned inputs = 1;
    /// What was captured, until its calls are checked; and the nodes behind which each call is over.
    cudaGraph_t captured = nullptr;
    std::vector<std::vector<cudaGraphNode_t>> ends;
  };
  /// Captured at the first time. Throws Refused where a cold graph would need too many copies of the input, or
  /// where there is no memory for them or for the graph.
  const Graph& of(const Call&, CacheState);
  /// A graph of one call, which may be timed in any state of the cache. Throws Refused where the call cannot be
  /// captured, with the reason.
  const Graph& of_one(const Call&);
  /// Time of all calls of a graph.
  double interval(const Call&, const Graph&, CacheState);
  /// As Timer::graph_results(). Once for each graph: from what was captured for timing a second one is made.
  std::vector<std::array<std::byte, 16>> results(const Call&, CacheState);
  void forget(const Plan*);

 private:
  std::vector<void*> copies_of(const Call&);
  Graph& captured(const Call&, CacheState);
  Graph capture(const Call&, CacheState);
  /// Captures so many calls, each on the next of the inputs, and launches them once.
  void capture(Graph&, const Call&, const std::vector<void*>& inputs);

  TimedStream& stream_;
  std::optional<DeviceMemory> copies_;  ///< of inputs of cold graphs; allocated when the first is captured
  /// By plan, input and state; of one call without a state.
  std::map<std::tuple<const Plan*, const void*, std::optional<CacheState>>, Graph> graphs_;
};

}  // namespace reductio::cuda
