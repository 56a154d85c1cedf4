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

#ifndef HOCKET_RUNTIME_INFERENCE_SCORE_H
#define HOCKET_RUNTIME_INFERENCE_SCORE_H

#include "runtime/inference/ModelRun.h"

namespace hocket::inference {

/// How likely tokens [first, end) are, each given all before it; first >= 1. Of
/// a program of masked tokens: how likely each of `labels` is, given all of
/// `tokens`. Of a program with an encoder: how likely each is after `tokens` up
/// to its place, given all of `encoder`.
struct ScoreRequest {
  std::vector<int32_t> tokens;
  size_t first = 1;
  /// Of masked tokens, as long as `tokens`: what stands in the place of each,
  /// or -1 where nobody asks, and of which kind it is. Of a decoder, what
  /// follows each.
  std::vector<int32_t> labels = {}, types = {};
  /// What an encoder takes in, as long as its sequences.
  std::vector<int32_t> encoder = {};
  /// Of a text with images, which has labels: as data::Batch has them once the
  /// rows of classes are added (addClassRows()).
  std::vector<float> pixels = {};
  std::vector<int32_t> imageRows = {};
  /// Of a program that takes in what was retrieved: that of a whole sequence,
  /// as data::Batch has it.
  std::vector<int32_t> neighbors = {};
  /// Whether to say, too, which of them are likelier than any other token.
  bool asksLikeliest = false;

  /// How many are asked about, without labels.
  size_t wanted() const { return tokens.size() - first; }
  bool hasLabels() const { return !labels.empty(); }
  /// Places whose labels are asked about, in order.
  std::vector<size_t> places() const;
};

/// Of each token that was asked about.
struct Scores {
  std::vector<float> logProbabilities; ///< Natural.
  std::vector<bool> likeliest; ///< Of as likely ones the lowest token is.
};

/// The longest request that `program` takes, in tokens: one more than its
/// sequences.
size_t longestRequest(const program::Program &program);

/// InvalidArgument for a request that the program cannot take: too short or
/// too long, or a token outside the vocabulary.
Status checkRequests(const program::Program &program,
                     const std::vector<ScoreRequest> &requests);

/// Answers `requests`, in their order. Of several processes each gives the
/// same requests, and each has the answers.
StatusOr<std::vector<Scores>>
score(std::shared_ptr<const program::Program> program,
      const std::shared_ptr<const std::vector<ScoreRequest>> &requests,
      const ModelOptions &options);

/// The same on one rank of a model; a collective of the world. The requests
/// have been checked.
StatusOr<std::vector<Scores>>
scoreOn(LoadedModel &model, const std::vector<ScoreRequest> &requests);

} // namespace hocket::inference

#endif // HOCKET_RUNTIME_INFERENCE_SCORE_H
