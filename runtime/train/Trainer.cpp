//===- Trainer.cpp - The step loop ----------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Trainer.h"

#include "runtime/base/Format.h"
#include "runtime/train/Interrupt.h"
#include "runtime/train/LearningRate.h"
#include "runtime/train/RunCheckpoint.h"

#include <chrono>
#include <cmath>

using namespace hocket;

static double secondsSince(std::chrono::steady_clock::time_point start) {
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  return taken.count();
}

Trainer::Trainer(Executor &executor,
                 std::shared_ptr<const data::SampleSource> train,
                 std::shared_ptr<const data::SampleSource> valid,
                 MetricsLog &log, TrainerOptions options)
    : executor(executor), train(std::move(train)), valid(std::move(valid)),
      log(log), options(std::move(options)) {}

Status Trainer::run(TrainerPosition start) {
  now = start;
  if (now.step < options.steps) {
    data::BatchGeometry geometry;
    geometry.microBatchSize = training().micro_batch_size();
    geometry.microbatches = training().microbatches();
    geometry.ranks = training().global_batch_size() /
                     (geometry.microBatchSize * geometry.microbatches);
    HOCKET_ASSIGN_OR_RETURN(
        std::unique_ptr<data::BatchSource> batches,
        data::BatchSource::create(train, geometry, now.consumedSamples));
    StepHost host([&](data::Batch &batch) { return batches->next(batch); });
    Progress progress(training().log_interval(), options.steps);
    HOCKET_RETURN_IF_ERROR(runSteps(host, progress));
  }
  return save();
}

Status Trainer::runSteps(StepHost &host, Progress &progress) {
  InterruptGuard guard;
  while (now.step < options.steps) {
    HOCKET_ASSIGN_OR_RETURN(StepRecord record, trainStep(host));
    HOCKET_RETURN_IF_ERROR(log.write(record));
    if (auto line = progress.add(record))
      options.print(*line);
    if (!std::isfinite(record.loss) && !record.lossScale)
      return failedPrecondition(formatText(
          "step %llu: the loss is %f; nothing is saved. Lower the learning "
          "rate, clip gradients, or look at the data of this step",
          (unsigned long long)record.step, record.loss));
    bool last = now.step == options.steps;
    if (isDue(training().valid_interval()) ||
        (last && training().valid_interval()))
      HOCKET_RETURN_IF_ERROR(validateAndLog());
    if (isDue(training().save_interval()))
      HOCKET_RETURN_IF_ERROR(save());
    if (InterruptGuard::requested() && !last) {
      HOCKET_RETURN_IF_ERROR(save());
      return unavailable(
          formatText("interrupted after step %llu",
                     (unsigned long long)now.step) +
          (options.saveDir.empty() ? "" : "; saved in " + options.saveDir));
    }
  }
  return okStatus();
}

StatusOr<StepRecord> Trainer::trainStep(StepHost &host) {
  auto start = std::chrono::steady_clock::now();
  StepRecord record;
  record.step = now.step + 1;
  record.learningRate = learningRateAt(training().learning_rate(), now.step);
  host.begin(now.step, record.learningRate);
  if (Status status = executor.run("train_step", now.step, host); !status.ok())
    return status.withContext(
        formatText("step %llu", (unsigned long long)record.step));
  ++now.step;
  now.consumedSamples += training().global_batch_size();
  const StepOutputs &outputs = host.outputs();
  record.loss = outputs.meanLoss();
  record.gradNorm = outputs.number("grad_norm");
  record.consumedSamples = now.consumedSamples;
  record.lossScale = outputs.number("loss_scale");
  if (auto skipped = outputs.number("skipped"))
    record.skipped = *skipped != 0;
  record.seconds = secondsSince(start);
  record.tokensPerSecond =
      double(training().global_batch_size()) *
      double(executor.program().model().sequence_length()) / record.seconds;
  return record;
}

StatusOr<ValidationRecord> Trainer::validate(uint64_t step) {
  auto start = std::chrono::steady_clock::now();
  ValidationRecord record;
  record.step = step;
  uint64_t rows = training().micro_batch_size();
  uint64_t wanted =
      training().valid_batches() * training().global_batch_size() / rows;
  uint64_t first = 0;
  StepHost host([&](data::Batch &batch) {
    return data::readBatch(*valid, first, rows, batch);
  });
  double sum = 0;
  uint64_t done = 0;
  for (; done < wanted && first + rows <= valid->size(); ++done) {
    host.begin(step, 0);
    HOCKET_RETURN_IF_ERROR(executor.run("eval_step", step, host));
    sum += host.outputs().meanLoss();
    first += rows;
  }
  record.loss = done ? sum / double(done) : std::nan("");
  record.samples = first;
  record.seconds = secondsSince(start);
  return record;
}

Status Trainer::validateAndLog() {
  if (!valid || !executor.hasEntry("eval_step"))
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(ValidationRecord record, validate(now.step));
  options.print(Progress::line(record));
  return log.write(record);
}

Status Trainer::save() {
  if (options.saveDir.empty() || savedStep == now.step)
    return okStatus();
  checkpoint::RunState state;
  state.step = now.step;
  state.consumedSamples = now.consumedSamples;
  state.seed = executor.currentSeed();
  state.specText = executor.program().provenance().spec_text();
  HOCKET_RETURN_IF_ERROR(saveRun(executor, state, options.saveDir));
  savedStep = now.step;
  options.print(
      formatText("saved step %llu in ", (unsigned long long)now.step) +
      options.saveDir);
  return okStatus();
}
