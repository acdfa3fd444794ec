#pragma once
/// Names as faults print them.

#include <string>
#include <typeinfo>

namespace reductio::sim {

/// "rolled<unsigned int, Identity>" of the type KernelName<&kernel>.
std::string readable(const std::type_info&);
/// "sums" of the mangled `reductio::(anonymous namespace)::rolled<float>(...)::sums`.
std::string last_name(const char* mangled);

}  // namespace reductio::sim
