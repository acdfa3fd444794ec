#include "measure/inputs.h"

#include <algorithm>

#include "core/dataset.h"

namespace reductio {
namespace {

/// The tile once over the link, then doubled on the device: what is there already is always whole periods, so element
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

}  // namespace

Inputs::Inputs(Backend& backend, const InputKey& key, int placements, bool with_scratch) : key_(key) {
  const std::size_t element = size_of(key.type);
  std::size_t size = (key.offset_elements + key.n) * element;
  // The read ceiling's kernels load whole 16-byte vectors, so the last one may reach past the input. Not on the
  // simulated device, which checks accesses against exactly these bytes.
  if (backend.info().kind == DeviceKind::cuda) size = (size + 31) / 16 * 16;
  size = std::max<std::size_t>(size, 1);

  const std::size_t each = size * (with_scratch ? 2 : 1);
  const std::size_t room = backend.memory_free() / 3 * 2 / each;
  const int count =
      static_cast<int>(std::clamp<std::size_t>(room, 1, static_cast<std::size_t>(std::max(placements, 1))));

  const auto tile = make_tile(key.dataset, key.type, key.n, key.seed);
  struct OwnStream {
    Backend& backend;
    Stream stream = backend.create_stream();
    ~OwnStream() { backend.destroy_stream(stream); }
  } own{backend};
  for (int i = 0; i < count; ++i) {
    data_.emplace_back(backend, size);
    if (with_scratch) scratch_.emplace_back(backend, size);
    upload(backend, data_.back().bytes_at(key.offset_elements * element), tile, bytes(), own.stream);
  }
  backend.synchronize(own.stream);
}

const Reference& References::of(const Point& p) {
  const auto key = std::tuple(p.problem.operation, p.problem.type, p.problem.n, p.dataset, p.seed);
  auto at = known_.find(key);
  if (at == known_.end()) {
    const auto tile = make_tile(p.dataset, p.problem.type, p.problem.n, p.seed);
    at = known_.emplace(key, reference(p.problem.operation, p.problem.type, tile, p.problem.n)).first;
  }
  return at->second;
}

}  // namespace reductio
