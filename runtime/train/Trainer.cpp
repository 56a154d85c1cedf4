//===- Trainer.cpp - The step loop ----------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Trainer.h"

#include "runtime/base/Format.h"
#include "runtime/comm/interfaces/FailureText.h"
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
      log(log), options(std::move(options)),
      sharing(executor.program(), executor.communicators()) {}

Status Trainer::run(TrainerPosition start) {
  now = start;
  if (now.step < options.steps) {
    MicrobatchRows rows =
        MicrobatchRows::of(executor.program(), executor.rank());
    std::unique_ptr<data::BatchSource> batches;
    if (rows.count > 0) {
      data::BatchGeometry geometry = rows.geometry(training().microbatches());
      HOCKET_ASSIGN_OR_RETURN(
          batches,
          data::BatchSource::create(train, geometry, now.consumedSamples));
    }
    StepHost host(
        [&](data::Batch &batch) {
          return batches ? batches->next(batch)
                         : internalError("this rank has no samples");
        },
        rows.first);
    Progress progress(training().log_interval(), options.steps);
    HOCKET_RETURN_IF_ERROR(runSteps(host, progress));
  }
  return save();
}

Status Trainer::runSteps(StepHost &host, Progress &progress) {
  InterruptGuard guard;
  show(formatText("step %llu of %llu", (unsigned long long)now.step + 1,
                  (unsigned long long)options.steps));
  for (bool isFirst = true; now.step < options.steps; isFirst = false) {
    HOCKET_ASSIGN_OR_RETURN(StepRecord record, trainStep(host));
    if (isFirst)
      HOCKET_RETURN_IF_ERROR(options.begun());
    if (executor.rank() == 0)
      HOCKET_RETURN_IF_ERROR(log.write(record));
    if (auto line = progress.add(record)) {
      print(*line);
      shownAt = {}; // The line has taken its place.
    }
    showProgress(progress);
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
    // Several ranks know only what they have told each other.
    bool alone = executor.communicators().world().size() == 1;
    if ((alone ? InterruptGuard::requested() : interrupted) && !last) {
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
    return comm::atPlace(
        status, formatText("step %llu", (unsigned long long)record.step));
  ++now.step;
  now.consumedSamples += training().global_batch_size();
  auto shared = sharing.share(host.outputs(), InterruptGuard::requested());
  if (!shared.ok())
    return comm::atPlace(
        shared.status(),
        formatText("step %llu: rank %u, after its last instruction",
                   (unsigned long long)record.step, executor.rank()));
  const SharedOutputs &outputs = *shared;
  interrupted = outputs.interrupted;
  record.loss = outputs.loss;
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
  MicrobatchRows rows = MicrobatchRows::of(executor.program(), executor.rank());
  uint64_t wanted =
      training().valid_batches() * training().global_batch_size() / rows.global;
  uint64_t first = 0;
  StepHost host(
      [&](data::Batch &batch) {
        return data::readBatch(*valid, first + rows.first, rows.count, batch);
      },
      rows.first);
  double sum = 0;
  uint64_t done = 0;
  for (; done < wanted && first + rows.global <= valid->size(); ++done) {
    host.begin(step, 0);
    HOCKET_RETURN_IF_ERROR(executor.run("eval_step", step, host));
    HOCKET_ASSIGN_OR_RETURN(SharedOutputs outputs,
                            sharing.share(host.outputs(), false));
    sum += outputs.loss;
    first += rows.global;
  }
  record.loss = done ? sum / double(done) : std::nan("");
  record.samples = first;
  record.seconds = secondsSince(start);
  return record;
}

/// A few times a second: no eye reads more.
void Trainer::showProgress(const Progress &progress) {
  if (!options.show || secondsSince(shownAt) < 0.1)
    return;
  shownAt = std::chrono::steady_clock::now();
  show(progress.brief());
}

Status Trainer::validateAndLog() {
  if (!valid || !executor.hasEntry("eval_step"))
    return okStatus();
  show(formatText("validating after step %llu", (unsigned long long)now.step));
  HOCKET_ASSIGN_OR_RETURN(ValidationRecord record, validate(now.step));
  print(Progress::line(record));
  return executor.rank() == 0 ? log.write(record) : okStatus();
}

Status Trainer::save() {
  if (options.saveDir.empty() || savedStep == now.step)
    return okStatus();
  checkpoint::RunState state;
  state.step = now.step;
  state.consumedSamples = now.consumedSamples;
  state.seed = executor.currentSeed();
  state.specText = executor.program().provenance().spec_text();
  show(formatText("saving step %llu", (unsigned long long)now.step));
  HOCKET_RETURN_IF_ERROR(saveRun(executor, state, options.saveDir));
  savedStep = now.step;
  print(formatText("saved step %llu in ", (unsigned long long)now.step) +
        options.saveDir);
  if (executor.rank() == 0 && options.saved)
    if (Status status = options.saved(now.step); !status.ok())
      print("older checkpoints stay: " + status.message());
  return okStatus();
}
