//===- ScanWork.cpp - What a call of a scan computes ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/ScanWork.h"

#include "base/ScanFlops.h"

#include <array>

using namespace hocket;

/// Sequences, tokens, heads, the width of each, and numbers of a state (of the
/// integers, which kernels/library/Library.h lists); tokens of several texts
/// are told as one number.
double hocket::scannedStates(const program::Library &call) {
  bool isCached = call.op() == "cached_scan";
  bool isScan = call.op() == "state_scan" ||
                call.op() == "state_scan_gradient" || isCached;
  if (!isScan || call.integers_size() < 7)
    return 0;
  double states = isCached ? 1 : double(call.integers(2));
  for (int i : isCached ? std::array{1, 2, 3, 5} : std::array{1, 3, 4, 6})
    states *= double(call.integers(i));
  return states;
}

double hocket::scanFlops(const program::Library &call) {
  bool isBack = call.op() == "state_scan_gradient";
  return scannedStates(call) * (kScanFlops + (isBack ? kScanBackFlops : 0));
}
