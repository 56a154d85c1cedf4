//===- ReferenceTensor.cpp - Tensors of the reference evaluation ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/ReferenceTensor.h"

#include "kernels/reference/Philox.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

using namespace hocket::xf;

ReferenceTensor::ReferenceTensor(llvm::ArrayRef<int64_t> dims, double value)
    : shape(dims.begin(), dims.end()) {
  int64_t elements = 1;
  for (int64_t dim : dims)
    elements *= dim;
  values.assign(elements, value);
}

ReferenceTensor hocket::xf::zerosOf(mlir::Type type) {
  if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(type))
    return ReferenceTensor(shaped.getShape());
  return ReferenceTensor(llvm::ArrayRef<int64_t>{});
}

double hocket::xf::roundTo(mlir::Type elementType, double value) {
  if (elementType.isF32())
    return static_cast<float>(value);
  auto type = mlir::dyn_cast<mlir::FloatType>(elementType);
  if (!type || type.isF64())
    return value;
  llvm::APFloat rounded(value);
  bool losesInformation;
  rounded.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &losesInformation);
  rounded.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInformation);
  return rounded.convertToDouble();
}

uint32_t EvaluationContext::randomWord(uint32_t stream, int64_t elements,
                                       int64_t index) const {
  kernels::RandomStream random{seed, stream, step};
  return kernels::randomWord(random, microbatch * elements + index);
}

double EvaluationContext::keepScale(double probability, uint32_t stream,
                                    int64_t elements, int64_t index) const {
  if (probability <= 0)
    return 1;
  bool kept = randomWord(stream, elements, index) >=
              kernels::dropoutThreshold(probability);
  return kept ? 1 / (1 - probability) : 0;
}

double EvaluationContext::jitter(double width, uint32_t stream,
                                 int64_t elements, int64_t index) const {
  return kernels::jitterOf(randomWord(stream, elements, index), width);
}
