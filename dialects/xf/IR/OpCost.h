//===- OpCost.h - What an op costs ------------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Counts of work, for local shapes. A fused multiply-add is two floating-point
/// operations; bytes are those that must move at least: every operand once,
/// every result once.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_OPCOST_H
#define HOCKET_DIALECTS_XF_IR_OPCOST_H

namespace hocket::xf {

/// In double, so that a model of any size does not overflow.
struct OpCost {
  double flops = 0;
  double bytesRead = 0;
  double bytesWritten = 0;

  OpCost &operator+=(const OpCost &other) {
    flops += other.flops;
    bytesRead += other.bytesRead;
    bytesWritten += other.bytesWritten;
    return *this;
  }
};

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_IR_OPCOST_H
