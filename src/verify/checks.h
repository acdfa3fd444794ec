#pragma once
/// The checks, each a function of a case. They return what is wrong, and an empty string if nothing is.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/call.h"
#include "verify/workbench.h"

namespace reductio {

/// The check that the case names.
std::string run_check(Workbench&, const Case&);

/// Explains a wrong later call of a plan: is this data wrong in every call, or does a call leave state behind?
std::string compared_with_first_call(Workbench&, Case, const Recipe& data);

/// Counts the additions that some elements pass through: the first and the last, where most kernels' chains are
/// longest, the middle one, and a few at random. None may exceed the declared longest chain. For larger inputs the
/// declared chain may not exceed four times the longest found, nor four times a balanced tree's depth; compensated sums
/// and sums in a wider type count as one addition.
std::string check_chain(Workbench&, const Case&);

/// The elements that check_chain() follows.
std::vector<std::size_t> followed_elements(std::size_t n, std::uint64_t seed);
/// How many additions that round an element passes through on its way into the result of `call`, which takes the
/// elements' bytes. None if the result says nothing. Throws Refused unless the elements are floats.
using ChainCall = std::function<Result(const std::vector<std::byte>&)>;
std::optional<std::size_t> additions_of(const Problem&, std::size_t element, const ChainCall&);

/// "; element 65536 is missing" of a case whose result is wrong, where one element that is lost or counted twice
/// explains it, by calls of new plans on data that tell elements apart; of several how many; else empty.
std::string lost_element(Workbench&, const Case&);

}  // namespace reductio
