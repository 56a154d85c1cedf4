//===- WritingOptions.h - How a model is to write ------------- -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_WRITINGOPTIONS_H
#define HOCKET_RUNTIME_TOOLS_WRITINGOPTIONS_H

#include "runtime/inference/Sampling.h"
#include "runtime/tools/command_line/CommandLine.h"

#include <string>
#include <vector>

namespace hocket {

/// The options of every command that has a model write.
struct WritingOptions {
  uint64_t tokens = 128;
  inference::SamplingOptions sampling;
  bool greedy = false;
  std::vector<std::string> stops;
  bool ignoreEnd = false;

  /// With what --greedy says.
  inference::SamplingOptions chosenSampling() const;
};

/// Adds them; they go to `options`, which outlives the command.
void addWritingOptions(CLI::App &command, WritingOptions &options);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_WRITINGOPTIONS_H
