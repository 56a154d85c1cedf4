//===- ScanWork.h - What a call of a scan computes --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_SCANWORK_H
#define HOCKET_RUNTIME_PREDICT_SCANWORK_H

#include "runtime/program/program.pb.h"

namespace hocket {

/// Numbers of states, of all tokens together, that a call of state_scan,
/// state_scan_gradient or cached_scan goes through; 0 of another op, or of one
/// with fewer integers than it should have.
double scannedStates(const program::Library &call);

/// FLOPs of such a call.
double scanFlops(const program::Library &call);

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_SCANWORK_H
