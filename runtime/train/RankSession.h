//===- RankSession.h - A program on one rank's device -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What training and evaluation have in common: the device, the program on it,
/// what connects it to other GPUs, and the weights.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_RANKSESSION_H
#define HOCKET_RUNTIME_TRAIN_RANKSESSION_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/executor/Executor.h"
#include "runtime/train/RankLaunch.h"
#include "runtime/train/step/GraphUse.h"
#include "runtime/train/values/ImportedWeights.h"
#include "runtime/train/values/RunCheckpoint.h"

namespace hocket {

namespace comm::nccl {
struct NcclRoom;
}

class RankSession {
public:
  /// `communicators` outlive the session. Rank 0 speaks.
  RankSession(RankSeat seat, comm::CommunicatorSet &communicators,
              RunOutput output)
      : seat(std::move(seat)), communicators(communicators),
        output(std::move(output)) {}

  /// Puts the program on the device.
  Status load();

  /// Gives every parameter its first value, and its slots theirs, under the
  /// executor's seed; where restore() follows, not those that it sets.
  Status initialize(bool restoreFollows);

  /// Takes weights and state from the run or the checkpoint in `dir`, and warns
  /// if it was trained as another model.
  StatusOr<checkpoint::RunState> restore(const std::string &dir);

  /// Takes the weights alone: of the checkpoint in `dir`, or `imported`, which
  /// was found there, unless that is null. Returns what `dir` turned out to be.
  StatusOr<LoadedWeights> takeWeights(const std::string &dir,
                                      const ImportedWeights *imported);

  /// Derives what is computed from parameters alone; before any other entry.
  Status prepare();

  /// Whether this rank's device is a GPU.
  bool isGpu() const { return loaded->device().properties().driver == "cuda"; }
  /// Why `entry` cannot be a CUDA graph on this rank; ok if it can.
  Status checkGraph(const std::string &entry, GraphUse use) const;
  /// Has the devices of all ranks capture `entry`, which has run once, or those
  /// of none: where one cannot, of which `own` tells for this rank, that is the
  /// error, and no entry is a graph any more.
  Status capture(const std::string &entry, const Status &own);

  /// Tells who waits for this rank's GPU that it will not come.
  void fail(const Status &status);

  Executor &executor() { return *loaded; }
  const Executor &executor() const { return *loaded; }
  comm::Communicator &world() const { return communicators.world(); }
  bool isFirst() const { return world().rank() == 0; }

  /// Whether messages between GPUs go through NCCL.
  bool connectsGpus() const { return betweenGpus != nullptr; }

  /// Model, memory and device, in one line.
  std::string banner() const;
  void print(const std::string &line) const;
  /// While it lives, rank 0 says what takes its time.
  std::unique_ptr<PhaseNotice> phase(const std::string &text) const;

private:
  Status agreed(const Status &own) const;
  Status connectGpus(unsigned gpu);
  void sayWhatNcclTakes(unsigned gpu, const comm::nccl::NcclRoom &room) const;

  const RankSeat seat;
  comm::CommunicatorSet &communicators;
  const RunOutput output;
  std::unique_ptr<comm::CommunicatorSet> betweenGpus; ///< If NCCL is there.
  std::unique_ptr<Executor> loaded;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_RANKSESSION_H
