//===- AccuracyPlot.h - Predicted against measured, drawn -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_ACCURACY_ACCURACYPLOT_H
#define HOCKET_PASSES_PLANNING_ACCURACY_ACCURACYPLOT_H

#include "passes/planning/accuracy/Accuracy.h"

namespace hocket::planning {

/// An SVG with a panel for each group: measured seconds across, predicted up,
/// both logarithmic, the diagonal and 10 % to either side of it. Filled points
/// were held out. Groups without a predicted time are left out.
std::string plotAccuracy(const std::vector<RowPrediction> &rows);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_ACCURACY_ACCURACYPLOT_H
