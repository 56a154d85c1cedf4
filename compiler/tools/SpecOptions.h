//===- SpecOptions.h - Options of commands that take a spec -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_SPECOPTIONS_H
#define HOCKET_COMPILER_TOOLS_SPECOPTIONS_H

#include "frontends/spec/LoadSpec.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace hocket {

/// Adds `--set`, which overrides fields of a spec. `overrides` must outlive
/// `command`.
void addOverrides(CLI::App &command, std::vector<std::string> &overrides);

/// Adds `--rows` to a command that asks a model: training.micro_batch_size by
/// the name that says what it is good for there.
void addRows(CLI::App &command, spec::LoadOptions &options);

/// Adds `--set`, `--plan` and the options that stand for fields of a plan
/// (`--mesh`, ...) to a command that takes a SPEC. `options` must outlive it.
void addSpecOptions(CLI::App &command, spec::LoadOptions &options);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_SPECOPTIONS_H
