//===- hocket-translate.cpp - Other formats to IR and back ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// mlir-translate for Hocket: `--spec-to-xf` makes IR of a specification,
/// `--kern-to-loops`, `--kern-to-llvmir` and `--kern-to-asm` print what becomes
/// of kernels on the CPU, `--kern-to-cuda` what they are on a GPU.
///
//===----------------------------------------------------------------------===//

#include "compiler/driver/Registration.h"
#include "compiler/targets/cpu/Translation.h"
#include "compiler/targets/cuda/Translation.h"
#include "frontends/spec/build/BuildModel.h"

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  hocket::spec::registerSpecTranslation();
  hocket::cpu::registerKernelTranslations(hocket::registerDialects);
  hocket::cuda::registerKernelTranslation(hocket::registerDialects);
  return failed(
      mlir::mlirTranslateMain(argc, argv, "Hocket's translation driver\n"));
}
