//===- ElementwiseTest.cpp - Kernels without reductions -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/targets/cpu/KernelHarness.h"

#include "kernels/reference/Element.h"
#include "kernels/reference/Philox.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

namespace hocket::test {
namespace {

TEST(Elementwise, ChainsOfEveryWidth) {
  for (int64_t cols : columnCounts)
    for (const char *element : {"f32", "bf16", "f16"}) {
      KernelText text{5,
                      cols,
                      {{"full", element}, {"full", element}},
                      {{"full", element}, {"full"}}};
      text.body = R"(
        %c = arith.constant 0.5 : f32
        %0 = arith.mulf %a0, %a1 : f32
        %1 = arith.addf %0, %c : f32
        %2 = arith.subf %1, %a0 : f32
        kern.yield %2, %0 : f32, f32
      )";
      expectKernel(text);
    }
}

TEST(Elementwise, EveryAccessTogether) {
  for (int64_t rows : {1, 6, 12})
    for (int64_t cols : columnCounts) {
      KernelText text{rows,
                      cols,
                      {{"full"},
                       {rows == 1 ? "tiled:1" : "tiled:3"},
                       {"row"},
                       {"col", "bf16"},
                       {"scalar"}},
                      {{"full"}, {"row"}}};
      text.body = R"(
        %0 = arith.addf %a0, %a1 : f32
        %1 = arith.mulf %0, %a2 : f32
        %2 = arith.addf %1, %a3 : f32
        %3 = arith.mulf %2, %a4 : f32
        %4 = arith.mulf %a2, %a4 : f32
        kern.yield %3, %4 : f32, f32
      )";
      expectKernel(text, {.tolerance = {2e-6, 4e-6}});
    }
}

TEST(Elementwise, LongRowsAreSplit) {
  KernelText flat{3, 10007, {{"full"}, {"scalar"}}, {{"full"}}};
  flat.body = "%0 = arith.mulf %a0, %a1 : f32\n kern.yield %0 : f32\n";
  EXPECT_EQ(Kernel(flat).info().tasks, (3 * 10007 + 4095) / 4096);
  expectKernel(flat);
  KernelText rows{2, 8201, {{"full"}, {"col"}, {"row"}}, {{"full", "bf16"}}};
  rows.body = R"(
    %0 = arith.mulf %a0, %a1 : f32
    %1 = arith.addf %0, %a2 : f32
    kern.yield %1 : f32
  )";
  EXPECT_EQ(Kernel(rows).info().tasks, 2 * 3);
  expectKernel(rows);
}

TEST(Elementwise, ResultsOverInputs) {
  KernelText text{9,
                  65,
                  {{"full"}, {"full", "bf16"}, {"row"}},
                  {{"full"}, {"full", "f16"}, {"row"}}};
  text.body = R"(
    %0 = arith.addf %a0, %a1 : f32
    %1 = arith.mulf %a0, %a1 : f32
    %2 = arith.mulf %a2, %a2 : f32
    kern.yield %0, %1, %2 : f32, f32, f32
  )";
  expectKernel(text, {.aliases = {{0, 0}, {1, 1}, {2, 2}}});
}

/// A function on a dense grid of its domain, with specials.
struct Function {
  const char *op;
  double (*reference)(double);
  double low, high, relative, absolute;
};

class Transcendental : public testing::TestWithParam<Function> {};

TEST_P(Transcendental, IsAccurate) {
  const Function &function = GetParam();
  KernelText text{1, 5003, {{"full"}}, {{"full"}}};
  text.body =
      std::string("%0 = ") + function.op + " %a0 : f32\n kern.yield %0 : f32\n";
  Check check;
  check.low = function.low, check.high = function.high;
  check.tolerance = {function.relative, function.absolute};
  std::vector<Values> inputs =
      randomInputs(text, 7, function.low, function.high);
  check.expected.emplace_back();
  for (double x : inputs[0])
    check.expected[0].push_back(function.reference(x));
  expectKernel(text, check);
}

INSTANTIATE_TEST_SUITE_P(
    Math, Transcendental,
    testing::Values(Function{"math.exp", std::exp, -87, 88, 5e-7, 0},
                    Function{"math.exp2", std::exp2, -20, 20, 3e-6, 0},
                    Function{"math.expm1", std::expm1, -2, 2, 1e-6, 1e-7},
                    Function{"math.tanh", std::tanh, -10, 10, 1e-6, 1e-7},
                    Function{"math.erf", std::erf, -5, 5, 1e-6, 2e-7},
                    Function{"math.log", std::log, 1e-6, 50, 5e-7, 2e-7},
                    Function{"math.log1p", std::log1p, -0.9, 5, 1e-6, 2e-7},
                    Function{"math.sin", std::sin, -10, 10, 1e-6, 1e-6},
                    Function{"math.cos", std::cos, -10, 10, 1e-6, 1e-6}),
    [](const auto &info) { return std::string(info.param.op).substr(5); });

TEST(Elementwise, SpecialValuesPass) {
  KernelText text{1, 32, {{"full"}}, {{"full"}, {"full", "bf16"}, {"full"}}};
  text.body = R"(
    %0 = math.exp %a0 : f32
    %1 = math.tanh %a0 : f32
    kern.yield %0, %a0, %1 : f32, f32, f32
  )";
  Kernel kernel(text);
  Values x(32, 0.0);
  x[0] = INFINITY, x[1] = -INFINITY, x[2] = NAN, x[3] = -0.0;
  x[4] = 1.00390625, x[5] = 1.01171875; // Ties of bf16, to even.
  x[6] = 3.4e38, x[7] = 1e-40, x[8] = 100, x[9] = -120;
  for (size_t isa = 0; isa < kernel.isas().size(); ++isa) {
    std::vector<char> in = encode(x, "f32");
    std::vector<char> a(128), b(64), c(128);
    kernel.run(isa, {in.data(), a.data(), b.data(), c.data()}, {}, 0);
    Values e = decode(a, "f32"), h = decode(b, "bf16"), t = decode(c, "f32");
    EXPECT_EQ(e[0], INFINITY);
    EXPECT_EQ(e[1], 0);
    EXPECT_TRUE(std::isnan(e[2]) && std::isnan(h[2]) && std::isnan(t[2]));
    EXPECT_EQ(e[8], INFINITY);
    EXPECT_EQ(e[9], 0);
    EXPECT_EQ(t[0], 1);
    EXPECT_EQ(t[1], -1);
    EXPECT_EQ(h[0], INFINITY);
    EXPECT_TRUE(std::signbit(h[3]));
    EXPECT_EQ(h[4], 1.0);
    EXPECT_EQ(h[5], 1.015625);
    EXPECT_EQ(h[6], rounded(static_cast<float>(3.4e38), "bf16"));
    EXPECT_EQ(h[7], rounded(static_cast<float>(1e-40), "bf16"));
  }
}

TEST(Elementwise, RoundsInsideTheRegion) {
  for (const char *element : {"bf16", "f16"}) {
    KernelText text{3, 37, {{"full"}}, {{"full"}}};
    std::string type = element;
    text.body = "%0 = arith.truncf %a0 : f32 to " + type +
                "\n%1 = arith.extf %0 : " + type +
                " to f32\n kern.yield %1 : f32\n";
    expectKernel(text);
  }
}

TEST(Elementwise, ComparesSelectsAndRounds) {
  KernelText text{4, 77, {{"full"}, {"row"}}, {{"full"}, {"full"}}};
  text.body = R"(
    %0 = arith.cmpf ogt, %a0, %a1 : f32
    %1 = arith.select %0, %a0, %a1 : f32
    %2 = math.floor %1 : f32
    %3 = arith.maximumf %2, %a0 : f32
    %4 = math.absf %3 : f32
    %5 = math.copysign %4, %a1 : f32
    %6 = math.roundeven %a0 : f32
    kern.yield %5, %6 : f32, f32
  )";
  expectKernel(text, {.tolerance = {0, 0}});
}

TEST(Elementwise, GeluAndItsGradient) {
  for (const char *element : {"f32", "bf16"}) {
    KernelText text{16,
                    768,
                    {{"full", element}, {"full", element}},
                    {{"full", element}, {"full", element}}};
    // x Phi(x) and dy (Phi(x) + x phi(x)).
    text.body = R"(
      %half = arith.constant 0.5 : f32
      %one = arith.constant 1.0 : f32
      %r = arith.constant 0.70710678 : f32
      %n = arith.constant 0.39894228 : f32
      %0 = arith.mulf %a0, %r : f32
      %1 = math.erf %0 : f32
      %2 = arith.addf %1, %one : f32
      %3 = arith.mulf %2, %half : f32
      %y = arith.mulf %a0, %3 : f32
      %4 = arith.mulf %a0, %a0 : f32
      %5 = arith.mulf %4, %half : f32
      %6 = arith.negf %5 : f32
      %7 = math.exp %6 : f32
      %8 = arith.mulf %7, %n : f32
      %9 = arith.mulf %8, %a0 : f32
      %10 = arith.addf %3, %9 : f32
      %dx = arith.mulf %a1, %10 : f32
      kern.yield %y, %dx : f32, f32
    )";
    expectKernel(text, {.low = -4, .high = 4});
  }
}

/// Every code widens, and every float narrows, to the reference's bits.
TEST(Elementwise, EightBitsAsTheReference) {
  using namespace kernels;
  for (auto [element, type] : {std::pair("f8E4M3FN", DType::F8E4M3),
                               std::pair("f8E5M2", DType::F8E5M2)}) {
    constexpr int64_t cols = 4003;
    KernelText narrow{3, cols, {{"full"}}, {{"full", element}}};
    narrow.body = "kern.yield %a0 : f32\n";
    std::vector<float> values(3 * cols);
    for (size_t i = 0; i < values.size(); ++i) {
      // Any bits, numbers of the range that is kept, and what saturates.
      uint32_t word = randomWord({3, 9, 0}, i);
      values[i] = i < cols
                      ? std::bit_cast<float>(word)
                      : std::ldexp(float(int32_t(word)), int(i % 34) - 31 - 16);
    }
    values[0] = NAN, values[1] = -INFINITY, values[2] = -0.0f;
    Kernel compiled(narrow);
    for (size_t isa = 0; isa < compiled.isas().size(); ++isa) {
      std::vector<uint8_t> codes(values.size());
      compiled.run(isa, {values.data(), codes.data()}, {}, 0);
      for (size_t i = 0; i < values.size(); ++i) {
        uint8_t expected = 0;
        store({&expected, type}, 0, values[i]);
        ASSERT_EQ(codes[i], expected) << compiled.isas()[isa] << values[i];
      }
    }
    KernelText wide{1, 256, {{"full", element}}, {{"full"}}};
    wide.body = "kern.yield %a0 : f32\n";
    Kernel back(wide);
    for (size_t isa = 0; isa < back.isas().size(); ++isa) {
      std::vector<uint8_t> codes(256);
      std::iota(codes.begin(), codes.end(), uint8_t(0));
      std::vector<float> got(256);
      back.run(isa, {codes.data(), got.data()}, {}, 0);
      for (int64_t i = 0; i < 256; ++i) {
        double expected = load(ConstView(codes.data(), type), i);
        ASSERT_TRUE(got[i] == expected ||
                    (std::isnan(got[i]) && std::isnan(expected)))
            << back.isas()[isa] << " code " << i;
      }
    }
  }
}

/// Beside wider elements, on every target, with ends of rows of any length.
TEST(Elementwise, EightBitsBesideWiderElements) {
  for (int64_t cols : columnCounts) {
    KernelText text{5,
                    cols,
                    {{"full", "bf16"}, {"full", "f8E5M2"}, {"row", "f8E4M3FN"}},
                    {{"full", "f8E4M3FN"}, {"full"}, {"row", "f8E5M2"}}};
    text.body = R"(
      %c = arith.constant 128.0 : f32
      %0 = arith.mulf %a0, %c : f32
      %1 = arith.mulf %a1, %a2 : f32
      %2 = arith.negf %a2 : f32
      kern.yield %0, %1, %2 : f32, f32, f32
    )";
    // Half of what subnormals are multiples of.
    expectKernel(text, {.tolerance = {2e-6, 0x1p-10}});
  }
}

/// The greatest magnitude of a row, and the row in units of it.
TEST(Elementwise, EightBitsOfARowInUnitsOfItsGreatest) {
  for (int64_t cols : {5, 64, 1000, 5000}) {
    KernelText text{
        3, cols, {{"full", "bf16"}}, {{"full", "f8E4M3FN"}, {"row"}}};
    text.body = R"(
      %0 = math.absf %a0 : f32
      %1 = kern.reduce max %0 : f32
      %2 = math.copysign %1, %a0 : f32
      kern.yield %2, %1 : f32, f32
    )";
    expectKernel(text);
  }
}

/// Inside a region too: rounded to 8 bits and used again.
TEST(Elementwise, EightBitsInside) {
  KernelText text{5, 67, {{"full"}}, {{"full"}}};
  text.body = R"(
    %0 = arith.truncf %a0 : f32 to f8E4M3FN
    %1 = arith.extf %0 : f8E4M3FN to f32
    %2 = arith.subf %a0, %1 : f32
    kern.yield %2 : f32
  )";
  Kernel kernel(text);
  std::vector<Values> in = randomInputs(text, 7, -600, 600);
  Values expected = kernel.evaluate(in, {})[0];
  for (size_t isa = 0; isa < kernel.isas().size(); ++isa) {
    LaunchMemory memory(text, in, {});
    kernel.run(isa, memory.pointers, {}, 0);
    Values got = decode(memory.results()[0], "f32");
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], expected[i]) << kernel.isas()[isa] << in[0][i];
  }
}

/// Against the formulas of arXiv 1711.05101, written out.
TEST(Elementwise, AdamW) {
  KernelText text{37,
                  129,
                  {{"full"},
                   {"full", "bf16"},
                   {"full"},
                   {"full"},
                   {"scalar"},
                   {"scalar"},
                   {"scalar"}},
                  {{"full"}, {"full"}, {"full"}, {"full", "bf16"}}};
  text.body = R"(
    %b1 = arith.constant 0.9 : f32
    %r1 = arith.constant 0.1 : f32
    %b2 = arith.constant 0.95 : f32
    %r2 = arith.constant 0.05 : f32
    %eps = arith.constant 1.0e-8 : f32
    %wd = arith.constant 0.1 : f32
    %one = arith.constant 1.0 : f32
    %0 = arith.mulf %b1, %a2 : f32
    %1 = arith.mulf %r1, %a1 : f32
    %m = arith.addf %0, %1 : f32
    %2 = arith.mulf %a1, %a1 : f32
    %3 = arith.mulf %r2, %2 : f32
    %4 = arith.mulf %b2, %a3 : f32
    %v = arith.addf %3, %4 : f32
    %5 = arith.divf %v, %a6 : f32
    %6 = math.sqrt %5 : f32
    %7 = arith.addf %6, %eps : f32
    %8 = arith.divf %m, %a5 : f32
    %9 = arith.divf %8, %7 : f32
    %10 = arith.mulf %a4, %9 : f32
    %11 = arith.mulf %a4, %wd : f32
    %12 = arith.subf %one, %11 : f32
    %13 = arith.mulf %a0, %12 : f32
    %p = arith.subf %13, %10 : f32
    kern.yield %p, %m, %v, %p : f32, f32, f32, f32
  )";
  Check check;
  check.low = 0.05, check.high = 1;
  check.aliases = {{0, 0}, {1, 2}, {2, 3}, {3, 1}};
  std::vector<Values> in = randomInputs(text, 7, check.low, check.high);
  check.expected.resize(4);
  double lr = in[4][0], c1 = in[5][0], c2 = in[6][0];
  for (size_t i = 0; i < in[0].size(); ++i) {
    double g = in[1][i];
    double m = 0.9 * in[2][i] + 0.1 * g, v = 0.95 * in[3][i] + 0.05 * g * g;
    double p =
        in[0][i] * (1 - lr * 0.1) - lr * (m / c1) / (std::sqrt(v / c2) + 1e-8);
    check.expected[0].push_back(p);
    check.expected[1].push_back(m);
    check.expected[2].push_back(v);
    check.expected[3].push_back(p);
  }
  expectKernel(text, check);
}

} // namespace
} // namespace hocket::test
