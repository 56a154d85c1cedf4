//===- XfToDist.cpp - Place every tensor on the device mesh ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Adds the mesh and the seeds of Seeds.h. Propagation and partitioning follow
// (passes/dist); on a mesh of one device they change nothing.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/Xf.h"
#include "passes/conversion/Passes.h"
#include "passes/conversion/XfToDist/Seeds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <numeric>

namespace hocket {
#define GEN_PASS_DEF_CONVERTXFTODIST
#include "passes/conversion/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using dist::Sharding;

namespace {

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
    dist::MeshOp meshOp = addMesh();
    if (!meshOp)
      return signalPassFailure();
    dist::Mesh mesh(meshOp);
    dist::Seeds seeds(mesh, plan(mesh));
    noteExperts(seeds);
    placeSequences(mesh);
    // 2. Variables.
    placeVariables(seeds, mesh);
    // 3. Arguments that come from the host, and the stream.
    for (auto step : getOperation().getOps<xf::StepOp>()) {
      for (FlatSymbolRefAttr name :
           {step.getForwardAttr(), step.getEvaluateAttr()})
        placeArguments(name, seeds, mesh);
      if (meshOp.getDeviceCount() > 1)
        placeStream(step, seeds, mesh);
    }
  }

private:
  dist::PlacementPlan plan(const dist::Mesh &mesh) {
    dist::PlacementPlan found;
    for (auto training : getOperation().getOps<xf::TrainingOp>())
      if (DictionaryAttr entries = training.getPlanAttr()) {
        if (auto zero = entries.getAs<IntegerAttr>("zero_stage"))
          found.zeroStage = zero.getInt();
        found.sequenceParallel = entries.contains("sequence_parallel");
        placeExperts(entries, mesh, found);
      }
    return found;
  }

  /// What is left of `expert_parallel` beside the axis `ep` is the size of
  /// `tp`, of `cp`, or of both.
  static void placeExperts(DictionaryAttr entries, const dist::Mesh &mesh,
                           dist::PlacementPlan &found) {
    auto size = [&](ArrayRef<StringRef> names) {
      int64_t product = 1;
      for (StringRef name : names)
        product *= mesh.contains(name) ? mesh.size(name) : 1;
      return product;
    };
    int64_t tensor = size({"tp", "tp.0", "tp.1"}), context = size({"cp"});
    // It is there only where it is not that of other layers.
    found.wholeExperts = entries.contains("expert_tensor_parallel");
    auto experts = entries.getAs<IntegerAttr>("expert_parallel");
    int64_t left = experts ? experts.getInt() / size({"ep"}) : 1;
    found.expertsOverTensor = found.wholeExperts && left > 1 &&
                              (left == tensor || left == tensor * context);
    found.expertsOverContext =
        left > (found.expertsOverTensor ? tensor : int64_t(1));
  }

  /// What experts are split over, as `dist.experts` of the module.
  void noteExperts(const dist::Seeds &seeds) {
    dist::Axes axes = seeds.experts();
    if (!axes.empty())
      getOperation()->setAttr("dist.experts",
                              Builder(&getContext()).getStrArrayAttr(axes));
  }

  /// How devices share sequences: attention's strategy, as `dist.context` of
  /// the module, and the order of positions.
  void placeSequences(const dist::Mesh &mesh) {
    if (!mesh.contains("cp") || mesh.size("cp") == 1)
      return;
    StringRef strategy = "all_gather";
    for (auto training : getOperation().getOps<xf::TrainingOp>())
      if (DictionaryAttr entries = training.getPlanAttr())
        if (auto chosen = entries.getAs<StringAttr>("context_strategy"))
          strategy = chosen.getValue();
    Builder builder(&getContext());
    getOperation()->setAttr("dist.context", builder.getStringAttr(strategy));
    if (strategy == "all_to_all" || dropsByOrder())
      return;
    int64_t parts = 2 * mesh.size("cp"), whole = 0;
    getOperation().walk([&](xf::AttentionOp op) {
      whole = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(1);
    });
    if (whole % parts == 0 && whole > 0)
      balance(whole / parts);
  }

  /// Whether which tokens an expert takes depends on their order.
  bool dropsByOrder() {
    WalkResult found = getOperation().walk([](xf::ExpertOrderOp op) {
      return op.getRanges() ? WalkResult::advance() : WalkResult::interrupt();
    });
    return found.wasInterrupted();
  }

  /// Causal attention costs later positions more: every device gets a part
  /// from the beginning and one as far from the end. All that goes by position
  /// is told, and so is the host (`dist.part`).
  void balance(int64_t part) {
    Builder builder(&getContext());
    getOperation()->setAttr("dist.part", builder.getI64IntegerAttr(part));
    getOperation().walk([&](Operation *op) {
      if (isa<xf::AttentionOp, xf::AttentionGradientOp, xf::RopeTableOp,
              xf::PositionsOp>(op))
        op->setAttr("part", builder.getI64IntegerAttr(part));
    });
  }

  /// The key and value heads of the model; 0 if it has no attention.
  int64_t keyHeads() {
    int64_t heads = 0;
    getOperation().walk([&](xf::AttentionOp op) {
      heads = cast<RankedTensorType>(op.getKey().getType()).getDimSize(2);
    });
    return heads;
  }

  dist::MeshOp addMesh() {
    SmallVector<StringRef> names;
    SmallVector<int64_t> sizes;
    for (const std::string &axis : axes)
      if (failed(parseAxis(getOperation().getLoc(), axis, names, sizes)))
        return {};
    if (names.empty()) {
      names.push_back("dp");
      sizes.push_back(1);
    }
    splitTensorAxis(names, sizes);
    auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
    auto mesh = builder.create<dist::MeshOp>(
        getOperation().getLoc(), builder.getStringAttr("mesh"),
        builder.getStrArrayAttr(names), builder.getDenseI64ArrayAttr(sizes));
    return succeeded(mesh.verify()) ? mesh : dist::MeshOp();
  }

  /// More ranks along `tp` than key heads: `tp.0` splits these, and along
  /// `tp.1` ranks hold the same ones.
  void splitTensorAxis(SmallVectorImpl<StringRef> &names,
                       SmallVectorImpl<int64_t> &sizes) {
    auto *found = llvm::find(names, "tp");
    int64_t heads = keyHeads();
    if (found == names.end() || heads == 0)
      return;
    int64_t &size = sizes[found - names.begin()];
    int64_t outer = std::gcd(size, heads);
    if (size < 1 || outer == size)
      return;
    int64_t inner = size / outer;
    size = inner;
    *found = "tp.1";
    if (outer > 1)
      sizes.insert(sizes.begin() + (found - names.begin()), outer);
    if (outer > 1)
      names.insert(found, "tp.0");
  }

  void placeVariables(const dist::Seeds &seeds, const dist::Mesh &mesh) {
    llvm::DenseSet<StringRef> copied;
    for (auto variable : getOperation().getOps<xf::VariableOp>())
      if (variable.getKind() == xf::VariableKind::Working)
        copied.insert(*variable.getOf());
    for (auto variable : getOperation().getOps<xf::VariableOp>()) {
      bool hasCopy = copied.contains(variable.getSymName());
      variable->setAttr(
          "dist.sharding",
          seeds.variable(variable, hasCopy).toAttr(mesh.symbol()));
      if (variable.getKind() == xf::VariableKind::Gradient &&
          seeds.scattersGradients())
        variable->setAttr("dist.scattered", UnitAttr::get(&getContext()));
    }
  }

  void placeArguments(FlatSymbolRefAttr name, const dist::Seeds &seeds,
                      const dist::Mesh &mesh) {
    auto function = getOperation().lookupSymbol<func::FuncOp>(name);
    if (!function)
      return;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        function.setArgAttr(i, "dist.sharding",
                            (tensor.getRank() == 2
                                 ? seeds.batch()
                                 : Sharding::whole(tensor.getRank()))
                                .toAttr(mesh.symbol()));
  }

  /// Notes the type of hidden states, what layers take first, and where they
  /// live.
  void placeStream(xf::StepOp step, const dist::Seeds &seeds,
                   const dist::Mesh &mesh) {
    auto forward =
        getOperation().lookupSymbol<func::FuncOp>(step.getForwardAttr());
    for (auto call : forward.getOps<func::CallOp>())
      if (auto type = dyn_cast<RankedTensorType>(call.getOperand(0).getType());
          type && type.getRank() == 3) {
        getOperation()->setAttr("dist.stream_type", TypeAttr::get(type));
        getOperation()->setAttr("dist.stream",
                                seeds.stream().toAttr(mesh.symbol()));
        return;
      }
  }
};

} // namespace
