#include "device/sim/mutation.h"

#include <optional>
#include <utility>

namespace reductio::sim {

bool lines_watched = false;

namespace {
LineRecorder* recorder = nullptr;
std::optional<SynchronizingLine> mutant;
}  // namespace

std::string_view name(Synchronization what) {
  switch (what) {
    case Synchronization::block_barrier: return "block barrier";
    case Synchronization::grid_barrier: return "grid barrier";
    case Synchronization::cluster_barrier: return "cluster barrier";
    case Synchronization::warp_barrier: return "__syncwarp";
    case Synchronization::fence: return "fence";
    case Synchronization::atomic_update: return "atomic update";
  }
  return "";
}

std::string SynchronizingLine::describe() const {
  return std::string(name(what)) + " at " + file + ":" + std::to_string(line);
}

LineRecorder::LineRecorder() {
  recorder = this;
  lines_watched = true;
}
LineRecorder::~LineRecorder() {
  recorder = nullptr;
  lines_watched = mutant.has_value();
}

LineMutant::LineMutant(SynchronizingLine line) {
  mutant = std::move(line);
  lines_watched = true;
}
LineMutant::~LineMutant() {
  mutant.reset();
  lines_watched = recorder != nullptr;
}

bool passes_left_out(Synchronization what, Site site) {
  const std::string_view path = site.file;
  const SynchronizingLine here{std::string(path.substr(path.rfind('/') + 1)), site.line, what};
  if (recorder) recorder->lines_.insert(here);
  return mutant == here;
}

}  // namespace reductio::sim
