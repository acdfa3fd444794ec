#pragma once
/// The columns of results, each in one place: name, kind of value, writing, reading. These tables give the header,
/// records, JSON, keys and src/report/schema.json, which Python reads.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "measure/results/csv.h"
#include "measure/results/row.h"

namespace reductio {

/// What a field holds; nothing where the value is missing.
using Value = std::variant<std::monostate, std::string, std::uint64_t, double>;
/// Numbers in the shortest form that reads back exactly, unless their column rounds them; "" for nothing.
std::string text_of(const Value&);

enum class Kind {
  word,    ///< missing where it is empty
  text,    ///< may be empty: the settings of a variant that has none
  count,   ///< a whole number
  number,  ///< in the unit that the column's name says
};
std::string_view name(Kind);

/// What a number must be besides finite.
enum class Bound { none, not_negative, positive };

template <class Record>
struct Column {
  std::string name;
  Kind kind;
  std::function<Value(const Record&)> value;
  std::function<bool(std::string_view field, Record&)> read;  ///< false where it is no such value
  bool key = false;       ///< one of the columns that tell points apart
  bool optional = false;  ///< a file without it is read as if it were empty
  bool listed = false;    ///< a field holds one value for each sample of the record
  int digits = 0;         ///< significant ones that are written; 0: as many as read back exactly
  Bound bound = Bound::none;
  std::vector<std::string> words{};  ///< the only ones that a field may hold; empty: any
};

/// A column of a table that is made of results. Its members mean what they mean for rows.
struct TableColumn {
  std::string name;
  Kind kind;
  bool key = false, optional = false;
  std::vector<std::string> words{};
};

/// The table, in the order of the file. Of PointKey: the columns that rows and raw samples share, which make their key.
template <class Record>
const std::vector<Column<Record>>& columns_of();
template <>
const std::vector<Column<PointKey>>& columns_of();
template <>
const std::vector<Column<Row>>& columns_of();
template <>
const std::vector<Column<RawSample>>& columns_of();

/// Throws std::out_of_range where there is none of that name.
template <class Record>
const Column<Record>& column_named(std::string_view name) {
  for (const auto& column : columns_of<Record>())
    if (column.name == name) return column;
  throw std::out_of_range("no column " + std::string(name));
}

/// The column of rows of this name, for another table. `any_word`: it may hold other words there.
TableColumn column_of_rows(std::string_view name, bool any_word = false);
/// Where a table has the column; throws std::out_of_range where it has none.
std::size_t position_in(const std::vector<TableColumn>&, std::string_view name);
std::vector<std::string> names_of(const std::vector<TableColumn>&);

template <class Record>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& column : columns_of<Record>()) names.push_back(column.name);
  return names;
}

template <class Record>
Fields fields_of(const Record& record) {
  Fields fields;
  for (const auto& column : columns_of<Record>()) fields.push_back(text_of(column.value(record)));
  return fields;
}

/// A row as JSON: numbers as numbers, what is missing as null.
nlohmann::ordered_json to_json(const Row&);

/// What to do about a file of another schema version than this program's, in one line. `revision`: of the program that
/// wrote it, where that is known.
std::string other_schema(const std::string& file, const std::string& version, const std::string& revision = {});

/// The records of a file, by its header: columns may stand in any order, unknown ones are skipped, optional ones may be
/// missing. `file` names it in messages.
template <class Record>
class RecordReader {
 public:
  /// Throws UsageError where the file is of another schema version, or lacks a column.
  RecordReader(std::string file, std::vector<Fields> records);
  std::size_t size() const { return records_.size() - 1; }  ///< without the header
  const Fields& fields(std::size_t i) const { return records_[i + 1]; }
  /// "FILE:LINE" of record i, for messages: no field that this program writes has a line end.
  std::string at_line(std::size_t i) const { return file_ + ":" + std::to_string(i + 2); }
  /// Throws UsageError, which tells line and column, where a field is missing or is no such value: numbers are finite.
  Record at(std::size_t i) const { return all_at(i).front(); }
  /// One for each value of the listed fields, which hold equally many or nothing.
  std::vector<Record> all_at(std::size_t i) const;

 private:
  std::string file_;
  std::vector<Fields> records_;
  std::vector<std::pair<const Column<Record>*, std::size_t>> places_;  ///< where each column stands
};

/// The records of a raw-sample file, without the header: one for each run and point, in order of first occurrence.
/// Listed fields hold one value a sample, separated by spaces, or nothing if all lack it. Compressed, this takes half
/// the room of a record a sample.
std::string csv_records(const std::vector<RawSample>&);

/// The samples in such a file's records, header included; `file` names it in messages. Throws UsageError as
/// RecordReader does, and where the listed fields of one record hold different numbers of values.
std::vector<RawSample> samples_in(const std::string& file, std::vector<Fields> records);

}  // namespace reductio
