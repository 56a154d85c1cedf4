//===- TokenizerTrainCommand.h - `hocket tokenizer train` -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes a byte-level BPE of a corpus, as a folder of files that other
/// libraries read too.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_DATA_TOKENIZERTRAINCOMMAND_H
#define HOCKET_RUNTIME_TOOLS_DATA_TOKENIZERTRAINCOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `train` to `tokenizer`.
void registerTokenizerTrain(CLI::App &tokenizer, Status &result);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_DATA_TOKENIZERTRAINCOMMAND_H
