//===- AttentionTest.cpp - Attention on the emulated GPU ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Module.h"
#include "test/kernels/AttentionTensors.h"

#include <sstream>

namespace hocket::kernels::test {
namespace {

constexpr int64_t tileRows = 64;

/// The kernels for one shape.
std::string sourceOf(const AttentionShape &s, DType dtype) {
  std::ostringstream text;
  text.precision(9);
  auto constant = [&](const char *type, const char *name, auto value) {
    text << "  static constexpr " << type << " " << name << " = " << value
         << ";\n";
  };
  text << "#include \"kernels/cuda/Attention.cuh\"\n"
          "using namespace hocket::cuda;\nstruct Shape {\n  using T = "
       << nameOf(dtype) << ";\n";
  constant("int", "batch", s.batch);
  constant("int", "queries", s.queries);
  constant("int", "keys", s.keys);
  constant("int", "heads", s.heads);
  constant("int", "kvHeads", s.kvHeads);
  constant("int", "dim", s.headDim);
  constant("int", "window", s.window);
  constant("bool", "causal", s.causal);
  constant("Integer", "part", s.place.part);
  constant("Integer", "sequence", wholeSequence(s));
  constant("Integer", "wholeHeads",
           s.place.heads > 0 ? s.place.heads : s.heads);
  constant("float", "scale", s.scale);
  constant("float", "dropoutScale", 1 / (1 - s.dropout));
  constant("unsigned", "stream", s.random.stream);
  constant("unsigned", "dropoutThreshold", dropoutThreshold(s.dropout));
  text << R"(};
using T = Shape::T;
extern "C" __global__ void __launch_bounds__(128)
forward(const T *q, const T *k, const T *v, T *o, float *lse,
        const AttentionCall call) {
  HOCKET_DYNAMIC_SHARED(shared);
  attentionForward<Shape>(q, k, v, o, lse, call, shared);
}
extern "C" __global__ void __launch_bounds__(128)
delta(const T *o, const T *dO, float *delta) {
  attentionDelta<Shape>(o, dO, delta);
}
extern "C" __global__ void __launch_bounds__(128)
query_gradient(const T *q, const T *k, const T *v, const float *lse,
               const T *dO, const float *delta, T *dq,
               const AttentionCall call) {
  HOCKET_DYNAMIC_SHARED(shared);
  attentionQueryGradient<Shape>(q, k, v, lse, dO, delta, dq, call, shared);
}
extern "C" __global__ void __launch_bounds__(128)
key_gradient(const T *q, const T *k, const T *v, const float *lse, const T *dO,
             const float *delta, T *dk, T *dv, const AttentionCall call) {
  HOCKET_DYNAMIC_SHARED(shared);
  attentionKeyGradient<Shape>(q, k, v, lse, dO, delta, dk, dv, call, shared);
}
)";
  return text.str();
}

/// Runs all four kernels on the emulated GPU.
class Gpu {
public:
  Gpu(const AttentionShape &s, DType dtype) : s(s) {
    std::string error;
    module = emulator::Module::compile(sourceOf(s, dtype), error);
    EXPECT_TRUE(module) << error;
  }

  void run(Tensors &t, uint64_t seed) {
    struct {
      int64_t seed, step, elementBase, query, key, sequence, head;
    } call = {static_cast<int64_t>(s.random.seed),
              s.random.step,
              s.elementBase,
              s.place.firstQuery,
              s.place.firstKey,
              s.place.firstSequence,
              s.place.firstHead};
    void *q = t.q.view().data, *k = t.k.view().data, *v = t.v.view().data;
    void *o = t.o.view().data, *lse = t.lse.view().data;
    void *dO = t.dO.view().data, *delta = t.delta.view().data;
    void *dq = t.dq.view().data, *dk = t.dk.view().data;
    void *dv = t.dv.view().data;
    int64_t queryTiles = (s.queries + tileRows - 1) / tileRows;
    int64_t keyTiles = (s.keys + tileRows - 1) / tileRows;
    launch("forward", {queryTiles, s.heads, s.batch}, 3, seed,
           {&q, &k, &v, &o, &lse, &call});
    launch("delta", {(s.batch * s.heads * s.queries + 3) / 4, 1, 1}, 0, seed,
           {&o, &dO, &delta});
    launch("query_gradient", {queryTiles, s.heads, s.batch}, 4, seed,
           {&q, &k, &v, &lse, &dO, &delta, &dq, &call});
    launch("key_gradient", {keyTiles, s.kvHeads, s.batch}, 4, seed,
           {&q, &k, &v, &lse, &dO, &delta, &dk, &dv, &call});
  }

private:
  void launch(const char *kernel, std::array<int64_t, 3> grid, int64_t tiles,
              uint64_t seed, std::vector<void *> arguments) {
    emulator::Launch launch;
    launch.gridSize = {unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2])};
    launch.blockSize.x = 128;
    launch.sharedBytes = tiles * tileRows * (s.headDim + 8) * 2;
    launch.seed = seed;
    EXPECT_EQ(module->run(kernel, launch, std::move(arguments)), "");
  }

  AttentionShape s;
  std::unique_ptr<emulator::Module> module;
};

/// Results start as NaN: nothing may be left unwritten.
void spoil(Tensors &t) {
  for (Array *array : {&t.o, &t.lse, &t.dq, &t.dk, &t.dv, &t.delta})
    for (int64_t i = 0; i < array->size(); ++i)
      array->set(i, std::nan(""));
}

void check(const AttentionShape &s, DType dtype) {
  SCOPED_TRACE(sourceOf(s, dtype));
  Tensors wide(s, Tensors(s, dtype)), got(s, dtype), again(s, dtype);
  ASSERT_EQ(reference::attentionForward(wide.forward(s)), nullptr);
  ASSERT_EQ(reference::attentionBackward(wide.backward(s)), nullptr);
  spoil(got);
  spoil(again);
  Gpu gpu(s, dtype);
  if (testing::Test::HasFailure())
    return;
  gpu.run(got, 1);
  // Probabilities are rounded to the element type before they are multiplied.
  double bound = dtype == DType::BF16 ? 8e-3 : 1e-3;
  expectClose(got.o, wide.o, bound, "o");
  for (int64_t i = 0; i < got.lse.size(); ++i)
    ASSERT_NEAR(got.lse[i], wide.lse[i], 1e-4) << "lse " << i;
  expectClose(got.dq, wide.dq, 2 * bound, "dq");
  expectClose(got.dk, wide.dk, 2 * bound, "dk");
  expectClose(got.dv, wide.dv, 2 * bound, "dv");
  gpu.run(again, 2);
  EXPECT_TRUE(again.o.sameBits(got.o) && again.dq.sameBits(got.dq) &&
              again.dk.sameBits(got.dk) && again.dv.sameBits(got.dv))
      << "depends on the order of threads";
}

TEST(CudaAttention, EveryHeadSize) {
  for (int64_t d : {64, 80, 96, 128})
    check(shapeOf(1, 70, 1, 1, d), DType::BF16);
  check(shapeOf(1, 33, 1, 1, 16), DType::F16);
}

TEST(CudaAttention, GroupsOfHeadsAndBatches) {
  check(shapeOf(2, 90, 4, 2, 32), DType::BF16);
}

TEST(CudaAttention, WindowsAndNoMask) {
  check(shapeOf(1, 150, 2, 1, 16, true, 40), DType::F16);
  check(shapeOf(1, 130, 1, 1, 16, false), DType::F16);
  check(shapeOf(1, 200, 1, 1, 16, false, 30), DType::F16);
}

TEST(CudaAttention, DropoutHasTheMaskOfTheReference) {
  check(shapeOf(2, 70, 2, 1, 16, true, 0, 0.25f), DType::F16);
}

TEST(CudaAttention, PiecesAtTheirPositions) {
  AttentionShape s = shapeOf(1, 128, 2, 2, 16, true, 0, 0.1f);
  s.queries = 64;
  s.place = {64, 0, 0, 128, 5, 1, 2};
  check(s, DType::F16);
  // The first of two devices has the first and the last quarter.
  s.place.firstQuery = 0, s.place.part = 32;
  check(s, DType::F16);
}

} // namespace
} // namespace hocket::kernels::test
