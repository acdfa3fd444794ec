#include "measure/sampling/inputs.h"

#include <algorithm>

#include "core/dataset.h"

namespace reductio {
namespace {

/// Copies the tile once over the link, then doubles it on the device. What is there is always whole periods, so element
/// i stays tile[i % period].
void upload(Backend& backend, std::byte* dst, std::span<const std::byte> tile, std::size_t bytes, Stream s) {
  std::size_t have = tile.size();
  backend.copy_in(dst, tile.data(), have, s);
  while (have < bytes) {
    const std::size_t more = std::min(have, bytes - have);
    backend.copy_within(dst + have, dst, more, s);
    have += more;
  }
}

std::size_t allocation_size(const Backend& backend, const InputKey& key) {
  std::size_t size = (key.offset_elements + key.n) * size_of(key.type);
  // The read ceiling's kernels load whole 16-byte vectors, so the last may reach past the input. The simulated device
  // checks accesses against exactly these bytes.
  if (backend.info().kind == DeviceKind::cuda) size = (size + 31) / 16 * 16;
  return std::max<std::size_t>(size, 1);
}

}  // namespace

DeviceInput::DeviceInput(Backend& backend, const InputKey& key, std::span<const std::byte> tile, bool with_scratch)
    : key_(key), tile_(tile), data_(backend, allocation_size(backend, key)) {
  if (with_scratch) scratch_.emplace(backend, data_.size());
  upload(backend, static_cast<std::byte*>(data()), tile, bytes(), backend.stream());
  backend.synchronize(backend.stream());
}

void Allocations::begin_next() {
  input_.reset();
  random_.seed(std::random_device{}());  // not as in another process of the same parent
  if (backend_->scatter()) return;
  // What is larger is mapped anew, at pages of its own.
  const std::size_t smallest = 256, largest = std::size_t{64} << 10;
  try {
    for (std::size_t bytes = smallest; bytes <= largest; bytes *= 2)
      for (std::uint64_t pieces = 1 + random_() % 3; pieces > 0; --pieces) held_.emplace_back(*backend_, bytes);
  } catch (const Refused&) {
    held_.clear();  // no memory to spare
  }
}

void Allocations::free_all() {
  input_.reset();
  held_.clear();
  tiles_.clear();
}

DeviceInput& Allocations::input(const InputKey& key, bool with_scratch) {
  if (!input_ || input_->key() != key || (with_scratch && !input_->has_scratch())) {
    input_.reset();  // first, so that both need not fit at once
    const auto& its_tile = tile(key);
    input_ = with_room_for([&] { return std::make_unique<DeviceInput>(*backend_, key, its_tile, with_scratch); });
  }
  return *input_;
}

const std::vector<std::byte>& Allocations::tile(const InputKey& key) {
  auto at = tiles_.find(key);
  if (at == tiles_.end()) at = tiles_.emplace(key, make_tile(key.dataset, key.type, key.n, key.seed)).first;
  return at->second;
}

}  // namespace reductio
