//===- RandomWords.cpp - Philox on vectors --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/RandomWords.h"

#include "compiler/targets/cpu/ScalarOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace hocket::cpu {

using Words = std::array<Value, 4>;

/// Low and high halves of the product of `a` with a constant.
static std::pair<Value, Value> multiply(LoopBuilder &b, Value a,
                                        uint32_t factor) {
  Value constant = constantInt(b, b.getLoc(), a.getType(), factor);
  auto product = b.create<arith::MulUIExtendedOp>(a, constant);
  return {product.getLow(), product.getHigh()};
}

/// Philox4x32-10 of every lane of `blocks` (vector of i64 block numbers).
static Words philox(LoopBuilder &b, const RandomKey &key, Value blocks) {
  VectorType i32 = b.vectorOf(b.getI32Type());
  Value shift = constantInt(b, b.getLoc(), blocks.getType(), 32);
  Value high = b.create<arith::ShRUIOp>(blocks, shift);
  Words c = {b.create<arith::TruncIOp>(i32, blocks),
             b.create<arith::TruncIOp>(i32, high), b.splat(key.stream),
             b.splat(key.step)};
  // The key schedule is scalar: it is the same for every element.
  Value k0 = key.seedLow, k1 = key.seedHigh;
  Value bump0 = constantInt(b, b.getLoc(), k0.getType(), 0x9E3779B9);
  Value bump1 = constantInt(b, b.getLoc(), k1.getType(), 0xBB67AE85);
  for (int round = 0; round < 10; ++round) {
    auto [low0, high0] = multiply(b, c[0], 0xD2511F53);
    auto [low1, high1] = multiply(b, c[2], 0xCD9E8D57);
    Value n0 = b.create<arith::XOrIOp>(b.create<arith::XOrIOp>(high1, c[1]),
                                       b.splat(k0));
    Value n2 = b.create<arith::XOrIOp>(b.create<arith::XOrIOp>(high0, c[3]),
                                       b.splat(k1));
    c = {n0, low1, n2, low0};
    k0 = b.create<arith::AddIOp>(k0, bump0);
    k1 = b.create<arith::AddIOp>(k1, bump1);
  }
  return c;
}

/// first, first + 1, ... as vector<W x i64>.
static Value consecutive(LoopBuilder &b, Value first) {
  SmallVector<int64_t> lanes;
  for (unsigned lane = 0; lane < b.width; ++lane)
    lanes.push_back(lane);
  VectorType type = b.vectorOf(b.getI64Type());
  Value iota = b.create<arith::ConstantOp>(
      type, DenseElementsAttr::get(type, ArrayRef<int64_t>(lanes)));
  return b.create<arith::AddIOp>(b.splat(first), iota);
}

Value randomWords(LoopBuilder &b, const RandomKey &key, Value first) {
  Value elements = consecutive(b, first);
  Value two = constantInt(b, b.getLoc(), elements.getType(), 2);
  Words words = philox(b, key, b.create<arith::ShRUIOp>(elements, two));
  VectorType i32 = b.vectorOf(b.getI32Type());
  auto constant = [&](int64_t c) { return constantInt(b, b.getLoc(), i32, c); };
  Value which = b.create<arith::AndIOp>(
      b.create<arith::TruncIOp>(i32, elements), constant(3));
  Value word = words[3];
  for (int i = 2; i >= 0; --i) {
    Value here =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, which, constant(i));
    word = b.create<arith::SelectOp>(here, words[i], word);
  }
  return word;
}

Words randomWordsOfFour(LoopBuilder &b, const RandomKey &key, Value first) {
  Words words = philox(b, key, consecutive(b, b.div(first, 4)));
  int64_t width = b.width;
  SmallVector<int64_t> zip;
  for (int64_t lane = 0; lane < width; ++lane)
    zip.append({lane, width + lane});
  Value even = b.create<vector::ShuffleOp>(words[0], words[2], zip);
  Value odd = b.create<vector::ShuffleOp>(words[1], words[3], zip);
  // Element e is word e & 3 of block e >> 2: even words lie at 2 * block and
  // 2 * block + 1 of `even`, odd ones likewise of `odd`.
  Words out;
  for (int64_t i = 0; i < 4; ++i) {
    SmallVector<int64_t> lanes;
    for (int64_t e = i * width; e < (i + 1) * width; ++e)
      lanes.push_back((e & 1) * 2 * width + (e >> 2) * 2 + ((e >> 1) & 1));
    out[i] = b.create<vector::ShuffleOp>(even, odd, lanes);
  }
  return out;
}

} // namespace hocket::cpu
