//===- Gemm.cpp - Matrix products on the CPU ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Gemm.h"

namespace hocket::kernels {
namespace {

/// Where element (p, j) of op(B) lies in the packed form.
int64_t packedIndex(DType dtype, int64_t k, int64_t p, int64_t j) {
  int64_t panel = j / 32 * (k + k % 2) * 32;
  if (dtype == DType::BF16)
    return panel + (p / 2 * 32 + j % 32) * 2 + p % 2;
  return panel + p * 32 + j % 32;
}

View packedView(DType dtype, void *data) {
  return {data, dtype == DType::BF16 ? DType::BF16 : DType::F32};
}

float product(const GemmArguments &args, int64_t i, int64_t j) {
  float sum = 0;
  for (int64_t p = 0; p < args.k; ++p) {
    int64_t a = args.transposeA ? p * args.m + i : i * args.k + p;
    int64_t b = args.transposeB ? j * args.k + p : p * args.n + j;
    ConstView from = args.b;
    if (args.packedB) {
      from = packedView(args.b.dtype, const_cast<void *>(args.b.data));
      b = packedIndex(args.b.dtype, args.k, p, j);
    }
    sum += static_cast<float>(load(args.a, a) * load(from, b));
  }
  return sum;
}

void row(const GemmArguments &args, int64_t i) {
  for (int64_t j = 0; j < args.n; ++j) {
    int64_t at = i * args.n + j;
    double v = args.alpha * product(args, i, j);
    v += args.accumulate ? load(args.d, at) : 0;
    v += args.bias ? load(args.bias, j) : 0;
    double residual = args.residual ? load(args.residual, at) : 0;
    if (args.auxiliary)
      store(args.auxiliary, at, v);
    store(args.d, at, reference::activate(args.epilogue, v) + residual);
  }
}

} // namespace

KernelError gemm(const GemmArguments &args, Workers &workers) {
  auto task = [&](int64_t i, int) { row(args, i); };
  workers.run(args.m, task);
  return nullptr;
}

KernelError gemmPack(const GemmPackArguments &args, Workers &workers) {
  View to = packedView(args.b.dtype, args.packed);
  auto task = [&](int64_t panel, int) {
    for (int64_t p = 0; p < args.k + args.k % 2; ++p)
      for (int64_t j = panel * 32; j < panel * 32 + 32; ++j) {
        bool inside = p < args.k && j < args.n;
        int64_t from = args.transpose ? j * args.k + p : p * args.n + j;
        store(to, packedIndex(args.b.dtype, args.k, p, j),
              inside ? load(args.b, from) : 0);
      }
  };
  workers.run((args.n + 31) / 32, task);
  return nullptr;
}

} // namespace hocket::kernels
