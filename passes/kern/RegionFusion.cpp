//===- RegionFusion.cpp - Two fused regions as one ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/kern/RegionFusion.h"

#include "passes/kern/OpOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <utility>

using namespace mlir;

namespace hocket::kern {

//===----------------------------------------------------------------------===//
// RegionView
//===----------------------------------------------------------------------===//

RegionView::RegionView(Operation *op)
    : op(isa_and_present<RowsOp, ColumnsOp>(op) ? op : nullptr),
      columns(isa_and_present<ColumnsOp>(op)) {}

Space RegionView::space() const {
  if (auto rows = dyn_cast<RowsOp>(op))
    return {static_cast<int64_t>(rows.getRows()),
            static_cast<int64_t>(rows.getCols())};
  auto over = cast<ColumnsOp>(op);
  return {static_cast<int64_t>(over.getRows()),
          static_cast<int64_t>(over.getCols())};
}

StringRef RegionView::label() const {
  return columns ? cast<ColumnsOp>(op).getLabel() : cast<RowsOp>(op).getLabel();
}

ValueRange RegionView::inputs() const {
  return columns ? ValueRange(op->getOperands())
                 : ValueRange(cast<RowsOp>(op).getInputs());
}

ValueRange RegionView::instances() const {
  return columns ? ValueRange() : ValueRange(cast<RowsOp>(op).getInstances());
}

ValueRange RegionView::results() const { return op->getResults(); }

Access RegionView::inputAccess(unsigned i) const {
  return columns ? cast<ColumnsOp>(op).getInputAccess(i)
                 : cast<RowsOp>(op).getInputAccess(i);
}

Access RegionView::resultAccess(unsigned i) const {
  return columns ? Access::Col : cast<RowsOp>(op).getResultAccess(i);
}

Block &RegionView::body() const { return op->getRegion(0).front(); }

bool RegionView::isFlat() const {
  auto whole = [](Access access) {
    return access == Access::Full || access == Access::Scalar;
  };
  if (columns || contains<ReduceOp>())
    return false;
  for (unsigned i = 0; i < inputs().size(); ++i)
    if (!whole(inputAccess(i)))
      return false;
  for (unsigned i = 0; i < results().size(); ++i)
    if (resultAccess(i) != Access::Full)
      return false;
  return true;
}

Value sourceOf(Value value) {
  while (auto view = value.getDefiningOp<ViewOp>()) {
    auto from = cast<RankedTensorType>(view.getInput().getType());
    auto to = cast<RankedTensorType>(view.getResult().getType());
    if (from.getNumElements() != to.getNumElements())
      break;
    value = view.getInput();
  }
  return value;
}

RegionView producerOf(Value value) {
  return RegionView(sourceOf(value).getDefiningOp());
}

//===----------------------------------------------------------------------===//
// One iteration space for two
//===----------------------------------------------------------------------===//

namespace {
/// What one element of a region is in the joint space.
enum class Grain { Element, Row, Whole };

struct JointSpace {
  Space space;
  Grain first = Grain::Element, second = Grain::Element;
};
} // namespace

/// Whether a region has one value for each of `rows` rows and nothing that
/// depends on where in a row it stands.
static bool isOneARow(RegionView region, int64_t rows) {
  if (region.byColumns() || region.contains<ReduceOp>() ||
      region.contains<KeepScaleOp>())
    return false;
  Space space = region.space();
  return space == Space{rows, 1} ||
         (region.isFlat() && space.elements() == rows);
}

static std::optional<JointSpace> joinSpaces(RegionView first,
                                            RegionView second) {
  Space a = first.space(), b = second.space();
  if (a == b)
    return JointSpace{a};
  if (a.elements() == b.elements() && first.isFlat())
    return JointSpace{b};
  if (a.elements() == b.elements() && second.isFlat())
    return JointSpace{a};
  if (isOneARow(first, b.rows))
    return JointSpace{b, Grain::Row, Grain::Element};
  if (isOneARow(second, a.rows) && !first.byColumns())
    return JointSpace{a, Grain::Element, Grain::Row};
  if (a == Space{1, 1} && !first.byColumns() && !first.contains<KeepScaleOp>())
    return JointSpace{b, Grain::Whole, Grain::Element};
  return std::nullopt;
}

/// The access in the joint space of a tensor that had `access` in its own.
static std::optional<Access> joinAccess(Access access, Grain grain) {
  if (grain == Grain::Element)
    return access;
  if (grain == Grain::Whole)
    return Access::Scalar;
  switch (access) {
  case Access::Full:
  case Access::Row:
    return Access::Row;
  case Access::Col:
  case Access::Scalar:
    return Access::Scalar;
  case Access::Tiled:
    return std::nullopt;
  }
  llvm_unreachable("an access that the enumeration lacks");
}

//===----------------------------------------------------------------------===//
// The joint region
//===----------------------------------------------------------------------===//

namespace {
/// The fused region before it is built.
struct Plan {
  JointSpace joint;
  SmallVector<TensorOperand> operands;
  SmallVector<Value> instances;
  SmallVector<unsigned> kept; ///< results of the first still used
  SmallVector<Access> keptAccesses, resultAccesses;
  Placement placement;
  Refusal refusal;
};
} // namespace

/// Adds an operand unless it is there.
static void addOperand(Plan &plan, Value tensor, Access access) {
  Value source = sourceOf(tensor);
  for (const TensorOperand &operand : plan.operands)
    if (operand.tensor == source && operand.access == access)
      return;
  plan.operands.push_back({source, access});
}

/// Which result of `first` the value is, if any.
static std::optional<unsigned> resultOf(RegionView first, Value value) {
  auto result = dyn_cast<OpResult>(sourceOf(value));
  if (!result || result.getOwner() != first.getOperation())
    return std::nullopt;
  return result.getResultNumber();
}

/// Whether anything but `second` reads the value, directly or by a view.
static bool hasOtherUse(Value value, Operation *second) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto view = dyn_cast<ViewOp>(user);
    if (view && sourceOf(view.getResult()) != view.getResult())
      return hasOtherUse(view.getResult(), second);
    return user != second;
  });
}

bool isF8(Value tensor) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(tensor));
}

static void planOperands(Plan &plan, RegionView first, RegionView second) {
  for (auto [region, grain] :
       {std::pair(first, plan.joint.first), {second, plan.joint.second}})
    for (auto [i, input] : llvm::enumerate(region.inputs())) {
      std::optional<Access> access = joinAccess(region.inputAccess(i), grain);
      if (!access)
        plan.refusal = "an operand repeats over rows that become elements";
      else if (std::optional<unsigned> from = resultOf(first, input)) {
        if (joinAccess(first.resultAccess(*from), plan.joint.first) != access)
          plan.refusal = "elements are read at another place than computed";
        else if (isF8(input))
          plan.refusal = "numbers of 8 bits are rounded on their way";
      } else
        addOperand(plan, input, *access);
    }
  llvm::SmallSetVector<Value, 2> instances;
  instances.insert(first.instances().begin(), first.instances().end());
  instances.insert(second.instances().begin(), second.instances().end());
  plan.instances = instances.takeVector();
}

static void planResults(Plan &plan, RegionView first, RegionView second) {
  auto add = [&](Access access, Grain grain, SmallVectorImpl<Access> &to) {
    std::optional<Access> joint = joinAccess(access, grain);
    bool whole = joint == Access::Scalar && plan.joint.space.rows != 1;
    if (!joint || whole)
      plan.refusal = "a result of one element is still used elsewhere";
    to.push_back(joint.value_or(access));
  };
  for (auto [i, result] : llvm::enumerate(first.results())) {
    bool used = hasOtherUse(result, second.getOperation());
    if (!used && !(first.byColumns() && second.byColumns()))
      continue;
    plan.kept.push_back(i);
    add(first.resultAccess(i), plan.joint.first, plan.keptAccesses);
  }
  for (unsigned i = 0; i < second.results().size(); ++i)
    add(second.resultAccess(i), plan.joint.second, plan.resultAccesses);
}

/// Bytes that may have to be kept of each row between reductions.
static int64_t keptRowBytes(const Plan &plan, RegionView first,
                            RegionView second) {
  if (!first.contains<ReduceOp>() && !second.contains<ReduceOp>())
    return 0;
  int64_t costly = 0;
  for (RegionView region : {first, second})
    for (Operation &op : region.body())
      costly +=
          isa<KeepScaleOp>(op) ||
          (isa<math::MathDialect>(op.getDialect()) && !isa<math::SqrtOp>(op));
  return costly * plan.joint.space.cols * 4;
}

/// Whether rows are summed beside what is computed of each.
static bool sumsRows(RegionView first, RegionView second,
                     const FusionLimits &limits) {
  return limits.sums > 0 && first.byColumns() != second.byColumns();
}

/// Rows with sums, of one region of rows and one of columns.
static void checkSums(Plan &plan, const FusionLimits &limits) {
  int64_t sums = llvm::count(plan.keptAccesses, Access::Col) +
                 llvm::count(plan.resultAccesses, Access::Col);
  if (plan.joint.first != Grain::Element || plan.joint.second != Grain::Element)
    plan.refusal = "different iteration space";
  else if (sums > limits.sums)
    plan.refusal = "too many sums over rows: " + std::to_string(sums) + " of " +
                   std::to_string(limits.sums);
}

static void checkColumns(Plan &plan, RegionView first, RegionView second) {
  if (first.byColumns() != second.byColumns() && !plan.kept.empty())
    plan.refusal = "the producer has other uses";
  else if (first.byColumns() && !second.byColumns())
    plan.refusal = "sums over columns are complete only after all rows";
  else if (second.byColumns() &&
           (first.contains<ReduceOp>() || !plan.instances.empty() ||
            plan.joint.second != Grain::Element))
    plan.refusal = "a sum over columns cannot reduce rows";
}

static void checkLimits(Plan &plan, RegionView first, RegionView second,
                        const FusionLimits &limits) {
  size_t buffers =
      plan.operands.size() + plan.kept.size() + second.results().size();
  if (buffers > limits.buffers)
    plan.refusal = "too many buffers: " + std::to_string(buffers) + " of " +
                   std::to_string(limits.buffers);
  else if (keptRowBytes(plan, first, second) > limits.rowBytes)
    plan.refusal = "too much of a row to keep between its reductions";
}

static bool readsColumns(RegionView first, RegionView second) {
  return llvm::any_of(second.inputs(), [&](Value input) {
    std::optional<unsigned> from = resultOf(first, input);
    return from && first.resultAccess(*from) == Access::Col;
  });
}

static Plan planFusion(RegionView first, RegionView second,
                       const FusionLimits &limits) {
  Plan plan;
  if (first.getOperation()->getBlock() != second.getOperation()->getBlock()) {
    plan.refusal = "different functions";
    return plan;
  }
  std::optional<JointSpace> joint = joinSpaces(first, second);
  if (!joint || readsColumns(first, second)) {
    plan.refusal = joint ? "sums over columns are complete only after all rows"
                         : "different iteration space";
    return plan;
  }
  plan.joint = *joint;
  planOperands(plan, first, second);
  planResults(plan, first, second);
  if (sumsRows(first, second, limits))
    checkSums(plan, limits);
  else
    checkColumns(plan, first, second);
  checkLimits(plan, first, second, limits);
  if (!plan.refusal.empty())
    return plan;
  SmallVector<Value> operands(plan.instances);
  for (const TensorOperand &operand : plan.operands)
    operands.push_back(operand.tensor);
  plan.placement =
      placeTogether(first.getOperation(), second.getOperation(), operands);
  plan.refusal = plan.placement.refusal;
  return plan;
}

Refusal whyNotFuse(RegionView first, RegionView second,
                   const FusionLimits &limits) {
  return planFusion(first, second, limits).refusal;
}

//===----------------------------------------------------------------------===//
// Building it
//===----------------------------------------------------------------------===//

/// `a+b`, where a part that is already there is not said again.
static std::string joinLabels(StringRef a, StringRef b) {
  if (a.empty() || b.empty())
    return (a + b).str();
  SmallVector<StringRef> parts, more;
  a.split(parts, '+');
  b.split(more, '+');
  for (StringRef part : more)
    if (!llvm::is_contained(parts, part))
      parts.push_back(part);
  return llvm::join(parts, "+");
}

/// Clones a body with its arguments mapped; returns what it yields.
static SmallVector<Value> cloneBody(ImplicitLocOpBuilder &builder,
                                    RegionView region, IRMapping &mapping) {
  for (Operation &op : region.body().without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> values;
  for (Value value : region.body().getTerminator()->getOperands())
    values.push_back(mapping.lookup(value));
  return values;
}

/// Maps the arguments of `region` to those of the fused region, and operands
/// that `first` computes to their values.
static void mapArguments(IRMapping &mapping, RegionView region, Grain grain,
                         const Plan &plan, ArrayRef<Scalar> arguments,
                         RegionView first, ArrayRef<Value> computed) {
  for (auto [i, input] : llvm::enumerate(region.inputs())) {
    Value argument = region.body().getArgument(i);
    if (std::optional<unsigned> from = resultOf(first, input)) {
      mapping.map(argument, computed[*from]);
      continue;
    }
    Access access = *joinAccess(region.inputAccess(i), grain);
    Value source = sourceOf(input);
    for (auto [j, operand] : llvm::enumerate(plan.operands))
      if (operand.tensor == source && operand.access == access)
        mapping.map(argument, arguments[j].value);
  }
  for (auto [i, instance] : llvm::enumerate(region.instances())) {
    size_t j = llvm::find(plan.instances, instance) - plan.instances.begin();
    mapping.map(region.body().getArgument(region.inputs().size() + i),
                arguments[plan.operands.size() + j].value);
  }
}

static RegionShape shapeOf(const Plan &plan, RegionView first,
                           RegionView second, StringRef label) {
  RegionShape shape{label, plan.joint.space, {}, {}, {}};
  shape.operands.assign(plan.operands.begin(), plan.operands.end());
  shape.instances.assign(plan.instances.begin(), plan.instances.end());
  for (auto [i, access] : llvm::zip(plan.kept, plan.keptAccesses))
    shape.results.push_back({first.results()[i].getType(), access});
  for (auto [result, access] : llvm::zip(second.results(), plan.resultAccesses))
    shape.results.push_back({result.getType(), access});
  return shape;
}

/// Erases `op` and the views of its results, none of which is used.
static void eraseWithViews(Operation *op) {
  for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
    eraseWithViews(user);
  op->erase();
}

RegionView fuse(RegionView first, RegionView second,
                const FusionLimits &limits) {
  Plan plan = planFusion(first, second, limits);
  assert(plan.refusal.empty() && "ask whyNotFuse first");
  Operation *a = first.getOperation(), *b = second.getOperation();
  OpBuilder builder(a->getContext());
  builder.setInsertionPointAfter(plan.placement.after);
  std::string label = joinLabels(first.label(), second.label());
  RegionShape shape = shapeOf(plan, first, second, label);
  Location loc = builder.getFusedLoc({a->getLoc(), b->getLoc()});
  auto code = [&](ArrayRef<Scalar> arguments) -> SmallVector<Scalar> {
    ImplicitLocOpBuilder &body = *arguments[0].builder;
    IRMapping firstMap, secondMap;
    mapArguments(firstMap, first, plan.joint.first, plan, arguments, first, {});
    SmallVector<Value> computed = cloneBody(body, first, firstMap);
    mapArguments(secondMap, second, plan.joint.second, plan, arguments, first,
                 computed);
    SmallVector<Scalar> results;
    for (unsigned i : plan.kept)
      results.push_back({&body, computed[i]});
    for (Value value : cloneBody(body, second, secondMap))
      results.push_back({&body, value});
    return results;
  };
  Operation *fused =
      second.byColumns() && !sumsRows(first, second, limits)
          ? buildColumns(builder, loc, shape, code).getOperation()
          : buildRows(builder, loc, shape, code).getOperation();
  moveBehind(fused, plan.placement);
  for (auto [i, kept] : llvm::enumerate(plan.kept))
    first.results()[kept].replaceAllUsesWith(fused->getResult(i));
  for (auto [i, result] : llvm::enumerate(second.results()))
    result.replaceAllUsesWith(fused->getResult(plan.kept.size() + i));
  b->erase();
  eraseWithViews(a);
  return RegionView(fused);
}

} // namespace hocket::kern
