//===- Rope.cpp - Rope on the CPU -----------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Rope.h"

namespace hocket::kernels {

KernelError ropeTable(const RopeTableArguments &args, Workers &workers) {
  return reference::ropeTable(args);
}

KernelError rope(const RopeArguments &args, Workers &workers) {
  return reference::rope(args);
}

} // namespace hocket::kernels
