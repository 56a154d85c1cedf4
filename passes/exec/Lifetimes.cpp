//===- Lifetimes.cpp - When buffers hold values ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/Lifetimes.h"

#include "passes/exec/Instructions.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::exec;

void Span::include(int64_t position) {
  first = isEmpty() ? position : std::min(first, position);
  last = std::max(last, position);
}

/// The instruction before which a collective must be over; null at the end of
/// its sequence.
static Operation *joinOf(CollectiveOp collective) {
  Operation *next = collective->getNextNode();
  while (next && !isSend(next) && !meet(collective, next))
    next = next->getNextNode();
  return next;
}

/// Whether it tells ranks how many rows they exchange next: so few numbers that
/// a communicator of their own would cost more than waiting for them.
static bool countsRows(CollectiveOp collective) {
  auto type = cast<MemRefType>(collective.getFrom().front().getType());
  return collective.getKind() == CollectiveKind::AllToAll &&
         type.getElementType().isInteger(32);
}

StringRef exec::streamBeside(CollectiveOp collective) {
  if (collective.getAxes().empty() || isBetweenStages(collective) ||
      countsRows(collective))
    return {};
  bool passes = collective.getKind() == CollectiveKind::Shift;
  Operation *join = passes ? nullptr : joinOf(collective);
  for (Operation *next = collective->getNextNode(); next != join && !passes;
       next = next->getNextNode())
    passes = isComputation(next);
  return passes ? cast<StringAttr>(collective.getAxes()[0]).getValue()
                : StringRef();
}

Lifetimes::Lifetimes(RoleOp role,
                     const std::function<bool(CollectiveOp)> &isBeside) {
  for (auto sequence : role.getOps<SequenceOp>())
    for (Operation &op : sequence.getBody().front()) {
      auto position = static_cast<int64_t>(positions.size());
      positions[&op] = position;
    }
  for (auto [op, position] : positions) {
    auto collective = dyn_cast<CollectiveOp>(op);
    int64_t end = position;
    if (collective && isBeside(collective)) {
      Operation *join = joinOf(collective);
      end = positions.lookup(join ? join : &op->getBlock()->back());
    }
    for (Value buffer : op->getOperands()) {
      Span &span = spans[buffer];
      span.include(position);
      span.include(end);
    }
  }
}
