//===- ExplainShardings.cpp - Why tensors lie where they lie --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Puts the reasons that seeds and dist-propagate-shardings have written down
// (Reasons.h) into words, with the names that people know, and leaves them on
// the mesh, which every later level keeps.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Placement.h"
#include "passes/dist/Passes.h"
#include "passes/dist/Reasons.h"
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

/// How a value is given by what makes it.
ShardingAttr givenSharding(Value value) {
  if (auto result = dyn_cast<OpResult>(value))
    return Placement::of(result.getOwner()).ofResult(result.getResultNumber());
  auto argument = cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function ? function.getArgAttrOfType<ShardingAttr>(
                        argument.getArgNumber(), "dist.sharding")
                  : ShardingAttr();
}

std::string dimText(int64_t dim) { return "dim " + std::to_string(dim); }

/// What a reason is called that is of all of a tensor; empty if none of
/// `reasons` is.
std::string textOfAll(ArrayRef<ReasonAttr> reasons) {
  for (ReasonAttr reason : reasons) {
    if (reason.getAxis())
      continue;
    switch (reason.getKind()) {
    case ReasonKind::Chosen:
      return "as line " + std::to_string(reason.getLine()) +
             " of the plan's shardings says";
    case ReasonKind::ChosenAlike:
      return "as the same op of training";
    case ReasonKind::Experts:
      return "experts work on their rows so, and keep them so for the "
             "gradient; devices that share sequences add up what each has "
             "filled in";
    default:
      return "wanted so where it is used next";
    }
  }
  return "";
}

/// The words for one axis of a tensor.
using AxisText = llvm::function_ref<std::string(ReasonAttr, int64_t dim)>;

/// The parts of what is said of a tensor: where each axis comes from.
SmallVector<std::string> partsOf(const Sharding &sharding,
                                 ArrayRef<ReasonAttr> reasons, AxisText text) {
  SmallVector<std::string> parts;
  std::string all = textOfAll(reasons);
  if (!all.empty())
    parts.push_back(all);
  auto add = [&](const std::string &where, StringRef axis, int64_t dim) {
    ReasonAttr reason = findReason(reasons, axis);
    if (!reason && !all.empty())
      return;
    parts.push_back(where + " over " + axis.str() + ": " +
                    (reason ? text(reason, dim) : "as the program says"));
  };
  for (auto [d, axes] : llvm::enumerate(sharding.dims))
    for (StringRef axis : axes)
      add(dimText(int64_t(d)), axis, int64_t(d));
  for (StringRef axis : sharding.partial)
    add("partial sums", axis, -1);
  return parts;
}

/// Puts the reasons of an op into words.
class OpWords {
public:
  OpWords(Operation *op, const ValueNames &names) : op(op), names(names) {}

  /// Of result `index`, which is split as `sharding`.
  std::string of(unsigned index, const Sharding &sharding) const {
    SmallVector<std::string> parts =
        partsOf(sharding, reasonsOf(op, index),
                [&](ReasonAttr reason, int64_t) { return sourceText(reason); });
    if (parts.empty())
      parts.push_back("whole: nothing that it is made of splits it");
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (std::optional<Reasons> move = moveOf(op, i))
        parts.push_back(moveText(i, *move));
    return llvm::join(parts, "; ");
  }

private:
  std::string operandText(int64_t i) const {
    std::string name = names.of(op->getOperand(unsigned(i)));
    return name.empty() ? "operand " + std::to_string(i) : "'" + name + "'";
  }

  /// A dim of an operand, and why it has a say.
  std::string dimOfOperand(ReasonAttr reason) const {
    std::string text =
        dimText(reason.getDim()) + " of " + operandText(reason.getOperand());
    if (reason.getKind() == ReasonKind::Weight)
      text += ", a weight";
    if (reason.getKind() == ReasonKind::WeightFirst)
      text += ", a weight, and weights move last";
    return text;
  }

  std::string sourceText(ReasonAttr reason) const {
    switch (reason.getKind()) {
    case ReasonKind::Operand:
    case ReasonKind::Weight:
    case ReasonKind::WeightFirst:
      return "follows " + dimOfOperand(reason);
    case ReasonKind::GradientOf:
      return "follows the parameter whose gradient it is added to";
    case ReasonKind::Vocabulary:
      return "each device has its own part of the vocabulary";
    case ReasonKind::Stream:
      return "the residual stream lies so by the plan, and partial sums that "
             "are of it are formed there";
    case ReasonKind::Positions:
      return "each device makes it for the positions that it has";
    case ReasonKind::SharedRows:
      return "devices that share sequences share out each expert's rows";
    case ReasonKind::Heads:
      return "sequences are needed whole, so that heads or channels are split "
             "in the place of positions";
    case ReasonKind::Ring:
      return "keys and values stay where their positions are, and travel in a "
             "ring";
    case ReasonKind::Linear:
      return "passed on from " + operandText(reason.getOperand()) +
             ", since the op is linear";
    case ReasonKind::SummedOver:
      return "the op sums over " + dimOfOperand(reason) + ", which " +
             reason.getAxis().str() + " splits";
    case ReasonKind::OwnPart:
      return "each device adds up its own part";
    default:
      return "as the program says";
    }
  }

  /// An operand that is not as the op wants it.
  std::string moveText(unsigned i, ArrayRef<ReasonAttr> reasons) const {
    ShardingAttr from = givenSharding(op->getOperand(i));
    ShardingAttr to = Placement::of(op).ofOperand(i);
    std::string text = operandText(i) + " moves";
    if (from && to)
      text += " from " + Sharding::of(from).text() + " to " +
              Sharding::of(to).text();
    for (ReasonAttr reason : reasons)
      text += ", because " + lossText(reason);
    return text;
  }

  std::string lossText(ReasonAttr reason) const {
    std::string axis = reason.getAxis().str();
    switch (reason.getKind()) {
    case ReasonKind::FormSums:
      return "sums over " + axis + " must be formed first";
    case ReasonKind::NeedsAll:
      return "the op needs all of " + dimText(reason.getDim());
    case ReasonKind::Operand:
    case ReasonKind::Weight:
    case ReasonKind::WeightFirst:
      return axis + " splits " + dimOfOperand(reason);
    case ReasonKind::GradientOf:
      return axis + " splits the parameter whose gradient it is added to";
    case ReasonKind::Heads:
      return axis + " splits heads in the place of positions";
    case ReasonKind::Stream:
      return axis + " splits the residual stream by the plan";
    default:
      return axis + " splits another dim: " + sourceText(reason);
    }
  }

  Operation *op;
  const ValueNames &names;
};

/// Puts the reasons of a variable into words: seeds follow from the plan
/// (Seeds.h).
class VariableWords {
public:
  VariableWords(ModuleOp module, const Mesh &mesh)
      : mesh(mesh), symbols(module) {}

  std::string of(xf::VariableOp variable, const Sharding &sharding) const {
    SmallVector<std::string> parts = partsOf(
        sharding, reasonsOf(variable, 0), [&](ReasonAttr reason, int64_t dim) {
          return sourceText(variable, reason, dim);
        });
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

  static bool isOfStateSpace(std::optional<xf::ParameterRole> role) {
    return role == xf::ParameterRole::StateInput ||
           role == xf::ParameterRole::StateGroup;
  }

  std::string sourceText(xf::VariableOp variable, ReasonAttr reason,
                         int64_t dim) const {
    StringRef axis = reason.getAxis().getValue();
    auto byPlan = [&](const std::string &what) {
      return "by the plan, " + axis.str() + " = " +
             std::to_string(mesh.size(axis)) + " splits " + what;
    };
    switch (reason.getKind()) {
    case ReasonKind::Model:
      return byPlan(
          dimName(variable.findRole(symbols),
                  cast<RankedTensorType>(variable.getType()).getRank(), dim));
    case ReasonKind::ZeroState:
      return "ZeRO keeps the optimizer's state in shards";
    case ReasonKind::ZeroCopy:
      return "ZeRO keeps this copy, which the optimizer alone reads, in the "
             "shards of its state";
    case ReasonKind::ZeroGradients:
      return "ZeRO-2 keeps gradients in the shards of the optimizer's state";
    case ReasonKind::ZeroWeights:
      return "ZeRO-3 keeps weights in shards and gathers them for use";
    case ReasonKind::CachePages:
      return byPlan("sequences, and pages are with theirs");
    case ReasonKind::CacheHeads:
      return byPlan(isOfStateSpace(variable.findRole(symbols))
                        ? "heads of state spaces"
                        : "key and value heads");
    case ReasonKind::SumsOfData:
      return "each rank adds up the gradient of its own data, and their sum is "
             "formed once a step, where the update begins";
    case ReasonKind::FirstAddition:
      return "as the op gives it that is the first to add to it";
    default:
      return "as the program says";
    }
  }

  const Mesh &mesh;
  SymbolTable symbols;
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
  /// Of the ops that were chosen for (`chosen` of the mesh), how many are
  /// split so; others are computed in parts by ops of other kinds.
  void countChosen() {
    DictionaryAttr chosen = meshOp.getChosenAttr();
    if (!chosen)
      return;
    int64_t kept = 0;
    module.walk([&](Operation *op) {
      Placement placement = Placement::of(op);
      kept += placement.line >= 0 && placement.results;
    });
    NamedAttrList entries(chosen);
    entries.set("kept", Builder(module.getContext()).getI64IntegerAttr(kept));
    meshOp.setChosenAttr(entries.getDictionary(module.getContext()));
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

  void explain(Operation *op, func::FuncOp function) {
    if (!Placement::of(op).reasons)
      return;
    for (OpResult result : op->getResults()) {
      ShardingAttr sharding = givenSharding(result);
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!sharding || !type)
        continue;
      add({names.of(result), op->getName().stripDialect().str(),
           lineOf(op->getLoc()),
           OpWords(op, names).of(result.getResultNumber(),
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
    meshOp.setExplanationAttr(builder.getArrayAttr(list));
  }

  ModuleOp module;
  MeshOp meshOp;
  Mesh mesh;
  ValueNames names;
  VariableWords variables;
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
