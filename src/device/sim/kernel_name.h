#pragma once
/// Names as faults print them.

#include <string>

namespace reductio::sim {

/// "rolled<unsigned int, Identity>" of the name of the type KernelName<&kernel>, as std::type_info has it; a name in
/// words stays as it is.
std::string readable(const char* name);
/// "sums" of the mangled `reductio::(anonymous namespace)::rolled<float>(...)::sums`.
std::string last_name(const char* mangled);

}  // namespace reductio::sim
