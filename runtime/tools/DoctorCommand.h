//===- DoctorCommand.h - `hocket doctor` ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_DOCTORCOMMAND_H
#define HOCKET_RUNTIME_TOOLS_DOCTORCOMMAND_H

#include "base/Status.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace hocket {

/// One thing that a machine has or lacks.
struct Finding {
  std::string name; ///< "AVX-512"
  bool found = false;
  bool needed = false; ///< Without it the cpu target cannot train or compile.
  std::string detail;  ///< What was found, or what it is for and how to get it.
};

/// Looks at this machine: processor, instruction sets, cores, memory, and the
/// libraries and programs that targets load at run time. Starts nothing.
std::vector<Finding> examineMachine();

/// Adds the command `doctor`. FailedPrecondition (exit status 1) if something
/// needed is missing.
void registerDoctor(CLI::App &app, Status &result);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_DOCTORCOMMAND_H
