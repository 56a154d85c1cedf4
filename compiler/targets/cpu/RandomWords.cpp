//===- RandomWords.cpp - Philox on vectors --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/RandomWords.h"

#include "compiler/targets/cpu/ScalarBuilders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace hocket::cpu {

using Words = std::array<Value, 4>;

/// Philox4x32-10 of every lane of `blocks` (vector<W x i64> of block numbers).
/// A word lies in the low half of its lane, as the 32 x 32 bit multiplication
/// of every instruction set wants it; the high halves hold anything.
static Words philox(LoopBuilder &b, const RandomKey &key, Value blocks) {
  Type i64 = blocks.getType();
  auto constant = [&](uint32_t c) {
    return constantInt(b, b.getLoc(), i64, c);
  };
  auto wide = [&](Value scalar) {
    return b.splat(b.create<arith::ExtUIOp>(b.getI64Type(), scalar));
  };
  Value half = constant(32), low = constant(0xFFFFFFFF);
  auto multiply = [&](Value word, uint32_t factor) -> Value {
    return b.create<arith::MulIOp>(b.create<arith::AndIOp>(word, low),
                                   constant(factor));
  };
  auto mix = [&](Value product, Value word, Value keyWord) -> Value {
    Value high = b.create<arith::ShRUIOp>(product, half);
    return b.create<arith::XOrIOp>(b.create<arith::XOrIOp>(high, word),
                                   wide(keyWord));
  };
  Words c = {blocks, b.create<arith::ShRUIOp>(blocks, half), wide(key.stream),
             wide(key.step)};
  // The key schedule is scalar: it is the same for every element.
  Value k0 = key.seedLow, k1 = key.seedHigh;
  Value bump0 = constantInt(b, b.getLoc(), k0.getType(), 0x9E3779B9);
  Value bump1 = constantInt(b, b.getLoc(), k1.getType(), 0xBB67AE85);
  for (int round = 0; round < 10; ++round) {
    Value p0 = multiply(c[0], 0xD2511F53), p1 = multiply(c[2], 0xCD9E8D57);
    c = {mix(p1, c[1], k0), p1, mix(p0, c[3], k1), p0};
    k0 = b.create<arith::AddIOp>(k0, bump0);
    k1 = b.create<arith::AddIOp>(k1, bump1);
  }
  return c;
}

Value consecutive(LoopBuilder &b, Value first) {
  SmallVector<int64_t> lanes;
  for (unsigned lane = 0; lane < b.width; ++lane)
    lanes.push_back(lane);
  VectorType type = b.vectorOf(b.getI64Type());
  Value iota = b.create<arith::ConstantOp>(
      type, DenseElementsAttr::get(type, ArrayRef<int64_t>(lanes)));
  return b.create<arith::AddIOp>(b.splat(first), iota);
}

Value randomWords(LoopBuilder &b, const RandomKey &key, Value elements) {
  Value two = constantInt(b, b.getLoc(), elements.getType(), 2);
  Words words = philox(b, key, b.create<arith::ShRUIOp>(elements, two));
  VectorType i32 = b.vectorOf(b.getI32Type());
  auto constant = [&](int64_t c) { return constantInt(b, b.getLoc(), i32, c); };
  Value which = b.create<arith::AndIOp>(
      b.create<arith::TruncIOp>(i32, elements), constant(3));
  Value word = b.create<arith::TruncIOp>(i32, words[3]);
  for (int i = 2; i >= 0; --i) {
    Value here =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, which, constant(i));
    Value mine = b.create<arith::TruncIOp>(i32, words[i]);
    word = b.create<arith::SelectOp>(here, mine, word);
  }
  return word;
}

Words randomWordsOfFour(LoopBuilder &b, const RandomKey &key, Value first) {
  Words words = philox(b, key, consecutive(b, b.div(first, 4)));
  auto pair = [&](Value low, Value high) -> Value {
    Value mask = constantInt(b, b.getLoc(), low.getType(), 0xFFFFFFFF);
    Value half = constantInt(b, b.getLoc(), low.getType(), 32);
    return b.create<arith::OrIOp>(b.create<arith::AndIOp>(low, mask),
                                  b.create<arith::ShLIOp>(high, half));
  };
  // Lane l of `firsts` is words 0 and 1 of block l, of `seconds` 2 and 3.
  Value firsts = pair(words[0], words[1]), seconds = pair(words[2], words[3]);
  int64_t width = b.width;
  VectorType i32 = b.vectorOf(b.getI32Type());
  Words out;
  for (int64_t i = 0; i < 4; ++i) {
    SmallVector<int64_t> lanes;
    for (int64_t at = i * width / 2; at < (i + 1) * width / 2; ++at)
      lanes.push_back((at & 1) * width + (at >> 1));
    Value pairs = b.create<vector::ShuffleOp>(firsts, seconds, lanes);
    out[i] = b.create<vector::BitCastOp>(i32, pairs);
  }
  return out;
}

} // namespace hocket::cpu
