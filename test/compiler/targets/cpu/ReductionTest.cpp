//===- ReductionTest.cpp - Kernels that reduce rows or columns ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/compiler/targets/cpu/KernelHarness.h"
#include "test/compiler/targets/cuda/EmulatedKernel.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hocket::test {
namespace {

std::string number(double value) { return std::to_string(value) + " : f32\n"; }

/// LayerNorm with its statistics as results. Operands: x, weight, bias.
KernelText layerNorm(int64_t rows, int64_t cols, const std::string &element) {
  KernelText text{rows,
                  cols,
                  {{"full", element}, {"col"}, {"col"}},
                  {{"full", element}, {"row"}, {"row"}}};
  text.body = "%n = arith.constant " + number(1.0 / cols) + R"(
    %eps = arith.constant 1.0e-5 : f32
    %0 = kern.reduce add %a0 : f32
    %mean = arith.mulf %0, %n : f32
    %1 = arith.subf %a0, %mean : f32
    %2 = arith.mulf %1, %1 : f32
    %3 = kern.reduce add %2 : f32
    %4 = arith.mulf %3, %n : f32
    %5 = arith.addf %4, %eps : f32
    %rstd = math.rsqrt %5 : f32
    %6 = arith.mulf %1, %rstd : f32
    %7 = arith.mulf %6, %a1 : f32
    %8 = arith.addf %7, %a2 : f32
    kern.yield %8, %mean, %rstd : f32, f32, f32
  )";
  return text;
}

/// The textbook, in double precision.
std::vector<Values> layerNormReference(const KernelText &text,
                                       const std::vector<Values> &in) {
  int64_t rows = text.rows, cols = text.cols;
  double scale = std::stod(std::to_string(1.0 / cols));
  std::vector<Values> out(3);
  for (int64_t r = 0; r < rows; ++r) {
    const double *x = in[0].data() + r * cols;
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < cols; ++c)
      mean += x[c] * scale;
    for (int64_t c = 0; c < cols; ++c)
      variance += (x[c] - mean) * (x[c] - mean) * scale;
    double rstd = 1 / std::sqrt(variance + 1e-5);
    for (int64_t c = 0; c < cols; ++c)
      out[0].push_back((x[c] - mean) * rstd * in[1][c] + in[2][c]);
    out[1].push_back(mean);
    out[2].push_back(rstd);
  }
  return out;
}

TEST(Reduction, LayerNorm) {
  for (int64_t cols : columnCounts)
    for (const char *element : {"f32", "bf16", "f16"}) {
      if (cols == 1)
        continue; // The variance of one number has no accuracy to check.
      KernelText text = layerNorm(9, cols, element);
      Check check;
      check.tolerance = {1e-5, 1e-5};
      check.expected = layerNormReference(text, randomInputs(text, 7));
      check.aliases = {{0, 0}};
      expectKernel(text, check);
    }
}

TEST(Reduction, RmsNormOfLongRows) {
  for (int64_t cols : {4096, 20000}) {
    KernelText text{
        3, cols, {{"full"}, {"col"}, {"full", "bf16"}}, {{"full"}, {"full"}}};
    text.body = "%n = arith.constant " + number(1.0 / cols) + R"(
      %eps = arith.constant 1.0e-6 : f32
      %r = arith.addf %a0, %a2 : f32
      %0 = arith.mulf %r, %r : f32
      %1 = kern.reduce add %0 : f32
      %2 = arith.mulf %1, %n : f32
      %3 = arith.addf %2, %eps : f32
      %4 = math.rsqrt %3 : f32
      %5 = arith.mulf %r, %4 : f32
      %6 = arith.mulf %5, %a1 : f32
      kern.yield %r, %6 : f32, f32
    )";
    expectKernel(text, {.tolerance = {1e-5, 1e-5}});
  }
}

KernelText softmax(int64_t rows, int64_t cols) {
  KernelText text{rows, cols, {{"full"}}, {{"full"}, {"row"}}};
  text.body = R"(
    %one = arith.constant 1.0 : f32
    %m = kern.reduce max %a0 : f32
    %0 = arith.subf %a0, %m : f32
    %e = math.exp %0 : f32
    %s = kern.reduce add %e : f32
    %i = arith.divf %one, %s : f32
    %p = arith.mulf %e, %i : f32
    %l = math.log %s : f32
    %lse = arith.addf %l, %m : f32
    kern.yield %p, %lse : f32, f32
  )";
  return text;
}

TEST(Reduction, Softmax) {
  for (int64_t cols : columnCounts)
    expectKernel(softmax(5, cols), {.aliases = {{0, 0}}, .low = -8, .high = 8});
}

/// Beyond the row buffer's size exponentials are computed again.
TEST(Reduction, SoftmaxOfRowsTooLongToKeep) {
  expectKernel(softmax(2, 70001),
               {.tolerance = {2e-5, 1e-6}, .low = -8, .high = 8});
}

TEST(Reduction, MaximumKeepsNaN) {
  for (int64_t cols : {5, 16, 100}) {
    KernelText text{1, cols, {{"full"}}, {{"scalar"}}};
    text.body = "%0 = kern.reduce max %a0 : f32\n kern.yield %0 : f32\n";
    Kernel kernel(text);
    for (size_t isa = 0; isa < kernel.isas().size(); ++isa)
      for (int64_t at = 0; at < cols; ++at) {
        Values x(cols, 1.0);
        x[at] = NAN;
        std::vector<char> in = encode(x, "f32"), out(4);
        kernel.run(isa, {in.data(), out.data()}, {}, 0);
        EXPECT_TRUE(std::isnan(decode(out, "f32")[0]));
      }
  }
}

TEST(Reduction, WholeTensorToOneNumber) {
  KernelText text{1, 3001, {{"full"}, {"full", "bf16"}}, {{"scalar"}}};
  text.body = R"(
    %0 = arith.mulf %a0, %a1 : f32
    %1 = kern.reduce add %0 : f32
    %2 = math.sqrt %1 : f32
    kern.yield %2 : f32
  )";
  expectKernel(text, {.low = 0.1, .high = 1});
}

TEST(Reduction, RowsOfOneColumn) {
  KernelText text{301, 1, {{"full"}, {"row"}, {"col"}}, {{"full"}, {"row"}}};
  text.body = R"(
    %0 = kern.reduce add %a0 : f32
    %1 = arith.mulf %0, %a1 : f32
    %2 = arith.addf %1, %a2 : f32
    kern.yield %2, %1 : f32, f32
  )";
  expectKernel(text);
}

/// LayerNorm's input gradient: two reductions in one pass.
TEST(Reduction, LayerNormGradient) {
  for (int64_t cols : {63, 768}) {
    KernelText text{
        6,
        cols,
        {{"full", "bf16"}, {"full", "bf16"}, {"col"}, {"row"}, {"row"}},
        {{"full", "bf16"}}};
    text.body = "%n = arith.constant " + number(1.0 / cols) + R"(
      %0 = arith.subf %a0, %a3 : f32
      %x = arith.mulf %0, %a4 : f32
      %g = arith.mulf %a1, %a2 : f32
      %gx = arith.mulf %g, %x : f32
      %s0 = kern.reduce add %g : f32
      %s1 = kern.reduce add %gx : f32
      %m0 = arith.mulf %s0, %n : f32
      %m1 = arith.mulf %s1, %n : f32
      %1 = arith.subf %g, %m0 : f32
      %2 = arith.mulf %x, %m1 : f32
      %3 = arith.subf %1, %2 : f32
      %4 = arith.mulf %3, %a4 : f32
      kern.yield %4 : f32
    )";
    expectKernel(text, {.tolerance = {1e-5, 1e-5}, .aliases = {{0, 1}}});
  }
}

TEST(ColumnSum, BiasAndNormGradients) {
  for (int64_t rows : {1, 5, 300})
    for (int64_t cols : columnCounts)
      for (bool add : {false, true}) {
        KernelText text{rows,
                        cols,
                        {{"full", "bf16"}, {"full"}, {"row"}, {"col"}},
                        {{"col"}, {"col"}, {"col", "bf16"}}};
        text.byColumns = true;
        text.body = R"(
          %0 = arith.subf %a1, %a2 : f32
          %1 = arith.mulf %0, %a0 : f32
          %2 = arith.mulf %1, %a3 : f32
          %3 = arith.addf %a2, %a2 : f32
          kern.yield %a0, %2, %3 : f32, f32, f32
        )";
        Check check;
        check.tolerance = {1e-5, 2e-4};
        check.scalars.accumulate = add;
        check.previous = {Values(cols, 0.5), Values(cols, -3), Values(cols, 2)};
        expectKernel(text, check);
      }
}

/// What the result buffer holds is not read when it is overwritten.
TEST(ColumnSum, OverwritesNaN) {
  KernelText text{8, 50, {{"full"}}, {{"col"}}};
  text.byColumns = true;
  text.body = "kern.yield %a0 : f32\n";
  Check check;
  check.previous = {Values(50, NAN)};
  expectKernel(text, check);
}

TEST(ColumnSum, TiledOperandsRepeat) {
  KernelText text{12, 40, {{"full"}, {"tiled:3"}}, {{"col"}}};
  text.byColumns = true;
  text.body = "%0 = arith.mulf %a0, %a1 : f32\n kern.yield %0 : f32\n";
  expectKernel(text, {.tolerance = {1e-5, 1e-5}});
}

TEST(ColumnSum, FewLongRows) {
  KernelText text{4, 20005, {{"full", "bf16"}}, {{"col"}}};
  text.byColumns = true;
  text.body = "kern.yield %a0 : f32\n";
  EXPECT_EQ(Kernel(text).info().tasks, (20005 + 511) / 512);
  expectKernel(text);
}

/// On GPUs many rows are cut into parts, here two to eighteen of them.
TEST(ColumnSum, ManyRows) {
  struct Shape {
    int64_t rows, cols;
    const char *element;
  };
  for (auto [rows, cols, element] :
       {Shape{2048, 200, "bf16"}, Shape{2049, 72, "f32"},
        Shape{2301, 136, "f16"}, Shape{2177, 63, "bf16"},
        Shape{4100, 8, "bf16"}, Shape{2500, 3, "f32"},
        Shape{2304, 128, "f8E5M2"}}) {
    KernelText text{
        rows, cols, {{"full", element}, {"row"}}, {{"col"}, {"col", "bf16"}}};
    text.byColumns = true;
    text.body = "%0 = arith.mulf %a0, %a1 : f32\n"
                "kern.yield %0, %a0 : f32, f32\n";
    Check check;
    check.tolerance = {1e-5, 1e-3};
    check.scalars.accumulate = rows % 2;
    check.previous = {Values(cols, 0.5), Values(cols, -3)};
    expectKernel(text, check);
  }
}

TEST(ColumnSum, ManyRowsOneOfNaN) {
  KernelText text{2100, 64, {{"full"}}, {{"col"}}};
  text.byColumns = true;
  text.body = "%0 = arith.divf %a0, %a0 : f32\n kern.yield %0 : f32\n";
  Kernel kernel(text);
  std::vector<Values> inputs = {Values(2100 * 64, 3)};
  inputs[0][2099 * 64 + 17] = 0; // In the last row: 0 / 0.
  Check check;
  check.expected = {Values(64, 2100)};
  check.expected[0][17] = NAN;
  expectOnEmulatedGpu(text, kernel.getModule(), inputs, check.expected, check);
}

TEST(ColumnSum, ManyResults) {
  KernelText text{20, 128, {{"full"}}, {}};
  text.byColumns = true;
  std::string yielded, types;
  for (int i = 0; i < 9; ++i) {
    text.results.push_back({"col"});
    std::string n = std::to_string(i);
    text.body += "%c" + n + " = arith.constant " + n + ".5 : f32\n%v" + n +
                 " = arith.mulf %a0, %c" + n + " : f32\n";
    yielded += (i ? ", %v" : "%v") + n;
    types += i ? ", f32" : "f32";
  }
  text.body += "kern.yield " + yielded + " : " + types + "\n";
  expectKernel(text, {.tolerance = {1e-5, 1e-4}});
}

//===----------------------------------------------------------------------===//
// Rows that are summed as well, on GPUs alone
//===----------------------------------------------------------------------===//

/// LayerNorm's gradient with what is added to it, and those of its weight and
/// bias. In shapes whose rows belong to warps and to blocks, that vectors
/// divide and do not, of one part and of several, in groups of which the last
/// is short.
TEST(SummedRows, NormGradients) {
  struct Shape {
    int64_t rows, cols;
    const char *element;
  };
  for (auto [rows, cols, element] :
       {Shape{1, 64, "f32"}, Shape{5, 7, "f32"}, Shape{33, 64, "bf16"},
        Shape{300, 200, "bf16"}, Shape{130, 1, "f32"}, Shape{97, 600, "f32"},
        Shape{65, 1601, "bf16"}, Shape{256, 1600, "bf16"},
        Shape{1000, 40, "f16"}, Shape{2053, 16, "bf16"}}) {
    std::string n = std::to_string(cols) + ".0";
    KernelText text{
        rows,
        cols,
        {{"full", element}, {"full", element}, {"col"}, {"full", element}},
        {{"row"}, {"full", element}, {"col"}, {"col", element}}};
    text.body = "%n = arith.constant " + n + R"( : f32
      %e = arith.constant 1.0e-02 : f32
      %one = arith.constant 1.0 : f32
      %s = kern.reduce add %a1 : f32
      %mean = arith.divf %s, %n : f32
      %c = arith.subf %a1, %mean : f32
      %c2 = arith.mulf %c, %c : f32
      %v = kern.reduce add %c2 : f32
      %v1 = arith.divf %v, %n : f32
      %v2 = arith.addf %v1, %e : f32
      %d = math.sqrt %v2 : f32
      %r = arith.divf %one, %d : f32
      %x = arith.mulf %c, %r : f32
      %g = arith.mulf %a0, %a2 : f32
      %gx = arith.mulf %g, %x : f32
      %s0 = kern.reduce add %g : f32
      %s1 = kern.reduce add %gx : f32
      %m0 = arith.divf %s0, %n : f32
      %m1 = arith.divf %s1, %n : f32
      %1 = arith.subf %g, %m0 : f32
      %2 = arith.mulf %x, %m1 : f32
      %3 = arith.subf %1, %2 : f32
      %4 = arith.mulf %3, %r : f32
      %5 = arith.addf %4, %a3 : f32
      %dw = arith.mulf %a0, %x : f32
      kern.yield %mean, %5, %dw, %a0 : f32, f32, f32, f32
    )";
    Check check;
    check.tolerance = {1e-4, 2e-3};
    check.aliases = {{1, 3}};
    check.scalars.accumulate = rows % 2;
    check.previous = {
        Values(rows, NAN), {}, Values(cols, 0.5), Values(cols, -3)};
    expectKernel(text, check);
  }
}

/// Sums of an elementwise region, of what differs from row to row alone, and of
/// random numbers, which are those of the rows.
TEST(SummedRows, Elementwise) {
  for (int64_t rows : {3, 515}) {
    KernelText text{rows,
                    72,
                    {{"full", "bf16"}, {"row"}, {"tiled:1"}},
                    {{"full", "bf16"}, {"col"}, {"col"}}};
    text.body = "%k = kern.keep_scale {rate = 0.25, stream = 3 : i32}\n"
                "%0 = arith.mulf %a0, %k : f32\n"
                "%1 = arith.addf %0, %a2 : f32\n"
                "kern.yield %1, %0, %a1 : f32, f32, f32\n";
    Check check;
    check.tolerance = {1e-5, 1e-3};
    check.scalars.seed = 7;
    check.scalars.step = 2;
    expectKernel(text, check);
  }
}

/// Rows of more columns than threads can hold: sums are kept in memory.
TEST(SummedRows, WideRows) {
  for (int64_t cols : {4097, 20480}) {
    KernelText text{70, cols, {{"full"}}, {{"full"}, {"col"}, {"col"}}};
    text.body = "%s = kern.reduce add %a0 : f32\n"
                "%0 = arith.addf %a0, %s : f32\n"
                "%1 = arith.mulf %a0, %a0 : f32\n"
                "kern.yield %0, %a0, %1 : f32, f32, f32\n";
    Check check;
    check.tolerance = {1e-4, 1e-2};
    check.aliases = {{0, 0}};
    expectKernel(text, check);
  }
}

/// The row of one element that is no number makes no other column's sum so.
TEST(SummedRows, OneOfNaN) {
  KernelText text{100, 64, {{"full"}}, {{"full"}, {"col"}}};
  text.body = "%0 = arith.divf %a0, %a0 : f32\n kern.yield %0, %0 : f32, f32\n";
  Kernel kernel(text);
  std::vector<Values> inputs = {Values(6400, 3)};
  inputs[0][99 * 64 + 17] = 0; // In the last row: 0 / 0.
  Check check;
  check.expected = {Values(6400, 1), Values(64, 100)};
  check.expected[0][99 * 64 + 17] = check.expected[1][17] = NAN;
  expectOnEmulatedGpu(text, kernel.getModule(), inputs, check.expected, check);
}

/// Processors have no place for such sums.
TEST(SummedRows, RefusedForProcessors) {
  KernelText text{8, 64, {{"full"}}, {{"full"}, {"col"}}};
  text.body = "kern.yield %a0, %a0 : f32, f32\n";
  Kernel kernel(text);
  std::string said;
  mlir::ScopedDiagnosticHandler handler(
      kernel.getModule().getContext(),
      [&](mlir::Diagnostic &diagnostic) { said += diagnostic.str(); });
  cpu::CompiledKernels compiled;
  EXPECT_TRUE(failed(cpu::compileKernels(kernel.getModule(), {}, compiled)));
  EXPECT_EQ(said, "'kern.kernel' op sums over its rows; kernels of rows do so "
                  "on GPUs alone");
}

} // namespace
} // namespace hocket::test
