//===- StepWindow.h - Steps of a run ----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TRAIN_STEP_STEPWINDOW_H
#define HOCKET_RUNTIME_TRAIN_STEP_STEPWINDOW_H

#include "base/Status.h"

#include <cstdint>
#include <string>

namespace hocket {

/// Steps from the first to the last, counted from 1.
struct StepWindow {
  uint64_t first = 1, last = UINT64_MAX;
  bool holds(uint64_t step) const { return first <= step && step <= last; }
};

/// "100:110", "100:" or "100", of --trace-steps. InvalidArgument otherwise.
StatusOr<StepWindow> parseStepWindow(const std::string &text);

} // namespace hocket

#endif // HOCKET_RUNTIME_TRAIN_STEP_STEPWINDOW_H
