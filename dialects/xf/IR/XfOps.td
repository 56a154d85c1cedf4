//===- XfOps.td - Operations of the transformer dialect ----*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFOPS
#define HOCKET_DIALECTS_XF_XFOPS

include "dialects/xf/IR/XfModelOps.td"
include "dialects/xf/IR/XfExpertOps.td"
include "dialects/xf/IR/XfGradientOps.td"
include "dialects/xf/IR/XfShardOps.td"
include "dialects/xf/IR/XfQuantizeOps.td"
include "dialects/xf/IR/XfStepOps.td"
include "dialects/xf/IR/XfInferenceOps.td"
include "dialects/xf/IR/XfStateOps.td"

#endif
