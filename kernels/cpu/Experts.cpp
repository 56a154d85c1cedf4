//===- Experts.cpp - Tokens to experts, and back, on the CPU --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Experts.h"

#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/simd/Kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hocket::kernels {
namespace {

constexpr int64_t kExpertTokensPerTask = 16;
constexpr int64_t kBytesPerTask = int64_t(1) << 18;
/// Channels that are worked on at a time: two such rows of f32 are scratch.
constexpr int64_t kExpertChunk = 1 << 16;

constexpr KernelError kExpertTypes =
    "experts: an element type it does not take";

/// Bytes [begin, end) of `view` become 0.
void zero(View view, int64_t begin, int64_t end, Workers &workers) {
  auto *bytes = static_cast<char *>(view.data);
  auto task = [&](int64_t index, int) {
    int64_t from = begin + index * kBytesPerTask;
    std::memset(bytes + from, 0, std::min(kBytesPerTask, end - from));
  };
  workers.run((end - begin + kBytesPerTask - 1) / kBytesPerTask, task);
}

KernelError check(const SlotShape &shape, const int32_t *slots, DType a,
                  DType b) {
  if (KernelError error = checkProcessor())
    return error;
  if (!isFloating(a) || a != b)
    return kExpertTypes;
  return checkSlots(shape, slots);
}

/// Calls fn(slot index, row, chunk's first channel, channels, scratch) for the
/// chunks of every slot that was not dropped; a token's slots are one worker's.
template <typename Fn>
void forEachSlot(const SlotShape &shape, const int32_t *slots, int64_t width,
                 Workers &workers, Fn fn) {
  auto task = [&](int64_t index, int worker) {
    auto *scratch = reinterpret_cast<float *>(workers.scratch(worker).data());
    int64_t end = std::min(shape.tokens(), (index + 1) * kExpertTokensPerTask) *
                  shape.topK;
    for (int64_t i = index * kExpertTokensPerTask * shape.topK; i < end; ++i)
      for (int64_t h = 0; slots[i] >= 0 && h < width; h += kExpertChunk)
        fn(i, rowOfSlot(shape, i, slots[i]), h,
           std::min(kExpertChunk, width - h), scratch);
  };
  workers.run(
      (shape.tokens() + kExpertTokensPerTask - 1) / kExpertTokensPerTask, task);
}

/// The dot product, summed in 16 lanes.
float dot(const float *a, const float *b, int64_t n) {
  std::array<float, 16> lanes{};
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int64_t lane = 0; lane < 16; ++lane)
      lanes[lane] += a[i + lane] * b[i + lane];
  for (; i < n; ++i)
    lanes[i % 16] += a[i] * b[i];
  float sum = 0;
  for (float lane : lanes)
    sum += lane;
  return sum;
}

} // namespace

KernelError dispatch(const DispatchArguments &args, Workers &workers) {
  const SlotShape &shape = args.shape;
  if (KernelError error =
          check(shape, args.slots, args.tokens.dtype, args.rows.dtype))
    return error;
  int64_t width = args.width;
  zero(args.rows, 0, shape.rows * width * bytesOf(args.rows.dtype), workers);
  const RowKernels &row = rowKernelsOf(workers);
  forEachSlot(shape, args.slots, width, workers,
              [&](int64_t i, int64_t to, int64_t h, int64_t n, float *scratch) {
                int64_t from = i / shape.topK * width + h;
                if (!args.weights) {
                  row.copy(args.tokens, from, args.rows, to * width + h, n);
                  return;
                }
                View wide{scratch, DType::F32};
                row.copy(args.tokens, from, wide, 0, n);
                for (int64_t c = 0; c < n; ++c)
                  scratch[c] *= args.weights[i];
                row.copy(wide, 0, args.rows, to * width + h, n);
              });
  return nullptr;
}

KernelError combine(const CombineArguments &args, Workers &workers) {
  const SlotShape &shape = args.shape;
  if (KernelError error =
          check(shape, args.slots, args.rows.dtype, args.tokens.dtype))
    return error;
  const RowKernels &row = rowKernelsOf(workers);
  int64_t width = args.width, topK = shape.topK;
  auto addSlot = [&](int64_t i, int64_t h, int64_t n, float *sum, float *wide) {
    int64_t from = rowOfSlot(shape, i, args.slots[i]) * width + h;
    if (!args.weights)
      return row.add(args.rows, from, sum, n);
    row.copy(args.rows, from, {wide, DType::F32}, 0, n);
    for (int64_t c = 0; c < n; ++c)
      sum[c] += wide[c] * args.weights[i];
  };
  auto task = [&](int64_t token, int worker) {
    auto *sum = reinterpret_cast<float *>(workers.scratch(worker).data());
    for (int64_t h = 0; h < width; h += kExpertChunk) {
      int64_t n = std::min(kExpertChunk, width - h);
      std::fill_n(sum, n, 0.0f);
      for (int64_t i = token * topK; i < (token + 1) * topK; ++i)
        if (args.slots[i] >= 0)
          addSlot(i, h, n, sum, sum + kExpertChunk);
      row.copy(View{sum, DType::F32}, 0, args.tokens, token * width + h, n);
    }
  };
  workers.run(shape.tokens(), task);
  return nullptr;
}

KernelError combineWeightGradient(const CombineWeightGradientArguments &args,
                                  Workers &workers) {
  const SlotShape &shape = args.shape;
  if (KernelError error =
          check(shape, args.slots, args.tokens.dtype, args.rows.dtype))
    return error;
  const RowKernels &row = rowKernelsOf(workers);
  int64_t width = args.width;
  std::fill_n(args.dweights, shape.slots(), 0.0f);
  forEachSlot(shape, args.slots, width, workers,
              [&](int64_t i, int64_t at, int64_t h, int64_t n, float *scratch) {
                row.copy(args.tokens, i / shape.topK * width + h,
                         {scratch, DType::F32}, 0, n);
                row.copy(args.rows, at * width + h,
                         {scratch + kExpertChunk, DType::F32}, 0, n);
                args.dweights[i] += dot(scratch, scratch + kExpertChunk, n);
              });
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

namespace {

/// The elements of `view` from `first` on.
ConstView from(ConstView view, int64_t first) {
  return {static_cast<const char *>(view.data) + first * bytesOf(view.dtype),
          view.dtype};
}
View from(View view, int64_t first) {
  return {static_cast<char *>(view.data) + first * bytesOf(view.dtype),
          view.dtype};
}

KernelError check(const GroupShape &shape, DType a, DType b, DType d) {
  if (KernelError error = checkProcessor())
    return error;
  if (!isFloating(a) || a != b || !isFloating(d))
    return kExpertTypes;
  return checkRanges(shape);
}

/// A GEMM with each expert's weight, of its rows; the rest of d becomes 0.
struct RowsGemm {
  GroupShape shape;
  ConstView a; ///< [rows, k]
  ConstView weight;
  View d; ///< [rows, n]
  int64_t n, k;
  bool transposed; ///< weight is [experts, n, k], else [experts, k, n]
};

KernelError multiplyRows(const RowsGemm &call, Workers &workers) {
  const GroupShape &shape = call.shape;
  int64_t rowBytes = call.n * bytesOf(call.d.dtype), done = 0;
  for (int64_t i = 0; i < shape.runs * shape.segments; ++i) {
    int64_t run = i / shape.segments, segment = i % shape.segments;
    int64_t first = shape.first(run, segment);
    int64_t count = shape.count(run, segment);
    zero(call.d, done * rowBytes, first * rowBytes, workers);
    done = first + count;
    GemmArguments gemmOfExpert;
    gemmOfExpert.m = count;
    gemmOfExpert.n = call.n;
    gemmOfExpert.k = call.k;
    gemmOfExpert.transposeB = call.transposed;
    gemmOfExpert.a = from(call.a, first * call.k);
    gemmOfExpert.b =
        from(call.weight, segment % shape.experts * call.n * call.k);
    gemmOfExpert.d = from(call.d, first * call.n);
    if (KernelError error = gemm(gemmOfExpert, workers))
      return error;
  }
  zero(call.d, done * rowBytes, shape.rows * rowBytes, workers);
  return nullptr;
}

} // namespace

KernelError groupedLinear(const GroupedLinearArguments &args,
                          Workers &workers) {
  const GroupShape &s = args.shape;
  if (KernelError error =
          check(s, args.x.dtype, args.weight.dtype, args.y.dtype))
    return error;
  return multiplyRows({s, args.x, args.weight, args.y, s.out, s.in, true},
                      workers);
}

KernelError
groupedLinearInputGradient(const GroupedInputGradientArguments &args,
                           Workers &workers) {
  const GroupShape &s = args.shape;
  if (KernelError error =
          check(s, args.dy.dtype, args.weight.dtype, args.dx.dtype))
    return error;
  return multiplyRows({s, args.dy, args.weight, args.dx, s.in, s.out, false},
                      workers);
}

KernelError
groupedLinearWeightGradient(const GroupedWeightGradientArguments &args,
                            Workers &workers) {
  const GroupShape &s = args.shape;
  if (KernelError error =
          check(s, args.dy.dtype, args.x.dtype, args.dweight.dtype))
    return error;
  int64_t each = s.out * s.in;
  if (!args.accumulate)
    zero(args.dweight, 0, s.experts * each * bytesOf(args.dweight.dtype),
         workers);
  for (int64_t i = 0; i < s.runs * s.segments; ++i) {
    int64_t run = i / s.segments, segment = i % s.segments;
    int64_t first = s.first(run, segment);
    GemmArguments call;
    call.m = s.out;
    call.n = s.in;
    call.k = s.count(run, segment);
    call.transposeA = true;
    call.accumulate = true;
    call.a = from(args.dy, first * s.out);
    call.b = from(args.x, first * s.in);
    call.d = from(args.dweight, segment % s.experts * each);
    if (call.k == 0)
      continue;
    if (KernelError error = gemm(call, workers))
      return error;
  }
  return nullptr;
}

} // namespace hocket::kernels
