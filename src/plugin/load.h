#pragma once
/// Plug-ins: shared libraries whose variants join the program's while it runs (plugin/include/reductio/plugin.h).

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/variant.h"

struct reductio_table;
struct reductio_variant;

namespace reductio {

/// Registers the variants of a table in memory, which stays where it is: all of them, or none. `named`: the file that
/// they come from, for messages and commands. `interpreter`, `load` and `own_experiment`: as of Variant; `load` is
/// given the variant and returns what is missing, or null. Throws UsageError as load_plugin() does.
std::vector<const Variant*> add_plugin(const reductio_table&, const std::string& named, const std::string& interpreter,
                                       std::function<const char*(const reductio_variant*)> load,
                                       const std::string& own_experiment = "");

/// Loads a shared library, which runs code of it, and registers its variants: in the order of its table, or those that
/// are there already if it was loaded before. It is never unloaded. `named` is the file as the user wrote it,
/// "./mine.cu", for messages and printed commands. Call it before the program uses CUDA, from the thread that prepares
/// plans. Throws UsageError, where nothing is registered: it is no library, has no reductio_plugin(), is of another
/// version, has a null pointer or an unknown value in its table, or an id that is taken. `simulated`: how it was
/// compiled for the simulated device (compiled_for_simulation()), "-O0" or "-O1"; else null. What is for a GPU runs
/// there, and of
/// "-O0" under an id that ends in "@O0".
std::vector<const Variant*> load_plugin(const std::filesystem::path& library, const std::string& named,
                                        const char* simulated = nullptr);

}  // namespace reductio
