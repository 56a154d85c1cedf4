//===- RandomWords.h - Philox on vectors ------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The words of kernels/reference/Philox.h for a vector of elements. A block of
/// four words serves four elements, so four vectors of consecutive elements,
/// beginning at a multiple of four, cost four times less than each for itself.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CPU_RANDOMWORDS_H
#define HOCKET_COMPILER_TARGETS_CPU_RANDOMWORDS_H

#include "compiler/targets/cpu/LoopBuilder.h"

#include <array>

namespace hocket::cpu {

/// What the words depend on beside the element, as scalars of type i32.
struct RandomKey {
  mlir::Value seedLow, seedHigh, stream, step;
};

/// first, first + 1, ... as vector<W x i64>.
mlir::Value consecutive(LoopBuilder &builder, mlir::Value first);

/// The words (vector<W x i32>) of the elements (vector<W x i64>), any ones.
mlir::Value randomWords(LoopBuilder &builder, const RandomKey &key,
                        mlir::Value elements);

/// The words of four vectors: elements first .. first + 4 W - 1, where `first`
/// is a multiple of 4.
std::array<mlir::Value, 4> randomWordsOfFour(LoopBuilder &builder,
                                             const RandomKey &key,
                                             mlir::Value first);

} // namespace hocket::cpu

#endif // HOCKET_COMPILER_TARGETS_CPU_RANDOMWORDS_H
