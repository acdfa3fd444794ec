#include "plugin/load.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cfenv>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/program_file.h"
#include "device/backend.h"
#define REDUCTIO_WITHOUT_MACROS
#include "reductio/plugin.h"

namespace reductio {
namespace {

/// A bit of the interface and what it is here.
template <class T>
struct Bit {
  std::uint32_t bit;
  T means;
};
constexpr Bit<Operation> operation_bits[] = {{REDUCTIO_SUM, Operation::sum},
                                             {REDUCTIO_SUM_OF_SQUARES, Operation::sum_of_squares},
                                             {REDUCTIO_MOMENTS, Operation::moments},
                                             {REDUCTIO_WIDE_SUM, Operation::wide_sum},
                                             {REDUCTIO_ROW_SUMS, Operation::row_sums},
                                             {REDUCTIO_COLUMN_SUMS, Operation::column_sums},
                                             {REDUCTIO_SEGMENT_SUMS, Operation::segment_sums}};
/// Those of version 1.
constexpr std::uint32_t first_operations =
    REDUCTIO_SUM | REDUCTIO_SUM_OF_SQUARES | REDUCTIO_MOMENTS | REDUCTIO_WIDE_SUM;
constexpr Bit<ElementType> type_bits[] = {{REDUCTIO_I8, ElementType::i8},     {REDUCTIO_I32, ElementType::i32},
                                          {REDUCTIO_I64, ElementType::i64},   {REDUCTIO_F16, ElementType::f16},
                                          {REDUCTIO_BF16, ElementType::bf16}, {REDUCTIO_F32, ElementType::f32},
                                          {REDUCTIO_F64, ElementType::f64}};

template <class T, std::size_t count>
std::uint32_t bit_of(const Bit<T> (&all)[count], T one) {
  for (const Bit<T>& b : all)
    if (b.means == one) return b.bit;
  return 0;
}

/// Text of a plug-in as part of one line.
std::string one_line(const char* text) {
  std::string out(text);
  for (char& c : out)
    if (std::iscntrl(static_cast<unsigned char>(c))) c = ' ';
  return out;
}

/// What the plug-in says is wrong, if anything: null is nothing.
template <class Error>
void raise(const char* why) {
  if (why) throw Error(one_line(why));
}

class PluginPlan final : public Plan {
 public:
  PluginPlan(const reductio_variant& v, const Problem& p, const Settings& s, DeviceKind device)
      : variant_(v), device_(device), result_(static_cast<ResultLocation>(v.result)) {
    for (const auto& setting : s) values_.push_back(setting.second);
    for (const std::string& value : values_) settings_.push_back(value.c_str());
    problem_.variant = &v;
    problem_.operation = bit_of(operation_bits, p.operation);
    problem_.type = bit_of(type_bits, p.type);
    problem_.n = p.n;
    problem_.settings = settings_.data();
    if (p.operation == Operation::segment_sums) {
      problem_.segments = p.segments();
      problem_.offsets = p.shape.offsets_on_device;
    } else if (has_shape(p.operation)) {
      problem_.rows = p.rows();
      problem_.columns = p.columns();
      problem_.pitch = p.pitch();
    }
    const std::uint64_t bytes = v.workspace_bytes ? v.workspace_bytes(&problem_) : 0;
    constexpr std::uint64_t most = std::uint64_t{1} << 48;
    if (bytes > most) throw Refused("asks for a workspace of " + std::to_string(bytes) + " bytes");
    if (bytes > 0) {
      workspace_ = guarded_workspace(device, bytes);
      problem_.workspace = workspace_.get();
      problem_.workspace_bytes = bytes;
    }
    info_.longest_chain = v.longest_chain ? v.longest_chain(&problem_) : longest_line(p);
    info_.workspace_bytes = bytes;
    info_.result = result_;
    // grid_blocks stays 0, as of a library's call: the kernels of a plug-in belong to a CUDA runtime of its own, which
    // the program's cannot ask about their launches.
    if (device != DeviceKind::cpu) info_.flushes_subnormals.reset();  // atomics may, and -ftz=true
    if (v.prepare) raise<Refused>(v.prepare(&problem_, &plan_));
  }
  ~PluginPlan() override {
    if (variant_.destroy) variant_.destroy(plan_);
  }
  PluginPlan(const PluginPlan&) = delete;
  PluginPlan& operator=(const PluginPlan&) = delete;

  PlanInfo info() const override { return info_; }
  void enqueue(void* in, void* out, Stream stream) override {
    raise<DeviceError>(variant_.enqueue(&problem_, plan_, in, out, stream.handle));
  }
  void finish(void* result, Stream stream) override {
    if (!variant_.finish) return Plan::finish(result, stream);
    raise<DeviceError>(variant_.finish(&problem_, plan_, result, stream.handle));
  }
  /// The simulated device sees for itself what is written beside it.
  Guarded guarded() const override {
    return device_ == DeviceKind::sim ? Guarded{}
                                      : Guarded{workspace_.get(), static_cast<std::size_t>(problem_.workspace_bytes)};
  }

 private:
  const reductio_variant& variant_;
  DeviceKind device_;
  ResultLocation result_;
  std::vector<std::string> values_;
  std::vector<const char*> settings_;
  reductio_problem problem_{};
  std::shared_ptr<void> workspace_;
  PlanInfo info_;
  void* plan_ = nullptr;
};

/// The file that a variant comes from: a plug-in, or a source of the program.
std::string source_of(const Variant& v) {
  if (!v.plugin.empty()) return v.plugin;
  return shown_path(*std::find_if(v.file.begin(), v.file.end(), [](const std::string& f) { return !f.empty(); }));
}

/// Reads one table. Its errors name the file and the variant.
class Reader {
 public:
  explicit Reader(const std::string& named, const char* simulated = nullptr)
      : named_(named), simulated_(simulated), suffix_(simulated && simulated == std::string_view("-O0") ? "@O0" : "") {}

  std::vector<std::pair<Variant, const reductio_variant*>> read(const reductio_table& table) {
    if (table.version == 0 || table.version > REDUCTIO_PLUGIN_VERSION)
      fail("is for version " + std::to_string(table.version) +
           " of the plug-in interface, this program for versions 1 to " + std::to_string(REDUCTIO_PLUGIN_VERSION) +
           "; compile it with this program's reductio/plugin.h");
    version_ = table.version;
    if (table.count == 0) fail("has no variant in its table");
    if (!table.variants) fail("has a null pointer in its table: variants");
    std::vector<std::pair<Variant, const reductio_variant*>> out;
    std::set<std::string> ids;
    for (std::uint32_t i = 0; i < table.count; ++i) {
      who_ = "variant " + std::to_string(i);
      if (!table.variants[i]) fail("has a null pointer in its table: " + who_);
      if (!suffix_.empty() && table.variants[i]->device == REDUCTIO_CPU) continue;  // the other's is enough
      Variant v = variant_of(*table.variants[i]);
      if (!ids.insert(v.id).second) fail("has two variants '" + v.id + "'; rename one");
      out.emplace_back(std::move(v), table.variants[i]);
    }
    return out;
  }

  [[noreturn]] void fail(const std::string& why) const { throw UsageError("plug-in '" + named_ + "' " + why); }

 private:
  Variant variant_of(const reductio_variant& from) {
    Variant v;
    v.id = id_of(from);
    who_ = "variant '" + v.id + "'";
    v.title = from.title ? one_line(from.title) : v.id;
    v.plugin = named_;
    v.operations = all_of(operation_bits, from.operations, "operations");
    if (version_ == 1 && (from.operations & ~first_operations) != 0)
      fail("is for version 1 of the plug-in interface, and " + who_ +
           " declares operations of version 2; compile it with this program's reductio/plugin.h");
    v.types = all_of(type_bits, from.types, "types");
    if (from.device != REDUCTIO_GPU && from.device != REDUCTIO_CPU) unknown("device", from.device);
    if (from.result > REDUCTIO_ON_HOST) unknown("result", from.result);
    if (from.repeats > REDUCTIO_SAME) unknown("repeats", from.repeats);
    v.result = static_cast<ResultLocation>(from.result);
    v.determinism = static_cast<Determinism>(from.repeats);
    v.consumes_input = from.consumes_input != 0;
    require(from.enqueue, "enqueue");
    if (v.result != ResultLocation::on_device) require(from.finish, "finish");
    if (from.setting_count > 0) require(from.settings, "settings");
    for (std::uint32_t i = 0; i < from.setting_count; ++i) v.tunables.push_back(tunable_of(from.settings[i], v));
    if (from.device == REDUCTIO_GPU && !simulated_)
      v.cuda_only = "the simulated device cannot see a library's accesses; name its source, a .cu, with --device sim";
    return v;
  }

  std::string id_of(const reductio_variant& from) {
    require(from.id, "id");
    const std::string id = one_line(from.id) + suffix_;
    const auto slash = id.find('/');
    const bool known = std::all_of(id.begin(), id.end(), [](unsigned char c) {
      return std::isalnum(c) || std::string_view("/-_+.@").find(static_cast<char>(c)) != std::string_view::npos;
    });
    const bool in_two = slash != id.npos && slash > 0 && slash + 1 < id.size() && id.find('/', slash + 1) == id.npos;
    if (!known || !in_two)
      fail("has a variant '" + id +
           "', whose id is not a group and a name, as 'mine/sum', of letters, digits and any of - _ + . @");
    for (const Variant& other : variants())
      if (other.id == id)
        fail("has a variant '" + id + "', which already exists, from '" + source_of(other) + "'; rename it");
    return id;
  }

  Tunable tunable_of(const reductio_setting& from, const Variant& v) {
    require(from.name, "the name of a setting");
    require(from.values, "the values of a setting");
    const std::string name = one_line(from.name);
    const auto is_word = [](const std::string& word) {
      return !word.empty() && word.find_first_of(",;:= ") == std::string::npos;
    };
    std::vector<std::string> values;
    const std::string list = one_line(from.values);
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t end = std::min(list.find(',', at), list.size());
      values.push_back(list.substr(at, end - at));
      at = end + 1;
    }
    const std::string standard = from.standard ? one_line(from.standard) : values.front();
    if (!is_word(name) || !std::all_of(values.begin(), values.end(), is_word))
      fail("has a setting '" + name + "' of '" + list + "' in " + who_ + ": give a word, and words between commas");
    if (name == "finish" || name == "index")
      fail("has a setting '" + name + "' in " + who_ + ", which means something else in this program; rename it");
    if (std::any_of(v.tunables.begin(), v.tunables.end(), [&](const Tunable& t) { return t.name == name; }))
      fail("has two settings '" + name + "' in " + who_);
    if (std::find(values.begin(), values.end(), standard) == values.end())
      fail("has a setting '" + name + "' in " + who_ + " whose default, '" + standard + "', is not one of its values");
    return Tunable::choice(name, std::move(values), standard);
  }

  template <class T, std::size_t count>
  std::vector<T> all_of(const Bit<T> (&all)[count], std::uint32_t bits, const char* what) const {
    std::vector<T> out;
    for (const Bit<T>& b : all) {
      if (bits & b.bit) out.push_back(b.means);
      bits &= ~b.bit;
    }
    if (bits != 0) unknown(what, bits);
    if (out.empty()) fail("has no " + std::string(what) + " in " + who_);
    return out;
  }
  [[noreturn]] void unknown(const char* what, std::uint32_t value) const {
    fail("has an unknown value in " + who_ + ": " + what + " " + std::to_string(value));
  }
  template <class T>
  void require(T* p, const char* what) const {
    if (!p) fail("has a null pointer in " + who_ + ": " + what);
  }

  const std::string& named_;
  const char* simulated_;
  std::string suffix_, who_;
  std::uint32_t version_ = 0;
};

/// Of a table that was read whole. `file`: of which the record keeps a hash.
std::vector<const Variant*> register_all(std::vector<std::pair<Variant, const reductio_variant*>> all,
                                         const std::string& file, const std::string& interpreter,
                                         const std::function<const char*(const reductio_variant*)>& load,
                                         const std::string& own_experiment, DeviceKind of_gpu = DeviceKind::cuda) {
  std::vector<const Variant*> out;
  for (auto& [v, from] : all) {
    const DeviceKind device = from->device == REDUCTIO_GPU ? of_gpu : DeviceKind::cpu;
    const std::string id = v.id;
    const auto missing = std::make_shared<std::string>();
    v.interpreter = interpreter;
    if (!own_experiment.empty()) {  // what the package brings is no user's
      v.own_experiment = own_experiment;
      v.kind = device == DeviceKind::cuda ? VariantKind::library : VariantKind::cpu;
      v.plugin.clear();
    }
    if (load)
      v.load = [load, missing, from = from] {
        const char* const why = load(from);
        *missing = why ? one_line(why) : "";
      };
    register_variant(
        std::move(v), device,
        [from = from, device, missing](const Problem& p, const Settings& s,
                                       const DeviceInfo&) -> std::unique_ptr<Plan> {
          if (!missing->empty()) throw Unavailable(*missing);
          return std::make_unique<PluginPlan>(*from, p, s, device);
        },
        file.c_str());
    out.push_back(&find_variant(id));
  }
  return out;
}

}  // namespace

std::vector<const Variant*> load_plugin(const std::filesystem::path& library, const std::string& named,
                                        const char* simulated) {
  static std::map<std::filesystem::path, std::vector<const Variant*>> loaded;
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::canonical(library, error);
  if (error) throw UsageError("cannot load '" + named + "': " + error.message());
  if (const auto known = loaded.find(whole); known != loaded.end()) return known->second;

  Reader reader(named, simulated);
  if (simulated) offer_symbols();
  // What was linked with -ffast-math makes the thread that loads it flush subnormals.
  std::fenv_t environment;
  std::fegetenv(&environment);
  void* const handle = dlopen(whole.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::fesetenv(&environment);
  if (!handle) {
    const char* const why = dlerror();
    throw UsageError("cannot load '" + named + "': " + one_line(why ? why : "unknown error"));
  }
  const auto plugin = reinterpret_cast<decltype(&reductio_plugin)>(dlsym(handle, "reductio_plugin"));
  if (!plugin && dlsym(handle, "main"))
    reader.fail(
        "is a program with its own main(): run 'reductio simulate', or make its kernel a plug-in "
        "(docs/plugins.md)");
  if (!plugin) reader.fail("has no function reductio_plugin; docs/plugins.md shows one");
  const char* why = nullptr;
  const reductio_table* const table = plugin(&why);
  if (!table) reader.fail("offers nothing: " + (why ? one_line(why) : std::string("reductio_plugin() returned null")));

  const auto out = register_all(reader.read(*table), whole.string(), {}, {}, {},
                                simulated ? DeviceKind::sim : DeviceKind::cuda);
  loaded.emplace(whole, out);
  return out;
}

std::vector<const Variant*> add_plugin(const reductio_table& table, const std::string& named,
                                       const std::string& interpreter,
                                       std::function<const char*(const reductio_variant*)> load,
                                       const std::string& own_experiment) {
  return register_all(Reader(named).read(table), named, interpreter, load, own_experiment);
}

}  // namespace reductio
