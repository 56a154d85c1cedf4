//===- TrainCommand.cpp - `hocket train` ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/TrainCommand.h"

#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/train/TrainingRun.h"

#include <csignal>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <unistd.h>

using namespace hocket;

namespace {
struct TrainArguments {
  explicit TrainArguments(ProgramResolver resolver)
      : program(std::move(resolver)) {}

  ProgramInput program;
  std::string traceSteps;
  TrainingOptions options;
};
} // namespace

/// What somebody should know who gives a folder with weights for the model
/// alone; empty for any other input.
static std::string unusedWeights(const std::string &input) {
  std::filesystem::path folder = input;
  auto has = [&](const char *name) {
    std::error_code ignored;
    return std::filesystem::exists(folder / name, ignored);
  };
  bool hasTensors =
      has("model.safetensors") || has("model.safetensors.index.json");
  if (!hasTensors && !has("pytorch_model.bin"))
    return "";
  std::string first = hasTensors ? "" : "save them as safetensors and ";
  return "the weights in " + input +
         " are not used: this run starts from first values. To start from "
         "them, " +
         first + "say --load " + input + " --finetune";
}

/// Whether `dir` has a model of others and no checkpoint of a run.
static bool isForeign(const std::string &dir) {
  auto has = [&](const char *name) {
    std::error_code ignored;
    return std::filesystem::exists(std::filesystem::path(dir) / name, ignored);
  };
  return has("config.json") && !has("manifest.json") &&
         !has("latest_checkpointed_iteration.txt");
}

static Status importWeights(TrainArguments &arguments,
                            const program::Program &program) {
  TrainingOptions &options = arguments.options;
  if (!options.finetune || !isForeign(options.loadDir))
    return okStatus();
  const ProgramResolver &resolver = arguments.program.resolver;
  if (!resolver.importWeights)
    return invalidArgument(options.loadDir +
                           ": is a Hugging Face folder; `hocket` reads it, or "
                           "makes a checkpoint of it with `hocket checkpoint "
                           "import`");
  HOCKET_ASSIGN_OR_RETURN(options.imported,
                          resolver.importWeights(options.loadDir, program));
  return okStatus();
}

static Status run(TrainArguments &arguments) {
  // A run does not end because nobody reads any more what it says.
  ::signal(SIGPIPE, SIG_IGN);
  TrainingOptions &options = arguments.options;
  if (!arguments.traceSteps.empty()) {
    HOCKET_ASSIGN_OR_RETURN(options.traceSteps,
                            parseStepWindow(arguments.traceSteps));
  }
  HOCKET_ASSIGN_OR_RETURN(std::optional<comm::Launch> launch,
                          comm::detectLaunch());
  StatusLine line(std::cout, terminalOf(launch, STDOUT_FILENO));
  options.print = [&line](const std::string &text) { line.print(text); };
  if (line.isTerminal())
    options.show = [&line](const std::string &text) { line.show(text); };
  options.newRunNotice = unusedWeights(arguments.program.input);
  HOCKET_ASSIGN_OR_RETURN(
      OpenedProgram opened,
      openProgram(arguments.program, {options.print, options.show}, launch));
  if (!launch || launch->rank == 0)
    options.startNotice = std::move(opened.nativeNote);
  HOCKET_RETURN_IF_ERROR(importWeights(arguments, *opened.program));
  return runTraining(std::move(opened.program), options);
}

static void addSaving(CLI::App &command, TrainingOptions &options) {
  wantPath(command.add_option(
               "--save", options.saveDir,
               "Write checkpoints here. A folder that holds another run is "
               "refused, unless --load goes on with that run or --overwrite is "
               "given"))
      ->type_name("DIR");
  command
      .add_option("--load", options.loadDir,
                  "Continue the run whose checkpoints are here; with "
                  "--finetune, start a new one from its weights")
      ->type_name("DIR");
  command.add_flag(
      "--finetune", options.finetune,
      "Take only the weights of --load, which may also be a Hugging Face "
      "folder. Steps, optimizer state, the position in the data and the "
      "random stream start anew");
  wantOneOf(command.add_option_function<std::string>(
                "--resume",
                [&options](const std::string &) { options.resume = true; },
                "auto: continue from the newest checkpoint in --save; if "
                "there is none yet, start from --load or from initial "
                "values. For jobs that may be requeued"),
            {"auto"});
  command.add_flag(
      "--overwrite", options.overwrite,
      "Start over if --save, --log or --tensorboard-dir hold another run: the "
      "log is emptied, events are deleted, and checkpoints are deleted once "
      "the first new one is complete. Other files stay");
  wantWhole(command.add_option("--keep", options.keep,
                               "Keep the newest N checkpoints in --save and "
                               "delete older ones (default: keep all)"),
            1)
      ->type_name("N");
  command.add_flag(
      "--async-save", options.savesInBackground,
      "Write the checkpoints of training.save_interval while training goes on, "
      "from a copy that needs as much host memory as the rank saves");
}

void hocket::registerTrain(CLI::App &app, Status &result,
                           ProgramResolver resolver) {
  auto arguments = std::make_shared<TrainArguments>(std::move(resolver));
  TrainingOptions &options = arguments->options;
  CLI::App *command = addCommand(app, "train", "Train a model");
  command
      ->add_option("INPUT", arguments->program.input,
                   arguments->program.resolver.inputDescription)
      ->required();
  command
      ->add_option("--data", options.data,
                   "Token files made by `hocket data prepare`, or a blend: "
                   "WEIGHT PREFIX WEIGHT PREFIX ..., or @FILE with these "
                   "words. Default: training.data.train of the specification")
      ->type_name("PREFIX");
  command
      ->add_option("--valid-data", options.validData,
                   "The same for validation; then --data and this are used "
                   "whole. Default: training.data.valid of the "
                   "specification, or its share of --data")
      ->type_name("PREFIX");
  command->add_flag("--mock-data", options.mockData,
                    "Train and validate on random tokens, to measure speed "
                    "and memory without data");
  wantWhole(command->add_option("--steps", options.steps,
                                "Stop after N steps in total; 0 with --save "
                                "writes the initial weights"));
  addSaving(*command, options);
  wantPath(command->add_option(
               "--log", options.logFile,
               "Write a JSON object per step and validation here. A "
               "continued run appends; the log of another run is refused, "
               "unless --overwrite is given"))
      ->type_name("FILE");
  wantPath(command->add_option(
               "--tensorboard-dir", options.eventsDir,
               "Write the same for TensorBoard here, in a new file each time "
               "that the run is started, with Megatron-LM's names of curves"))
      ->type_name("DIR");
  wantPath(command->add_option("--trace", options.traceFile,
                               "Write a timeline of each rank's instructions "
                               "here, for Perfetto"))
      ->type_name("FILE");
  command
      ->add_option("--trace-steps", arguments->traceSteps,
                   "Trace only these steps, counted from 1: 100:110, or 100 "
                   "(default: all, up to 262,144 instructions of a stream)")
      ->type_name("FIRST:LAST")
      ->needs("--trace");
  wantWhole(command->add_option("--seed", options.seed,
                                "Seed of initial values, data order and "
                                "dropout"),
            0, std::numeric_limits<uint64_t>::max());
  constexpr double mostSeconds = 1e9;
  wantNumber(command->add_option("--hang-timeout", options.hangSeconds,
                                 "Seconds without progress after which a rank "
                                 "counts as hanging and ends the run; 0: never "
                                 "(default: 7)"),
             0, mostSeconds)
      ->type_name("SECONDS");
  command->add_flag("--profile", options.profile,
                    "Measure every instruction and print where the time goes "
                    "(slower)");
  addChoice<GraphUse>(
      *command, "--cuda-graphs", options.graphs,
      {{"auto", GraphUse::Auto}, {"on", GraphUse::On}, {"off", GraphUse::Off}},
      "Run a step on a GPU as one CUDA graph. auto: if possible; on: always, "
      "or fail; off: never. Not with --profile or --trace, nor with ranks "
      "whose messages go through host memory; with several GPUs of one "
      "process only if on");
  addProgramOptions(*command, arguments->program);
  command->footer(
      "The ranks of a program are threads of this process. Started by mpirun, "
      "srun or torchrun, this process is one rank.\n\nCtrl-C ends the step, "
      "saves if --save is given, and exits with status 1.\n\nExample:\n  "
      "hocket train nano.hkx --data data/books --save run "
      "--log run.jsonl\n  hocket train nano.hkx --data data/books --load run "
      "--save run\n  hocket train nano.hkx --data data/letters --load run "
      "--finetune --save tuned\n  hocket train nano.hkx --data data/books "
      "--save run "
      "--resume auto --keep 3\n  mpirun -np 8 hocket train nano8.hkx --data "
      "data/books "
      "--save "
      "run");
  command->callback([arguments, &result] { result = run(*arguments); });
}
