//===- WholeElements.cpp - Elements of a piece in the whole ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/WholeElements.h"

#include "compiler/targets/cpu/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

using namespace mlir;

namespace hocket::cpu {

WholeElements::WholeElements(kern::KeepScaleOp op) {
  ArrayRef<int64_t> piece = op.getPiece(), whole = op.getWhole();
  if (piece.empty())
    return;
  total = 1;
  int start = static_cast<int>(op.getDims().size()) - 1;
  for (size_t i = piece.size(); i-- > 0;) {
    Dim dim{piece[i], total, whole[i], 1};
    if (!dims.empty() && dims.back().start < 0) {
      Dim joined = dims.pop_back_val();
      dim = {piece[i] * joined.extent, joined.stride, whole[i] * joined.extent,
             joined.extent};
    }
    if (start >= 0 && op.getDims()[start] == static_cast<int64_t>(i)) {
      dim.part = op.getParts()[start] * dim.inner;
      dim.start = start--;
    }
    dims.push_back(dim);
    total *= whole[i];
  }
}

int64_t WholeElements::run() const {
  if (dims.empty())
    return INT64_MAX;
  const Dim &dim = dims.front();
  return dim.part > 0 ? std::gcd(dim.part, dim.extent) : dim.extent;
}

bool WholeElements::keepsBlocks() const {
  for (const Dim &dim : dims)
    if ((dim.start >= 0 && dim.inner * dim.stride % 4 != 0) ||
        (dim.stride != 1 && dim.stride % 4 != 0))
      return false;
  return total % 4 == 0 && (dims.empty() || run() % 4 == 0);
}

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

  /// kernels::unfold().
  Value unfold(Value row, int64_t rows, int64_t part) const {
    Value stored = div(row, part), half = div(stored, 2);
    Value back = b.create<arith::SubIOp>(constant(rows / part - 1), half);
    Value odd = b.create<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                        rem(stored, 2), constant(0));
    Value number = b.create<arith::SelectOp>(odd, back, half);
    return add(mul(number, part), rem(row, part));
  }
};
} // namespace

Value WholeElements::placeIn(LoopBuilder &b, const Dim &dim,
                             ArrayRef<Value> starts, Value row) const {
  Integers integers{b, row.getType()};
  if (dim.start >= 0) {
    Value first = b.mul(starts[dim.start], b.index(dim.inner));
    row = integers.add(row, integers.like(first));
  }
  if (dim.part > 0)
    row = integers.unfold(row, dim.rows, dim.part);
  return integers.mul(row, dim.stride);
}

Value WholeElements::place(LoopBuilder &b, ArrayRef<Value> starts,
                           Value element) const {
  Integers integers{b, element.getType()};
  Value place;
  for (const Dim &dim : dims) {
    bool last = &dim == &dims.back();
    Value row = last ? element : integers.rem(element, dim.extent);
    if (!last)
      element = integers.div(element, dim.extent);
    Value mine = placeIn(b, dim, starts, row);
    place = place ? integers.add(place, mine) : mine;
  }
  return place ? place : element;
}

} // namespace hocket::cpu
