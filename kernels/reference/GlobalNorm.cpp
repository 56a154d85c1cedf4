//===- GlobalNorm.cpp - Euclidean norm of many tensors --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/GlobalNorm.h"

#include <cmath>

namespace hocket::kernels {

KernelError reference::globalNorm(const GlobalNormArguments &args) {
  double sum = 0;
  bool nonfinite = false;
  for (const GlobalNormArguments::Tensor &tensor : args.tensors)
    for (int64_t i = 0; i < tensor.count; ++i) {
      double x = load(tensor.values, i);
      sum += x * x;
      nonfinite |= !std::isfinite(x);
    }
  store(args.norm, 0, std::sqrt(sum));
  store(args.nonfinite, 0, nonfinite ? 1 : 0);
  return nullptr;
}

} // namespace hocket::kernels
