//===- MetricsLog.cpp - What a run reports, for programs ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/MetricsLog.h"

#include <nlohmann/json.hpp>

using namespace hocket;

StatusOr<MetricsLog> MetricsLog::open(const std::string &path, bool append) {
  HOCKET_ASSIGN_OR_RETURN(JsonLines lines, JsonLines::open(path, append));
  MetricsLog log;
  log.lines = std::move(lines);
  return log;
}

Status MetricsLog::write(const StepRecord &record) {
  if (!lines)
    return okStatus();
  nlohmann::ordered_json line;
  line["step"] = record.step;
  line["loss"] = record.loss;
  if (record.gradNorm)
    line["grad_norm"] = *record.gradNorm;
  line["lr"] = record.learningRate;
  line["tokens_per_second"] = record.tokensPerSecond;
  line["consumed_samples"] = record.consumedSamples;
  line["global_batch_size"] = record.batchSize;
  line["seconds"] = record.seconds;
  if (record.lossScale)
    line["loss_scale"] = *record.lossScale;
  if (record.skipped)
    line["skipped"] = *record.skipped;
  if (record.expertLoad)
    line["expert_load"] = *record.expertLoad;
  if (record.rerun)
    line["rerun"] = true;
  return lines->write(line);
}

Status MetricsLog::write(const ValidationRecord &record) {
  if (!lines)
    return okStatus();
  nlohmann::ordered_json line;
  line["step"] = record.step;
  line["valid_loss"] = record.loss;
  line["valid_samples"] = record.samples;
  if (record.epoch)
    line["epoch"] = *record.epoch;
  if (record.classes) {
    line["valid_accuracy"] = record.classes->accuracy();
    line["valid_classes"] = jsonOf(*record.classes);
  }
  line["seconds"] = record.seconds;
  return lines->write(line);
}
