//===- ProgramTimes.h - Where steps of small programs go --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Small trainings that the compiler makes and a device runs, each instruction
/// measured: what GEMMs, attention and generated kernels take with the
/// layouts, the fusions and the caches of a step. They are of other sizes than
/// the plans that predictions are tested on.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TOOLS_CALIBRATE_PROGRAMTIMES_H
#define HOCKET_COMPILER_TOOLS_CALIBRATE_PROGRAMTIMES_H

#include "passes/planning/calibration/Measurements.h"
#include "runtime/comm/interfaces/Communicator.h"
#include "runtime/hal/interfaces/Device.h"
#include "runtime/program/program.pb.h"

#include <functional>
#include <memory>

namespace hocket::planning {

/// Compiles a specification, a file, for one rank.
using CompileProgram =
    std::function<StatusOr<program::Program>(const std::string &path)>;

struct SmallProgram {
  ProgramSample sample; ///< Without times.
  std::shared_ptr<const program::Program> program;
};

/// All of them, or the first two.
StatusOr<std::vector<SmallProgram>>
compileSmallPrograms(const CompileProgram &compile, bool isShort);

/// Runs steps of a program on a device that has nothing yet, beside those of
/// the world's other ranks, for about `seconds` and twice at least: the median
/// of what they took, kind by kind, as a step is what most steps are.
StatusOr<ProgramSample> timeProgram(const SmallProgram &small,
                                    std::unique_ptr<hal::Device> device,
                                    comm::Communicator &world, double seconds);

} // namespace hocket::planning

#endif // HOCKET_COMPILER_TOOLS_CALIBRATE_PROGRAMTIMES_H
