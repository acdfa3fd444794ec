#pragma once
/// How experiments launch a variant unless the user says otherwise, and what several of them have in common.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/plan/budget.h"
#include "measure/plan/selection.h"

namespace reductio {

/// As its document launches it, in every way of finishing that it has; and, with its default finish, in each further
/// launch that the document compares with the first. What the user has set takes their place.
std::vector<Settings> documents_launches(const Variant&, const Selection&);

/// Whether a variant is left to its own experiment (Variant::own_experiment), and out of those that measure every
/// variant. Not where the user names variants.
bool left_to_its_experiment(const Variant&, const Selection&);

/// Values of tunables by their names: {{"block", {"256", "512"}}}.
using Choices = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// A variant with every combination of these values, else as its document launches it. What the user has set is fixed,
/// and a variant goes without the tunables that it does not have and the values that it does not allow.
std::vector<Settings> every_launch(const Variant&, const Selection&, const Choices&);

/// For Axes::settings of an experiment on one document: `launches` of its variants, and beside them, with its default
/// settings, the library's call that speedups of their operation are over. No other variant.
std::function<std::vector<Settings>(const Variant&)> of_document(
    const std::string& document, const Selection&, std::function<std::vector<Settings>(const Variant&)> launches);

/// One launch of a variant.
struct NamedCall {
  const Variant* variant;
  Settings settings;
};

/// The call that Variant::embodies names (core/call.h), for n elements on a GPU of so many multiprocessors. Throws
/// UsageError where there is no such.
NamedCall named_call(const std::string& name, std::size_t n, std::size_t sm_count);

/// How the documents' studies are sampled: sixteen samples in each context, so that a call of several launches meets
/// every turn of its stream twice in each; slow calls one in each, so that they have intervals.
inline constexpr SamplingRules of_studies{.max_samples = 192, .slow_samples = 12};

/// CUB's sum of the newest release that the program was built with; null without any. The other one: only if its caller
/// demands determinism.
const Variant* newest_cub_sum();
const Variant* newest_cub_by_determinism();

/// The sizes of an experiment; on the simulated device, which verifies and is slow, small ones in their place.
std::vector<std::size_t> sizes_on(DeviceKind, std::vector<std::size_t> sizes);

/// Whether an experiment leaves out what takes long and tells little: not if --full or sizes of the user's own ask for
/// it, and not on the simulated device, where all sizes are small.
bool leaves_out(const Selection&, DeviceKind);

/// Whether a point is in a graph with L2 warm, or timed otherwise with L2 cold, for Axes::has: between a graph's calls
/// nothing can empty L2.
bool is_cold_or_in_a_warm_graph(const Point&);

/// "32", "64", ..., "1024": the sizes of a block that documents try, from one warp to the largest.
std::vector<std::string> whole_blocks();

/// Numbers of blocks, ascending: 1, 2, 4, ... below the number of multiprocessors, then so many for each of them, and
/// `more`.
std::vector<std::string> grids_to_fill(const Selection&, const std::vector<int>& blocks_per_sm,
                                       const std::vector<std::size_t>& more = {});

/// Whether the setting is that number.
bool is_set_to(const Settings&, std::string_view tunable, std::size_t value);

}  // namespace reductio
