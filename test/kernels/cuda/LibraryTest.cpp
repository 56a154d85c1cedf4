//===- LibraryTest.cpp - Library ops on the emulated GPU ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/Sources.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "test/kernels/cuda/LibraryCases.h"
#include "test/kernels/cuda/ReferenceLibrary.h"

#include <gtest/gtest.h>

#include <set>

namespace hocket::kernels::test {
namespace {

std::vector<LibraryCase> allCases() {
  std::vector<LibraryCase> all = denseCases();
  for (LibraryCase &c : expertCases())
    all.push_back(std::move(c));
  return all;
}

std::vector<CudaCall> callsOf(const std::vector<LibraryCase> &cases) {
  std::vector<CudaCall> calls;
  for (const LibraryCase &c : cases)
    calls.push_back(callOf(c, c.fills.size()));
  return calls;
}

/// One buffer of a call against the reference's.
void expectSame(const Array &got, const Array &expected, size_t buffer) {
  if (got.dtype() == DType::I32)
    EXPECT_TRUE(got.sameBits(expected)) << "buffer " << buffer;
  else
    EXPECT_LT(relativeError(got, expected), tolerance(got.dtype()))
        << "buffer " << buffer;
}

void check(const LibraryCase &c, const CudaCall &call,
           EmulatedLibrary &library) {
  SCOPED_TRACE(nameOf(c));
  CaseMemory expected(c), got(c), again(c);
  EXPECT_EQ(
      runReference(*findLibraryOp(c.op), {expected.buffers(), c.integers,
                                          c.floats, c.scalars, c.accumulate}),
      nullptr);
  EXPECT_EQ(library.run(c, call, got.buffers(), 1), 0u);
  EXPECT_EQ(library.run(c, call, again.buffers(), 2), 0u);
  EXPECT_TRUE(got.guardsHold());
  for (size_t b = 0; b < c.fills.size(); ++b) {
    EXPECT_TRUE(again.values(b).sameBits(got.values(b)))
        << "depends on the order of threads: buffer " << b;
    if (c.fills[b].isResult)
      expectSame(got.values(b), expected.values(b), b);
  }
}

TEST(CudaLibrary, EveryOpHasCases) {
  std::set<std::string_view> ops;
  for (const LibraryCase &c : allCases())
    ops.insert(c.op);
  for (const LibraryOp &op : libraryOps())
    // Nothing is packed for GPUs.
    EXPECT_EQ(ops.count(op.name), op.name == "gemm_pack" ? 0u : 1u) << op.name;
}

TEST(CudaLibrary, EveryOpGivesTheResultsOfTheReference) {
  std::vector<LibraryCase> cases = allCases();
  std::vector<CudaCall> calls = callsOf(cases);
  EmulatedLibrary library(calls);
  for (size_t i = 0; i < cases.size() && library.isGood(); ++i)
    check(cases[i], calls[i], library);
}

TEST(CudaLibrary, WrongDataIsAFault) {
  std::vector<LibraryCase> cases;
  for (const FaultCase &c : faultCases())
    cases.push_back(c.call);
  std::vector<CudaCall> calls = callsOf(cases);
  EmulatedLibrary library(calls);
  for (size_t i = 0; i < cases.size() && library.isGood(); ++i) {
    SCOPED_TRACE(nameOf(cases[i]));
    CaseMemory memory(cases[i]);
    uint32_t fault = faultCases()[i].fault;
    EXPECT_EQ(library.run(cases[i], calls[i], memory.buffers(), i), fault);
    EXPECT_NE(faultText(fault), nullptr);
    EXPECT_TRUE(memory.guardsHold());
  }
}

TEST(CudaLibrary, FaultsHaveTexts) {
  EXPECT_EQ(faultText(0), nullptr);
  EXPECT_STREQ(faultText(1), "embedding: a token id is outside the vocabulary");
  EXPECT_NE(faultText(0xdeadbeef), nullptr);
}

TEST(CudaLibrary, TheSameCallHasTheSameText) {
  EXPECT_EQ(sourceOf(callsOf(allCases())), sourceOf(callsOf(allCases())));
}

TEST(CudaLibrary, RefusesWhatDoesNotRunOnGpus) {
  CudaCall call;
  auto make = [&](std::string_view op, std::vector<int64_t> integers,
                  std::vector<double> floats, size_t buffers, size_t scalars) {
    return makeCudaCall(*findLibraryOp(op),
                        {integers, floats, buffers, scalars}, call);
  };
  EXPECT_STREQ(make("gemm_pack", {2, 33, 3, 0}, {}, 2, 0),
               "the op does not run on GPUs");
  EXPECT_STREQ(make("rope_table", {5, 4}, {1, NAN}, 1, 0),
               "rope_table: a frequency is not finite");
  EXPECT_STREQ(make("attention_forward", {2, 1, 5, 4, 2, 8, 1, 0, 3},
                    {INFINITY, 0}, 5, 3),
               "attention: the scale is not finite");
  EXPECT_STREQ(
      make("attention_forward", {2, 70000, 5, 4, 2, 8, 1, 0, 3}, {1, 0}, 5, 3),
      "too large for one launch on a GPU");
  EXPECT_STREQ(make("accumulate", {2, -5}, {}, 2, 0),
               "a dimension out of range");
  EXPECT_TRUE(call.launches.empty());
}

//===----------------------------------------------------------------------===//
// NVIDIA's compiler
//===----------------------------------------------------------------------===//

/// The function of kernels/cuda that a kernel calls: "hocket_<function>_...".
std::string functionOf(const CudaLaunch &launch) {
  size_t begin = launch.symbol.find('_') + 1;
  return launch.symbol.substr(begin, launch.symbol.find('_', begin) - begin);
}

Status compile(const std::vector<CudaLaunch> &launches, const char *arch) {
  nvrtc::Source source{"library.cu", cudaSource(launches), {}};
  for (const CudaHeader &header : cudaHeaders())
    source.headers.push_back({header.name, header.text});
  return nvrtc::compile(source, arch).status();
}

/// Every kernel for one architecture; for the others, each function once.
TEST(CudaLibrary, NvrtcTakesEveryKernel) {
  if (!nvrtc::findLibrary().ok())
    GTEST_SKIP() << nvrtc::findLibrary().status().message();
  std::vector<CudaLaunch> all, some;
  std::set<std::string> functions;
  for (const CudaCall &call : callsOf(allCases()))
    for (const CudaLaunch &launch : call.launches) {
      all.push_back(launch);
      if (functions.insert(functionOf(launch)).second)
        some.push_back(launch);
    }
  for (const char *arch : {"sm_80", "sm_90a", "sm_100a"}) {
    Status status = compile(arch == std::string("sm_90a") ? all : some, arch);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

} // namespace
} // namespace hocket::kernels::test
