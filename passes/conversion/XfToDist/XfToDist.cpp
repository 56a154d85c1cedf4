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

#include "dialects/dist/IR/Placement.h"
#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/HostInputs.h"
#include "dialects/xf/IR/Stream.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/conversion/Passes.h"
#include "passes/conversion/XfToDist/MeshAxes.h"
#include "passes/conversion/XfToDist/Rounds.h"
#include "passes/conversion/XfToDist/Seeds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace hocket {
#define GEN_PASS_DEF_CONVERTXFTODIST
#include "passes/conversion/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using dist::Sharding;

/// As the mesh has it.
static dist::ContextStrategy strategyOf(plan::ContextStrategy strategy) {
  switch (strategy) {
  case plan::ContextStrategy::AllGather:
    return dist::ContextStrategy::AllGather;
  case plan::ContextStrategy::Ring:
    return dist::ContextStrategy::Ring;
  case plan::ContextStrategy::AllToAll:
    return dist::ContextStrategy::AllToAll;
  }
  llvm_unreachable("an enum has one of its values");
}

namespace {

struct XfToDist : hocket::impl::ConvertXfToDistBase<XfToDist> {
  using ConvertXfToDistBase::ConvertXfToDistBase;

  void runOnOperation() override {
    if (leastPart < 1) {
      getOperation()->emitError("least-part is ")
          << int64_t(leastPart) << ", of positions; write 1 or more";
      return signalPassFailure();
    }
    // 1. The mesh.
    plan = plan::planOf(getOperation());
    placement = {};
    warned.clear();
    dist::MeshOp meshOp = addMesh();
    if (!meshOp)
      return signalPassFailure();
    dist::Mesh mesh(meshOp);
    dist::Seeds seeds(mesh, placement);
    noteExperts(seeds, meshOp);
    placeSequences(mesh, meshOp);
    // 2. Variables.
    warnOfMissingRoles(seeds);
    placeVariables(seeds, mesh);
    // 3. Arguments that come from the host, and the stream.
    for (auto step : getOperation().getOps<xf::StepOp>())
      for (FlatSymbolRefAttr name :
           {step.getForwardAttr(), step.getEvaluateAttr()}) {
        placeArguments(name, seeds, mesh);
        placeStream(name, seeds.stream(), mesh);
      }
    for (auto serve : getOperation().getOps<xf::ServeOp>())
      placeServing(serve, seeds, mesh);
    removeMarks();
  }

private:
  /// What experts are split over, and the sub-axes of `tp` along which they are
  /// the same.
  void noteExperts(const dist::Seeds &seeds, dist::MeshOp meshOp) {
    Builder builder(&getContext());
    dist::Axes axes = seeds.experts();
    if (!axes.empty())
      meshOp.setExpertsAttr(builder.getStrArrayAttr(axes));
    if (!placement.tensor.rows.empty())
      meshOp.setSharingAttr(builder.getStrArrayAttr(placement.tensor.rows));
  }

  /// How devices share sequences: attention's strategy, and the order of
  /// positions. State-space layers go through sequences in order.
  void placeSequences(const dist::Mesh &mesh, dist::MeshOp meshOp) {
    int64_t ranks = mesh.product(mesh.parts(AxisKind::Context));
    if (ranks == 1)
      return;
    dist::ContextStrategy strategy = strategyOf(plan.context);
    meshOp.setContextStrategy(strategy);
    if (strategy == dist::ContextStrategy::AllToAll || dropsByOrder() ||
        hasTwoSequences() || stateGroups() > 0)
      return;
    llvm::DenseSet<Operation *> unshared = layersOfSequences();
    int64_t parts = 2 * ranks, whole = 0;
    getOperation().walk([&](xf::AttentionOp op) {
      if (!unshared.contains(op->getParentOfType<func::FuncOp>()))
        whole = cast<RankedTensorType>(op.getQuery().getType()).getDimSize(1);
    });
    if (whole % parts != 0 || whole == 0)
      return;
    int64_t longest = whole / parts;
    int64_t rounds = hasDocuments() ? dist::roundsOf(longest, leastPart) : 1;
    balance(longest / rounds, rounds, unshared, meshOp);
  }

  /// The layers, forward and backward, whose streams are shared out by
  /// sequences alone: those that see images.
  llvm::DenseSet<Operation *> layersOfSequences() {
    llvm::DenseSet<Operation *> layers;
    for (auto layer : getOperation().getOps<func::FuncOp>()) {
      if (layer.getNumArguments() == 0 || !xf::isStreamOfSequences(layer, 0))
        continue;
      layers.insert(layer);
      if (auto name = layer->getAttrOfType<FlatSymbolRefAttr>("xf.backward"))
        layers.insert(getOperation().lookupSymbol(name.getValue()));
    }
    return layers;
  }

  /// Whether there is another sequence too, of a length of its own: that of an
  /// encoder, or what was retrieved for the chunks of one.
  bool hasTwoSequences() {
    return llvm::any_of(
        getOperation().getOps<func::FuncOp>(), [](func::FuncOp function) {
          return xf::findHostInput(function, xf::HostInput::EncoderTokens) ||
                 xf::findHostInput(function, xf::HostInput::Neighbors);
        });
  }

  /// Whether documents share sequences, none of which attends to another.
  bool hasDocuments() {
    WalkResult found = getOperation().walk([](xf::AttentionOp op) {
      return op.getPositions() && op.getCausal() ? WalkResult::interrupt()
                                                 : WalkResult::advance();
    });
    return found.wasInterrupted();
  }

  /// Whether which tokens an expert takes depends on their order.
  bool dropsByOrder() {
    WalkResult found = getOperation().walk([](xf::ExpertOrderOp op) {
      auto sequence =
          cast<RankedTensorType>(op.getChoice().getType()).getDimSize(1);
      // A token chooses an expert once, so this is room for all of a sequence.
      bool dropsNone = op.getRanges() || op.getCapacity() >= uint64_t(sequence);
      return dropsNone ? WalkResult::advance() : WalkResult::interrupt();
    });
    return found.wasInterrupted();
  }

  /// Causal attention costs later positions more: in every round each device
  /// gets a part from the beginning and one as far from the end. All that goes
  /// by position is told, and so are the host and what draws random numbers,
  /// which the mesh tells.
  void balance(int64_t part, int64_t rounds,
               const llvm::DenseSet<Operation *> &unshared,
               dist::MeshOp meshOp) {
    Builder builder(&getContext());
    IntegerAttr rows = builder.getI64IntegerAttr(part),
                number = builder.getI64IntegerAttr(rounds);
    meshOp.setPartsAttr(rows);
    if (rounds > 1)
      meshOp.setRoundsAttr(number);
    auto place = [&](auto positioned) {
      positioned.setPartAttr(rows);
      if (rounds > 1)
        positioned.setRoundsAttr(number);
    };
    auto placeShared = [&](auto attention) {
      if (!unshared.contains(
              attention->template getParentOfType<func::FuncOp>()))
        place(attention);
    };
    getOperation().walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<xf::RopeTableOp, xf::PositionsOp>(place)
          .Case<xf::AttentionOp, xf::AttentionGradientOp>(placeShared);
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

  /// The groups of the model's state-space layers; 0 if it has none.
  int64_t stateGroups() {
    int64_t groups = 0;
    getOperation().walk([&](xf::StateScanOp op) {
      groups = cast<RankedTensorType>(op.getInMap().getType()).getDimSize(2);
    });
    return groups;
  }

  dist::MeshOp addMesh() {
    std::vector<plan::MeshAxis> axes = plan::meshAxes(plan);
    dist::MeshAxes list(&getContext(), axes);
    cutAxes(list);
    auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
    auto mesh = builder.create<dist::MeshOp>(
        getOperation().getLoc(), builder.getStringAttr("mesh"),
        builder.getStrArrayAttr(list.names()),
        builder.getDenseI64ArrayAttr(list.sizes()));
    if (failed(mesh.verify()))
      return {};
    placement.zeroStage = plan.zero;
    placement.sequenceParallel = plan.sequenceParallel;
    return mesh;
  }

  /// Puts the sub-axes of `cp` and `tp` in their place.
  void cutAxes(dist::MeshAxes &list) {
    plan::ExpertGrid grid = plan::expertGrid(plan).value_or(plan::ExpertGrid());
    dist::AxisCut context{plan.cp, 1, grid.context};
    for (const auto &[name, part] : list.cut(AxisKind::Context, context)) {
      placement.context.positions.push_back(name);
      if (part.use == dist::ExpertUse::Different)
        placement.context.different.push_back(name);
    }
    // Parts of an expert are there only where they are not those of other
    // layers.
    int64_t heads = keyHeads(), groups = stateGroups();
    // One group is whole everywhere, however key heads are split.
    if (heads == 0 && groups > 1)
      heads = groups;
    dist::AxisCut tensor{plan.tp, heads == 0 ? plan.tp : heads, grid.tensor,
                         plan.expertTensor()};
    for (const auto &[name, part] : list.cut(AxisKind::Tensor, tensor))
      placeTensorAxis(name, part);
    dist::TensorPlaces &places = placement.tensor;
    if (groups > 1)
      places.groups = places.keyHeads;
    for (const dist::Axes &axes :
         {places.rows, places.different, places.inside})
      llvm::append_range(places.positions, axes);
  }

  void placeTensorAxis(StringRef name, const dist::SubAxis &part) {
    dist::TensorPlaces &places = placement.tensor;
    places.weights.push_back(name);
    if (part.splitsKeyHeads)
      places.keyHeads.push_back(name);
    switch (part.use) {
    case dist::ExpertUse::Rows:
      return places.rows.push_back(name);
    case dist::ExpertUse::Different:
      return places.different.push_back(name);
    case dist::ExpertUse::Inside:
      return places.inside.push_back(name);
    }
  }

  /// A parameter without a role stays whole: the program is right, but takes
  /// more memory than its plan says.
  void warnOfMissingRoles(const dist::Seeds &seeds) {
    dist::Axes axes = seeds.splitsByRole();
    if (axes.empty())
      return;
    for (auto variable : getOperation().getOps<xf::VariableOp>())
      if (variable.getKind() == xf::VariableKind::Parameter &&
          !variable.getRole())
        variable.emitWarning()
            << "parameter @" << variable.getSymName()
            << " has no role, so every rank along " << llvm::join(axes, ", ")
            << " keeps all of it: say what it does, as in `role = "
               "#xf.parameter_role<query>`";
  }

  void placeVariables(const dist::Seeds &seeds, const dist::Mesh &mesh) {
    SymbolTable symbols(getOperation());
    llvm::DenseSet<StringRef> copied;
    for (auto variable : getOperation().getOps<xf::VariableOp>())
      if (variable.getKind() == xf::VariableKind::Working)
        copied.insert(*variable.getOf());
    for (auto variable : getOperation().getOps<xf::VariableOp>()) {
      bool hasCopy = copied.contains(variable.getSymName());
      dist::Seed seed =
          seeds.variable(variable, variable.findRole(symbols), hasCopy);
      variable->setAttr("dist.sharding", seed.sharding.toAttr(mesh.symbol()));
      // For dist-explain-shardings, which leaves one device out.
      dist::Placement why;
      if (!seed.reasons.empty() && mesh.devices() > 1)
        why.reasons = seed.reasonsAttr(&getContext());
      why.scattered = variable.getKind() == xf::VariableKind::Gradient &&
                      seeds.scattersGradients();
      why.setOn(variable);
    }
  }

  void placeArguments(FlatSymbolRefAttr name, const dist::Seeds &seeds,
                      const dist::Mesh &mesh) {
    auto function = getOperation().lookupSymbol<func::FuncOp>(name);
    if (!function)
      return;
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        continue;
      Sharding sharding = tensor.getRank() == 2
                              ? seeds.batch()
                              : Sharding::whole(tensor.getRank());
      // Images are whole, whoever shares the tokens of their sequence.
      if (xf::hostInputOf(function, i) == xf::HostInput::Pixels)
        sharding.dims[1].clear();
      function.setArgAttr(i, "dist.sharding", sharding.toAttr(mesh.symbol()));
    }
  }

  /// Notes where hidden states live, on the arguments of the layers of `name`
  /// that say they are the stream.
  void placeStream(FlatSymbolRefAttr name, const Sharding &stream,
                   const dist::Mesh &mesh) {
    auto function = getOperation().lookupSymbol<func::FuncOp>(name);
    if (!function || mesh.devices() == 1)
      return;
    func::FuncOp unmarked;
    for (auto call : function.getOps<func::CallOp>()) {
      auto layer = getOperation().lookupSymbol<func::FuncOp>(call.getCallee());
      bool isMarked = false;
      for (unsigned i = 0; i < layer.getNumArguments(); ++i)
        if (xf::isStream(layer, i)) {
          Sharding own = stream;
          if (xf::isStreamOfSequences(layer, i))
            own.dims[1].clear();
          layer.setArgAttr(i, "dist.stream", own.toAttr(mesh.symbol()));
          isMarked = true;
        }
      if (!isMarked && !unmarked)
        unmarked = layer;
    }
    if (unmarked && warned.insert(unmarked).second)
      unmarked.emitWarning()
          << "no argument of @" << unmarked.getSymName()
          << " is marked as the residual stream, so partial sums are formed "
             "where they are first needed: write `{xf.stream}` behind the type "
             "of the argument that is";
  }

  /// The marks have done their work.
  void removeMarks() {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        function.removeArgAttr(i, xf::kStreamAttr);
  }

  /// A token is a row of its own there, so positions are not shared.
  void placeServing(xf::ServeOp serve, const dist::Seeds &seeds,
                    const dist::Mesh &mesh) {
    if (FlatSymbolRefAttr evaluate = serve.getEvaluateAttr()) {
      placeArguments(evaluate, seeds, mesh);
      placeStream(evaluate, seeds.stream(), mesh);
    }
    Sharding tokens = Sharding::whole(3);
    tokens.dims[0] = seeds.batch().dims[0];
    for (FlatSymbolRefAttr name :
         {serve.getEncodeAttr(), serve.getPrefillAttr(),
          serve.getDecodeAttr()}) {
      if (!name)
        continue;
      placeArguments(name, seeds, mesh);
      placeStream(name, tokens, mesh);
    }
  }

  plan::ParallelPlan plan;
  dist::PlacementPlan placement;
  llvm::DenseSet<Operation *> warned;
};

} // namespace
