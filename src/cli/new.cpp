/// reductio new: the file of a new variant, which works as it is and is changed from there.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "core/parse.h"
#include "core/program_file.h"
#include "core/variant.h"
#include "measure/results/machine.h"

namespace reductio::cli {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
  std::string name, source, from = "two-launch";
  bool chose_from = false;
};

// @ID@ is filled in. Each file must compile for both devices and pass the battery unchanged:
// tests/cli/test_new.py builds them.
constexpr const char* head = R"(/// @ID@: say here what this reduction tries, and where the idea comes from.
///
/// Variants: @ID@
///
/// To make it your own: change the kernel, keep it correct for every n from 0 to over 2^32, then
///   cmake --build @BUILD@ --target reductio && @BUILD@/bin/reductio verify --variants '^@ID@$'
///   @BUILD@/bin/reductio run comparison --variants '^(@ID@|cub/sum)$' --sizes 2^20:2^28
/// device/kernel.h lists what a kernel may use, device/sum_kernel.h what the last statement can say. T is float, double
/// and, for i32, unsigned. A kernel of float alone needs no template: it takes const float* in and float* out, and the
/// last argument is launch<sum_all>.
#include "device/device.h"

namespace reductio::device {
namespace {  // kernels of other files, and of the other device, may have the same names
)";

constexpr const char* block_tree = R"(
/// The block's sum, valid in thread 0: a tree in shared memory. blockDim.x is a power of two.
template <class T>
__device__ T block_sum(T value) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* shared = reinterpret_cast<T*>(raw);
  shared[threadIdx.x] = value;
  __syncthreads();  // all values are stored before a thread reads another's
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
    __syncthreads();  // this level is done before the next one reads it
  }
  return shared[0];
}
)";

constexpr const char* thread_sum = R"(  T sum = 0;
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t stride = std::int64_t{blockDim.x} * gridDim.x;  // signed, or nvcc would not unroll the loop
  for (std::int64_t i = first; i < n; i += stride) sum += in[i];
)";

constexpr const char* atomic_kernel = R"(
/// Each thread adds its share to out[0], which each call sets to zero first.
template <class T>
__global__ void sum_all(const T* in, T* out, std::int64_t n) {
@THREAD@  atomicAdd(out, sum);
}

const Register registered = sum_kernel("@ID@", {.finish = Finish::thread_atomics, .block = 256, .blocks_per_sm = 8},
                                       []<class T>() { return launch<sum_all<T>>; });
)";

constexpr const char* two_launch_kernel = R"(@TREE@
/// Block b stores its share's sum in out[b]. A second launch, of one block, adds up what the first stored.
template <class T>
__global__ void sum_all(const T* in, T* out, std::int64_t n) {
@THREAD@  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

const Register registered = sum_kernel("@ID@",
                                       {.finish = Finish::second_launch,
                                        .blocks_per_sm = 8,
                                        .threads_per_shared_element = 1,
                                        .tunables = {Tunable::powers_of_two("block", 32, 1024, 256)}},
                                       []<class T>() { return launch<sum_all<T>>; });
)";

constexpr const char* last_block_kernel = R"(@TREE@
/// Block b stores its share's sum in partials[b] and counts itself; the last to arrive adds them up. `arrived` is zero.
template <class T>
__global__ void sum_all(const T* in, T* out, std::int64_t n, T* partials, unsigned* arrived) {
@THREAD@  sum = block_sum(sum);
  bool last = false;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = sum;
    __threadfence();  // this block's sum is stored before it is counted
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    __threadfence();  // the others' sums are read after the counter that told of them
  }
  if (!__syncthreads_or(last)) return;  // all threads learn whether theirs is the last block
  T total = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) total += partials[b];
  total = block_sum(total);
  if (threadIdx.x == 0) out[0] = total;
}

const Register registered = sum_kernel("@ID@",
                                       {.finish = Finish::last_block,
                                        .blocks_per_sm = 8,
                                        .threads_per_shared_element = 1,
                                        .tunables = {Tunable::powers_of_two("block", 32, 1024, 256)}},
                                       []<class T>() { return launch<sum_all<T>>; });
)";

constexpr const char* foot = R"(
}  // namespace
}  // namespace reductio::device
)";

const std::map<std::string, const char*> kernels{
    {"atomic", atomic_kernel}, {"two-launch", two_launch_kernel}, {"last-block", last_block_kernel}};

// Outside of the source folder, as with the Python wheel, the file is a plug-in.
constexpr const char* plugin_head = R"(/// @ID@: say here what this reduction tries, and where the idea comes from.
///
/// To make it your own: change the @WHAT@, keep it correct for every n, then
///   @PROGRAM@ verify --variants ./@FILE@
///   @PROGRAM@ compare @BASE@ ./@FILE@
/// docs/plugins.md has the macros for other types, and what else a file may say.
#include <reductio/plugin.h>
)";

constexpr const char* cuda_plugin = R"(
/// Each thread adds its share to out[0].
__global__ void add_all(const float* in, size_t n, float* out) {
  float sum = 0;
  const size_t first = blockIdx.x * size_t{blockDim.x} + threadIdx.x, stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = first; i < n; i += stride) sum += in[i];
  atomicAdd(out, sum);
}
static void sum_all(const float* in, size_t n, float* out, void*, cudaStream_t stream) {
  cudaMemsetAsync(out, 0, sizeof *out, stream);
  add_all<<<528, 256, 0, stream>>>(in, n, out);
}
REDUCTIO_SUM_F32("@ID@", sum_all)
)";

constexpr const char* cpu_plugin = R"(
/// Four sums, so that no addition waits for the one before.
static void sum_all(const float* in, size_t n, float* out) {
  float sums[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < n; ++i) sums[i % 4] += in[i];
  *out = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
REDUCTIO_CPU_SUM_F32("@ID@", sum_all)
)";

constexpr std::size_t longest_id = 64;

/// "mine/first-idea", or "first-idea", which goes to "mine/". Throws UsageError where the name is no id.
std::string make_id(const std::string& name) {
  const std::string id = name.find('/') == std::string::npos ? "mine/" + name : name;
  if (id.size() > longest_id)
    throw UsageError(fmt::format("a name of {} characters is too long; give at most {}, such as mine/first-idea",
                                 name.size(), longest_id));
  const auto slash = id.find('/');
  for (const std::string& part : {id.substr(0, slash), id.substr(slash + 1)})
    if (part.empty() || part.starts_with('-') || part.ends_with('-') ||
        part.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
      throw UsageError("'" + name +
                       "' is not an id: give a group and a name of a-z, 0-9 and -, such as mine/first-idea");
  return id;
}

/// "mine/first-idea" -> "mine_first_idea"
std::string underscored(std::string id) {
  for (char& c : id)
    if (c == '/' || c == '-') c = '_';
  return id;
}

/// Throws UsageError for a variant that is there, and for the group of a document or library: one whose variants are in
/// other files than this subcommand writes.
void check_is_free(const std::string& id) {
  const std::string group = id.substr(0, id.find('/') + 1);
  const auto refuse = [&] {
    throw UsageError("'" + group + "' is the group of a document or library; choose another, such as mine/" +
                     id.substr(group.size()));
  };
  for (const char* of_cuda : cuda_groups)
    if (group == of_cuda) refuse();
  for (const Variant& v : variants())
    if (v.id == id) throw UsageError("variant '" + id + "' already exists; choose another name");
  for (const Variant& v : variants())
    for (const std::string& file : v.file)
      if (group != "mine/" && v.id.starts_with(group) && !file.empty() &&
          !fs::path(file).filename().string().starts_with(underscored(group)))
        refuse();
}

bool is_project(const fs::path& folder) {
  std::error_code no;  // a name that the file system refuses names no folder
  return fs::exists(folder / "src" / "device" / "device.h", no) && fs::is_directory(folder / "src" / "kernels", no);
}

/// Empty: the current folder is in none, and none was named.
fs::path find_project(const std::string& source) {
  if (!source.empty()) {
    if (is_project(source)) return source;
    throw UsageError("'" + source + "' is not reductio's source folder (it has no src/kernels)");
  }
  for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
    if (is_project(folder)) return folder;
    if (folder == folder.root_path()) return {};
  }
}

/// The build folder that this program lies in, if it builds `project`, which is then `cmake --build`'s; else empty.
fs::path own_build(const fs::path& project) {
  std::error_code no;
  const fs::path folder = program_file().parent_path().parent_path();
  std::ifstream cache(folder / "CMakeCache.txt");
  for (std::string line; std::getline(cache, line);)
    if (const std::string_view key = "CMAKE_HOME_DIRECTORY:INTERNAL="; line.starts_with(key))
      return fs::equivalent(line.substr(key.size()), project, no) ? folder : fs::path();
  return {};
}

/// `path` as seen from `base`, if it lies in it.
std::string seen_from(const fs::path& base, const fs::path& path) {
  const fs::path relative = path.lexically_relative(base);
  return relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

void write(const fs::path& file, const std::string& text) {
  if (fs::exists(file)) throw UsageError("'" + file.string() + "' already exists; choose another name");
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) throw UsageError("cannot write '" + file.string() + "'");
}

int write_plugin(const std::string& id) {
  const bool cuda = !build_description().cuda_compiler.empty();
  const std::string file = underscored(id) + (cuda ? ".cu" : ".cpp"), base = cuda ? "cub/sum" : "host/plain";
  std::string text = std::string(plugin_head) + (cuda ? cuda_plugin : cpu_plugin);
  for (const auto& [what, by] : {std::pair<std::string, std::string>{"@ID@", id}, {"@FILE@", file}, {"@BASE@", base},
                                 {"@PROGRAM@", program_as_called()}, {"@WHAT@", cuda ? "kernel" : "function"}})
    replace_all(text, what, by);
  write(file, text);
  fmt::print("{}: variant {}, a plug-in; inside reductio's source folder it would join the program\n", file, id);
  fmt::print("next: {0} verify --variants ./{1} && {0} compare {2} ./{1}\n", program_as_called(), file, base);
  return exit_ok;
}

int run(const NewOptions& options) {
  const auto kernel = kernels.find(options.from);
  if (kernel == kernels.end())
    throw UsageError("--from takes atomic, two-launch or last-block, not '" + options.from + "'");
  if (options.name.empty())
    throw UsageError("name the new variant, such as mine/first-idea; see '" + program_as_called() + " new --help'");
  const std::string id = make_id(options.name);
  check_is_free(id);
  const fs::path project = find_project(options.source);
  if (project.empty()) {
    if (options.chose_from)
      throw UsageError("--from chooses a kernel of reductio's source folder; go there, name it with --source DIR, or "
                       "leave out --from for a plug-in");
    return write_plugin(id);
  }
  const fs::path file = project / "src" / "kernels" / (underscored(id) + ".cu");
  std::string text = std::string(head) + kernel->second + foot;
  replace_all(text, "@TREE@", block_tree);
  replace_all(text, "@THREAD@", thread_sum);
  replace_all(text, "@ID@", id);
  const fs::path build = own_build(project);
  replace_all(text, "@BUILD@", build.empty() ? "build" : seen_from(fs::canonical(project), build));
  write(file, text);
  fmt::print("{}: variant {}{}\n", file.string(), id,
             id == options.name ? "" : "; a name without a group goes to mine/");
  const fs::path others = project / "build";  // where presets and README.md build it
  fmt::print("next: cmake --build {} --target reductio && {} verify --variants '^{}$'\n",
             quoted(build.empty() ? others.string() : seen_from(fs::current_path(), build)),
             build.empty() ? quoted((others / "bin" / "reductio").string()) : program_as_called(), id);
  return exit_ok;
}

}  // namespace

Command add_new(CLI::App& app) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* sub = app.add_subcommand("new", "Write a file with a new variant that works, for you to change");
  sub->add_option("name", options->name,
                  "Its id, such as mine/first-idea: a group and a name of a-z, 0-9 and -; a name alone goes to mine/");
  CLI::Option* from = sub->add_option("--from", options->from,
                                      "How the blocks' sums are combined: atomic, two-launch, last-block")
                          ->type_name("KERNEL")
                          ->capture_default_str();
  sub->add_option("--source", options->source,
                  "The project's source folder (default: the current one or a parent). Elsewhere new writes a plug-in")
      ->type_name("DIR");
  return {sub, [options, from] {
            options->chose_from = from->count() > 0;
            return run(*options);
          }};
}

}  // namespace reductio::cli
