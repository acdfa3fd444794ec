#include "cli/plugins.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"
#include "measure/results/machine.h"
#include "plugin/compile.h"
#include "plugin/load.h"
#include "plugin/simulated.h"
#include "plugin/toolchain.h"

namespace reductio::cli {
namespace {

/// "./mine.cu" and ":block=256" of a word.
struct Named {
  std::string file, settings;
};

Named parts_of(const std::string& word) {
  const auto slash = word.rfind('/');
  const auto colon = word.find(':', slash == word.npos ? 0 : slash);
  return colon == word.npos ? Named{word, ""} : Named{word.substr(0, colon), word.substr(colon)};
}

PythonLoader* load_python = nullptr;

bool is_python(const std::string& file) { return file.ends_with(".py"); }

/// Registers what the file adds, once.
std::vector<const Variant*> run_python(const std::string& file) {
  if (!load_python)
    throw UsageError("'" + file + "' is a Python file; use 'python -m reductio' (docs/python.md)");
  static std::map<std::string, std::vector<const Variant*>> loaded;
  auto& of_file = loaded[std::filesystem::canonical(file).string()];
  if (!of_file.empty()) return of_file;
  std::set<const Variant*> before;
  for (const Variant& v : variants()) before.insert(&v);
  if (const char* const why = load_python(file.c_str())) throw UsageError("plug-in '" + file + "' " + why);
  for (const Variant& v : variants())
    if (!before.contains(&v)) of_file.push_back(&v);
  if (of_file.empty()) throw UsageError("plug-in '" + file + "' declares no variant with @reductio.variant");
  return of_file;
}

void tell_compiling(const std::string& what) { print_message("compiling: " + what); }

/// A .cu file for the simulated device, in both ways of compiling it.
std::vector<const Variant*> load_simulated(const std::string& file, const SelectionOptions& options) {
  SimulatedOptions how{.tell = [](const std::string& what) { tell_compiling(what + ", for the simulated device"); }};
  for (const std::string& word : toolchain::words_in(options.nvcc_flags))
    if (word.starts_with("-I") || word.starts_with("-D") || word.starts_with("-std=")) how.flags.push_back(word);
  const auto objects = compiled_for_simulation({file}, how);
  std::vector<const Variant*> out;
  for (std::size_t o = optimizations.size(); o-- > 0;)
    for (const Variant* v : load_plugin(objects[o], file, optimizations[o])) out.push_back(v);
  return out;
}

std::vector<const Variant*> load(const std::string& file, const SelectionOptions& options) {
  if (!std::filesystem::is_regular_file(file)) throw UsageError("there is no plug-in '" + file + "'");
  if (is_python(file)) return run_python(file);
  if (!is_plugin_source(file)) return load_plugin(file, file);
  if (file.ends_with(".cu") && options.device == "sim") return load_simulated(file, options);
  const CompileOptions how{.cuda_architectures = build_description().cuda_architectures,
                           .nvcc_flags = options.nvcc_flags,
                           .tell = tell_compiling};
  return load_plugin(compiled_plugin(file, how), file);
}

/// Where nothing takes settings behind a file.
std::vector<const Variant*> load_alone(const std::string& word, const SelectionOptions& options) {
  if (!parts_of(word).settings.empty())
    throw UsageError("'" + word + "': only compare takes settings after a file; leave them out, or use --set");
  return load(word, options);
}

}  // namespace

void load_python_by(PythonLoader* loader) { load_python = loader; }

bool names_plugin(const std::string& word) {
  const std::string file = parts_of(word).file;
  return (is_plugin_source(file) || is_python(file) || file.ends_with(".so")) &&
         std::none_of(variants().begin(), variants().end(), [&](const Variant& v) { return v.id == file; });
}

std::string as_regex(const std::string& id) {
  std::string out;
  for (const char c : id) out += c == '+' || c == '.' ? std::string("\\") + c : std::string(1, c);
  return out;
}

void load_plugins(SelectionOptions& options) {
  for (const std::string& file : options.plugins) load(file, options);
  if (!names_plugin(options.variants)) return;
  std::string ids;
  for (const Variant* v : load_alone(options.variants, options)) ids += (ids.empty() ? "" : "|") + as_regex(v->id);
  options.variants = "^(" + ids + ")$";
}

std::vector<std::string> with_variants_of_plugins(const std::vector<std::string>& words,
                                                  const SelectionOptions& options) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    if (!names_plugin(word)) {
      out.push_back(word);
      continue;
    }
    const auto [file, settings] = parts_of(word);
    for (const Variant* v : load(file, options)) out.push_back(v->id + settings);
  }
  return out;
}

std::string only_variant(const std::string& word, const SelectionOptions& options) {
  const auto all = load_alone(word, options);
  if (all.size() == 1) return all.front()->id;
  std::vector<std::string> ids;
  for (const Variant* v : all) ids.push_back(v->id);
  throw UsageError("'" + word + "' has " + std::to_string(all.size()) + " variants; name one: info --plugin " +
                   quoted(word) + " " + join(ids, " or "));
}

}  // namespace reductio::cli
