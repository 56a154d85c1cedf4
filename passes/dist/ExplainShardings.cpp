//===- ExplainShardings.cpp - Why tensors lie where they lie --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Says of every value and variable that dist-propagate-shardings has annotated
// why it is split as it is, from the same factor rules and priorities, and
// leaves that on the mesh, which every later level keeps.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/ExpertSharding.h"
#include "passes/dist/Passes.h"
#include "passes/dist/ValueNames.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <utility>

namespace hocket::dist {
#define GEN_PASS_DEF_DISTEXPLAINSHARDINGS
#include "passes/dist/Passes.h.inc"
} // namespace hocket::dist

using namespace mlir;
using namespace hocket;
using namespace hocket::dist;

namespace {

/// What is known of one tensor.
struct Entry {
  std::string name, kind, source, why;
  RankedTensorType type;
  ShardingAttr sharding;
};

ShardingAttr shardingAt(Operation *op, StringRef list, unsigned index) {
  auto shardings = op->getAttrOfType<ArrayAttr>(list);
  if (!shardings || index >= shardings.size())
    return {};
  return dyn_cast<ShardingAttr>(shardings[index]);
}

/// How a value is given by what makes it.
ShardingAttr givenSharding(Value value) {
  if (auto result = dyn_cast<OpResult>(value))
    return shardingAt(result.getOwner(), "dist.results",
                      result.getResultNumber());
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function ? function.getArgAttrOfType<ShardingAttr>(
                        argument.getArgNumber(), "dist.sharding")
                  : ShardingAttr();
}

/// Whether weights decide how `op` splits over `axis`: of the model's axes, and
/// for experts of those that split these.
bool followsWeights(Operation *op, StringRef axis) {
  if (!isGrouped(op))
    return isModelAxis(axis);
  return ExpertAxes(op->getParentOfType<ModuleOp>())(axis);
}

bool shareFactor(const xf::DimFactors &a, const xf::DimFactors &b) {
  return llvm::any_of(
      a, [&](int64_t factor) { return llvm::is_contained(b, factor); });
}

/// Where a file of shardings says how `op` is split; empty if none does.
std::string chosenText(Operation *op) {
  if (auto line = op->getAttrOfType<IntegerAttr>("dist.split_line"))
    return "as line " + std::to_string(line.getInt()) +
           " of the plan's shardings says";
  return op->hasAttr("dist.split") ? "as the same op of training" : "";
}

std::string dimText(int64_t dim) { return "dim " + std::to_string(dim); }

/// Why an op splits its operands and results as it does.
class OpReasons {
public:
  OpReasons(Operation *op, const ValueNames &names) : op(op), names(names) {
    if (auto shardable = dyn_cast<xf::ShardableOpInterface>(op))
      rule = shardable.getFactorRule();
    for (Value operand : op->getOperands()) {
      ShardingAttr given = givenSharding(operand);
      operands.push_back(given ? Sharding::of(given) : Sharding());
    }
  }

  /// Of result `index`, which is split as `sharding`.
  std::string of(unsigned index, const Sharding &sharding) const {
    SmallVector<std::string> parts;
    if (std::string chosen = chosenText(op); !chosen.empty())
      parts.push_back(std::move(chosen));
    else
      addSources(index, sharding, parts);
    if (parts.empty())
      parts.push_back("whole: nothing that it is made of splits it");
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      addMove(i, parts);
    return llvm::join(parts, "; ");
  }

private:
  /// Where each axis of result `index` comes from.
  void addSources(unsigned index, const Sharding &sharding,
                  SmallVectorImpl<std::string> &parts) const {
    for (auto [d, axes] : llvm::enumerate(sharding.dims))
      for (StringRef axis : axes)
        parts.push_back(dimText(int64_t(d)) + " over " + axis.str() + ": " +
                        sourceOfAxis(rule.results[index][d], axis));
    for (StringRef axis : sharding.partial)
      parts.push_back("partial sums over " + axis.str() + ": " +
                      sourceOfSum(rule.results[index], axis));
  }

  /// What an operand is called, and why it has a say.
  std::string operandText(unsigned i, StringRef axis) const {
    Value operand = op->getOperand(i);
    std::string text = "'" + names.of(operand) + "'";
    if (text == "''")
      text = "operand " + std::to_string(i);
    if (axis.empty() || !names.isWeight(operand))
      return text;
    return text + (followsWeights(op, axis)
                       ? ", a weight, and weights move last"
                       : ", a weight");
  }

  /// The operands that have `axis` on a loop of `dim`, those that decide first.
  SmallVector<std::pair<unsigned, int64_t>> holders(const xf::DimFactors &dim,
                                                    StringRef axis) const {
    SmallVector<std::pair<unsigned, int64_t>> found;
    for (bool decides : {true, false})
      for (auto [i, factors] : llvm::enumerate(rule.operands)) {
        bool weight = names.isWeight(op->getOperand(i));
        if ((weight == followsWeights(op, axis)) != decides)
          continue;
        for (auto [d, own] : llvm::enumerate(factors))
          if (d < operands[i].dims.size() && shareFactor(own, dim) &&
              llvm::is_contained(operands[i].dims[d], axis))
            found.push_back({unsigned(i), int64_t(d)});
      }
    return found;
  }

  std::string sourceOfAxis(const xf::DimFactors &dim, StringRef axis) const {
    if (auto found = holders(dim, axis); !found.empty())
      return "follows " + dimText(found.front().second) + " of " +
             operandText(found.front().first, axis);
    for (Operation *user : op->getUsers())
      if (isa<xf::AccumulateOp>(user))
        return "follows the parameter whose gradient it is added to";
    if (isa<xf::CrossEntropyRowsOp>(op))
      return "each device has its own part of the vocabulary";
    return "the residual stream lies so by the plan, and partial sums of its "
           "shape are formed there";
  }

  std::string sourceOfSum(const xf::TensorFactors &result,
                          StringRef axis) const {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (ShardingAttr want = shardingAt(op, "dist.operands", i);
          want && llvm::is_contained(Sharding::of(want).partial, axis))
        return "passed on from " + operandText(i, "") +
               ", since the op is linear";
    for (auto [f, factor] : llvm::enumerate(rule.factors)) {
      bool kept = llvm::any_of(result, [&, f = int64_t(f)](const auto &dim) {
        return llvm::is_contained(dim, f);
      });
      if (kept)
        continue;
      if (auto found = holders({int64_t(f)}, axis); !found.empty())
        return "the op sums over " + dimText(found.front().second) + " of " +
               operandText(found.front().first, "") + ", which " + axis.str() +
               " splits";
    }
    return "each device adds up its own part";
  }

  /// An operand that is not as the op wants it.
  void addMove(unsigned i, SmallVectorImpl<std::string> &parts) const {
    ShardingAttr want = shardingAt(op, "dist.operands", i);
    if (!want || want == givenSharding(op->getOperand(i)) ||
        !givenSharding(op->getOperand(i)))
      return;
    Sharding to = Sharding::of(want);
    const Sharding &from = operands[i];
    std::string text =
        operandText(i, "") + " moves from " + from.text() + " to " + to.text();
    for (StringRef axis : from.partial)
      if (!llvm::is_contained(to.partial, axis))
        text += ", because sums over " + axis.str() + " must be formed first";
    for (auto [d, axes] : llvm::enumerate(from.dims))
      for (StringRef axis : axes)
        if (d >= to.dims.size() || !llvm::is_contained(to.dims[d], axis))
          text += ", because " + whyLost(i, int64_t(d), axis);
    parts.push_back(text);
  }

  /// Why operand `i` may not keep `axis` on its dim `d`.
  std::string whyLost(unsigned i, int64_t d, StringRef axis) const {
    for (unsigned j = 0; j < op->getNumOperands(); ++j) {
      ShardingAttr want = shardingAt(op, "dist.operands", j);
      if (!want)
        continue;
      for (auto [e, axes] : llvm::enumerate(Sharding::of(want).dims))
        if (llvm::is_contained(axes, axis) && !(j == i && int64_t(e) == d))
          return axis.str() + " splits " + dimText(int64_t(e)) + " of " +
                 operandText(j, axis);
    }
    return "the op needs all of " + dimText(d);
  }

  Operation *op;
  const ValueNames &names;
  xf::FactorRule rule;
  SmallVector<Sharding> operands; ///< as they are given
};

/// Why a variable lies as it does: seeds follow from the plan (Seeds.h).
class VariableReasons {
public:
  VariableReasons(ModuleOp module, const Mesh &mesh)
      : mesh(mesh), symbols(module), splitsExperts(module) {
    for (auto variable : module.getOps<xf::VariableOp>())
      if (variable.getKind() == xf::VariableKind::Working)
        copied.insert(*variable.getOf());
  }

  std::string of(xf::VariableOp variable, const Sharding &sharding) const {
    SmallVector<std::string> parts;
    std::string chosen = chosenText(variable);
    if (!chosen.empty())
      parts.push_back(chosen);
    for (auto [d, axes] : llvm::enumerate(sharding.dims))
      for (StringRef axis : axes)
        if (chosen.empty())
          parts.push_back(dimText(int64_t(d)) + " over " + axis.str() + ": " +
                          reason(variable, int64_t(d), axis));
    for (StringRef axis : sharding.partial)
      parts.push_back(
          "partial sums over " + axis.str() +
          ": each rank adds up the gradient of its own data, and "
          "their sum is formed once a step, where the update begins");
    if (parts.empty())
      parts.push_back("whole on every rank: the plan splits no dim of it");
    return llvm::join(parts, "; ");
  }

private:
  static std::string dimName(std::optional<xf::ParameterRole> role,
                             int64_t rank, int64_t dim) {
    if (rank == 3)
      return dim == 0   ? "experts"
             : dim == 1 ? "output features"
                        : "input features";
    if (role == xf::ParameterRole::Embedding || role == xf::ParameterRole::Head)
      return dim == 0 ? "the vocabulary" : "features";
    return dim == 0 ? "output features" : "input features";
  }

  std::string reason(xf::VariableOp variable, int64_t dim,
                     StringRef axis) const {
    auto type = cast<RankedTensorType>(variable.getType());
    StringRef name =
        variable.getOf() ? *variable.getOf() : variable.getSymName();
    bool isOfModel =
        type.getRank() == 3 ? splitsExperts(axis) : isModelAxis(axis);
    if (isOfModel)
      return "by the plan, " + axis.str() + " = " +
             std::to_string(mesh.size(axis)) + " splits " +
             dimName(variable.findRole(symbols), type.getRank(), dim);
    switch (variable.getKind()) {
    case xf::VariableKind::OptimizerState:
      return "ZeRO keeps the optimizer's state in shards";
    case xf::VariableKind::Gradient:
      return variable->hasAttr("dist.scattered")
                 ? "ZeRO-2 keeps gradients in the shards of the optimizer's "
                   "state"
                 : "as the op gives it that is the first to add to it";
    case xf::VariableKind::Parameter:
      if (copied.contains(name))
        return "ZeRO keeps this copy, which the optimizer alone reads, in the "
               "shards of its state";
      [[fallthrough]];
    default:
      return "ZeRO-3 keeps weights in shards and gathers them for use";
    }
  }

  const Mesh &mesh;
  SymbolTable symbols;
  llvm::DenseSet<StringRef> copied;
  ExpertAxes splitsExperts;
};

/// Gathers entries; the same of several functions is one.
class Explanation {
public:
  Explanation(ModuleOp module, MeshOp meshOp)
      : module(module), meshOp(meshOp), mesh(meshOp), names(module),
        variables(module, mesh) {}

  void build() {
    for (auto variable : module.getOps<xf::VariableOp>())
      explain(variable);
    // What update and prepare compute is explained by the variables.
    llvm::DenseSet<StringRef> skipped;
    for (auto step : module.getOps<xf::StepOp>()) {
      skipped.insert(step.getUpdate());
      if (auto prepare = step.getPrepare())
        skipped.insert(*prepare);
    }
    for (auto function : module.getOps<func::FuncOp>())
      if (!skipped.contains(function.getSymName()) && !function.isExternal())
        explain(function);
    write();
    countChosen();
  }

private:
  /// Of the ops that were chosen for (`dist.chosen` of the mesh), how many are
  /// split so; others are computed in parts by ops of other kinds.
  void countChosen() {
    auto chosen = meshOp->getAttrOfType<DictionaryAttr>("dist.chosen");
    if (!chosen)
      return;
    int64_t kept = 0;
    module.walk([&](Operation *op) {
      kept += op->hasAttr("dist.split_line") && op->hasAttr("dist.results");
    });
    NamedAttrList entries(chosen);
    entries.set("kept", Builder(module.getContext()).getI64IntegerAttr(kept));
    meshOp->setAttr("dist.chosen", entries.getDictionary(module.getContext()));
  }

  void explain(xf::VariableOp variable) {
    auto attribute = variable->getAttrOfType<ShardingAttr>("dist.sharding");
    auto type = dyn_cast<RankedTensorType>(variable.getType());
    if (!attribute || !type)
      return;
    StringRef kind = xf::stringifyVariableKind(variable.getKind());
    add({nameOfAnyLayer(variable.getSymName()), kind.str(),
         lineOf(variable.getLoc()),
         variables.of(variable, Sharding::of(attribute)), type, attribute},
        "");
  }

  void explain(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      if (auto sharding = givenSharding(argument);
          sharding && function.isPublic() && argument.getArgNumber() < 2 &&
          isa<RankedTensorType>(argument.getType()))
        add({names.of(argument), "input", lineOf(argument.getLoc()),
             "by the plan, sequences are split over the axes of the data and "
             "positions over cp",
             cast<RankedTensorType>(argument.getType()), sharding},
            function.getSymName());
    function.walk([&](Operation *op) { explain(op, function); });
  }

  static std::string whyConstrained(Operation *constrain) {
    if (constrain->getOperand(0).getDefiningOp<xf::DispatchOp>())
      return "experts work on their rows so, and keep them so for the "
             "gradient; devices that share sequences add up what each has "
             "filled in";
    return "wanted so where it is used next";
  }

  void explain(Operation *op, func::FuncOp function) {
    bool isConstrained = isa<ConstrainOp>(op);
    if (!isa<xf::ShardableOpInterface>(op) && !isConstrained)
      return;
    for (OpResult result : op->getResults()) {
      ShardingAttr sharding = givenSharding(result);
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!sharding || !type)
        continue;
      add({names.of(result), op->getName().stripDialect().str(),
           lineOf(op->getLoc()),
           isConstrained ? whyConstrained(op)
                         : OpReasons(op, names).of(result.getResultNumber(),
                                                   Sharding::of(sharding)),
           type, sharding},
          function.getSymName());
    }
  }

  void add(Entry entry, StringRef where) {
    if (entry.name.empty())
      entry.name = entry.kind;
    std::string key =
        llvm::join(ArrayRef<std::string>{entry.name, entry.kind, entry.why,
                                         Sharding::of(entry.sharding).text()},
                   "\n");
    auto [known, isNew] = indices.try_emplace(key, entries.size());
    if (isNew) {
      entries.push_back(std::move(entry));
      places.emplace_back();
    }
    if (!where.empty())
      places[known->second].insert(where);
  }

  void write() {
    Builder builder(module.getContext());
    SmallVector<Attribute> list;
    for (auto [entry, where] : llvm::zip(entries, places)) {
      auto text = [&](StringRef key, StringRef value) {
        return builder.getNamedAttr(key, builder.getStringAttr(value));
      };
      list.push_back(builder.getDictionaryAttr(
          {text("name", entry.name), text("kind", entry.kind),
           text("source", entry.source), text("why", entry.why),
           text("where", llvm::join(where, ", ")),
           builder.getNamedAttr("type", TypeAttr::get(entry.type)),
           builder.getNamedAttr("local",
                                TypeAttr::get(mesh.localType(
                                    entry.type, Sharding::of(entry.sharding)))),
           builder.getNamedAttr("sharding", entry.sharding)}));
    }
    meshOp->setAttr("dist.explanation", builder.getArrayAttr(list));
  }

  ModuleOp module;
  MeshOp meshOp;
  Mesh mesh;
  ValueNames names;
  VariableReasons variables;
  std::vector<Entry> entries;
  std::vector<llvm::SetVector<StringRef>> places;
  std::map<std::string, size_t> indices;
};

struct ExplainShardings
    : dist::impl::DistExplainShardingsBase<ExplainShardings> {
  void runOnOperation() override {
    auto meshes = getOperation().getOps<MeshOp>();
    if (!meshes.empty() && (*meshes.begin()).getDeviceCount() > 1)
      Explanation(getOperation(), *meshes.begin()).build();
  }
};

} // namespace
