//===- TrainingData.cpp - The samples that a program is trained on --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/TrainingData.h"

#include "runtime/program/Entries.h"

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
  if (program.training().has_masked_lm()) {
    const auto &masked = program.training().masked_lm();
    dataset.masked = {.cls = int32_t(masked.cls_token()),
                      .sep = int32_t(masked.sep_token()),
                      .mask = int32_t(masked.mask_token()),
                      .pad = int32_t(masked.pad_token()),
                      .probability = masked.probability(),
                      .maskShare = masked.mask_share(),
                      .randomShare = masked.random_share(),
                      .shortSequenceProbability =
                          masked.short_sequence_probability(),
                      .sentenceOrder = masked.sentence_order(),
                      .wholeWords = masked.whole_words()};
  }
  if (program.training().has_prefix_lm())
    dataset.prefix = {.least = program.training().prefix_lm().least_share(),
                      .most = program.training().prefix_lm().most_share()};
  if (program.training().has_classification()) {
    const auto &classes = program.training().classification();
    dataset.classes = {.cls = int32_t(classes.cls_token()),
                       .sep = int32_t(classes.sep_token()),
                       .pad = int32_t(classes.pad_token()),
                       .classes = classes.classes(),
                       .sequences = classes.sequences(),
                       .batch = program.training().global_batch_size()};
  }
  if (program.training().has_span_corruption()) {
    const auto &spans = program.training().span_corruption();
    dataset.spans = {.encoderLength = spans.encoder_sequence_length(),
                     .end = int32_t(spans.end_token()),
                     .pad = int32_t(spans.pad_token()),
                     .firstSentinel = int32_t(spans.first_sentinel()),
                     .sentinels = spans.sentinels(),
                     .noiseDensity = spans.noise_density(),
                     .meanSpanLength = spans.mean_span_length()};
  }
  if (program.training().has_images()) {
    const auto &images = program.training().images();
    dataset.images =
        data::ImageOptions{.imageSize = images.image_size(),
                           .patchSize = images.patch_size(),
                           .tokensPerImage = rowsInText(images),
                           .imagesPerSequence = images.images(),
                           .imageToken = int32_t(images.image_token())};
  }
  if (program.training().has_retrieval()) {
    const auto &retrieval = program.training().retrieval();
    dataset.retrieval = data::RetrievalOptions{
        .shape = {.chunkLength = retrieval.chunk_length(),
                  .neighbors = retrieval.neighbors(),
                  .retrievedLength = retrieval.retrieved_length()},
        .corpus = {retrieval.corpus().begin(), retrieval.corpus().end()},
        .pad = int32_t(retrieval.pad_token())};
  }
  return dataset;
}

Status hocket::addClassRows(const program::Program &program,
                            data::Batch &batch) {
  if (!program.training().has_images())
    return okStatus();
  const auto &images = program.training().images();
  uint64_t width = 3 * images.patch_size() * images.patch_size();
  uint64_t each = patchesOf(images), patches = each * width, rows = each + 1;
  if (batch.pixels.empty() || batch.pixels.size() % patches != 0)
    return internalError("a batch has no images of the sizes of the program's");
  std::vector<float> pixels;
  pixels.reserve(batch.pixels.size() / patches * rows * width);
  for (size_t at = 0; at < batch.pixels.size(); at += patches) {
    pixels.insert(pixels.end(), width, 0.0f);
    pixels.insert(pixels.end(), batch.pixels.begin() + ptrdiff_t(at),
                  batch.pixels.begin() + ptrdiff_t(at + patches));
  }
  batch.pixels = std::move(pixels);
  // Texts have the row of the class, or none.
  for (int32_t &row : batch.imageRows)
    if (row >= 0 && !images.class_row())
      row += row / int32_t(each) + 1;
  return okStatus();
}

data::DocumentMarks hocket::documentMarksOf(const program::Program &program) {
  if (!program.training().has_documents())
    return {};
  const auto &documents = program.training().documents();
  return {int32_t(documents.eod_token()), documents.mask_loss()};
}

bool hocket::masksLabels(const program::Program &program) {
  const program::TrainingInfo &training = program.training();
  return training.documents().mask_loss() || isFramed(program) ||
         training.has_span_corruption() || training.has_prefix_lm() ||
         training.has_images();
}

bool hocket::isFramed(const program::Program &program) {
  return program.training().has_masked_lm() ||
         program.training().has_classification();
}

data::RunData hocket::runDataOf(const program::Program &program,
                                const std::vector<std::string> &data,
                                const std::vector<std::string> &validData) {
  const program::TrainingInfo &training = program.training();
  data::RunData run;
  run.data = data;
  run.validData = validData;
  run.testData = {training.test_data().begin(), training.test_data().end()};
  if (data.empty() && !training.train_data().empty()) {
    run.data = {training.train_data().begin(), training.train_data().end()};
    run.dataName = "training.data.train";
  }
  if (validData.empty() && !training.valid_data().empty()) {
    run.validData = {training.valid_data().begin(),
                     training.valid_data().end()};
    run.validName = "training.data.valid";
  }
  return run;
}

data::RunLength hocket::runLengthOf(const program::Program &program,
                                    uint64_t steps) {
  const program::TrainingInfo &training = program.training();
  data::RunLength run;
  run.steps = std::max(steps, training.steps());
  run.globalBatchSize = training.global_batch_size();
  if (!training.batch_sizes().empty())
    run.trainSamples = batchSizesOf(training).samplesIn(run.steps);
  run.validInterval = training.valid_interval();
  run.validBatches = training.valid_batches();
  return run;
}
