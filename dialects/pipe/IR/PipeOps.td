//===- PipeOps.td - Fragments and schedules ------------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_PIPE_PIPEOPS
#define HOCKET_DIALECTS_PIPE_PIPEOPS

include "dialects/pipe/IR/PipeDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"

def Pipe_FragmentKind : I32EnumAttr<"FragmentKind", "what a fragment does", [
    I32EnumAttrCase<"Forward", 0, "F">, I32EnumAttrCase<"Backward", 1, "B">,
    I32EnumAttrCase<"Update", 2, "U">, I32EnumAttrCase<"Evaluate", 3, "E">,
    I32EnumAttrCase<"Prepare", 4, "P">]> {
  let cppNamespace = "::hocket::pipe";
  let genSpecializedAttr = 0;
}
def Pipe_FragmentKindAttr
    : EnumAttr<Pipe_Dialect, Pipe_FragmentKind, "fragment_kind"> {
  let assemblyFormat = "$value";
}

def Pipe_ActionAttr : AttrDef<Pipe_Dialect, "Action"> {
  let mnemonic = "action";
  let summary = "One run of a fragment";
  let description = [{
    The fragment of `kind` and `chunk` on this rank, for one microbatch; its
    residuals are in copy `slot`. `#pipe.action<F chunk 0 microbatch 3 slot 1>`
  }];
  let parameters = (ins EnumParameter<Pipe_FragmentKind>:$kind,
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
    `function` is what stage `stage` computes as its virtual chunk `chunk`. A
    forward fragment returns the loss and then its residuals, which the
    backward fragment of the same stage and chunk takes.

    ```mlir
    pipe.fragment F @forward stage 0 chunk 0
    ```
  }];
  let arguments = (ins Pipe_FragmentKindAttr:$kind,
                       FlatSymbolRefAttr:$function,
                       I64Attr:$stage, I64Attr:$chunk);
  let assemblyFormat = "$kind $function `stage` $stage `chunk` $chunk attr-dict";
}

def Pipe_ScheduleOp : Op<Pipe_Dialect, "schedule"> {
  let summary = "what one rank runs, in order";
  let description = [{
    The actions of `rank` when the runtime asks for `entry` (`train_step`,
    `eval_step`, `prepare`). `slots` copies of the residuals exist, as many as
    microbatches are in flight at once.

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
