//===- WritingOptions.h - How a model is to write ------------- -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_WRITINGOPTIONS_H
#define HOCKET_RUNTIME_TOOLS_WRITINGOPTIONS_H

#include "runtime/inference/GenerationConfig.h"
#include "runtime/tools/command_line/CommandLine.h"

#include <string>
#include <vector>

namespace hocket {

/// The most tokens for a prompt where nobody says it.
inline constexpr uint64_t usualTokens = 128;

/// The options of every command that has a model write. What is not given is
/// for others to say: the model's files, or a server.
struct WritingOptions {
  inference::WritingChoices given; ///< But for --greedy and --stop.
  bool greedy = false;
  uint64_t seed = inference::SamplingOptions().seed;
  std::vector<std::string> stops;
  bool ignoreEnd = false;

  /// With what --greedy and --stop say.
  inference::WritingChoices choices() const;
};

/// Adds them; they go to `options`, which outlives the command.
/// `defaultTokens`: what help says of --tokens where it is not given.
void addWritingOptions(CLI::App &command, WritingOptions &options,
                       const std::string &defaultTokens);

/// Adds `--ignore-generation-config`.
void addGenerationConfigUse(CLI::App &command, bool &ignores);

/// What the files beside a tokenizer say of how to write; nothing if it
/// `ignores` them. InvalidArgument as readGenerationConfig().
StatusOr<inference::GenerationConfig>
openGenerationConfig(const std::string &tokenizer, bool ignores);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_WRITINGOPTIONS_H
