//===- XfToDist.cpp - Place every tensor on the device mesh ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Adds the mesh and the shardings. Variables and host-facing arguments are
// whole on a mesh of one device; this build compiles no other.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/Xf.h"
#include "passes/conversion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket {
#define GEN_PASS_DEF_CONVERTXFTODIST
#include "passes/conversion/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;

namespace {

/// The sharding of a tensor of `rank` dims that every device holds whole.
dist::ShardingAttr replicated(FlatSymbolRefAttr mesh, int64_t rank) {
  Builder builder(mesh.getContext());
  SmallVector<Attribute> dims(rank, builder.getArrayAttr({}));
  return dist::ShardingAttr::get(mesh.getContext(), mesh,
                                 builder.getArrayAttr(dims),
                                 builder.getArrayAttr({}));
}

/// Splits `name=size`.
LogicalResult parseAxis(Location loc, StringRef text,
                        SmallVectorImpl<StringRef> &names,
                        SmallVectorImpl<int64_t> &sizes) {
  auto [name, size] = text.split('=');
  int64_t number;
  if (name.empty() || size.getAsInteger(10, number))
    return emitError(loc) << "a mesh axis is written name=size, not '" << text
                          << "'";
  names.push_back(name);
  sizes.push_back(number);
  return success();
}

struct XfToDist : hocket::impl::ConvertXfToDistBase<XfToDist> {
  using ConvertXfToDistBase::ConvertXfToDistBase;

  void runOnOperation() override {
    // 1. The mesh.
    FlatSymbolRefAttr mesh = addMesh();
    if (!mesh)
      return signalPassFailure();
    // 2. Variables.
    for (auto variable : getOperation().getOps<xf::VariableOp>()) {
      auto type = cast<RankedTensorType>(variable.getType());
      variable->setAttr("dist.sharding", replicated(mesh, type.getRank()));
    }
    // 3. Arguments that come from the host.
    for (auto step : getOperation().getOps<xf::StepOp>())
      for (FlatSymbolRefAttr name :
           {step.getForwardAttr(), step.getEvaluateAttr()})
        placeArguments(name, mesh);
  }

private:
  FlatSymbolRefAttr addMesh() {
    SmallVector<StringRef> names;
    SmallVector<int64_t> sizes;
    for (const std::string &axis : axes)
      if (failed(parseAxis(getOperation().getLoc(), axis, names, sizes)))
        return {};
    if (names.empty()) {
      names.push_back("dp");
      sizes.push_back(1);
    }
    auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
    auto mesh = builder.create<dist::MeshOp>(
        getOperation().getLoc(), builder.getStringAttr("mesh"),
        builder.getStrArrayAttr(names), builder.getDenseI64ArrayAttr(sizes));
    if (failed(mesh.verify()))
      return {};
    if (mesh.getDeviceCount() != 1) {
      mesh.emitError("D11: the mesh has ")
          << mesh.getDeviceCount()
          << " devices; this compiler places programs on one";
      return {};
    }
    return FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  }

  void placeArguments(FlatSymbolRefAttr name, FlatSymbolRefAttr mesh) {
    auto function = getOperation().lookupSymbol<func::FuncOp>(name);
    if (!function)
      return;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        function.setArgAttr(i, "dist.sharding",
                            replicated(mesh, tensor.getRank()));
  }
};

} // namespace
