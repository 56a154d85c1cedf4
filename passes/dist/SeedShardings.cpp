//===- SeedShardings.cpp - Shardings that were chosen ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Puts what a file says of parameters and ops into the program: in place of the
// plan's seeds, and as the word that propagation takes for an op.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Placement.h"
#include "dialects/plan/IR/Plan.h"
#include "passes/dist/OpNames.h"
#include "passes/dist/OpStrategies.h"
#include "passes/dist/Passes.h"
#include "passes/dist/Reasons.h"
#include "passes/dist/ValueNames.h"

namespace hocket::dist {
#define GEN_PASS_DEF_DISTSEEDSHARDINGS
#include "passes/dist/Passes.h.inc"
} // namespace hocket::dist

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;
using planning::ChosenSplit;
using planning::ChosenSplits;
using planning::SplitPlace;
using planning::SplitTensor;

namespace {

class Seeding {
public:
  Seeding(ModuleOp module, MeshOp meshOp, StringRef file,
          const ChosenSplits &chosen)
      : module(module), meshOp(meshOp), mesh(meshOp), file(file),
        chosen(chosen), ops(module), parameters(module) {
    for (Attribute axis : meshOp.getAxes())
      axes.push_back(cast<StringAttr>(axis).getValue());
    for (auto variable : module.getOps<xf::VariableOp>())
      if (variable.getKind() == xf::VariableKind::Parameter || variable.getOf())
        variables[parameters.of(variable)].push_back(variable);
  }

  LogicalResult run() {
    if (planning::MeshSizes sizes = meshSizes(meshOp); sizes != chosen.mesh)
      return errorAt(chosen.meshPlace)
             << "D21: the mesh is '" << planning::meshText(chosen.mesh)
             << "', but that of the plan is '" << planning::meshText(sizes)
             << "'; compile for the ranks that the file was written for";
    for (const ChosenSplit &split : chosen.splits)
      if (failed(split.isOp ? seedOp(split) : seedParameter(split)))
        return failure();
    SymbolTable symbols(module);
    for (auto step : module.getOps<xf::StepOp>())
      if (FlatSymbolRefAttr evaluate = step.getEvaluateAttr())
        seedAlike(symbols.lookup<func::FuncOp>(step.getForward()),
                  symbols.lookup<func::FuncOp>(evaluate.getValue()), symbols);
    noteCounts();
    return success();
  }

  int64_t seeds() const { return int64_t(chosen.splits.size()); }

private:
  /// For what compile says in the end.
  void noteCounts() {
    int64_t named = llvm::count_if(
        chosen.splits, [](const ChosenSplit &split) { return split.isOp; });
    Builder builder(module.getContext());
    auto count = [&](StringRef name, int64_t value) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    };
    meshOp.setChosenAttr(builder.getDictionaryAttr(
        {count("ops", named), count("parameters", seeds() - named)}));
  }

  InFlightDiagnostic errorAt(SplitPlace place) {
    return emitError(FileLineColLoc::get(module.getContext(), file,
                                         unsigned(place.line),
                                         unsigned(place.column)));
  }

  //===--------------------------------------------------------------------===//
  // Parameters
  //===--------------------------------------------------------------------===//

  LogicalResult seedParameter(const ChosenSplit &split) {
    auto found = variables.find(split.name);
    if (found == variables.end())
      return errorAt(split.place)
             << "D21: the program has no parameter '" << split.name
             << "'; is the file of another model?";
    const SplitTensor &tensor = split.operands.front();
    RankedTensorType type = found->second.front().getWholeType();
    if (failed(checkTensor(tensor, type)))
      return failure();
    ShardingAttr sharding = shardingOf(tensor).toAttr(mesh.symbol());
    for (xf::VariableOp variable : found->second) {
      variable->setAttr("dist.sharding", sharding);
      noteLine(variable, split.place);
      setReasons(variable,
                 {{ReasonAttr::get(module.getContext(), ReasonKind::Chosen, {},
                                   -1, -1, split.place.line)}});
      Placement placement = Placement::of(variable);
      placement.scattered |= variable.getKind() == xf::VariableKind::Gradient;
      placement.setOn(variable);
    }
    return success();
  }

  Sharding shardingOf(const SplitTensor &tensor) const {
    Sharding sharding;
    for (const std::vector<std::string> &dim : tensor.dims) {
      Axes &list = sharding.dims.emplace_back();
      for (const std::string &name : dim)
        list.push_back(*llvm::find(axes, name)); // lives with the context
    }
    return sharding;
  }

  /// Whether `tensor` has the dims of `type` and cuts them evenly.
  LogicalResult checkTensor(const SplitTensor &tensor, RankedTensorType type) {
    if (!tensor.isTensor() || int64_t(tensor.dims.size()) != type.getRank())
      return errorAt(tensor.place)
             << "D21: '" << tensor.text << "' is not of the " << type.getRank()
             << " dims of " << type;
    for (auto [d, dim] : llvm::enumerate(tensor.dims)) {
      int64_t shards = 1;
      for (const std::string &axis : dim)
        shards *= mesh.size(axis);
      if (type.getDimSize(unsigned(d)) % shards != 0)
        return errorAt(tensor.place)
               << "D21: " << shards << " devices do not share dim " << d
               << " of " << type << " evenly";
    }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  LogicalResult seedOp(const ChosenSplit &split) {
    auto op =
        dyn_cast_if_present<xf::ShardableOpInterface>(ops.find(split.name));
    if (!op)
      return errorAt(split.place)
             << "D21: the program has no op '" << split.name
             << "'; is the file of another model?";
    if (failed(checkTensors(split, split.operands, op->getOperandTypes())) ||
        failed(checkTensors(split, split.results, op->getResultTypes())))
      return failure();
    xf::FactorRule rule = strategyRule(op);
    std::string text = split.text();
    for (const OpSharding &strategy : possibleStrategies(rule, axes, mesh))
      if (splitText(op, rule, strategy) == text) {
        note(op, strategy);
        noteLine(op, split.place);
        return success();
      }
    return errorAt(split.place)
           << "D21: '" << split.name << "' cannot be split so: an axis splits "
           << "one loop of it, in the mesh's order, evenly, wherever the loop "
           << "appears in " << xf::toString(rule);
  }

  LogicalResult checkTensors(const ChosenSplit &split,
                             ArrayRef<SplitTensor> tensors, TypeRange types) {
    if (tensors.size() != types.size())
      return errorAt(split.place)
             << "D21: '" << split.name << "' has " << types.size()
             << " tensors on this side of ->, not " << tensors.size();
    for (auto [tensor, type] : llvm::zip(tensors, types)) {
      auto ranked = dyn_cast<RankedTensorType>(type);
      if (!ranked && tensor.isTensor())
        return errorAt(tensor.place) << "D21: this operand is no tensor; "
                                        "write .";
      if (ranked && failed(checkTensor(tensor, ranked)))
        return failure();
    }
    return success();
  }

  /// By factor, the axes.
  void note(Operation *op, const OpSharding &strategy) {
    Builder builder(module.getContext());
    SmallVector<Attribute> factors;
    for (const Axes &list : strategy.factors)
      factors.push_back(builder.getStrArrayAttr(list));
    setSplit(op, builder.getArrayAttr(factors));
  }

  static void setSplit(Operation *op, ArrayAttr split) {
    Placement placement = Placement::of(op);
    placement.split = split;
    placement.setOn(op);
  }

  /// Validation computes what forward does, by functions of its own: ops that
  /// the file does not name are split as those of the same name in forward.
  void seedAlike(func::FuncOp from, func::FuncOp to, SymbolTable &symbols) {
    if (!from || !to || from == to || !alike.insert(to).second)
      return;
    std::string prefix = OpNames::prefixOf(from);
    from.walk([&](xf::ShardableOpInterface op) {
      std::string name = ops.of(op).substr(prefix.size());
      Operation *other = ops.find(OpNames::prefixOf(to) + name);
      ArrayAttr split = Placement::of(op).split;
      if (other && split && !Placement::of(other).split &&
          other->getOperandTypes() == op->getOperandTypes() &&
          other->getResultTypes() == op->getResultTypes())
        setSplit(other, split);
    });
    for (auto [call, other] :
         llvm::zip(from.getOps<func::CallOp>(), to.getOps<func::CallOp>()))
      seedAlike(symbols.lookup<func::FuncOp>(call.getCallee()),
                symbols.lookup<func::FuncOp>(other.getCallee()), symbols);
  }

  static void noteLine(Operation *op, SplitPlace place) {
    Placement placement = Placement::of(op);
    placement.line = place.line;
    placement.setOn(op);
  }

  ModuleOp module;
  MeshOp meshOp;
  Mesh mesh;
  StringRef file;
  const ChosenSplits &chosen;
  OpNames ops;
  ParameterNames parameters;
  Axes axes;
  std::map<std::string, SmallVector<xf::VariableOp>> variables;
  llvm::DenseSet<Operation *> alike; ///< functions that follow another
};

struct SeedShardings : dist::impl::DistSeedShardingsBase<SeedShardings> {
  using DistSeedShardingsBase::DistSeedShardingsBase;

  void runOnOperation() override {
    // 1. The text.
    std::string path = plan::planOf(getOperation()).shardings;
    if (path.empty())
      return;
    StatusOr<ChosenSplits> chosen = planning::loadChosenSplits(path);
    if (!chosen.ok()) {
      emitError(UnknownLoc::get(&getContext())) << chosen.status().message();
      return signalPassFailure();
    }
    // 2. Against the program.
    auto meshes = getOperation().getOps<MeshOp>();
    if (meshes.empty())
      return;
    Seeding seeding(getOperation(), *meshes.begin(), path, *chosen);
    if (failed(seeding.run()))
      return signalPassFailure();
    numSeeds += seeding.seeds();
    // 3. Hidden states lie as ops want them.
    if (llvm::any_of(chosen->splits,
                     [](const ChosenSplit &split) { return split.isOp; })) {
      for (auto function : getOperation().getOps<func::FuncOp>())
        for (unsigned i = 0; i < function.getNumArguments(); ++i)
          function.removeArgAttr(i, "dist.stream");
      (*meshes.begin()).setSplitByHand(true);
    }
  }
};

} // namespace
