//===- hocket.cpp - The driver --------------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// One program for all commands. Exit status: 0 done, 1 failed, 2 the command
// line or an input was wrong.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Compile.h"
#include "compiler/targets/cpu/KernelObjects.h"
#include "compiler/tools/CheckpointCommand.h"
#include "compiler/tools/CompileCommand.h"
#include "compiler/tools/DataNeighborsCommand.h"
#include "compiler/tools/DataShowCommand.h"
#include "compiler/tools/ImportWeights.h"
#include "compiler/tools/SpecOptions.h"
#include "compiler/tools/StrategyExport.h"
#include "compiler/tools/calibrate/CalibrateCommand.h"
#include "compiler/tools/planning/AccuracyCommand.h"
#include "compiler/tools/planning/MemoryCommand.h"
#include "compiler/tools/planning/PlanCommand.h"
#include "compiler/tools/planning/ProgramPrice.h"
#include "compiler/tools/planning/StrategyCommand.h"
#include "frontends/FrontEnd.h"
#include "runtime/program/NativeOrigin.h"
#include "runtime/program/file/ProgramFile.h"
#include "runtime/tools/AskCommand.h"
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

#include "llvm/Config/llvm-config.h"

#include <algorithm>
#include <memory>

using namespace hocket;

/// What a command does with a program.
enum class Asks { Training, Evaluation, Writing };

/// Commands that run a program take a specification too, which they compile
/// first, to do what they ask for.
static ProgramResolver compilingResolver(Asks asks) {
  auto options = std::make_shared<spec::LoadOptions>();
  options->anyBatch = asks != Asks::Training;
  ProgramResolver resolver;
  resolver.inputDescription =
      "An executable (.hkx), a specification, a Hugging Face folder, a run's "
      "folder or .mlir";
  resolver.takesRuns = true;
  resolver.importWeights = importWeights;
  resolver.addOptions = [options, asks](CLI::App &command) {
    if (asks != Asks::Training)
      addRows(command, *options);
    addSpecOptions(command, *options);
  };
  resolver.resolve =
      [options, asks](const std::string &input) -> StatusOr<program::Program> {
    if (input.ends_with(".hkx")) {
      if (!options->empty())
        return invalidArgument(
            input + (asks == Asks::Training ? ": --set" : ": --rows, --set") +
            ", --plan and --mesh change a specification; compile it again");
      return readProgram(input);
    }
    CompileRequest request;
    request.input = input;
    request.spec = *options;
    request.entries.train = asks == Asks::Training;
    request.entries.generate = request.anyEntries = asks == Asks::Writing;
    request.kernelObjects = cpu::KernelObjects::kept();
    HOCKET_ASSIGN_OR_RETURN(CompileResult result, compile(request));
    (void)noteNativeCode(result.program);
    return std::move(result.program);
  };
  return resolver;
}

static StatusOr<program::Program>
compileEmbedder(const EmbedderRequest &embedder) {
  if (embedder.input.ends_with(".hkx"))
    return readProgram(embedder.input);
  CompileRequest request;
  request.input = embedder.input;
  request.spec.anyBatch = true;
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec loaded,
                          loadSpecification(request.input, request.spec));
  uint64_t length =
      std::min(embedder.length, uint64_t(loaded.spec.model().max_positions()));
  request.spec.overrides = {
      "training.sequence_length=" + std::to_string(length),
      "training.micro_batch_size=" + std::to_string(embedder.rows)};
  request.entries.train = false;
  request.entries.embed = true;
  request.kernelObjects = cpu::KernelObjects::kept();
  HOCKET_ASSIGN_OR_RETURN(CompileResult result, compile(request));
  (void)noteNativeCode(result.program);
  return std::move(result.program);
}

static StatusOr<program::Program>
compileForCalibration(const std::string &path) {
  CompileRequest request;
  request.input = path;
  request.kernelObjects = cpu::KernelObjects::kept();
  HOCKET_ASSIGN_OR_RETURN(CompileResult result, compile(request));
  return std::move(result.program);
}

int main(int argc, char **argv) {
  CLI::App app("Hocket compiles a transformer's specification into a training "
               "executable\nand runs it.");
  app.name("hocket");
  app.footer("Examples:\n  hocket data prepare book.txt -o book --tokenizer "
             "byte\n  hocket compile examples/nano/spec.textproto -o nano.hkx\n"
             "  hocket train nano.hkx --data book --save run");
  app.require_subcommand(1);
  Status result;
  registerCompile(app, result);
  registerTrain(app, result, compilingResolver(Asks::Training));
  registerEval(app, result, [] { return compilingResolver(Asks::Evaluation); });
  registerGenerate(app, result, compilingResolver(Asks::Writing));
  registerServe(app, result, compilingResolver(Asks::Writing));
  registerAsk(app, result);
  registerInspect(app, result, priceProgram);
  registerExplain(app, result);
  registerTrace(app, result, priceProgram);
  registerVerify(app, result);
  CLI::App *data = addCommand(app, "data", "Prepare and show token files");
  data->require_subcommand(1);
  registerDataPrepare(*data, result);
  registerDataMerge(*data, result);
  registerDataInspect(*data, result);
  registerDataShow(*data, result);
  registerDataChunks(*data, result);
  registerDataNeighbors(*data, result, compileEmbedder);
  registerTokenizer(app, result);
  registerCheckpoint(app, result);
  registerPlan(app, result);
  registerSimulate(app, result);
  registerAccuracy(app, result);
  registerCalibrate(app, result, compileForCalibration);
  registerMemory(app, result);
  registerStrategyExport(*registerStrategy(app, result), result);
  registerDoctor(app, result);
  addHelpAndVersion(app, result, "\nLLVM " LLVM_VERSION_STRING);
  return runCommandLine(app, argc, argv, result);
}
