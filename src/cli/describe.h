#pragma once
/// A variant's descriptor in words and as JSON.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/variant.h"
#include "measure/plan/point.h"

namespace reductio::cli {

/// "2^18", and how they lie where that is no plain array: "2^18 as 8192x32".
std::string show_elements(const PointKey&);

std::string_view name(Determinism);
using reductio::name;

/// The names of enumerators, separated.
template <class Range>
std::string names(const Range& all, std::string_view separator = ",") {
  std::string out;
  for (const auto& one : all) out += (out.empty() ? "" : std::string(separator)) + std::string(name(one));
  return out;
}

std::vector<DeviceKind> devices_of(const Variant&);
/// A kernel that would run on a GPU, had this program been built with CUDA: opening the GPU says so.
bool only_lacks_cuda(const Variant&, DeviceKind);

/// Why results are wrong with the settings that have a known fault, each reason once.
std::vector<std::string> known_faults(const Variant&);

/// Everything that the descriptor says.
nlohmann::ordered_json describe(const Variant&);

}  // namespace reductio::cli
