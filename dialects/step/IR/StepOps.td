//===- StepOps.td - What a module says of a step -----------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_STEP_STEPOPS
#define HOCKET_DIALECTS_STEP_STEPOPS

include "dialects/step/IR/StepAttrs.td"

class Step_Op<string mnemonic> : Op<Step_Dialect, mnemonic> {
  let hasVerifier = 1;
}

def Step_MeshOp : Step_Op<"mesh"> {
  let summary = "the devices, below the level that splits tensors over them";
  let description = [{
    What is left of `dist.mesh` once tensors are local: the axes, numbered
    row-major, and the rows of the parts that the last dim of tokens is stored in
    (`parts`), for whoever moves data between host and devices. Of what people
    asked it keeps `chosen`, how many ops and parameters they chose shardings for,
    and `explanation`, what `hocket explain` prints.

    ```mlir
    step.mesh ["dp", "cp"] sizes [2, 2] parts 128
    ```
  }];
  let arguments = (ins StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes,
                       OptionalAttr<I64Attr>:$parts,
                       OptionalAttr<DictionaryAttr>:$chosen,
                       OptionalAttr<ArrayAttr>:$explanation);
  let assemblyFormat = [{
    $axes `sizes` $sizes (`parts` $parts^)? attr-dict
  }];
}

def Step_TrainingOp : Step_Op<"training"> {
  let summary = "what the executable says of training";
  let description = [{
    `xf.training`, kept for the executable: its properties under the same names.
    The attributes of `xf` among them say what they say there; nothing here looks
    into them.

    ```mlir
    step.training {global_batch_size = 8 : i64, micro_batch_size = 4 : i64, model_name = "nano", runtime = {}, sequence_length = 256 : i64}
    ```
  }];
  let arguments = (ins StrAttr:$model_name,
                       I64Attr:$micro_batch_size,
                       I64Attr:$global_batch_size,
                       I64Attr:$sequence_length,
                       OptionalAttr<AnyAttr>:$optimizer,
                       DefaultValuedAttr<F64Attr, "0.0">:$clip_norm,
                       OptionalAttr<AnyAttr>:$precision,
                       OptionalAttr<AnyAttr>:$loss_scale,
                       OptionalAttr<AnyAttr>:$fp8,
                       OptionalAttr<ArrayAttr>:$batch_sizes,
                       DictionaryAttr:$runtime);
  let assemblyFormat = "attr-dict";
}

def Step_RecomputeOp : Op<Step_Dialect, "recompute"> {
  let summary = "what a pipeline rank computes again";
  let description = [{
    A report, which changes no program. Of pipeline rank `rank`: how many
    residuals it could compute again and how many it does, the bytes that all of
    them take and those that the plan keeps at its peak, the seconds of a step's
    computation and those of computing again. `least_seconds` is what anything
    that frees enough would cost, where a budget is known.

    ```mlir
    step.recompute rank 0 {planned_bytes = 6144 : i64, recomputed = 2 : i64, residuals = 4 : i64, saved_bytes = 9216 : i64, seconds = 0.0, step_seconds = 1.0e-3}
    ```
  }];
  let arguments = (ins I64Attr:$rank, I64Attr:$residuals, I64Attr:$recomputed,
                       I64Attr:$saved_bytes, I64Attr:$planned_bytes,
                       F64Attr:$step_seconds, F64Attr:$seconds,
                       OptionalAttr<F64Attr>:$least_seconds);
  let assemblyFormat = "`rank` $rank attr-dict";
}

#endif
