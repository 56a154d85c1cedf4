//===- ScheduleCheck.h - Whether a plan's schedule exists -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_SCHEDULECHECK_H
#define HOCKET_COMPILER_DRIVER_SCHEDULECHECK_H

#include "frontends/spec/LoadSpec.h"

namespace hocket {

/// S25: the schedule that the plan names exists, or can be read, and runs on
/// the plan's ranks with the training's microbatches. The spec has passed its
/// own checks. InvalidArgument or NotFound, at the place of `plan.schedule`.
Status checkSchedule(const spec::LoadedSpec &loaded);

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_SCHEDULECHECK_H
