//===- hocket-lsp-server.cpp - Hocket's IR in an editor -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// A language server for .mlir files with Hocket's dialects: definitions,
// types on hover, diagnostics while typing.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Registration.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  hocket::registerDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
