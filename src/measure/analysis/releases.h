#pragma once
/// Releases of CUB and Thrust, compared in a folder that holds experiment `history`: releases.csv.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "measure/results/csv.h"
#include "measure/results/reader.h"
#include "measure/results/schema.h"

namespace reductio {

/// Which machine code each release makes of a sum: experiments/results/cccl_code.csv, by experiments/releases.py.
class ReleaseCode {
 public:
  /// The text of that file. Throws UsageError where a column is missing.
  explicit ReleaseCode(std::string_view csv);

  /// "blocks", "finish" or "one-block"; `capability` 90 for 9.0.
  struct Kernel {
    int capability;
    std::string type, kernel, code;
    int registers, load_bytes;
    std::vector<std::string> releases;
  };
  const std::vector<Kernel>& kernels() const { return kernels_; }
  std::vector<int> capabilities() const;

  enum class Same { yes, no, unknown };
  /// Whether all kernels of a sum are the same in both.
  Same same(const std::string& release, const std::string& other, ElementType, int capability) const;
  /// A letter for each release's code of all three kernels, "A" for that of the oldest; "" where it is not known.
  std::string letter(const std::string& release, ElementType, int capability) const;

 private:
  std::vector<std::string> codes(const std::string& release, ElementType, int capability) const;
  std::vector<Kernel> kernels_;
  std::vector<std::string> releases_;  ///< in the file's order
};

/// "3.0.1" of "cub@3.0.1/sum"; "" of other variants.
std::string release_of(std::string_view variant);
/// "cub sum" of "cub@3.0.1/sum", settings behind it or not: what is the same in all releases.
std::string call_of(std::string_view variant);

/// The columns of releases.csv. `pair`:
///   adjacent     a release and the one before it
///   newest       a release and the newest
///   determinism  a release's default and its other values of `determinism`
/// `speedup` is t(base) / t(variant), whose intervals hold all at once; `same_code` is empty where it is not known.
const std::vector<TableColumn>& release_schema();

struct ReleaseTable {
  std::vector<Fields> records;  ///< header included
  std::size_t intervals = 0;
  /// Of pairs of the same machine code, on the device and end to end: how many there are with a verdict, and how many
  /// are FASTER or SLOWER.
  struct Control {
    std::size_t pairs = 0, told_apart = 0;
  } on_device{}, end_to_end{};
};

/// Every pair of the folder's rows of `history`, as `compare` judges them. Throws UsageError where there is none, and
/// for a confidence or an effect that compare() refuses.
ReleaseTable release_table(const StoredResults&, const ReleaseCode&, double confidence, double effect);

}  // namespace reductio
