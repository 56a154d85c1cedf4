//===- ScanWork.cpp - What a call of a scan computes ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/ScanWork.h"

#include "base/ScanFlops.h"

using namespace hocket;

/// Sequences, tokens, heads, the width of each, and numbers of a state (of the
/// integers, which kernels/library/Library.h lists).
double hocket::scannedStates(const program::Library &call) {
  bool isScan = call.op() == "state_scan" || call.op() == "state_scan_gradient";
  if (!isScan || call.integers_size() < 7)
    return 0;
  double states = 1;
  for (int i : {1, 2, 3, 4, 6})
    states *= double(call.integers(i));
  return states;
}

double hocket::scanFlops(const program::Library &call) {
  bool isBack = call.op() == "state_scan_gradient";
  return scannedStates(call) * (kScanFlops + (isBack ? kScanBackFlops : 0));
}
