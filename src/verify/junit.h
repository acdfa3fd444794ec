#pragma once
/// A report in the XML that CI systems show: one test suite per device, one test case per variant.

#include <iosfwd>
#include <span>
#include <string>

#include "verify/verify.h"

namespace reductio {

/// A variant that failed is a <failure> that lists its cases; one that was refused throughout is <skipped>.
void write_junit(std::ostream&, std::span<const VariantResult>);
/// The same into a file. Throws UsageError if it can't be written.
void write_junit(const std::string& path, std::span<const VariantResult>);

}  // namespace reductio
