#pragma once
/// Tunables are what a variant lets its user choose; Settings are the values chosen for one plan.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reductio {

/// One knob of a variant. Values are written as text everywhere: --set block=256, the CSV's `settings` field.
struct Tunable {
  std::string name;
  std::vector<std::string> values;  ///< the values that verification covers; all that is allowed unless `open`
  std::string standard;             ///< the default; one of `values`
  bool open = false;                ///< also accepts every whole number in [low, high]
  std::int64_t low = 0, high = 0;

  static Tunable choice(std::string name, std::vector<std::string> values, std::string standard);
  static Tunable powers_of_two(std::string name, unsigned low, unsigned high, unsigned standard);
  /// Any whole number in [low, high]; `samples` are what verification covers. Samples may hold words
  /// beside the numbers ("auto").
  static Tunable integer(std::string name, std::int64_t low, std::int64_t high, std::vector<std::string> samples,
                         std::string standard);

  bool allows(std::string_view value) const;
  /// "32, 64, ..., 1024 (default 256)", for listings and messages.
  std::string describe() const;
};

/// What is set of some tunables: name and value of each.
using Assignments = std::vector<std::pair<std::string, std::string>>;

/// The values of all tunables of one variant, in the variant's order.
class Settings {
 public:
  Settings() = default;
  /// Every tunable at its default.
  explicit Settings(const std::vector<Tunable>& tunables);

  /// Throws UsageError if the name is not a tunable of this variant (the CLI filters by variant first).
  void set(std::string_view name, std::string value);
  bool has(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  /// The value as a whole number; throws UsageError if it is a word.
  std::int64_t integer(std::string_view name) const;
  /// The value as a number of things, from 0 to 2^32 - 1; throws UsageError if it is a word or outside.
  unsigned count(std::string_view name) const;
  /// The same, or `otherwise` where there is no such setting.
  unsigned count(std::string_view name, unsigned otherwise) const { return has(name) ? count(name) : otherwise; }
  /// "block=256;grid=auto", the CSV's `settings` field; empty without tunables.
  std::string str() const;

  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  bool operator==(const Settings&) const = default;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

/// Every combination of the values that verification covers.
std::vector<Settings> all_settings(const std::vector<Tunable>&);

/// "block=256,granularity=16" as pairs. Commas or semicolons separate. Throws UsageError where one is malformed, and
/// where a name is given twice.
Assignments parse_assignments(std::string_view);

}  // namespace reductio
