//===- StateSpace.cpp - State-space layers on the CPU ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A task is a head of a sequence. The gradient keeps no states: with
/// `M[s, j]` what token j's input has added to the loss by way of token s's
/// result, the gradient by the logarithm of what token t keeps of the state is
/// the sum of M over j < t <= s, which is that over s >= t and j < s less that
/// over s >= t and t <= j < s. So a pass forward (sums over j), another back
/// (over s) and sums of one number a token are all.
///
//===----------------------------------------------------------------------===//

#include "kernels/cpu/StateSpace.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hocket::kernels {

namespace {

/// `count` elements from `at` on, as floats.
void loadRow(ConstView from, int64_t at, int64_t count, float *to) {
  switch (from.dtype) {
  case DType::F32:
    std::memcpy(to, static_cast<const float *>(from.data) + at,
                size_t(count) * sizeof(float));
    return;
  case DType::BF16:
    for (int64_t i = 0; i < count; ++i)
      to[i] = bf16ToFloat(static_cast<const uint16_t *>(from.data)[at + i]);
    return;
  default:
    for (int64_t i = 0; i < count; ++i)
      to[i] = static_cast<float>(load(from, at + i));
  }
}

void storeRow(View to, int64_t at, int64_t count, const float *from) {
  for (int64_t i = 0; i < count; ++i)
    store(to, at + i, from[i]);
}

constexpr int64_t kChannels = 64; ///< Of a task of the convolution.

/// Channels [first, first + count) of a row of a sequence.
void convRow(const CausalConvArguments &args, int64_t row, int64_t first,
             int64_t count, const float *weights, const float *bias) {
  float sum[kChannels], x[kChannels];
  std::copy(bias, bias + count, sum);
  int64_t most = std::min(args.taps, row % args.sequence + 1);
  for (int64_t back = 0; back < most; ++back) {
    loadRow(args.x, (row - back) * args.channels + first, count, x);
    const float *w = weights + (args.taps - 1 - back) * kChannels;
    for (int64_t c = 0; c < count; ++c)
      sum[c] += w[c] * x[c];
  }
  storeRow(args.y, row * args.channels + first, count, sum);
}

/// Weights of some channels, tap by tap.
void loadTaps(ConstView w, int64_t taps, int64_t first, int64_t count,
              float *to) {
  for (int64_t k = 0; k < taps; ++k)
    for (int64_t c = 0; c < count; ++c)
      to[k * kChannels + c] =
          static_cast<float>(load(w, (first + c) * taps + k));
}

int64_t channelTasks(int64_t channels) {
  return (channels + kChannels - 1) / kChannels;
}

} // namespace

KernelError causalConv(const CausalConvArguments &args, Workers &workers) {
  int64_t blocks = channelTasks(args.channels);
  auto task = [&](int64_t index, int) {
    int64_t first = index % blocks * kChannels;
    int64_t count = std::min(kChannels, args.channels - first);
    float weights[kMostTaps * kChannels], bias[kChannels] = {};
    loadTaps(args.w, args.taps, first, count, weights);
    if (args.bias)
      loadRow(args.bias, first, count, bias);
    int64_t begin = index / blocks * args.sequence;
    for (int64_t row = begin; row < begin + args.sequence; ++row)
      convRow(args, row, first, count, weights, bias);
  };
  workers.run(blocks * args.batch, task);
  return nullptr;
}

namespace {

/// The gradients of channels [first, first + count), over all sequences.
void convGradient(const CausalConvGradientArguments &args, int64_t first,
                  int64_t count) {
  float weights[kMostTaps * kChannels], dy[kChannels], x[kChannels];
  double dw[kMostTaps * kChannels] = {}, db[kChannels] = {};
  loadTaps(args.w, args.taps, first, count, weights);
  for (int64_t row = 0; row < args.batch * args.sequence; ++row) {
    int64_t s = row % args.sequence;
    float dx[kChannels] = {};
    for (int64_t ahead = 0; ahead < std::min(args.taps, args.sequence - s);
         ++ahead) {
      loadRow(args.dy, (row + ahead) * args.channels + first, count, dy);
      const float *w = weights + (args.taps - 1 - ahead) * kChannels;
      for (int64_t c = 0; c < count; ++c)
        dx[c] += w[c] * dy[c];
    }
    storeRow(args.dx, row * args.channels + first, count, dx);
    loadRow(args.dy, row * args.channels + first, count, dy);
    for (int64_t back = 0; back < std::min(args.taps, s + 1); ++back) {
      loadRow(args.x, (row - back) * args.channels + first, count, x);
      double *to = dw + (args.taps - 1 - back) * kChannels;
      for (int64_t c = 0; c < count; ++c)
        to[c] += double(x[c] * dy[c]);
    }
    for (int64_t c = 0; c < count; ++c)
      db[c] += double(dy[c]);
  }
  for (int64_t c = 0; c < count; ++c) {
    store(args.dbias, first + c, db[c]);
    for (int64_t k = 0; k < args.taps; ++k)
      store(args.dw, (first + c) * args.taps + k, dw[k * kChannels + c]);
  }
}

} // namespace

KernelError causalConvGradient(const CausalConvGradientArguments &args,
                               Workers &workers) {
  auto task = [&](int64_t index, int) {
    int64_t first = index * kChannels;
    convGradient(args, first, std::min(kChannels, args.channels - first));
  };
  workers.run(channelTasks(args.channels), task);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The recurrence
//===----------------------------------------------------------------------===//

namespace {

/// What a token's step makes.
struct Step {
  float raw = 0, free = 0; ///< Before softplus, and behind it.
  float size = 0, keep = 0;
};

/// One head of one sequence, with the rows of the token that is computed.
template <typename Arguments> struct HeadScan {
  HeadScan(const Arguments &args, int64_t index, std::span<std::byte> scratch)
      : args(args), shape(args.shape), sequence(index / shape.heads),
        head(index % shape.heads), rate(-std::exp(number(args.decay))),
        bias(number(args.stepBias)), skip(number(args.skip)),
        h(reinterpret_cast<float *>(scratch.data())) {
    clear();
  }
  /// Of head `head` of the first sequence, going on from the state at `h`.
  HeadScan(const Arguments &args, int64_t head, float *h)
      : args(args), shape(args.shape), sequence(0), head(head),
        rate(-std::exp(number(args.decay))), bias(number(args.stepBias)),
        skip(number(args.skip)), h(h) {}

  void clear() { std::fill(h, h + shape.width * shape.state, 0.0F); }

  float number(ConstView of) const {
    return static_cast<const float *>(of.data)[head];
  }
  int64_t stepAt(int64_t s) const {
    return (sequence * shape.sequence + s) * shape.heads + head;
  }
  int64_t inputAt(int64_t s) const { return stepAt(s) * shape.width; }
  int64_t mapAt(int64_t s) const {
    int64_t group = head / (shape.heads / shape.groups);
    return ((sequence * shape.sequence + s) * shape.groups + group) *
           shape.state;
  }

  Step step(int64_t s) const {
    Step step;
    step.raw = static_cast<float>(load(args.step, stepAt(s))) + bias;
    step.free =
        std::max(step.raw, 0.0F) + std::log1p(std::exp(-std::abs(step.raw)));
    step.size = std::min(std::max(step.free, shape.least), shape.most);
    step.keep = std::exp(rate * step.size);
    return step;
  }
  void loadToken(int64_t s) {
    loadRow(args.x, inputAt(s), shape.width, x);
    loadRow(args.inMap, mapAt(s), shape.state, b);
    loadRow(args.outMap, mapAt(s), shape.state, c);
  }

  const Arguments &args;
  const ScanShape &shape;
  int64_t sequence, head;
  float rate, bias, skip;
  float *h; ///< [width, state]: a state, or the gradient by one.
  float x[kMostHeadDim], b[kMostState], c[kMostState];
};

static_assert(kMostHeadDim * kMostState * sizeof(float) <=
              kScratchBytesPerWorker);

/// In double: what is left of sums of both signs is small.
float sumOfProducts(const float *x, const float *y, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i)
    sum += double(x[i]) * double(y[i]);
  return static_cast<float>(sum);
}

/// Eight sums side by side, which a compiler keeps in a vector.
float wideDot(const float *x, const float *y, int64_t count) {
  float sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int64_t j = 0; j < 8; ++j)
      sums[j] += x[i + j] * y[i + j];
  float sum = sumOfProducts(x + i, y + i, count - i);
  for (float each : sums)
    sum += each;
  return sum;
}

} // namespace

/// Takes in token `s` and stores what it gives.
static void scanToken(HeadScan<StateScanArguments> &at, int64_t s) {
  const ScanShape &shape = at.shape;
  float y[kMostHeadDim];
  Step step = at.step(s);
  at.loadToken(s);
  for (int64_t p = 0; p < shape.width; ++p) {
    float *h = at.h + p * shape.state, added = step.size * at.x[p];
    for (int64_t n = 0; n < shape.state; ++n)
      h[n] = step.keep * h[n] + added * at.b[n];
    y[p] = wideDot(h, at.c, shape.state) + at.skip * at.x[p];
  }
  storeRow(at.args.y, at.inputAt(s), shape.width, y);
}

KernelError stateScan(const StateScanArguments &args, Workers &workers) {
  const ScanShape &shape = args.shape;
  auto task = [&](int64_t index, int worker) {
    HeadScan<StateScanArguments> at(args, index, workers.scratch(worker));
    for (int64_t s = 0; s < shape.sequence; ++s)
      scanToken(at, s);
  };
  workers.run(shape.batch * shape.heads, task);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Tokens of several texts
//===----------------------------------------------------------------------===//

namespace {

/// Of one row of a cache, as many channels as a task has.
struct CachedChannels {
  const CachedConvArguments &args;
  int64_t row, first, count;
  const float *weights, *bias;

  int64_t entry(int64_t position) const {
    int64_t kept = args.conv.taps - 1;
    return (row * kept + position % kept) * args.conv.channels + first;
  }
  /// In the order of convRow().
  void take(int64_t token) const {
    const CausalConvArguments &conv = args.conv;
    int64_t position = args.places.positions[token], kept = conv.taps - 1;
    int64_t at = token * conv.channels + first;
    float sum[kChannels], own[kChannels], x[kChannels];
    std::copy(bias, bias + count, sum);
    loadRow(conv.x, at, count, own);
    for (int64_t c = 0; c < count; ++c)
      sum[c] += weights[kept * kChannels + c] * own[c];
    for (int64_t back = 1; back <= std::min(kept, position); ++back) {
      loadRow(args.cache, entry(position - back), count, x);
      const float *w = weights + (kept - back) * kChannels;
      for (int64_t c = 0; c < count; ++c)
        sum[c] += w[c] * x[c];
    }
    storeRow(conv.y, at, count, sum);
    storeRow(args.cache, entry(position), count, own);
  }
};

/// Calls `visit` with the tokens of a row, in their order; row 0 has `clear` of
/// padding, too.
template <typename VisitFn, typename ClearFn>
void visitRow(const StatePlaces &places, int64_t tokens, int64_t row,
              VisitFn visit, ClearFn clear) {
  for (int64_t t = 0; t < tokens; ++t)
    if (places.tokenRows[t] == row)
      visit(t);
    else if (row == 0 && places.tokenRows[t] < 0)
      clear(t);
}

} // namespace

KernelError cachedConv(const CachedConvArguments &args, Workers &workers) {
  const CausalConvArguments &conv = args.conv;
  if (KernelError error = checkStatePlaces(args.places, conv.batch))
    return error;
  int64_t blocks = channelTasks(conv.channels);
  auto task = [&](int64_t index, int) {
    int64_t first = index % blocks * kChannels;
    int64_t count = std::min(kChannels, conv.channels - first);
    float weights[kMostTaps * kChannels], bias[kChannels] = {};
    loadTaps(conv.w, conv.taps, first, count, weights);
    if (conv.bias)
      loadRow(conv.bias, first, count, bias);
    CachedChannels channels{args, index / blocks, first, count, weights, bias};
    visitRow(
        args.places, conv.batch, channels.row,
        [&](int64_t t) { channels.take(t); },
        [&](int64_t t) {
          const float zeros[kChannels] = {};
          storeRow(conv.y, t * conv.channels + first, count, zeros);
        });
  };
  workers.run(blocks * args.places.rows, task);
  return nullptr;
}

KernelError cachedScan(const CachedScanArguments &args, Workers &workers) {
  const ScanShape &shape = args.scan.shape;
  if (KernelError error = checkStatePlaces(args.places, shape.sequence))
    return error;
  auto task = [&](int64_t index, int) {
    auto *h = static_cast<float *>(args.state.data) +
              index * shape.width * shape.state;
    HeadScan<StateScanArguments> at(args.scan, index % shape.heads, h);
    visitRow(
        args.places, shape.sequence, index / shape.heads,
        [&](int64_t t) {
          if (args.places.positions[t] == 0)
            at.clear();
          scanToken(at, t);
        },
        [&](int64_t t) {
          const float zeros[kMostHeadDim] = {};
          storeRow(args.scan.y, at.inputAt(t), shape.width, zeros);
        });
  };
  workers.run(args.places.rows * shape.heads, task);
  return nullptr;
}

namespace {

/// The parts of StateScanGradientArguments::workspace: of each head its part of
/// the gradients of the maps, [batch, sequence, heads, state]; sums of M over
/// tokens before, over tokens behind, and the gradient by a step's size alone,
/// [batch, heads, sequence]; three sums of [batch, heads].
struct Workspace {
  explicit Workspace(const StateScanGradientArguments &args) {
    const ScanShape &shape = args.shape;
    int64_t steps = shape.batch * shape.sequence * shape.heads;
    inMap = args.workspace;
    outMap = inMap + steps * shape.state;
    before = outMap + steps * shape.state;
    behind = before + steps;
    bySize = behind + steps;
    numbers = bySize + steps;
  }
  float *inMap, *outMap, *before, *behind, *bySize, *numbers;
};

using GradientScan = HeadScan<StateScanGradientArguments>;

/// sum[n] += weights[p] * keep * h[p, n], where h becomes what is kept of it.
void keepState(GradientScan &at, float keep, const float *weights, float *sum) {
  int64_t state = at.shape.state;
  std::fill(sum, sum + state, 0.0F);
  for (int64_t p = 0; p < at.shape.width; ++p) {
    float *h = at.h + p * state, weight = weights[p];
    for (int64_t n = 0; n < state; ++n) {
      h[n] *= keep;
      sum[n] += weight * h[n];
    }
  }
}

/// h[p, n] += left[p] * right[n]
void addProduct(GradientScan &at, float scale, const float *left,
                const float *right) {
  int64_t state = at.shape.state;
  for (int64_t p = 0; p < at.shape.width; ++p) {
    float *h = at.h + p * state, factor = scale * left[p];
    for (int64_t n = 0; n < state; ++n)
      h[n] += factor * right[n];
  }
}

/// Forward: states, and by them the gradient of the out map.
void scanForward(GradientScan &at, const Workspace &to, int64_t index) {
  const ScanShape &shape = at.shape;
  float dy[kMostHeadDim], sum[kMostState];
  double bySkip = 0;
  for (int64_t s = 0; s < shape.sequence; ++s) {
    Step step = at.step(s);
    at.loadToken(s);
    loadRow(at.args.dy, at.inputAt(s), shape.width, dy);
    keepState(at, step.keep, dy, sum);
    to.before[index * shape.sequence + s] =
        sumOfProducts(sum, at.c, shape.state);
    addProduct(at, step.size, at.x, at.b);
    float own = sumOfProducts(dy, at.x, shape.width);
    bySkip += double(own);
    float *outMap = to.outMap + at.stepAt(s) * shape.state;
    for (int64_t n = 0; n < shape.state; ++n)
      outMap[n] = sum[n] + step.size * own * at.b[n];
  }
  to.numbers[3 * index + 2] = static_cast<float>(bySkip);
}

/// Back: gradients by states, and by them those of the input and the in map.
void scanBack(GradientScan &at, const Workspace &to, int64_t index) {
  const ScanShape &shape = at.shape;
  float dy[kMostHeadDim], dx[kMostHeadDim], sum[kMostState];
  float keep = 0;
  for (int64_t s = shape.sequence - 1; s >= 0; --s) {
    Step step = at.step(s);
    at.loadToken(s);
    loadRow(at.args.dy, at.inputAt(s), shape.width, dy);
    keepState(at, keep, at.x, sum);
    float later = sumOfProducts(sum, at.b, shape.state);
    to.behind[index * shape.sequence + s] = step.size * later;
    float own = sumOfProducts(dy, at.x, shape.width),
          both = sumOfProducts(at.b, at.c, shape.state);
    to.bySize[index * shape.sequence + s] = later + own * both;
    float *inMap = to.inMap + at.stepAt(s) * shape.state;
    for (int64_t n = 0; n < shape.state; ++n)
      inMap[n] = step.size * (sum[n] + own * at.c[n]);
    for (int64_t p = 0; p < shape.width; ++p)
      dx[p] = step.size * (wideDot(at.h + p * shape.state, at.b, shape.state) +
                           both * dy[p]) +
              at.skip * dy[p];
    storeRow(at.args.dx, at.inputAt(s), shape.width, dx);
    addProduct(at, 1, dy, at.c);
    keep = step.keep;
  }
}

/// Sums over tokens: the gradients of steps, and of the head's numbers.
void sumSteps(GradientScan &at, const Workspace &to, int64_t index) {
  const ScanShape &shape = at.shape;
  double flow = 0, byDecay = 0, byBias = 0;
  for (int64_t s = shape.sequence - 1; s >= 0; --s) {
    Step step = at.step(s);
    int64_t i = index * shape.sequence + s;
    flow += double(to.before[i]) - double(to.behind[i]);
    byDecay += flow * double(step.size * at.rate);
    double byRaw = 0;
    if (step.free >= shape.least && step.free <= shape.most)
      byRaw = (double(to.bySize[i]) + flow * double(at.rate)) /
              (1 + std::exp(-double(step.raw)));
    byBias += byRaw;
    store(at.args.dstep, at.stepAt(s), byRaw);
  }
  to.numbers[3 * index] = static_cast<float>(byDecay);
  to.numbers[3 * index + 1] = static_cast<float>(byBias);
}

/// The gradients of the maps of one token: sums over the heads of each group.
void sumMaps(const ScanShape &shape, const float *parts, View to,
             int64_t token) {
  int64_t heads = shape.heads / shape.groups;
  for (int64_t g = 0; g < shape.groups; ++g) {
    float sum[kMostState] = {};
    const float *from = parts + (token * shape.heads + g * heads) * shape.state;
    for (int64_t h = 0; h < heads; ++h, from += shape.state)
      for (int64_t n = 0; n < shape.state; ++n)
        sum[n] += from[n];
    storeRow(to, (token * shape.groups + g) * shape.state, shape.state, sum);
  }
}

} // namespace

KernelError stateScanGradient(const StateScanGradientArguments &args,
                              Workers &workers) {
  const ScanShape &shape = args.shape;
  Workspace workspace(args);
  auto passes = [&](int64_t task, int worker) {
    int64_t index = task / 2;
    GradientScan at(args, index, workers.scratch(worker));
    if (task % 2 == 0)
      scanForward(at, workspace, index);
    else
      scanBack(at, workspace, index);
  };
  workers.run(2 * shape.batch * shape.heads, passes);
  auto steps = [&](int64_t index, int worker) {
    GradientScan at(args, index, workers.scratch(worker));
    sumSteps(at, workspace, index);
  };
  workers.run(shape.batch * shape.heads, steps);
  auto maps = [&](int64_t token, int) {
    sumMaps(shape, workspace.inMap, args.dinMap, token);
    sumMaps(shape, workspace.outMap, args.doutMap, token);
  };
  workers.run(shape.batch * shape.sequence, maps);
  View numbers[] = {args.ddecay, args.dstepBias, args.dskip};
  for (int64_t head = 0; head < shape.heads; ++head)
    for (int64_t i = 0; i < 3; ++i) {
      double sum = 0;
      for (int64_t b = 0; b < shape.batch; ++b)
        sum += double(workspace.numbers[3 * (b * shape.heads + head) + i]);
      store(numbers[i], head, sum);
    }
  return nullptr;
}

} // namespace hocket::kernels
