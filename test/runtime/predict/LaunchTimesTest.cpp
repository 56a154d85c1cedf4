//===- LaunchTimesTest.cpp - What a kernel takes on a GPU -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Numbers are worked out here from the data sheet of an H200: 132
/// multiprocessors, 4.8 TB/s, 989.4 TFLOP/s in 16 bits and 66.9 in f32.
///
//===----------------------------------------------------------------------===//

#include "runtime/predict/LaunchTimes.h"
#include "runtime/cluster/Systems.h"

#include <gtest/gtest.h>

using namespace hocket;

namespace {

class LaunchTime200 : public testing::Test {
protected:
  LaunchTime200() : system(*cluster::systemNamed("h200")), times(system) {}

  static KernelLaunch kernel(double blocks, double threads) {
    KernelLaunch launch;
    launch.blocks = blocks;
    launch.threads = threads;
    return launch;
  }

  cluster::System system;
  LaunchTimes times;
};

} // namespace

TEST_F(LaunchTime200, ColumnSumsHaveTooFewBlocks) {
  // 65,536 x 768 of bf16: a block for each 32 bytes of columns, 512 threads,
  // two vectors of 16 bytes of each under way.
  KernelLaunch sums = kernel(48, 512);
  sums.bytes = sums.readBytes = 65536.0 * 768 * 2;
  sums.threadBytes = 32;
  sums.flops = 65536.0 * 768;
  LaunchTime time = times.timeOf(sums, nullptr);
  EXPECT_EQ(time.bound, Bound::Latency);
  EXPECT_TRUE(times.isFew(time.blocks));
  EXPECT_EQ(time.inFlightBytes, 48 * 512 * 32);
  EXPECT_NEAR(times.neededBytes(), 3.6e6, 1);
  // 786,432 bytes each 0.75 us are 1.05 TB/s.
  EXPECT_NEAR(time.latency, 100663296 / (786432 / 0.75e-6), 1e-9);
  EXPECT_NEAR(time.memory, 100663296 / 4.32e12, 1e-9);
  EXPECT_NEAR(time.seconds(), 96e-6 + 2.5e-6, 1e-7);
  // In five times as many blocks, memory is what binds.
  sums.blocks = 48 * 5;
  EXPECT_EQ(times.timeOf(sums, nullptr).bound, Bound::Memory);
}

TEST_F(LaunchTime200, WhatIsShortTakesItsStart) {
  KernelLaunch small = kernel(1, 256);
  small.bytes = small.readBytes = 4096;
  small.threadBytes = 16;
  LaunchTime time = times.timeOf(small, nullptr);
  EXPECT_EQ(time.bound, Bound::Latency);
  EXPECT_NEAR(time.seconds(), 2.5e-6 + 0.75e-6, 1e-9);
}

TEST_F(LaunchTime200, GemmsRunInWavesOfTiles) {
  // 512 x 3 tiles of 128 x 256 are 11.6 waves, so 12; each multiplies a depth
  // of 768, and 192 for its begin and end, at 83 % of a multiprocessor's peak.
  GemmTiles tiles = times.gemmTiles({65536, 768, 768});
  EXPECT_EQ(tiles.tiles, 1536);
  double ofTile = 2.0 * 128 * 256 * (768 + 192) / (989.4e12 * 0.83 / 132);
  EXPECT_NEAR(tiles.seconds, 12 * ofTile, 1e-9);
  // As published for this size.
  double rate =
      2.0 * 8192 * 8192 * 8192 / times.gemmTiles({8192, 8192, 8192}).seconds;
  EXPECT_GT(rate, 769e12);
  EXPECT_LT(rate, 798e12);
}

TEST_F(LaunchTime200, FewTilesShareTheirDepth) {
  GemmTiles tiles = times.gemmTiles({768, 768, 65536});
  EXPECT_GT(tiles.parts, 1);
  EXPECT_GE(tiles.tiles, 132);
  // Not where the depth is short: 3 x 3 tiles at most of 128 x 128.
  EXPECT_EQ(times.gemmTiles({384, 384, 512}).parts, 1);
}

TEST_F(LaunchTime200, OperandsDecideTheUnits) {
  double wide = times.gemmTiles({8192, 8192, 8192, program::F32}).seconds;
  double half = times.gemmTiles({8192, 8192, 8192, program::F16}).seconds;
  double eight = times.gemmTiles({8192, 8192, 8192, program::F8_E4M3}).seconds;
  // cuBLASLt keeps the bits of f32: no tensor cores.
  EXPECT_NEAR(wide / half, 989.4 / 66.9, 0.01);
  EXPECT_NEAR(half / eight, 1978.9 * 0.64 / (989.4 * 0.83), 0.01);
}

TEST_F(LaunchTime200, BlocksAtATimeAreLimitedByWhatTheyTake) {
  auto atOnce = [&](double threads, double shared, uint32_t registers,
                    uint64_t fixed = 0) {
    KernelLaunch launch = kernel(1000, threads);
    launch.sharedBytes = shared;
    CubinKernel code{registers, fixed};
    return times.blocksAtOnce(launch, registers ? &code : nullptr);
  };
  EXPECT_EQ(atOnce(512, 0, 0), 4);  // 2,048 threads.
  EXPECT_EQ(atOnce(32, 0, 0), 32);  // 32 blocks.
  EXPECT_EQ(atOnce(256, 0, 32), 8); // 1,024 registers a warp: 64 warps.
  // 40 x 32 are 1,280 registers a warp: 51 warps, of which 48 in fours.
  EXPECT_EQ(atOnce(256, 0, 40), 6);
  // 168 x 32 are 5,376: 12 warps, one block of 384 threads.
  EXPECT_EQ(atOnce(384, 0, 168), 1);
  // 100 KiB and the one that CUDA keeps, in 228 KiB.
  EXPECT_EQ(atOnce(128, 102400, 0), 2);
  EXPECT_EQ(atOnce(128, 102400, 32, 16384), 1);
  EXPECT_EQ(atOnce(1024, 300000, 255), 1); // What cannot run runs alone.
}

TEST_F(LaunchTime200, AttentionIsPricedAsPlansAre) {
  KernelLaunch launch = kernel(6144, 384);
  AttentionSizes sizes;
  sizes.sequences = 64, sizes.queries = sizes.keys = 1024;
  sizes.heads = 12, sizes.headDim = 64;
  sizes.elementBytes = 2, sizes.causal = true;
  launch.attention = AttentionPart{sizes, 1};
  // Two GEMMs of half a square: 103 GFLOP. At head dim 64 and 1,024 tokens
  // 0.62 x 1024 / 2024 x sqrt(1/2) of the peak.
  double flops = 2 * 2.0 * 64 * 12 * 1024 * 1024 * 64 / 2;
  double rate = 989.4e12 * 0.62 * 1024 / 2024 * 0.70711;
  double forward = times.timeOf(launch, nullptr).compute;
  EXPECT_NEAR(forward, flops / rate, 1e-7);
  launch.attention->sizes.backward = true;
  launch.attention->share = 3.0 / 7;
  EXPECT_NEAR(times.timeOf(launch, nullptr).compute, forward * 2.5 * 3 / 7,
              1e-9);
  launch.blocks = 33;
  LaunchTime few = times.timeOf(launch, nullptr);
  EXPECT_NEAR(few.compute, 4 * forward * 2.5 * 3 / 7, 1e-9);
  EXPECT_EQ(few.bound, Bound::Latency);
}

TEST(LaunchTimes, AskedBytesAreThoseOfALoopWhereThereIsOne) {
  EXPECT_EQ(askedBytes(12), 12);
  EXPECT_EQ(askedBytes(64), 64);
  EXPECT_EQ(askedBytes(4096), 32);
}
