#include "measure/results/contrast_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/call.h"
#include "core/error.h"

namespace reductio {
namespace {

using Json = nlohmann::ordered_json;

/// Where something stands in the list, for messages.
[[noreturn]] void refuse(const std::string& where, const std::string& why) { throw UsageError(where + ": " + why); }

template <class T>
T get(const Json& object, const char* key, const std::string& where, std::optional<T> otherwise = {}) {
  const auto found = object.find(key);
  if (found == object.end()) {
    if (otherwise) return *std::move(otherwise);
    refuse(where, fmt::format("lacks '{}'", key));
  }
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    refuse(where, fmt::format("'{}' is malformed", key));
  }
}

/// A field that holds one word or a list of them.
std::vector<std::string> words(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_string()) return {found->get<std::string>()};
  return get<std::vector<std::string>>(object, key, where);
}

void require_way(const std::string& way, const std::string& where) {
  if (way == Contrast::device_part || way == Contrast::rest) return;
  try {
    parse_timing_mode(way);
  } catch (const UsageError& e) {
    refuse(where, std::string(e.what()) + ", device_part, rest");
  }
}

std::vector<Contrast::Point> points_of(const Json& list, const std::string& timing_mode, const std::string& where) {
  if (!list.is_array() || list.empty()) refuse(where, "a contrast is a list of [power, call] or [power, call, way]");
  std::vector<Contrast::Point> out;
  for (const Json& point : list) {
    if (!point.is_array() || point.size() < 2 || point.size() > 3 || !point[0].is_number() || !point[1].is_string() ||
        (point.size() == 3 && !point[2].is_string()))
      refuse(where, "a point is [power, call] or [power, call, way], and not " + point.dump());
    out.push_back({point[0].get<double>(), point[1].get<std::string>(),
                   point.size() == 3 ? point[2].get<std::string>() : timing_mode});
    parse_call(out.back().call);
    require_way(out.back().way, where);
    const auto stars = [](const std::string& call) { return std::count(call.begin(), call.end(), '*'); };
    const auto in_id = [&](const Contrast::Point& p) { return stars(p.call.substr(0, p.call.find(':'))); };
    if (in_id(out.back()) != in_id(out.front())) refuse(where, "its points have different numbers of '*'");
  }
  return out;
}

/// "{block}" replaced in all strings below.
Json with(Json value, const std::string& key, const std::string& by) {
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    const std::string mark = "{" + key + "}";
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += by.size())
      text.replace(at, mark.size(), by);
    return text;
  }
  if (value.is_array())
    for (Json& one : value) one = with(one, key, by);
  return value;
}

using Named = std::pair<std::string, Json>;

/// One for each value of each key of `for`.
std::vector<Named> expanded(std::vector<Named> contrasts, const Json& group, const std::string& where) {
  const auto keys = group.find("for");
  if (keys == group.end()) return contrasts;
  if (!keys->is_object()) refuse(where, "'for' is an object of lists");
  for (const auto& [key, values] : keys->items()) {
    if (!values.is_array() || values.empty()) refuse(where, "'for' has no list of values for " + key);
    std::vector<Named> more;
    for (const auto& [name, points] : contrasts)
      for (const Json& value : values) {
        const std::string by = value.is_string() ? value.get<std::string>() : value.dump();
        more.emplace_back(with(name, key, by).get<std::string>(), with(points, key, by));
      }
    contrasts = std::move(more);
  }
  return contrasts;
}

}  // namespace

std::vector<Contrast> contrasts_in(std::string_view text, const std::string& file) {
  const Json all = Json::parse(text, nullptr, false);
  if (!all.is_object()) refuse(file, "is not a JSON object");
  const auto effects = get<std::map<std::string, double>>(all, "effects", file);
  const auto groups = get<std::vector<Json>>(all, "groups", file);
  std::vector<Contrast> out;
  std::set<std::string> names;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Json& group = groups[g];
    const std::string where = fmt::format("{}: group {}", file, g + 1);
    if (!group.is_object()) refuse(where, "is not a JSON object");
    Contrast c;
    try {
      c.experiments = words(group, "experiments", where);
      c.device = parse_device(get<std::string>(group, "device", where, "cuda"));
      c.operation = parse_operation(get<std::string>(group, "operation", where, "sum"));
      c.timing_mode = get<std::string>(group, "timing_mode", where);
      c.cache_state = parse_cache_state(get<std::string>(group, "cache_state", where, "cold_dirty"));
      c.caller = get<std::string>(group, "caller", where, "");
      c.offset_elements = get<std::size_t>(group, "offset_elements", where, 0);
      c.dataset = get<std::string>(group, "dataset", where, "random");
      c.confidence = get<double>(group, "confidence", where, 0.95);
      const auto effect = effects.find(c.timing_mode);
      c.effect = get<double>(group, "effect", where, effect == effects.end() ? 0.01 : effect->second);
      require_way(c.timing_mode, where);
      if (const auto n = group.find("n"); n == group.end() || *n != "all")
        c.sizes = get<std::vector<std::size_t>>(group, "n", where);
      std::vector<Named> named;
      const Json contrasts = get<Json>(group, "contrasts", where);
      for (const auto& [name, points] : contrasts.items()) named.emplace_back(name, points);
      for (const auto& [name, points] : expanded(std::move(named), group, where)) {
        c.name = name;
        if (!names.insert(name).second) refuse(where, "the name " + name + " stands twice");
        c.points = points_of(points, c.timing_mode, where + ": " + name);
        for (const std::string& type : words(group, "element_type", where)) {
          c.type = parse_type(type);
          out.push_back(c);
        }
      }
    } catch (const UsageError& e) {
      const std::string what = e.what();
      throw UsageError(what.starts_with(file) ? what : where + ": " + what);
    }
  }
  return out;
}

}  // namespace reductio
