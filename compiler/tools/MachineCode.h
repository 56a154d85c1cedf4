//===- MachineCode.h - Machine code of GPU kernels --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_MACHINECODE_H
#define HOCKET_COMPILER_TOOLS_MACHINECODE_H

#include "base/Status.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/program/program.pb.h"

#include <string>
#include <vector>

namespace hocket {

/// InvalidArgument for an architecture that is named twice or that kernels
/// cannot be compiled for; FailedPrecondition without NVRTC. What is checked
/// first costs nobody a compilation.
Status checkArchitectures(const std::vector<std::string> &architectures);

/// The same for --target cpu. Leaves the sets best first, and this machine's in
/// the place of "native". InvalidArgument where a name is none, or stands
/// twice.
Status chooseInstructionSets(std::vector<std::string> &names);

/// The cubins of each source for each architecture ("sm_90a"), those of one
/// source together, compiled on as many threads as the machine has.
/// InvalidArgument, with the compiler's own messages, if one does not compile.
StatusOr<std::vector<std::string>>
machineCode(const std::vector<nvrtc::Source> &sources,
            const std::vector<std::string> &architectures);

/// Puts machine code of every module of `program` before its source.
Status addMachineCode(const std::vector<std::string> &architectures,
                      program::Program &program);

} // namespace hocket

#endif // HOCKET_COMPILER_TOOLS_MACHINECODE_H
