#pragma once
/// What code throws, as its user reads it.

#include <exception>
#include <string>

namespace reductio {

/// The message of the error, of this kind, that `body` throws; empty if it throws nothing. Other kinds pass through.
template <class Error = std::exception, class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

}  // namespace reductio
