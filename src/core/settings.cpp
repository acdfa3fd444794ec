#include "core/settings.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "core/error.h"

namespace reductio {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Tunable Tunable::choice(std::string name, std::vector<std::string> values, std::string standard) {
  return {std::move(name), std::move(values), std::move(standard), false, 0, 0};
}

Tunable Tunable::powers_of_two(std::string name, unsigned low, unsigned high, unsigned standard) {
  Tunable t{std::move(name), {}, std::to_string(standard), false, 0, 0};
  for (std::uint64_t v = low; v <= high; v *= 2) t.values.push_back(std::to_string(v));
  return t;
}

Tunable Tunable::integer(std::string name, std::int64_t low, std::int64_t high, std::vector<std::string> samples,
                         std::string standard) {
  return {std::move(name), std::move(samples), std::move(standard), true, low, high};
}

bool Tunable::allows(std::string_view value) const {
  if (std::find(values.begin(), values.end(), value) != values.end()) return true;
  const auto number = open ? whole_number(value) : std::nullopt;
  return number && *number >= low && *number <= high;
}

std::string Tunable::describe() const {
  std::string text;
  if (open) text = std::to_string(low) + ".." + std::to_string(high);
  for (const auto& v : values)
    if (!open || !whole_number(v)) text += (text.empty() ? "" : ", ") + v;
  return text + " (default " + standard + ")";
}

Settings::Settings(const std::vector<Tunable>& tunables) {
  for (const auto& t : tunables) values_.emplace_back(t.name, t.standard);
}

void Settings::set(std::string_view name, std::string value) {
  for (auto& [key, current] : values_)
    if (key == name) {
      current = std::move(value);
      return;
    }
  throw UsageError("no setting named '" + std::string(name) + "' here; known: " + (values_.empty() ? "none" : str()));
}

bool Settings::has(std::string_view name) const {
  return std::any_of(values_.begin(), values_.end(), [&](const auto& kv) { return kv.first == name; });
}

const std::string& Settings::text(std::string_view name) const {
  for (const auto& [key, value] : values_)
    if (key == name) return value;
  throw UsageError("no setting named '" + std::string(name) + "' here; known: " + (values_.empty() ? "none" : str()));
}

std::int64_t Settings::integer(std::string_view name) const {
  if (const auto number = whole_number(text(name))) return *number;
  throw UsageError("setting '" + std::string(name) + "' takes a whole number, not '" + text(name) + "'");
}

unsigned Settings::count(std::string_view name) const {
  const std::int64_t number = integer(name);
  if (number < 0 || number > std::numeric_limits<unsigned>::max())
    throw UsageError("setting '" + std::string(name) + "' takes a number from 0 to " +
                     std::to_string(std::numeric_limits<unsigned>::max()) + ", not " + text(name));
  return static_cast<unsigned>(number);
}

std::string Settings::str() const {
  std::string text;
  for (const auto& [key, value] : values_) text += (text.empty() ? "" : ";") + key + "=" + value;
  return text;
}

std::vector<Settings> all_settings(const std::vector<Tunable>& tunables) {
  std::vector<Settings> all{Settings(tunables)};
  for (const Tunable& t : tunables) {
    std::vector<Settings> next;
    for (const Settings& s : all)
      for (const std::string& value : t.values) {
        next.push_back(s);
        next.back().set(t.name, value);
      }
    all = std::move(next);
  }
  return all;
}

Assignments parse_assignments(std::string_view text) {
  const std::string_view whole = text;
  Assignments out;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of(",;"), text.size());
    const std::string_view one = text.substr(0, end);
    const auto eq = one.find('=');
    if (eq == std::string_view::npos || eq == 0 || eq + 1 == one.size())
      throw UsageError("malformed setting '" + std::string(one) + "'; write NAME=VALUE,NAME=VALUE");
    const std::string_view name = one.substr(0, eq);
    if (std::any_of(out.begin(), out.end(), [&](const auto& earlier) { return earlier.first == name; }))
      throw UsageError(std::string(name) + " is given twice, in '" + std::string(whole) + "'; give one value");
    out.emplace_back(name, one.substr(eq + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace reductio
