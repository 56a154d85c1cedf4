//===- DistDialect.td - The distribution dialect -----------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_DIST_DISTDIALECT
#define HOCKET_DIALECTS_DIST_DISTDIALECT

include "mlir/IR/OpBase.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::hocket::dist";
  let summary = "Where each shard lives";
  let description = [{
    A device mesh with named axes, and shardings of tensors over them. At this
    level tensors are local: each op of `xf` computes on the shard that one
    device holds. A sharding stands as the attribute `dist.sharding` on an
    `xf.variable` and on the arguments of functions that face the host.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
}

#endif
