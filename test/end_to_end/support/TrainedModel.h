//===- TrainedModel.h - What two ways to train have in common ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The data that a test trains on, the numbers that a step reports, and the
/// measure of how far two models are apart.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_SUPPORT_TRAINEDMODEL_H
#define HOCKET_TEST_END_TO_END_SUPPORT_TRAINEDMODEL_H

#include "runtime/data/samples/BatchSource.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace hocket::test {

/// Everything that lives from step to step, by name: a parameter's, a
/// parameter's with ".slot", or "state.loss_scale" and the like.
using ModelState = std::map<std::string, std::vector<double>>;

/// What one step reports.
struct StepNumbers {
  std::vector<double> losses;            ///< One a microbatch.
  std::map<std::string, double> numbers; ///< "grad_norm", "skipped", ...
};

/// A fixed batch of `rows` x `length` tokens below `vocabulary`, another one
/// for each `index`. One label is -1: that position counts for no loss. A
/// sequence has documents of three tokens and one of the rest, which some begin
/// in the midst of.
inline data::Batch fixedBatch(uint64_t index, uint64_t rows, uint64_t length,
                              uint64_t vocabulary) {
  data::Batch batch;
  uint64_t state = index * 977 + 5;
  auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return int32_t((state >> 33) % vocabulary);
  };
  for (uint64_t i = 0; i < rows * length; ++i) {
    batch.tokens.push_back(next());
    batch.labels.push_back(next());
  }
  batch.labels[index % (rows * length)] = -1;
  batch.sequenceLength = length;
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t i = 0; i < length; ++i)
      batch.positions.push_back(int32_t(i < 6 ? (i + row) % 3 : i - 6));
  // What an encoder asks for, of sequences of many lengths.
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t i = 0; i < length; ++i) {
      uint64_t padding = std::min((index + 2 * row) % 4, length - 1);
      batch.tokenTypes.push_back(int32_t(i > (index + row) % length));
      batch.keyCounts.push_back(int32_t(length - padding));
      batch.sentenceLabels.push_back(i > 0 ? -1 : int32_t((index + row) % 2));
    }
  return batch;
}

/// Gives each sequence of `batch` the rows of `images` images, of `rows` rows
/// of `width` numbers each, the first of zeros. Some rows stand nowhere.
inline void addImages(data::Batch &batch, uint64_t images, uint64_t rows,
                      uint64_t width) {
  uint64_t length = batch.sequenceLength;
  batch.imageRows.assign(batch.tokens.size(), -1);
  for (uint64_t i = 0; i < batch.tokens.size(); ++i) {
    uint64_t at = i % length, row = i / length;
    if (at % 4 != row % 3 && at > 0 && at < images * rows)
      batch.imageRows[i] = int32_t(images * rows - at);
  }
  uint64_t sequences = batch.tokens.size() / length;
  for (uint64_t i = 0; i < sequences * images * rows * width; ++i) {
    bool isFirst = i / width % rows == 0;
    batch.pixels.push_back(isFirst ? 0 : float(i * i % 23) / 11 - 1);
  }
}

/// Gives each sequence of `batch` so many tokens of neighbours.
inline void addNeighbors(data::Batch &batch, uint64_t tokens,
                         uint64_t vocabulary) {
  uint64_t sequences = batch.tokens.size() / batch.sequenceLength;
  for (uint64_t i = 0; i < sequences * tokens; ++i)
    batch.neighbors.push_back(
        int32_t((7 * i + i / 5 + uint64_t(batch.tokens[0])) % vocabulary));
}

/// The labels of a step that count.
inline uint64_t labelsOf(const std::vector<data::Batch> &batches) {
  uint64_t labels = 0;
  for (const data::Batch &batch : batches)
    labels += uint64_t(std::ranges::count_if(
        batch.labels, [](int32_t label) { return label >= 0; }));
  return labels;
}

/// The Euclidean norm of `a - b`.
inline double distance(const std::vector<double> &a,
                       const std::vector<double> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_SUPPORT_TRAINEDMODEL_H
