//===- Translation.cpp - Generated code as text ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/Translation.h"

#include "compiler/targets/cpu/KernelCompiler.h"

#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;

namespace hocket::cpu {

/// The texts of `module`'s kernels that `which` names.
static LogicalResult print(Operation *op, raw_ostream &stream,
                           std::string CompiledVariant::*which) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    return op->emitError("expected a module of kernels");
  CpuOptions options;
  options.keepMlir = which == &CompiledVariant::mlir;
  options.keepLlvm = which == &CompiledVariant::llvm;
  options.keepAssembly = which == &CompiledVariant::assembly;
  options.link = false;
  CompiledKernels compiled;
  if (failed(compileKernels(module, options, compiled)))
    return failure();
  for (const CompiledVariant &variant : compiled.variants)
    stream << "// isa: " << variant.isa << "\n" << variant.*which;
  return success();
}

void registerKernelTranslations(
    std::function<void(DialectRegistry &)> addDialects) {
  static TranslateFromMLIRRegistration loops(
      "kern-to-loops", "print kernels as loops over vectors",
      [](Operation *op, raw_ostream &stream) {
        return print(op, stream, &CompiledVariant::mlir);
      },
      addDialects);
  static TranslateFromMLIRRegistration llvmIr(
      "kern-to-llvmir", "print kernels as LLVM IR",
      [](Operation *op, raw_ostream &stream) {
        return print(op, stream, &CompiledVariant::llvm);
      },
      addDialects);
  static TranslateFromMLIRRegistration assembly(
      "kern-to-asm", "print kernels as assembly",
      [](Operation *op, raw_ostream &stream) {
        return print(op, stream, &CompiledVariant::assembly);
      },
      addDialects);
}

} // namespace hocket::cpu
