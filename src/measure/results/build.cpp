#include "measure/results/build.h"

#include <fmt/format.h>

#include "reductio_build.h"
#include "reductio_revision.h"

namespace reductio {

const BuildDescription& build_description() {
  static const BuildDescription build{.version = REDUCTIO_BUILD_VERSION,
                                      .git_revision = REDUCTIO_GIT_REVISION,
                                      .build_type = REDUCTIO_BUILD_TYPE,
                                      .cxx_compiler = REDUCTIO_BUILD_CXX_COMPILER,
                                      .cxx_flags = REDUCTIO_BUILD_CXX_FLAGS,
                                      .cuda_compiler = REDUCTIO_BUILD_CUDA_COMPILER,
                                      .cuda_flags = REDUCTIO_BUILD_CUDA_FLAGS,
                                      .cuda_architectures = REDUCTIO_BUILD_CUDA_ARCHITECTURES,
                                      .cccl = REDUCTIO_BUILD_CCCL,
                                      .git_dirty = REDUCTIO_GIT_DIRTY};
  return build;
}

std::string version_text() {
  const auto& b = build_description();
  if (b.git_revision.empty()) return b.version + " (revision unknown)";
  return fmt::format("{} ({}{})", b.version, b.git_revision.substr(0, 12), b.git_dirty ? ", modified" : "");
}

}  // namespace reductio
