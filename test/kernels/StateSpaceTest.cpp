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

} // namespace
} // namespace hocket::kernels::test
