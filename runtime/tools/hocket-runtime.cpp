//===- hocket-runtime.cpp - The commands that need no compiler ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// What a machine needs that only trains: no LLVM, no MLIR. Exit status: 0
// done, 1 failed, 2 the command line or an input was wrong.
//
//===----------------------------------------------------------------------===//

#include "runtime/tools/AskCommand.h"
#include "runtime/tools/CheckpointTools.h"
#include "runtime/tools/DoctorCommand.h"
#include "runtime/tools/EvalCommand.h"
#include "runtime/tools/ExplainCommand.h"
#include "runtime/tools/GenerateCommand.h"
#include "runtime/tools/InspectCommand.h"
#include "runtime/tools/ServeCommand.h"
#include "runtime/tools/TraceCommand.h"
#include "runtime/tools/TrainCommand.h"
#include "runtime/tools/VerifyCommand.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/data/DataCommand.h"
#include "runtime/tools/data/TokenizerCommand.h"

using namespace hocket;

int main(int argc, char **argv) {
  CLI::App app("Runs what Hocket has compiled.");
  app.name("hocket-runtime");
  app.require_subcommand(1);
  Status result;
  registerTrain(app, result);
  registerEval(app, result, [] { return ProgramResolver(); });
  registerGenerate(app, result, {});
  registerServe(app, result, {});
  registerAsk(app, result);
  registerInspect(app, result);
  registerExplain(app, result);
  registerTrace(app, result);
  registerVerify(app, result);
  CLI::App *data = addCommand(app, "data", "Prepare token files");
  data->require_subcommand(1);
  registerDataPrepare(*data, result);
  registerDataMerge(*data, result);
  registerDataInspect(*data, result);
  registerTokenizer(app, result);
  CLI::App *checkpoint =
      addCommand(app, "checkpoint", "Inspect and compare checkpoints");
  checkpoint->require_subcommand(1);
  registerCheckpointTools(*checkpoint, result);
  registerDoctor(app, result);
  addHelpAndVersion(app, result);
  return runCommandLine(app, argc, argv, result);
}
