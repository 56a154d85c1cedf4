//===- KernelEmitter.cpp - A planned kernel as loops ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/KernelEmitter.h"

#include "compiler/targets/cpu/ScalarBuilders.h"
#include "compiler/targets/cpu/ValueEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <memory>

using namespace mlir;

namespace hocket::cpu {
namespace {

class KernelEmitter {
public:
  KernelEmitter(const KernelPlan &plan, unsigned width, MLIRContext *context)
      : plan(plan), b(context, width) {}

  void run(ModuleOp module);

private:
  using StripBody =
      llvm::function_ref<SmallVector<Value>(const Strip &, ValueRange)>;

  void emitTask(Value task);
  void emitRow(Value low, Value high);
  void emitPass(unsigned stage, Value low, Value high);
  void emitColumnSums(Value low, Value high);
  SmallVector<Value> emitRowsOfStrip(const Strip &strip);

  SmallVector<Value> forStrips(Value low, Value high, unsigned vectors,
                               ArrayRef<unsigned> carried, StripBody body);
  void forTail(Value low, Value high, llvm::function_ref<void(Mask)> body);
  unsigned vectorsAtATime(const PlanPass &pass) const;

  Value combine(kern::Reduction kind, Value a, Value b);
  Value neutral(kern::Reduction kind, Type type);
  Value acrossLanes(kern::Reduction kind, Value vector);

  const KernelPlan &plan;
  LoopBuilder b;
  std::unique_ptr<ValueEmitter> values;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Sums may take in the product that is added. Maxima keep a NaN, so that it
/// is seen.
Value KernelEmitter::combine(kern::Reduction kind, Value x, Value y) {
  if (kind == kern::Reduction::Add)
    return b.create<arith::AddFOp>(x, y, arith::FastMathFlags::contract);
  return b.create<arith::MaximumFOp>(x, y);
}

Value KernelEmitter::neutral(kern::Reduction kind, Type type) {
  double value = kind == kern::Reduction::Add
                     ? 0.0
                     : -std::numeric_limits<double>::infinity();
  return constantFloat(b, b.getLoc(), type, value);
}

/// Halves the vector until one element is left: a fixed order.
Value KernelEmitter::acrossLanes(kern::Reduction kind, Value vector) {
  for (int64_t lanes = b.width / 2; lanes >= 1; lanes /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < lanes; ++i)
      low.push_back(i), high.push_back(lanes + i);
    Value x = b.create<vector::ShuffleOp>(vector, vector, low);
    Value y = b.create<vector::ShuffleOp>(vector, vector, high);
    vector = combine(kind, x, y);
  }
  return b.create<vector::ExtractOp>(vector, ArrayRef<int64_t>{0});
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Runs `body` once with the mask of the last, incomplete vector, if the
/// columns [low, high) have one.
void KernelEmitter::forTail(Value low, Value high,
                            llvm::function_ref<void(Mask)> body) {
  int64_t rest = plan.cols % b.width;
  SmallVector<bool> lanes(b.width, false);
  std::fill_n(lanes.begin(), rest, true);
  VectorType type = b.vectorOf(b.getI1Type());
  Value mask = b.create<arith::ConstantOp>(
      type, DenseElementsAttr::get(type, ArrayRef<bool>(lanes)));
  if (plan.chunk == plan.cols) {
    body(Mask{mask});
    return;
  }
  // Only the last chunk has a tail.
  Value exists = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, low, high);
  auto branch = b.create<scf::IfOp>(exists);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body(Mask{mask});
}

/// Walks the columns [low, high): `vectors` vectors at a time, then one at a
/// time, then the masked rest. `carried` are the reductions whose accumulators
/// go along: each has one for each vector in the first loop, combined in order
/// into one for what follows. Returns one vector a reduction.
SmallVector<Value> KernelEmitter::forStrips(Value low, Value high,
                                            unsigned vectors,
                                            ArrayRef<unsigned> carried,
                                            StripBody body) {
  int64_t step = int64_t(vectors) * b.width;
  auto reduction = [&](size_t i) { return plan.nodes[carried[i]].reduction; };
  SmallVector<Value> state;
  for (size_t i = 0; i < carried.size(); ++i)
    state.push_back(neutral(reduction(i), b.vectorOf(b.getF32Type())));

  auto endOf = [&](int64_t multiple) -> Value {
    if (plan.cols % multiple == 0)
      return high;
    Value whole = b.div(b.sub(high, low), multiple);
    return b.add(low, b.mul(whole, b.index(multiple)));
  };
  Value at = low;
  if (vectors > 1 && plan.cols >= step) {
    Value end = endOf(step);
    SmallVector<Value> wide;
    for (Value one : state)
      wide.append(vectors, one);
    wide = b.loop(at, end, step, wide, [&](Value column, ValueRange in) {
      return body(Strip{column, vectors, {}}, in);
    });
    for (size_t i = 0; i < carried.size(); ++i) {
      auto mine = MutableArrayRef(wide).slice(i * vectors, vectors);
      for (unsigned n = vectors / 2; n >= 1; n /= 2)
        for (unsigned k = 0; k < n; ++k)
          mine[k] = combine(reduction(i), mine[k], mine[k + n]);
      state[i] = mine[0];
    }
    at = end;
  }
  bool single = vectors == 1 || plan.cols < step;
  if (plan.cols >= b.width && (single || plan.cols % step >= b.width)) {
    Value end = endOf(b.width);
    state = b.loop(at, end, b.width, state, [&](Value column, ValueRange in) {
      return body(Strip{column, 1, {}}, in);
    });
    at = end;
  }
  if (plan.cols % b.width != 0)
    forTail(at, high,
            [&](Mask mask) { state = body(Strip{at, 1, mask}, state); });
  return state;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// As many vectors at a time as hide the latency of what the pass does without
/// running out of registers.
unsigned KernelEmitter::vectorsAtATime(const PlanPass &pass) const {
  for (unsigned id : pass.nodes)
    if (plan.nodes[id].kind == PlanNode::Kind::KeepScale)
      return 4;
  unsigned vectors = pass.weight <= 8 ? 4 : pass.weight <= 24 ? 2 : 1;
  while (vectors > 1 && int64_t(vectors) * b.width > plan.cols)
    vectors /= 2;
  return vectors;
}

void KernelEmitter::emitPass(unsigned stage, Value low, Value high) {
  const PlanPass &pass = plan.passes[stage];
  bool stores = stage + 1 == plan.passes.size();
  SmallVector<unsigned> used(pass.nodes);
  for (unsigned id : pass.reductions)
    used.push_back(plan.nodes[id].operands[0]);
  if (stores)
    for (const PlanResult &result : plan.results)
      used.push_back(result.node);
  values->spread(used);
  auto body = [&](const Strip &strip, ValueRange in) {
    values->emitVectors({}, strip);
    values->readCache(pass.fromCache, strip);
    values->addVectors(pass.nodes, strip);
    values->writeCache(pass.toCache, strip);
    SmallVector<Value> next;
    for (auto [r, id] : llvm::enumerate(pass.reductions)) {
      const PlanNode &node = plan.nodes[id];
      for (unsigned i = 0; i < strip.vectors; ++i) {
        Value value = values->vector(node.operands[0], i);
        if (strip.mask.lanes)
          value = b.create<arith::SelectOp>(
              strip.mask.lanes, value,
              neutral(node.reduction, value.getType()));
        next.push_back(
            combine(node.reduction, in[r * strip.vectors + i], value));
      }
    }
    if (stores)
      values->storeStrip(strip);
    return next;
  };
  SmallVector<Value> reduced =
      forStrips(low, high, vectorsAtATime(pass), pass.reductions, body);
  for (auto [id, vector] : llvm::zip_equal(pass.reductions, reduced))
    values->define(id, acrossLanes(plan.nodes[id].reduction, vector));
}

void KernelEmitter::emitRow(Value low, Value high) {
  for (unsigned stage = 0; stage < plan.passes.size(); ++stage) {
    emitPass(stage, low, high);
    values->emitRowValues(stage + 1);
  }
  values->storeRow();
}

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

/// Sums all results of the strip's columns over all rows, in row order.
SmallVector<Value> KernelEmitter::emitRowsOfStrip(const Strip &strip) {
  SmallVector<unsigned> byColumn, byPoint;
  for (auto [id, node] : llvm::enumerate(plan.nodes)) {
    if (node.live && node.level == Level::Column)
      byColumn.push_back(id);
    if (node.live && node.level == Level::Full)
      byPoint.push_back(id);
  }
  values->spread(byColumn);
  values->emitVectors(byColumn, strip);
  SmallVector<unsigned> used(byColumn);
  used.append(byPoint);
  for (const PlanResult &result : plan.results)
    used.push_back(result.node);
  Value zero = constantFloat(b, b.getLoc(), b.vectorOf(b.getF32Type()), 0);
  SmallVector<Value> start(plan.results.size() * strip.vectors, zero);
  return b.loop(
      b.index(0), b.index(plan.rows), 1, start, [&](Value row, ValueRange in) {
        values->beginRow(row);
        values->spread(used);
        values->addVectors(byPoint, strip);
        SmallVector<Value> next;
        for (const PlanResult &result : plan.results)
          for (unsigned i = 0; i < strip.vectors; ++i)
            next.push_back(combine(kern::Reduction::Add, in[next.size()],
                                   values->vector(result.node, i)));
        return next;
      });
}

void KernelEmitter::emitColumnSums(Value low, Value high) {
  unsigned registers = b.width == 16 ? 16 : 8;
  unsigned vectors = 4;
  while (vectors > 1 && (vectors * plan.results.size() > registers ||
                         vectors * b.width > plan.chunk))
    vectors /= 2;
  forStrips(low, high, vectors, {}, [&](const Strip &strip, ValueRange) {
    values->storeColumns(emitRowsOfStrip(strip), strip);
    return SmallVector<Value>();
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void KernelEmitter::emitTask(Value task) {
  Value low = b.index(0), high = b.index(plan.cols);
  bool sums = plan.form == KernelPlan::Form::Columns;
  Value row = task;
  if (plan.chunk != plan.cols || sums) {
    int64_t chunks = plan.chunksPerRow();
    Value chunk = plan.rows == 1 || sums ? task : b.rem(task, chunks);
    row = plan.rows == 1 ? b.index(0) : b.div(task, chunks);
    low = b.mul(chunk, b.index(plan.chunk));
    high = b.min(b.add(low, b.index(plan.chunk)), b.index(plan.cols));
  }
  if (sums) {
    emitColumnSums(low, high);
    return;
  }
  values->beginRow(row);
  emitRow(low, high);
}

void KernelEmitter::run(ModuleOp module) {
  b.setInsertionPointToEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer, i64, i64});
  auto function = b.create<LLVM::LLVMFuncOp>(plan.symbol, type);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  values = std::make_unique<ValueEmitter>(b, plan, entry->getArgument(0),
                                          entry->getArgument(1));
  b.loop(entry->getArgument(2), entry->getArgument(3), 1, {},
         [&](Value task, ValueRange) {
           emitTask(task);
           return SmallVector<Value>();
         });
  b.create<LLVM::ReturnOp>(ValueRange());
}

void emitKernel(const KernelPlan &plan, unsigned width, ModuleOp module) {
  KernelEmitter(plan, width, module.getContext()).run(module);
}

} // namespace hocket::cpu
