//===- SameCode.cpp - Whether two regions compute the same ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/kern/SameCode.h"

#include "llvm/ADT/DenseMap.h"

#include <utility>

using namespace mlir;

namespace hocket::kern {

namespace {
/// Compares expressions; each pair of values once, since they share parts.
class Comparison {
public:
  bool same(Value a, Value b) {
    auto left = dyn_cast<BlockArgument>(a), right = dyn_cast<BlockArgument>(b);
    if (left || right)
      return left && right && left.getArgNumber() == right.getArgNumber() &&
             a.getType() == b.getType();
    auto [entry, isNew] = known.try_emplace({a, b}, false);
    if (!isNew)
      return entry->second;
    bool equal = sameOps(a.getDefiningOp(), b.getDefiningOp());
    return known[{a, b}] = equal;
  }

private:
  bool sameOps(Operation *a, Operation *b) {
    if (a->getName() != b->getName() ||
        a->getAttrDictionary() != b->getAttrDictionary() ||
        a->getNumOperands() != b->getNumOperands() ||
        a->getResultTypes() != b->getResultTypes())
      return false;
    bool equal = llvm::all_of(
        llvm::zip(a->getOperands(), b->getOperands()),
        [&](auto pair) { return same(std::get<0>(pair), std::get<1>(pair)); });
    if (equal || a->getNumOperands() != 2 ||
        !a->hasTrait<OpTrait::IsCommutative>())
      return equal;
    return same(a->getOperand(0), b->getOperand(1)) &&
           same(a->getOperand(1), b->getOperand(0));
  }

  llvm::DenseMap<std::pair<Value, Value>, bool> known;
};
} // namespace

bool isSameExpression(Value a, Value b) { return Comparison().same(a, b); }

bool computes(RowsOp rows, unsigned operands, ScalarFn code) {
  if (rows.getInputs().size() != operands || rows.getOutputs().size() != 1 ||
      !rows.getInstances().empty())
    return false;
  Block block;
  ImplicitLocOpBuilder builder(rows.getLoc(), rows.getContext());
  builder.setInsertionPointToStart(&block);
  SmallVector<Scalar> arguments;
  for (unsigned i = 0; i < operands; ++i)
    arguments.push_back(
        {&builder, block.addArgument(builder.getF32Type(), rows.getLoc())});
  Scalar result = code(arguments).front();
  return isSameExpression(result.value, rows.getYield().getValues().front());
}

} // namespace hocket::kern
