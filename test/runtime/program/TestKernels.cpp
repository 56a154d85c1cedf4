//===- TestKernels.cpp - Kernels for hand-built programs ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Compiled into a shared object of its own, as the compiler's kernels are.
//
//===----------------------------------------------------------------------===//

#include <cstdint>

/// m = 0.9 m + g, w -= rate[0] m, for elements [begin, end).
/// Buffers: w, m, g, rate; all f32.
extern "C" void momentumUpdate(void *const *buffers, const int64_t *,
                               int64_t begin, int64_t end) {
  auto *w = static_cast<float *>(buffers[0]);
  auto *m = static_cast<float *>(buffers[1]);
  const auto *g = static_cast<const float *>(buffers[2]);
  float rate = *static_cast<const float *>(buffers[3]);
  for (int64_t i = begin; i < end; ++i) {
    m[i] = 0.9f * m[i] + g[i];
    w[i] -= rate * m[i];
  }
}

/// out[i] = in[i] + scalars[0], i32.
extern "C" void addScalar(void *const *buffers, const int64_t *scalars,
                          int64_t begin, int64_t end) {
  const auto *in = static_cast<const int32_t *>(buffers[0]);
  auto *out = static_cast<int32_t *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    out[i] = in[i] + int32_t(scalars[0]);
}
