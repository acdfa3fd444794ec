#pragma once
/// Plug-ins on the command line: --plugin FILE, and files where variants may be named.

#include <string>
#include <vector>

#include "cli/selection.h"
#include "core/variant.h"

namespace reductio::cli {

/// Whether a word names a plug-in's file, there or not: it ends as one ("mine.cu", "./libmine.so") and is no variant's
/// id. Settings may follow a colon.
bool names_plugin(const std::string& word);

/// Runs a Python file, which registers the variants that it adds. Returns what is wrong, or null.
using PythonLoader = const char*(const char* file);
/// Given where a Python interpreter runs this program; without it a Python file is refused.
void load_python_by(PythonLoader*);

/// An id as a regular expression that matches it.
std::string as_regex(const std::string& id);

/// Loads the files of --plugin. If --variants is a file, loads it and selects its variants instead. Call it before any
/// backend is opened, because plug-ins are loaded before CUDA starts. Throws UsageError.
void load_plugins(SelectionOptions&);

/// The words with each file replaced by its variants, with the settings that followed it. Throws UsageError.
std::vector<std::string> with_variants_of_plugins(const std::vector<std::string>& words, const SelectionOptions&);

/// The id of a file's variant; UsageError where it has several.
std::string only_variant(const std::string& word, const SelectionOptions&);

}  // namespace reductio::cli
