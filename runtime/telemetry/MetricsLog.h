//===- MetricsLog.h - What a run reports, for programs ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The file of `hocket train --log`: one JSON object a line, flushed line by
/// line, numbers with all their digits; NaN and infinities are null.
///
///   {"step":1,"loss":5.5,"grad_norm":2.1,"lr":0.001,"tokens_per_second":9000,
///    "consumed_samples":32,"global_batch_size":32,"seconds":0.91,
///    "loss_scale":65536,"skipped":false}
///   {"step":100,"valid_loss":2.3,"valid_samples":320,"seconds":1.4}
///
/// Of a model that tells classes a validation has as well
///
///   "valid_accuracy":0.75,"valid_classes":{"entailment":{"right":3,"all":4,
///    "accuracy":0.75},...}
///
/// and where the run is in epochs, "epoch", those that are done.
///
/// `step` counts finished steps. Fields that a program does not report
/// (grad_norm, loss_scale, skipped) are absent.
///
/// And the events of `hocket train --tensorboard-dir`, under Megatron-LM's tags
/// where it has them ("lm loss", "lm loss validation").
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TELEMETRY_METRICSLOG_H
#define HOCKET_RUNTIME_TELEMETRY_METRICSLOG_H

#include "base/json/JsonLines.h"
#include "runtime/telemetry/ClassAccuracy.h"
#include "runtime/telemetry/EventFile.h"

#include <cstdint>
#include <optional>

namespace hocket {

/// One finished training step.
struct StepRecord {
  uint64_t step = 0;              ///< 1 for the first.
  double loss = 0;                ///< Mean over the step's microbatches.
  std::optional<double> gradNorm; ///< Before clipping, of unscaled gradients.
  double learningRate = 0;
  double tokensPerSecond = 0;
  uint64_t consumedSamples = 0; ///< This step's included.
  uint64_t batchSize = 0;       ///< This step's samples.
  double seconds = 0;
  std::optional<double> lossScale; ///< Used in this step.
  std::optional<bool> skipped;     ///< The update overflowed and was left out.
  /// Where ranks exchange the rows of experts: the most that one rank's were
  /// chosen for, as a multiple of the even share.
  std::optional<double> expertLoad;
  /// It was run again, as a rank had no room for the rows of its experts.
  bool rerun = false;
};

/// One finished validation.
struct ValidationRecord {
  uint64_t step = 0; ///< Steps done before it.
  double loss = 0;
  uint64_t samples = 0;
  double seconds = 0;
  std::optional<ClassAccuracy> classes = {}; ///< Where the model tells them.
  std::optional<double> epoch = {};          ///< Of a run in epochs.
};

class MetricsLog {
public:
  /// A log that goes nowhere.
  MetricsLog() = default;

  /// Truncates `path`, or continues it if `append`.
  static StatusOr<MetricsLog> open(const std::string &path, bool append);

  /// All that is written from now on goes there, too.
  void add(EventFile file) { events = std::move(file); }

  /// To each file, also where another cannot be written; the first error.
  Status write(const StepRecord &record);
  Status write(const ValidationRecord &record);

private:
  std::optional<JsonLines> lines;
  std::optional<EventFile> events;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TELEMETRY_METRICSLOG_H
