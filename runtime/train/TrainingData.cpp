//===- TrainingData.cpp - The samples that a program is trained on --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/TrainingData.h"

#include <algorithm>

using namespace hocket;

data::GptDatasetOptions
hocket::datasetOptionsOf(const program::Program &program, uint64_t seed) {
  data::GptDatasetOptions dataset;
  dataset.sequenceLength = program.model().sequence_length();
  dataset.vocabularySize = program.model().vocab_size();
  dataset.seed = seed;
  if (!program.training().data_split().empty())
    dataset.splitWeights = program.training().data_split();
  return dataset;
}

data::RunLength hocket::runLengthOf(const program::Program &program,
                                    uint64_t steps) {
  const program::TrainingInfo &training = program.training();
  data::RunLength run;
  run.steps = std::max(steps, training.steps());
  run.globalBatchSize = training.global_batch_size();
  run.validInterval = training.valid_interval();
  run.validBatches = training.valid_batches();
  return run;
}
