//===- Accuracy.h - Predictions against measurements ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prices the rows of a throughput table and says how far off they are. The
/// *configurations* of each group take turns: the rows of the first, the third,
/// ... are *fitted*, those of the second, the fourth, ... are *held out*;
/// constants come from the former alone, and the latter tell what they are
/// worth. Rows that differ in the release of their software or in the batch
/// alone are of one configuration: the one would give the other away.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_ACCURACY_ACCURACY_H
#define HOCKET_PASSES_PLANNING_ACCURACY_ACCURACY_H

#include "passes/planning/accuracy/ThroughputFile.h"

#include <functional>

namespace hocket::planning {

/// The description of a system by its name.
using SystemSource =
    std::function<StatusOr<cluster::System>(const std::string &name)>;

struct RowPrediction {
  ThroughputRow row; ///< What it does not tell is filled in.
  bool heldOut = false;
  std::string skipped; ///< Why there is no prediction; else empty.
  double predicted = 0;
  double spread = 0; ///< Of the prediction, as a share of it.
  /// Of Quantity::Seconds, what they go into: nanoseconds, by TimeItem.
  std::array<int64_t, kTimeItems> items = {};

  /// predicted / measured - 1.
  double error() const { return predicted / row.measured - 1; }
};

/// The turn of each row among the configurations of its group, from 0; of rows
/// that are skipped, -1.
std::vector<int64_t> turnsOf(const std::vector<ThroughputRow> &rows);

struct ErrorStatistics {
  int64_t rows = 0;
  double mean = 0;   ///< Of |error|.
  double median = 0; ///< Of |error|.
  double bias = 0;   ///< The mean of the errors.
  double worst = 0;  ///< The error that is largest in size.
};

/// Fills in what `row` leaves open (ThroughputRow::any...): the fastest choice
/// that fits the device's memory. `row.problem.system` is set. Layers of a
/// model that predicts further tokens, where the row leaves them open, are
/// shared out as its authors' layouts do: the further layers and heads stand on
/// the last stage, which has so many others fewer.
void completePlan(ThroughputRow &row);

/// The prediction of a row that is complete; in `row.quantity`'s unit.
StatusOr<double> predictRow(const ThroughputRow &row);

/// Prices every row. A row that cannot be priced is skipped, with its reason.
std::vector<RowPrediction> predictRows(const std::vector<ThroughputRow> &rows,
                                       const SystemSource &systems);

/// Of the rows that were predicted and that `wanted` accepts.
ErrorStatistics
statisticsOf(const std::vector<RowPrediction> &rows,
             const std::function<bool(const RowPrediction &)> &wanted);

/// The names of groups, in the order of their first rows.
std::vector<std::string> groupsOf(const std::vector<RowPrediction> &rows);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_ACCURACY_ACCURACY_H
