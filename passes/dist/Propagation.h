//===- Propagation.h - From seeds to every op -------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What dist-propagate-shardings does: it walks the step's functions in program
/// order, and a called function at its first call. OpSharding.h decides for one
/// op, or a file has (SeedShardings.cpp).
///
///   PropagateShardings.cpp   functions, variables and values
///   PropagateOps.cpp         ops by their factor rules
///   PropagateAttention.cpp   attention where devices share sequences
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_PROPAGATION_H
#define HOCKET_PASSES_DIST_PROPAGATION_H

#include "passes/dist/ExpertSharding.h"
#include "passes/dist/Reasons.h"
#include "passes/dist/StreamValues.h"

#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace hocket::dist {

/// Null for what is no tensor.
inline mlir::RankedTensorType tensorOf(mlir::Value value) {
  return llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
}

/// Drops the axes of `from` that `axes` names.
inline void dropAxes(Axes &from, llvm::ArrayRef<llvm::StringRef> axes) {
  llvm::erase_if(from, [&](llvm::StringRef axis) {
    return llvm::is_contained(axes, axis);
  });
}

/// Annotates the ops and variables of one module, which outlives it.
class Propagation {
public:
  Propagation(mlir::ModuleOp module, MeshOp mesh);

  /// Reports what cannot be split.
  mlir::LogicalResult run();

  /// Operands that move because two wanted one axis.
  int64_t conflicts = 0;

private:
  //===--------------------------------------------------------------------===//
  // Functions
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult visitStep(xf::StepOp step);

  /// Arguments either have a sharding already or state one.
  mlir::LogicalResult visitFunction(mlir::func::FuncOp function);

  mlir::LogicalResult visitCall(mlir::func::CallOp call);

  /// How a value is handed on: as it is, but the residual stream in its own
  /// sharding and scalars whole.
  Sharding settled(mlir::Value value) const;
  /// The same where ops have been chosen for: as the first op wants it that
  /// takes `argument`. Of several calls only one may hand on sums, so none
  /// does.
  Sharding handedOn(mlir::Value value, mlir::BlockArgument argument) const;
  Sharding returnSharding(mlir::Value value) const;
  /// What the host is given: a number of each label lies as the labels do, and
  /// logits as they come; all else is whole.
  Sharding outputSharding(xf::OutputOp output) const;

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult visit(mlir::Operation *op);

  mlir::LogicalResult visitRead(xf::ReadOp read);

  mlir::LogicalResult visitAccumulate(xf::AccumulateOp op);

  /// Every gradient as it is: their dims have nothing to do with each other,
  /// and partitioning puts the norms of shards together.
  mlir::LogicalResult visitNorm(xf::GlobalNormOp norm);

  mlir::LogicalResult visitShardable(xf::ShardableOpInterface shardable);

  //===--------------------------------------------------------------------===//
  // Chosen ops
  //===--------------------------------------------------------------------===//

  /// What dist-seed-shardings says of `op`.
  static std::optional<OpSharding> chosenSplit(mlir::Operation *op);

  /// Splits `op` as was chosen, by other ops where its shards are of none of
  /// the same kind.
  mlir::LogicalResult visitChosen(xf::ShardableOpInterface shardable,
                                  const OpSharding &chosen);

  /// Has operand `i` of `op` alone brought to `to`.
  mlir::LogicalResult moveOperand(mlir::Operation *op, unsigned i,
                                  const Sharding &to);

  /// Annotates `op` by the choice that was made for it.
  void split(mlir::Operation *op, const xf::FactorRule &rule,
             const OpSharding &choice);

  /// That a file says so of `op`; null if none does.
  static ReasonAttr chosenReason(mlir::Operation *op);

  //===--------------------------------------------------------------------===//
  // Attention over sequences that devices share
  //===--------------------------------------------------------------------===//

  /// Factor rules gather keys and values where queries are split by position.
  /// With "all_to_all" positions are whole inside and heads are split in their
  /// place (arXiv 2309.14509); with "ring" keys stay in shards, and
  /// dist-ring-attention lets them travel. Results go back to where the
  /// queries, keys and values are.
  mlir::LogicalResult visitAttention(mlir::Operation *op,
                                     const xf::FactorRule &rule,
                                     OpSharding choice);

  /// What has come of chunks of whole sequences goes on where devices have
  /// positions of their own.
  mlir::LogicalResult visitJoin(mlir::Operation *op, const xf::FactorRule &rule,
                                const OpSharding &choice);

  /// Moves the axes of positions to heads.
  mlir::LogicalResult splitHeads(mlir::Operation *op,
                                 const xf::FactorRule &rule,
                                 OpSharding &choice);

  /// Convolutions and scans go through whole sequences: where devices share
  /// these, channels and heads are split in the place of positions, from the
  /// first convolution to the result of the scan, and in the gradient likewise.
  mlir::LogicalResult visitStateSpace(mlir::Operation *op,
                                      const xf::FactorRule &rule,
                                      OpSharding choice);

  /// What the gradient needs of queries, keys and values is kept as attention
  /// wants it, so that it need not be moved again: what is kept is before
  /// reshapes, so they come after.
  void keepForGradient(mlir::Operation *op, const xf::FactorRule &rule,
                       const OpSharding &choice);

  /// Operand `i` as `to`, which the gradient then has of it, too.
  void keepMoved(mlir::Operation *op, unsigned i, const Sharding &to);

  /// `value` as `to`, which is then also what the function returns of it.
  mlir::Value moveForGradient(mlir::OpBuilder &builder, mlir::Value value,
                              const Sharding &to);

  /// Keys, values and their gradients split by position too, as `axes` split
  /// the queries.
  void keepKeys(mlir::Operation *op, bool isGradient, const Axes &axes);

  /// Wants `value` as `to` wherever it is used.
  mlir::LogicalResult constrain(mlir::Value value, const Sharding &to);

  //===--------------------------------------------------------------------===//
  // Experts
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult visitRows(mlir::Operation *op,
                                const xf::FactorRule &rule);

  /// Where devices share sequences each fills its tokens' part of every
  /// expert's rows. The sums go where the experts are, if these are split over
  /// the same axes; else every device gets some of each expert's rows. They
  /// stay there, for the gradient too.
  mlir::LogicalResult visitGrouped(mlir::Operation *op,
                                   const xf::FactorRule &rule);

  /// One run a device, which exchanges its rows with those that hold the other
  /// experts. Runs are numbered anew then: those that share experts follow each
  /// other by what they hold.
  mlir::LogicalResult visitExchange(mlir::Operation *op);

  /// Moves `rows` to where experts work on them, once for all that use them.
  void settleRows(mlir::Value rows, const Sharding &to);

  /// A value computed from weights alone (a cast, a prefix) is one.
  bool isWeightValue(mlir::Operation *op) const;

  //===--------------------------------------------------------------------===//
  // Partial sums
  //===--------------------------------------------------------------------===//

  /// Whether the op may work on sums before they are formed: it is linear, and
  /// all its operands are sums over the same axes.
  bool passesSums(mlir::Operation *op) const;

  mlir::LogicalResult visitSums(mlir::Operation *op,
                                const xf::FactorRule &rule);

  llvm::SmallVector<Proposal, 4> proposalsOf(mlir::Operation *op,
                                             const xf::FactorRule &rule) const;

  /// A partial sum that is of the stream becomes it, last of all.
  void proposeStream(mlir::Operation *op, const xf::FactorRule &rule,
                     llvm::SmallVectorImpl<Proposal> &proposals) const;

  /// The model's axes of the weight whose gradient only `value` goes into.
  std::optional<Sharding> goalOf(mlir::Value value) const;

  //===--------------------------------------------------------------------===//
  // Ops that are split into others
  //===--------------------------------------------------------------------===//

  static bool isSplit(const OpSharding &choice);

  std::optional<llvm::SmallVector<mlir::Operation *>>
  rewrite(mlir::Operation *op, const xf::FactorRule &rule,
          const OpSharding &choice);

  /// splitBias, whose sum takes the place of `linear` in a stream, too.
  llvm::SmallVector<mlir::Operation *> splitStream(xf::LinearOp linear);

  mlir::LogicalResult visitAll(llvm::ArrayRef<mlir::Operation *> ops);

  //===--------------------------------------------------------------------===//
  // Values and variables
  //===--------------------------------------------------------------------===//

  xf::VariableOp variableOf(llvm::StringRef name) const;

  Sharding seedOf(xf::VariableOp variable) const;

  Sharding variableSharding(xf::VariableOp variable) const;

  /// How the optimizer keeps what belongs to a gradient's parameter.
  Sharding stateSharding(xf::VariableOp gradient) const;

  void set(mlir::Value value, Sharding sharding, bool isWeight = false);

  mlir::Attribute attrOf(mlir::Value value) const;

  void annotate(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> wants,
                llvm::ArrayRef<mlir::Attribute> gives);

  /// Why operands of `op` move, by what it wants.
  void noteMoves(mlir::Operation *op, const ChoiceReasons &reasons);

  /// Why the gradient `variable` is split as what is first added to it.
  Reasons reasonsOfFirst(xf::VariableOp variable, xf::AccumulateOp first,
                         const Sharding &sharding) const;

  mutable mlir::ModuleOp module; // MLIR has no const ops
  mlir::SymbolTable symbols;
  Mesh mesh;
  StreamValues streams;
  std::optional<ContextStrategy> context; ///< absent: none shares sequences
  ExpertAxes splitsExperts;
  bool isSeeded; ///< a file says of ops how they are split
  llvm::DenseMap<mlir::Value, Sharding> shardings;
  llvm::DenseSet<mlir::Value> weights;
  llvm::DenseMap<mlir::Operation *, Sharding> gradients;   ///< by variable
  llvm::DenseMap<mlir::Operation *, Reasons> firstReasons; ///< the same
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<xf::AccumulateOp>>
      additions; ///< the same
  llvm::DenseMap<mlir::StringAttr, Sharding>
      states; ///< of optimizers, by parameter
  llvm::DenseSet<mlir::Operation *> visited;
};

} // namespace hocket::dist

#endif // HOCKET_PASSES_DIST_PROPAGATION_H
