//===- LibraryTest.cpp - Library ops on the emulated GPU ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "kernels/cuda/Sources.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "test/kernels/cuda/LibraryCases.h"
#include "test/kernels/cuda/ReferenceLibrary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cfloat>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

using testing::HasSubstr;
using testing::IsEmpty;

namespace hocket::kernels::test {
namespace {

std::vector<LibraryCase> allCases() {
  std::vector<LibraryCase> all = denseCases();
  for (auto *more : {expertCases, stateCases})
    for (LibraryCase &c : more())
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
void expectSame(const Array &got, const Array &expected, size_t buffer,
                double slack) {
  if (got.dtype() == DType::I32)
    EXPECT_TRUE(got.sameBits(expected)) << "buffer " << buffer;
  else
    EXPECT_LT(relativeError(got, expected), slack * tolerance(got.dtype()))
        << "buffer " << buffer;
}

void check(const LibraryCase &c, const CudaCall &call, EmulatedLibrary &library,
           int major) {
  SCOPED_TRACE(nameOf(c) + " on compute capability " + std::to_string(major));
  CaseMemory expected(c), got(c), again(c);
  EXPECT_EQ(
      runReference(*findLibraryOp(c.op), {expected.buffers(), c.integers,
                                          c.floats, c.scalars, c.accumulate}),
      nullptr);
  EXPECT_EQ(library.run(c, call, got.buffers(), 1, major), 0u);
  EXPECT_EQ(library.run(c, call, again.buffers(), 2, major), 0u);
  EXPECT_TRUE(got.guardsHold());
  for (size_t b = 0; b < c.fills.size(); ++b) {
    EXPECT_TRUE(again.values(b).sameBits(got.values(b)))
        << "depends on the order of threads: buffer " << b;
    if (c.fills[b].isResult)
      expectSame(got.values(b), expected.values(b), b, c.fills[b].slack);
  }
}

TEST(CudaLibrary, EveryOpHasCases) {
  std::set<std::string_view> ops;
  for (const LibraryCase &c : allCases())
    ops.insert(c.op);
  const std::set<std::string_view> ofCpus{"gemm_pack"};
  for (const LibraryOp &op : libraryOps())
    EXPECT_EQ(ops.count(op.name) + ofCpus.count(op.name), 1u) << op.name;
}

TEST(CudaLibrary, EveryOpGivesTheResultsOfTheReference) {
  std::vector<LibraryCase> cases = allCases();
  std::vector<CudaCall> calls = callsOf(cases);
  EmulatedLibrary library(calls);
  for (size_t i = 0; i < cases.size() && library.isGood(); ++i) {
    check(cases[i], calls[i], library, 8);
    if (!calls[i].hopper.empty())
      check(cases[i], calls[i], library, 9);
  }
}

/// A row with a NaN, one of minus infinity alone, one with a number among
/// those, and one of the least numbers there are.
TEST(CudaLibrary, LossesOfWhatIsNotFinite) {
  constexpr size_t vocab = 1100;
  constexpr float none = -HUGE_VALF, least = -FLT_MAX;
  LibraryCase c{"cross_entropy_rows",
                {f32, 4, vocab, vocab, 1},
                {},
                {0},
                {of(f32), list({0, 7, -1, 3}), of(f32), of(f32)}};
  CudaCall call = callOf(c, c.fills.size());
  EmulatedLibrary library({call});
  ASSERT_TRUE(library.isGood());
  CaseMemory memory(c);
  auto *logits = static_cast<float *>(memory.buffers()[0]);
  logits[5] = NAN;
  std::fill_n(logits + vocab, 2 * vocab, none);
  logits[2 * vocab + 901] = 3;
  std::fill_n(logits + 3 * vocab, vocab, least);
  EXPECT_EQ(library.run(c, call, memory.buffers(), 1), 0u);
  auto *sums = static_cast<const float *>(memory.buffers()[2]);
  EXPECT_TRUE(std::isnan(sums[0]));
  EXPECT_EQ(sums[1], none);
  EXPECT_EQ(sums[2], 3);
  EXPECT_EQ(sums[3], least);
}

/// The same row at addresses of every alignment.
TEST(CudaLibrary, LossesDoNotDependOnAddresses) {
  constexpr size_t tokens = 9;
  std::vector<LibraryCase> cases;
  for (int64_t dtype : {f32, bf16})
    for (int64_t vocab : {5, 17, 2083, 4099})
      cases.push_back({"cross_entropy_rows",
                       {dtype, tokens, vocab, vocab, 1},
                       {},
                       {0},
                       {of(dtype, 8), list(std::vector<int32_t>(tokens, 1)),
                        of(f32), of(f32)}});
  std::vector<CudaCall> calls = callsOf(cases);
  EmulatedLibrary library(calls);
  for (size_t i = 0; i < cases.size() && library.isGood(); ++i) {
    SCOPED_TRACE(nameOf(cases[i]));
    CaseMemory memory(cases[i]);
    auto *logits = static_cast<char *>(memory.buffers()[0]);
    auto bytes = size_t(cases[i].integers[2] *
                        bytesOf(static_cast<DType>(cases[i].integers[0])));
    for (size_t t = 1; t < tokens; ++t)
      std::memcpy(logits + t * bytes, logits, bytes);
    EXPECT_EQ(library.run(cases[i], calls[i], memory.buffers(), i), 0u);
    auto *lse = static_cast<const float *>(memory.buffers()[2]);
    for (size_t t = 1; t < tokens; ++t)
      EXPECT_EQ(lse[t], lse[0]) << t;
  }
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

nvrtc::Source sourceOf(const std::vector<CudaLaunch> &launches) {
  nvrtc::Source source{"library.cu", cudaSource(launches), {}};
  for (const CudaHeader &header : cudaHeaders())
    source.headers.push_back({header.name, header.text});
  return source;
}

/// The launches of a call on a GPU of compute capability `major`.0, as PTX.
/// Several tests look at one.
std::string ptxOf(const LibraryCase &c, size_t buffers, int major) {
  static std::map<std::pair<std::string, int>, std::string> known;
  CudaCall call = callOf(c, buffers);
  nvrtc::Source source = sourceOf(call.launchesOn(major, 0));
  auto [found, isNew] = known.try_emplace({source.text, major});
  if (!isNew)
    return found->second;
  auto text = nvrtc::ptx(source, major == 9 ? "compute_90a" : "compute_80");
  EXPECT_TRUE(text.ok()) << text.status().message();
  return found->second = text.ok() ? *text : "";
}

std::string ptxOfAttention(bool forward, int dim, int major) {
  const char *op = forward ? "attention_forward" : "attention_backward";
  return ptxOf(
      {op, {bf16, 1, 4096, 4, 2, dim, 1, 0, 9}, {0.125, 0}, {77, 3, 5}, {}},
      forward ? 5 : 10, major);
}

/// Of the first case of `op` with elements of `dtype`.
std::string ptxOfFirst(std::string_view op, int64_t dtype) {
  for (const LibraryCase &c : allCases())
    if (c.op == op && c.integers[0] == dtype)
      return ptxOf(c, c.fills.size(), 8);
  ADD_FAILURE() << "there is no such case: " << op;
  return "";
}

/// What FileCheck does with CHECK and CHECK-NOT lines.
void expectInOrder(const std::string &text,
                   const std::vector<std::string> &wanted,
                   const std::vector<std::string> &unwanted = {}) {
  size_t at = 0;
  for (const std::string &words : wanted) {
    at = text.find(words, at);
    ASSERT_NE(at, std::string::npos) << words << " is missing in\n" << text;
  }
  for (const std::string &words : unwanted)
    EXPECT_EQ(text.find(words), std::string::npos) << words;
}

/// wgmma with `columns` columns, which are read transposed or not.
std::string wgmmaText(int columns) {
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) +
         "k16.f32.bf16.bf16";
}

/// The most instructions of PTX between two MMAs of a group.
int mostBetweenWgmmas(const std::string &ptx) {
  std::istringstream lines(ptx);
  int most = 0, since = 0;
  bool inGroup = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("wgmma.mma_async") != line.npos) {
      most = std::max(most, inGroup ? since : 0);
      inGroup = true, since = 0;
    } else if (line.find("wgmma.commit_group") != line.npos) {
      inGroup = false;
    } else {
      // Our own lines of assembly have no tab before them.
      since += line.size() > 1 && line[0] == '\t' && std::islower(line[1]);
    }
  }
  return most;
}

/// From one to the next only the sums change that say where operands are: each
/// an addition, and that as a number of 64 bits, which costs nothing.
TEST(CudaLibrary, GemmsFollowEachOther) {
  if (!nvrtc::findLibrary().ok())
    GTEST_SKIP() << nvrtc::findLibrary().status().message();
  // Of a descriptor's upper word: a stride of 64 times 16 bytes from bit 32 on,
  // the 128-byte swizzle (1) from bit 62 on.
  std::string descriptor = std::to_string(64ull << 32 | 1ull << 62);
  for (int dim : {64, 128})
    for (bool forward : {true, false}) {
      std::string ptx = ptxOfAttention(forward, dim, 9);
      EXPECT_THAT(ptx, HasSubstr(", " + descriptor + ";"));
      int most = mostBetweenWgmmas(ptx);
      EXPECT_GT(most, 0);
      EXPECT_LE(most, 6) << dim << " " << forward;
    }
  for (const char *op : {"grouped_linear", "grouped_linear_input_gradient",
                         "grouped_linear_weight_gradient"}) {
    LibraryCase c = {op, {bf16, 256, 128, 192, 4, 1, 4, 256}, {}, {}, {}};
    EXPECT_LE(mostBetweenWgmmas(ptxOf(c, 4, 9)), 6) << op;
  }
}

TEST(CudaLibrary, AttentionUsesTensorCores) {
  if (!nvrtc::findLibrary().ok())
    GTEST_SKIP() << nvrtc::findLibrary().status().message();
  // Warps: copies of 16 bytes, fragments, MMAs.
  expectInOrder(ptxOfAttention(true, 128, 8),
                {"cp.async.cg.shared.global", "cp.async.wait_group 0",
                 "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                 "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                 "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"},
                {"wgmma", ".local"});
  // Warpgroups: one fetches; the others take turns at having the next scores
  // and the last sums under way while, behind them, probabilities are computed.
  for (int dim : {64, 128}) {
    std::string ptx = ptxOfAttention(true, dim, 9);
    expectInOrder(ptx,
                  {".maxntid",
                   ".minnctapersm 1",
                   "mbarrier.init.shared::cta",
                   "fence.mbarrier_init.release.cluster",
                   "bar.sync",
                   "setmaxnreg.inc.sync.aligned",
                   "mbarrier.try_wait.parity",
                   "wgmma.fence.sync.aligned",
                   wgmmaText(128),
                   "wgmma.wait_group.sync.aligned 0",
                   "ex2.approx.ftz.f32",
                   "mbarrier.try_wait.parity",
                   "bar.sync",
                   wgmmaText(128),
                   "wgmma.commit_group.sync.aligned",
                   "mbarrier.try_wait.parity",
                   wgmmaText(dim),
                   "wgmma.commit_group.sync.aligned",
                   "bar.arrive",
                   "wgmma.wait_group.sync.aligned 1",
                   "mbarrier.arrive",
                   "ex2.approx.ftz.f32",
                   "bra",
                   "wgmma.wait_group.sync.aligned 0"},
                  {"mma.sync.aligned", "ldmatrix", "cp.async.cg", ".local",
                   "ex2.approx.f32"});
    expectInOrder(ptx, {"setmaxnreg.dec.sync.aligned",
                        "mbarrier.arrive.expect_tx.shared::cta",
                        "cp.async.bulk.tensor.4d.shared::cluster.global.tile."
                        "mbarrier::complete_tx::bytes"});
  }
  for (int dim : {64, 128})
    expectInOrder(ptxOfAttention(false, dim, 9),
                  {wgmmaText(dim > 64 ? 64 : 128), wgmmaText(dim),
                   "wgmma.wait_group.sync.aligned 2", "ex2",
                   "wgmma.wait_group.sync.aligned 1", wgmmaText(64),
                   "wgmma.wait_group.sync.aligned 1", "ex2", wgmmaText(dim)},
                  {"mma.sync.aligned", "atom.global.add", "red.global.add",
                   ".local", "ex2.approx.f32"});
}

/// Three groups multiply where a block's 192 rows lie within one part of the
/// sequence; else no tile could be left out under a mask.
TEST(CudaLibrary, BlocksOfAttentionLieWithinParts) {
  auto threads = [](int64_t part) {
    CudaCall call =
        callOf({"attention_forward_shard",
                {bf16, 1, 768, 4, 2, 64, 1, 0, 768, 4, 3072, part, 0, 9},
                {0.125, 0},
                {77, 3, 5, 0, 0, 0, 0},
                {}},
               5);
    return call.hopper.at(0).threads;
  };
  EXPECT_EQ(threads(0), 512u);
  EXPECT_EQ(threads(384), 512u);
  EXPECT_EQ(threads(256), 384u);
}

/// What the assembler could not do as it was meant.
std::vector<std::string> complaintsOf(const std::string &notes) {
  std::vector<std::string> complaints;
  std::istringstream lines(notes);
  for (std::string line; std::getline(lines, line);)
    if (line.find("(C75") != std::string::npos ||
        (line.find("spill") != std::string::npos &&
         line.find(" 0 bytes spill stores, 0 bytes spill loads") ==
             std::string::npos))
      complaints.push_back(line);
  return complaints;
}

/// MMAs run beside other work, and all numbers have registers.
TEST(CudaLibrary, WarpgroupsHaveTheirRegisters) {
  if (!nvrtc::findLibrary().ok())
    GTEST_SKIP() << nvrtc::findLibrary().status().message();
  std::vector<CudaLaunch> launches;
  const std::vector<double> floats[] = {
      {0.125, 0}, {0.125, 0.1}, {0.125, 0, 50}, {0.125, 0, 0, 1}};
  for (int64_t dim : {64, 128})
    for (const std::vector<double> &numbers : floats)
      for (bool forward : {true, false}) {
        // A few numbers of this have no register: gradients of wide heads'
        // keys, with dropout.
        if (!forward && dim == 128 && numbers[1] > 0)
          continue;
        LibraryCase c = {forward ? "attention_forward" : "attention_backward",
                         {bf16, 1, 4096, 4, 2, dim, 1, 0, 9},
                         numbers,
                         {77, 3, 5},
                         {}};
        CudaCall call = callOf(c, forward ? 5 : 10);
        launches.insert(launches.end(), call.hopper.begin(), call.hopper.end());
      }
  for (const std::vector<double> &numbers : floats)
    if (numbers[1] == 0) {
      CudaCall call = callOf({"attention_backward_joint",
                              {bf16, 1, 2048, 4, 4, 64, 1, 0, 9},
                              numbers,
                              {77, 3, 5},
                              {}},
                             10);
      launches.insert(launches.end(), call.hopper.begin(), call.hopper.end());
    }
  for (const char *op : {"grouped_linear", "grouped_linear_input_gradient",
                         "grouped_linear_weight_gradient"}) {
    CudaCall call =
        callOf({op, {bf16, 256, 128, 192, 4, 1, 4, 256}, {}, {}, {}}, 4);
    launches.insert(launches.end(), call.hopper.begin(), call.hopper.end());
  }
  auto notes = nvrtc::assemblerNotes(sourceOf(launches), "sm_90a");
  ASSERT_TRUE(notes.ok()) << notes.status().message();
  EXPECT_THAT(*notes, HasSubstr("0 bytes spill stores"));
  EXPECT_THAT(complaintsOf(*notes), IsEmpty());
}

TEST(CudaLibrary, GemmsOfExpertsUseTensorCores) {
  if (!nvrtc::findLibrary().ok())
    GTEST_SKIP() << nvrtc::findLibrary().status().message();
  for (const char *op : {"grouped_linear", "grouped_linear_input_gradient",
                         "grouped_linear_weight_gradient"}) {
    LibraryCase c = {op, {bf16, 256, 128, 192, 4, 1, 4, 256}, {}, {}, {}};
    expectInOrder(ptxOf(c, 4, 9),
                  {"mbarrier.init.shared::cta", "setmaxnreg.inc.sync.aligned",
                   "mbarrier.try_wait.parity", "wgmma.fence.sync.aligned",
                   wgmmaText(256), "wgmma.commit_group.sync.aligned",
                   "wgmma.wait_group.sync.aligned 1", "mbarrier.arrive"},
                  {"mma.sync.aligned", "cp.async.cg", "atom.global.add",
                   "red.global.add", ".local"});
    expectInOrder(ptxOf(c, 4, 8),
                  {"cp.async.cg.shared.global",
                   "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"},
                  {"wgmma", "atom.global.add", "red.global.add", ".local"});
  }
}

/// 16 bytes at a time, and nothing added in an order that may change.
TEST(CudaLibrary, MovesSixteenBytesAtATime) {
  if (!nvrtc::findLibrary().ok())
    GTEST_SKIP() << nvrtc::findLibrary().status().message();
  for (auto [op, dtype] : {std::pair{"rope", f32},
                           {"accumulate", f32},
                           {"cross_entropy_backward", f32},
                           {"cross_entropy_backward", bf16}})
    expectInOrder(ptxOfFirst(op, dtype), {"ld.global.v4", "st.global.v4"},
                  {"atom.global.add.f", "red.global.add.f", ".local"});
}

/// NVRTC would find one that is missing in the tree, if it runs there.
TEST(CudaLibrary, HeadersAreInsideTheProgram) {
  std::set<std::string> names;
  for (const CudaHeader &header : cudaHeaders())
    names.insert(header.name);
  for (const CudaCall &call : callsOf(allCases()))
    for (const auto *list : {&call.launches, &call.hopper})
      for (const CudaLaunch &launch : *list)
        EXPECT_EQ(names.count(launch.header), 1u) << launch.header;
}

/// What a kernel's text is compiled for: its function with its types and, of
/// attention, each line of its shape that says the type or the width.
std::vector<std::string> kindsOf(const CudaLaunch &launch) {
  std::string function = launch.symbol.substr(0, launch.symbol.rfind('_'));
  std::vector<std::string> kinds = {function};
  std::istringstream lines(launch.text);
  for (std::string line; std::getline(lines, line);)
    if (line.find("using T =") != line.npos ||
        line.find("int dim =") != line.npos)
      kinds.push_back(function + line);
  return kinds;
}

/// But those of warpgroups, which tests above compile. To PTX, as its
/// assembler takes the longer half: what plans launch, test/machine_code
/// assembles for all architectures.
TEST(CudaLibrary, NvrtcTakesEveryKindOfKernel) {
  if (!nvrtc::findLibrary().ok())
    GTEST_SKIP() << nvrtc::findLibrary().status().message();
  std::vector<CudaLaunch> launches;
  std::set<std::string> kinds;
  for (const CudaCall &call : callsOf(allCases()))
    for (const CudaLaunch &launch : call.launches) {
      bool isNew = false;
      for (const std::string &kind : kindsOf(launch))
        isNew |= kinds.insert(kind).second;
      if (isNew)
        launches.push_back(launch);
    }
  auto text = nvrtc::ptx(sourceOf(launches), "compute_80");
  EXPECT_TRUE(text.ok()) << text.status().message();
}

} // namespace
} // namespace hocket::kernels::test
