//===- hocket-opt.cpp - Runs passes on IR ---------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// mlir-opt for Hocket: every dialect, every pass and every named pipeline,
/// with MLIR's own flags.
///
//===----------------------------------------------------------------------===//

#include "compiler/tools/Registration.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  hocket::registerDialects(registry);
  hocket::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Hocket's optimizer driver\n", registry));
}
