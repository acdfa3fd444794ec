/// reductio new: the file of a new variant, which works as it is and is changed from there.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/variant.h"
#include "experiments/cli/commands.h"

namespace reductio::cli {
namespace {

namespace fs = std::filesystem;

struct NewOptions {
  std::string name, source;
};

// @ID@ and @TITLE@ are filled in. The file must compile for both devices and pass the battery unchanged:
// tests/experiments/cli/test_new.py builds one.
constexpr const char* skeleton = R"(/// @ID@: say here what this reduction tries, and where the idea comes from.
///
/// Variants: @ID@
///
/// To make it your own: change the kernel, keep it correct for every n from 0 to over 2^32, then
///   cmake --build build && build/bin/reductio verify --variants '^@ID@$'
///   build/bin/reductio run comparison --variants '^(@ID@|cub/sum)$' --sizes 2^20:2^28
/// Everything that a kernel may use is listed at the top of device/kernel.h, and what the file's foot uses at the top
/// of device/device.h. Several variants that share a preparation are one table: see src/kernels/twopass.cu.
#include <algorithm>

#include "device/device.h"

namespace reductio {
namespace {  // kernels of other files, and of the other device, may have the same names
using namespace device;

/// Block b adds up its share of in[0, n) and stores it in out[b]. `in` squares what it reads where that is asked for.
/// Each thread strides over the grid; then a tree in shared memory: thread t adds t + s, s halves.
/// Requires: blockDim.x a power of two, blockDim.x elements of shared memory. Valid: in thread 0.
/// The index is signed, because nvcc unrolls no loop with a stride over an unsigned one, which may wrap round.
template <class T, class Load>
__global__ void partial_sums(Input<T, Load> in, GlobalPtr<T> out, std::int64_t n) {
  SharedPtr<T> shared = shared_memory<T>();
  T sum = 0;
  const std::int64_t stride = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) sum += in[i];
  shared[threadIdx.x] = sum;
  __syncthreads();  // all sums are stored before a thread reads another's
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
    __syncthreads();  // this level is done before the next one reads it
  }
  if (threadIdx.x == 0) out[blockIdx.x] = shared[0];
}

/// Chooses the launch and allocates the workspace. What the plan's function does is what is timed: no allocation and
/// no waiting in there.
std::unique_ptr<Plan> prepare(const Problem& p, const Settings& s, const DeviceInfo& gpu) {
  return dispatch(p, [&]<class T, class Load>() {
    const unsigned block = s.count("block");
    // Enough blocks to fill the GPU, no more than there is work for, and one at least.
    const std::size_t n = p.n, fill = std::size_t(gpu.sm_count) * (std::size_t(gpu.threads_per_sm) / block);
    const std::size_t grid = std::max<std::size_t>(1, std::min(fill, ceil_div(n, block)));
    const std::size_t shared_bytes = block * sizeof(T);
    const Buffer<T> partials(grid);
    // The most additions that one element passes through, which its rounding bound follows from: in both launches each
    // thread's own sum, then the levels of the tree, of which there are at most 10.
    const PlanInfo info{.grid_blocks = grid,
                        .block_threads = block,
                        .longest_chain = n / (grid * block) + 1 + 10 + grid / block + 1 + 10,
                        .workspace_bytes = partials.bytes()};
    return plan_of(info, [=](void* in, void* out, Stream stream) {
      launch<partial_sums<T, Load>>({grid, block, shared_bytes, stream}, {global<const T>(in, n)}, partials.ptr(), n);
      // Partial sums are not squared again.
      launch<partial_sums<T, Identity>>({1, block, shared_bytes, stream}, {partials.ptr()}, global<T>(out, 1), grid);
    });
  });
}

// This is all that the rest of reductio knows: listing, tests, experiments, CSV and figures follow from it.
const Register registered({.id = "@ID@",
                           .title = "@TITLE@",
                           .cites = "this project",
                           .how = {.thread = "grid stride", .block = "tree, stride halves", .grid = "second launch"},
                           .operations = {Operation::sum, Operation::sum_of_squares},
                           .types = {ElementType::i32, ElementType::f32, ElementType::f64},
                           .tunables = {Tunable::powers_of_two("block", 32, 1024, 256)}},
                          prepare);

}  // namespace
}  // namespace reductio
)";

constexpr std::size_t longest_id = 64;

/// "mine/first-idea", or "first-idea", which goes to "mine/". Throws UsageError where the name is no id.
std::string make_id(const std::string& name) {
  const std::string id = name.find('/') == std::string::npos ? "mine/" + name : name;
  if (id.size() > longest_id)
    throw UsageError(fmt::format("a name of {} characters is too long; give at most {}, as mine/first-idea",
                                 name.size(), longest_id));
  const auto slash = id.find('/');
  for (const std::string& part : {id.substr(0, slash), id.substr(slash + 1)})
    if (part.empty() || part.starts_with('-') || part.ends_with('-') ||
        part.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
      throw UsageError("'" + name + "' is no id: give a group and a name of a-z, 0-9 and -, as mine/first-idea");
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
    throw UsageError("'" + group + "' is the group of a document or library; choose another, as mine/" +
                     id.substr(group.size()));
  };
  for (const char* of_cuda : {"cub/", "cublas/", "thrust/"})  // not registered by a build without CUDA
    if (group == of_cuda) refuse();
  for (const Variant& v : variants())
    if (v.id == id) throw UsageError("there is a variant '" + id + "' already; choose another name");
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

fs::path find_project(const std::string& source) {
  if (!source.empty()) {
    if (is_project(source)) return source;
    throw UsageError("'" + source + "' is not reductio's source folder (it has no src/kernels)");
  }
  for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
    if (is_project(folder)) return folder;
    if (folder == folder.root_path())
      throw UsageError("not inside reductio's source folder; go there or name it with --source DIR");
  }
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

int run(const NewOptions& options) {
  if (options.name.empty()) throw UsageError("name the new variant, as mine/first-idea; see 'reductio new --help'");
  const std::string id = make_id(options.name);
  check_is_free(id);
  const fs::path file = find_project(options.source) / "src" / "kernels" / (underscored(id) + ".cu");
  if (fs::exists(file)) throw UsageError("'" + file.string() + "' exists already; choose another name");

  std::string text = skeleton, title = id.substr(id.find('/') + 1);
  std::replace(title.begin(), title.end(), '-', ' ');
  replace_all(text, "@ID@", id);
  replace_all(text, "@TITLE@", title);
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) throw UsageError("cannot write '" + file.string() + "'");
  fmt::print("{}: variant {}\nBuild again, then: reductio verify --variants '^{}$'\n", file.string(), id, id);
  return exit_ok;
}

}  // namespace

Command add_new(CLI::App& app) {
  auto options = std::make_shared<NewOptions>();
  CLI::App* sub = app.add_subcommand("new", "Write the file of a new variant, which works and waits to be changed");
  sub->add_option("name", options->name, "Its id, as mine/first-idea: a group and a name of a-z, 0-9 and -");
  sub->add_option("--source", options->source, "The project's source folder (default: the current one or one above)")
      ->type_name("DIR");
  return {sub, [options] { return run(*options); }};
}

}  // namespace reductio::cli
