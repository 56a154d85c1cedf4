//===- GlobalNorm.cpp - GlobalNorm on the CPU -----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/GlobalNorm.h"

namespace hocket::kernels {

KernelError globalNorm(const GlobalNormArguments &args, Workers &workers) {
  return reference::globalNorm(args);
}

} // namespace hocket::kernels
