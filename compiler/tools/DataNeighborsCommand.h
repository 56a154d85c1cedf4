//===- DataNeighborsCommand.h - hocket data neighbors -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_DATANEIGHBORSCOMMAND_H
#define HOCKET_COMPILER_TOOLS_DATANEIGHBORSCOMMAND_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace hocket {

/// How an embedder's program is compiled.
struct EmbedderRequest {
  std::string input;   ///< An executable, a specification, a folder.
  uint64_t rows = 0;   ///< Texts at a time.
  uint64_t length = 0; ///< Tokens of a text; fewer if the model has less.
};
using EmbedderCompiler =
    std::function<StatusOr<program::Program>(const EmbedderRequest &)>;

/// Adds the commands `neighbors` and `chunks` to `data`. Each runs while the
/// command line is parsed and leaves its outcome in `result`, which must
/// outlive `data`.
void registerDataNeighbors(CLI::App &data, Status &result,
                           const EmbedderCompiler &compiler);
void registerDataChunks(CLI::App &data, Status &result);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_DATANEIGHBORSCOMMAND_H
