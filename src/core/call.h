#pragma once
/// Calls as claims, contrasts and descriptors name them: `variant:name=value,name=value`.

#include <cstddef>
#include <string>
#include <string_view>

#include "core/settings.h"

namespace reductio {

/// A call by its name: a variant's id and settings, as they are written.
struct CallName {
  std::string variant;   ///< whether there is such a variant is for the caller to find out
  Assignments settings;  ///< a value may be `4*SMs` or `ceil(n/1024)`

  /// Whether a value is of the form `4*SMs`.
  bool needs_sm_count() const;
  /// The settings for n elements on a GPU of so many multiprocessors: the two forms as numbers, the others as written.
  Assignments settings_at(std::size_t n, std::size_t sm_count) const;
};

/// Throws UsageError, naming the call, where it names no variant or a setting is malformed.
CallName parse_call(std::string_view);

}  // namespace reductio
