//===- MetricsLog.cpp - What a run reports, for programs ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/MetricsLog.h"

#include <cmath>
#include <nlohmann/json.hpp>

using namespace hocket;

StatusOr<MetricsLog> MetricsLog::open(const std::string &path, bool append) {
  HOCKET_ASSIGN_OR_RETURN(JsonLines lines, JsonLines::open(path, append));
  MetricsLog log;
  log.lines = std::move(lines);
  return log;
}

static nlohmann::ordered_json lineOf(const StepRecord &record) {
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
  return line;
}

static nlohmann::ordered_json lineOf(const ValidationRecord &record) {
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
  return line;
}

static EventFile::Scalars scalarsOf(const StepRecord &record) {
  EventFile::Scalars scalars = {
      {"lm loss", record.loss},
      {"learning-rate", record.learningRate},
      {"batch-size", double(record.batchSize)},
      {"iteration-time", record.seconds},
      {"tokens-per-second", record.tokensPerSecond},
      {"consumed-samples", double(record.consumedSamples)}};
  if (record.gradNorm)
    scalars.emplace_back("grad-norm", *record.gradNorm);
  if (record.lossScale)
    scalars.emplace_back("loss-scale", *record.lossScale);
  if (record.skipped)
    scalars.emplace_back("skipped", *record.skipped);
  if (record.expertLoad)
    scalars.emplace_back("expert-load", *record.expertLoad);
  return scalars;
}

static EventFile::Scalars scalarsOf(const ValidationRecord &record) {
  EventFile::Scalars scalars = {
      {"lm loss validation", record.loss},
      {"lm loss validation ppl", std::exp(record.loss)}};
  if (record.classes)
    scalars.emplace_back("accuracy validation", record.classes->accuracy());
  return scalars;
}

template <class Record>
static Status writeTo(std::optional<JsonLines> &lines,
                      std::optional<EventFile> &events, const Record &record) {
  Status line = lines ? lines->write(lineOf(record)) : okStatus();
  Status event =
      events ? events->write(record.step, scalarsOf(record)) : okStatus();
  return line.ok() ? event : line;
}

Status MetricsLog::write(const StepRecord &record) {
  return writeTo(lines, events, record);
}

Status MetricsLog::write(const ValidationRecord &record) {
  return writeTo(lines, events, record);
}
