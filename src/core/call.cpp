#include "core/call.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/parse.h"

namespace reductio {
namespace {

constexpr std::string_view times_sms = "*SMs", share_of_n = "ceil(n/";

/// A value of one of the two forms: its number, and which of them it is.
struct Formula {
  std::size_t number;
  bool of_n;

  std::size_t at(std::size_t n, std::size_t sm_count) const {
    return of_n ? n / number + (n % number != 0) : number * sm_count;
  }
};

/// Nothing for other values.
std::optional<Formula> formula(std::string_view text) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (text.ends_with(times_sms)) {
    const std::string_view factor = text.substr(0, text.size() - times_sms.size());
    return Formula{parse_whole("value", factor, "4*SMs, blocks for each multiprocessor", most), false};
  }
  if (!text.starts_with(share_of_n)) return std::nullopt;
  const std::string_view share = text.substr(share_of_n.size());
  const bool closed = share.ends_with(')');
  const std::string_view wanted = "ceil(n/1024), one for each so many elements";
  const std::size_t number = parse_whole("value", closed ? share.substr(0, share.size() - 1) : text, wanted);
  if (number == 0) throw UsageError("malformed value '" + std::string(text) + "'; give " + std::string(wanted));
  return Formula{number, true};
}

}  // namespace

bool CallName::needs_sm_count() const {
  return std::any_of(settings.begin(), settings.end(), [](const auto& setting) {
    const auto of = formula(setting.second);
    return of && !of->of_n;
  });
}

Assignments CallName::settings_at(std::size_t n, std::size_t sm_count) const {
  Assignments out = settings;
  for (auto& [name, value] : out)
    if (const auto of = formula(value)) value = std::to_string(of->at(n, sm_count));
  return out;
}

CallName parse_call(std::string_view text) {
  const auto colon = text.find(':');
  CallName out{std::string(text.substr(0, colon)), {}};
  try {
    if (out.variant.empty()) throw UsageError("it names no variant; write VARIANT:NAME=VALUE,NAME=VALUE");
    if (colon != std::string_view::npos) out.settings = parse_assignments(text.substr(colon + 1));
    for (const auto& [name, value] : out.settings) formula(value);
  } catch (const UsageError& e) {
    throw UsageError("call '" + std::string(text) + "': " + e.what());
  }
  return out;
}

}  // namespace reductio
