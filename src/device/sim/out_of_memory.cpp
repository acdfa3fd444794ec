#include "device/sim/out_of_memory.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/child.h"
#include "device/backend.h"

namespace reductio::sim {
namespace {

/// Made while there is memory.
const std::string& limit_in_words() {
  static const std::string text = address_space_advice();
  return text;
}

}  // namespace

EndsOutOfMemory::EndsOutOfMemory() {
  limit_in_words();
  before_ = std::set_new_handler(end_out_of_memory);
}

void end_out_of_memory() {
  std::fflush(stdout);
  std::fprintf(stderr, "reductio: simulated device: out of memory%s\n", limit_in_words().c_str());
  std::_Exit(memory_end_exit_code());
}

}  // namespace reductio::sim
