//===- CrossEntropy.cpp - CrossEntropy on the CPU -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/CrossEntropy.h"

namespace hocket::kernels {

KernelError crossEntropyForward(const CrossEntropyForwardArguments &args,
                                Workers &workers) {
  return reference::crossEntropyForward(args);
}

KernelError crossEntropyBackward(const CrossEntropyBackwardArguments &args,
                                 Workers &workers) {
  return reference::crossEntropyBackward(args);
}

} // namespace hocket::kernels
