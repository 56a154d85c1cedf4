//===- Rope.cpp - Rotary position embedding -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/Rope.h"

#include <cmath>

namespace hocket::kernels {

KernelError reference::ropeTable(const RopeTableArguments &args) {
  int64_t half = args.headDim / 2;
  for (int64_t s = 0; s < args.sequence; ++s)
    for (int64_t i = 0; i < half; ++i) {
      auto position = static_cast<double>(tablePosition(args, s));
      double angle = position * args.frequencies[i];
      store(args.table, (s * half + i) * 2, std::cos(angle));
      store(args.table, (s * half + i) * 2 + 1, std::sin(angle));
    }
  return nullptr;
}

KernelError reference::rope(const RopeArguments &args) {
  int64_t half = args.rotated / 2;
  for (int64_t r = 0; r < args.batch * args.sequence * args.heads; ++r) {
    for (int64_t i = 0; i < half; ++i) {
      int64_t angle = (r / args.heads % args.sequence * half + i) * 2;
      double c = load(args.table, angle), s = load(args.table, angle + 1);
      int64_t at = r * args.headDim + i;
      double x0 = load(args.x, at), x1 = load(args.x, at + half);
      s = args.inverse ? -s : s;
      store(args.y, at, x0 * c - x1 * s);
      store(args.y, at + half, x1 * c + x0 * s);
    }
    for (int64_t i = args.rotated; i < args.headDim; ++i)
      store(args.y, r * args.headDim + i, load(args.x, r * args.headDim + i));
  }
  return nullptr;
}

} // namespace hocket::kernels
