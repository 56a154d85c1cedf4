//===- DistOps.td - Meshes and shardings -------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_DIST_DISTOPS
#define HOCKET_DIALECTS_DIST_DISTOPS

include "dialects/dist/IR/DistAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_MeshOp : Op<Dist_Dialect, "mesh", [Symbol]> {
  let summary = "the devices, as a grid with named axes";
  let description = [{
    Devices are numbered row-major: the last axis varies fastest.

    Until tensors are local it also says what the plan makes of the axes:
    `context` is how devices that share sequences compute attention, `experts`
    the axes that experts are split over, and `sharing` those along which
    devices hold the same experts and share their rows. Until the host's inputs
    are placed, `parts` is how many rows each part of a sequence has that is
    stored out of order, and `rounds` in how many rounds parts are dealt out.
    `split_by_hand` says that a person chose how ops are split.

    For people it keeps `chosen`, how many ops and parameters they chose for, and
    `explanation`, what `hocket explain` prints.

    ```mlir
    dist.mesh @mesh ["dp", "tp"] sizes [2, 4]
    ```

    ```mlir
    dist.mesh @mesh ["cp.0", "cp.1"] sizes [2, 2] context ring experts ["cp.1"] parts 128 rounds 2
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes,
                       DenseI64ArrayAttr:$sizes,
                       OptionalAttr<Dist_ContextStrategyAttr>:$context_strategy,
                       OptionalAttr<StrArrayAttr>:$experts,
                       OptionalAttr<StrArrayAttr>:$sharing,
                       OptionalAttr<I64Attr>:$parts,
                       OptionalAttr<I64Attr>:$rounds,
                       UnitAttr:$split_by_hand,
                       OptionalAttr<DictionaryAttr>:$chosen,
                       OptionalAttr<ArrayAttr>:$explanation);
  let assemblyFormat = [{
    $sym_name $axes `sizes` $sizes (`context` `` $context_strategy^)?
    (`experts` $experts^)? (`sharing` $sharing^)? (`parts` $parts^)?
    (`rounds` $rounds^)? (`split_by_hand` $split_by_hand^)? attr-dict
  }];
  let builders = [OpBuilder<(ins "::mlir::StringAttr":$name,
                                 "::mlir::ArrayAttr":$axes,
                                 "::mlir::DenseI64ArrayAttr":$sizes),
    [{
      auto &properties = $_state.getOrAddProperties<Properties>();
      properties.sym_name = name;
      properties.axes = axes;
      properties.sizes = sizes;
    }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many devices the mesh has. The verifier has checked the product.
    int64_t getDeviceCount();
  }];
}

//===----------------------------------------------------------------------===//
// Before partitioning: on global tensors
//===----------------------------------------------------------------------===//

def Dist_ConstrainOp : Op<Dist_Dialect, "constrain",
    [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "where a value is wanted";
  let description = [{
    The identity; propagation gives its result the sharding `to`. Partitioning
    leaves the collectives that lead there, or nothing.

    ```mlir
    %y = dist.constrain %x to <@mesh, [["dp"], ["tp"], []], partial = []> : tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Dist_ShardingAttr:$to);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `to` $to attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// After partitioning: on the shards that devices hold
//===----------------------------------------------------------------------===//

// Devices that differ only in their place along `axes` take part together; their
// order is row-major over the list.
class Dist_Collective<string mnemonic, list<Trait> traits = []>
    : Op<Dist_Dialect, mnemonic, !listconcat([Pure], traits)> {
  let hasVerifier = 1;
}

def Dist_AllReduceOp : Dist_Collective<"all_reduce",
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "the sum over devices, on all of them";
  let description = [{
    `why` says which two ops made it necessary.

    ```mlir
    %y = dist.all_reduce %x over ["tp"] : tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes,
                       OptionalAttr<StrAttr>:$why);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `over` $axes attr-dict `:` type($result)";
}

def Dist_AllGatherOp : Dist_Collective<"all_gather"> {
  let summary = "the shards of a dim, put together on all devices";
  let description = [{
    Padding behind the last element is dropped.

    ```mlir
    %y = dist.all_gather %x dim 1 over ["tp"] : tensor<4x8x16xf32> to tensor<4x16x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim,
                       StrArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `dim` $dim `over` $axes attr-dict `:` type($input) `to` type($result)
  }];
}

def Dist_ReduceScatterOp : Dist_Collective<"reduce_scatter"> {
  let summary = "the sum over devices, a shard of a dim on each";
  let description = [{
    Shards beyond the last element are padding and hold zeros.

    ```mlir
    %y = dist.reduce_scatter %x dim 1 over ["tp"] : tensor<4x16x16xf32> to tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim,
                       StrArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `dim` $dim `over` $axes attr-dict `:` type($input) `to` type($result)
  }];
}

def Dist_AllToAllOp : Dist_Collective<"all_to_all"> {
  let summary = "one dim becomes whole and another is split";
  let description = [{
    Dim `split` is cut into a shard for each device and the shards of dim
    `concat` that they hold are put together.

    ```mlir
    %y = dist.all_to_all %x split 2 concat 1 over ["cp"] : tensor<4x8x6x64xf32> to tensor<4x16x3x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$split, I64Attr:$concat,
                       StrArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `split` $split `concat` $concat `over` $axes attr-dict
    `:` type($input) `to` type($result)
  }];
}

def Dist_ShiftOp : Dist_Collective<"shift",
    [AllTypesMatch<["input", "result"]>]> {
  let summary = "what the device before this one holds";
  let description = [{
    Along `axes` every device sends its tensor to the next, the last one to the
    first.

    ```mlir
    %y = dist.shift %x over ["cp"] : tensor<4x8x2x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, StrArrayAttr:$axes,
                       OptionalAttr<StrAttr>:$why);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `over` $axes attr-dict `:` type($result)";
}

// What devices send each other follows from data.
class Dist_RowExchange<string mnemonic> : Dist_Collective<mnemonic> {
  let arguments = (ins AnyRankedTensor:$rows, AnyRankedTensor:$ranges,
                       AnyRankedTensor:$segments, StrArrayAttr:$axes,
                       OptionalAttr<StrAttr>:$why);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $rows `,` $ranges `,` $segments `over` $axes attr-dict
    `:` functional-type(operands, $result)
  }];
}

def Dist_ExchangeRowsOp : Dist_RowExchange<"exchange_rows"> {
  let summary = "rows to the devices that hold their experts";
  let description = [{
    `xf.exchange_rows` on one run a device: rows `[1, R, h]` in the order of the
    experts of all devices, whose ranges `[1, E, 2]` are, become `[1, bound, h]`,
    where those of this device's experts lie as `segments` `[1, n, E/n, 2]` say,
    by device that sent them, then by expert; others are 0.

    ```mlir
    %y = dist.exchange_rows %x, %r, %s over ["ep"] : (tensor<1x128x64xf32>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x200x64xf32>
    ```
  }];
}

def Dist_ReturnRowsOp : Dist_RowExchange<"return_rows"> {
  let summary = "rows back to the devices that they came from";
  let description = [{
    The reverse of `exchange_rows`, with the same ranges and segments.

    ```mlir
    %y = dist.return_rows %x, %r, %s over ["ep"] : (tensor<1x200x64xf32>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x128x64xf32>
    ```
  }];
}

def Dist_SliceOp : Dist_Collective<"slice"> {
  let summary = "this device's shard of a dim";
  let description = [{
    No communication. Shards beyond the last element are padding and hold
    zeros.

    ```mlir
    %y = dist.slice %x dim 1 over ["tp"] : tensor<4x16x16xf32> to tensor<4x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim,
                       StrArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `dim` $dim `over` $axes attr-dict `:` type($input) `to` type($result)
  }];
}

def Dist_OffsetOp : Dist_Collective<"offset"> {
  let summary = "where this device's shard of a dim starts";
  let description = [{
    The device's place along `axes` times `step`, the size of a shard.

    ```mlir
    %o = dist.offset over ["tp"] step 128
    ```
  }];
  let arguments = (ins StrArrayAttr:$axes, I64Attr:$step);
  let results = (outs I32:$result);
  let assemblyFormat = "`over` $axes `step` $step attr-dict";
}

#endif
