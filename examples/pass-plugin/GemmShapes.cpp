//===- GemmShapes.cpp - Which GEMMs a step is made of ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A pass of one's own: `gemm-shapes` lists the shapes of a program's GEMMs,
/// how often each occurs in the IR, and the FLOPs of one, the largest first.
///
//===----------------------------------------------------------------------===//

#include "dialects/kern/IR/Kern.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/Format.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace hocket;

namespace {
struct GemmShapes : public PassWrapper<GemmShapes, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GemmShapes)

  StringRef getArgument() const override { return "gemm-shapes"; }
  StringRef getDescription() const override {
    return "lists the shapes of a program's GEMMs";
  }

  void runOnOperation() override {
    // (FLOPs, m, n, k) -> how many
    std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, int64_t> shapes;
    getOperation().walk([&](kern::GemmOp gemm) {
      int64_t m = gemm.getM(), n = gemm.getN(), k = gemm.getK();
      ++shapes[{2 * m * n * k, m, n, k}];
    });
    llvm::outs() << " count        m        n        k        GFLOP\n";
    for (auto it = shapes.rbegin(); it != shapes.rend(); ++it) {
      auto [flops, m, n, k] = it->first;
      llvm::outs() << llvm::format("%6lld %8lld %8lld %8lld %12.3f\n",
                                   (long long)it->second, (long long)m,
                                   (long long)n, (long long)k, flops * 1e-9);
    }
    markAllAnalysesPreserved();
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "GemmShapes", "0.1",
          [] { PassRegistration<GemmShapes>(); }};
}
