#include "measure/results/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <unordered_map>

#include "core/error.h"

namespace reductio {
namespace {

// ------------------------------------------------------------------------------------------------ values and fields

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class Field>
constexpr Kind kind_of() {
  if constexpr (IsOptional<Field>::value) return kind_of<typename Field::value_type>();
  else if constexpr (std::is_same_v<Field, bool> || !std::is_arithmetic_v<Field>) return Kind::word;
  else return std::is_integral_v<Field> ? Kind::count : Kind::number;
}

template <class Field>
Value value_of(const Field& field) {
  if constexpr (IsOptional<Field>::value) return field ? value_of(*field) : Value();
  else if constexpr (std::is_same_v<Field, std::string>) return field;
  else if constexpr (std::is_same_v<Field, bool>) return std::string(field ? "yes" : "no");
  else if constexpr (std::is_enum_v<Field>) return std::string(name(field));
  else if constexpr (std::is_integral_v<Field>) return static_cast<std::uint64_t>(field);
  else return field;
}

/// All values of an enumeration.
template <class Enum>
decltype(auto) all_of() {
  if constexpr (std::is_same_v<Enum, DeviceKind>)
    return all_devices();
  else if constexpr (std::is_same_v<Enum, Operation>)
    return all_operations();
  else if constexpr (std::is_same_v<Enum, ElementType>)
    return all_types();
  else if constexpr (std::is_same_v<Enum, TimingMode>)
    return (all_timing_modes);
  else if constexpr (std::is_same_v<Enum, CacheState>)
    return (all_cache_states);
  else if constexpr (std::is_same_v<Enum, Status>)
    return (all_statuses);
}

/// The words that a field of this type may hold; none where it may hold any.
template <class Field>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  if constexpr (std::is_same_v<Field, bool>)
    words = {"yes", "no"};
  else if constexpr (std::is_enum_v<Field>)
    for (const Field one : all_of<Field>()) words.emplace_back(name(one));
  return words;
}

template <class Enum>
requires std::is_enum_v<Enum>
bool read_field(std::string_view text, Enum& out) {
  for (const Enum one : all_of<Enum>())
    if (name(one) == text) {
      out = one;
      return true;
    }
  return false;
}

bool read_field(std::string_view text, std::string& out) {
  out = text;
  return true;
}

bool read_field(std::string_view text, bool& out) {
  out = text == "yes";
  return out || text == "no";
}

template <class T>
  requires std::is_arithmetic_v<T>
bool read_field(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  if constexpr (std::is_integral_v<T>)
    return out >= T{};
  else
    return std::isfinite(out);
}

template <class T>
bool read_field(std::string_view text, std::optional<T>& out) {
  out.reset();
  return text.empty() || read_field(text, out.emplace());
}

// ------------------------------------------------------------------------------------------------------- the tables

/// The column of one member; `Path` leads to it through members of members.
template <class Record, auto... Path>
Column<Record> column(std::string name) {
  using Field = std::remove_cvref_t<decltype((std::declval<Record&>().*....*Path))>;
  return {.name = std::move(name),
          .kind = kind_of<Field>(),
          .value = [](const Record& r) { return value_of((r.*....*Path)); },
          .read = [](std::string_view text, Record& r) { return read_field(text, (r.*....*Path)); },
          .words = words_of<Field>()};
}

template <class Record>
Column<Record> may_be_empty(Column<Record> column) {
  column.kind = Kind::text;
  return column;
}

/// Files that lack it are read as if it were empty.
template <class Record>
Column<Record> optional(Column<Record> column) {
  column.optional = true;
  return column;
}

template <class Record>
Column<Record> positive(Column<Record> column) {
  column.bound = Bound::positive;
  return column;
}

/// Of what a clock tells: a coarse one may see no time pass.
template <class Record>
Column<Record> not_negative(Column<Record> column) {
  column.bound = Bound::not_negative;
  return column;
}

/// Of raw samples: what each sample has by itself.
template <class Record>
Column<Record> listed(Column<Record> column) {
  column.listed = true;
  return column;
}

constexpr int digits_of_times = 9;  ///< more than any clock here tells

double to_digits_of_times(double value) {
  read_field(fmt::format("{:.{}g}", value, digits_of_times), value);
  return value;
}

/// Of times and what is computed of them.
template <class Record>
Column<Record> rounded(Column<Record> column) {
  column.digits = digits_of_times;
  column.value = [exact = std::move(column.value)](const Record& r) {
    Value value = exact(r);
    if (auto* number = std::get_if<double>(&value)) *number = to_digits_of_times(*number);
    return value;
  };
  return column;
}

/// Derived from other columns, for readers' convenience. Reading only checks that it is a valid value.
template <class Record, class Derive>
Column<Record> derived(std::string name, Derive derive) {
  using Field = std::remove_cvref_t<decltype(derive(std::declval<const Record&>()))>;
  return {.name = std::move(name),
          .kind = kind_of<Field>(),
          .value = [=](const Record& r) { return value_of(derive(r)); },
          .read =
              [](std::string_view text, Record&) {
                Field unused{};
                return read_field(text, unused);
              },
          .words = words_of<Field>()};
}

/// A column of the record's point.
template <class Record>
Column<Record> of_point(std::string_view name) {
  const auto& own = column_named<PointKey>(name);
  return {.name = own.name,
          .kind = own.kind,
          .value = [&own](const Record& r) { return own.value(r.point); },
          .read = [&own](std::string_view text, Record& r) { return own.read(text, r.point); },
          .key = true,
          .optional = own.optional,
          .bound = own.bound,
          .words = own.words};
}

}  // namespace

template <>
const std::vector<Column<PointKey>>& columns_of() {
  using P = PointKey;
  static const std::vector<Column<P>> all{
      column<P, &P::device>("device"),
      column<P, &P::variant>("variant"),
      column<P, &P::problem, &Problem::operation>("operation"),
      column<P, &P::problem, &Problem::type>("element_type"),
      column<P, &P::problem, &Problem::n>("n"),
      column<P, &P::offset_elements>("offset_elements"),
      column<P, &P::dataset>("dataset"),
      column<P, &P::seed>("seed"),
      may_be_empty(column<P, &P::settings>("settings")),
      column<P, &P::timing_mode>("timing_mode"),
      column<P, &P::cache_state>("cache_state"),
      optional(column<P, &P::caller>("caller")),
      optional(column<P, &P::problem, &Problem::shape, &InputShape::rows>("shape_rows")),
      optional(column<P, &P::problem, &Problem::shape, &InputShape::columns>("shape_columns")),
      optional(column<P, &P::problem, &Problem::shape, &InputShape::pitch_elements>("pitch_elements")),
      optional(column<P, &P::problem, &Problem::shape, &InputShape::segments>("segments")),
      optional(column<P, &P::gpus>("gpus")),
  };
  return all;
}

template <>
const std::vector<Column<Row>>& columns_of() {
  static const std::vector<Column<Row>> all{
      derived<Row>("schema_version", [](const Row&) { return schema_version; }),
      column<Row, &Row::run_id>("run_id"),
      column<Row, &Row::timestamp_utc>("timestamp_utc"),
      column<Row, &Row::experiment>("experiment"),
      column<Row, &Row::machine>("machine"),
      of_point<Row>("device"),
      of_point<Row>("variant"),
      of_point<Row>("operation"),
      of_point<Row>("element_type"),
      derived<Row>("accumulator_type", [](const Row& r) { return r.point.problem.accumulator(); }),
      of_point<Row>("n"),
      of_point<Row>("offset_elements"),
      of_point<Row>("dataset"),
      of_point<Row>("seed"),
      column<Row, &Row::block_threads>("block_threads"),
      column<Row, &Row::grid_blocks>("grid_blocks"),
      of_point<Row>("settings"),
      of_point<Row>("timing_mode"),
      of_point<Row>("cache_state"),
      of_point<Row>("caller"),
      of_point<Row>("shape_rows"),
      of_point<Row>("shape_columns"),
      of_point<Row>("pitch_elements"),
      of_point<Row>("segments"),
      of_point<Row>("gpus"),
      column<Row, &Row::n_samples>("n_samples"),
      column<Row, &Row::n_rejected>("n_rejected"),
      rounded(column<Row, &Row::timer_resolution_s>("timer_resolution_s")),
      not_negative(rounded(column<Row, &Row::time_median_s>("time_median_s"))),
      rounded(column<Row, &Row::time_ci_low_s>("time_ci_low_s")),
      not_negative(rounded(column<Row, &Row::time_ci_high_s>("time_ci_high_s"))),
      not_negative(rounded(column<Row, &Row::time_min_s>("time_min_s"))),
      not_negative(rounded(column<Row, &Row::time_p95_s>("time_p95_s"))),
      not_negative(rounded(column<Row, &Row::device_part_median_s>("device_part_median_s"))),
      rounded(column<Row, &Row::device_part_ci_low_s>("device_part_ci_low_s")),
      not_negative(rounded(column<Row, &Row::device_part_ci_high_s>("device_part_ci_high_s"))),
      not_negative(column<Row, &Row::cycles_median>("cycles_median")),
      positive(rounded(column<Row, &Row::read_time_s>("read_time_s"))),
      not_negative(rounded(column<Row, &Row::launch_floor_s>("launch_floor_s"))),
      optional(not_negative(rounded(column<Row, &Row::polled_launch_floor_s>("polled_launch_floor_s")))),
      derived<Row>("bytes", [](const Row& r) { return r.point.problem.bytes(); }),
      rounded(derived<Row>(
          "bandwidth_bytes_per_s",
          [](Row r) {  // of the time that is written, so that a row which is read back and written is the same
            if (r.time_median_s) r.time_median_s = to_digits_of_times(*r.time_median_s);
            return r.bandwidth_bytes_per_s();
          })),
      positive(rounded(column<Row, &Row::share_of_read_ceiling>("share_of_read_ceiling"))),
      optional(column<Row, &Row::speedup_reference>("speedup_reference")),
      optional(positive(rounded(column<Row, &Row::speedup>("speedup")))),
      optional(positive(rounded(column<Row, &Row::speedup_ci_low>("speedup_ci_low")))),
      optional(positive(rounded(column<Row, &Row::speedup_ci_high>("speedup_ci_high")))),
      optional(column<Row, &Row::speedup_enough>("speedup_enough")),
      column<Row, &Row::result>("result"),
      column<Row, &Row::result2>("result2"),
      column<Row, &Row::abs_error>("abs_error"),
      column<Row, &Row::error_bound>("error_bound"),
      optional(column<Row, &Row::exact_result>("exact_result")),
      optional(column<Row, &Row::sum_of_magnitudes>("sum_of_magnitudes")),
      optional(column<Row, &Row::distinct_results>("distinct_results")),
      column<Row, &Row::status>("status"),
      may_be_empty(column<Row, &Row::reason>("reason")),
  };
  return all;
}

template <>
const std::vector<Column<RawSample>>& columns_of() {
  using S = RawSample;
  static const std::vector<Column<S>> all{
      column<S, &S::run_id>("run_id"),
      of_point<S>("device"),
      of_point<S>("variant"),
      of_point<S>("operation"),
      of_point<S>("element_type"),
      of_point<S>("n"),
      of_point<S>("offset_elements"),
      of_point<S>("dataset"),
      of_point<S>("seed"),
      of_point<S>("settings"),
      of_point<S>("timing_mode"),
      of_point<S>("cache_state"),
      listed(column<S, &S::round>("round")),
      listed(column<S, &S::context>("context")),
      listed(not_negative(column<S, &S::time_s>("time_s"))),
      listed(not_negative(column<S, &S::device_part_s>("device_part_s"))),
      listed(not_negative(column<S, &S::cycles>("cycles"))),
      listed(optional(column<S, &S::voided>("voided"))),
      of_point<S>("caller"),
      of_point<S>("shape_rows"),
      of_point<S>("shape_columns"),
      of_point<S>("pitch_elements"),
      of_point<S>("segments"),
      of_point<S>("gpus"),
  };
  return all;
}

// -------------------------------------------------------------------------------------------------- writing, reading

namespace {
constexpr char value_separator = ' ';  ///< in a listed field; no quoting, no second comma
}

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::word: return "word";
    case Kind::text: return "text";
    case Kind::count: return "count";
    case Kind::number: return "number";
  }
  return "?";
}

std::string text_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return std::to_string(*count);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return {};
}

namespace {

bool keeps(Bound bound, const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return !number || bound == Bound::none || *number > 0 || (*number == 0 && bound == Bound::not_negative);
}

/// What a field must be: "a whole number", "one of yes, no".
template <class Record>
std::string expected(const Column<Record>& column) {
  if (!column.words.empty()) return fmt::format("one of {}", fmt::join(column.words, ", "));
  if (column.kind == Kind::count) return "a whole number";
  switch (column.bound) {
    case Bound::none: return "a finite number";
    case Bound::not_negative: return "a finite number of 0 or more";
    case Bound::positive: return "a finite number above 0";
  }
  return "?";
}

}  // namespace

nlohmann::ordered_json to_json(const Row& row) {
  nlohmann::ordered_json out;
  for (const auto& column : columns_of<Row>()) {
    const Value value = column.value(row);
    auto& field = out[column.name] = nullptr;
    if (const auto* count = std::get_if<std::uint64_t>(&value)) field = *count;
    else if (const auto* number = std::get_if<double>(&value)) field = *number;
    else if (const auto* text = std::get_if<std::string>(&value); text && (!text->empty() || column.kind == Kind::text))
      field = *text;
  }
  return out;
}

std::string other_schema(const std::string& file, const std::string& version, const std::string& revision) {
  return fmt::format(
      "{} has schema version {}, this program reads {}: measure anew, or use the program that wrote "
      "it{}",
      file, version, schema_version, revision.empty() ? "" : " (commit " + revision.substr(0, 8) + ")");
}

template <class Record>
RecordReader<Record>::RecordReader(std::string file, std::vector<Fields> records)
    : file_(std::move(file)), records_(std::move(records)) {
  const Fields& header = records_.at(0);
  std::vector<std::string> missing;
  for (const auto& column : columns_of<Record>()) {
    const auto at = static_cast<std::size_t>(std::find(header.begin(), header.end(), column.name) - header.begin());
    if (at < header.size()) places_.emplace_back(&column, at);
    else if (!column.optional) missing.push_back(column.name);
    if (at < header.size() && column.name == "schema_version")
      for (std::size_t i = 1; i < records_.size(); ++i)
        if (at < records_[i].size() && records_[i][at] != std::to_string(schema_version))
          throw UsageError(other_schema(file_, records_[i][at]));
  }
  if (places_.size() < missing.size())  // a row in its place may name one: device is a timing mode, too
    throw UsageError(fmt::format("{} has no header: its first line names no column, as {} does; copy the whole results "
                                 "folder again",
                                 file_, columns_of<Record>().front().name));
  if (!missing.empty())
    throw UsageError(fmt::format("{} lacks the column '{}'; measure again with this program", file_, missing.front()));
}

template <class Record>
std::vector<Record> RecordReader<Record>::all_at(std::size_t i) const {
  const Fields& all = fields(i);
  if (all.size() != records_[0].size())
    throw UsageError(
        fmt::format("{} has {} fields where {} belong; fix or remove it", at_line(i), all.size(), records_[0].size()));
  const auto values_in = [&](std::size_t place) {
    return static_cast<std::size_t>(std::count(all[place].begin(), all[place].end(), value_separator)) + 1;
  };
  std::optional<std::size_t> listed;  // the first column that lists values; its number of values is all others'
  for (std::size_t c = 0; c < places_.size(); ++c) {
    const auto& [column, place] = places_[c];
    if (!column->listed || all[place].empty()) continue;
    if (!listed) listed = c;
    else if (values_in(place) != values_in(places_[*listed].second))
      throw UsageError(fmt::format("{} has {} values for {} and {} for {}; copy the whole results folder again",
                                   at_line(i), values_in(place), column->name, values_in(places_[*listed].second),
                                   places_[*listed].first->name));
  }

  std::vector<Record> records(listed ? values_in(places_[*listed].second) : 1);
  for (const auto& [column, place] : places_) {
    std::string_view rest = all[place];
    const bool has_one_each = column->listed && !rest.empty();
    for (Record& record : records) {
      const std::size_t end = has_one_each ? std::min(rest.find(value_separator), rest.size()) : rest.size();
      const std::string_view text = rest.substr(0, end);
      if (!column->read(text, record) || !keeps(column->bound, column->value(record)))
        throw UsageError(fmt::format("{}: {} is '{}', not {}; fix or remove it", at_line(i), column->name, text,
                                     expected(*column)));
      if (has_one_each) rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return records;
}

template class RecordReader<Row>;
template class RecordReader<RawSample>;

std::string csv_records(const std::vector<RawSample>& samples) {
  std::vector<std::vector<const RawSample*>> of_records;
  std::unordered_map<std::string, std::size_t> place;
  for (const RawSample& sample : samples) {
    const auto [at, is_new] = place.emplace(sample.run_id + '|' + row_key(sample.point), of_records.size());
    if (is_new) of_records.emplace_back();
    of_records[at->second].push_back(&sample);
  }
  std::string csv;
  for (const auto& of_record : of_records) {
    Fields fields;
    for (const auto& column : columns_of<RawSample>()) {
      fields.push_back(text_of(column.value(*of_record.front())));
      if (!column.listed) continue;
      bool some = !fields.back().empty();
      for (std::size_t i = 1; i < of_record.size(); ++i) {
        const std::string text = text_of(column.value(*of_record[i]));
        some = some || !text.empty();
        fields.back() += value_separator + text;
      }
      if (!some) fields.back().clear();
    }
    csv += csv_record(fields);
  }
  return csv;
}

TableColumn column_of_rows(std::string_view name, bool any_word) {
  const auto& own = column_named<Row>(name);
  return {.name = own.name, .kind = own.kind, .words = any_word ? std::vector<std::string>{} : own.words};
}

std::size_t position_in(const std::vector<TableColumn>& table, std::string_view name) {
  for (std::size_t at = 0; at < table.size(); ++at)
    if (table[at].name == name) return at;
  throw std::out_of_range("no column " + std::string(name));
}

std::vector<std::string> names_of(const std::vector<TableColumn>& table) {
  std::vector<std::string> names;
  for (const TableColumn& column : table) names.push_back(column.name);
  return names;
}

std::vector<RawSample> samples_in(const std::string& file, std::vector<Fields> records) {
  const RecordReader<RawSample> reader(file, std::move(records));
  std::vector<RawSample> samples;
  for (std::size_t i = 0; i < reader.size(); ++i) {
    auto of_record = reader.all_at(i);
    samples.insert(samples.end(), std::make_move_iterator(of_record.begin()), std::make_move_iterator(of_record.end()));
  }
  return samples;
}

}  // namespace reductio
