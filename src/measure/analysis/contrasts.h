#pragma once
/// contrasts.csv: the values of a list of contrasts in a results folder. Every number that a claim, figure or sentence
/// takes from raw samples is made here, by one rule (product_of in stats/ratio.h).

#include <vector>

#include "measure/results/contrast_list.h"
#include "measure/results/csv.h"
#include "measure/results/reader.h"
#include "measure/results/schema.h"

namespace reductio {

/// The columns of contrasts.csv:
///   value               of the contrast; empty where the folder lacks something, as `reason` says. Seconds, or cycles,
///                       of one time to the first power; else a ratio, where the powers add up to 0
///   ci_low, ci_high     its interval of that `confidence`
///   contexts            how many it is made of
///   pairs               by how many replacements of `*` it was averaged; 1 without
///   enough              no: too few contexts for the confidence, the interval is min..max of them
///   verdict             of ratios: FASTER, SLOWER, SAME or UNDECIDED against the contrast's effect
const std::vector<TableColumn>& contrast_schema();

/// The records of contrasts.csv, header included, in the list's order and then by n. A contrast of device cpu is of
/// `cpu`'s rows. The same for the same results.
std::vector<Fields> contrast_table(const std::vector<Contrast>&, const StoredResults& folder, const StoredResults& cpu);

}  // namespace reductio
