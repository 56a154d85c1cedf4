//===- KernOps.cpp - Operations of the kernel dialect ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Verifiers and folders. Constraints are numbered in docs/spec.md (K1, ...).
///
//===----------------------------------------------------------------------===//

#include "dialects/kern/IR/Kern.h"

#include "kernels/reference/TensorShard.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <optional>

using namespace hocket::kern;
using namespace mlir;

int64_t hocket::kern::elementsOf(Access access, int64_t rows, int64_t cols) {
  switch (access) {
  case Access::Full:
    return rows * cols;
  case Access::Row:
    return rows;
  case Access::Col:
    return cols;
  case Access::Scalar:
    return 1;
  case Access::Tiled:
    return -1;
  }
  llvm_unreachable("an access that the enumeration lacks");
}

//===----------------------------------------------------------------------===//
// Fused regions
//===----------------------------------------------------------------------===//

/// K1: a static shape of a float (or, for operands, i32) element type whose
/// element count is what the access asks for.
static LogicalResult verifyAccess(Operation *op, const Twine &what, Type type,
                                  Access access, int64_t rows, int64_t cols) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return op->emitOpError("K1: " + what + " must have a static shape");
  int64_t count = tensor.getNumElements();
  if (access == Access::Tiled) {
    if (count > 0 && count % cols == 0 && rows % (count / cols) == 0)
      return success();
    return op->emitOpError("K1: " + what + " is tiled and has ")
           << count << " elements, which are not " << cols
           << " times a divisor of " << rows;
  }
  int64_t expected = elementsOf(access, rows, cols);
  if (count == expected)
    return success();
  return op->emitOpError("K1: " + what + " is ")
         << stringifyAccess(access) << " and must have " << expected
         << " elements, found " << count;
}

/// K2: rows and cols are positive and their product fits in 62 bits.
static LogicalResult verifySpace(Operation *op, int64_t rows, int64_t cols) {
  if (rows > 0 && cols > 0 && rows <= (int64_t(1) << 62) / cols)
    return success();
  return op->emitOpError("K2: iteration space [")
         << rows << " x " << cols << "] must be positive and below 2^62";
}

/// K3: one f32 argument a tensor operand, then an i32 an instance; one yielded
/// value a result.
static LogicalResult verifyRegion(Operation *op, Block &block, size_t inputs,
                                  size_t instances, size_t results) {
  if (block.getNumArguments() != inputs + instances)
    return op->emitOpError("K3: region must have ")
           << inputs + instances << " arguments, found "
           << block.getNumArguments();
  for (auto [i, argument] : llvm::enumerate(block.getArguments()))
    if (i < inputs ? !argument.getType().isF32()
                   : !argument.getType().isInteger(32))
      return op->emitOpError("K3: region argument ")
             << i << " must be " << (i < inputs ? "f32" : "i32");
  size_t yielded = block.getTerminator()->getNumOperands();
  if (yielded != results)
    return op->emitOpError("K3: region must yield ")
           << results << " values, found " << yielded;
  return success();
}

/// K4: the region holds scalar ops of arith, math and this dialect only.
static LogicalResult verifyScalarOps(Operation *op, Block &block) {
  for (Operation &inner : block) {
    Dialect *dialect = inner.getDialect();
    bool known =
        isa_and_present<arith::ArithDialect, math::MathDialect>(dialect) ||
        isa<ReduceOp, KeepScaleOp, YieldOp>(inner);
    if (!known || inner.getNumRegions() != 0)
      return op->emitOpError("K4: region cannot hold '")
             << inner.getName() << "'";
    for (Type type : inner.getResultTypes())
      if (!type.isIntOrFloat())
        return op->emitOpError("K4: region holds '")
               << inner.getName() << "' that gives " << type
               << ", which is not a scalar";
  }
  return success();
}

/// K5: a result is full, row, col (a sum over rows), or scalar where rows is 1.
static LogicalResult verifyResultAccess(Operation *op, size_t i, Access access,
                                        int64_t rows) {
  if (access == Access::Full || access == Access::Row ||
      access == Access::Col || (access == Access::Scalar && rows == 1))
    return success();
  return op->emitOpError("K5: result ")
         << i << " cannot be " << stringifyAccess(access);
}

template <typename TypeRangeT>
static LogicalResult verifyAccesses(Operation *op, StringRef what,
                                    TypeRangeT types, ArrayAttr accesses,
                                    int64_t rows, int64_t cols) {
  if (accesses.size() != types.size())
    return op->emitOpError("K1: has ")
           << types.size() << " " << what << "s and " << accesses.size()
           << " accesses";
  for (auto [i, type] : llvm::enumerate(types))
    if (failed(verifyAccess(op, Twine(what) + " " + Twine(i), type,
                            cast<AccessAttr>(accesses[i]).getValue(), rows,
                            cols)))
      return failure();
  return success();
}

LogicalResult RowsOp::verify() {
  if (failed(verifySpace(*this, getRows(), getCols())) ||
      failed(verifyAccesses(*this, "operand", getInputs().getTypes(),
                            getInputAccesses(), getRows(), getCols())) ||
      failed(verifyAccesses(*this, "result", getOutputs().getTypes(),
                            getResultAccesses(), getRows(), getCols())))
    return failure();
  for (size_t i = 0; i < getOutputs().size(); ++i)
    if (failed(verifyResultAccess(*this, i, getResultAccess(i), getRows())))
      return failure();
  Block &block = getBody().front();
  if (failed(verifyRegion(*this, block, getInputs().size(),
                          getInstances().size(), getOutputs().size())))
    return failure();
  return verifyScalarOps(*this, block);
}

YieldOp RowsOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

LogicalResult ColumnsOp::verify() {
  if (failed(verifySpace(*this, getRows(), getCols())) ||
      failed(verifyAccesses(*this, "operand", getInputs().getTypes(),
                            getInputAccesses(), getRows(), getCols())))
    return failure();
  for (auto [i, type] : llvm::enumerate(getOutputs().getTypes()))
    if (failed(verifyAccess(*this, "result " + Twine(i), type, Access::Col,
                            getRows(), getCols())))
      return failure();
  Block &block = getBody().front();
  if (failed(verifyRegion(*this, block, getInputs().size(), 0,
                          getOutputs().size())))
    return failure();
  return verifyScalarOps(*this, block);
}

YieldOp ColumnsOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

LogicalResult ReduceOp::verify() {
  Operation *parent = (*this)->getParentOp();
  auto kernel = dyn_cast_or_null<KernelOp>(parent);
  if (isa_and_present<RowsOp>(parent) || (kernel && !kernel.getByColumns()))
    return success();
  return emitOpError("K6: must be inside kern.rows or a kernel of rows");
}

/// How many elements a fused region has; nothing for anything else.
static std::optional<int64_t> pointsOf(Operation *region) {
  using Points = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Points>(region)
      .Case<RowsOp, ColumnsOp, KernelOp>(
          [](auto op) { return Points(op.getRows() * op.getCols()); })
      .Default([](Operation *) { return Points(); });
}

/// K19: what kernels can count over.
LogicalResult ShardAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> whole, ArrayRef<int64_t> dims,
                                ArrayRef<int64_t> parts, int64_t rounds) {
  if (const char *error =
          hocket::kernels::shardError({shape, whole, dims, parts, rounds}))
    return emitError() << "K19: shard: " << error;
  return success();
}

/// K19: a shard is one of as many elements as the region has.
static LogicalResult verifyShard(KeepScaleOp op) {
  ShardAttr shard = op.getShardAttr();
  size_t dims = shard ? shard.getDims().size() : 0;
  if (op.getAt().size() != dims)
    return op.emitOpError("K19: has ")
           << op.getAt().size() << " starts of " << dims << " dims";
  if (!shard)
    return success();
  int64_t elements = 1;
  std::optional<int64_t> points = pointsOf(op->getParentOp());
  for (int64_t size : shard.getShape())
    elements *= size;
  if (!points || elements == *points)
    return success();
  return op.emitOpError("K19: draws for a shard of ")
         << elements << " elements in a region of " << *points;
}

LogicalResult KeepScaleOp::verify() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0.0 && rate < 1.0))
    return emitOpError("K7: rate must be in [0, 1)");
  return verifyShard(*this);
}

LogicalResult YieldOp::verify() { return success(); }

//===----------------------------------------------------------------------===//
// Outlined kernels
//===----------------------------------------------------------------------===//

RankedTensorType KernelOp::getInputType(unsigned i) {
  return cast<RankedTensorType>(cast<TypeAttr>(getInputTypes()[i]).getValue());
}

RankedTensorType KernelOp::getResultType(unsigned i) {
  return cast<RankedTensorType>(cast<TypeAttr>(getResultTypes()[i]).getValue());
}

YieldOp KernelOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

LogicalResult KernelOp::verify() {
  SmallVector<Type> inputs(getInputTypes().getAsValueRange<TypeAttr>());
  SmallVector<Type> results(getResultTypes().getAsValueRange<TypeAttr>());
  if (failed(verifySpace(*this, getRows(), getCols())) ||
      failed(verifyAccesses(*this, "operand", ArrayRef(inputs),
                            getInputAccesses(), getRows(), getCols())) ||
      failed(verifyAccesses(*this, "result", ArrayRef(results),
                            getResultAccesses(), getRows(), getCols())))
    return failure();
  for (size_t i = 0; i < results.size(); ++i) {
    if (getByColumns() && getResultAccess(i) != Access::Col)
      return emitOpError("K5: sums columns: result ") << i << " must be col";
    if (!getByColumns() &&
        failed(verifyResultAccess(*this, i, getResultAccess(i), getRows())))
      return failure();
  }
  Block &block = getBody().front();
  if (failed(verifyRegion(*this, block, inputs.size(), getInstances(),
                          results.size())))
    return failure();
  return verifyScalarOps(*this, block);
}

LogicalResult LaunchOp::verify() { return success(); }

/// K8: a launch's operands and results have the kernel's types.
LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("K8: calls ")
           << getKernelAttr() << ", which is not a kern.kernel";
  auto matches = [](TypeRange types, ArrayAttr declared) {
    return types.size() == declared.size() &&
           llvm::equal(types, declared.getAsValueRange<TypeAttr>());
  };
  if (!matches(getInputs().getTypes(), kernel.getInputTypes()))
    return emitOpError("K8: operands differ from those of ") << getKernelAttr();
  if (!matches(getOutputs().getTypes(), kernel.getResultTypes()))
    return emitOpError("K8: results differ from those of ") << getKernelAttr();
  if (getInstances().size() != kernel.getInstances())
    return emitOpError("K8: must have ")
           << kernel.getInstances() << " instances";
  return success();
}

//===----------------------------------------------------------------------===//
// GEMMs, library, views
//===----------------------------------------------------------------------===//

/// K9: 8-bit operands come in pairs, and scales with them.
static LogicalResult verifyFactors(GemmOp gemm) {
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  auto isF8 = [](Type type) {
    return isa<Float8E4M3FNType, Float8E5M2Type>(type);
  };
  Type a = elementOf(gemm.getA()), b = elementOf(gemm.getB());
  if (isF8(a) != isF8(b))
    return gemm.emitOpError(
        "K9: one factor has 8-bit elements and the other has "
        "not");
  if (isa<Float8E5M2Type>(a) && isa<Float8E5M2Type>(b))
    return gemm.emitOpError(
        "K9: both operands are f8E5M2, one of the two must be "
        "f8E4M3FN");
  for (Value scale : {gemm.getScaleA(), gemm.getScaleB()})
    if (scale && (!isF8(a) || !elementOf(scale).isF32()))
      return gemm.emitOpError("K9: a scale is an f32 for 8-bit elements");
  return success();
}

/// K9: every operand's element count is what m, n and k say.
LogicalResult GemmOp::verify() {
  auto check = [&](StringRef name, Value value, int64_t expected) {
    if (!value)
      return success();
    auto type = cast<RankedTensorType>(value.getType());
    if (type.hasStaticShape() && type.getNumElements() == expected)
      return success();
    return LogicalResult(emitOpError("K9: " + name)
                         << " must have " << expected << " elements, found "
                         << type);
  };
  int64_t m = getM(), n = getN(), k = getK();
  if (m <= 0 || n <= 0 || k <= 0 || m > INT32_MAX || n > INT32_MAX ||
      k > INT32_MAX)
    return emitOpError("K9: m, n and k must be positive and below 2^31");
  if (failed(check("a", getA(), m * k)) || failed(check("b", getB(), k * n)) ||
      failed(check("bias", getBias(), n)) ||
      failed(check("residual", getResidual(), m * n)) ||
      failed(check("scale_a", getScaleA(), 1)) ||
      failed(check("scale_b", getScaleB(), 1)) ||
      failed(verifyFactors(*this)) ||
      failed(check("result", getResult(), m * n)) ||
      failed(
          check("auxiliary", getAuxiliary(), getBiasGradient() ? m : m * n)) ||
      failed(check("preactivation", getPreactivation(), m * n)))
    return failure();
  bool activates = getEpilogue() != Epilogue::None;
  bool adds = getBias() || getResidual();
  if (getBiasGradient() && (!getAuxiliary() || activates || adds))
    return emitOpError("K9: bias_gradient needs an auxiliary result and no "
                       "epilogue, bias or residual");
  if (getAuxiliary() && !activates && !getBiasGradient())
    return emitOpError("K9: auxiliary needs an epilogue or bias_gradient");
  if (getPreactivation() && (!activates || adds || getAuxiliary()))
    return emitOpError("K9: preactivation needs an epilogue and no bias, "
                       "residual or auxiliary");
  return success();
}

/// K10: workspaces and in_place count and name what exists.
LogicalResult LibraryOp::verify() {
  int64_t results = getOutputs().size(), operands = getInputs().size();
  if (getWorkspaces() > getOutputs().size())
    return emitOpError("K10: has ")
           << getOutputs().size() << " results, which cannot hold "
           << getWorkspaces() << " workspaces";
  std::optional<ArrayRef<int64_t>> inPlace = getInPlace();
  if (!inPlace)
    return success();
  if (static_cast<int64_t>(inPlace->size()) != results)
    return emitOpError("K10: in_place must have one entry a result");
  for (auto [i, operand] : llvm::enumerate(*inPlace)) {
    if (operand == -1)
      continue;
    if (operand < 0 || operand >= operands ||
        getInputs()[operand].getType() != getOutputs()[i].getType())
      return emitOpError("K10: in_place entry ")
             << i << " must be -1 or an operand of the same type";
  }
  return success();
}

/// K11: a view keeps the element type and has no more elements.
LogicalResult ViewOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getResult().getType());
  if (from.hasStaticShape() && to.hasStaticShape() &&
      from.getElementType() == to.getElementType() &&
      to.getNumElements() <= from.getNumElements())
    return success();
  return emitOpError("K11: cannot see ")
         << from << " as " << to
         << ": the element types must be equal and the elements no more";
}

OpFoldResult ViewOp::fold(FoldAdaptor) {
  if (getInput().getType() == getResult().getType())
    return getInput();
  auto inner = getInput().getDefiningOp<ViewOp>();
  if (!inner)
    return {};
  getInputMutable().assign(inner.getInput());
  return getResult();
}

//===----------------------------------------------------------------------===//
// Variables, the host, the step
//===----------------------------------------------------------------------===//

/// K12: the symbol is a variable of this type.
static LogicalResult verifyVariable(Operation *op, FlatSymbolRefAttr name,
                                    Type type, SymbolTableCollection &symbols) {
  auto variable = symbols.lookupNearestSymbolFrom<VariableOp>(op, name);
  if (!variable)
    return op->emitOpError("K12: names ") << name << ", which is no variable";
  if (variable.getType() != type)
    return op->emitOpError("K12: has type ")
           << type << ", but " << name << " is " << variable.getType();
  return success();
}

LogicalResult VariableOp::verify() {
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError("K12: must be a tensor of static shape");
  bool isState = getKind() == VariableKind::OptimizerState;
  bool mayBeOf = isState || getKind() == VariableKind::Gradient ||
                 getKind() == VariableKind::Working;
  if (getSlot().has_value() != isState || (isState && !getOf()) ||
      (getOf() && !mayBeOf))
    return emitOpError("K38: a state of the optimizer, and nothing else, has a "
                       "`slot`; it is `of` a parameter, as gradients and "
                       "working copies may be");
  return success();
}

LogicalResult ReadOp::verify() { return success(); }
LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariable(*this, getVariableAttr(), getResult().getType(),
                        symbols);
}

LogicalResult WriteOp::verify() { return success(); }
LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariable(*this, getVariableAttr(), getValue().getType(),
                        symbols);
}

LogicalResult AccumulateOp::verify() { return success(); }
LogicalResult AccumulateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVariable(*this, getVariableAttr(), getValue().getType(),
                        symbols);
}

LogicalResult InputOp::verify() { return success(); }
LogicalResult OutputOp::verify() { return success(); }

/// K13: an action's microbatch is one, and its slot below `slots`.
LogicalResult ScheduleOp::verify() {
  for (auto [i, action] :
       llvm::enumerate(getActions().getAsRange<ActionAttr>())) {
    if (action.getMicrobatch() < 0)
      return emitOpError("K13: action ")
             << i << " is of microbatch " << action.getMicrobatch();
    if (action.getSlot() < 0 ||
        action.getSlot() >= static_cast<int64_t>(getSlots()))
      return emitOpError("K13: action ")
             << i << " uses slot " << action.getSlot() << " of " << getSlots();
  }
  return success();
}

LogicalResult CollectiveOp::verify() {
  auto from = cast<RankedTensorType>(getInput().getType());
  auto to = cast<RankedTensorType>(getResult().getType());
  if (getAxes().empty())
    return emitOpError("K31: names no axis");
  if (from.getElementType() != to.getElementType())
    return emitOpError("K32: makes ") << to << " of " << from;
  int64_t gives = from.getNumElements(), takes = to.getNumElements();
  bool fits = getKind() == CollectiveKind::AllGather       ? takes % gives == 0
              : getKind() == CollectiveKind::ReduceScatter ? gives % takes == 0
                                                           : gives == takes;
  if (!fits)
    return emitOpError("K32: makes ") << to << " of " << from;
  return success();
}

LogicalResult ExchangeOp::verify() {
  if (getAxes().empty())
    return emitOpError("K31: names no axis");
  auto from = cast<RankedTensorType>(getRows().getType());
  auto to = cast<RankedTensorType>(getResult().getType());
  if (from.getElementType() != to.getElementType() || from.getRank() == 0 ||
      to.getRank() == 0 || from.getShape().back() != to.getShape().back())
    return emitOpError("K34: makes ") << to << " of " << from;
  auto ranges = cast<RankedTensorType>(getRanges().getType());
  auto segments = cast<RankedTensorType>(getSegments().getType());
  if (!ranges.getElementType().isInteger(32) ||
      !segments.getElementType().isInteger(32) ||
      ranges.getNumElements() != segments.getNumElements() ||
      ranges.getNumElements() % 2 != 0)
    return emitOpError("K34: ") << ranges << " and " << segments
                                << " are not as many pairs of 32-bit numbers";
  return success();
}

LogicalResult PlaceOp::verify() {
  if (getAxes().empty())
    return emitOpError("K31: names no axis");
  if (getStep() < 1)
    return emitOpError("K33: a shard has at least one element, not ")
           << getStep();
  return success();
}

#define GET_OP_CLASSES
#include "dialects/kern/IR/KernOps.cpp.inc"
