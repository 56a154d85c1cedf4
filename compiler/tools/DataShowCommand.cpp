//===- DataShowCommand.cpp - hocket data show ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/DataShowCommand.h"

#include "compiler/tools/SpecOptions.h"
#include "frontends/FrontEnd.h"
#include "frontends/spec/model/BatchGrowth.h"
#include "frontends/spec/model/DataSources.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/model/Vision.h"
#include "runtime/data/samples/RunSamples.h"
#include "runtime/data/samples/ShowSamples.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"

#include <iostream>
#include <memory>

using namespace hocket;

namespace {

struct DataShowArguments {
  std::vector<std::string> prefix, validData;
  std::string tokenizer = "byte", spec, split = "train", samples = "0:1";
  spec::LoadOptions options;
  bool json = false;
};

/// The samples of a split exactly as a run of `spec` sees them.
StatusOr<std::unique_ptr<data::SampleSource>>
openSplit(const DataShowArguments &arguments, const spec::Spec &spec,
          data::Split split) {
  const spec::Training &training = spec.training();
  data::GptDatasetOptions options;
  options.sequenceLength = static_cast<uint64_t>(training.sequence_length());
  options.vocabularySize = static_cast<uint64_t>(spec.model().vocab_size());
  options.seed = training.seed();
  options.splitWeights = training.data().split();
  options.cache.note = [](const std::string &line) {
    std::cerr << line + "\n";
  };
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
  data::RunLength run;
  run.steps = static_cast<uint64_t>(training.steps());
  run.globalBatchSize = static_cast<uint64_t>(training.global_batch_size());
  if (spec::batchGrows(training))
    run.trainSamples = spec::batchSizesOf(training).samplesIn(run.steps);
  run.validInterval = static_cast<uint64_t>(training.validation().interval());
  run.validBatches = static_cast<uint64_t>(training.validation().batches());
  data::RunData from;
  from.data = arguments.prefix;
  from.validData = arguments.validData;
  from.testData = spec::blendWords(training.data().test());
  from.dataName = "PREFIX";
  if (from.data.empty())
    from.data = spec::blendWords(training.data().train());
  if (from.validData.empty())
    from.validData = spec::blendWords(training.data().valid());
  if (from.data.empty())
    return invalidArgument("PREFIX is missing, and the specification names no "
                           "data (training.data.train)");
  return data::openRunSamples(from, options, run, split);
}

Status run(const DataShowArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec loaded,
                          loadSpecification(arguments.spec, arguments.options));
  HOCKET_ASSIGN_OR_RETURN(data::Split split, data::parseSplit(arguments.split));
  data::ShowOptions show;
  HOCKET_ASSIGN_OR_RETURN(show.range,
                          data::parseSampleRange(arguments.samples));
  show.json = arguments.json;
  HOCKET_ASSIGN_OR_RETURN(auto source,
                          openSplit(arguments, loaded.spec, split));
  HOCKET_ASSIGN_OR_RETURN(auto tokenizer,
                          tokenizer::openTokenizer(arguments.tokenizer));
  // Bytes are the default: a larger vocabulary is of another tokenizer.
  if (arguments.tokenizer != "byte" ||
      loaded.spec.model().vocab_size() <=
          static_cast<int64_t>(tokenizer->vocabularySize()))
    show.tokenizer = tokenizer.get();
  return data::showSamples(*source, show, std::cout);
}

} // namespace

void hocket::registerDataShow(CLI::App &data, Status &result) {
  auto arguments = std::make_shared<DataShowArguments>();
  CLI::App *command = addCommand(
      data, "show", "Print samples exactly as a run of --spec sees them");
  command->footer("Example:\n  hocket data show data/books --spec "
                  "nano.textproto --split train --samples 0:4 --json");
  command->add_option("PREFIX", arguments->prefix,
                      "Token files made by `hocket data prepare`, or a "
                      "blend: WEIGHT PREFIX WEIGHT PREFIX ..., or @FILE with "
                      "these words. Default: training.data.train of the "
                      "specification");
  command
      ->add_option("--valid-data", arguments->validData,
                   "As for train: the data of --split valid; then all of "
                   "PREFIX is for training. Default: training.data.valid of "
                   "the specification")
      ->type_name("PREFIX");
  command
      ->add_option("--spec", arguments->spec,
                   "The specification: sequence length, steps, seed, split")
      ->type_name("FILE")
      ->required();
  addOverrides(*command, arguments->options.overrides);
  wantOneOf(command->add_option("--split", arguments->split,
                                "The part of the documents"),
            {"train", "valid", "test"})
      ->capture_default_str();
  command
      ->add_option("--samples", arguments->samples,
                   "The samples from A up to, not including, B")
      ->type_name("A:B")
      ->capture_default_str();
  command
      ->add_option("--tokenizer", arguments->tokenizer,
                   "Shows the text of the tokens: byte, or the file or folder "
                   "that the data was prepared with")
      ->type_name("PATH")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "One JSON object per line");
  command->callback([arguments, &result] { result = run(*arguments); });
}
