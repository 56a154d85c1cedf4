//===- TrainingRun.h - `hocket train` ---------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Puts a run together from what the command line says: device, executor,
/// first values or a checkpoint, data, log, and the step loop.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_TRAININGRUN_H
#define HOCKET_RUNTIME_TRAIN_TRAININGRUN_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"
#include "runtime/train/step/GraphUse.h"
#include "runtime/train/step/StepWindow.h"
#include "runtime/train/values/ImportedWeights.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

class Executor;

struct TrainingOptions {
  /// A prefix of token files, or weights and prefixes; empty: what the program
  /// says, which may be nothing only if no step is left to do.
  std::vector<std::string> data;
  /// The same for validation; empty: what the program says, or a share of
  /// `data`.
  std::vector<std::string> validData;
  /// Trains and validates on random tokens instead, whatever the program says.
  bool mockData = false;
  std::optional<uint64_t> steps; ///< In all; default: the program's.
  std::optional<uint64_t> seed;  ///< Default: the checkpoint's or program's.
  std::string saveDir, loadDir, logFile, traceFile;
  std::string eventsDir; ///< Of files for TensorBoard.
  StepWindow traceSteps; ///< Which steps are traced.
  /// Goes on from the newest checkpoint in saveDir; where there is none, from
  /// loadDir or, without that, from first values.
  bool resume = false;
  /// Takes the weights of loadDir alone: step, data position, seed, optimizer
  /// state and loss scale start anew. Not where `resume` finds a checkpoint.
  bool finetune = false;
  /// With `finetune`: the weights of a loadDir that is no checkpoint; or null.
  std::shared_ptr<const ImportedWeights> imported = nullptr;
  /// Replaces the checkpoints in saveDir, the log and the events of another
  /// run.
  bool overwrite = false;
  uint64_t keep = 0; ///< Newest checkpoints that stay in saveDir; 0: all.
  /// Writes checkpoints while the run goes on (TrainerOptions).
  bool savesInBackground = false;
  /// Said, if it is not empty, where the run starts from first values.
  std::string newRunNotice;
  /// Printed by this process once the options are known to be right, before
  /// its ranks start; empty: nothing.
  std::string startNotice;
  /// Measures every instruction and prints where the time went at the end.
  bool profile = false;
  GraphUse graphs = GraphUse::Auto;
  /// Seconds without progress after which a rank counts as hanging; 0: never.
  /// Default: HOCKET_HANG_SECONDS, or 7.
  std::optional<double> hangSeconds;
  /// Called by each rank of this process, on its thread: with its first state,
  /// which it may change, and when its steps are done.
  std::function<void(Executor &)> started = [](Executor &) {};
  std::function<void(Executor &)> finished = [](Executor &) {};
  /// Takes lines for a person, without line feed.
  std::function<void(const std::string &)> print = [](const std::string &) {};
  /// Takes what a terminal shows until the next line; empty: there is none.
  std::function<void(const std::string &)> show = nullptr;
};

/// Trains a program that passed checkProgram(), on devices that its target
/// names. All ranks are threads of this process, which share its cores; or, if
/// a launcher has started it (comm/process/Launch.h), it is one of them. With
/// `loadDir` it continues that run: step, data position, seed and all state are
/// the checkpoint's, and a log is appended to. A `seed` that differs from the
/// checkpoint's is InvalidArgument. With `finetune` the run is a new one that
/// starts from these weights. GraphUse::On where a step cannot be a graph
/// is FailedPrecondition, before the first step.
///
/// Before the first step, too: `saveDir` is made, written to and locked
/// (SaveFolder.h), what it and the log hold is not mixed with this run
/// (LogFile.h), and every token of the data is compared with the vocabulary
/// (TokenCheck.h). `print` and `show` are called by one thread at a time.
Status runTraining(std::shared_ptr<const program::Program> program,
                   const TrainingOptions &options);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_TRAININGRUN_H
