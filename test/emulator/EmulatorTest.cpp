//===- EmulatorTest.cpp - The emulated GPU itself -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Module.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hocket::emulator {
namespace {

const char *const head = "#include \"kernels/cuda/Mma.cuh\"\n"
                         "using namespace hocket::cuda;\n";

/// What `body` leaves in the 64 floats of `out`, and what was wrong.
struct Outcome {
  std::vector<float> values;
  std::string error;
};

Outcome run(const std::string &body, unsigned threads, uint64_t seed) {
  std::string error;
  auto module = Module::compile(std::string(head) +
                                    "extern \"C\" __global__ void k(float "
                                    "*out) {\n" +
                                    body + "\n}\n",
                                error);
  if (!module)
    return {{}, error};
  std::vector<float> values(64, 0);
  float *pointer = values.data();
  Launch launch;
  launch.blockSize.x = threads;
  launch.sharedBytes = 256;
  launch.seed = seed;
  error = module->run("k", launch, {&pointer});
  return {values, error};
}

/// Each thread hands a number to the next one through shared memory.
std::string handOn(const std::string &barrier) {
  return "__shared__ float box[64]; int i = threadIdx.x; box[i] = i;" +
         barrier + "out[i] = box[(i + 1) % 64];";
}

TEST(Emulator, ABarrierHandsOn) {
  for (uint64_t seed : {1, 2, 3}) {
    Outcome outcome = run(handOn("__syncthreads();"), 64, seed);
    EXPECT_EQ(outcome.error, "");
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(outcome.values[i], static_cast<float>((i + 1) % 64));
  }
}

TEST(Emulator, AMissingBarrierGivesNaN) {
  for (uint64_t seed : {1, 2, 3}) {
    Outcome outcome = run(handOn(""), 64, seed);
    EXPECT_EQ(outcome.error, "");
    int unwritten = 0;
    for (float value : outcome.values)
      unwritten += std::isnan(value);
    EXPECT_GT(unwritten, 0) << "seed " << seed;
  }
}

TEST(Emulator, DynamicSharedMemoryIsUnwrittenToo) {
  Outcome outcome = run("HOCKET_DYNAMIC_SHARED(box); int i = threadIdx.x;"
                        "out[i] = i % 2 ? box[i] : 1.0f;",
                        64, 1);
  EXPECT_EQ(outcome.error, "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(std::isnan(outcome.values[i]), i % 2 == 1);
}

TEST(Emulator, WarpsExchangeAmongThemselves) {
  Outcome outcome = run("int i = threadIdx.x;"
                        "out[i] = __shfl_xor_sync(0xffffffffu, float(i), 5);",
                        64, 4);
  EXPECT_EQ(outcome.error, "");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(outcome.values[i], static_cast<float>(i ^ 5));
}

/// A tile is copied without waiting; then it is written over what others read.
TEST(Emulator, CopiesHappenAtAnyTimeUntilTheyAreWaitedFor) {
  std::string copy = "__shared__ __attribute__((aligned(16))) float box[4];"
                     "out[4] = 7.0f; copyLater(box, out + 4, true);"
                     "commitCopies();";
  std::string wait = "waitForCopies<0>();", use = "out[0] = box[0];";
  for (uint64_t seed : {1, 2})
    EXPECT_EQ(run(copy + wait + use, 1, seed).values[0], 7.0f);
  EXPECT_EQ(run(copy + use, 1, 1).values[0], 7.0f);
  EXPECT_TRUE(std::isnan(run(copy + use, 1, 2).values[0]));
}

TEST(Emulator, ThreadsThatEndedAreNotWaitedFor) {
  Outcome outcome = run("if (threadIdx.x >= 32) return; __syncthreads();"
                        "out[threadIdx.x] = 1.0f;",
                        64, 5);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.values[31], 1.0f);
  EXPECT_EQ(outcome.values[32], 0.0f);
}

TEST(Emulator, WaitingAtDifferentPlacesIsReported) {
  Outcome outcome = run("if (threadIdx.x % 2) __syncthreads();"
                        "else __syncwarp(); out[threadIdx.x] = 1.0f;",
                        64, 6);
  EXPECT_NE(outcome.error.find("waits for threads that wait elsewhere"),
            std::string::npos);
}

TEST(Emulator, ConversionsRoundToNearestEven) {
  Outcome outcome = run("out[0] = toFloat(fromFloat<bf16>(1.00390625f));"
                        "out[1] = toFloat(fromFloat<bf16>(1.01171875f));"
                        "out[2] = toFloat(fromFloat<f16>(65520.0f));"
                        "out[3] = maximum(0.0f, 0.0f / out[9]);",
                        1, 0);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.values[0], 1.0f);
  EXPECT_EQ(outcome.values[1], 1.015625f);
  EXPECT_TRUE(std::isinf(outcome.values[2]));
  EXPECT_TRUE(std::isnan(outcome.values[3]));
}

TEST(Emulator, WrongSourceIsExplained) {
  EXPECT_NE(run("nonsense;", 1, 0).error.find("nonsense"), std::string::npos);
}

} // namespace
} // namespace hocket::emulator
