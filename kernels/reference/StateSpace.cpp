//===- StateSpace.cpp - State-space layers, plainly -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/reference/StateSpace.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hocket::kernels {

KernelError checkStatePlaces(const StatePlaces &places, int64_t tokens) {
  std::vector<int64_t> last(size_t(places.rows), -1); // -1: of no token yet
  for (int64_t t = 0; t < tokens; ++t) {
    int64_t row = places.tokenRows[t], position = places.positions[t];
    if (row == -1)
      continue;
    if (row < 0 || row >= places.rows)
      return "state space: a token's row is not in the cache";
    if (position < 0)
      return "state space: a token's position is negative";
    if (last[row] >= 0 && position != last[row] + 1)
      return "state space: a token is not the next one of its row";
    last[row] = position;
  }
  return nullptr;
}

} // namespace hocket::kernels

namespace hocket::kernels::reference {

KernelError causalConv(const CausalConvArguments &args) {
  int64_t rows = args.batch * args.sequence;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t c = 0; c < args.channels; ++c) {
      double sum = args.bias ? load(args.bias, c) : 0;
      for (int64_t back = 0;
           back < std::min(args.taps, row % args.sequence + 1); ++back)
        sum += load(args.w, c * args.taps + args.taps - 1 - back) *
               load(args.x, (row - back) * args.channels + c);
      store(args.y, row * args.channels + c, sum);
    }
  return nullptr;
}

KernelError causalConvGradient(const CausalConvGradientArguments &args) {
  int64_t rows = args.batch * args.sequence, taps = args.taps;
  std::vector<double> dw(args.channels * taps), db(args.channels),
      dx(rows * args.channels);
  for (int64_t at = 0; at < rows * args.channels; ++at) {
    int64_t c = at % args.channels, s = at / args.channels % args.sequence;
    double dy = load(args.dy, at);
    db[c] += dy;
    for (int64_t back = 0; back < std::min(taps, s + 1); ++back) {
      int64_t from = at - back * args.channels, w = (c + 1) * taps - 1 - back;
      dx[from] += load(args.w, w) * dy;
      dw[w] += load(args.x, from) * dy;
    }
  }
  auto write = [](View to, const std::vector<double> &from) {
    for (size_t i = 0; i < from.size(); ++i)
      store(to, static_cast<int64_t>(i), from[i]);
  };
  write(args.dx, dx);
  write(args.dw, dw);
  write(args.dbias, db);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The recurrence
//===----------------------------------------------------------------------===//

namespace {

/// One head of one sequence: where its numbers are, and what a step makes.
template <typename Arguments> struct Head {
  const Arguments &args;
  const ScanShape &shape;
  int64_t sequence, head;

  int64_t step(int64_t s) const {
    return (sequence * shape.sequence + s) * shape.heads + head;
  }
  int64_t input(int64_t s) const { return step(s) * shape.width; }
  int64_t map(int64_t s) const {
    int64_t group = head / (shape.heads / shape.groups);
    return ((sequence * shape.sequence + s) * shape.groups + group) *
           shape.state;
  }
  double raw(int64_t s) const {
    return load(args.step, step(s)) + load(args.stepBias, head);
  }
  double softplus(int64_t s) const {
    return std::max(raw(s), 0.0) + std::log1p(std::exp(-std::abs(raw(s))));
  }
  double size(int64_t s) const {
    return std::min<double>(std::max<double>(softplus(s), shape.least),
                            shape.most);
  }
  double rate() const { return -std::exp(load(args.decay, head)); }

  void advance(std::vector<double> &h, int64_t s) const {
    double d = size(s), keep = std::exp(rate() * d);
    for (int64_t p = 0; p < shape.width; ++p)
      for (int64_t n = 0; n < shape.state; ++n) {
        double &number = h[p * shape.state + n];
        number = keep * number +
                 d * load(args.x, input(s) + p) * load(args.inMap, map(s) + n);
      }
  }
};

/// What all heads add to.
struct ScanSums {
  explicit ScanSums(const ScanShape &shape)
      : x(shape.batch * shape.sequence * shape.heads * shape.width),
        step(shape.batch * shape.sequence * shape.heads),
        inMap(shape.batch * shape.sequence * shape.groups * shape.state),
        outMap(inMap), decay(shape.heads), stepBias(decay), skip(decay) {}
  std::vector<double> x, step, inMap, outMap, decay, stepBias, skip;
};

using GradientHead = Head<StateScanGradientArguments>;

/// The gradient of token `s`: `before` and `after` are states, `g` the gradient
/// by the second, which becomes that by the first.
void addToken(const GradientHead &at, int64_t s,
              const std::vector<double> &before,
              const std::vector<double> &after, std::vector<double> &g,
              ScanSums &sums) {
  const ScanShape &shape = at.shape;
  double d = at.size(s), keep = std::exp(at.rate() * d);
  double byStep = 0, byKeep = 0;
  for (int64_t p = 0; p < shape.width; ++p) {
    int64_t xAt = at.input(s) + p;
    double dy = load(at.args.dy, xAt), x = load(at.args.x, xAt);
    sums.skip[at.head] += dy * x;
    sums.x[xAt] += load(at.args.skip, at.head) * dy;
    for (int64_t n = 0; n < shape.state; ++n) {
      int64_t i = p * shape.state + n, mapAt = at.map(s) + n;
      double b = load(at.args.inMap, mapAt);
      sums.outMap[mapAt] += dy * after[i];
      g[i] += dy * load(at.args.outMap, mapAt);
      sums.x[xAt] += g[i] * d * b;
      sums.inMap[mapAt] += g[i] * d * x;
      byStep += g[i] * x * b;
      byKeep += g[i] * before[i];
      g[i] *= keep;
    }
  }
  byStep += byKeep * keep * at.rate();
  sums.decay[at.head] += byKeep * keep * d * at.rate();
  double free = at.softplus(s);
  if (free < shape.least || free > shape.most)
    return;
  double byRaw = byStep / (1 + std::exp(-at.raw(s)));
  sums.step[at.step(s)] += byRaw;
  sums.stepBias[at.head] += byRaw;
}

template <typename VisitFn>
void visitHeads(const ScanShape &shape, VisitFn visit) {
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t h = 0; h < shape.heads; ++h)
      visit(b, h);
}

} // namespace

/// Takes in token `s` and stores what it gives.
static void scanToken(const Head<StateScanArguments> &at,
                      std::vector<double> &state, int64_t s) {
  const ScanShape &shape = at.shape;
  at.advance(state, s);
  for (int64_t p = 0; p < shape.width; ++p) {
    double sum = load(at.args.skip, at.head) * load(at.args.x, at.input(s) + p);
    for (int64_t n = 0; n < shape.state; ++n)
      sum += state[p * shape.state + n] * load(at.args.outMap, at.map(s) + n);
    store(at.args.y, at.input(s) + p, sum);
  }
}

KernelError stateScan(const StateScanArguments &args) {
  const ScanShape &shape = args.shape;
  visitHeads(shape, [&](int64_t b, int64_t h) {
    Head<StateScanArguments> at{args, shape, b, h};
    std::vector<double> state(shape.width * shape.state);
    for (int64_t s = 0; s < shape.sequence; ++s)
      scanToken(at, state, s);
  });
  return nullptr;
}

KernelError stateScanGradient(const StateScanGradientArguments &args) {
  const ScanShape &shape = args.shape;
  ScanSums sums(shape);
  visitHeads(shape, [&](int64_t b, int64_t h) {
    GradientHead at{args, shape, b, h};
    std::vector<std::vector<double>> states(
        1, std::vector<double>(shape.width * shape.state));
    for (int64_t s = 0; s < shape.sequence; ++s) {
      states.push_back(states.back());
      at.advance(states.back(), s);
    }
    std::vector<double> g(shape.width * shape.state);
    for (int64_t s = shape.sequence - 1; s >= 0; --s)
      addToken(at, s, states[s], states[s + 1], g, sums);
  });
  auto write = [](View to, const std::vector<double> &from) {
    for (size_t i = 0; i < from.size(); ++i)
      store(to, static_cast<int64_t>(i), from[i]);
  };
  write(args.dx, sums.x);
  write(args.dstep, sums.step);
  write(args.dinMap, sums.inMap);
  write(args.doutMap, sums.outMap);
  write(args.ddecay, sums.decay);
  write(args.dstepBias, sums.stepBias);
  write(args.dskip, sums.skip);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Tokens of several texts
//===----------------------------------------------------------------------===//

KernelError cachedConv(const CachedConvArguments &args) {
  const CausalConvArguments &conv = args.conv;
  const StatePlaces &places = args.places;
  if (KernelError error = checkStatePlaces(places, conv.batch))
    return error;
  int64_t kept = conv.taps - 1;
  for (int64_t t = 0; t < conv.batch; ++t)
    for (int64_t c = 0; c < conv.channels; ++c) {
      int64_t at = t * conv.channels + c, position = places.positions[t];
      if (places.tokenRows[t] < 0) {
        store(conv.y, at, 0);
        continue;
      }
      auto entry = [&](int64_t p) {
        return (places.tokenRows[t] * kept + p % kept) * conv.channels + c;
      };
      double sum = conv.bias ? load(conv.bias, c) : 0;
      sum += load(conv.w, c * conv.taps + kept) * load(conv.x, at);
      for (int64_t back = 1; back <= std::min(kept, position); ++back)
        sum += load(conv.w, c * conv.taps + kept - back) *
               load(args.cache, entry(position - back));
      store(conv.y, at, sum);
      store(args.cache, entry(position), load(conv.x, at));
    }
  return nullptr;
}

KernelError cachedScan(const CachedScanArguments &args) {
  const ScanShape &shape = args.scan.shape;
  const StatePlaces &places = args.places;
  if (KernelError error = checkStatePlaces(places, shape.sequence))
    return error;
  std::vector<double> state(shape.width * shape.state);
  auto size = static_cast<int64_t>(state.size());
  visitHeads(shape, [&](int64_t b, int64_t h) {
    Head<StateScanArguments> at{args.scan, shape, b, h};
    for (int64_t t = 0; t < shape.sequence; ++t) {
      int64_t first = (places.tokenRows[t] * shape.heads + h) * size;
      if (places.tokenRows[t] < 0) {
        for (int64_t p = 0; p < shape.width; ++p)
          store(args.scan.y, at.input(t) + p, 0);
        continue;
      }
      for (int64_t i = 0; i < size; ++i)
        state[i] = places.positions[t] == 0 ? 0 : load(args.state, first + i);
      scanToken(at, state, t);
      for (int64_t i = 0; i < size; ++i)
        store(args.state, first + i, state[i]);
    }
  });
  return nullptr;
}

} // namespace hocket::kernels::reference
