#pragma once
/// Where this program's code lies.

#include <filesystem>

namespace reductio {

/// The executable, or the shared library that is loaded into another program (src/python); empty where the system does
/// not say.
std::filesystem::path program_file();

}  // namespace reductio
