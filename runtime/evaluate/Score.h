//===- Score.h - Log-probabilities under a trained model --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Everything that is measured by likelihood is made of one question: how
/// likely is each of these tokens, given those before it? It is answered by the
/// program's own forward pass, "eval_step": the numbers are those that training
/// computes, bit for bit.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EVALUATE_SCORE_H
#define HOCKET_RUNTIME_EVALUATE_SCORE_H

#include "runtime/base/Status.h"
#include "runtime/program/program.pb.h"
#include "runtime/telemetry/StatusLine.h"

#include <memory>
#include <optional>
#include <vector>

namespace hocket::evaluate {

/// How likely tokens [first, end) are, each given all before it; first >= 1.
struct ScoreRequest {
  std::vector<int32_t> tokens;
  size_t first = 1;

  size_t wanted() const { return tokens.size() - first; }
};

/// Natural logarithms of probabilities, one for each token asked about.
using Scores = std::vector<float>;

struct ScoreOptions {
  std::string loadDir; ///< A run or a checkpoint; empty: first values.
  /// Seconds without progress after which a rank counts as hanging; 0: never.
  std::optional<double> hangSeconds;
  RunOutput output;
};

/// The longest request that `program` takes, in tokens: one more than its
/// sequences.
size_t longestRequest(const program::Program &program);

/// InvalidArgument for a request that the program cannot take: too short or
/// too long, or a token outside the vocabulary.
Status checkRequests(const program::Program &program,
                     const std::vector<ScoreRequest> &requests);

/// Answers `requests`, in their order, on the ranks of a program that passed
/// checkProgram(). Of several processes each gives the same requests, and each
/// has the answers. Interrupted: Cancelled.
StatusOr<std::vector<Scores>>
score(std::shared_ptr<const program::Program> program,
      std::shared_ptr<const std::vector<ScoreRequest>> requests,
      const ScoreOptions &options);

} // namespace hocket::evaluate

#endif // HOCKET_RUNTIME_EVALUATE_SCORE_H
