//===- DataShowCommand.cpp - hocket data show ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/DataShowCommand.h"

#include "compiler/tools/SpecOptions.h"
#include "compiler/tools/SpecSamples.h"
#include "frontends/FrontEnd.h"
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
  data::GptDatasetOptions options = datasetOptionsOf(spec);
  options.cache.note = [](const std::string &line) {
    std::cerr << line + "\n";
  };
  HOCKET_ASSIGN_OR_RETURN(data::RunData from, runDataOf(spec, arguments.prefix,
                                                        arguments.validData));
  return data::openRunSamples(from, options, runLengthOf(spec), split);
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
