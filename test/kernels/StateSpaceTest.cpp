//===- StateSpaceTest.cpp - State-space layers against the reference ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/StateSpace.h"
#include "test/kernels/AllWorkers.h"

#include <gtest/gtest.h>

#include <cfloat>

namespace hocket::kernels::test {
namespace {

TEST(CausalConv, AndItsGradientsAreTheReference) {
  constexpr int64_t batch = 2, sequence = 19, channels = 70;
  constexpr int64_t count = batch * sequence * channels;
  for (DType type : kTypes)
    for (int64_t taps : {1, 4, 8})
      forAllWorkers([&](Workers &workers) {
        Array x = randomArray(type, count, 1), dy = randomArray(type, count, 2);
        Array w = randomArray(type, channels * taps, 3);
        Array bias = randomArray(type, channels, 4);
        Array y(type, count), exact(DType::F64, count);
        CausalConvArguments args{batch,    sequence, channels,    taps,
                                 x.view(), w.view(), bias.view(), y.view()};
        EXPECT_EQ(causalConv(args, workers), nullptr);
        args.y = exact.view();
        EXPECT_EQ(reference::causalConv(args), nullptr);
        EXPECT_LT(relativeError(y, exact), tolerance(type));

        Array dx(type, count), dw(DType::F32, channels * taps),
            db(DType::F32, channels);
        Array exactX(DType::F64, count), exactW(DType::F64, channels * taps),
            exactB(DType::F64, channels);
        CausalConvGradientArguments back{
            batch,    sequence, channels,  taps,      dy.view(),
            x.view(), w.view(), dx.view(), dw.view(), db.view()};
        EXPECT_EQ(causalConvGradient(back, workers), nullptr);
        back.dx = exactX.view(), back.dw = exactW.view(),
        back.dbias = exactB.view();
        EXPECT_EQ(reference::causalConvGradient(back), nullptr);
        EXPECT_LT(relativeError(dx, exactX), tolerance(type));
        EXPECT_LT(relativeError(dw, exactW), tolerance(DType::F32));
        EXPECT_LT(relativeError(db, exactB), tolerance(DType::F32));
        return dw;
      });
}

/// A recurrence with what it reads, and room for what it makes.
struct Scan {
  Scan(const ScanShape &shape, DType type, DType made)
      : shape(shape), x(randomArray(type, inputs(), 1)),
        dy(randomArray(type, inputs(), 2)), step(randomArray(type, steps(), 3)),
        inMap(randomArray(type, maps(), 4)),
        outMap(randomArray(type, maps(), 5)),
        decay(randomArray(DType::F32, shape.heads, 6)),
        stepBias(randomArray(DType::F32, shape.heads, 7, 2)),
        skip(randomArray(DType::F32, shape.heads, 8)), y(made, inputs()),
        dx(made, inputs()), dstep(made, steps()), dinMap(made, maps()),
        doutMap(made, maps()), ddecay(wide(made), shape.heads),
        dstepBias(wide(made), shape.heads), dskip(wide(made), shape.heads),
        workspace(DType::F32, scanWorkspace(shape)) {}

  static DType wide(DType made) {
    return made == DType::F64 ? DType::F64 : DType::F32;
  }
  int64_t steps() const { return shape.batch * shape.sequence * shape.heads; }
  int64_t inputs() const { return steps() * shape.width; }
  int64_t maps() const {
    return shape.batch * shape.sequence * shape.groups * shape.state;
  }
  StateScanArguments forward() {
    return {shape,           x.view(),      step.view(),
            inMap.view(),    outMap.view(), decay.view(),
            stepBias.view(), skip.view(),   y.view()};
  }
  StateScanGradientArguments backward() {
    return {shape,
            dy.view(),
            x.view(),
            step.view(),
            inMap.view(),
            outMap.view(),
            decay.view(),
            stepBias.view(),
            skip.view(),
            dx.view(),
            dstep.view(),
            dinMap.view(),
            doutMap.view(),
            ddecay.view(),
            dstepBias.view(),
            dskip.view(),
            workspace.as<float>()};
  }

  ScanShape shape;
  Array x, dy, step, inMap, outMap, decay, stepBias, skip;
  Array y, dx, dstep, dinMap, doutMap, ddecay, dstepBias, dskip, workspace;
};

const ScanShape kScans[] = {{2, 23, 4, 8, 2, 16, 0, FLT_MAX},
                            {1, 70, 3, 5, 1, 9, 0.5F, 1.0F},
                            {3, 1, 2, 3, 2, 4, 0, FLT_MAX},
                            {1, 9, 2, 64, 1, 128, 0, FLT_MAX}};

TEST(StateScan, IsTheReference) {
  for (const ScanShape &shape : kScans)
    for (DType type : kTypes)
      forAllWorkers([&](Workers &workers) {
        Scan scan(shape, type, type), exact(shape, type, DType::F64);
        EXPECT_EQ(stateScan(scan.forward(), workers), nullptr);
        EXPECT_EQ(reference::stateScan(exact.forward()), nullptr);
        EXPECT_LT(relativeError(scan.y, exact.y), tolerance(type));
        return std::move(scan.y);
      });
}

TEST(StateScan, ItsGradientsAreTheReference) {
  for (const ScanShape &shape : kScans)
    for (DType type : kTypes)
      forAllWorkers([&](Workers &workers) {
        Scan scan(shape, type, type), exact(shape, type, DType::F64);
        EXPECT_EQ(stateScanGradient(scan.backward(), workers), nullptr);
        EXPECT_EQ(reference::stateScanGradient(exact.backward()), nullptr);
        EXPECT_LT(relativeError(scan.dx, exact.dx), tolerance(type));
        EXPECT_LT(relativeError(scan.dstep, exact.dstep), tolerance(type));
        EXPECT_LT(relativeError(scan.dinMap, exact.dinMap), tolerance(type));
        EXPECT_LT(relativeError(scan.doutMap, exact.doutMap), tolerance(type));
        // Terms of both signs, whose sum is a few times smaller than they are.
        double wide = 5 * tolerance(DType::F32);
        EXPECT_LT(relativeError(scan.ddecay, exact.ddecay), wide);
        EXPECT_LT(relativeError(scan.dstepBias, exact.dstepBias), wide);
        EXPECT_LT(relativeError(scan.dskip, exact.dskip), wide);
        return std::move(scan.dstep);
      });
}

//===----------------------------------------------------------------------===//
// Tokens of several texts
//===----------------------------------------------------------------------===//

/// Tokens of one call, as texts of one length have them.
struct Tokens {
  std::vector<int32_t> rows, positions;

  void add(int32_t row, int32_t position) {
    rows.push_back(row);
    positions.push_back(position);
  }
  int64_t count() const { return int64_t(rows.size()); }
  StatePlaces places(int64_t of) const {
    return {of, positions.data(), rows.data()};
  }
};

/// Each text's next tokens in calls of `most` tokens, taken from the texts in
/// turn and one by one, with padding behind the first of them. Text b is in row
/// `texts - b`, so that no row 0 has one where there is a row more.
std::vector<Tokens> callsOf(int64_t texts, int64_t sequence, int64_t most) {
  std::vector<Tokens> calls(1);
  for (int64_t i = 0; i < texts * sequence; ++i) {
    // Of the even calls' texts the later ones are behind by some tokens.
    if (calls.back().count() >= most + 1)
      calls.emplace_back();
    calls.back().add(int32_t(texts - i % texts), int32_t(i / texts));
    if (calls.back().count() == 1)
      calls.back().add(-1, 0);
  }
  return calls;
}

/// The rows of `from`, `width` wide, of the tokens of a call.
Array gather(const Tokens &call, const Array &from, int64_t texts,
             int64_t width) {
  Array result(from.dtype(), call.count() * width);
  int64_t sequence = from.size() / width / texts;
  for (int64_t t = 0; t < call.count(); ++t)
    for (int64_t c = 0; call.rows[t] >= 0 && c < width; ++c)
      store(
          result.view(), t * width + c,
          from[((texts - call.rows[t]) * sequence + call.positions[t]) * width +
               c]);
  return result;
}

/// Puts what a call gives in its place, and expects 0 of padding.
void scatter(const Tokens &call, const Array &from, int64_t texts,
             int64_t width, Array &to) {
  int64_t sequence = to.size() / width / texts;
  for (int64_t t = 0; t < call.count(); ++t)
    for (int64_t c = 0; c < width; ++c)
      if (call.rows[t] < 0)
        EXPECT_EQ(from[t * width + c], 0) << "padding";
      else
        store(to.view(),
              ((texts - call.rows[t]) * sequence + call.positions[t]) * width +
                  c,
              from[t * width + c]);
}

template <typename RunFn>
Array convInCalls(const CausalConvArguments &whole, const Array &x,
                  int64_t most, RunFn run) {
  int64_t texts = whole.batch, channels = whole.channels;
  Array y(x.dtype(), x.size());
  // What a row holds before its text begins is of no account.
  Array cache =
      randomArray(x.dtype(), (texts + 1) * (whole.taps - 1) * channels, 9, 100);
  for (const Tokens &call : callsOf(texts, whole.sequence, most)) {
    Array in = gather(call, x, texts, channels);
    Array out = randomArray(x.dtype(), in.size(), 5);
    CachedConvArguments args{whole, call.places(texts + 1), cache.view()};
    args.conv.batch = call.count(), args.conv.sequence = 1;
    args.conv.x = in.view(), args.conv.y = out.view();
    EXPECT_EQ(run(args), nullptr);
    scatter(call, out, texts, channels, y);
  }
  return y;
}

TEST(CachedConv, HasTheBitsOfWholeSequences) {
  constexpr int64_t batch = 3, sequence = 13, channels = 70;
  constexpr int64_t count = batch * sequence * channels;
  for (DType type : kTypes)
    for (int64_t taps : {2, 4, 8})
      forAllWorkers([&](Workers &workers) {
        Array x = randomArray(type, count, 1), whole(type, count);
        Array w = randomArray(type, channels * taps, 3);
        Array bias = randomArray(type, channels, 4);
        CausalConvArguments args{batch,    sequence, channels,    taps,
                                 x.view(), w.view(), bias.view(), whole.view()};
        EXPECT_EQ(causalConv(args, workers), nullptr);
        for (int64_t most : {1, 3, 7, 100}) {
          Array y = convInCalls(args, x, most, [&](const auto &call) {
            return cachedConv(call, workers);
          });
          EXPECT_TRUE(y.sameBits(whole)) << "in calls of " << most;
          Array slow = convInCalls(args, x, most, [](const auto &call) {
            return reference::cachedConv(call);
          });
          EXPECT_LT(relativeError(y, slow), 2 * tolerance(type));
        }
        return whole;
      });
}

/// The same of the recurrence; its states are of `kept`.
template <typename RunFn>
Array scanInCalls(Scan &whole, DType kept, int64_t most, RunFn run) {
  const ScanShape &shape = whole.shape;
  int64_t texts = shape.batch, width = shape.heads * shape.width;
  Array y(whole.y.dtype(), whole.inputs());
  Array state = randomArray(kept, (texts + 1) * width * shape.state, 9, 100);
  for (const Tokens &call : callsOf(texts, shape.sequence, most)) {
    Array x = gather(call, whole.x, texts, width);
    Array step = gather(call, whole.step, texts, shape.heads);
    Array in = gather(call, whole.inMap, texts, shape.groups * shape.state);
    Array out = gather(call, whole.outMap, texts, shape.groups * shape.state);
    Array result = randomArray(whole.y.dtype(), x.size(), 5);
    CachedScanArguments args{whole.forward(), call.places(texts + 1),
                             state.view()};
    StateScanArguments &scan = args.scan;
    scan.shape.batch = 1, scan.shape.sequence = call.count();
    scan.x = x.view(), scan.step = step.view(), scan.inMap = in.view();
    scan.outMap = out.view(), scan.y = result.view();
    EXPECT_EQ(run(args), nullptr);
    scatter(call, result, texts, width, y);
  }
  return y;
}

TEST(CachedScan, HasTheBitsOfWholeSequences) {
  for (const ScanShape &shape : kScans)
    for (DType type : kTypes)
      forAllWorkers([&](Workers &workers) {
        Scan scan(shape, type, type), exact(shape, type, DType::F64);
        EXPECT_EQ(stateScan(scan.forward(), workers), nullptr);
        EXPECT_EQ(reference::stateScan(exact.forward()), nullptr);
        for (int64_t most : {1, 3, 7, 100}) {
          Array y = scanInCalls(scan, DType::F32, most, [&](const auto &args) {
            return cachedScan(args, workers);
          });
          EXPECT_TRUE(y.sameBits(scan.y)) << "in calls of " << most;
          Array slow =
              scanInCalls(exact, DType::F64, most, [](const auto &args) {
                return reference::cachedScan(args);
              });
          EXPECT_LT(relativeError(slow, exact.y), 1e-12);
        }
        return std::move(scan.y);
      });
}

/// Both check what the host says, and say the same of it.
TEST(CachedScan, ChecksWhatTheHostSays) {
  auto fault = [](std::vector<int32_t> rows, std::vector<int32_t> positions) {
    KernelError error = checkStatePlaces({2, positions.data(), rows.data()},
                                         int64_t(rows.size()));
    return std::string(error ? error : "");
  };
  EXPECT_EQ(fault({0, 1, -1, 0}, {3, 0, 0, 4}), "");
  EXPECT_EQ(fault({2}, {0}), "state space: a token's row is not in the cache");
  EXPECT_EQ(fault({-2}, {0}), "state space: a token's row is not in the cache");
  EXPECT_EQ(fault({0}, {-1}), "state space: a token's position is negative");
  for (int32_t position : {0, 3, 5})
    EXPECT_EQ(fault({0, 1, 0}, {3, 0, position}),
              "state space: a token is not the next one of its row");
}

} // namespace
} // namespace hocket::kernels::test
