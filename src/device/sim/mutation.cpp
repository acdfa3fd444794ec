#include "device/sim/mutation.h"

#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace reductio::sim {

bool lines_watched = false;

namespace {
LineRecorder* recorder = nullptr;
std::set<std::tuple<const char*, int, Synchronization>> recorded;  // by it
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
  recorded.clear();
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
  const auto file = [&] {
    const std::string_view path = site.file;
    return path.substr(path.rfind('/') + 1);
  };
  if (recorder && recorded.emplace(site.file, site.line, what).second)
    recorder->lines_.insert({std::string(file()), site.line, what});
  return mutant && mutant->line == site.line && mutant->what == what && mutant->file == file();
}

}  // namespace reductio::sim
