#include "verify/workbench.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/dataset.h"
#include "device/sim/plans.h"
#include "verify/call.h"
#include "verify/checks.h"

namespace reductio {
namespace {

constexpr std::size_t most_inputs = 256;
constexpr std::size_t most_input_bytes = std::size_t{1} << 30;
/// Takes long enough to write on a GPU that work on a wrong stream overtakes it.
constexpr std::size_t delay_bytes = std::size_t{256} << 20;

}  // namespace

Recipe recipe_of(const Case& c, std::uint64_t seed) {
  return {c.dataset, c.problem.type, c.problem.extent(), c.offset_elements, seed};
}

std::shared_ptr<DeviceMemory> Workbench::room_for(const CaseInput& input) {
  return std::make_shared<DeviceMemory>(backend, input.memory.size());
}

std::shared_ptr<DeviceMemory> Workbench::offsets_of(const Problem& p) {
  if (!p.shape.offsets) return nullptr;
  if (placed_offsets_ != p.shape.offsets) {
    const std::size_t bytes = p.shape.offsets->size() * sizeof(std::int64_t);
    placed_offsets_.reset();
    offsets_.reset();
    offsets_ = std::make_shared<DeviceMemory>(backend, bytes);
    const OwnStream stream(backend);
    backend.copy_in(offsets_->get(), p.shape.offsets->data(), bytes, stream);
    backend.synchronize(stream);
    placed_offsets_ = p.shape.offsets;
    if (backend.info().kind == DeviceKind::sim) sim::protect_input(offsets_->get());
  }
  return offsets_;
}

CaseInput& Workbench::input(const Recipe& recipe, const CaseInput* keep) {
  const auto known =
      std::find_if(inputs_.begin(), inputs_.end(), [&](const CaseInput& i) { return i.recipe == recipe; });
  if (known != inputs_.end()) {
    inputs_.splice(inputs_.begin(), inputs_, known);
    inputs_.front().suspect = true;
    ++inputs_.front().cases;
    return inputs_.front();
  }
  const std::size_t size = size_of(recipe.type), bytes = (recipe.offset_elements + recipe.n) * size;
  const std::size_t share = backend.info().kind == DeviceKind::sim ? 96 : 8;  // the simulated memory is the host's
  const std::size_t most = std::min(most_input_bytes, backend.info().memory_bytes / share);
  std::size_t held = bytes;
  for (const CaseInput& i : inputs_) held += i.memory.size();
  for (auto last = inputs_.end(); last != inputs_.begin() && (held > most || inputs_.size() >= most_inputs);) {
    --last;
    if (&*last == keep) continue;
    held -= last->memory.size();
    last = inputs_.erase(last);
  }

  CaseInput made{recipe, make_tile(recipe.dataset, recipe.type, recipe.n, recipe.seed), DeviceMemory(backend, bytes),
                 true, 1};
  const OwnStream stream(backend);
  const std::size_t begin = recipe.offset_elements * size, total = recipe.n * size;
  backend.copy_in(made.memory.bytes_at(begin), made.tile.data(), made.tile.size(), stream);
  for (std::size_t done = made.tile.size(); done < total;) {
    const std::size_t next = std::min(done, total - done);
    backend.copy_within(made.memory.bytes_at(begin + done), made.memory.bytes_at(begin), next, stream);
    done += next;
  }
  backend.synchronize(stream);
  inputs_.push_front(std::move(made));
  return inputs_.front();
}

std::string Workbench::run(const Case& c) {
  if (c.variant->wrong_for)
    if (const std::string why = c.variant->wrong_for(c.dataset, c.settings); !why.empty()) throw Refused(why);
  std::erase_if(inputs_, [](const CaseInput& i) { return i.suspect; });
  std::string why = run_check(*this, c);
  if (why.empty())
    for (CaseInput& i : inputs_) i.suspect = false;
  return why;
}

void Workbench::hold_back(Stream stream) {
  if (backend.info().kind != DeviceKind::cuda) return;  // the simulated device runs a stream only when it is awaited
  if (!delay_) delay_.emplace(backend, delay_bytes);
  backend.fill(delay_->get(), 0, delay_bytes, stream);
}

}  // namespace reductio
