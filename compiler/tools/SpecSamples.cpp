//===- SpecSamples.cpp - The samples that a specification names -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/SpecSamples.h"

#include "frontends/spec/model/BatchGrowth.h"
#include "frontends/spec/model/DataSources.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/model/Vision.h"

using namespace hocket;

data::GptDatasetOptions hocket::datasetOptionsOf(const spec::Spec &spec) {
  const spec::Training &training = spec.training();
  data::GptDatasetOptions options;
  options.sequenceLength = static_cast<uint64_t>(training.sequence_length());
  options.vocabularySize = static_cast<uint64_t>(spec.model().vocab_size());
  options.seed = training.seed();
  options.splitWeights = training.data().split();
  if (training.has_masked_lm()) {
    const spec::MaskedLm &masked = training.masked_lm();
    options.masked = {.cls = static_cast<int32_t>(masked.cls_token()),
                      .sep = static_cast<int32_t>(masked.sep_token()),
                      .mask = static_cast<int32_t>(masked.mask_token()),
                      .pad = static_cast<int32_t>(masked.pad_token()),
                      .probability = masked.probability(),
                      .maskShare = masked.mask_share(),
                      .randomShare = masked.random_share(),
                      .shortSequenceProbability =
                          masked.short_sequence_probability(),
                      .sentenceOrder = spec.model().sentence_head(),
                      .wholeWords = masked.whole_words()};
  }
  if (training.has_prefix_lm())
    options.prefix = {.least = training.prefix_lm().least_share(),
                      .most = training.prefix_lm().most_share()};
  if (training.has_classification()) {
    const spec::Classification &classes = training.classification();
    options.classes = {
        .cls = static_cast<int32_t>(classes.cls_token()),
        .sep = static_cast<int32_t>(classes.sep_token()),
        .pad = static_cast<int32_t>(classes.pad_token()),
        .classes = static_cast<uint64_t>(spec::classValues(spec.model())),
        .sequences =
            static_cast<uint64_t>(spec::sequencesOfQuestion(spec.model())),
        .batch = static_cast<uint64_t>(training.global_batch_size())};
  }
  if (training.has_span_corruption()) {
    const spec::SpanCorruption &spans = training.span_corruption();
    options.spans = {
        .encoderLength =
            static_cast<uint64_t>(training.encoder_sequence_length()),
        .end = static_cast<int32_t>(spans.end_token()),
        .pad = static_cast<int32_t>(spans.pad_token()),
        .firstSentinel = static_cast<int32_t>(spans.first_sentinel()),
        .sentinels = static_cast<uint64_t>(spans.sentinels()),
        .noiseDensity = spans.noise_density(),
        .meanSpanLength = spans.mean_span_length()};
  }
  if (spec.model().has_vision()) {
    const spec::Vision &vision = spec.model().vision();
    options.images = data::ImageOptions{
        .imageSize = static_cast<uint64_t>(vision.image_size()),
        .patchSize = static_cast<uint64_t>(vision.patch_size()),
        .tokensPerImage = static_cast<uint64_t>(spec::placedRows(vision)),
        .imagesPerSequence =
            static_cast<uint64_t>(training.images_per_sequence()),
        .imageToken = static_cast<int32_t>(spec.model().image_token())};
  }
  if (spec.model().has_retrieval()) {
    const spec::Retrieval &retrieval = spec.model().retrieval();
    const auto &retrieved = training.data().retrieved();
    options.retrieval = data::RetrievalOptions{
        .shape = {.chunkLength =
                      static_cast<uint64_t>(retrieval.chunk_length()),
                  .neighbors = static_cast<uint64_t>(retrieval.neighbors()),
                  .retrievedLength =
                      static_cast<uint64_t>(retrieval.retrieved_length())},
        .corpus = {retrieved.corpus().begin(), retrieved.corpus().end()},
        .pad = static_cast<int32_t>(retrieved.pad_token())};
  }
  return options;
}

data::RunLength hocket::runLengthOf(const spec::Spec &spec) {
  const spec::Training &training = spec.training();
  data::RunLength run;
  run.steps = static_cast<uint64_t>(training.steps());
  run.globalBatchSize = static_cast<uint64_t>(training.global_batch_size());
  if (spec::batchGrows(training))
    run.trainSamples = spec::batchSizesOf(training).samplesIn(run.steps);
  run.validInterval = static_cast<uint64_t>(training.validation().interval());
  run.validBatches = static_cast<uint64_t>(training.validation().batches());
  return run;
}

StatusOr<data::RunData>
hocket::runDataOf(const spec::Spec &spec, const std::vector<std::string> &data,
                  const std::vector<std::string> &validData) {
  const spec::Data &said = spec.training().data();
  data::RunData from;
  from.data = data.empty() ? spec::blendWords(said.train()) : data;
  from.validData =
      validData.empty() ? spec::blendWords(said.valid()) : validData;
  from.testData = spec::blendWords(said.test());
  from.dataName = "PREFIX";
  if (from.data.empty())
    return invalidArgument("PREFIX is missing, and the specification names no "
                           "data (training.data.train)");
  return from;
}
