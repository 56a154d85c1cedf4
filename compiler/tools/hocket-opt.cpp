//===- hocket-opt.cpp - Runs passes on IR ---------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// mlir-opt for Hocket: every dialect, every pass and every named pipeline,
/// with MLIR's own flags.
///
//===----------------------------------------------------------------------===//

#include "compiler/driver/Registration.h"
#include "frontends/mlir/ModuleText.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

using namespace mlir;
using namespace hocket;

/// One message and status 2, as every program of Hocket ends on a wrong input.
static int refuse(const std::string &message) {
  llvm::errs() << "error: " << message << "\n";
  return 2;
}

/// As MlirOptMain with names of files, but for the look at the text before
/// MLIR's parser gets it.
static int runOnFiles(const std::string &inputName,
                      const std::string &outputName,
                      DialectRegistry &registry) {
  auto config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects())
    return asMainReturnCode(
        MlirOptMain(llvm::outs(), nullptr, registry, config));
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input =
      openInputFile(inputName, &message);
  if (!input)
    return refuse(message);
  if (!isBytecode(*input))
    if (Status status = checkModuleText(input->getBuffer(), inputName);
        !status.ok())
      return refuse(status.message());
  std::unique_ptr<llvm::ToolOutputFile> output =
      openOutputFile(outputName, &message);
  if (!output)
    return refuse(message);
  if (failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return EXIT_FAILURE;
  output->keep();
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  registerDialects(registry);
  registerPasses();
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "Hocket's optimizer driver\n", registry);
  llvm::InitLLVM init(argc, argv);
  return runOnFiles(input, output, registry);
}
