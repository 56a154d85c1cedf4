//===- HeadMover.cpp - The loss in the backward fragment ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/pipe/HeadMover.h"

#include "dialects/dist/IR/Dist.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

//===----------------------------------------------------------------------===//
// The head
//===----------------------------------------------------------------------===//

/// The linear op that `logits` come of.
static xf::LinearOp linearBehind(Value logits) {
  Operation *op = logits.getDefiningOp();
  while (isa_and_nonnull<xf::SoftcapOp, xf::CastOp, dist::AllReduceOp,
                         dist::AllGatherOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<xf::LinearOp>(op);
}

xf::LinearOp hocket::pipe::findHead(func::FuncOp forward) {
  xf::LinearOp head;
  int64_t most = 0;
  for (Operation &op : forward.front()) {
    if (!isa<xf::CrossEntropyOp, xf::CrossEntropyRowsOp>(op))
      continue;
    Value logits = op.getOperand(0);
    int64_t size = cast<RankedTensorType>(logits.getType()).getNumElements();
    if (xf::LinearOp linear = linearBehind(logits); linear && size > most) {
      head = linear;
      most = size;
    }
  }
  return head;
}

void hocket::pipe::hoist(Operation *op, Operation *before) {
  if (op->getBlock() != before->getBlock() || op->isBeforeInBlock(before))
    return;
  for (Value operand : op->getOperands())
    if (Operation *source = operand.getDefiningOp())
      hoist(source, before);
  op->moveBefore(before);
}

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

namespace {

class HeadMover {
public:
  explicit HeadMover(FragmentPair &pair) : pair(pair) {}

  xf::LinearOp move(xf::LinearOp head);

private:
  void collect(Operation *head);
  void match();
  Value available(Value value);
  void replaceKept();
  void eraseMoved();

  FragmentPair &pair;
  llvm::SetVector<Operation *> moved;
  Operation *place = nullptr; ///< Before it stands what is moved.
  /// By values of forward, what of backward is the same.
  IRMapping same;
  /// By ops of forward, the one of backward that computes the same.
  llvm::DenseMap<Operation *, Operation *> again;
};

} // namespace

/// Whether two ops with equal operands have equal results, whatever the reason
/// that their collectives are there for, and whether one computes again what
/// the other has.
static bool computeAlike(Operation *a, Operation *b) {
  auto attributes = [](Operation *op) {
    NamedAttrList list(op->getAttrDictionary());
    list.erase("why");
    list.erase("recomputed");
    return list.getDictionary(op->getContext());
  };
  return a->getName() == b->getName() &&
         a->getResultTypes() == b->getResultTypes() &&
         attributes(a) == attributes(b);
}

/// Whether `op` is read, moved or gathered again rather than kept.
static bool isMadeAgain(Operation *op) {
  return xf::isView(op) || isa<xf::ReadOp, xf::ConstantOp, arith::ConstantOp,
                               dist::OffsetOp, dist::AllGatherOp>(op);
}

/// What follows from the head.
void HeadMover::collect(Operation *head) {
  moved.insert(head);
  for (Operation &op :
       llvm::make_range(std::next(Block::iterator(head)),
                        head->getBlock()->getTerminator()->getIterator()))
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          return moved.contains(operand.getDefiningOp());
        }))
      moved.insert(&op);
}

/// Finds what backward keeps, reads and computes again of forward.
void HeadMover::match() {
  func::FuncOp forward = pair.forward, backward = pair.backward;
  llvm::DenseMap<Value, Value> origins; // Of backward's values, in forward.
  for (BlockArgument argument : backward.getArguments())
    if (Value source = pair.sourceOf(argument)) {
      origins[argument] = source;
      if (!same.contains(source))
        same.map(source, argument);
    }
  llvm::DenseMap<OperationName, SmallVector<Operation *>> named;
  for (Operation &op : forward.front())
    if (isPure(&op) || isa<xf::ReadOp>(op))
      named[op.getName()].push_back(&op);
  for (Operation &op : backward.front()) {
    auto found = named.find(op.getName());
    if (found == named.end())
      continue;
    for (Operation *other : found->second) {
      bool isSame = op.getNumOperands() == other->getNumOperands() &&
                    computeAlike(&op, other);
      for (unsigned i = 0; isSame && i < op.getNumOperands(); ++i)
        isSame = origins.lookup(op.getOperand(i)) == other->getOperand(i);
      if (!isSame)
        continue;
      again.try_emplace(other, &op);
      for (auto [result, source] :
           llvm::zip(op.getResults(), other->getResults())) {
        origins[result] = source;
        if (!same.contains(source))
          same.map(source, result);
      }
      break;
    }
  }
}

/// `value` of forward, in backward before `place`.
Value HeadMover::available(Value value) {
  if (Value known = same.lookupOrNull(value)) {
    if (Operation *op = known.getDefiningOp())
      hoist(op, place);
    return known;
  }
  Operation *op = value.getDefiningOp();
  if (!op || !isMadeAgain(op)) {
    Value kept = pair.keep(value);
    same.map(value, kept);
    return kept;
  }
  for (Value operand : op->getOperands())
    available(operand);
  OpBuilder(place).clone(*op, same);
  return same.lookup(value);
}

/// Has backward use what it computes itself now.
void HeadMover::replaceKept() {
  func::FuncOp backward = pair.backward;
  for (BlockArgument argument : backward.getArguments())
    if (Value source = pair.sourceOf(argument);
        source && moved.contains(source.getDefiningOp()))
      argument.replaceAllUsesWith(same.lookup(source));
  pair.dropUnused(/*loss=*/true);
}

/// With what of forward only the head took. Where backward computes it again
/// for a gradient, it does so for the head as well, and for the first time.
void HeadMover::eraseMoved() {
  func::FuncOp forward = pair.forward;
  for (Operation *op : llvm::reverse(moved))
    op->erase();
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(forward.front()))) {
    if (!isOpTriviallyDead(&op))
      continue;
    if (Operation *other = again.lookup(&op))
      other->removeAttr("recomputed");
    op.erase();
  }
}

xf::LinearOp HeadMover::move(xf::LinearOp head) {
  func::FuncOp backward = pair.backward;
  collect(head);
  match();
  // What is moved stands before all that takes it.
  place = backward.front().getTerminator();
  for (BlockArgument argument : backward.getArguments())
    if (Value source = pair.sourceOf(argument);
        source && moved.contains(source.getDefiningOp())) {
      same.erase(source);
      for (Operation *user : argument.getUsers())
        if (user->isBeforeInBlock(place))
          place = user;
    }
  Operation *copy = nullptr;
  for (Operation *op : moved) {
    for (Value operand : op->getOperands())
      if (!moved.contains(operand.getDefiningOp()))
        available(operand);
    Operation *made = OpBuilder(place).clone(*op, same);
    copy = copy ? copy : made;
  }
  replaceKept();
  eraseMoved();
  return cast<xf::LinearOp>(copy);
}

xf::LinearOp hocket::pipe::moveHead(FragmentPair &pair, xf::LinearOp head) {
  return HeadMover(pair).move(head);
}
