//===- ExecDialect.td - The executable dialect ---------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_EXEC_EXECDIALECT
#define HOCKET_DIALECTS_EXEC_EXECDIALECT

include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::hocket::exec";
  let summary = "In which bytes and on which stream";
  let description = [{
    What one role executes: buffers at fixed offsets of one arena, and straight
    lines of instructions on them. Buffers are `memref` values, so that an
    instruction reads like a call. Nothing is left to decide.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

#endif
