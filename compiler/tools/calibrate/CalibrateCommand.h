//===- CalibrateCommand.h - hocket calibrate --------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_CALIBRATE_CALIBRATECOMMAND_H
#define HOCKET_COMPILER_TOOLS_CALIBRATE_CALIBRATECOMMAND_H

#include "base/Status.h"

#include "compiler/tools/calibrate/ProgramTimes.h"

#include <CLI/CLI.hpp>

namespace hocket {

/// Adds the command `calibrate`. It runs while the command line is parsed and
/// leaves its outcome in `result`, which must outlive `app`. `compile` makes
/// what is measured of programs.
void registerCalibrate(CLI::App &app, Status &result,
                       planning::CompileProgram compile);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_CALIBRATE_CALIBRATECOMMAND_H
