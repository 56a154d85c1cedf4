//===- RetrievalTargets.cpp - Samples that want neighbours ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/RetrievalTargets.h"

#include "compiler/tools/SpecOptions.h"
#include "compiler/tools/SpecSamples.h"
#include "frontends/FrontEnd.h"
#include "runtime/data/samples/RetrievalDataset.h"

#include <iostream>

using namespace hocket;

void hocket::addRetrievalOptions(CLI::App &command,
                                 RetrievalArguments &arguments) {
  command.add_option("PREFIX", arguments.prefix,
                     "Token files made by `hocket data prepare`, or a blend, "
                     "as the run reads them. Default: training.data.train of "
                     "the specification");
  command
      .add_option("--valid-data", arguments.validData,
                  "The run's validation data, if it has its own. Default: "
                  "training.data.valid of the specification")
      ->type_name("PREFIX");
  command
      .add_option("--spec", arguments.spec,
                  "The specification of the run, with model.retrieval. "
                  "training.data.retrieved.corpus names the token files that "
                  "neighbours come from; default: those of training")
      ->type_name("FILE")
      ->required();
  addOverrides(command, arguments.options.overrides);
}

StatusOr<RetrievalRun> RetrievalRun::open(const RetrievalArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec loaded,
                          loadSpecification(arguments.spec, arguments.options));
  if (!loaded.spec.model().has_retrieval())
    return invalidArgument(arguments.spec +
                           ": the model takes in nothing that was retrieved; "
                           "write model.retrieval { }");
  RetrievalRun run;
  run.options = datasetOptionsOf(loaded.spec);
  run.options.cache.note = [](const std::string &line) {
    std::cerr << line + "\n";
  };
  run.length = runLengthOf(loaded.spec);
  HOCKET_ASSIGN_OR_RETURN(
      run.from, runDataOf(loaded.spec, arguments.prefix, arguments.validData));
  HOCKET_RETURN_IF_ERROR(
      data::checkNeighborShape(run.shape(), run.options.sequenceLength));
  return run;
}

StatusOr<std::vector<data::NeighborTarget>>
RetrievalRun::targets(data::Split split,
                      std::vector<std::string> &corpus) const {
  HOCKET_ASSIGN_OR_RETURN(
      data::RunSamplesRequest request,
      data::resolveRunSamples(from, options, length, split));
  corpus = request.options.retrieval->corpus;
  std::vector<uint64_t> samples =
      data::samplesOfParts(request.parts, request.samples);
  std::vector<data::NeighborTarget> targets;
  for (size_t i = 0; i < request.parts.size(); ++i) {
    HOCKET_ASSIGN_OR_RETURN(std::string prefix,
                            data::resolvePrefix(request.parts[i].prefix));
    HOCKET_ASSIGN_OR_RETURN(data::IndexedDataset file,
                            data::IndexedDataset::open(prefix));
    data::NeighborTarget &target = targets.emplace_back();
    target.file = std::make_shared<const data::IndexedDataset>(std::move(file));
    HOCKET_ASSIGN_OR_RETURN(
        target.text, data::GptDataset::create(target.file, request.options,
                                              request.split, samples[i]));
    target.options = request.options;
    target.split = request.split;
    target.samples = samples[i] > 0 ? samples[i] : target.text->size();
  }
  return targets;
}
