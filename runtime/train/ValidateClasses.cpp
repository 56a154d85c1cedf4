//===- ValidateClasses.cpp - How many of each class are told --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/Entries.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/step/ScoreHost.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace hocket;

/// Where a global microbatch has labels: of its rows' first tokens.
static std::vector<LabelPlace> labelledRows(const data::Batch &batch) {
  std::vector<LabelPlace> places;
  for (size_t at = 0; at < batch.labels.size(); at += batch.sequenceLength)
    if (batch.labels[at] >= 0)
      places.push_back({at / batch.sequenceLength, 0});
  return places;
}

/// Every rank reads all rows, and so knows all labels: few have more than one
/// epoch of them, and none asks another how many there are.
StatusOr<ValidationRecord> Trainer::validateClasses(uint64_t step) {
  auto start = std::chrono::steady_clock::now();
  ValidationRecord record;
  record.step = step;
  record.classes.emplace(valid->classNames());
  uint64_t samplesOfStep = training().global_batch_size();
  uint64_t end =
      std::min(valid->epochSize(), training().valid_batches() * samplesOfStep);
  uint64_t values = labelValuesOf(executor.program());
  comm::Communicator &world = executor.communicators().world();
  data::Batch batch;
  ScoreHost host(executor.program(), executor.rank(), [&](data::Batch &to) {
    to = batch;
    return okStatus();
  });
  double sum = 0;
  for (uint64_t first = 0; first < end; first += rows.global) {
    validData =
        agree(world, data::readBatch(*valid, first, rows.global, batch));
    HOCKET_RETURN_IF_ERROR(validData);
    std::vector<LabelPlace> places = labelledRows(batch);
    if (places.empty()) // What fills the last step.
      continue;
    host.ask(/*labels=*/false, places);
    host.begin(step, 0, 1, places.size());
    HOCKET_RETURN_IF_ERROR(
        runWithRoom("eval_step", step, host, false).status());
    HOCKET_ASSIGN_OR_RETURN(std::vector<float> logits, host.shareLogits(world));
    HOCKET_ASSIGN_OR_RETURN(SharedOutputs outputs,
                            sharing.share(host.outputs(), {}));
    sum += outputs.loss * double(places.size());
    auto next = logits.begin();
    for (const LabelPlace &place : places) {
      auto label = size_t(batch.labels[place.row * batch.sequenceLength]);
      auto best = std::max_element(next, next + ptrdiff_t(values));
      record.classes->add(label, size_t(best - next) == label);
      next += ptrdiff_t(values);
    }
  }
  record.samples = record.classes->samples();
  record.loss = record.samples ? sum / double(record.samples) : std::nan("");
  if (train && train->epochSize() > 0)
    record.epoch = double(now.consumedSamples) / double(train->epochSize());
  record.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return record;
}
