//===- TensorCopyTest.cpp - Emulated copies of tensors, and barriers ------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// kernels/cuda/TensorCopies.cuh on the emulator: what is right gives the same
/// numbers in every order, and whatever is left out of it is found.
///
//===----------------------------------------------------------------------===//

#include "test/emulator/Module.h"
#include "test/emulator/TensorMap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace hocket::emulator {
namespace {

struct alignas(64) MapBytes {
  std::byte bytes[128];
};

/// A matrix of bf16 whose elements are small integers, of which boxes of 64
/// columns are copied.
class Matrix {
public:
  Matrix(unsigned rows, unsigned columns, unsigned boxRows)
      : rows(rows), columns(columns), elements(rows * columns) {
    for (size_t i = 0; i < elements.size(); ++i)
      elements[i] = bitsOf(float(i * 7 % 97) + 1);
    unsigned long long sizes[] = {columns, rows}, strides[] = {columns * 2ull};
    unsigned box[] = {64, boxRows}, ones[] = {1, 1};
    TensorMapRequest request{
        9, 2, elements.data(), sizes, strides, box, ones, 0, 3, 3, 0};
    EXPECT_EQ(TensorMap::encode(request, &map), "");
  }
  /// 0 outside.
  float at(int row, int column) const {
    if (row < 0 || column < 0 || unsigned(row) >= rows ||
        unsigned(column) >= columns)
      return 0;
    uint32_t bits = uint32_t(elements[unsigned(row) * columns + column]) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

  MapBytes map;

private:
  static uint16_t bitsOf(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof(bits));
    return uint16_t(bits >> 16);
  }
  unsigned rows, columns;
  std::vector<uint16_t> elements;
};

/// A kernel `k` of the map and numbers that it writes.
class Kernel {
public:
  Kernel(const std::string &body, unsigned threads) : threads(threads) {
    module = Module::compile(
        "#include \"kernels/cuda/TensorCopies.cuh\"\n"
        "using namespace hocket::cuda;\n"
        "extern \"C\" __global__ void __launch_bounds__(512, 1)\n"
        "k(const __grid_constant__ TensorMap map, float *out) {\n"
        "HOCKET_DYNAMIC_SHARED(shared);\n"
        "char *start = alignTiles(shared);\n"
        "int thread = threadIdx.x, lane = thread % 32;\n" +
            body + "\n}\n",
        error);
    EXPECT_TRUE(module) << error;
  }

  struct Outcome {
    std::vector<float> values;
    std::string error;
  };
  Outcome run(Matrix &matrix, uint64_t seed, size_t count = 512) {
    Outcome outcome{std::vector<float>(count), ""};
    if (!module)
      return outcome;
    float *out = outcome.values.data();
    Launch launch;
    launch.blockSize.x = threads;
    launch.sharedBytes = 32 * 1024;
    launch.seed = seed;
    outcome.error = module->run("k", launch, {&matrix.map, &out});
    return outcome;
  }

private:
  std::string error;
  unsigned threads;
  std::unique_ptr<Module> module;
};

std::string without(std::string text, const std::string &part,
                    const std::string &instead = "") {
  size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), instead);
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// Copies a box of 16 rows to where out's numbers are taken from.
std::string boxAt(int column, int row) {
  return "__shared__ Mbarrier there;\n"
         "if (thread == 0) { there.begin(1); fenceBarrierInit();\n"
         "there.expect(2048); copyBox(start, map, there, " +
         std::to_string(column) + ", " + std::to_string(row) +
         "); }\n"
         "__syncthreads(); there.wait(0);\n"
         "SwizzledTile<bf16, 16, 64> tile{start};\n"
         "for (int i = thread; i < 1024; i += 32)\n"
         "  out[i] = toFloat(static_cast<bf16 *>(tile.vector(i / 64, i % 64 / "
         "8))[i % 8]);";
}

/// Wherever they lie, with zeros outside of the tensor.
TEST(TensorCopies, BoxesLieInSwizzledTiles) {
  Matrix matrix(37, 104, 16);
  for (auto [column, row] : {std::pair{0, 0}, {64, 32}, {16, -3}, {-8, 11}}) {
    Kernel kernel(boxAt(column, row), 32);
    for (uint64_t seed : {1, 2, 3}) {
      auto outcome = kernel.run(matrix, seed, 1024);
      EXPECT_EQ(outcome.error, "");
      for (int i = 0; i < 1024; ++i)
        ASSERT_EQ(outcome.values[i], matrix.at(row + i / 64, column + i % 64))
            << "box at " << column << ", " << row << ", number " << i;
    }
  }
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// One warp fetches six tiles of 8 rows into two places, another adds them up.
const std::string ring = R"(
  __shared__ TileRing<2> ring;
  auto tile = [&](int i) { return SwizzledTile<bf16, 8, 64>{start + i % 2 * 1024}; };
  if (thread == 0) {
    ring.begin(1, 1);
    fenceBarrierInit();
  }
  __syncthreads();
  if (thread == 32)
    for (int i = 0; i < 6; ++i) {
      ring.producerAcquire(i);
      ring.barrier(i).expect(1024);
      copyBox(tile(i).start, map, ring.barrier(i), 0, 8 * i);
    }
  if (thread < 32) {
    float sum = 0;
    for (int i = 0; i < 6; ++i) {
      ring.consumerWait(i);
      for (int j = lane; j < 512; j += 32)
        sum = 2 * sum + toFloat(
            static_cast<bf16 *>(tile(i).vector(j / 64, j % 64 / 8))[j % 8]);
      ring.consumerRelease(i);
    }
    out[lane] = sum;
  }
)";

std::vector<float> ringSums(const Matrix &matrix) {
  std::vector<float> sums(512);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 512; ++j)
      sums[j % 32] = 2 * sums[j % 32] + matrix.at(8 * i + j / 64, j % 64);
  return sums;
}

TEST(TensorCopies, ARingHandsOnTiles) {
  Matrix matrix(48, 64, 8);
  Kernel kernel(ring, 64);
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    auto outcome = kernel.run(matrix, seed);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.values, ringSums(matrix)) << "seed " << seed;
  }
}

/// With how many of twelve seeds it gives other numbers or an error, and with
/// how many an error with these words.
struct Found {
  int wrong = 0, told = 0;
};
Found findIn(const std::string &body, const std::string &words) {
  Matrix matrix(48, 64, 8);
  Kernel kernel(body, 64);
  Found found;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    auto outcome = kernel.run(matrix, seed);
    found.told +=
        !words.empty() && outcome.error.find(words) != std::string::npos;
    found.wrong += outcome.values != ringSums(matrix);
  }
  return found;
}

TEST(TensorCopies, AMissingWaitIsFound) {
  EXPECT_GT(findIn(without(ring, "ring.consumerWait(i);"), "").wrong, 0)
      << "a tile is read before it is there";
  EXPECT_GT(findIn(without(ring, "ring.producerAcquire(i);"), "").wrong, 0)
      << "a tile is overwritten while it is read";
  std::string early = without(ring, "ring.consumerRelease(i);");
  early = without(early, "ring.consumerWait(i);",
                  "ring.consumerWait(i); ring.consumerRelease(i);");
  EXPECT_GT(findIn(early, "").wrong, 0) << "a tile is given back too early";
}

TEST(TensorCopies, WhatDoesNotAddUpIsTold) {
  auto allTell = [](const std::string &body, const std::string &words) {
    EXPECT_EQ(findIn(body, words).told, 12) << words;
  };
  allTell(without(ring, "expect(1024)", "expect(2048)"),
          "in phase 0, which lacks 0 of 1 arrivals and 1024 bytes");
  allTell(without(ring, "expect(1024)", "expect(512)"),
          "in phase 0, which lacks 0 of 1 arrivals and -512 bytes");
  allTell(without(ring, "ring.consumerRelease(i);"),
          "in phase 0, which lacks 1 of 1 arrivals and 0 bytes");
  allTell(without(ring, "ring.begin(1, 1)", "ring.begin(1, 2)"),
          "in phase 0, which lacks 1 of 2 arrivals");
  allTell(without(ring, "ring.begin(1, 1);"), "which was not begun");
  allTell(without(ring, "fenceBarrierInit();"), "which was not shown");
  allTell(without(ring, "begin(1, 1);", "begin(1, 1); ring.begin(1, 1);"),
          "which goes on");
  allTell(
      without(ring, "copyBox(tile(i).start,", "copyBox(tile(i).start + 512,"),
      "not aligned");
  allTell(
      without(ring, "copyBox(tile(i).start,", "copyBox(tile(i).start + 32768,"),
      "not within shared memory");
  allTell(without(ring, "0, 8 * i)", "0, 8 * i, 0)"),
          "a tensor map of rank 2 with 3 places");
  allTell(without(ring, "copyBox(tile(i).start, map",
                  "copyBox(tile(i).start, *(const TensorMap *)out"),
          "no tensor map");
}

TEST(TensorCopies, CopiesThatNobodyWaitsForAreTold) {
  Matrix matrix(48, 64, 8);
  Kernel kernel("__shared__ Mbarrier there; if (thread == 0) {"
                "there.begin(1); fenceBarrierInit(); there.expect(1024);"
                "copyBox(start, map, there, 0, 0); }",
                32);
  EXPECT_NE(kernel.run(matrix, 1).error.find("while 1 copies were under way"),
            std::string::npos);
}

TEST(TensorCopies, WhatIsWrittenOverABarrierIsTold) {
  Matrix matrix(48, 64, 8);
  Kernel kernel("__shared__ Mbarrier there; if (thread == 0) {"
                "there.begin(1); *(double *)&there = 1; there.arrive(); }",
                32);
  EXPECT_NE(kernel.run(matrix, 1).error.find("was written over"),
            std::string::npos);
}

//===----------------------------------------------------------------------===//
// MMAs
//===----------------------------------------------------------------------===//

/// A warpgroup multiplies tiles, each by itself, which one thread fetches.
const std::string multiply = R"(
  __shared__ TileRing<2> ring;
  auto tile = [&](int i) { return SwizzledTile<bf16, 64, 64>{start + i % 2 * 8192}; };
  if (thread == 0) {
    ring.begin(1, 4);
    fenceBarrierInit();
  }
  __syncthreads();
  if (warpgroup() == 1) {
    if (thread == 128)
      for (int i = 0; i < 5; ++i) {
        ring.producerAcquire(i);
        ring.barrier(i).expect(8192);
        copyBox(tile(i).start, map, ring.barrier(i), 0, 64 * i);
      }
  } else {
    float sums[8][4] = {};
    Wgmma wgmma;
    for (int i = 0; i < 5; ++i) {
      ring.consumerWait(i);
      wgmma.begin();
      for (int k = 0; k < 64; k += 16)
        wgmma.add<bf16, true, true, true>(sums, tile(i).rows(0, k),
                                             tile(i).rows(0, k));
      wgmma.commit();
      wgmma.wait<0>(sums);
      ring.consumerRelease(i);
    }
    out[thread] = sums[0][0];
  }
)";

/// Of each thread: row 16 w + g, column 2 t of the sum.
std::vector<float> squares(const Matrix &matrix) {
  std::vector<float> sums(512);
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < 5; ++i)
      for (int k = 0; k < 64; ++k)
        sums[thread] +=
            matrix.at(64 * i + thread / 32 * 16 + thread % 32 / 4, k) *
            matrix.at(64 * i + thread % 4 * 2, k);
  return sums;
}

TEST(TensorCopies, GemmsReadTilesUntilTheyAreWaitedFor) {
  Matrix matrix(320, 64, 64);
  Kernel kernel(multiply, 256);
  std::string early = without(multiply, "ring.consumerRelease(i);");
  Kernel tooEarly(
      without(early, "wgmma.wait<0>", "ring.consumerRelease(i); wgmma.wait<0>"),
      256);
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    auto outcome = kernel.run(matrix, seed);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.values, squares(matrix)) << "seed " << seed;
    wrong += tooEarly.run(matrix, seed).values != squares(matrix);
  }
  EXPECT_GT(wrong, 0) << "a tile is overwritten while MMAs read it";
}

TEST(TensorCopies, GemmsWithoutAFenceOfRegistersAreTold) {
  Matrix matrix(320, 64, 64);
  Kernel kernel(without(multiply, "wgmma.begin();"), 256);
  EXPECT_NE(kernel.run(matrix, 1).error.find("adds an MMA without begin()"),
            std::string::npos);
}

/// Threads write a tile of ones themselves, and multiply it.
const std::string multiplyOnes = R"(
  SwizzledTile<bf16, 64, 64> tile{start};
  for (int i = thread; i < 512; i += 128)
    for (int j = 0; j < 8; ++j)
      static_cast<bf16 *>(tile.vector(i / 8, i % 8))[j] = bf16{0x3f80};
  fenceProxyAsync();
  __syncthreads();
  float sums[8][4] = {};
  Wgmma wgmma;
  wgmma.begin();
  wgmma.add<bf16, true, true, true>(sums, tile.rows(0, 0), tile.rows(0, 0));
  wgmma.commit();
  wgmma.wait<0>(sums);
  out[thread] = sums[0][0];
)";

TEST(TensorCopies, GemmsSeeWhatIsShownToThem) {
  Matrix matrix(64, 64, 64);
  auto outcome = Kernel(multiplyOnes, 128).run(matrix, 1, 128);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.values, std::vector<float>(128, 16));
  for (const char *needed : {"fenceProxyAsync();", "__syncthreads();"}) {
    Kernel kernel(without(multiplyOnes, needed), 128);
    int wrong = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed)
      wrong += kernel.run(matrix, seed, 128).values != outcome.values;
    EXPECT_GT(wrong, 0) << needed;
  }
}

TEST(TensorCopies, RegistersAreCounted) {
  Matrix matrix(320, 64, 64);
  auto errorOf = [&](const std::string &body) {
    return Kernel(body, 512).run(matrix, 1).error;
  };
  EXPECT_EQ(errorOf("if (warpgroup() == 3) setmaxnregDec<24>();"
                    "else setmaxnregInc<160>();"),
            "");
  EXPECT_NE(errorOf("if (warpgroup() == 3) setmaxnregDec<24>();"
                    "else setmaxnregInc<168>();")
                .find("has 67584 registers, of which there are 65536"),
            std::string::npos);
  EXPECT_NE(errorOf("if (thread >= 416) setmaxnregDec<24>();")
                .find("from thread 384 on, of which not all threads"),
            std::string::npos);
  EXPECT_NE(errorOf("setmaxnregDec<160>();").find("gives all but 160"),
            std::string::npos);
  EXPECT_NE(errorOf("setmaxnregInc<250>();").find("wants 250 registers"),
            std::string::npos);
}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

/// Two of three warps hand a number on, without the third.
const std::string turns = R"(
  __shared__ float box[2];
  if (thread < 32) {
    if (lane == 0) box[0] = 1;
    namedBarrierArrive(1, 64);
    namedBarrierSync(2, 64);
    out[lane] = box[1];
  } else if (thread < 64) {
    namedBarrierSync(1, 64);
    if (lane == 0) box[1] = box[0] + 1;
    namedBarrierArrive(2, 64);
  }
)";

TEST(TensorCopies, SomeWarpsMeet) {
  Matrix matrix(48, 64, 8);
  Kernel kernel(turns, 96),
      careless(without(turns, "namedBarrierSync(2, 64);"), 96),
      stuck(without(turns, "namedBarrierArrive(1, 64);"), 96),
      unequal(without(turns, "namedBarrierSync(1, 64);",
                      "namedBarrierSync(1, 96);"),
              96);
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    auto outcome = kernel.run(matrix, seed);
    EXPECT_EQ(outcome.error, "");
    for (int lane = 0; lane < 32; ++lane)
      EXPECT_EQ(outcome.values[lane], 2.0f);
    wrong += careless.run(matrix, seed).values[0] != 2.0f;
    EXPECT_NE(stuck.run(matrix, seed).error.find("waits at barrier"),
              std::string::npos);
    EXPECT_NE(unequal.run(matrix, seed).error.find("wants other threads"),
              std::string::npos);
  }
  EXPECT_GT(wrong, 0);
  EXPECT_NE(careless.run(matrix, 1).error.find("32 of 64 threads at barrier 2"),
            std::string::npos);
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

TEST(TensorCopies, TensorMapsKeepTheRulesOfTheDriver) {
  alignas(64) std::byte memory[256];
  auto errorOf = [&](const std::function<void(TensorMapRequest &)> &change,
                     unsigned long long size = 64,
                     unsigned long long stride = 128, unsigned side = 64,
                     size_t mapAt = 0) {
    static unsigned long long sizes[2], strides[1];
    static unsigned box[2], ones[] = {1, 1};
    sizes[0] = size, sizes[1] = 8, strides[0] = stride;
    box[0] = side, box[1] = 8;
    TensorMapRequest request{9,    2, memory, sizes, strides, box,
                             ones, 0, 3,      3,     0};
    change(request);
    alignas(64) std::byte map[256];
    return TensorMap::encode(request, map + mapAt);
  };
  auto as = [](TensorMapRequest &) {};
  EXPECT_EQ(errorOf(as), "");
  EXPECT_NE(errorOf(as, 64, 128, 64, 16), "") << "the map's address";
  EXPECT_NE(errorOf(as, 0), "") << "no elements";
  EXPECT_NE(errorOf(as, 60, 120), "") << "a pitch of 120 bytes";
  EXPECT_NE(errorOf(as, 64, 112), "") << "rows overlap";
  EXPECT_NE(errorOf(as, 64, 1ull << 40), "") << "a pitch of 2^40";
  EXPECT_NE(errorOf(as, 512, 1024, 128), "") << "wider than the swizzle";
  EXPECT_NE(errorOf(as, 64, 128, 60), "") << "rows of 120 bytes";
  EXPECT_NE(errorOf(as, 64, 128, 0), "") << "an empty box";
  using R = TensorMapRequest;
  EXPECT_NE(errorOf([&](R &r) { r.address = memory + 8; }), "");
  EXPECT_NE(errorOf([](R &r) { r.rank = 0; }), "");
  EXPECT_NE(errorOf([](R &r) { r.rank = 6; }), "");
  EXPECT_NE(errorOf([](R &r) { r.dataType = 77; }), "");
  EXPECT_NE(errorOf([](R &r) { r.l2Promotion = 4; }), "");
  EXPECT_EQ(TensorMap::at(memory), nullptr);
}

} // namespace
} // namespace hocket::emulator
