//===- BodySplit.cpp - Weight gradients apart from input gradients --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/pipe/BodySplit.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

bool hocket::pipe::isOnlyAccumulated(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (isa<xf::AccumulateOp>(user))
      return true;
    return !user->hasTrait<OpTrait::IsTerminator>() &&
           !isa<func::CallOp>(user) &&
           llvm::all_of(user->getResults(),
                        [](Value v) { return isOnlyAccumulated(v); });
  });
}

/// Work that is worth a fragment of its own.
static bool isWeightGradient(Operation *op, const LateFunctions &functions) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return functions.contains(call.getCalleeAttr().getAttr());
  return isa<xf::EmbeddingGradientOp, xf::LinearWeightGradientOp,
             xf::GroupedLinearWeightGradientOp>(op) &&
         !op->hasAttr(earlyAttrName);
}

/// What is never put off: the work of B, even where only W needs its result.
static bool isInputWork(Operation *op) {
  return isa<func::CallOp, xf::LinearOp, xf::LinearInputGradientOp,
             xf::AttentionOp, xf::AttentionGradientOp>(op);
}

/// What the late part computes for itself rather than being given it.
static bool isCopied(Operation *op) {
  return xf::isView(op) ||
         isa<xf::ReadOp, xf::ConstantOp, arith::ConstantOp, xf::PositionsOp,
             xf::RelativeBucketsOp, dist::OffsetOp>(op);
}

/// Notes what has to be kept where a late op takes `value`.
static void keep(Value value, const llvm::DenseSet<Operation *> &late,
                 llvm::SetVector<Value> &kept) {
  Operation *op = value.getDefiningOp();
  if (op && late.contains(op))
    return;
  if (!op || !isCopied(op))
    kept.insert(value);
  else
    for (Value source : op->getOperands())
      keep(source, late, kept);
}

static int64_t bytesOf(ValueRange values) {
  int64_t bytes = 0;
  for (Value value : values)
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      bytes += type.getNumElements() *
               static_cast<int64_t>(type.getElementTypeBitWidth()) / 8;
  return bytes;
}

/// By more than a factor or a row's statistics.
static bool isLarger(int64_t bytes, int64_t than) {
  return bytes - than > than / 16;
}

/// Ops that early results, or effects that are no accumulations, need.
static llvm::DenseSet<Operation *> findNeeded(func::FuncOp function,
                                              ArrayRef<bool> mayBeLate) {
  llvm::DenseSet<Operation *> needed;
  Block &body = function.front();
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (Operation *op = value.getDefiningOp(); op && !mayBeLate[i])
      needed.insert(op);
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!wouldOpBeTriviallyDead(&op) && !isa<xf::AccumulateOp>(op) &&
        !isa<func::CallOp>(op))
      needed.insert(&op);
    if (needed.contains(&op))
      for (Value operand : op.getOperands())
        if (Operation *source = operand.getDefiningOp())
          needed.insert(source);
  }
  return needed;
}

BodySplit hocket::pipe::splitBody(func::FuncOp function,
                                  ArrayRef<bool> mayBeLate,
                                  const LateFunctions &lateFunctions) {
  llvm::DenseSet<Operation *> needed = findNeeded(function, mayBeLate);
  Block &body = function.front();
  // 1. Weight gradients that nothing waits for, and what comes of them.
  llvm::DenseSet<Operation *> late;
  for (Operation &op : body.without_terminator())
    if (!needed.contains(&op) &&
        (isWeightGradient(&op, lateFunctions) ||
         llvm::any_of(op.getOperands(), [&](Value operand) {
           return operand.getDefiningOp() &&
                  late.contains(operand.getDefiningOp());
         })))
      late.insert(&op);
  // What late ops take is kept for them.
  auto take = [&](Operation &op, llvm::SetVector<Value> &kept) {
    for (Value operand : op.getOperands())
      keep(operand, late, kept);
  };
  // 2. What only these need, unless it takes more than it makes.
  llvm::SetVector<Value> kept;
  for (Operation &op : body.without_terminator())
    if (late.contains(&op))
      take(op, kept);
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (!needed.contains(&op) && !op.use_empty() && !isInputWork(&op) &&
        llvm::all_of(op.getUsers(),
                     [&](Operation *user) { return late.contains(user); })) {
      llvm::SetVector<Value> with = kept;
      take(op, with);
      ArrayRef<Value> more = with.getArrayRef().drop_front(kept.size());
      if (!isCopied(&op) && isLarger(bytesOf(more), bytesOf(op.getResults())))
        continue;
      late.insert(&op);
      kept = std::move(with);
    }
  // 3. In order, and what they take.
  BodySplit split;
  for (Operation &op : body.without_terminator())
    if (late.contains(&op)) {
      split.late.insert(&op);
      take(op, split.kept);
    }
  return split;
}

/// `value` in the copy; what is copied is built on the way.
static Value copyOf(Value value, OpBuilder &builder, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    copyOf(operand, builder, mapping);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

func::FuncOp hocket::pipe::buildLatePart(func::FuncOp function,
                                         const BodySplit &split,
                                         StringRef name) {
  Operation *end = function.front().getTerminator();
  SmallVector<Value> results;
  for (Value value : end->getOperands())
    if (split.isLate(value))
      results.push_back(value);
  SmallVector<Value> kept(split.kept.begin(), split.kept.end());
  auto late = func::FuncOp::create(
      function.getLoc(), name,
      FunctionType::get(function.getContext(), ValueRange(kept).getTypes(),
                        ValueRange(results).getTypes()));
  late.setVisibility(function.getVisibility());
  Block *body = late.addEntryBlock();
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(kept, body->getArguments()))
    mapping.map(from, to);
  auto builder = OpBuilder::atBlockEnd(body);
  for (Operation *op : split.late) {
    for (Value operand : op->getOperands())
      copyOf(operand, builder, mapping);
    builder.clone(*op, mapping);
  }
  builder.create<func::ReturnOp>(function.getLoc(),
                                 llvm::map_to_vector(results, [&](Value value) {
                                   return mapping.lookup(value);
                                 }));
  return late;
}

void hocket::pipe::keepEarlyPart(func::FuncOp function, const BodySplit &split,
                                 ArrayRef<Value> passed) {
  Operation *end = function.front().getTerminator();
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> attributes;
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    if (!split.isLate(value)) {
      results.push_back(value);
      attributes.push_back(function.getResultAttrDict(i));
    }
  llvm::append_range(results, passed);
  for (Value value : split.kept)
    if (value.getDefiningOp())
      results.push_back(value);
  end->setOperands(results);
  for (Operation *op : llvm::reverse(split.late.getArrayRef()))
    op->erase();
  function.removeResAttrsAttr();
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             function.getArgumentTypes(),
                                             ValueRange(results).getTypes()));
  for (auto [i, dictionary] : llvm::enumerate(attributes))
    if (dictionary)
      function.setResultAttrs(i, dictionary);
}
