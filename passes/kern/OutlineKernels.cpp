//===- OutlineKernels.cpp - Gives each distinct region a name -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Replaces fused regions by launches of kernels, one for each distinct one.
///
//===----------------------------------------------------------------------===//

#include "passes/kern/Passes.h"
#include "passes/kern/RegionFusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

namespace hocket {
#define GEN_PASS_DEF_KERNOUTLINEKERNELS
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// `add+rms_norm` as part of a symbol: letters, digits and underscores, not
/// too many.
std::string symbolPart(StringRef label) {
  std::string name;
  for (char c : label.empty() ? StringRef("kernel") : label.take_front(64))
    name += llvm::isAlnum(c) ? c : '_';
  return name;
}

/// The element type of the first whole tensor, results before operands.
Type elementTypeOf(RegionView region) {
  for (auto [i, result] : llvm::enumerate(region.results()))
    if (region.byColumns() || region.resultAccess(i) == Access::Full)
      return cast<RankedTensorType>(result.getType()).getElementType();
  return Float32Type::get(region.getOperation()->getContext());
}

/// `add_rms_norm_1024x768_bf16`.
std::string nameOf(RegionView region) {
  std::string name;
  llvm::raw_string_ostream os(name);
  Space space = region.space();
  os << symbolPart(region.label()) << '_' << space.rows << 'x' << space.cols
     << '_' << elementTypeOf(region);
  return name;
}

ArrayAttr typesOf(Builder &builder, TypeRange types) {
  return builder.getTypeArrayAttr(SmallVector<Type>(types));
}

struct KernOutlineKernels
    : hocket::impl::KernOutlineKernelsBase<KernOutlineKernels> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<Operation *> regions;
    getOperation().walk([&](Operation *op) {
      if (RegionView(op))
        regions.push_back(op);
    });
    llvm::StringMap<KernelOp> known;
    for (Operation *op : regions) {
      KernelOp kernel = outline(RegionView(op));
      std::string text = textOf(kernel);
      auto [entry, isNew] = known.try_emplace(text, kernel);
      if (isNew) {
        symbols.insert(kernel, getOperation().getBody()->end());
        ++kernels;
      } else {
        kernel.erase();
      }
      launch(RegionView(op), entry->second);
    }
  }

private:
  /// A kernel, in no block yet, that holds the region's body.
  static KernelOp outline(RegionView region) {
    Operation *op = region.getOperation();
    OpBuilder builder(op->getContext());
    SmallVector<TensorOperand> operands;
    for (auto [i, input] : llvm::enumerate(region.inputs()))
      operands.push_back({input, region.inputAccess(i)});
    SmallVector<TensorResult> results;
    for (auto [i, result] : llvm::enumerate(region.results()))
      results.push_back({result.getType(), region.resultAccess(i)});
    auto kernel = builder.create<KernelOp>(
        op->getLoc(), nameOf(region), region.byColumns(), region.space().rows,
        region.space().cols, typesOf(builder, region.inputs().getTypes()),
        typesOf(builder, region.results().getTypes()),
        accessesOf(builder, operands), accessesOf(builder, results),
        region.instances().size(), region.label());
    kernel.getBody().takeBody(op->getRegion(0));
    return kernel;
  }

  /// What makes a kernel the same as another: all but where it comes from.
  static std::string textOf(KernelOp kernel) {
    std::string text;
    llvm::raw_string_ostream os(text);
    kernel.print(os, OpPrintingFlags().useLocalScope());
    return text;
  }

  void launch(RegionView region, KernelOp kernel) {
    Operation *op = region.getOperation();
    OpBuilder builder(op);
    auto call = builder.create<LaunchOp>(
        op->getLoc(), op->getResultTypes(),
        FlatSymbolRefAttr::get(kernel.getSymNameAttr()), region.inputs(),
        region.instances());
    op->replaceAllUsesWith(call);
    op->erase();
    ++launches;
  }
};

} // namespace
