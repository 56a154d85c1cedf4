//===- PipeOps.td - Fragments and schedules ----------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_PIPE_PIPEOPS
#define HOCKET_DIALECTS_PIPE_PIPEOPS

include "dialects/pipe/IR/PipeDialect.td"
include "dialects/step/IR/StepAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Pipe_FragmentKindAttr
    : Step_EnumAttr<Pipe_Dialect, Step_FragmentKind, "fragment_kind"> {
  let assemblyFormat = "$value";
}

def Pipe_ActionAttr : AttrDef<Pipe_Dialect, "Action"> {
  let mnemonic = "action";
  let summary = "One run of a fragment";
  let description = [{
    The fragment of `kind` and `chunk` on this rank, for one microbatch; its
    residuals are in copy `slot`. `#pipe.action<F chunk 0 microbatch 3 slot 1>`
  }];
  let parameters = (ins EnumParameter<Step_FragmentKind>:$kind,
                        "int64_t":$chunk, "int64_t":$microbatch,
                        "int64_t":$slot);
  let assemblyFormat = [{
    `<` $kind `chunk` $chunk `microbatch` $microbatch `slot` $slot `>`
  }];
}

def Pipe_FragmentOp : Op<Pipe_Dialect, "fragment",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a function's place in the pipeline";
  let description = [{
    `function` is what stage `stage` computes as the virtual chunk `chunk` of
    pipeline rank `rank`. Where each of its arguments comes from stands in
    parentheses, where each result goes behind the arrow:

    | written | the value |
    |---|---|
    | `host "tokens"` | comes from the host; `split` says how devices hold it |
    | `rank 1 tag 3` | comes from, or goes to, pipeline rank 1, in the message 3 |
    | `F result 2`, `F argument 0` | F of this stage and microbatch has returned it, or was given it |
    | `kept` | is kept for the fragments that name it, as all results are |

    `cut` says that there are several stages. Of the only one, a forward fragment
    returns the loss first.

    ```mlir
    func.func @forward_1(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) { return %x, %x : tensor<8x64xf32>, tensor<8x64xf32> }
    pipe.fragment F @forward_1(rank 0 tag 0) -> (rank 2 tag 1, kept) stage 1 chunk 0 rank 1 cut
    ```

    ```mlir
    func.func @forward(%x: tensor<8x64xi32>) -> tensor<8x64xi32> { return %x : tensor<8x64xi32> }
    pipe.fragment F @forward(host "tokens" split [["dp"], []]) -> (kept) stage 0 chunk 0
    ```
  }];
  let arguments = (ins Pipe_FragmentKindAttr:$kind,
                       FlatSymbolRefAttr:$function,
                       Step_SourcesAttr:$sources, Step_TargetsAttr:$targets,
                       I64Attr:$stage, I64Attr:$chunk,
                       DefaultValuedAttr<I64Attr, "0">:$rank, UnitAttr:$cut);
  let assemblyFormat = [{
    $kind $function `` custom<Ends>($sources, $targets) `stage` $stage
    `chunk` $chunk (`rank` $rank^)? (`cut` $cut^)? attr-dict
  }];
}

def Pipe_AllReduceOp : Op<Pipe_Dialect, "all_reduce",
    [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "the sum over some pipeline ranks, on all of them";
  let description = [{
    `ranks` lists the pipeline ranks that take part; each meets those that agree
    with it in every other axis of the mesh.

    ```mlir
    %y = pipe.all_reduce %x ranks [0, 3] : tensor<257x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$ranks);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `ranks` $ranks attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Pipe_AllGatherOp : Op<Pipe_Dialect, "all_gather", [Pure]> {
  let summary = "what some pipeline ranks have, one behind another";
  let description = [{
    Dim 0 of the result has the shards of all `ranks`, in their order.

    ```mlir
    %y = pipe.all_gather %x ranks [0, 1, 2] : tensor<1xf32> to tensor<3xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$ranks);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `ranks` $ranks attr-dict `:` type($input) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Pipe_SliceRowsOp : Op<Pipe_Dialect, "slice_rows", [Pure]> {
  let summary = "some rows of a tensor";
  let description = [{
    The leading dims of `input` count its rows, in row-major order; the result
    has those from `first` on.

    ```mlir
    %y = pipe.slice_rows %x from 256 : tensor<4x128x64xf32> to tensor<128x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$first);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `from` $first attr-dict `:` type($input) `to` type($result)
  }];
  let hasVerifier = 1;
}

def Pipe_InsertRowsOp : Op<Pipe_Dialect, "insert_rows", [Pure]> {
  let summary = "a tensor with some rows in place of its own";
  let description = [{
    The leading dims of the result count its rows, in row-major order: those from
    `first` on are the rows of `part`, the others those of `whole`. Without
    `whole` there are zeros behind the rows of `part`, which are the first.

    ```mlir
    %y = pipe.insert_rows %p at 128 into %x : (tensor<128x64xf32>, tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$part,
                       Optional<AnyRankedTensor>:$whole, I64Attr:$first);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $part `at` $first (`into` $whole^)? attr-dict `:`
    functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def Pipe_ScheduleOp : Op<Pipe_Dialect, "schedule"> {
  let summary = "what one rank runs, in order";
  let description = [{
    The actions of `rank` when the runtime asks for `entry` (`train_step`,
    `eval_step`, `prepare`). `slots` copies of the residuals exist, as many as
    microbatches are in flight at once; a chunk whose actions use fewer of them
    has only those.

    ```mlir
    pipe.schedule "train_step" rank 0 microbatches 2 slots 1 [
      #pipe.action<F chunk 0 microbatch 0 slot 0>,
      #pipe.action<B chunk 0 microbatch 0 slot 0>]
    ```
  }];
  let arguments = (ins StrAttr:$entry, I64Attr:$rank, I64Attr:$microbatches,
                       I64Attr:$slots,
                       TypedArrayAttrBase<Pipe_ActionAttr, "actions">:$actions);
  let assemblyFormat = [{
    $entry `rank` $rank `microbatches` $microbatches `slots` $slots $actions
    attr-dict
  }];
  let hasVerifier = 1;
}

#endif
