#pragma once
/// Where this program's code lies.

#include <filesystem>

namespace reductio {

/// The executable, or the shared library that is loaded into another program (src/python); empty where the system does
/// not say.
std::filesystem::path program_file();

/// Shared objects that are loaded from now on find the symbols of the library that this is in, also where it was loaded
/// for its loader alone, as by Python.
void offer_symbols();

}  // namespace reductio
