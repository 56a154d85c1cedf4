//===- ValueEmitter.cpp - The values of a kernel --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/ValueEmitter.h"

#include "compiler/targets/cpu/ElementPlaces.h"
#include "compiler/targets/cpu/RandomWords.h"
#include "compiler/targets/cpu/ScalarBuilders.h"
#include "kernels/reference/Philox.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace hocket::cpu {

using Kind = PlanNode::Kind;

ValueEmitter::ValueEmitter(LoopBuilder &builder, const KernelPlan &plan,
                           Value buffers, Value scalarArguments)
    : b(builder), plan(plan), scalarArguments(scalarArguments) {
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    inputs.push_back(b.loadPointer(buffers, i));
  for (size_t i = 0; i < plan.results.size(); ++i)
    results.push_back(b.loadPointer(buffers, plan.inputs.size() + i));
  if (plan.caches != 0) {
    int64_t elements = (plan.cols + b.width - 1) / b.width * b.width;
    Value count = b.index(elements);
    for (unsigned i = 0; i < plan.caches; ++i)
      caches.push_back(b.create<LLVM::AllocaOp>(
          buffers.getType(), b.getF32Type(), count, /*alignment=*/64));
  }
  if (plan.usesRandom) {
    Value seed = b.loadInteger(scalarArguments, 0);
    Value high = b.create<arith::ShRUIOp>(seed, b.index(32));
    seedLow = b.create<arith::TruncIOp>(b.getI32Type(), seed);
    seedHigh = b.create<arith::TruncIOp>(b.getI32Type(), high);
    step = b.create<arith::TruncIOp>(b.getI32Type(),
                                     b.loadInteger(scalarArguments, 1));
    microbatch = b.loadInteger(scalarArguments, 2);
  }
  if (plan.accumulates)
    addsUp =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                b.loadInteger(scalarArguments, 3), b.index(0));
  for (auto [id, node] : llvm::enumerate(plan.nodes))
    if (node.live && node.level == Level::Scalar)
      scalars[id] = emitScalar(node);
}

//===----------------------------------------------------------------------===//
// Scalars and row values
//===----------------------------------------------------------------------===//

Value ValueEmitter::rowBase(const PlanBuffer &buffer, Value base) {
  switch (buffer.access) {
  case kern::Access::Full:
    return b.address(base, b.mul(row, b.index(plan.cols)), buffer.element);
  case kern::Access::Tiled:
    return b.address(base, b.mul(b.rem(row, buffer.rows), b.index(plan.cols)),
                     buffer.element);
  case kern::Access::Row:
    return b.address(base, row, buffer.element);
  case kern::Access::Col:
  case kern::Access::Scalar:
    return base;
  }
  llvm_unreachable("an access that the enumeration lacks");
}

Value ValueEmitter::emitScalar(const PlanNode &node) {
  if (node.kind == Kind::Instance) {
    Value instance = b.loadInteger(scalarArguments, 4 + node.index);
    return b.create<arith::TruncIOp>(b.getI32Type(), instance);
  }
  if (node.kind == Kind::Input) {
    const PlanBuffer &buffer = plan.inputs[node.index];
    return b.loadScalar(rowBase(buffer, inputs[node.index]), buffer.element);
  }
  SmallVector<Value> operands;
  for (unsigned operand : node.operands)
    operands.push_back(scalars.lookup(operand));
  return emitOperation(node, operands, /*vector=*/false);
}

Value ValueEmitter::emitOperation(const PlanNode &node,
                                  ArrayRef<Value> operands, bool vector) {
  if (node.kind == Kind::Same)
    return operands[0];
  Type type = translateScalarType(node.type, b.getContext());
  if (vector)
    type = b.vectorOf(type);
  return buildScalarOp(b, b.getLoc(), *node.op, operands, type);
}

void ValueEmitter::beginRow(Value index) {
  row = index;
  emitRowValues(0);
}

void ValueEmitter::emitRowValues(unsigned stage) {
  for (auto [id, node] : llvm::enumerate(plan.nodes))
    if (node.live && node.level == Level::Row && node.stage == stage &&
        node.kind != Kind::Reduction)
      scalars[id] = emitScalar(node);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value ValueEmitter::columnOf(const Strip &strip, unsigned i) {
  return b.add(strip.column, b.index(int64_t(i) * b.width));
}

Mask ValueEmitter::maskOf(const Strip &strip, unsigned i) {
  return i + 1 == strip.vectors ? strip.mask : Mask();
}

void ValueEmitter::spread(ArrayRef<unsigned> nodes) {
  spreads.clear();
  auto add = [&](unsigned id) {
    if (!plan.isVector(id) && scalars.count(id) && !spreads.count(id))
      spreads[id] = b.splat(scalars[id]);
  };
  for (unsigned id : nodes) {
    add(id);
    for (unsigned operand : plan.nodes[id].operands)
      add(operand);
  }
}

Value ValueEmitter::vector(unsigned node, unsigned i) {
  if (!plan.isVector(node))
    return spreads.lookup(node);
  return vectors.find(node)->second[i];
}

/// A walk down a few columns is too wide a stride for the processor to foresee.
void ValueEmitter::prefetchRowsAhead(const PlanBuffer &buffer, Value address,
                                     unsigned vectors) {
  constexpr int64_t rowsAhead = 16, lineBytes = 64;
  if (plan.rows < 2 * rowsAhead)
    return;
  int64_t bytes = bytesOf(buffer.element), perLine = lineBytes / bytes;
  Value ahead =
      b.address(address, b.index(rowsAhead * plan.cols), buffer.element);
  for (int64_t at = 0; at < vectors * b.width; at += perLine)
    b.prefetch(b.address(ahead, b.index(at), buffer.element));
}

void ValueEmitter::emitInput(unsigned id, const Strip &strip) {
  unsigned index = plan.nodes[id].index;
  const PlanBuffer &buffer = plan.inputs[index];
  Value base = rowBase(buffer, inputs[index]);
  if (plan.form == KernelPlan::Form::Columns &&
      buffer.access == kern::Access::Full)
    prefetchRowsAhead(buffer, b.address(base, strip.column, buffer.element),
                      strip.vectors);
  for (unsigned i = 0; i < strip.vectors; ++i) {
    Value where = b.address(base, columnOf(strip, i), buffer.element);
    vectors[id].push_back(
        b.loadVector(where, buffer.element, maskOf(strip, i)));
  }
}

Value ValueEmitter::emitRandom(const PlanNode &node, Value words) {
  auto op = cast<kern::KeepScaleOp>(node.op);
  double rate = op.getRate().convertToDouble();
  Type type = b.vectorOf(b.getF32Type());
  auto integer = [&](int64_t value) {
    return constantInt(b, b.getLoc(), words.getType(), value);
  };
  auto number = [&](double value) {
    return constantFloat(b, b.getLoc(), type, static_cast<float>(value));
  };
  if (op.getJitter()) {
    Value bits =
        b.create<arith::ShRUIOp>(words, integer(32 - kernels::jitterBits));
    Value counted = b.create<arith::SIToFPOp>(type, bits);
    return b.create<math::FmaOp>(counted, number(kernels::jitterStep(rate)),
                                 number(1 - rate));
  }
  Value kept =
      b.create<arith::CmpIOp>(arith::CmpIPredicate::uge, words,
                              integer(kernels::dropoutThreshold(rate)));
  return b.create<arith::SelectOp>(kept, number(1.0 / (1.0 - rate)), number(0));
}

void ValueEmitter::emitKeepScale(unsigned id, const Strip &strip) {
  const PlanNode &node = plan.nodes[id];
  auto op = cast<kern::KeepScaleOp>(node.op);
  Value stream = constantInt(b, b.getLoc(), b.getI32Type(),
                             static_cast<int64_t>(op.getStream()) * 65536);
  if (op.getInstance())
    stream = b.create<arith::AddIOp>(stream, scalars.lookup(node.operands[0]));
  RandomKey key{seedLow, seedHigh, stream, step};
  loops::WholeElements whole(op);
  SmallVector<Value> starts;
  for (unsigned operand : ArrayRef(node.operands).take_back(op.getAt().size()))
    starts.push_back(
        b.create<arith::ExtSIOp>(b.getI64Type(), scalars.lookup(operand)));
  Value base = b.mul(microbatch,
                     b.index(whole.size() > 0 ? whole.size() : plan.points()));
  Value rowStart = b.mul(row, b.index(plan.cols));
  // Whether a row's elements follow each other in the whole.
  bool together = whole.size() == 0 || whole.run() % plan.cols == 0;
  if (together)
    rowStart = b.add(base, placeInWhole(b, whole, starts, rowStart));
  auto &out = vectors[id];
  if (together && strip.vectors == 4 && plan.cols % 4 == 0 &&
      whole.keepsBlocks()) {
    Value first = b.add(rowStart, strip.column);
    for (Value words : randomWordsOfFour(b, key, first))
      out.push_back(emitRandom(node, words));
    return;
  }
  for (unsigned i = 0; i < strip.vectors; ++i) {
    Value elements = consecutive(b, b.add(rowStart, columnOf(strip, i)));
    if (!together)
      elements = b.create<arith::AddIOp>(
          placeInWhole(b, whole, starts, elements), b.splat(base));
    out.push_back(emitRandom(node, randomWords(b, key, elements)));
  }
}

void ValueEmitter::emitVectors(ArrayRef<unsigned> nodes, const Strip &strip) {
  vectors.clear();
  addVectors(nodes, strip);
}

void ValueEmitter::addVectors(ArrayRef<unsigned> nodes, const Strip &strip) {
  for (unsigned id : nodes) {
    const PlanNode &node = plan.nodes[id];
    if (node.kind == Kind::Input) {
      emitInput(id, strip);
      continue;
    }
    if (node.kind == Kind::KeepScale) {
      emitKeepScale(id, strip);
      continue;
    }
    SmallVector<Value, 4> out;
    for (unsigned i = 0; i < strip.vectors; ++i) {
      SmallVector<Value> operands;
      for (unsigned operand : node.operands)
        operands.push_back(vector(operand, i));
      out.push_back(emitOperation(node, operands, /*vector=*/true));
    }
    vectors[id] = std::move(out);
  }
}

void ValueEmitter::readCache(ArrayRef<unsigned> nodes, const Strip &strip) {
  for (unsigned id : nodes)
    for (unsigned i = 0; i < strip.vectors; ++i)
      vectors[id].push_back(
          b.loadVector(b.address(caches[plan.nodes[id].cache],
                                 columnOf(strip, i), Element::F32),
                       Element::F32, Mask()));
}

void ValueEmitter::writeCache(ArrayRef<unsigned> nodes, const Strip &strip) {
  for (unsigned id : nodes)
    for (unsigned i = 0; i < strip.vectors; ++i)
      b.storeVector(vector(id, i),
                    b.address(caches[plan.nodes[id].cache], columnOf(strip, i),
                              Element::F32),
                    Element::F32, Mask());
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void ValueEmitter::storeRow() {
  for (auto [i, result] : llvm::enumerate(plan.results)) {
    if (result.buffer.access != kern::Access::Row)
      continue;
    Value where = rowBase(result.buffer, results[i]);
    Value value = scalars.lookup(result.node);
    if (plan.accumulates) {
      Value old = b.loadScalar(where, result.buffer.element);
      Value sum = b.create<arith::AddFOp>(old, value);
      value = b.create<arith::SelectOp>(addsUp, sum, value);
    }
    b.storeScalar(value, where, result.buffer.element);
  }
}

void ValueEmitter::storeStrip(const Strip &strip) {
  for (auto [r, result] : llvm::enumerate(plan.results)) {
    if (result.buffer.access != kern::Access::Full)
      continue;
    Value base = rowBase(result.buffer, results[r]);
    for (unsigned i = 0; i < strip.vectors; ++i)
      b.storeVector(vector(result.node, i),
                    b.address(base, columnOf(strip, i), result.buffer.element),
                    result.buffer.element, maskOf(strip, i));
  }
}

void ValueEmitter::storeColumns(ArrayRef<Value> sums, const Strip &strip) {
  for (auto [r, result] : llvm::enumerate(plan.results))
    for (unsigned i = 0; i < strip.vectors; ++i) {
      Element element = result.buffer.element;
      Value where = b.address(results[r], columnOf(strip, i), element);
      Value sum = sums[r * strip.vectors + i];
      Value old = b.loadVector(where, element, maskOf(strip, i));
      Value both = b.create<arith::AddFOp>(old, sum);
      Value kept = b.create<arith::SelectOp>(addsUp, both, sum);
      b.storeVector(kept, where, element, maskOf(strip, i));
    }
}

} // namespace hocket::cpu
