#pragma once
/// Plug-ins: shared libraries whose variants join the program's while it runs (plugin/include/reductio/plugin.h).

#include <filesystem>
#include <string>
#include <vector>

#include "core/variant.h"

namespace reductio {

/// Loads a shared library, which runs code of it, and registers its variants: in the order of its table, or those that
/// are there already if it was loaded before. It is never unloaded. `named` is the file as the user wrote it,
/// "./mine.cu", for messages and printed commands. Call it before the program uses CUDA, from the thread that prepares
/// plans. Throws UsageError, where nothing is registered: it is no library, has no reductio_plugin(), is of another
/// version, has a null pointer or an unknown value in its table, or an id that is taken.
std::vector<const Variant*> load_plugin(const std::filesystem::path& library, const std::string& named);

}  // namespace reductio
