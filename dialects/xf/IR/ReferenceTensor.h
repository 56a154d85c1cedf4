//===- ReferenceTensor.h - Tensors of the reference evaluation --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the reference evaluator computes with: f64 numbers in row-major order,
/// and the state of one microbatch of one step.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_REFERENCETENSOR_H
#define HOCKET_DIALECTS_XF_IR_REFERENCETENSOR_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::xf {

/// A tensor of any element type, its elements as f64. Owns them.
struct ReferenceTensor {
  llvm::SmallVector<int64_t> shape; ///< Empty: a scalar.
  std::vector<double> values;       ///< Row-major; one for a scalar.

  ReferenceTensor() = default;
  explicit ReferenceTensor(llvm::ArrayRef<int64_t> dims, double value = 0);
  ReferenceTensor(llvm::ArrayRef<int64_t> dims, std::vector<double> elements)
      : shape(dims.begin(), dims.end()), values(std::move(elements)) {}

  int64_t size() const { return static_cast<int64_t>(values.size()); }
  double &operator[](int64_t i) { return values[i]; }
  double operator[](int64_t i) const { return values[i]; }
  /// The size of dim `i`, counted from the end where negative.
  int64_t dim(int64_t i) const { return shape[i < 0 ? shape.size() + i : i]; }
};

/// A tensor of zeros of a ranked type's shape, or a scalar.
ReferenceTensor zerosOf(mlir::Type type);

/// `value` rounded to the element type (f64, f32, bf16, f16, 8 bits: to
/// nearest, ties to even; integers unchanged).
double roundTo(mlir::Type elementType, double value);

/// Which results the evaluator rounds to their element types; everything else
/// is f64.
enum class Rounding {
  None,
  Codes, ///< Those of 8 bits, whose rounding is what they are for.
  All,
};

/// What evaluation knows besides its operands.
struct EvaluationContext {
  uint64_t seed = 0;
  uint32_t step = 0;
  /// Which microbatch of the step: random elements are counted from its first.
  int64_t microbatch = 0;
  Rounding rounding = Rounding::None;

  llvm::StringMap<ReferenceTensor> variables; ///< By symbol name.
  llvm::StringMap<ReferenceTensor> inputs;    ///< `xf.input`, by name.
  llvm::StringMap<std::vector<ReferenceTensor>> outputs; ///< `xf.output`.

  /// 0 where dropout of probability `probability` drops element `index` of
  /// this microbatch's tensor of `elements`, else 1 / (1 - probability).
  double keepScale(double probability, uint32_t stream, int64_t elements,
                   int64_t index) const;
  /// What jitter of half width `width` scales the element by.
  double jitter(double width, uint32_t stream, int64_t elements,
                int64_t index) const;

private:
  uint32_t randomWord(uint32_t stream, int64_t elements, int64_t index) const;
};

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_IR_REFERENCETENSOR_H
