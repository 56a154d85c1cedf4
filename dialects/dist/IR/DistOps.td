//===- DistOps.td - Meshes and shardings ---------------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_DIST_DISTOPS
#define HOCKET_DIALECTS_DIST_DISTOPS

include "dialects/dist/IR/DistDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Dist_ShardingAttr : AttrDef<Dist_Dialect, "Sharding"> {
  let mnemonic = "sharding";
  let summary = "How a tensor is split over a mesh";
  let description = [{
    For every dim the axes that split it, the major one first, then the axes
    over which the pieces are partial sums.

    `#dist.sharding<@mesh, [["dp"], [], ["tp"]], partial = []>`
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
                        "::mlir::ArrayAttr":$dims,
                        "::mlir::ArrayAttr":$partial);
  let assemblyFormat = "`<` $mesh `,` $dims `,` `partial` `=` $partial `>`";
  let genVerifyDecl = 1;
}

def Dist_MeshOp : Op<Dist_Dialect, "mesh", [Symbol]> {
  let summary = "the devices, as a grid with named axes";
  let description = [{
    Devices are numbered row-major: the last axis varies fastest.

    ```mlir
    dist.mesh @mesh ["dp", "tp"] sizes [2, 4]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes,
                       DenseI64ArrayAttr:$sizes);
  let assemblyFormat = "$sym_name $axes `sizes` $sizes attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many devices the mesh has. The verifier has checked the product.
    int64_t getDeviceCount();
  }];
}

#endif
