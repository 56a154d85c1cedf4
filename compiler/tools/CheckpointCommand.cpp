//===- CheckpointCommand.cpp - hocket checkpoint -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/CheckpointCommand.h"

#include "compiler/tools/ModelDims.h"
#include "compiler/tools/SpecOptions.h"
#include "frontends/FrontEnd.h"
#include "frontends/huggingface/WriteConfig.h"
#include "runtime/checkpoint/HuggingFace.h"
#include "runtime/tools/CheckpointTools.h"
#include "runtime/tools/CommandLine.h"
#include "runtime/tools/OptionValues.h"

#include <iostream>
#include <memory>

using namespace hocket;

namespace {

struct CheckpointArguments {
  std::string input, output, spec;
  std::string format = "huggingface";
  spec::LoadOptions options;
};

/// The model that a checkpoint was trained from, as it says itself.
StatusOr<spec::LoadedSpec> specOf(const checkpoint::Checkpoint &checkpoint) {
  if (checkpoint.state().specText.empty())
    return invalidArgument(checkpoint.path() +
                           ": the checkpoint does not say which model it is "
                           "of; give --spec");
  return spec::parseSpec(checkpoint.state().specText,
                         checkpoint.path() + "/manifest.json");
}

Status runExport(const CheckpointArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(auto checkpoint,
                          checkpoint::Checkpoint::open(arguments.input));
  auto loaded = arguments.spec.empty()
                    ? specOf(checkpoint)
                    : loadSpecification(arguments.spec, arguments.options);
  if (!loaded.ok())
    return loaded.status();
  const spec::Model &model = loaded->spec.model();
  checkpoint::HuggingFaceExport to;
  to.dir = arguments.output;
  HOCKET_ASSIGN_OR_RETURN(to.family, huggingface::familyOf(model));
  HOCKET_ASSIGN_OR_RETURN(to.configText, huggingface::writeConfig(model));
  HOCKET_RETURN_IF_ERROR(
      checkpoint::exportHuggingFace(checkpoint, dimsOf(model), to));
  std::cout << arguments.output << ": a " << to.family << " model of step "
            << checkpoint.state().step << "\n";
  return okStatus();
}

Status runImport(const CheckpointArguments &arguments) {
  const std::string &specPath =
      arguments.spec.empty() ? arguments.input : arguments.spec;
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec loaded,
                          loadSpecification(specPath, arguments.options));
  const spec::Model &model = loaded.spec.model();
  HOCKET_ASSIGN_OR_RETURN(std::string family, huggingface::familyOf(model));
  HOCKET_ASSIGN_OR_RETURN(auto folder,
                          checkpoint::HuggingFaceFolder::open(arguments.input));
  HOCKET_ASSIGN_OR_RETURN(auto tensors, checkpoint::importHuggingFace(
                                            folder, family, dimsOf(model)));
  checkpoint::RunState state;
  state.seed = loaded.spec.training().seed();
  state.specText = spec::printSpec(loaded.spec);
  HOCKET_RETURN_IF_ERROR(
      checkpoint::saveCheckpoint(arguments.output, state, tensors));
  std::cout << arguments.output << ": " << tensors.size() << " tensors of a "
            << family << " model\n";
  return okStatus();
}

void addArguments(CLI::App &command, CheckpointArguments &arguments,
                  const char *inputText) {
  command.add_option("DIR", arguments.input, inputText)->required();
  wantPath(command.add_option("-o,--output", arguments.output,
                              "The folder to write"))
      ->type_name("DIR")
      ->required();
  wantOneOf(
      command.add_option("--format", arguments.format, "What the folder is"),
      {"huggingface"})
      ->capture_default_str();
  command
      .add_option("--spec", arguments.spec,
                  "The model's specification; default: what DIR says")
      ->type_name("FILE");
  addOverrides(command, arguments.options.overrides);
}

} // namespace

void hocket::registerCheckpoint(CLI::App &app, Status &result) {
  auto exporting = std::make_shared<CheckpointArguments>();
  auto importing = std::make_shared<CheckpointArguments>();
  CLI::App *command = addCommand(
      app, "checkpoint", "Look at checkpoints, compare and convert them");
  command->require_subcommand(1);
  registerCheckpointTools(*command, result);
  CLI::App *out =
      addCommand(*command, "export",
                 "Write a checkpoint as a Hugging Face folder: config.json and "
                 "model.safetensors");
  out->footer("Example:\n  hocket checkpoint export run -o run-hf");
  addArguments(*out, *exporting, "A checkpoint, or one iteration of it");
  out->callback([exporting, &result] { result = runExport(*exporting); });
  CLI::App *in = addCommand(*command, "import",
                            "Make a checkpoint of a Hugging Face folder");
  in->footer("Example:\n  hocket checkpoint import Qwen3-0.6B -o start\n  "
             "hocket train Qwen3-0.6B --data data/books --load start --save "
             "run");
  addArguments(*in, *importing, "A Hugging Face folder");
  in->callback([importing, &result] { result = runImport(*importing); });
}
