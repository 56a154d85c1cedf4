//===- Trainer.h - The step loop --------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs steps until the last one: data in, metrics out, validation and
/// checkpoints at their intervals. A run that was stopped and is loaded again
/// continues bit by bit as if it had never stopped.
///
/// With several ranks, each has its trainer and they stay together: all see the
/// same numbers, stop at the same step and save together; rank 0 alone prints
/// and logs.
///
/// Validation always takes the first samples of the validation split, so its
/// losses compare from one time to the next and need no state.
///
/// What a run does not need does not end it: a log that cannot be written, or
/// validation data that cannot be read, is said once and again at the end. The
/// data of a step is read before the step begins, so that where it cannot be
/// read, every rank still holds the state of the last step, which is saved.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_TRAINER_H
#define HOCKET_RUNTIME_TRAIN_TRAINER_H

#include "runtime/data/samples/SampleSource.h"
#include "runtime/executor/Executor.h"
#include "runtime/telemetry/Progress.h"
#include "runtime/train/step/MicrobatchRows.h"
#include "runtime/train/step/RankAgreement.h"

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace hocket {

namespace checkpoint {
struct RunState;
} // namespace checkpoint
class BackgroundSave;

/// Where a run is.
struct TrainerPosition {
  uint64_t step = 0;            ///< Steps done.
  uint64_t consumedSamples = 0; ///< Of the training split.
};

struct TrainerOptions {
  uint64_t steps = 0;  ///< Ends when so many steps are done in all.
  std::string saveDir; ///< Checkpoints; empty: none.
  /// Takes lines for a person, without line feed.
  std::function<void(const std::string &)> print = [](const std::string &) {};
  /// Called after the first step that ran an entry, which has made everything
  /// ready for more of them.
  std::function<Status(const std::string &entry)> begun =
      [](const std::string &) { return okStatus(); };
  /// Takes what a terminal shows until the next line; empty: there is none.
  std::function<void(const std::string &)> show = nullptr;
  /// Called by rank 0 when the checkpoint of a step is complete and the latest.
  /// That it fails is said, and ends nothing.
  std::function<Status(uint64_t step)> saved = nullptr;
  /// The step that saveDir holds and the run goes on from: it is not written
  /// again.
  std::optional<uint64_t> savedStep = std::nullopt;
  /// Checkpoints between steps are written while the next steps run, from a
  /// copy in host memory. The next one waits for it, as does the end.
  bool savesInBackground = false;
};

class Trainer {
public:
  /// Everything outlives the trainer. `valid` may be null: no validation.
  Trainer(Executor &executor, std::shared_ptr<const data::SampleSource> train,
          std::shared_ptr<const data::SampleSource> valid, MetricsLog &log,
          TrainerOptions options);
  ~Trainer();

  /// Trains from `start` to options.steps, and saves there. Steps between
  /// validations and saves are the program's. After the step was logged, fails
  /// (FailedPrecondition)
  /// - if the loss is not finite: it is computed without the loss scale, which
  ///   excuses overflowing gradients alone. Nothing is saved;
  /// - if gradients overflow at the least loss scale. It saves first.
  /// Where the next step's data cannot be read, it saves and returns why. On
  /// the first SIGINT or SIGTERM it ends the step, saves and returns
  /// Unavailable "interrupted after step N".
  Status run(TrainerPosition start);

  /// The mean loss of the validation samples under the present parameters,
  /// and where they have classes, how many of each are told; fails where their
  /// data cannot be read.
  StatusOr<ValidationRecord> validate(uint64_t step);

  const TrainerPosition &position() const { return now; }

private:
  Status trainFrom(TrainerPosition start);
  StatusOr<StepRecord> trainStep(StepHost &host, const std::string &entry);
  StatusOr<bool> runWithRoom(const std::string &entry, uint64_t step,
                             StepHost &host, bool isExpected);
  void noteLoad(bool wasRerun, double load);
  void sayRerun(const StepRecord &record);
  Status runSteps(StepHost &host, Progress &progress);
  Status fetch(StepHost &host) const;
  uint64_t countLabels(const StepHost &host) const;
  StatusOr<uint64_t> sumLabels(const StepHost &host);
  uint64_t microbatchesNow() const;
  Status checkNumbers(const StepRecord &record);
  Status saveAndEnd(const Status &cause);
  bool shouldStop() const;
  template <typename Record> void writeLog(const Record &record);
  void print(const std::string &line) const {
    if (executor.rank() == 0)
      options.print(line);
  }
  void show(const std::string &text) const {
    if (executor.rank() == 0 && options.show)
      options.show(text);
  }
  void showProgress(const Progress &progress);
  StatusOr<ValidationRecord> validateClasses(uint64_t step);
  Status validateAndLog();
  checkpoint::RunState stateNow() const;
  Status save();
  Status beginSave();
  bool isSaveDue(const StepRecord &record) const;
  Status finishSave();
  Status noteSaved(const Status &status, uint64_t step);
  bool isDue(uint64_t interval) const {
    return interval && now.step % interval == 0;
  }
  const program::TrainingInfo &training() const {
    return executor.program().training();
  }

  Executor &executor;
  std::shared_ptr<const data::SampleSource> train, valid;
  MetricsLog &log;
  TrainerOptions options;
  OutputSharing sharing;
  BatchSizes sizes;
  MicrobatchRows rows;  ///< Of this rank.
  bool countsItsLabels; ///< Where they are counted: for all with these rows.
  data::DocumentMarks documents;
  TrainerPosition now;
  StepSignals signals;               ///< Of any rank, after the last step.
  Status nextData;                   ///< Whether this rank has the next step's.
  Status validData;                  ///< Not ok: validation has ended.
  std::optional<uint64_t> savedStep; ///< Of the last checkpoint written.
  std::unique_ptr<BackgroundSave> pending;
  std::chrono::steady_clock::time_point shownAt; ///< The progress.
  bool hasSaidRerun = false, expectsRerun = false;
  /// The least load for which a rank had no room.
  double leastBeyond = std::numeric_limits<double>::infinity();
  uint64_t missingLines = 0; ///< Of the log.
  Status logFailure;         ///< The first.
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_TRAINER_H
