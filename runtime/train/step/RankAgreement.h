//===- RankAgreement.h - What all ranks must know ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Between steps every rank must decide the same: go on, stop, save. All of
/// these are collectives of the whole world, in the same order on every rank;
/// with one rank they cost nothing.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_STEP_RANKAGREEMENT_H
#define HOCKET_RUNTIME_TRAIN_STEP_RANKAGREEMENT_H

#include "runtime/comm/interfaces/CommunicatorSet.h"
#include "runtime/program/program.pb.h"
#include "runtime/train/step/StepHost.h"

namespace hocket {

/// What a rank tells the others after a step; of all ranks, what any has said.
struct StepSignals {
  bool interrupted = false; ///< A signal has come.
  bool noData = false;      ///< The next step's data cannot be read.
  bool writing = false;     ///< A checkpoint, in the background.
  uint64_t labels = 0; ///< Of the next step's data, below 2^45; all ranks' sum.
};

/// Numbers of a step, the same on every rank.
struct SharedOutputs {
  double loss = 0; ///< Mean over the microbatches; NaN if no rank has one.
  std::map<std::string, double> numbers;
  /// The greatest of any rank, where ranks exchange the rows of experts.
  std::optional<double> expertLoad;
  StepSignals signals; ///< Of any rank; labels are of all.

  std::optional<double> number(const std::string &name) const {
    auto found = numbers.find(name);
    return found == numbers.end() ? std::nullopt
                                  : std::optional<double>(found->second);
  }
};

/// Gives every rank the outputs of the program. An output comes from the
/// lowest rank whose role has it; that the ranks that have it agree is the
/// program's business.
class OutputSharing {
public:
  OutputSharing(const program::Program &program,
                comm::CommunicatorSet &communicators);

  StatusOr<SharedOutputs> share(const StepOutputs &own, StepSignals signals);

private:
  Status shareLoad(const StepOutputs &own, SharedOutputs &shared);

  comm::Communicator &world;
  bool exchangesRows = false;     ///< Of experts.
  std::vector<std::string> names; ///< All but "loss".
  std::vector<unsigned> owners;   ///< By name.
  std::optional<unsigned> lossOwner;
};

/// Whether any rank's `own` is; the same on every rank.
StatusOr<bool> anyOf(comm::Communicator &world, bool own);

/// Ok if every rank's status is; otherwise the error of the lowest rank that
/// has one, with its number: "rank 3: ...". The same on every rank.
Status agree(comm::Communicator &world, const Status &own);

/// `text` of every rank = `text` of `root`.
Status broadcastText(comm::Communicator &world, std::string &text,
                     unsigned root = 0);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_STEP_RANKAGREEMENT_H
