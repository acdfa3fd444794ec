#pragma once
/// What `inspect` and `draw` look at: one variant, or a plug-in's, on the simulated device.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "cli/selection.h"
#include "core/variant.h"
#include "device/backend.h"

namespace reductio::cli {

struct SubjectOptions {
  SelectionOptions selection;
  std::string word, n;
  void add(CLI::App&, const std::string& standard_n);
};

struct Subject {
  const Variant* variant;
  Problem problem;
  Settings settings;
};

/// `type`: of those that the variant takes, where --types names none. Throws UsageError and Refused.
Subject subject_of(SubjectOptions&, const std::function<ElementType(const std::vector<ElementType>&)>& type);

}  // namespace reductio::cli
