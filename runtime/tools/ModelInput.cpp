//===- ModelInput.cpp - The trained model that a command asks -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/ModelInput.h"

#include "runtime/tools/command_line/OptionValues.h"

#include <iostream>
#include <unistd.h>

using namespace hocket;

void hocket::addModelInput(CLI::App &command, ModelInput &input) {
  const ProgramResolver &resolver = input.program.resolver;
  CLI::Option *program = command.add_option(
      "INPUT", input.program.input,
      resolver.inputDescription +
          (resolver.takesRuns ? "; default: what RUN was trained from" : ""));
  if (!resolver.takesRuns)
    program->required();
  wantPath(command.add_option("--load", input.loadDir,
                              "The run or the checkpoint with the weights"))
      ->required()
      ->type_name("RUN");
}

void hocket::addModelOptions(CLI::App &command, ModelInput &input) {
  constexpr double mostSeconds = 1e9;
  wantNumber(command.add_option("--hang-timeout", input.hangSeconds,
                                "Seconds without progress after which a rank "
                                "counts as hanging and ends the run; 0: never "
                                "(default: 7)"),
             0, mostSeconds)
      ->type_name("SECONDS");
  addProgramOptions(command, input.program);
}

void hocket::addGraphUse(CLI::App &command, ModelInput &input) {
  addChoice<GraphUse>(
      command, "--cuda-graphs", input.graphs,
      {{"auto", GraphUse::Auto}, {"on", GraphUse::On}, {"off", GraphUse::Off}},
      "Generate a token on a GPU as one CUDA graph. auto: if possible; on: "
      "always, or fail; off: never. Not with ranks whose messages go through "
      "host memory; with several GPUs of one process only if on");
}

void hocket::addModelTokenizer(CLI::App &command, std::string &tokenizer) {
  command
      .add_option("--tokenizer", tokenizer,
                  "The model's tokenizer: byte, or a file or folder as for "
                  "`hocket tokenizer`")
      ->required()
      ->type_name("PATH");
}

OpenedModel::OpenedModel(ModelInput &input, std::optional<comm::Launch> how)
    : input(input), launch(std::move(how)),
      line(std::cerr, terminalOf(launch, STDERR_FILENO)) {
  output.print = [this](const std::string &text) { line.print(text); };
  if (line.isTerminal())
    output.show = [this](const std::string &text) { line.show(text); };
}

StatusOr<std::unique_ptr<OpenedModel>> OpenedModel::open(ModelInput &input) {
  HOCKET_ASSIGN_OR_RETURN(std::optional<comm::Launch> launch,
                          comm::detectLaunch());
  auto model =
      std::unique_ptr<OpenedModel>(new OpenedModel(input, std::move(launch)));
  HOCKET_RETURN_IF_ERROR(model->load());
  return model;
}

Status OpenedModel::load() {
  ProgramInput &program = input.program;
  if (program.input.empty())
    program.input = input.loadDir;
  HOCKET_ASSIGN_OR_RETURN(opened, openProgram(program, output, launch));
  if (!opened.nativeNote.empty() && isFirst())
    line.print(opened.nativeNote);
  return okStatus();
}

inference::ModelOptions OpenedModel::options() const {
  return {input.loadDir, input.hangSeconds, output, input.graphs};
}
