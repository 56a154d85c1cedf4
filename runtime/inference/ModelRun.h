//===- ModelRun.h - A trained model on all its ranks ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Whatever a trained model is asked, its ranks are started, loaded and asked
/// together.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_INFERENCE_MODELRUN_H
#define HOCKET_RUNTIME_INFERENCE_MODELRUN_H

#include "runtime/train/RankSession.h"
#include "runtime/train/step/ScoreHost.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hocket::inference {

struct ModelOptions {
  std::string loadDir; ///< A run or a checkpoint; empty: first values.
  /// Seconds without progress after which a rank counts as hanging; 0: never.
  std::optional<double> hangSeconds;
  RunOutput output;
  GraphUse graphs = GraphUse::Auto; ///< For `decode`.
};

/// The model on the device of one rank, with its weights. What it is asked is
/// a collective of the world.
class LoadedModel {
public:
  LoadedModel(RankSession &session, const ModelOptions &options)
      : session(session), output(options.output), graphs(options.graphs) {}

  const program::Program &program() const {
    return session.executor().program();
  }
  comm::Communicator &world() const { return session.world(); }
  bool isFirst() const { return session.isFirst(); }

  /// A line for a person, and what a terminal shows until the next one; of
  /// rank 0 alone.
  void print(const std::string &line) const { session.print(line); }
  void show(const std::string &text) const;

  /// FailedPrecondition once a signal has asked this process to end.
  static Status checkInterrupted();

  /// The forward pass of one microbatch, or of an entry that goes on with
  /// sequences. From its second run on, `decode` may be a CUDA graph: then it
  /// is one launch, and the host has nothing to do between kernels.
  Status forward(ScoreHost &host, const std::string &entry = "eval_step");

private:
  Status useGraph(const std::string &entry);

  RankSession &session;
  const RunOutput &output;
  const GraphUse graphs;
  bool hasDecoded = false;
};

/// Calls `body` as every rank of a program that passed checkProgram(), each of
/// which has loaded the weights; returns when all are done, with the first
/// error if there is any. `facts` are what processes must have alike beside
/// the executable and the weights. `body` is called by several threads.
Status runModel(std::shared_ptr<const program::Program> program,
                const ModelOptions &options,
                const std::vector<comm::RunFact> &facts,
                std::function<Status(LoadedModel &)> body);

/// Sequences of the global microbatch, and positions of each.
uint64_t rowsOf(const program::Program &program);
uint64_t lengthOf(const program::Program &program);

/// Positions of a sequence of the encoder; 0 without one.
uint64_t encoderLengthOf(const program::Program &program);

/// InvalidArgument, said of `what`, for a token outside the vocabulary.
Status checkTokensOf(const program::Program &program,
                     std::span<const int32_t> tokens, const std::string &what);

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_MODELRUN_H
