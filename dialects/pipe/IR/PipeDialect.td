//===- PipeDialect.td - The pipeline dialect ---------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_PIPE_PIPEDIALECT
#define HOCKET_DIALECTS_PIPE_PIPEDIALECT

include "mlir/IR/OpBase.td"

def Pipe_Dialect : Dialect {
  let name = "pipe";
  let cppNamespace = "::hocket::pipe";
  let summary = "When each fragment runs";
  let description = [{
    The step cut into fragments, and the schedule as data: for each rank an
    ordered list of actions, each one run of a fragment for one microbatch.
  }];
  let dependentDialects = ["::hocket::step::StepDialect"];
  let useDefaultAttributePrinterParser = 1;
}

#endif
