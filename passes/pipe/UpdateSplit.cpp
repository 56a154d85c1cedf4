//===- UpdateSplit.cpp - Each rank's part of the update -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/pipe/UpdateSplit.h"

#include "dialects/xf/IR/Xf.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"

#include <set>

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

namespace {

/// Copies one function for one rank after another.
class UpdateSplitter {
public:
  UpdateSplitter(ModuleOp module, const PipelinePlan &plan,
                 func::FuncOp function)
      : module(module), plan(plan), symbols(module), builder(module),
        function(function) {
    findOwners();
    findShared();
  }

  LogicalResult split(FragmentKind kind);

private:
  void findOwners();
  void findShared();
  bool followsFromShared(Value value, const llvm::StringSet<> &shared);
  void noteUses(func::FuncOp function, int64_t rank);
  /// The parameter of a variable, or itself where it is a parameter or state.
  StringRef parameterOf(StringRef variable);
  /// The ranks of what `variable` belongs to; empty: of all, as is state that
  /// no stage uses, or that every rank can keep.
  const std::set<int64_t> &ownersOf(StringRef variable);

  void eraseForeignStores(func::FuncOp function, int64_t rank);
  void shareGradients(func::FuncOp function, int64_t rank);
  /// Fails where `function` reads what no stage of `rank` has made.
  LogicalResult checkReads(func::FuncOp function, int64_t rank);
  /// Leaves in the norm what `rank` is the first to hold, and combines it.
  void splitNorms(func::FuncOp function, int64_t rank);
  bool countsHere(Value gradient, int64_t rank);
  void combineNorm(xf::GlobalNormOp norm);

  ModuleOp module;
  const PipelinePlan &plan;
  SymbolTable symbols;
  OpBuilder builder;
  func::FuncOp function; ///< the whole update
  llvm::StringMap<std::set<int64_t>> owners;
};

} // namespace

//===----------------------------------------------------------------------===//
// Who owns what
//===----------------------------------------------------------------------===//

StringRef UpdateSplitter::parameterOf(StringRef name) {
  auto variable = symbols.lookup<xf::VariableOp>(name);
  if (!variable)
    return {};
  if (variable.getOf())
    return *variable.getOf();
  bool stands = variable.getKind() == xf::VariableKind::Parameter ||
                variable.getKind() == xf::VariableKind::State;
  return stands ? name : StringRef();
}

const std::set<int64_t> &UpdateSplitter::ownersOf(StringRef variable) {
  return owners[parameterOf(variable)];
}

void UpdateSplitter::noteUses(func::FuncOp function, int64_t rank) {
  auto note = [&](StringRef variable) {
    if (StringRef parameter = parameterOf(variable); !parameter.empty())
      owners[parameter].insert(rank);
  };
  function.walk([&](Operation *op) {
    if (auto read = dyn_cast<xf::ReadOp>(op))
      note(read.getVariable());
    else if (auto accumulate = dyn_cast<xf::AccumulateOp>(op))
      note(accumulate.getVariable());
    else if (auto call = dyn_cast<func::CallOp>(op))
      if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
        noteUses(callee, rank);
  });
}

void UpdateSplitter::findOwners() {
  for (auto fragment : module.getOps<FragmentOp>())
    if (fragment.getCut())
      if (auto function = symbols.lookup<func::FuncOp>(fragment.getFunction()))
        noteUses(function, fragment.getRank());
  // What no stage uses is the first rank's.
  for (auto variable : module.getOps<xf::VariableOp>())
    if (variable.getKind() == xf::VariableKind::Parameter)
      if (std::set<int64_t> &at = owners[variable.getSymName()]; at.empty())
        at.insert(0);
}

/// Whether `value` of the update comes of shared state, of what the host gives
/// and of norms, which all ranks get to know.
bool UpdateSplitter::followsFromShared(Value value,
                                       const llvm::StringSet<> &shared) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<xf::GlobalNormOp>(op))
    return true;
  if (auto read = dyn_cast<xf::ReadOp>(op))
    return shared.contains(read.getVariable());
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return followsFromShared(operand, shared);
  });
}

/// State that stages only read, and whose next value every rank can compute, is
/// of all ranks: the loss scale, which the last stage multiplies its loss by
/// and every rank's update divides its gradients by.
void UpdateSplitter::findShared() {
  llvm::StringSet<> shared, stored;
  module.walk([&](xf::AccumulateOp op) { stored.insert(op.getVariable()); });
  module.walk([&](xf::WriteOp op) {
    if (op->getParentOfType<func::FuncOp>() != function)
      stored.insert(op.getVariable());
  });
  for (auto variable : module.getOps<xf::VariableOp>())
    if (variable.getKind() == xf::VariableKind::State &&
        !stored.contains(variable.getSymName()))
      shared.insert(variable.getSymName());
  for (bool changed = true; changed;) {
    changed = false;
    for (auto write : function.front().getOps<xf::WriteOp>())
      if (shared.contains(write.getVariable()) &&
          !followsFromShared(write.getValue(), shared)) {
        shared.erase(write.getVariable());
        changed = true;
      }
  }
  for (const auto &variable : shared)
    owners[variable.getKey()].clear();
}

//===----------------------------------------------------------------------===//
// One rank's copy
//===----------------------------------------------------------------------===//

void UpdateSplitter::eraseForeignStores(func::FuncOp function, int64_t rank) {
  for (auto write :
       llvm::make_early_inc_range(function.front().getOps<xf::WriteOp>())) {
    const std::set<int64_t> &at = ownersOf(write.getVariable());
    if (!at.empty() && !at.count(rank))
      write.erase();
  }
}

void UpdateSplitter::shareGradients(func::FuncOp function, int64_t rank) {
  for (auto read :
       llvm::make_early_inc_range(function.front().getOps<xf::ReadOp>())) {
    auto variable = symbols.lookup<xf::VariableOp>(read.getVariable());
    const std::set<int64_t> &at = ownersOf(read.getVariable());
    if (variable.getKind() != xf::VariableKind::Gradient || at.size() < 2 ||
        !at.count(rank))
      continue;
    builder.setInsertionPointAfter(read);
    auto sum = builder.create<AllReduceOp>(
        read.getLoc(), read.getResult().getType(), read.getResult(),
        builder.getDenseI64ArrayAttr(
            SmallVector<int64_t>(at.begin(), at.end())));
    read.getResult().replaceAllUsesExcept(sum.getResult(), sum);
  }
}

/// Whether `rank` is the first to hold every gradient that `value` comes of.
bool UpdateSplitter::countsHere(Value value, int64_t rank) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  if (auto read = dyn_cast<xf::ReadOp>(op)) {
    const std::set<int64_t> &at = ownersOf(read.getVariable());
    return at.empty() || *at.begin() == rank;
  }
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return countsHere(operand, rank); });
}

/// The norm of the ranks' norms; it is finite if, and only if, all are.
void UpdateSplitter::combineNorm(xf::GlobalNormOp norm) {
  Location loc = norm.getLoc();
  Type element =
      cast<RankedTensorType>(norm.getNorm().getType()).getElementType();
  builder.setInsertionPointAfter(norm);
  auto own = builder.create<xf::ReshapeOp>(
      loc, RankedTensorType::get({1}, element), norm.getNorm());
  auto ranks = llvm::to_vector(llvm::seq<int64_t>(0, plan.shape.ranks));
  auto all = builder.create<AllGatherOp>(
      loc, RankedTensorType::get({plan.shape.ranks}, element), own.getResult(),
      builder.getDenseI64ArrayAttr(ranks));
  auto total = builder.create<xf::GlobalNormOp>(loc, norm.getNorm().getType(),
                                                norm.getNonfinite().getType(),
                                                ValueRange{all.getResult()});
  norm.getNorm().replaceAllUsesExcept(total.getNorm(), own);
  norm.getNonfinite().replaceAllUsesWith(total.getNonfinite());
}

void UpdateSplitter::splitNorms(func::FuncOp function, int64_t rank) {
  auto norms = llvm::to_vector(function.front().getOps<xf::GlobalNormOp>());
  for (xf::GlobalNormOp norm : norms) {
    SmallVector<Value> counted;
    for (Value gradient : norm.getGrads())
      if (countsHere(gradient, rank))
        counted.push_back(gradient);
    if (counted.empty()) {
      // A rank without parameters of its own.
      builder.setInsertionPoint(norm);
      counted.push_back(builder.create<xf::ConstantOp>(
          norm.getLoc(), norm.getNorm().getType(), builder.getF64FloatAttr(0)));
    }
    norm.getGradsMutable().assign(counted);
  }
  if (!norms.empty() && plan.shape.ranks > 1)
    combineNorm(norms.back());
}

static void eraseDead(func::FuncOp function) {
  Operation *op = function.front().getTerminator()->getPrevNode();
  while (op) {
    Operation *previous = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = previous;
  }
}

LogicalResult UpdateSplitter::checkReads(func::FuncOp function, int64_t rank) {
  for (auto read : function.front().getOps<xf::ReadOp>()) {
    const std::set<int64_t> &at = ownersOf(read.getVariable());
    if (!at.empty() && !at.count(rank))
      return read.emitOpError("P5: pipeline rank ")
             << rank << " needs " << read.getVariableAttr()
             << " for its update, which only the stages of rank " << *at.begin()
             << " use";
  }
  return success();
}

LogicalResult UpdateSplitter::split(FragmentKind kind) {
  builder.setInsertionPointAfter(function);
  OpBuilder::InsertPoint at = builder.saveInsertionPoint();
  for (int64_t rank = 0; rank < plan.shape.ranks; ++rank) {
    func::FuncOp copy = function.clone();
    copy.setName((function.getName() + "_" + Twine(rank)).str());
    builder.restoreInsertionPoint(at);
    symbols.insert(copy, builder.getInsertionPoint());
    builder.setInsertionPointAfter(copy);
    builder.create<FragmentOp>(
        module.getLoc(), FragmentKindAttr::get(module.getContext(), kind),
        FlatSymbolRefAttr::get(copy.getSymNameAttr()), builder.getArrayAttr({}),
        builder.getArrayAttr({}), builder.getI64IntegerAttr(rank),
        builder.getI64IntegerAttr(0), builder.getI64IntegerAttr(rank),
        builder.getUnitAttr());
    at = builder.saveInsertionPoint();
    eraseForeignStores(copy, rank);
    eraseDead(copy);
    splitNorms(copy, rank);
    shareGradients(copy, rank);
    eraseDead(copy);
    if (failed(checkReads(copy, rank)))
      return failure();
  }
  return success();
}

LogicalResult hocket::pipe::splitUpdate(ModuleOp module,
                                        const PipelinePlan &plan,
                                        FragmentKind kind,
                                        func::FuncOp function) {
  return UpdateSplitter(module, plan, function).split(kind);
}
