#include "measure/plan/selection.h"

#include <algorithm>
#include <charconv>
#include <random>

#include "core/error.h"

namespace reductio {

std::vector<const Variant*> selected_variants(const Selection& selection, DeviceKind device) {
  std::vector<const Variant*> out = select_variants(selection.variants_regex);
  std::erase_if(out, [&](const Variant* v) { return !v->runs_on(device); });
  if (out.empty())
    throw UsageError("no variant that matches '" + selection.variants_regex + "' runs on device " +
                     std::string(name(device)) + "; see 'reductio list'");
  for (const auto& setting : selection.settings) {
    const std::string& key = setting.first;
    const bool known = std::any_of(out.begin(), out.end(), [&](const Variant* v) {
      return std::any_of(v->tunables.begin(), v->tunables.end(), [&](const Tunable& t) { return t.name == key; });
    });
    if (!known) throw UsageError("no selected variant has a setting '" + key + "'; see 'reductio info'");
  }
  return out;
}

bool Selection::sets(const std::string& tunable) const {
  return std::any_of(settings.begin(), settings.end(), [&](const auto& one) { return one.first == tunable; });
}

std::vector<Settings> expand_settings(const Variant& v, const Selection& selection,
                                      const std::vector<std::string>& expanded, std::int64_t largest) {
  const auto too_large = [&](const Tunable& t, const std::string& value) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    return t.open && error == std::errc{} && end == value.data() + value.size() && number > largest;
  };
  std::vector<Settings> out{v.settings(selection.settings)};
  for (const Tunable& t : v.tunables) {
    if (selection.sets(t.name) || std::find(expanded.begin(), expanded.end(), t.name) == expanded.end()) continue;
    std::vector<Settings> wider;
    for (const Settings& s : out)
      for (const std::string& value : t.values) {
        if (too_large(t, value)) continue;
        wider.push_back(s);
        wider.back().set(t.name, value);
      }
    out = std::move(wider);
  }
  return out;
}

std::uint64_t draw_order_seed() { return std::random_device{}(); }

std::vector<std::size_t> powers_of_two(unsigned first, unsigned last) {
  std::vector<std::size_t> out;
  for (unsigned e = first; e <= last; ++e) out.push_back(std::size_t{1} << e);
  return out;
}

}  // namespace reductio
