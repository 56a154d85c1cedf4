//===- StepTerms.h - What a predicted step goes into ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The time of a step on the role that is done last, by what stream 0 spends it
/// on. The terms have the names of those of a plan's price (TimeItem in
/// passes/planning/cost/StepCost.h), so that the two can be laid side by side.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_STEPTERMS_H
#define HOCKET_RUNTIME_PREDICT_STEPTERMS_H

#include "runtime/predict/ClusterCosts.h"
#include "runtime/predict/Timeline.h"

#include <string>
#include <vector>

namespace hocket {

struct StepTerm {
  std::string name; ///< "GEMMs", "tensor", "bubble", ...
  double seconds = 0;
};

/// A predicted step. The terms sum to its seconds.
struct PredictedStep {
  double seconds = 0;
  uint32_t role = 0; ///< That the terms are of.
  std::vector<StepTerm> terms;
};

/// predictTimeline() of "train_step", or of another `entry`, with its terms.
/// What events make stream 0 wait for counts to what these stood behind: a
/// collective's exposed part to its axis, a message's to the bubble.
/// `listener` may be null.
StatusOr<PredictedStep> predictStep(const program::Program &program,
                                    const std::string &entry,
                                    const ClusterCosts &costs,
                                    const SpanListener &listener);

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_STEPTERMS_H
