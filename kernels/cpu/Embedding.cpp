//===- Embedding.cpp - Embedding on the CPU -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Embedding.h"

namespace hocket::kernels {

KernelError embedding(const EmbeddingArguments &args, Workers &workers) {
  return reference::embedding(args);
}

KernelError embeddingGradient(const EmbeddingGradientArguments &args,
                              Workers &workers) {
  return reference::embeddingGradient(args);
}

} // namespace hocket::kernels
