//===- Translation.cpp - CUDA C++ as a translation ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cuda/Translation.h"

#include "compiler/targets/cuda/KernelText.h"

#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;

namespace hocket::cuda {

static LogicalResult print(Operation *op, raw_ostream &stream) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    return op->emitError("expected a module of kernels");
  std::vector<CudaKernel> kernels;
  if (failed(writeKernels(module, kernels)))
    return failure();
  stream << sourceOf(kernels);
  return success();
}

void registerKernelTranslation(
    std::function<void(DialectRegistry &)> addDialects) {
  static TranslateFromMLIRRegistration cuda(
      "kern-to-cuda", "print kernels as CUDA C++", print, addDialects);
}

} // namespace hocket::cuda
