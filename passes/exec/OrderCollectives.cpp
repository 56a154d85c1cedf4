//===- OrderCollectives.cpp - Collectives early, what waits late ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Within each sequence, before anything is folded:
//
//   1. Gathers of variables (sharded parameters) of one layer go together, and
//      stand before the first use of the gather before: a layer's parameters
//      come while the layer before computes.
//   2. Reduced gradients and updated parameters that are only stored go
//      together; the stores come behind the next bucket, or at the end.
//   3. Every collective moves up to what it needs, so that what does not need
//      it (the gradient of a weight, beside that of its input) runs beside it.
//
// A bucket ends where the layer does, or when it has the bytes of a full one.
// Stores keep their order, so sums are what they were.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/IR/Plan.h"
#include "passes/exec/Instructions.h"
#include "passes/exec/Passes.h"

#include "llvm/ADT/DenseSet.h"

namespace hocket::exec {
#define GEN_PASS_DEF_EXECORDERCOLLECTIVES
#include "passes/exec/Passes.h.inc"
} // namespace hocket::exec

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

namespace {

/// Collectives of one kind, axes and layer that go together.
class CollectiveBucket {
public:
  explicit CollectiveBucket(CollectiveOp first)
      : parts({first}), bytes(bytesOf(first)) {}

  CollectiveOp front() const { return parts.front(); }
  bool hasKindOf(CollectiveOp other) const {
    CollectiveOp first = front();
    return other.getKind() == first.getKind() &&
           other.getAxes() == first.getAxes();
  }
  /// Adds a collective if it may go with the others.
  bool join(CollectiveOp other, int64_t limit);
  bool meets(Operation *op) const {
    return llvm::any_of(parts, [&](Operation *part) { return meet(part, op); });
  }
  void addOutputs(llvm::DenseSet<Value> &outputs) const {
    for (CollectiveOp part : parts)
      outputs.insert(part.getTo().begin(), part.getTo().end());
  }
  /// One collective in place of all.
  CollectiveOp together();

private:
  /// Bytes of the larger ends of a collective's parts.
  static int64_t bytesOf(CollectiveOp collective);

  SmallVector<CollectiveOp> parts;
  int64_t bytes;
};

/// Orders the instructions of one sequence.
class SequenceOrder {
public:
  SequenceOrder(SequenceOp sequence, int64_t limit)
      : sequence(sequence), list(instructionsOf(sequence)), limit(limit) {}

  void run() {
    if (limit > 0) {
      gatherAhead();
      storeTogether();
    }
    startEarly();
    reorder(sequence, list);
  }

private:
  bool isOfSequence(Operation *op) const {
    return op->getParentOp() == sequence;
  }
  bool readsVariableOnly(Operation *op) const;
  void gatherAhead();
  bool isOnlyStored(Value buffer, int depth) const;
  bool isStored(Operation *op, int depth) const;
  bool goesIntoBucket(Operation *op) const;

  void storeTogether();
  bool waits(Operation *op) const;
  void collect(CollectiveOp collective);
  void close(size_t bucket);
  void flush();
  void startEarly();

  SequenceOp sequence;
  std::vector<Operation *> list;
  int64_t limit;

  // While stores go together:
  std::vector<Operation *> result;
  std::vector<CollectiveBucket> open; ///< one for each kind and axes
  std::vector<Operation *> late;      ///< what takes results of buckets
  llvm::DenseSet<Value> pending;      ///< results of all buckets
};

} // namespace

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

int64_t CollectiveBucket::bytesOf(CollectiveOp collective) {
  int64_t bytes = 0;
  for (auto [from, to] : llvm::zip(collective.getFrom(), collective.getTo()))
    bytes +=
        std::max(exec::bytesOf(bufferOf(from)), exec::bytesOf(bufferOf(to)));
  return bytes;
}

bool CollectiveBucket::join(CollectiveOp other, int64_t limit) {
  if (!hasKindOf(other) || other.getLayerAttr() != front().getLayerAttr() ||
      bytes >= limit)
    return false;
  parts.push_back(other);
  bytes += bytesOf(other);
  return true;
}

CollectiveOp CollectiveBucket::together() {
  if (parts.size() == 1)
    return front();
  SmallVector<Value> from, to;
  for (CollectiveOp part : parts) {
    llvm::append_range(from, part.getFrom());
    llvm::append_range(to, part.getTo());
  }
  CollectiveOp first = front();
  OpBuilder builder(first);
  auto whole = builder.create<CollectiveOp>(
      first.getLoc(), first.getKindAttr(), from, to, first.getAxesAttr(),
      first.getWhyAttr(), first.getLayerAttr(), first.getStreamAttr());
  for (CollectiveOp part : parts)
    part.erase();
  return whole;
}

//===----------------------------------------------------------------------===//
// Gathers of parameters
//===----------------------------------------------------------------------===//

bool SequenceOrder::readsVariableOnly(Operation *op) const {
  auto gather = dyn_cast<CollectiveOp>(op);
  if (!gather || gather.getKind() != CollectiveKind::AllGather)
    return false;
  Value variable = gather.getFrom().front();
  return isPersistent(variable) &&
         llvm::none_of(variable.getUsers(), [&](Operation *user) {
           return isOfSequence(user) && writes(user, variable);
         });
}

void SequenceOrder::gatherAhead() {
  std::vector<CollectiveBucket> buckets;
  std::vector<Operation *> rest;
  for (Operation *op : list)
    if (!readsVariableOnly(op))
      rest.push_back(op);
    else if (auto gather = cast<CollectiveOp>(op);
             buckets.empty() || !buckets.back().join(gather, limit))
      buckets.emplace_back(gather);
  if (buckets.empty())
    return;
  std::vector<size_t> firstUses; // In what is left of the list.
  for (CollectiveBucket &bucket : buckets)
    firstUses.push_back(
        llvm::find_if(rest, [&](Operation *op) { return bucket.meets(op); }) -
        rest.begin());
  list.clear();
  size_t next = 0;
  auto issueTo = [&](size_t count) {
    for (; next < std::min(count, buckets.size()); ++next)
      list.push_back(buckets[next].together());
  };
  for (auto [i, op] : llvm::enumerate(rest)) {
    if (!isReceive(op))
      issueTo(1);
    for (auto [b, firstUse] : llvm::enumerate(firstUses))
      if (firstUse == i)
        issueTo(b + 2);
    list.push_back(op);
  }
}

//===----------------------------------------------------------------------===//
// What is only stored
//===----------------------------------------------------------------------===//

/// Whether `op` is a store, or makes only what is stored.
bool SequenceOrder::isStored(Operation *op, int depth) const {
  if (isStore(op))
    return true;
  auto instruction = cast<InstructionOpInterface>(op);
  return isa<LibraryOp, LaunchOp>(op) && depth > 0 &&
         llvm::all_of(instruction.getWrites(), [&](Value output) {
           return isOnlyStored(output, depth - 1);
         });
}

bool SequenceOrder::isOnlyStored(Value buffer, int depth) const {
  BufferOp value = bufferOf(buffer);
  if (value.getPersistent() || value.getResidual() || isLink(buffer))
    return false;
  bool isRead = false;
  for (Operation *user : buffer.getUsers()) {
    if (!isOfSequence(user) || !reads(user, buffer))
      continue;
    isRead = true;
    if (!isStored(user, depth))
      return false;
  }
  return isRead;
}

/// The update's sums are gradients', which exec-bucket-gradients deals with.
bool SequenceOrder::goesIntoBucket(Operation *op) const {
  auto collective = dyn_cast<CollectiveOp>(op);
  if (!collective || isBetweenStages(collective))
    return false;
  SequenceOp of = sequence;
  bool goes = collective.getKind() == CollectiveKind::AllGather ||
              (collective.getKind() == CollectiveKind::ReduceScatter &&
               !of.isFragment(FragmentKind::Update));
  return goes && isOnlyStored(collective.getTo().front(), 1);
}

/// Whether `op` cannot stand before what is late or in open buckets.
bool SequenceOrder::waits(Operation *op) const {
  return llvm::any_of(op->getOperands(),
                      [&](Value buffer) {
                        return pending.contains(buffer) && reads(op, buffer);
                      }) ||
         llvm::any_of(late,
                      [&](Operation *other) { return meet(other, op); }) ||
         llvm::any_of(open, [&](const CollectiveBucket &bucket) {
           return bucket.meets(op);
         });
}

/// Issues a bucket, and behind it what waits for earlier ones alone.
void SequenceOrder::close(size_t bucket) {
  llvm::DenseSet<Value> later;
  for (const CollectiveBucket &each : open)
    each.addOutputs(later);
  result.push_back(open[bucket].together());
  open.erase(open.begin() + static_cast<std::ptrdiff_t>(bucket));
  std::vector<Operation *> stay;
  for (Operation *op : late) {
    if (llvm::none_of(op->getOperands(),
                      [&](Value buffer) { return later.contains(buffer); })) {
      result.push_back(op);
      continue;
    }
    for (Value output : cast<InstructionOpInterface>(op).getWrites())
      later.insert(output);
    stay.push_back(op);
  }
  late = std::move(stay);
}

void SequenceOrder::flush() {
  while (!open.empty())
    close(0);
  llvm::append_range(result, late);
  late.clear();
}

/// Puts a collective into the open bucket of its kind and axes, or into a new
/// one.
void SequenceOrder::collect(CollectiveOp collective) {
  pending.insert(collective.getTo().front());
  auto bucket = llvm::find_if(open, [&](const CollectiveBucket &each) {
    return each.hasKindOf(collective);
  });
  if (bucket != open.end() && bucket->join(collective, limit))
    return;
  if (bucket != open.end())
    close(static_cast<size_t>(bucket - open.begin()));
  open.emplace_back(collective);
}

void SequenceOrder::storeTogether() {
  std::vector<bool> grouped, stored;
  for (Operation *op : list) {
    grouped.push_back(goesIntoBucket(op));
    stored.push_back(isStored(op, 1));
  }
  if (!llvm::is_contained(grouped, true))
    return;
  for (auto [i, op] : llvm::enumerate(list)) {
    if (waits(op)) {
      if (stored[i] && !grouped[i]) {
        late.push_back(op);
        continue;
      }
      flush();
    }
    if (grouped[i]) {
      collect(cast<CollectiveOp>(op));
      continue;
    }
    if (isSend(op))
      flush();
    result.push_back(op);
  }
  flush();
  list = std::move(result);
}

//===----------------------------------------------------------------------===//
// Early
//===----------------------------------------------------------------------===//

void SequenceOrder::startEarly() {
  for (size_t i = 1; i < list.size(); ++i) {
    // What comes of variables alone stands where memory allows.
    auto op = dyn_cast<CollectiveOp>(list[i]);
    if (!op || isBetweenStages(op) || llvm::all_of(op.getFrom(), isPersistent))
      continue;
    auto at = list.begin() + static_cast<std::ptrdiff_t>(i), to = at;
    while (to != list.begin() && !isa<CollectiveOp>(to[-1]) &&
           !isReceive(to[-1]) && !meet(to[-1], op))
      --to;
    std::rotate(to, at, at + 1);
  }
}

namespace {

struct OrderCollectives
    : exec::impl::ExecOrderCollectivesBase<OrderCollectives> {
  using ExecOrderCollectivesBase::ExecOrderCollectivesBase;

  void runOnOperation() override {
    int64_t bytes = plan::planOf(getOperation()).bucketBytes;
    for (auto role : getOperation().getOps<RoleOp>())
      for (auto sequence : role.getOps<SequenceOp>())
        SequenceOrder(sequence, bytes).run();
  }
};

} // namespace
