//===- ModelInput.h - The trained model that a command asks -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_MODELINPUT_H
#define HOCKET_RUNTIME_TOOLS_MODELINPUT_H

#include "runtime/inference/ModelRun.h"
#include "runtime/tools/ProgramInput.h"

namespace hocket {

/// What the command line says of it.
struct ModelInput {
  explicit ModelInput(ProgramResolver resolver)
      : program(std::move(resolver)) {}

  ProgramInput program;
  std::string loadDir;
  std::optional<double> hangSeconds;
  GraphUse graphs = GraphUse::Auto;
};

/// Adds INPUT and `--load`.
void addModelInput(CLI::App &command, ModelInput &input);

/// Adds what stands behind the command's own options.
void addModelOptions(CLI::App &command, ModelInput &input);

/// Adds `--cuda-graphs`, for commands that write.
void addGraphUse(CLI::App &command, ModelInput &input);

/// Adds `--tokenizer`, required.
void addModelTokenizer(CLI::App &command, std::string &tokenizer);

/// A program that is about to be asked. What is said of its work goes to
/// standard error, since answers go to standard output.
class OpenedModel {
public:
  static StatusOr<std::unique_ptr<OpenedModel>> open(ModelInput &input);

  std::shared_ptr<const program::Program> shared() const {
    return opened.program;
  }
  const program::Program &program() const { return *opened.program; }
  inference::ModelOptions options() const;

  /// Whether this process is the one that speaks.
  bool isFirst() const { return !launch || launch->rank == 0; }
  void clearLine() { line.show(""); }
  /// A line for people.
  void print(const std::string &text) { line.print(text); }

private:
  OpenedModel(ModelInput &input, std::optional<comm::Launch> launch);
  Status load();

  ModelInput &input;
  const std::optional<comm::Launch> launch;
  StatusLine line;
  RunOutput output;
  OpenedProgram opened;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_MODELINPUT_H
