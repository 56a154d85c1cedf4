//===- Progress.h - What a run reports, for people --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A line now and then, with the field names of Megatron-LM's log line, so
/// that what reads the one mostly reads the other:
///
///   iteration      100/    2000 | consumed samples:          800 | elapsed
///   time per iteration (ms): 91.2 | learning rate: 6.000000E-04 | lm loss:
///   2.713281E+00 | grad norm: 0.913 | tokens/s: 11,230 | time left: 2m 53s
///
/// The loss is the mean since the last line; everything else is of the last
/// step, the times are means. The first step has a line of its own, so that a
/// run shows at once that it trains; on a terminal, brief() says between lines
/// how far it is.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_PROGRESS_H
#define HOCKET_RUNTIME_TELEMETRY_PROGRESS_H

#include "base/BatchSizes.h"
#include "runtime/telemetry/MetricsLog.h"

#include <string>

namespace hocket {

class Progress {
public:
  /// A line after the first step, every `interval` steps (0: every 10), and
  /// after the last one, `totalSteps`. `sizes`: of each step, as it takes time;
  /// where they grow the line has "global batch size: 32" as well.
  Progress(uint64_t interval, uint64_t totalSteps,
           BatchSizes sizes = BatchSizes(1));

  /// The line that is due after this step, or nothing.
  std::optional<std::string> add(const StepRecord &record);

  /// Of the step that was added last: "step 37 of 1,750 (2 %) | lm loss: 2.7133
  /// | 3,446 tokens/s | time left: 4m 12s".
  std::string brief() const;

  /// "validation loss at iteration 100: 2.612345E+00 | perplexity: 13.631 |..."
  static std::string line(const ValidationRecord &record);

private:
  std::string line(const StepRecord &last) const;

  /// Of the steps that are left, at so many seconds for the latest one's batch.
  double secondsLeft(double perStep) const;

  uint64_t interval, totalSteps;
  BatchSizes sizes;
  StepRecord latest;
  uint64_t added = 0; ///< Steps, in all.
  /// Of recent steps, a mean that forgets; the first, which loads and tunes, is
  /// left out where there are others.
  double recentSeconds = 0;
  /// Since the last line.
  uint64_t steps = 0, skippedSteps = 0, nanSteps = 0, reruns = 0;
  double lossSum = 0, seconds = 0, tokens = 0;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_PROGRESS_H
