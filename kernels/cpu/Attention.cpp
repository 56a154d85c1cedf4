//===- Attention.cpp - Attention on the CPU -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Attention.h"

namespace hocket::kernels {

KernelError attentionForward(const AttentionForwardArguments &args,
                             Workers &workers) {
  return reference::attentionForward(args);
}

KernelError attentionBackward(const AttentionBackwardArguments &args,
                              Workers &workers) {
  return reference::attentionBackward(args);
}

} // namespace hocket::kernels
