//===- PipeOps.cpp - Verifiers of the pipe dialect --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/pipe/IR/Pipe.h"

#include "dialects/step/IR/FragmentEnds.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace hocket::pipe;
namespace step = hocket::step;

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// `(host "tokens", rank 0 tag 1) -> (rank 2 tag 3, kept)`; either list may be
/// absent.
static ParseResult parseEnds(OpAsmParser &parser, ArrayAttr &sources,
                             ArrayAttr &targets) {
  SmallVector<Attribute> from, to;
  auto parseSource = [&]() {
    return step::parseSource(parser, from.emplace_back());
  };
  auto parseTarget = [&]() {
    return step::parseTarget(parser, to.emplace_back());
  };
  using Delimiter = OpAsmParser::Delimiter;
  if (parser.parseCommaSeparatedList(Delimiter::OptionalParen, parseSource))
    return failure();
  if (succeeded(parser.parseOptionalArrow()) &&
      parser.parseCommaSeparatedList(Delimiter::Paren, parseTarget))
    return failure();
  sources = parser.getBuilder().getArrayAttr(from);
  targets = parser.getBuilder().getArrayAttr(to);
  return success();
}

static void printEnds(OpAsmPrinter &p, Operation *, ArrayAttr sources,
                      ArrayAttr targets) {
  auto printList = [&](ArrayAttr list, auto print) {
    p << '(';
    llvm::interleaveComma(list, p, [&](Attribute each) { print(p, each); });
    p << ')';
  };
  if (!sources.empty())
    printList(sources, step::printSource);
  if (targets.empty())
    return;
  p << " -> ";
  printList(targets, step::printTarget);
}

LogicalResult FragmentOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto function = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getFunctionAttr());
  if (!function)
    return emitOpError("P1: no function is named ") << getFunctionAttr();
  return step::verifyEnds(*this, "P14",
                          cast<FunctionType>(function.getFunctionType()),
                          getSources(), getTargets());
}

//===----------------------------------------------------------------------===//
// Exchanges and schedules
//===----------------------------------------------------------------------===//

/// P8.
static LogicalResult verifyRanks(Operation *op, ArrayRef<int64_t> ranks) {
  if (ranks.size() < 2 || ranks.front() < 0 ||
      !llvm::is_sorted(ranks, std::less_equal<int64_t>()))
    return op->emitOpError("P8: at least two pipeline ranks take part, in "
                           "ascending order");
  return success();
}

LogicalResult AllReduceOp::verify() { return verifyRanks(*this, getRanks()); }

LogicalResult AllGatherOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getResult().getType());
  if (from.getRank() < 1 || from.getElementType() != to.getElementType() ||
      from.getRank() != to.getRank() ||
      from.getShape().drop_front() != to.getShape().drop_front() ||
      from.getDimSize(0) * static_cast<int64_t>(getRanks().size()) !=
          to.getDimSize(0))
    return emitOpError("P9: dim 0 of the result has a shard of each rank");
  return verifyRanks(*this, getRanks());
}

/// P15: `part` has rows of `whole`, from `first` on.
static LogicalResult verifyRows(Operation *op, Type part, Type whole,
                                int64_t first) {
  auto few = cast<RankedTensorType>(part), all = cast<RankedTensorType>(whole);
  auto rest = few.getShape().drop_front(few.getRank() > 0 ? 1 : 0);
  if (few.getRank() > 0 && few.getRank() <= all.getRank() &&
      few.getElementType() == all.getElementType() &&
      all.getShape().take_back(rest.size()) == rest) {
    int64_t rows = 1;
    for (int64_t size : all.getShape().drop_back(rest.size()))
      rows *= size;
    if (few.getDimSize(0) > 0 && first >= 0 &&
        first <= rows - few.getDimSize(0))
      return success();
  }
  return op->emitOpError("P15: ")
         << few << " is not the rows of " << all << " from " << first << " on";
}

LogicalResult SliceRowsOp::verify() {
  return verifyRows(*this, getResult().getType(), getInput().getType(),
                    static_cast<int64_t>(getFirst()));
}

LogicalResult InsertRowsOp::verify() {
  Type type = getResult().getType();
  if (getWhole() ? getWhole().getType() != type : getFirst() != 0)
    return emitOpError("P15: the result has the type of what the rows stand "
                       "in; where that is nothing, they are the first");
  return verifyRows(*this, getPart().getType(), type,
                    static_cast<int64_t>(getFirst()));
}

LogicalResult ScheduleOp::verify() {
  if (static_cast<int64_t>(getMicrobatches()) < 1 ||
      static_cast<int64_t>(getSlots()) < 1)
    return emitOpError("P2: a schedule has at least one microbatch and slot");
  for (auto action : getActions().getAsRange<ActionAttr>()) {
    if (action.getMicrobatch() < 0 ||
        action.getMicrobatch() >= static_cast<int64_t>(getMicrobatches()))
      return emitOpError("P3: action ")
             << action << " names a microbatch that does not exist";
    if (action.getSlot() < 0 ||
        action.getSlot() >= static_cast<int64_t>(getSlots()))
      return emitOpError("P4: action ")
             << action << " names a slot that does not exist";
  }
  return success();
}

#define GET_OP_CLASSES
#include "dialects/pipe/IR/PipeOps.cpp.inc"
