//===- ElementPlaces.cpp - Elements of a shard in the whole ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/ElementPlaces.h"

#include "compiler/targets/cpu/ScalarBuilders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace hocket::cpu {

using loops::WholeElements;

namespace {
/// Arithmetic on one type, an i64 or a vector of them.
struct Integers {
  LoopBuilder &b;
  Type type;

  Value constant(int64_t value) const {
    return constantInt(b, b.getLoc(), type, value);
  }
  Value like(Value scalar) const {
    return isa<VectorType>(type) ? b.splat(scalar) : scalar;
  }
  Value add(Value x, Value y) const { return b.create<arith::AddIOp>(x, y); }
  Value mul(Value x, int64_t y) const {
    return y == 1 ? x : b.create<arith::MulIOp>(x, constant(y)).getResult();
  }
  Value div(Value x, int64_t y) const {
    return b.create<arith::DivUIOp>(x, constant(y));
  }
  Value rem(Value x, int64_t y) const {
    return b.create<arith::RemUIOp>(x, constant(y));
  }

  /// kernels::storedPosition().
  Value unfold(Value row, const WholeElements::Dim &dim) const {
    int64_t own = 2 * dim.rounds, width = dim.rows / (dim.part * dim.rounds);
    Value stored = div(row, dim.part), rank = div(stored, own);
    Value back = b.create<arith::SubIOp>(constant(width - 1), rank);
    Value odd = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                        rem(stored, 2), constant(0));
    Value number = b.create<arith::SelectOp>(odd, back, rank);
    if (dim.rounds > 1)
      number = add(number, mul(div(rem(stored, own), 2), width));
    return add(mul(number, dim.part), rem(row, dim.part));
  }
};
} // namespace

static Value placeIn(LoopBuilder &b, const WholeElements::Dim &dim,
                     ArrayRef<Value> starts, Value row) {
  Integers integers{b, row.getType()};
  if (dim.start >= 0) {
    Value first = b.mul(starts[dim.start], b.index(dim.inner));
    row = integers.add(row, integers.like(first));
  }
  if (dim.part > 0)
    row = integers.unfold(row, dim);
  return integers.mul(row, dim.stride);
}

Value placeInWhole(LoopBuilder &b, const WholeElements &whole,
                   ArrayRef<Value> starts, Value element) {
  Integers integers{b, element.getType()};
  Value place;
  for (const WholeElements::Dim &dim : whole.dimensions()) {
    bool last = &dim == &whole.dimensions().back();
    Value row = last ? element : integers.rem(element, dim.extent);
    if (!last)
      element = integers.div(element, dim.extent);
    Value mine = placeIn(b, dim, starts, row);
    place = place ? integers.add(place, mine) : mine;
  }
  return place ? place : element;
}

} // namespace hocket::cpu
