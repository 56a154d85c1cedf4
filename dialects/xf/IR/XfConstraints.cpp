//===- XfConstraints.cpp - What the verifiers of the dialect share --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfConstraints.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>

using namespace mlir;
using namespace hocket::xf;

static InFlightDiagnostic violation(Operation *op, int number) {
  return op->emitOpError("X") << number << ": ";
}

Type hocket::xf::widened(Type elementType) {
  return elementType.isF64() ? elementType
                             : Float32Type::get(elementType.getContext());
}

Value hocket::xf::matching(OpBuilder &builder, Value value, Value like) {
  if (elementOf(value) == elementOf(like))
    return value;
  auto type = RankedTensorType::get(shapeOf(value), elementOf(like));
  return builder.create<CastOp>(value.getLoc(), type, value);
}

LogicalResult hocket::xf::checkShape(Operation *op, int number, StringRef what,
                                     Value value, Shape expected) {
  if (shapeOf(value) == expected)
    return success();
  InFlightDiagnostic message = violation(op, number);
  message << what << " has shape [" << shapeOf(value) << "], expected ["
          << expected << "]";
  return message;
}

LogicalResult hocket::xf::checkElement(Operation *op, int number,
                                       StringRef what, Value value,
                                       Type expected) {
  if (elementOf(value) == expected)
    return success();
  return violation(op, number) << what << " has element type "
                               << elementOf(value) << ", expected " << expected;
}

LogicalResult hocket::xf::checkElementOrWider(Operation *op, int number,
                                              StringRef what, Value value,
                                              Type like) {
  if (elementOf(value) == like || elementOf(value) == widened(like))
    return success();
  return violation(op, number)
         << what << " has element type " << elementOf(value) << ", expected "
         << like << " or " << widened(like);
}

LogicalResult hocket::xf::checkRecipe(Operation *op,
                                      std::optional<Fp8Recipe> recipe) {
  if (!recipe || *recipe != Fp8Recipe::Tensorwise)
    return success();
  return violation(op, 83) << "fp8 is tensorwise, expected blockwise or mxfp8, "
                              "which put numbers in blocks";
}

int64_t hocket::xf::blockOf(Fp8Recipe recipe) {
  switch (recipe) {
  case Fp8Recipe::Tensorwise:
    return 0;
  case Fp8Recipe::Blockwise:
    return 128;
  case Fp8Recipe::Mxfp8:
    return 32;
  }
  llvm_unreachable("an enum has one of its values");
}

SmallVector<int64_t> hocket::xf::tokenBlocks(Fp8Recipe recipe, int64_t rank,
                                             int64_t along) {
  SmallVector<int64_t> blocks(rank, 1);
  blocks[along] = blockOf(recipe);
  return blocks;
}

SmallVector<int64_t> hocket::xf::weightBlocks(Fp8Recipe recipe, int64_t rank,
                                              int64_t along) {
  SmallVector<int64_t> blocks = tokenBlocks(recipe, rank, along);
  if (recipe == Fp8Recipe::Blockwise)
    blocks[rank - 2] = blocks[rank - 1] = blockOf(recipe);
  return blocks;
}

double hocket::xf::largestOf(Type element) {
  return llvm::APFloat::getLargest(cast<FloatType>(element).getFloatSemantics())
      .convertToDouble();
}

LogicalResult hocket::xf::checkOperandTypes(Operation *op, int number,
                                            StringRef a, StringRef b,
                                            ValueRange scales) {
  Type first = elementOf(op->getOperand(0));
  if (!isF8(first)) {
    if (!scales.empty())
      return violation(op, number)
             << "has scales, but " << a << " is no tensor of 8-bit elements";
    return checkElement(op, number, b, op->getOperand(1), first);
  }
  Type second = elementOf(op->getOperand(1));
  if (!isF8(second))
    return violation(op, number) << b << " has element type " << second
                                 << ", expected 8 bits as " << a << " has";
  if (isa<Float8E5M2Type>(first) && isa<Float8E5M2Type>(second))
    return violation(op, number)
           << a << " and " << b << " are both f8E5M2, one must be f8E4M3FN";
  if (scales.size() != 2)
    return violation(op, number)
           << "has " << scales.size() << " scales, expected 2 for " << a
           << " and " << b;
  return success();
}

LogicalResult hocket::xf::checkSameType(Operation *op, int number,
                                        StringRef what, Value value,
                                        Value like) {
  if (failed(checkShape(op, number, what, value, shapeOf(like))))
    return failure();
  return checkElement(op, number, what, value, elementOf(like));
}

LogicalResult hocket::xf::checkRank(Operation *op, int number, StringRef what,
                                    Value value, int64_t rank) {
  int64_t found = static_cast<int64_t>(shapeOf(value).size());
  if (found == rank)
    return success();
  return violation(op, number)
         << what << " has " << found << " dims, expected " << rank;
}

LogicalResult hocket::xf::checkScalar(Operation *op, int number, StringRef what,
                                      Value value) {
  if (shapeOf(value).empty() && isWide(elementOf(value)))
    return success();
  return violation(op, number) << what << " has type " << value.getType()
                               << ", expected a scalar of f32 or f64";
}

static LogicalResult checkStaticType(Operation *op, Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return success();
  if (!shaped.hasStaticShape())
    return violation(op, 0) << type << " has no static shape";
  constexpr int64_t limit = int64_t(1) << 48;
  int64_t elements = 1;
  for (int64_t size : shaped.getShape()) {
    if (size <= 0)
      return violation(op, 0) << type << " has a dim of size " << size;
    if (size > limit / elements)
      return violation(op, 0) << type << " has more than 2^48 elements";
    elements *= size;
  }
  return success();
}

LogicalResult hocket::xf::checkStatic(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (failed(checkStaticType(op, type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(checkStaticType(op, type)))
      return failure();
  return success();
}

LogicalResult hocket::xf::checkProbability(Operation *op, double probability) {
  if (probability >= 0 && probability < 1)
    return success();
  return violation(op, 18) << "a probability of " << probability
                           << " is not in [0, 1)";
}

LogicalResult hocket::xf::checkStored(Operation *op, int number,
                                      int64_t positions, int64_t part,
                                      int64_t rounds) {
  if (kernels::isStorable(part, rounds, positions))
    return success();
  return violation(op, number)
         << positions << " positions are no even number of parts of " << part
         << " in each of " << rounds << (rounds == 1 ? " round" : " rounds");
}

LogicalResult hocket::xf::checkShard(Operation *op,
                                     const kernels::ShardShape &shard,
                                     size_t starts) {
  if (shard.dims.size() != starts)
    return violation(op, 38) << starts << " starts are in as many dims, not "
                             << shard.dims.size();
  if (const char *error = kernels::shardError(shard))
    return violation(op, 38) << error;
  return success();
}
