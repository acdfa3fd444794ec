#pragma once
/// A kernel's name as faults print it.

#include <string>
#include <typeinfo>

namespace reductio::sim {

/// "rolled<unsigned int, Identity>" of the type KernelName<&kernel>.
std::string readable(const std::type_info&);

}  // namespace reductio::sim
