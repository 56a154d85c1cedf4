//===- RunCheckpoint.h - An executor filled from a checkpoint ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fills what a program keeps from step to step from a checkpoint, by global
/// name and shape. What one plan has saved (RunSave.h), any other loads. With
/// several ranks each is a collective of the world.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_VALUES_RUNCHECKPOINT_H
#define HOCKET_RUNTIME_TRAIN_VALUES_RUNCHECKPOINT_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/executor/Executor.h"

namespace hocket {

/// Whether a slice is of a weight: no slot and no "state.". Every checkpoint of
/// the model has it.
bool isWeight(const program::Program &program,
              const program::ParameterSlice &slice);

/// Fills the executor's slices from the checkpoint in `dir` and returns the
/// run's state. A checkpoint of another model is DataLoss and names the first
/// tensor that differs; a weight may have another floating-point type.
/// Optimizer slots and "state." tensors that it lacks altogether, as an
/// imported model does, keep their present values.
StatusOr<checkpoint::RunState> loadRun(Executor &executor,
                                       const std::string &dir);

/// Where weights came from: an iteration's folder, and its step.
struct LoadedWeights {
  std::string folder;
  uint64_t step = 0;
  /// Of the head of a model that tells classes, what was not there and keeps
  /// its present value, by name.
  std::vector<std::string> fresh = {};
};

/// Fills the weights alone from the checkpoint in `dir`, and the biases of its
/// routers where it has any; optimizer slots, counters and the loss scale keep
/// their present values. Weights may be stored in another floating-point type.
/// InvalidArgument, before anything is written, names what does not fit
/// (checkpoint/WeightFit.h).
StatusOr<LoadedWeights> loadWeights(Executor &executor, const std::string &dir);

/// The same from `tensors`, which were found at `place`. A rank reads those
/// that it holds a part of.
Status loadWeights(Executor &executor, const std::string &place,
                   std::span<const checkpoint::CheckpointTensor> tensors);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_VALUES_RUNCHECKPOINT_H
