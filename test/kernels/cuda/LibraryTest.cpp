//===- LibraryTest.cpp - Library ops on the emulated GPU ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cpu/Library.h"
#include "kernels/cuda/Sources.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "test/kernels/cuda/EmulatedLibrary.h"

#include <gtest/gtest.h>

namespace hocket::kernels::test {
namespace {

constexpr int64_t f32 = 1, bf16 = 2, f16 = 3, i32 = 4;

Fill of(int64_t dtype, double scale = 1) {
  return {static_cast<DType>(dtype), scale};
}
Fill ids(int32_t low, int32_t high) { return {DType::I32, 1, low, high}; }

std::vector<LibraryCase> embeddings() {
  std::vector<LibraryCase> cases;
  for (int64_t from : {f32, bf16})
    for (int64_t to : {f32, f16})
      cases.push_back({"embedding",
                       {from, to, 9, 7, 20},
                       {},
                       {},
                       {ids(0, 7), of(from), of(to)}});
  cases.push_back({"embedding_piece",
                   {f16, f16, 9, 4, 24},
                   {},
                   {2},
                   {ids(0, 9), of(f16), of(f16)}});
  for (int accumulate : {0, 1}) {
    cases.push_back({"embedding_gradient",
                     {f32, 50, 70, 9},
                     {},
                     {},
                     {ids(0, 70), of(f32), of(f32)},
                     accumulate});
    // Every token has one of few ids: the block empties its list on the way.
    cases.push_back({"embedding_gradient",
                     {bf16, 3000, 3, 260},
                     {},
                     {},
                     {ids(0, 3), of(bf16), of(f32)},
                     accumulate});
    cases.push_back({"embedding_gradient_piece",
                     {f16, 40, 66, 16},
                     {},
                     {30},
                     {ids(0, 200), of(f16), of(f32)},
                     accumulate});
  }
  return cases;
}

std::vector<LibraryCase> positions() {
  std::vector<LibraryCase> cases;
  cases.push_back(
      {"rope_table", {37, 10}, {1, 0.5, 0.1, 0.02, 1e-4}, {}, {of(f32)}});
  cases.push_back(
      {"rope_table_piece", {8, 4, 32, 4}, {1, 0.01}, {24}, {of(f32)}});
  cases.push_back({"positions", {8, 32, 4}, {}, {24}, {ids(0, 1)}});
  cases.push_back({"positions", {8, 32, 0}, {}, {3}, {ids(0, 1)}});
  for (int64_t dtype : {f32, bf16, f16})
    for (int64_t d : {2, 16, 26})
      cases.push_back({"rope",
                       {dtype, 2, 5, 3, d, d == 16},
                       {},
                       {},
                       {of(dtype), of(f32), of(dtype)}});
  return cases;
}

std::vector<LibraryCase> losses() {
  std::vector<LibraryCase> cases;
  for (auto [dtype, tokens, vocab, valid] :
       {std::array<int64_t, 4>{f32, 5, 17, 17},
        {bf16, 4, 4100, 4093},
        {f16, 3, 300, 1}}) {
    Fill logits = of(dtype, 8), labels = ids(-1, int32_t(valid));
    cases.push_back({"cross_entropy_forward",
                     {dtype, tokens, vocab, valid},
                     {},
                     {},
                     {logits, labels, of(f32), of(f32)}});
    cases.push_back({"cross_entropy_backward",
                     {dtype, tokens, vocab, valid},
                     {},
                     {},
                     {logits, labels, of(f32, 8), of(f32), of(dtype)}});
    for (int64_t first : {int64_t(0), vocab - 3}) {
      cases.push_back(
          {"cross_entropy_rows",
           {dtype, tokens, vocab, vocab + 9, 3},
           {},
           {first},
           {logits, ids(-1, int32_t(vocab + 9)), of(f32), of(f32)}});
      cases.push_back({"cross_entropy_backward_piece",
                       {dtype, tokens, vocab, vocab + 9},
                       {},
                       {first},
                       {logits, ids(-1, int32_t(vocab + 9)), of(f32, 8),
                        of(f32), of(f32, 8), of(dtype)}});
    }
  }
  for (int64_t width : {1, 3, 70})
    cases.push_back(
        {"log_sum_exp", {11, width}, {}, {}, {of(f32, 50), of(f32)}});
  cases.push_back({"count_labels", {1500}, {}, {}, {ids(-1, 2), of(f32)}});
  cases.push_back({"count_labels", {0}, {}, {}, {ids(-1, 2), of(f32)}});
  cases.push_back({"mean_loss",
                   {1100},
                   {},
                   {},
                   {of(f32), of(f32), ids(-1, 2), of(f32), of(f32)}});
  return cases;
}

std::vector<LibraryCase> pieces() {
  std::vector<LibraryCase> cases;
  for (int64_t dtype : {f32, bf16, i32, int64_t(5)}) {
    Fill x = dtype == i32 ? ids(-9, 9) : of(dtype);
    for (int64_t width : {3, 16}) {
      int64_t whole = 3 * width - 2;
      cases.push_back(
          {"gather_pieces", {dtype, 3, 4, width, whole}, {}, {}, {x, x}});
      cases.push_back(
          {"scatter_pieces", {dtype, 3, 4, width, whole}, {}, {}, {x, x}});
      for (int64_t first : {int64_t(0), width, whole - 1, whole + 5})
        cases.push_back(
            {"slice_piece", {dtype, 4, width, whole}, {}, {first}, {x, x}});
    }
  }
  for (int64_t dtype : {f32, f16}) {
    cases.push_back(
        {"pad_rows", {dtype, 300, 2500}, {}, {}, {of(dtype), of(dtype)}});
    for (int accumulate : {0, 1})
      cases.push_back({"accumulate",
                       {dtype, 2051},
                       {},
                       {},
                       {of(dtype), of(f32)},
                       accumulate});
  }
  for (int64_t d : {4, 150})
    cases.push_back(
        {"merge_attention",
         {2, 5, 3, d},
         {},
         {},
         {of(f32), of(f32, 9), of(f32), of(f32, 9), of(f32), of(f32)}});
  LibraryCase norm{"global_norm", {}, {}, {}, {of(f32), of(f32)}};
  for (int64_t i = 0; i < 36; ++i) {
    int64_t dtype = 1 + i % 7 % 3, count = i == 5 ? 70000 : 31 * i;
    norm.integers.insert(norm.integers.end(), {dtype, count});
    norm.fills.push_back(of(dtype, i == 7 ? 1e10 : 1));
  }
  cases.push_back(norm);
  cases.push_back({"global_norm", {}, {}, {}, {of(f32), of(f32)}});
  return cases;
}

std::vector<LibraryCase> allCases() {
  std::vector<LibraryCase> all;
  for (auto &group : {embeddings(), positions(), losses(), pieces()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

/// Runs a case on the CPU.
void runOnCpu(const LibraryCase &c, CaseMemory &memory) {
  TestWorkers workers(1);
  std::vector<void *> buffers = memory.buffers();
  LibraryCall call{buffers, c.integers, c.floats, c.scalars, c.accumulate};
  EXPECT_EQ(runLibraryOp(*findLibraryOp(c.op), call, workers), nullptr)
      << nameOf(c);
}

TEST(CudaLibrary, EveryOpGivesTheResultsOfTheCpu) {
  std::vector<LibraryCase> cases = allCases();
  std::vector<CudaCall> calls;
  for (const LibraryCase &c : cases)
    calls.push_back(callOf(c, c.fills.size()));
  EmulatedLibrary library(calls);
  if (HasFailure())
    return;
  for (size_t i = 0; i < cases.size(); ++i) {
    const LibraryCase &c = cases[i];
    SCOPED_TRACE(nameOf(c));
    CaseMemory expected(c), got(c), again(c);
    runOnCpu(c, expected);
    EXPECT_EQ(library.run(c, calls[i], got.buffers(), 1), 0u);
    EXPECT_EQ(library.run(c, calls[i], again.buffers(), 2), 0u);
    EXPECT_TRUE(got.guardsHold());
    for (size_t b = 0; b < c.fills.size(); ++b) {
      Array mine = got.values(b), cpu = expected.values(b);
      EXPECT_TRUE(again.values(b).sameBits(mine))
          << "depends on the order of threads: buffer " << b;
      EXPECT_LT(relativeError(mine, cpu), tolerance(mine.dtype()))
          << "buffer " << b;
    }
  }
}

TEST(CudaLibrary, RealCompilersTakeEveryKernel) {
  if (!nvrtc::findLibrary().ok())
    GTEST_SKIP() << nvrtc::findLibrary().status().message();
  std::vector<CudaCall> calls;
  for (const LibraryCase &c : allCases())
    calls.push_back(callOf(c, c.fills.size()));
  nvrtc::Source source{"library.cu", sourceOf(calls), {}};
  for (const CudaHeader &header : cudaHeaders())
    source.headers.push_back({header.name, header.text});
  for (const char *arch : {"sm_80", "sm_90a", "sm_100a"}) {
    auto image = nvrtc::compile(source, arch);
    EXPECT_TRUE(image.ok()) << image.status().message();
  }
}

} // namespace
} // namespace hocket::kernels::test
