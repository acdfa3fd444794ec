#pragma once
/// The options by which several subcommands select variants, problems and a device.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/variant.h"
#include "device/backend.h"
#include "measure/plan/selection.h"
#include "measure/results/reader.h"
#include "measure/session/bench.h"
#include "measure/session/run_experiment.h"

namespace CLI {
class App;
class Option;
}

namespace reductio::cli {

struct SelectionOptions {
  std::vector<std::string> plugins;
  std::string nvcc_flags;
  std::string variants, types, operations, sizes, shapes, segments, settings, device, gpu, seed = "1", order_seed;

  void add_variants(CLI::App&);  ///< --variants
  void add_plugins(CLI::App&);   ///< --plugin, --nvcc-flags
  void add_types(CLI::App&);     ///< --types, --operations
  void add_sizes(CLI::App&);     ///< --sizes
  void add_shapes(CLI::App&);    ///< --shapes, --segments
  void add_settings(CLI::App&);  ///< --set, --seed
  void add_order(CLI::App&);     ///< --order-seed
  void add_device(CLI::App&);    ///< --device, --gpu
  void add_points(CLI::App&);    ///< what makes points of a variant: types, sizes, shapes, settings and device

  /// What of them chooses rows: variants, types, operations and sizes. Throws UsageError.
  Selection of_rows() const;
  /// The options parsed and checked against each other and against what is registered. Throws UsageError.
  Selection parse() const;
  /// Throws UsageError where --gpu is given but `what` runs on another device.
  void check_gpu(DeviceKind, const std::string& what) const;
  /// Variants by --variants, all without it. Throws UsageError.
  std::vector<const Variant*> selected() const;
};

/// Throws UsageError unless every setting is one that some of `selected` has, with a value that it allows.
void check_settings(const std::vector<const Variant*>& selected,
                    const std::vector<std::pair<std::string, std::string>>& settings);

/// What --types takes for all that there are; the same as leaving it out, but in `compare`, which takes usual_type().
inline constexpr std::string_view every_type = "all";

/// f32 if it is there, else the first: what is timed where no type is asked for.
ElementType usual_type(const std::vector<ElementType>&);

/// --out where it is not given, of all commands.
inline std::string default_out() { return RunOptions{}.out.string(); }
/// The results folder that was named, else that of the one machine that has results in default_out(), of which
/// print_message() tells. Throws UsageError where there is none or more than one, the
/// simulated device's apart, which has no times; `command` is the one asking.
std::string folder_or_default(const std::string& named, const std::string& command);

/// For check_destination(), of a file in a results folder.
inline constexpr const char* folder_advice = "copy the results folder to where you may write";
/// check_destination() of the file that an option names.
void check_option(const char* option, const std::string& file);
/// Throws the UsageError that says why none of the rows has a time.
[[noreturn]] void refuse_timeless(const StoredResults&);

/// An option that takes several words, apart or with commas between.
CLI::Option* add_words(CLI::App&, const std::string& name, std::vector<std::string>& words, const std::string& what);

/// --confidence, as 95% or 0.95; throws UsageError unless it lies between 0 and 1.
void add_confidence(CLI::App&, std::function<void(double)> take);

/// --min-samples, --max-samples, --contexts, --timeout, --confidence.
void add_sampling(CLI::App&, RunOptions&);

/// open_backend(), whose NoGpu here also says what works on a machine without one.
std::unique_ptr<Backend> open_or_advise(DeviceKind, const std::string& gpu);
/// The same of open_bench().
Bench open_bench_or_advise(DeviceKind, const std::string& gpu, bool here = false);

/// "a,b" as its words; "" as one that is empty.
std::vector<std::string> words_of(const std::string& list);

/// "i32,f32" by `parse`, in the order given, each once.
template <class T>
std::vector<T> parse_list(const std::string& text, T (*parse)(std::string_view)) {
  std::vector<T> out;
  for (const auto& word : words_of(text))
    if (const T value = parse(word); std::find(out.begin(), out.end(), value) == out.end()) out.push_back(value);
  return out;
}

}  // namespace reductio::cli
