#pragma once
/// How this program was built, for people and records.

#include <string>

namespace reductio {

struct BuildDescription {
  std::string version, git_revision, build_type, cxx_compiler, cxx_flags, cuda_compiler, cuda_flags, cuda_architectures,
      cccl;
  bool git_dirty = false;
};

/// How this program was built; the revision is read when it is built, not when it is configured.
const BuildDescription& build_description();
/// "0.1.0 (6b3f2a1c9d04, modified)", for --version.
std::string version_text();

}  // namespace reductio
