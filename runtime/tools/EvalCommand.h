//===- EvalCommand.h - `hocket eval` ----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measures a trained model. docs/inference.md says what each figure is.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_EVALCOMMAND_H
#define HOCKET_RUNTIME_TOOLS_EVALCOMMAND_H

#include "runtime/tools/ProgramInput.h"

namespace hocket {

/// Adds `eval` with its commands to `app`. Each of them gets a resolver of its
/// own from `makeResolver`.
void registerEval(CLI::App &app, Status &result,
                  const std::function<ProgramResolver()> &makeResolver);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_EVALCOMMAND_H
