//===- hocket-reduce.cpp - Make a failing module small --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Removes what does not matter from a .mlir file for as long as a test script
// still calls it interesting, e.g.
//
//   hocket-reduce bad.mlir --reduction-tree='traversal-mode=0 test=./test.sh'
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Registration.h"

#include "mlir/Reducer/Passes.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  hocket::registerDialects(registry);
  hocket::registerPasses();
  mlir::MLIRContext context(registry);
  return failed(mlir::mlirReduceMain(argc, argv, context));
}
