//===- SizeMicrobatch.cpp - How many sequences at a time ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// The one place where a plan changes sizes of `xf`. Steps:
//   1. experts of served tokens get the form that devices can share out;
//   2. dims of sequences, from what the host gives onwards;
//   3. runs of tokens that are ordered by expert, and the rows of each;
//   4. the rows that a run has room for, and the experts that it holds;
//   5. numbers that depend on these sizes;
//   6. exchanges between runs that do not share their experts out are gone;
//   7. where no ranks share a sequence, its positions are looked up as the
//      first rows of their table.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/IR/Plan.h"
#include "dialects/xf/IR/HostInputs.h"
#include "dialects/xf/IR/XfConstraints.h"
#include "passes/xf/DimRatios.h"
#include "passes/xf/Passes.h"
#include "passes/xf/ServedExperts.h"
#include "passes/xf/TrainingModule.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <utility>

namespace hocket::xf {
#define GEN_PASS_DEF_XFSIZEMICROBATCH
#include "passes/xf/Passes.h.inc"
} // namespace hocket::xf

using namespace mlir;
using namespace hocket;
using namespace hocket::xf;

static int64_t sizeOf(Value value, unsigned dim) {
  return cast<ShapedType>(value.getType()).getDimSize(dim);
}

/// What `op` has by run, where no capacity limits the rows of experts: its
/// rows, or where they begin. All else that it has is by sequence. Null of
/// another op.
static Value runsOf(Operation *op) {
  Value runs =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case([](ExpertOrderOp order) { return order.getRanges(); })
          .Case([](DispatchOp dispatch) { return dispatch.getResult(); })
          .Case<CombineOp, CombineWeightGradientOp>(
              [](auto combine) { return combine.getRows(); })
          .Default(Value());
  bool isDropless = runs && cast<ShapedType>(runs.getType()).getRank() == 3;
  return isDropless ? runs : Value();
}

/// The two values of a GEMM of experts that have the same rows, where these are
/// by run. Null of another op.
static std::pair<Value, Value> groupedRowsOf(Operation *op) {
  using Rows = std::pair<Value, Value>;
  return llvm::TypeSwitch<Operation *, Rows>(op)
      .Case([](GroupedLinearOp linear) {
        return linear.getRanges() ? Rows(linear.getRows(), linear.getResult())
                                  : Rows();
      })
      .Case([](GroupedLinearInputGradientOp linear) {
        return linear.getRanges() ? Rows(linear.getGrad(), linear.getResult())
                                  : Rows();
      })
      .Case([](GroupedLinearWeightGradientOp linear) {
        return linear.getRanges() ? Rows(linear.getGrad(), linear.getRows())
                                  : Rows();
      })
      .Default(Rows());
}

namespace {

/// What has been sized already; later sizes follow from earlier ones.
enum class Stage { Sequences, Runs, Room };

class Sizing {
public:
  Sizing(ModuleOp module, TrainingOp training)
      : module(module), training(training), plan(plan::planOf(module)),
        symbols(module), ratios(module),
        trained(Ratio::of(plan.microBatch * plan.dp,
                          int64_t(training.getMicroBatchSize()))),
        positions(plan::positionRuns(plan)), runs(plan.dp * positions) {}

  LogicalResult run();

private:
  SmallVector<StringRef> servingFunctions();
  void shareServedExperts();
  LogicalResult seed(StringRef function, Ratio ratio);
  LogicalResult seedEntries();
  LogicalResult carry(Stage stage);

  std::optional<LogicalResult> visit(Operation *op, Stage stage);
  LogicalResult visitRuns(Operation *op, Value rows, Stage stage);
  LogicalResult visitSegments(ExpertSegmentsOp op, Stage stage);
  template <typename OpT> LogicalResult visitExchange(OpT op);
  LogicalResult visitRoom(ExchangeRowsOp op, Stage stage);

  void setPositionRuns();
  template <typename OpT> void setExpectedRows(OpT op);
  void setNumbers();
  void setTraining();
  void eraseExchanges();
  void takePrefixes();

  ModuleOp module;
  TrainingOp training;
  plan::ParallelPlan plan;
  SymbolTable symbols;
  DimRatios ratios;
  Ratio trained; ///< Of what a step computes at a time.
  int64_t positions, runs;
};

//===----------------------------------------------------------------------===//
// 1. Served tokens
//===----------------------------------------------------------------------===//

/// The entries that write.
SmallVector<StringRef> Sizing::servingFunctions() {
  SmallVector<StringRef> names;
  for (auto serve : module.getOps<ServeOp>())
    for (std::optional<StringRef> name :
         {serve.getEncode(), serve.getPrefill(), serve.getDecode()})
      if (name)
        names.push_back(*name);
  return names;
}

void Sizing::shareServedExperts() {
  if (plan.ep == 1)
    return;
  SmallVector<func::FuncOp> functions;
  llvm::DenseSet<Operation *> seen;
  auto add = [&](StringRef name) {
    auto function = symbols.lookup<func::FuncOp>(name);
    if (function && seen.insert(function).second)
      functions.push_back(function);
  };
  for (StringRef name : servingFunctions())
    add(name);
  for (size_t i = 0; i < functions.size(); ++i) {
    giveRowWithEachExpert(functions[i]);
    functions[i].walk([&](func::CallOp call) { add(call.getCallee()); });
  }
}

//===----------------------------------------------------------------------===//
// 2. Sequences
//===----------------------------------------------------------------------===//

/// What the host gives `function` has a row for each sequence.
LogicalResult Sizing::seed(StringRef name, Ratio ratio) {
  auto function = symbols.lookup<func::FuncOp>(name);
  if (!function || function.isExternal())
    return success();
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (hostInputOf(function, argument.getArgNumber()) && type &&
        type.getRank() > 0 && failed(ratios.set(argument, 0, ratio, function)))
      return failure();
  }
  return success();
}

LogicalResult Sizing::seedEntries() {
  for (StringRef name : {"forward", "evaluate"})
    if (failed(seed(name, trained)))
      return failure();
  // Served texts are counted for each data rank.
  for (StringRef name : servingFunctions())
    if (failed(seed(name, Ratio::of(plan.dp, 1))))
      return failure();
  return success();
}

LogicalResult Sizing::carry(Stage stage) {
  return ratios.carry([&](Operation *op) { return visit(op, stage); });
}

//===----------------------------------------------------------------------===//
// 3. and 4. Rows of experts
//===----------------------------------------------------------------------===//

/// `rows` are by run, and what else `op` has is by sequence.
LogicalResult Sizing::visitRuns(Operation *op, Value rows, Stage stage) {
  Value tokens =
      op->getOperand(0) == rows ? op->getOperand(1) : op->getOperand(0);
  for (ValueRange values :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    for (Value value : values)
      if (value != rows && failed(ratios.link(tokens, value, 1, op)))
        return failure();
  if (stage < Stage::Runs)
    return success();
  if (failed(ratios.set(rows, 0, Ratio::of(runs, sizeOf(rows, 0)), op)))
    return failure();
  if (isa<ExpertOrderOp>(op)) // Has a number for each expert, not the rows.
    return success();
  std::optional<int64_t> all =
      ratios.get(tokens, 0).apply(sizeOf(rows, 0) * sizeOf(rows, 1));
  if (!all || *all % runs != 0)
    return op->emitError("X116: the plan's ")
           << runs << " runs of tokens do not share out the rows of "
           << rows.getType();
  return ratios.set(rows, 1, Ratio::of(*all / runs, sizeOf(rows, 1)), op);
}

LogicalResult Sizing::visitSegments(ExpertSegmentsOp op, Stage stage) {
  Value segments = op.getResult();
  if (failed(ratios.link(op.getRanges(), segments, 1, op)))
    return failure();
  if (stage < Stage::Room)
    return success();
  int64_t places = sizeOf(segments, 1);
  if (failed(ratios.set(segments, 1, Ratio::of(plan.ep, places), op)))
    return failure();
  return ratios.set(segments, 2, Ratio::of(places, plan.ep), op);
}

/// Runs stay runs, however many rows they have before and after.
template <typename OpT> LogicalResult Sizing::visitExchange(OpT op) {
  for (Value other : {op.getRanges(), op.getSegments(), op.getResult()})
    if (failed(ratios.link(op.getRows(), other, 1, op)))
      return failure();
  return success();
}

LogicalResult Sizing::visitRoom(ExchangeRowsOp op, Stage stage) {
  if (failed(visitExchange(op)))
    return failure();
  auto topK = static_cast<int64_t>(op.getTopK());
  if (stage < Stage::Room || topK == 0)
    return success();
  std::optional<int64_t> sent =
      ratios.get(op.getRows(), 1).apply(sizeOf(op.getRows(), 1));
  if (!sent)
    return success(); // Told when sizes are applied.
  int64_t held = *sent;
  if (plan.ep > 1)
    held = plan::expertRowsBound(
        {sizeOf(op.getRanges(), 1), topK, op.getRoom().convertToDouble()},
        plan.ep, *sent / topK);
  return ratios.set(op.getResult(), 1,
                    Ratio::of(held, sizeOf(op.getResult(), 1)), op);
}

/// What the sizes of `op` say of each other, where its factor rule does not:
/// that is of the runs that there are.
std::optional<LogicalResult> Sizing::visit(Operation *op, Stage stage) {
  if (Value rows = runsOf(op))
    return visitRuns(op, rows, stage);
  if (auto [from, to] = groupedRowsOf(op); from)
    return ratios.link(from, to, 2, op);
  if (auto segments = dyn_cast<ExpertSegmentsOp>(op))
    return visitSegments(segments, stage);
  if (auto exchange = dyn_cast<ExchangeRowsOp>(op))
    return visitRoom(exchange, stage);
  if (auto returned = dyn_cast<ReturnRowsOp>(op))
    return visitExchange(returned);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// 5. Numbers
//===----------------------------------------------------------------------===//

void Sizing::setPositionRuns() {
  module.walk([&](Operation *op) {
    if (!runsOf(op))
      return;
    llvm::TypeSwitch<Operation *>(op)
        .Case<ExpertOrderOp, DispatchOp, CombineOp, CombineWeightGradientOp>(
            [&](auto own) {
              own.setPositionRuns(static_cast<uint64_t>(positions));
            });
  });
}

/// An even share of the choices is as many rows as a run has sent; rows have
/// their sizes of before.
template <typename OpT> void Sizing::setExpectedRows(OpT op) {
  Value ranges = op.getRanges();
  if (!ranges || cast<ShapedType>(ranges.getType()).getRank() != 4)
    return;
  Value rows = groupedRowsOf(op).first;
  auto before = static_cast<int64_t>(op.getExpectedRows());
  if (before == 0)
    before = sizeOf(rows, 1);
  std::optional<int64_t> all = trained.apply(before * sizeOf(rows, 0));
  bool isShared = plan.ep > 1 && all;
  op.setExpectedRows(isShared ? static_cast<uint64_t>(*all / runs) : 0);
}

void Sizing::setNumbers() {
  module.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<GroupedLinearOp, GroupedLinearInputGradientOp,
              GroupedLinearWeightGradientOp>(
            [&](auto linear) { setExpectedRows(linear); })
        .Case([&](ConstantOp constant) {
          if (constant.getPerSequences() == 0)
            return;
          double share = static_cast<double>(trained.down) /
                         static_cast<double>(trained.up);
          constant.setValue(APFloat(
              constant.getValue().convertToDouble() *
              std::pow(share,
                       static_cast<double>(constant.getPerSequences()))));
        });
  });
}

void Sizing::setTraining() {
  int64_t micro = plan.microBatch * plan.dp;
  training.setMicroBatchSize(static_cast<uint64_t>(micro));
  auto most = static_cast<uint64_t>(training.getMostMicrobatches());
  for (auto step : module.getOps<StepOp>()) {
    step.setMicrobatches(most);
    step.setRampup(training.getRampup());
  }
  module.walk([&](GradientScaleOp scale) {
    if (scale.getMicrobatches())
      scale.setMicrobatches(most);
  });
}

//===----------------------------------------------------------------------===//
// 6. Exchanges
//===----------------------------------------------------------------------===//

/// Where every run holds all experts, rows stay where they are.
void Sizing::eraseExchanges() {
  SmallVector<Operation *> erased;
  module.walk([&](Operation *op) {
    if (isa<ExchangeRowsOp, ReturnRowsOp>(op) &&
        op->getOperand(0).getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      erased.push_back(op);
    }
  });
  for (Operation *op : erased)
    op->erase();
  SmallVector<ExpertSegmentsOp> segments;
  module.walk([&](ExpertSegmentsOp op) { segments.push_back(op); });
  for (ExpertSegmentsOp op : segments) {
    op.getResult().replaceUsesWithIf(op.getRanges(), [](OpOperand &use) {
      return isa<GroupedLinearOp, GroupedLinearInputGradientOp,
                 GroupedLinearWeightGradientOp>(use.getOwner());
    });
    if (op.use_empty())
      op.erase();
  }
}

//===----------------------------------------------------------------------===//
// 7. Positions
//===----------------------------------------------------------------------===//

/// The rows of a table at all positions of a sequence, in their order, are its
/// first ones; and so are the rows that such a lookup gives a gradient.
static void takePrefix(Operation *user) {
  OpBuilder builder(user);
  Value result = user->getResult(0), rows;
  auto type = cast<RankedTensorType>(result.getType());
  if (auto lookup = dyn_cast<EmbeddingOp>(user)) {
    rows = lookup.getTable();
    if (rows.getType() != type)
      rows = builder.create<PrefixOp>(user->getLoc(), type, rows);
  } else {
    rows = matching(builder, cast<EmbeddingGradientOp>(user).getGrad(), result);
    if (rows.getType() != type)
      rows = builder.create<PadRowsOp>(user->getLoc(), type, rows);
  }
  result.replaceAllUsesWith(rows);
  user->erase();
}

void Sizing::takePrefixes() {
  SmallVector<PositionsOp> found;
  module.walk([&](PositionsOp op) {
    if (op->getNumOperands() == 0 &&
        cast<ShapedType>(op.getResult().getType()).getRank() == 1)
      found.push_back(op);
  });
  for (PositionsOp op : found) {
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (isa<EmbeddingOp, EmbeddingGradientOp>(user))
        takePrefix(user);
    if (op->use_empty())
      op.erase();
  }
}

LogicalResult Sizing::run() {
  shareServedExperts();
  if (failed(seedEntries()))
    return failure();
  for (Stage stage : {Stage::Sequences, Stage::Runs, Stage::Room})
    if (failed(carry(stage)))
      return failure();
  setNumbers();
  setPositionRuns();
  if (failed(ratios.apply()))
    return failure();
  setTraining();
  if (plan.ep == 1)
    eraseExchanges();
  if (plan.cp == 1)
    takePrefixes();
  return success();
}

struct SizeMicrobatch : hocket::xf::impl::XfSizeMicrobatchBase<SizeMicrobatch> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(plan::stepAttrName))
      return;
    FailureOr<TrainingOp> training = findTraining(module);
    if (failed(training) || failed(Sizing(module, *training).run()))
      signalPassFailure();
  }
};

} // namespace
