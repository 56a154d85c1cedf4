//===- TrainCommand.cpp - `hocket train` ----------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/TrainCommand.h"

#include "runtime/program/ProgramFile.h"
#include "runtime/tools/OptionValues.h"
#include "runtime/train/TrainingRun.h"

#include <iostream>
#include <limits>
#include <memory>

using namespace hocket;

namespace {
struct TrainArguments {
  std::string input;
  TrainingOptions options;
  ProgramResolver resolver;
};
} // namespace

static Status run(TrainArguments &arguments) {
  HOCKET_ASSIGN_OR_RETURN(program::Program program,
                          arguments.resolver.resolve(arguments.input));
  arguments.options.print = [](const std::string &line) {
    std::cout << line << std::endl;
  };
  return runTraining(
      std::make_shared<const program::Program>(std::move(program)),
      arguments.options);
}

void hocket::registerTrain(CLI::App &app, Status &result,
                           ProgramResolver resolver) {
  auto arguments = std::make_shared<TrainArguments>();
  arguments->resolver = std::move(resolver);
  if (!arguments->resolver.resolve)
    arguments->resolver.resolve = readProgram;
  TrainingOptions &options = arguments->options;
  CLI::App *command = app.add_subcommand("train", "Train a model");
  command
      ->add_option("INPUT", arguments->input,
                   arguments->resolver.inputDescription)
      ->required();
  command
      ->add_option("--data", options.data,
                   "Token files made by `hocket data prepare`, or a blend: "
                   "WEIGHT PREFIX WEIGHT PREFIX ...")
      ->type_name("PREFIX");
  wantWhole(command->add_option("--steps", options.steps,
                                "Stop when so many steps are done in all; 0 "
                                "with --save writes the initial weights"));
  wantPath(
      command->add_option("--save", options.saveDir, "Write checkpoints here"))
      ->type_name("DIR");
  command
      ->add_option("--load", options.loadDir,
                   "Continue the run whose checkpoints are here")
      ->type_name("DIR");
  wantPath(command->add_option("--log", options.logFile,
                               "Write a JSON object per step and validation "
                               "here"))
      ->type_name("FILE");
  wantPath(command->add_option("--trace", options.traceFile,
                               "Write when each instruction of each rank ran "
                               "here, for Perfetto"))
      ->type_name("FILE");
  wantWhole(command->add_option("--seed", options.seed,
                                "Of first values, data order and dropout"),
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
      "Have a GPU do a step as one CUDA graph: auto, where it can be done; on, "
      "or fail; off. Not with --profile or --trace, nor with ranks whose "
      "messages go through host memory; with several GPUs of one process only "
      "if on");
  if (arguments->resolver.addOptions)
    arguments->resolver.addOptions(*command);
  command->footer(
      "The ranks of a program are threads of this process. Started by mpirun, "
      "srun or torchrun, this process is one rank.\n\nCtrl-C ends the step, "
      "saves if --save is given, and exits with status 1.\n\nExample:\n  "
      "hocket train nano.hkx --data data/books --save run "
      "--log run.jsonl\n  hocket train nano.hkx --data data/books --load run "
      "--save run\n  mpirun -np 8 hocket train nano8.hkx --data data/books "
      "--save "
      "run");
  command->callback([arguments, &result] { result = run(*arguments); });
}
