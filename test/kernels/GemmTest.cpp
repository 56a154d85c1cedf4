//===- GemmTest.cpp - GEMMs against the reference -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/simd/Kernels.h"
#include "test/kernels/AllWorkers.h"

#include <gtest/gtest.h>

#include <utility>

namespace hocket::kernels::emulated {
extern const GemmKernels gemmKernels;
} // namespace hocket::kernels::emulated
namespace hocket::kernels::emulated_pairs {
extern const GemmKernels gemmKernels;
} // namespace hocket::kernels::emulated_pairs

namespace hocket::kernels::test {
namespace {

struct Case {
  int64_t m, n, k;
  bool transposeA = false, transposeB = false;
  DType a = DType::F32, b = DType::F32, d = DType::F32;
  bool packed = false, accumulate = false, bias = false;
  Epilogue epilogue = Epilogue::None;
  bool auxiliary = false, residual = false;
  float alpha = 1;
  float scaleA = 0, scaleB = 0; ///< 0: none
};

std::string describe(const Case &c) {
  return std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
         std::to_string(c.k) + (c.transposeA ? " tA" : "") +
         (c.transposeB ? " tB" : "") + " " + nameOf(c.a) + " " + nameOf(c.b) +
         " " + nameOf(c.d) + (c.packed ? " packed" : "") +
         (c.accumulate ? " accumulate" : "") + (c.bias ? " bias" : "") +
         " epilogue " + std::to_string(static_cast<int>(c.epilogue)) +
         (c.auxiliary ? " auxiliary" : "") + (c.residual ? " residual" : "") +
         (c.scaleA != 0 ? " scaleA" : "") + (c.scaleB != 0 ? " scaleB" : "");
}

/// The operands of one case.
struct Operands {
  Array a, b, d, bias, auxiliary, residual;
  explicit Operands(const Case &c)
      : a(randomArray(c.a, c.m * c.k, 1)), b(randomArray(c.b, c.k * c.n, 2)),
        d(randomArray(c.d, c.m * c.n, 3)), bias(randomArray(c.d, c.n, 4)),
        auxiliary(c.d, c.m * c.n), residual(randomArray(c.d, c.m * c.n, 5)) {}
  Operands(const Operands &o, int)
      : a(o.a.wide()), b(o.b.wide()), d(o.d.wide()), bias(o.bias.wide()),
        auxiliary(o.auxiliary.wide()), residual(o.residual.wide()) {}

  GemmArguments arguments(const Case &c) {
    GemmArguments args;
    args.m = c.m, args.n = c.n, args.k = c.k;
    args.transposeA = c.transposeA, args.transposeB = c.transposeB;
    args.accumulate = c.accumulate, args.alpha = c.alpha;
    args.epilogue = c.epilogue;
    args.a = a.view(), args.b = b.view(), args.d = d.view();
    if (c.bias)
      args.bias = bias.view();
    if (c.auxiliary)
      args.auxiliary = auxiliary.view();
    if (c.residual)
      args.residual = residual.view();
    args.scaleA = c.scaleA != 0 ? &c.scaleA : nullptr;
    args.scaleB = c.scaleB != 0 ? &c.scaleB : nullptr;
    return args;
  }
};

/// 64-byte aligned room for the packed form.
struct Packed {
  std::unique_ptr<std::byte[]> memory;
  void *data;
  explicit Packed(int64_t bytes) : memory(new std::byte[bytes + 64]) {
    auto address = reinterpret_cast<uintptr_t>(memory.get()) + 63;
    data = reinterpret_cast<void *>(address / 64 * 64);
  }
};

Operands runOnCpu(const Case &c, Workers &workers) {
  Operands operands(c);
  GemmArguments args = operands.arguments(c);
  Packed packed(packedBytes(c.b, c.n, c.k));
  if (c.packed) {
    GemmPackArguments pack{c.n, c.k, c.transposeB, args.b, packed.data};
    EXPECT_EQ(gemmPack(pack, workers), nullptr);
    args.b.data = packed.data;
    args.packedB = true;
  }
  EXPECT_EQ(gemm(args, workers), nullptr);
  return operands;
}

void check(const Case &c) {
  SCOPED_TRACE(describe(c));
  Operands wide(Operands(c), 0);
  ASSERT_EQ(reference::gemm(wide.arguments(c)), nullptr);
  for (Isa isa : machineIsas()) {
    SCOPED_TRACE(std::string(nameOf(isa)));
    TestWorkers one(1, isa);
    Operands first = runOnCpu(c, one);
    EXPECT_LT(relativeError(first.d, wide.d), tolerance(c.d));
    if (c.auxiliary) {
      EXPECT_LT(relativeError(first.auxiliary, wide.auxiliary), tolerance(c.d));
    }
    for (int count : {2, 3}) {
      TestWorkers several(count, isa);
      Operands again = runOnCpu(c, several);
      EXPECT_TRUE(again.d.sameBits(first.d)) << count << " workers";
    }
  }
}

TEST(Gemm, EveryTransposeAndOddSize) {
  constexpr int64_t sizes[][3] = {{1, 1, 1},    {1, 33, 7},    {5, 32, 3},
                                  {14, 31, 17}, {15, 65, 256}, {29, 97, 300},
                                  {70, 50, 64}, {33, 1, 40},   {64, 128, 513}};
  for (auto [m, n, k] : sizes)
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true})
        for (bool packed : {false, true})
          check({.m = m,
                 .n = n,
                 .k = k,
                 .transposeA = transposeA,
                 .transposeB = transposeB,
                 .packed = packed});
}

TEST(Gemm, EveryElementType) {
  for (DType a : kTypes)
    for (DType b : kTypes)
      for (DType d : kTypes)
        for (bool transpose : {false, true})
          for (bool packed : {false, true})
            check({.m = 37,
                   .n = 75,
                   .k = 91,
                   .transposeA = transpose,
                   .transposeB = transpose,
                   .a = a,
                   .b = b,
                   .d = d,
                   .packed = packed});
}

TEST(Gemm, EightBitOperands) {
  constexpr std::pair<DType, DType> pairs[] = {{DType::F8E4M3, DType::F8E4M3},
                                               {DType::F8E5M2, DType::F8E4M3},
                                               {DType::F8E4M3, DType::F8E5M2}};
  constexpr int64_t sizes[][3] = {{5, 33, 7}, {37, 75, 91}, {33, 64, 513}};
  for (auto [a, b] : pairs)
    for (DType d : {DType::F32, DType::BF16})
      for (auto [m, n, k] : sizes)
        for (int flags = 0; flags < 4; ++flags)
          check({.m = m,
                 .n = n,
                 .k = k,
                 .transposeA = (flags & 1) != 0,
                 .transposeB = (flags & 2) != 0,
                 .a = a,
                 .b = b,
                 .d = d,
                 .accumulate = d == DType::F32,
                 .bias = true,
                 .epilogue = Epilogue::Gelu,
                 .auxiliary = true,
                 .residual = m > 5,
                 .alpha = 0.5f,
                 .scaleA = flags == 3 ? 0 : 0.75f,
                 .scaleB = flags == 0 ? 0 : 3.0f});
}

TEST(Gemm, WidensEveryCodeAsTheReferenceDoes) {
  constexpr int64_t n = 256;
  for (DType type : {DType::F8E4M3, DType::F8E5M2})
    for (Isa isa : machineIsas()) {
      Array codes(type, n), one(DType::F8E4M3, 1), d(DType::F32, n);
      for (int64_t i = 0; i < n; ++i)
        codes.as<uint8_t>()[i] = uint8_t(i);
      one.set(0, 1);
      for (bool second : {false, true}) {
        GemmArguments args;
        args.m = second ? 1 : n, args.n = second ? n : 1, args.k = 1;
        args.a = second ? one.view() : codes.view();
        args.b = second ? codes.view() : one.view();
        args.d = d.view();
        TestWorkers workers(1, isa);
        ASSERT_EQ(gemm(args, workers), nullptr);
        for (int64_t i = 0; i < n; ++i) {
          bool same =
              d[i] == codes[i] || (std::isnan(d[i]) && std::isnan(codes[i]));
          EXPECT_TRUE(same) << nameOf(isa) << " code " << i << ": " << d[i];
        }
      }
    }
}

TEST(Gemm, RefusesOddPairsOfEightBits) {
  TestWorkers workers(1);
  auto refusal = [&](DType a, DType b, bool packed) {
    Case c{.m = 2, .n = 2, .k = 2, .a = a, .b = b};
    Operands operands(c);
    GemmArguments args = operands.arguments(c);
    args.packedB = packed;
    KernelError error = gemm(args, workers);
    if (!packed)
      EXPECT_STREQ(reference::gemm(args), error);
    return std::string(error ? error : "");
  };
  EXPECT_EQ(refusal(DType::F8E5M2, DType::F8E5M2, false),
            "both operands are f8e5m2, one of the two must be f8e4m3");
  EXPECT_EQ(refusal(DType::F8E4M3, DType::BF16, false),
            "one factor has 8-bit elements and the other has not");
  EXPECT_EQ(refusal(DType::F8E4M3, DType::F8E4M3, true),
            "gemm: there is no packed form of 8-bit elements");
}

TEST(Gemm, EveryEpilogue) {
  for (DType d : kTypes)
    for (int epilogue = 0; epilogue < 6; ++epilogue)
      for (int flags = 0; flags < 16; ++flags)
        check({.m = 21,
               .n = 45,
               .k = 30,
               .d = d,
               .accumulate = (flags & 1) != 0,
               .bias = (flags & 2) != 0,
               .epilogue = static_cast<Epilogue>(epilogue),
               .auxiliary = (flags & 4) != 0,
               .residual = (flags & 8) != 0,
               .alpha = 0.5f});
}

TEST(Gemm, SeveralTiles) {
  check({.m = 530, .n = 300, .k = 270});
  check({.m = 520, .n = 1100, .k = 64, .a = DType::BF16, .b = DType::BF16});
  check({.m = 3, .n = 2100, .k = 600, .packed = true});
}

/// More of op(B) than is packed at a time, and more sums than stay until all of
/// k is added.
TEST(Gemm, SeveralParts) {
  check({.m = 900, .n = 520, .k = 1500, .bias = true});
  check({.m = 21, .n = 600, .k = 2100, .transposeB = true, .accumulate = true});
  check({.m = 70, .n = 1700, .k = 900, .transposeA = true, .b = DType::BF16});
}

/// A row of D has the same bits beside any number of others, and of a packed B.
TEST(Gemm, RowsDoNotDependOnEachOther) {
  constexpr int64_t most = 40, n = 75;
  for (Isa isa : machineIsas())
    for (bool transposeB : {true, false})
      for (auto [a, b] : {std::pair(DType::F32, DType::F32),
                          {DType::F32, DType::BF16},
                          {DType::BF16, DType::BF16},
                          {DType::F16, DType::F16}})
        for (int64_t k : {1, 31, 192, 200, 1100}) {
          Case all{most, n, k, false, transposeB, a, b, a, false, false, true};
          all.epilogue = Epilogue::Gelu;
          all.residual = true;
          Operands whole(all);
          TestWorkers workers(2, isa);
          ASSERT_EQ(gemm(whole.arguments(all), workers), nullptr);
          for (int64_t m : {1, 2, 3, 4, 5, 7, 8, 9, 17})
            for (bool packs : {false, true}) {
              Case some = all;
              some.m = m;
              some.packed = packs;
              // The first rows of the same numbers.
              Operands part = runOnCpu(some, workers);
              for (int64_t i = 0; i < m * n; ++i)
                ASSERT_EQ(part.d[i], whole.d[i])
                    << describe(some) << " on " << nameOf(isa) << ", element "
                    << i;
            }
        }
}

TEST(Gemm, EmptySumStillWritesItsResult) {
  check({.m = 20, .n = 40, .k = 0, .bias = true});
}

TEST(Gemm, ResidualMayBeTheResult) {
  Case c{.m = 17, .n = 40, .k = 9};
  Operands expected(c), got(c);
  GemmArguments args = expected.arguments(c);
  args.residual = args.d;
  ASSERT_EQ(reference::gemm(args), nullptr);
  args = got.arguments(c);
  args.residual = args.d;
  TestWorkers workers(2);
  ASSERT_EQ(gemm(args, workers), nullptr);
  EXPECT_LT(relativeError(got.d, expected.d), 2e-6);
}

TEST(Gemm, ActivationsAreAccurateEverywhere) {
  // d = x * 1, so that the epilogue alone makes the error.
  constexpr int64_t n = 4001;
  Array x(DType::F32, n), one(DType::F32, 1), d(DType::F32, n);
  one.set(0, 1);
  for (int64_t i = 0; i < n; ++i)
    x.set(i, (i - 2000) * 0.0061);
  for (Isa isa : machineIsas())
    for (Epilogue epilogue :
         {Epilogue::Gelu, Epilogue::GeluTanh, Epilogue::Silu}) {
      GemmArguments args;
      args.m = n, args.n = 1, args.k = 1;
      args.a = x.view(), args.b = one.view(), args.d = d.view();
      args.epilogue = epilogue;
      TestWorkers workers(1, isa);
      ASSERT_EQ(gemm(args, workers), nullptr);
      for (int64_t i = 0; i < n; ++i) {
        double expected = reference::activate(epilogue, x[i]);
        ASSERT_NEAR(d[i], expected, 1e-6 * std::abs(expected) + 1e-9)
            << nameOf(isa) << " epilogue " << static_cast<int>(epilogue)
            << " at " << x[i];
      }
    }
}

/// A GEMM by these kernels on one worker, a block of k at a time.
void multiplyBlocks(const GemmKernels &kernels, const GemmArguments &args) {
  TestWorkers workers(1);
  GemmFormat format = kernels.format(args);
  int64_t columns = divideUp(args.n, 32) * 32;
  if (auto *fewRows = kernels.fewRows(args))
    return fewRows(args, {0, args.m, 0, columns}, workers.scratch(0).data());
  SharedPieces panels(workers, kGemmPrivateBytes, int64_t(1) << 20,
                      format.bytesOfPanel(args.k));
  std::vector<float> sums(gemmSumBytes(args.m, columns) / sizeof(float));
  for (int64_t p = 0; p < args.k; p += format.depth) {
    DepthRange depth{p, std::min(format.depth, args.k - p)};
    PackedPart part{panels, 0, args.n, depth};
    for (int64_t column = 0; format.packs && column < args.n; column += 128)
      kernels.packPanels(args, part, column, depth);
    kernels.multiply(args, {0, args.m, 0, columns}, part, sums.data(),
                     workers.scratch(0).data());
  }
}

void checkKernels(const GemmKernels &kernels, const Case &c) {
  SCOPED_TRACE(describe(c));
  Operands got(c), wide(got, 0);
  ASSERT_EQ(reference::gemm(wide.arguments(c)), nullptr);
  GemmArguments args = got.arguments(c);
  Packed packed(packedBytes(c.b, c.n, c.k));
  TestWorkers workers(1, Isa::Avx2);
  if (c.packed) {
    GemmPackArguments pack{c.n, c.k, c.transposeB, args.b, packed.data};
    ASSERT_EQ(gemmPack(pack, workers), nullptr);
    args.b.data = packed.data, args.packedB = true;
  }
  multiplyBlocks(kernels, args);
  EXPECT_LT(relativeError(got.d, wide.d), tolerance(c.d));
}

constexpr int64_t kBlockSizes[][3] = {
    {1, 1, 1},     {16, 32, 32}, {32, 64, 64},   {3, 64, 500},
    {33, 70, 100}, {70, 33, 33}, {97, 40, 1055}, {10, 5, 9}};

/// The code for AMX on tiles in plain memory.
TEST(Gemm, TilesEmulated) {
  if (!cpuSupports(Isa::Avx512))
    GTEST_SKIP() << "the emulation is compiled for AVX-512";
  for (auto [m, n, k] : kBlockSizes)
    for (int flags = 0; flags < 12; ++flags) {
      Case c{.m = m, .n = n, .k = k};
      c.transposeA = flags & 1, c.transposeB = flags & 2, c.packed = flags & 4;
      c.a = flags < 8 ? DType::BF16 : DType::F8E5M2;
      c.b = flags < 8 ? DType::BF16 : DType::F8E4M3, c.bias = true;
      checkKernels(emulated::gemmKernels, c);
    }
}

/// The code for dot products of pairs, which any processor emulates.
TEST(Gemm, PairsEmulated) {
  for (auto [m, n, k] : kBlockSizes)
    for (int flags = 0; flags < 8; ++flags)
      checkKernels(emulated_pairs::gemmKernels, {.m = m,
                                                 .n = n,
                                                 .k = k,
                                                 .transposeA = (flags & 1) != 0,
                                                 .transposeB = (flags & 2) != 0,
                                                 .a = DType::BF16,
                                                 .b = DType::BF16,
                                                 .packed = (flags & 4) != 0,
                                                 .bias = true});
}

TEST(Gemm, RefusesOtherTypes) {
  Case c{.m = 2, .n = 2, .k = 2};
  Operands wide(Operands(c), 0);
  TestWorkers workers(1);
  EXPECT_STREQ(gemm(wide.arguments(c), workers),
               "gemm: an element type is not f32, bf16 or f16");
}

} // namespace
} // namespace hocket::kernels::test
