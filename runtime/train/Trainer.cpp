//===- Trainer.cpp - The step loop ----------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Trainer.h"

#include "base/Format.h"
#include "runtime/comm/interfaces/FailureText.h"
#include "runtime/program/Entries.h"
#include "runtime/train/Interrupt.h"
#include "runtime/train/TrainingData.h"
#include "runtime/train/step/LearningRate.h"
#include "runtime/train/values/RunSave.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

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
      sharing(executor.program(), executor.communicators()),
      sizes(batchSizesOf(executor.program().training())),
      rows(MicrobatchRows::of(executor.program(), executor.rank())),
      countsItsLabels(
          masksLabels(executor.program()) &&
          MicrobatchRows::isFirst(executor.program(), executor.rank())),
      documents(documentMarksOf(executor.program())),
      savedStep(this->options.savedStep) {}

Trainer::~Trainer() = default;

Status Trainer::run(TrainerPosition start) {
  Status status = trainFrom(start);
  if (missingLines)
    print(formatText("warning: %llu line%s of the log could not be written: ",
                     (unsigned long long)missingLines,
                     missingLines == 1 ? "" : "s") +
          logFailure.message());
  if (!validData.ok())
    print("warning: validation ended early: " + validData.message());
  return status;
}

Status Trainer::trainFrom(TrainerPosition start) {
  now = start;
  if (now.step < options.steps) {
    MicrobatchRows read = rows;
    std::unique_ptr<data::BatchSource> batches;
    if (rows.count > 0) {
      data::BatchGeometry geometry = read.geometry(training().microbatches());
      HOCKET_ASSIGN_OR_RETURN(batches,
                              data::BatchSource::create(
                                  train, geometry, now.consumedSamples,
                                  std::max(4u, unsigned(geometry.microbatches)),
                                  documents));
    }
    StepHost host(
        [&](data::Batch &batch) {
          if (!batches)
            return internalError("this rank has no samples");
          HOCKET_RETURN_IF_ERROR(batches->next(batch));
          return addClassRows(executor.program(), batch);
        },
        read.first);
    Progress progress(training().log_interval(), options.steps, sizes);
    HOCKET_RETURN_IF_ERROR(runSteps(host, progress));
  }
  return save();
}

/// Of the step that comes next.
uint64_t Trainer::microbatchesNow() const {
  return sizes.sizeAfter(now.consumedSamples) / globalMicrobatchOf(training());
}

/// Reads the batches of the step that comes next, if this rank takes any.
Status Trainer::fetch(StepHost &host) const {
  if (rows.count == 0 || now.step >= options.steps)
    return okStatus();
  return host.fetch(microbatchesNow())
      .withContext(formatText("step %llu", (unsigned long long)now.step + 1));
}

/// Of the batches that were fetched, those that no other rank counts.
uint64_t Trainer::countLabels(const StepHost &host) const {
  return countsItsLabels ? host.countLabels(rows) : 0;
}

/// The same of all ranks, where nothing else is to be shared.
StatusOr<uint64_t> Trainer::sumLabels(const StepHost &host) {
  HOCKET_ASSIGN_OR_RETURN(SharedOutputs shared,
                          sharing.share({}, {.labels = countLabels(host)}));
  return shared.signals.labels;
}

/// `cause`, which all ranks have, with why a save failed.
static Status withSave(const Status &cause, const Status &saved) {
  if (cause.ok() || saved.ok())
    return cause.ok() ? saved : cause;
  return Status(cause.code(), cause.message() + "\n" + saved.message());
}

/// Whether all ranks have written their parts, or the run may end with them.
bool Trainer::isSaveDue(const StepRecord &record) const {
  return pending && (!signals.writing || !std::isfinite(record.loss));
}

Status Trainer::runSteps(StepHost &host, Progress &progress) {
  InterruptGuard guard;
  show(formatText("step %llu of %llu", (unsigned long long)now.step + 1,
                  (unsigned long long)options.steps));
  comm::Communicator &world = executor.communicators().world();
  HOCKET_RETURN_IF_ERROR(agree(world, fetch(host)));
  if (masksLabels(executor.program())) {
    HOCKET_ASSIGN_OR_RETURN(signals.labels, sumLabels(host));
  }
  std::set<std::string> ran; // entries
  while (now.step < options.steps) {
    std::string entry =
        trainEntryName(microbatchesNow(), training().microbatches());
    HOCKET_ASSIGN_OR_RETURN(StepRecord record, trainStep(host, entry));
    if (ran.insert(entry).second)
      HOCKET_RETURN_IF_ERROR(options.begun(entry));
    writeLog(record);
    sayRerun(record);
    if (auto line = progress.add(record)) {
      print(*line);
      shownAt = {}; // The line has taken its place.
    }
    showProgress(progress);
    Status saved = isSaveDue(record) ? finishSave() : okStatus();
    HOCKET_RETURN_IF_ERROR(withSave(checkNumbers(record), saved));
    bool last = now.step == options.steps;
    if (isDue(training().valid_interval()) ||
        (last && training().valid_interval()))
      HOCKET_RETURN_IF_ERROR(validateAndLog());
    if (isDue(training().save_interval()))
      HOCKET_RETURN_IF_ERROR(options.savesInBackground && !last ? beginSave()
                                                                : save());
    if (signals.noData)
      return saveAndEnd(agree(world, nextData));
    if (shouldStop() && !last) {
      HOCKET_RETURN_IF_ERROR(save());
      return unavailable(
          formatText("interrupted after step %llu",
                     (unsigned long long)now.step) +
          (options.saveDir.empty() ? "" : "; saved in " + options.saveDir));
    }
  }
  return okStatus();
}

/// Several ranks know only what they have told each other.
bool Trainer::shouldStop() const {
  bool alone = executor.communicators().world().size() == 1;
  return alone ? InterruptGuard::requested() : signals.interrupted;
}

Status Trainer::checkNumbers(const StepRecord &record) {
  std::string place =
      formatText("step %llu: ", (unsigned long long)record.step);
  if (!std::isfinite(record.loss))
    return failedPrecondition(
        place + "the loss is " +
        (std::isnan(record.loss) ? "not a number" : "infinite") +
        "; nothing is saved. Lower the learning rate, clip gradients, or look "
        "at the data of this step" +
        (record.lossScale ? "; fp16 overflows beyond 65504, bf16 does not "
                            "(training.precision: BF16)"
                          : ""));
  bool overflows = record.lossScale && record.skipped.value_or(false);
  if (!overflows || *record.lossScale > training().loss_scale().minimum())
    return okStatus();
  return saveAndEnd(failedPrecondition(
      place + formatText("gradients overflow at the least loss scale, %g, so "
                         "that no step can be made. Lower the learning rate "
                         "or training.loss_scale.minimum, or train in bf16 "
                         "(training.precision: BF16)",
                         training().loss_scale().minimum())));
}

/// Saves, and gives `cause`, which all ranks have, with what was saved.
Status Trainer::saveAndEnd(const Status &cause) {
  Status saved = save();
  if (!saved.ok() || options.saveDir.empty())
    return withSave(cause, saved);
  return Status(cause.code(), cause.message() +
                                  formatText("; step %llu is saved in ",
                                             (unsigned long long)now.step) +
                                  options.saveDir);
}

/// The log is for whoever watches; a run does without it.
template <typename Record> void Trainer::writeLog(const Record &record) {
  if (executor.rank() != 0)
    return;
  Status status = log.write(record);
  if (status.ok() || missingLines++ > 0)
    return;
  logFailure = status;
  print("warning: " + status.message() + "; training goes on");
}

/// Runs an entry, and where any rank had no room for the rows of its experts,
/// and the program knows how, once more with room for all; whether it has.
/// What such a run has computed is NaN, so that it has updated nothing.
StatusOr<bool> Trainer::runWithRoom(const std::string &entry, uint64_t step,
                                    StepHost &host, bool isExpected) {
  std::string again = rerunEntryName(entry);
  if (!executor.hasEntry(again)) {
    HOCKET_RETURN_IF_ERROR(executor.run(entry, step, host));
    return false;
  }
  if (!isExpected) {
    host.allowReruns();
    HOCKET_RETURN_IF_ERROR(executor.run(entry, step, host));
    comm::Communicator &world = executor.communicators().world();
    HOCKET_ASSIGN_OR_RETURN(bool isBeyond,
                            anyOf(world, host.outputs().isBeyondBound));
    if (!isBeyond)
      return false;
    if (host.outputs().number("skipped") == 0.0)
      return internalError("a step that had no room for all rows has updated "
                           "parameters; nothing is saved");
    host.beginAgain();
  }
  HOCKET_RETURN_IF_ERROR(executor.run(again, step, host));
  if (host.outputs().isBeyondBound)
    return internalError("entry '" + again + "' has no room for all rows");
  return true;
}

/// Of a step whose experts were chosen for `load` times the even share: whether
/// the next one is run with room at once, as the load moves slowly.
void Trainer::noteLoad(bool wasRerun, double load) {
  if (wasRerun && !expectsRerun)
    leastBeyond = std::min(leastBeyond, load);
  expectsRerun = wasRerun && load >= leastBeyond;
}

/// Once; the log, and lines of progress, tell how often.
void Trainer::sayRerun(const StepRecord &record) {
  if (!record.rerun || std::exchange(hasSaidRerun, true))
    return;
  print(formatText("step %llu was run again, with room for all rows: the "
                   "experts of a rank were chosen for %.2f times its even "
                   "share (docs/guide-many-ranks.md); so are later ones, of "
                   "which the log says how many",
                   (unsigned long long)record.step,
                   record.expertLoad.value_or(0)));
}

StatusOr<StepRecord> Trainer::trainStep(StepHost &host,
                                        const std::string &entry) {
  auto start = std::chrono::steady_clock::now();
  StepRecord record;
  record.step = now.step + 1;
  const program::LearningRate &schedule = training().learning_rate();
  record.learningRate = learningRateAt(
      schedule, isInSamples(schedule) ? now.consumedSamples : now.step);
  record.batchSize = sizes.sizeAfter(now.consumedSamples);
  host.begin(now.step, record.learningRate, microbatchesNow(), signals.labels);
  auto rerun = runWithRoom(entry, now.step, host, expectsRerun);
  if (!rerun.ok())
    return comm::atPlace(
        rerun.status(),
        formatText("step %llu", (unsigned long long)record.step));
  record.rerun = *rerun;
  ++now.step;
  now.consumedSamples += record.batchSize;
  nextData = fetch(host);
  StepSignals own{.interrupted = InterruptGuard::requested(),
                  .noData = !nextData.ok(),
                  .writing = pending && !pending->isWritten(),
                  .labels = nextData.ok() ? countLabels(host) : 0};
  auto shared = sharing.share(host.outputs(), own);
  if (!shared.ok())
    return comm::atPlace(
        shared.status(),
        formatText("step %llu: rank %u, after its last instruction",
                   (unsigned long long)record.step, executor.rank()));
  const SharedOutputs &outputs = *shared;
  signals = outputs.signals;
  record.loss = outputs.loss;
  record.gradNorm = outputs.number("grad_norm");
  record.consumedSamples = now.consumedSamples;
  record.expertLoad = outputs.expertLoad;
  noteLoad(record.rerun, record.expertLoad.value_or(0));
  record.lossScale = outputs.number("loss_scale");
  if (auto skipped = outputs.number("skipped"))
    record.skipped = *skipped != 0;
  record.seconds = secondsSince(start);
  record.tokensPerSecond =
      double(record.batchSize) *
      double(executor.program().model().sequence_length()) / record.seconds;
  return record;
}

StatusOr<ValidationRecord> Trainer::validate(uint64_t step) {
  if (executor.program().training().has_classification())
    return validateClasses(step);
  auto start = std::chrono::steady_clock::now();
  ValidationRecord record;
  record.step = step;
  uint64_t wanted =
      training().valid_batches() * training().global_batch_size() / rows.global;
  uint64_t first = 0, done = 0;
  StepHost host(
      [&](data::Batch &batch) {
        HOCKET_RETURN_IF_ERROR(data::readBatch(*valid, first + rows.first,
                                               rows.count, batch, documents));
        return addClassRows(executor.program(), batch);
      },
      rows.first);
  auto hasMore = [&] {
    return done < wanted && first + rows.global <= valid->size();
  };
  auto fetchNext = [&] { return hasMore() ? host.fetch(1) : okStatus(); };
  comm::Communicator &world = executor.communicators().world();
  validData = agree(world, fetchNext());
  // The labels of a batch: as many in each, or as they are counted.
  uint64_t labels = 1, all = 0;
  if (masksLabels(executor.program()) && validData.ok()) {
    HOCKET_ASSIGN_OR_RETURN(labels, sumLabels(host));
  }
  double sum = 0;
  while (hasMore()) {
    HOCKET_RETURN_IF_ERROR(validData);
    host.begin(step, 0, 1, labels);
    HOCKET_RETURN_IF_ERROR(
        runWithRoom("eval_step", step, host, false).status());
    first += rows.global;
    ++done;
    Status next = fetchNext();
    HOCKET_ASSIGN_OR_RETURN(
        SharedOutputs outputs,
        sharing.share(host.outputs(),
                      {.noData = !next.ok(),
                       .labels = next.ok() ? countLabels(host) : 0}));
    sum += outputs.loss * double(labels);
    all += labels;
    if (masksLabels(executor.program()))
      labels = outputs.signals.labels;
    if (outputs.signals.noData)
      validData = agree(world, next);
  }
  record.loss = all ? sum / double(all) : std::nan("");
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
  auto record = validate(now.step);
  if (!validData.ok()) {
    valid = nullptr;
    print("warning: no more validation: " + validData.message());
    return okStatus();
  }
  HOCKET_RETURN_IF_ERROR(record.status());
  print(Progress::line(*record));
  writeLog(*record);
  return okStatus();
}

/// What is to be saved now.
checkpoint::RunState Trainer::stateNow() const {
  checkpoint::RunState state;
  state.step = now.step;
  state.consumedSamples = now.consumedSamples;
  state.seed = executor.currentSeed();
  state.specText = executor.program().provenance().spec_text();
  return state;
}

Status Trainer::save() {
  if (options.saveDir.empty())
    return okStatus();
  HOCKET_RETURN_IF_ERROR(finishSave());
  if (savedStep == now.step)
    return okStatus();
  show(formatText("saving step %llu", (unsigned long long)now.step));
  return noteSaved(saveRun(executor, stateNow(), options.saveDir), now.step);
}

Status Trainer::beginSave() {
  if (options.saveDir.empty())
    return okStatus();
  HOCKET_RETURN_IF_ERROR(finishSave());
  show(
      formatText("copying step %llu to save it", (unsigned long long)now.step));
  auto begun = BackgroundSave::begin(executor, stateNow(), options.saveDir);
  if (!begun.ok())
    return noteSaved(begun.status(), now.step);
  pending = *std::move(begun);
  return okStatus();
}

/// Ends what beginSave() began; if ranks still write, waits for them.
Status Trainer::finishSave() {
  if (!pending)
    return okStatus();
  std::unique_ptr<BackgroundSave> save = std::move(pending);
  if (!save->isWritten())
    show(formatText("waiting until step %llu is saved",
                    (unsigned long long)save->step()));
  return noteSaved(save->finish(), save->step());
}

/// Of a checkpoint that is complete, or why it is not.
Status Trainer::noteSaved(const Status &status, uint64_t step) {
  auto number = (unsigned long long)step;
  if (!status.ok())
    return Status(status.code(),
                  formatText("step %llu could not be saved: ", number) +
                      status.message());
  savedStep = step;
  print(formatText("saved step %llu in ", number) + options.saveDir);
  if (executor.rank() == 0 && options.saved)
    if (Status kept = options.saved(step); !kept.ok())
      print("older checkpoints stay: " + kept.message());
  return okStatus();
}
