#pragma once
/// What is to be compared: the variants as the user named them, and what all of them can do.

#include <string>
#include <vector>

#include "core/variant.h"
#include "device/backend.h"
#include "measure/plan/experiment.h"
#include "measure/timing/timer.h"

namespace reductio::cli {

/// A variant as the user named it: "levels/naive:block=128,finish=atomic".
struct Candidate {
  std::string label;
  const Variant* variant;
  Settings settings;
};

/// One for each of `words`. A candidate that is named again is labelled so, or is a UsageError where `each_once`.
std::vector<Candidate> parse_candidates(const std::vector<std::string>& words, const Selection&, bool each_once);

/// What is asked for, or what all candidates have where nothing is. Throws UsageError where a candidate lacks what is
/// asked for and where they have nothing in common, for then there is nothing to compare.
std::vector<Operation> shared_operations(const std::vector<Candidate>&, const std::vector<Operation>& asked);
std::vector<ElementType> shared_types(const std::vector<Candidate>&, const std::vector<ElementType>& asked);

/// The device that is asked for, or one on which all candidates run; UsageError where there is none.
DeviceKind choose_device(const std::vector<Candidate>&, const Selection&);

/// The modes in the list `asked`, or one in which all candidates can be timed where it is empty; UsageError where one
/// of them cannot be timed so.
std::vector<TimingMode> choose_modes(const std::vector<Candidate>&, const std::string& asked, CacheState, const Timer&);

}  // namespace reductio::cli
