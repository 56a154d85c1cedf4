//===- ChunkLoss.cpp - The head and the loss in parts of the rows ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// In two steps:
//
//   1. The head, the loss and what follows from them move from the last stage's
//      forward to its backward (HeadMover.h), which then takes the head's input
//      instead of the gradient of the logits.
//   2. There, all ops that have logits or their gradient are copied for each
//      chunk of rows. What sums over rows is accumulated chunk by chunk; the
//      rows of other results are put together.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/Xf.h"
#include "passes/pipe/BodySplit.h"
#include "passes/pipe/HeadMover.h"
#include "passes/pipe/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace hocket::pipe {
#define GEN_PASS_DEF_PIPECHUNKLOSS
#include "passes/pipe/Passes.h.inc"
} // namespace hocket::pipe

using namespace mlir;
using namespace hocket;
using namespace hocket::pipe;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {

/// What a chunk of its rows has of an op.
enum class Part : uint8_t {
  None, ///< Nothing: it needs all rows.
  Rows, ///< Rows of each result.
  Sum   ///< A part of a sum over all rows.
};

/// Cuts up the loss of one function.
class LossCutter {
public:
  LossCutter(xf::LinearOp head, int64_t chunks) : head(head), chunks(chunks) {}

  LogicalResult run();

private:
  Part partOf(Operation *op) const;
  /// Whether a chunk takes its rows of the operand, and not all of it.
  static bool hasRows(OpOperand &operand);
  LogicalResult collect();
  LogicalResult checkSums() const;
  void prepare();
  void build(int64_t chunk);
  Value rowsOf(Value value, int64_t chunk);
  void join(Value &whole, Type type, Value part, int64_t chunk);
  void copyLoss(IRMapping &mapping, int64_t chunk);
  void copy(Operation *op, IRMapping &mapping, int64_t chunk);
  void finish();

  /// The first row of a chunk.
  int64_t first(int64_t chunk) const { return rows * chunk / chunks; }
  int64_t rowsIn(int64_t chunk) const {
    return first(chunk + 1) - first(chunk);
  }
  RankedTensorType ofRows(Value value, int64_t count) const {
    SmallVector<int64_t> shape{count};
    llvm::append_range(shape, typeOf(value).getShape().drop_front(rowDims));
    return typeOf(value).clone(shape);
  }

  xf::LinearOp head;
  int64_t chunks, rows = 0;
  unsigned rowDims = 0;                ///< Leading dims that count rows.
  xf::CrossEntropyOp loss;             ///< Of whole rows, or null.
  llvm::SetVector<Operation *> region; ///< In order.
  OpBuilder builder{head};
  Value count;                          ///< Labels that are not ignored.
  Value lse, picked;                    ///< Of all rows so far, for `loss`.
  llvm::MapVector<Value, Value> joined; ///< By results of the region.
};

} // namespace

//===----------------------------------------------------------------------===//
// What is cut
//===----------------------------------------------------------------------===//

bool LossCutter::hasRows(OpOperand &operand) {
  unsigned i = operand.getOperandNumber();
  return llvm::TypeSwitch<Operation *, bool>(operand.getOwner())
      .Case<xf::LinearOp, xf::LinearInputGradientOp, xf::SumLeadingOp>(
          [&](auto) { return i == 0; })
      .Case<xf::LinearWeightGradientOp, xf::CrossEntropyOp,
            xf::CrossEntropyRowsOp>([&](auto) { return i <= 1; })
      .Case<xf::CrossEntropyGradientOp>([&](auto) { return i >= 1 && i <= 3; })
      .Default([](Operation *) { return true; });
}

Part LossCutter::partOf(Operation *op) const {
  // Shards and sums of something else than rows.
  if (auto gather = dyn_cast<dist::AllGatherOp>(op))
    return gather.getDim() >= rowDims ? Part::Rows : Part::None;
  if (auto sum = dyn_cast<xf::SumLeadingOp>(op))
    return typeOf(sum.getResult()).getRank() + rowDims ==
                   typeOf(sum.getInput()).getRank()
               ? Part::Sum
               : Part::None;
  if (isa<xf::LinearWeightGradientOp>(op))
    return Part::Sum;
  bool isOfRows = isa<xf::LinearOp, xf::LinearInputGradientOp, xf::SoftcapOp,
                      xf::SoftcapGradientOp, xf::CastOp, xf::LogSumExpOp,
                      xf::CrossEntropyOp, xf::CrossEntropyRowsOp,
                      xf::CrossEntropyGradientOp, dist::AllReduceOp>(op);
  return isOfRows ? Part::Rows : Part::None;
}

/// Finds the region: all that has logits, and what leads from the logits to
/// their gradient.
LogicalResult LossCutter::collect() {
  // 1. What follows from the head, and what of it has a column a logit.
  Block *block = head->getBlock();
  llvm::DenseSet<Operation *> follows{head};
  llvm::DenseSet<Value> wide{head.getResult()};
  SmallVector<Operation *> ends, after{head};
  for (Operation &op :
       llvm::make_range(std::next(Block::iterator(head)),
                        block->getTerminator()->getIterator())) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) {
          return follows.contains(operand.getDefiningOp());
        }))
      continue;
    follows.insert(&op);
    after.push_back(&op);
    if (llvm::none_of(op.getOperands(),
                      [&](Value operand) { return wide.contains(operand); }))
      continue;
    if (!loss)
      loss = dyn_cast<xf::CrossEntropyOp>(op);
    ends.push_back(&op);
    if (!isa<xf::CrossEntropyOp, xf::CrossEntropyRowsOp, xf::SumLeadingOp,
             xf::LinearInputGradientOp, xf::LinearWeightGradientOp>(op))
      wide.insert(op.result_begin(), op.result_end());
  }
  // 2. What of it these need.
  llvm::DenseSet<Operation *> needed(ends.begin(), ends.end());
  for (Operation *op : llvm::reverse(after))
    if (needed.contains(op))
      for (Value operand : op->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && follows.contains(source))
          needed.insert(source);
  for (Operation *op : after)
    if (needed.contains(op))
      region.insert(op);
  // 3. Whether all of it can be cut.
  for (Operation *op : region) {
    bool isCut = partOf(op) != Part::None;
    for (OpOperand &operand : op->getOpOperands())
      isCut &=
          hasRows(operand) || !region.contains(operand.get().getDefiningOp());
    if (!isCut)
      return op->emitOpError("P16: stands between the head and the gradients "
                             "of the loss, and has no chunk for a chunk of "
                             "rows; leave plan.loss_chunks out");
  }
  return checkSums();
}

/// Sums go to gradients and nowhere else.
LogicalResult LossCutter::checkSums() const {
  for (Operation *op : region)
    if (partOf(op) == Part::Sum &&
        !llvm::all_of(op->getUsers(), llvm::IsaPred<xf::AccumulateOp>))
      return op->emitOpError("P16: is a sum over rows that is not accumulated "
                             "as it is; leave plan.loss_chunks out");
  return success();
}

//===----------------------------------------------------------------------===//
// The chunks
//===----------------------------------------------------------------------===//

/// What all chunks share stands before the first.
void LossCutter::prepare() {
  for (Operation *op : region)
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && !region.contains(source))
        hoist(source, head);
  if (!loss)
    return;
  count = loss.getCount();
  if (!count)
    count = builder.create<xf::CountLabelsOp>(
        loss.getLoc(), RankedTensorType::get({}, builder.getF32Type()),
        loss.getLabels());
}

Value LossCutter::rowsOf(Value value, int64_t chunk) {
  return builder.create<SliceRowsOp>(
      head.getLoc(), ofRows(value, rowsIn(chunk)), value, first(chunk));
}

/// Puts the rows of a chunk behind those of the chunks before.
void LossCutter::join(Value &whole, Type type, Value part, int64_t chunk) {
  whole = builder.create<InsertRowsOp>(part.getLoc(), type, part, whole,
                                       first(chunk));
}

/// The statistics of one chunk's rows, in place of the mean over all rows.
void LossCutter::copyLoss(IRMapping &mapping, int64_t chunk) {
  int64_t number = rowsIn(chunk);
  RankedTensorType each = ofRows(loss.getLse(), number);
  auto part = builder.create<xf::CrossEntropyRowsOp>(
      loss.getLoc(), TypeRange{each.clone({number, 1}), each},
      mapping.lookup(loss.getLogits()), mapping.lookup(loss.getLabels()),
      /*first_column=*/Value(), loss.getValidVocabAttr());
  Value own = builder.create<xf::ReshapeOp>(loss.getLoc(), each, part.getLse());
  mapping.map(loss.getLse(), own);
  join(lse, loss.getLse().getType(), own, chunk);
  join(picked, loss.getLse().getType(), part.getPicked(), chunk);
}

/// The op for the rows of one chunk, and what is done with its results.
void LossCutter::copy(Operation *op, IRMapping &mapping, int64_t chunk) {
  Operation *made = builder.clone(*op, mapping);
  if (partOf(op) == Part::Sum) {
    // Put off, it would keep the gradients of all logits.
    made->setAttr(earlyAttrName, builder.getUnitAttr());
    for (Operation *user : op->getUsers())
      builder.clone(*user, mapping);
    return;
  }
  for (auto [whole, part] : llvm::zip(op->getResults(), made->getResults()))
    part.setType(ofRows(whole, rowsIn(chunk)));
  if (auto gather = dyn_cast<dist::AllGatherOp>(made))
    gather.setDim(gather.getDim() + 1 - rowDims);
  if (auto gradient = dyn_cast<xf::CrossEntropyGradientOp>(made);
      gradient && !gradient.getCount())
    gradient.getCountMutable().assign(count);
  for (auto [whole, part] : llvm::zip(op->getResults(), made->getResults()))
    if (llvm::any_of(whole.getUsers(),
                     [&](Operation *user) { return !region.contains(user); }))
      join(joined[whole], whole.getType(), part, chunk);
}

void LossCutter::build(int64_t chunk) {
  IRMapping mapping;
  for (Operation *op : region) {
    for (OpOperand &operand : op->getOpOperands())
      if (Value value = operand.get();
          hasRows(operand) && !mapping.contains(value))
        mapping.map(value, rowsOf(value, chunk));
    if (op == loss)
      copyLoss(mapping, chunk);
    else
      copy(op, mapping, chunk);
  }
}

/// Puts what has been built in the place of the region.
void LossCutter::finish() {
  if (loss) {
    joined[loss.getLse()] = lse;
    joined[loss.getLoss()] =
        builder.create<xf::MeanLossOp>(loss.getLoc(), loss.getLoss().getType(),
                                       lse, picked, loss.getLabels(), count);
    if (loss.getPicked())
      joined[loss.getPicked()] = picked;
  }
  for (auto [value, whole] : joined)
    value.replaceUsesWithIf(whole, [&](OpOperand &use) {
      return !region.contains(use.getOwner());
    });
  for (Operation *op : llvm::reverse(region)) {
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      user->erase(); // Adds up a gradient.
    op->erase();
  }
}

LogicalResult LossCutter::run() {
  auto logits = typeOf(head.getResult());
  rowDims = logits.getRank() - 1;
  rows = logits.getNumElements() / logits.getShape().back();
  chunks = std::min(chunks, rows);
  if (failed(collect()))
    return failure();
  prepare();
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    build(chunk);
  finish();
  return success();
}

namespace {
struct ChunkLossPass
    : public hocket::pipe::impl::PipeChunkLossBase<ChunkLossPass> {
  void runOnOperation() override {
    int64_t chunks = plan::planOf(getOperation()).lossChunks;
    if (chunks <= 1)
      return;
    for (FragmentPair &pair : findFragmentPairs(getOperation()))
      if (xf::LinearOp head = findHead(pair.forward)) {
        head = moveHead(pair, head);
        if (failed(LossCutter(head, chunks).run()))
          return signalPassFailure();
        ++numCut;
      }
  }
};
} // namespace
