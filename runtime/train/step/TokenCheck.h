//===- TokenCheck.h - Data against the vocabulary ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A token outside the vocabulary is found before the first step, not where
/// the data's order happens to bring it up. Every token is read once, and only
/// where its type can hold such a token. What was found of a large file is kept
/// in the folder of caches (HOCKET_CACHE) for as long as the file stays as it
/// is: another start does not read it again.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_STEP_TOKENCHECK_H
#define HOCKET_RUNTIME_TRAIN_STEP_TOKENCHECK_H

#include "base/Status.h"
#include "runtime/telemetry/StatusLine.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hocket {

/// Compares the token files that the words of `--data` name with the
/// vocabulary. DataLoss names file, sequence, position and token; Unavailable
/// if `interrupted` becomes true. What takes long is said in `output`.
Status checkTokens(const std::vector<std::string> &words,
                   uint64_t vocabularySize, const RunOutput &output,
                   const std::function<bool()> &interrupted);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_STEP_TOKENCHECK_H
