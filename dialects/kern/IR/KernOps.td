//===- KernOps.td - Operations of the kernel dialect -------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_KERN_KERNOPS
#define HOCKET_DIALECTS_KERN_KERNOPS

include "dialects/kern/IR/KernAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Kern_Op<string mnemonic, list<Trait> traits = []>
    : Op<Kern_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

def Kern_FragmentOp : Kern_Op<"fragment", [FunctionOpInterface,
    IsolatedFromAbove, SingleBlock]> {
  let summary = "a part of a step, which a schedule runs";
  let description = [{
    Where each argument comes from stands behind its type:

    - `from host "tokens"`: the runtime gives it. Where devices hold shards,
      `split [["dp"], []]` has for each dim the mesh axes that split it.
    - `from rank 1 tag 3`: pipeline rank 1 sends it, in the message 3.
    - `from F result 2`, `from F argument 0`: the fragment of this kind, of the
      same stage and microbatch, has returned it, or was given it.

    All results are kept for the fragments that name them, and `to rank 1 tag 3`
    sends one to another pipeline rank besides. `stage` is there where there are
    several.

    ```mlir
    kern.fragment F @forward_1(%x: tensor<8x64xf32> from rank 0 tag 0) -> (tensor<8x64xf32> to rank 2 tag 1, tensor<8x64xf32>) stage 1 {
      kern.return %x, %x : tensor<8x64xf32>, tensor<8x64xf32>
    }
    kern.fragment B @backward_1(%d: tensor<8x64xf32> from rank 2 tag 2, %x: tensor<8x64xf32> from F result 1) stage 1 {
      kern.return
    }
    ```
  }];
  let arguments = (ins Kern_FragmentKindAttr:$kind, SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       Step_SourcesAttr:$sources, Step_TargetsAttr:$targets,
                       OptionalAttr<I64Attr>:$stage,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The number of its stage; 0 where there is only one.
    int64_t getStageNumber() {
      return static_cast<int64_t>(getStage().value_or(0));
    }
    /// What `FunctionOpInterface` asks for.
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
  }];
}

def Kern_ReturnOp : Kern_Op<"return", [Pure, ReturnLike, Terminator,
    HasParent<"FragmentOp">]> {
  let summary = "what a fragment leaves";
  let description = [{
    Ends a `kern.fragment` with the values of its results.

    ```mlir
    kern.return %x : tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===----------------------------------------------------------------------===//
// Fused regions
//===----------------------------------------------------------------------===//

def Kern_RowsOp : Kern_Op<"rows", [Pure, AttrSizedOperandSegments,
    IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a fused region, row by row";
  let description = [{
    For each row of the iteration space, computes every result's elements of
    that row. Block arguments: one f32 for each tensor operand in order, then
    the `instances` (i32). `kern.reduce` inside the region reduces over the
    row's columns. Results are `full`, `row`, `col` or, where rows is 1,
    `scalar`. A `col` result is the sum over all rows of what is yielded for it,
    as in `kern.columns`.

    ```mlir
    %y = kern.rows "scale" [8 x 64] (%a = %x as full : tensor<8x64xbf16>, %b = %w as col : tensor<64xf32>) -> (tensor<8x64xbf16> as full) {
      %0 = arith.mulf %a, %b : f32
      kern.yield %0 : f32
    }
    ```

    The label may be left out; `instances (%i = %layer)` follows the operands.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       Variadic<I32>:$instances,
                       I64Attr:$rows, I64Attr:$cols,
                       Kern_AccessArrayAttr:$input_accesses,
                       Kern_AccessArrayAttr:$result_accesses,
                       DefaultValuedAttr<StrAttr, "\"\"">:$label);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// How operand `i` of the tensors follows the iteration.
    Access getInputAccess(unsigned i) {
      return ::llvm::cast<AccessAttr>(getInputAccesses()[i]).getValue();
    }
    /// How result `i` follows the iteration.
    Access getResultAccess(unsigned i) {
      return ::llvm::cast<AccessAttr>(getResultAccesses()[i]).getValue();
    }
    YieldOp getYield();
  }];
}

def Kern_ColumnsOp : Kern_Op<"columns", [Pure,
    IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a fused region summed over rows";
  let description = [{
    For each column, sums every yielded value over all rows, in row order, in
    f32. Results have one element a column (`col`), or one in all where `cols`
    is 1. Block arguments are as in `kern.rows`, without instances.

    ```mlir
    %db = kern.columns [8 x 64] (%a = %dy as full : tensor<8x64xf32>) -> (tensor<64xf32>) {
      kern.yield %a : f32
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       I64Attr:$rows, I64Attr:$cols,
                       Kern_AccessArrayAttr:$input_accesses,
                       DefaultValuedAttr<StrAttr, "\"\"">:$label);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// How operand `i` follows the iteration.
    Access getInputAccess(unsigned i) {
      return ::llvm::cast<AccessAttr>(getInputAccesses()[i]).getValue();
    }
    YieldOp getYield();
  }];
}

def Kern_ReduceOp : Kern_Op<"reduce", [Pure, SameOperandsAndResultType]> {
  let summary = "reduces a value over the columns of the row";
  let description = [{
    Inside `kern.rows`: the sum or the greatest of `value` over the row. The
    result is one value a row.

    ```mlir
    %s = kern.reduce add %x : f32
    ```
  }];
  let arguments = (ins Kern_ReductionAttr:$kind, F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "`` $kind $value attr-dict `:` type($result)";
}

def Kern_KeepScaleOp : Kern_Op<"keep_scale", [Pure, AttrSizedOperandSegments]> {
  let summary = "dropout's or jitter's factor for this element";
  let description = [{
    `1 / (1 - rate)` if the element is kept, else 0; with `jitter` a number that
    is uniform in `[1 - rate, 1 + rate)`. Element `row * cols + col`, counted from
    the first element of the step's first microbatch, of random stream
    `stream * 65536 + instance`; see kernels/reference/Philox.h.

    ```mlir
    %k = kern.keep_scale %layer {rate = 0.1, stream = 3 : i32}
    ```

    Where the region's elements, in row-major order, are those of a shard of a
    larger tensor, that is what is counted over, and `at` says where the shard
    starts in each of its `dims`.

    ```mlir
    %k = kern.keep_scale %layer at(%o) {rate = 0.1, shard = #kern.shard<[4, 64] of [8, 64] dims [0] parts [0]>, stream = 3 : i32}
    ```
  }];
  let arguments = (ins Optional<I32>:$instance, Variadic<I32>:$at,
                       F64Attr:$rate, I32Attr:$stream, UnitAttr:$jitter,
                       OptionalAttr<Kern_ShardAttr>:$shard);
  let results = (outs F32:$result);
  let assemblyFormat = "($instance^)? (`at` `(` $at^ `)`)? attr-dict";
}

def Kern_YieldOp : Kern_Op<"yield", [Pure, Terminator,
    ParentOneOf<["RowsOp", "ColumnsOp", "KernelOp"]>]> {
  let summary = "the results of a fused region";
  let description = [{
    Ends the region of `kern.rows`, `kern.columns` or `kern.kernel` with one f32
    for each of its results.

    ```mlir
    kern.yield %x : f32
    ```
  }];
  let arguments = (ins Variadic<F32>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

//===----------------------------------------------------------------------===//
// Outlined kernels
//===----------------------------------------------------------------------===//

def Kern_KernelOp : Kern_Op<"kernel", [Symbol, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a fused region as a kernel of its own";
  let description = [{
    What `kern.rows` (`by_columns` absent) or `kern.columns` (`by_columns`
    present) holds, once for all its uses. `input_types` and `result_types` are
    the tensor types; a result may be written over an input that has the same
    access and byte size, unless it is `col`, a sum over rows.

    ```mlir
    kern.kernel @scale [8 x 64] (%a: tensor<8x64xbf16> as full, %b: tensor<64xf32> as col) -> (tensor<8x64xbf16> as full) {
      %0 = arith.mulf %a, %b : f32
      kern.yield %0 : f32
    }
    ```

    `by_columns` follows the name; a label is a string after it; the instances
    are named in `instances (%i)` after the operands.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, UnitAttr:$by_columns,
                       I64Attr:$rows, I64Attr:$cols,
                       TypeArrayAttr:$input_types, TypeArrayAttr:$result_types,
                       Kern_AccessArrayAttr:$input_accesses,
                       Kern_AccessArrayAttr:$result_accesses,
                       I64Attr:$instances,
                       DefaultValuedAttr<StrAttr, "\"\"">:$label);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// How operand `i` of the tensors follows the iteration.
    Access getInputAccess(unsigned i) {
      return ::llvm::cast<AccessAttr>(getInputAccesses()[i]).getValue();
    }
    /// How result `i` follows the iteration.
    Access getResultAccess(unsigned i) {
      return ::llvm::cast<AccessAttr>(getResultAccesses()[i]).getValue();
    }
    ::mlir::RankedTensorType getInputType(unsigned i);
    ::mlir::RankedTensorType getResultType(unsigned i);
    YieldOp getYield();
  }];
}

def Kern_LaunchOp : Kern_Op<"launch", [Pure, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs an outlined kernel";
  let description = [{
    Calls a `kern.kernel` on tensors of the types that it states.

    Calls a `kern.kernel` by its name: inputs, and the instances of its random
    streams, are its arguments in order.

    ```mlir
    %y = kern.launch @scale(%x, %w) : (tensor<8x64xbf16>, tensor<64xf32>) -> tensor<8x64xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                       Variadic<AnyRankedTensor>:$inputs,
                       Variadic<I32>:$instances);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` (`instances` `(` $instances^ `)`)? attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

//===----------------------------------------------------------------------===//
// GEMMs and hand-written kernels
//===----------------------------------------------------------------------===//

def Kern_GemmOp : Kern_Op<"gemm", [Pure, AttrSizedOperandSegments]> {
  let summary = "a GEMM and what follows it";
  let description = [{
    `result[m, n] = epilogue(alpha * op(a)[m, k] op(b)[k, n] + bias[n]) +
    residual[m, n]`; `transpose_a` means that `a` is stored `[k, m]`,
    `transpose_b` that `b` is stored `[n, k]`. Operands may both have 8-bit
    elements (`f8E4M3FN`, `f8E5M2`, not both the latter); `alpha` is then times
    `scale_a` and `scale_b`, an f32 each. Operands are two-dimensional or
    viewed so: leading dims count as rows. `auxiliary` keeps the epilogue's
    input for its gradient. With that input as `preactivation` the GEMM is
    times the epilogue's derivative there instead.

    With `bias_gradient`, `auxiliary[m]` is the sum of op(a) over k instead: the
    gradient of a bias where the GEMM is that of its weight.

    ```mlir
    %y = kern.gemm %x, %w {k = 64 : i64, m = 8 : i64, n = 32 : i64, transpose_b} : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
    ```

    ```mlir
    %y = kern.gemm %x, %w scale_a %s scale_b %t {k = 64 : i64, m = 8 : i64, n = 32 : i64, transpose_b} : (tensor<8x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<8x32xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b,
                       Optional<AnyRankedTensor>:$bias,
                       Optional<AnyRankedTensor>:$residual,
                       Optional<AnyRankedTensor>:$preactivation,
                       Optional<AnyRankedTensor>:$scale_a,
                       Optional<AnyRankedTensor>:$scale_b,
                       I64Attr:$m, I64Attr:$n, I64Attr:$k,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       DefaultValuedAttr<Kern_EpilogueAttr,
                         "::hocket::kern::Epilogue::None">:$epilogue,
                       UnitAttr:$bias_gradient,
                       DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
                       DefaultValuedAttr<StrAttr, "\"\"">:$label);
  let results = (outs AnyRankedTensor:$result,
                      Optional<AnyRankedTensor>:$auxiliary);
  let assemblyFormat = [{
    $a `,` $b (`bias` $bias^)? (`residual` $residual^)?
    (`preactivation` $preactivation^)?
    (`scale_a` $scale_a^)? (`scale_b` $scale_b^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Kern_LibraryOp : Kern_Op<"library", [Pure, AttrSizedOperandSegments]> {
  let summary = "a hand-written kernel";
  let description = [{
    Calls `op` of kernels/library/Library.h (or its counterpart for another
    target): buffers are the operands, then the results (`results_first`: the
    other way round). `integers` and `floats` are as documented there.

    `random` means that the call takes the seed, the step and the element base
    (`elements` for each microbatch before this one; if that is 0, it draws no
    numbers and these are zeros) as scalars, and as its last integer a random
    stream: `stream * 65536`, to which the value of `instance` is still to be
    added.

    `scalars` are numbers that the call takes after those, in order.

    `workspaces` says how many of the last results are only scratch. Result
    `i` may be written over operand `in_place[i]` where that is not -1.

    ```mlir
    %y = kern.library "rope"(%x, %t) {floats = array<f64>, in_place = array<i64: 0>, integers = array<i64: 1, 2, 8, 2, 8, 0>} : (tensor<2x8x2x8xf32>, tensor<8x4x2xf32>) -> tensor<2x8x2x8xf32>
    ```
  }];
  let arguments = (ins StrAttr:$op, Variadic<AnyRankedTensor>:$inputs,
                       Optional<I32>:$instance,
                       Variadic<I32>:$scalars,
                       DenseI64ArrayAttr:$integers, DenseF64ArrayAttr:$floats,
                       UnitAttr:$random,
                       UnitAttr:$results_first,
                       DefaultValuedAttr<I32Attr, "0">:$stream,
                       DefaultValuedAttr<I64Attr, "0">:$elements,
                       DefaultValuedAttr<I64Attr, "0">:$workspaces,
                       OptionalAttr<DenseI64ArrayAttr>:$in_place,
                       DefaultValuedAttr<StrAttr, "\"\"">:$label);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    $op `(` $inputs `)` (`instance` `(` $instance^ `)`)?
    (`scalars` `(` $scalars^ `)`)? attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

//===----------------------------------------------------------------------===//
// Between devices
//===----------------------------------------------------------------------===//

def Kern_CollectiveOp : Kern_Op<"collective", [Pure]> {
  let summary = "devices that differ along some mesh axes exchange data";
  let description = [{
    `all_reduce`, `reduce_scatter`, `all_gather`, `all_to_all` or `shift` (to the
    next device, from the last to the first) over the devices that differ only
    in their place along `axes`, which are ordered row-major over the list. Shards follow each other in memory: with n devices a gather's
    result is the n shards one after another, whatever the shapes say; sums are
    kept in f32 at least.

    ```mlir
    %y = kern.collective all_reduce %x over ["tp"] : tensor<8x64xf32> to tensor<8x64xf32>
    ```
  }];
  let arguments = (ins Kern_CollectiveKindAttr:$kind, AnyRankedTensor:$input,
                       StrArrayAttr:$axes, OptionalAttr<StrAttr>:$why);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $input `over` $axes attr-dict `:` type($input) `to` type($result)
  }];
}

def Kern_ExchangeOp : Kern_Op<"exchange", [Pure]> {
  let summary = "devices exchange as many rows as data says";
  let description = [{
    Rows in the order of the experts that they are for, as `ranges` has them (the
    first of each expert's, and how many they are), go to the devices along
    `axes`, each of which holds as many experts. There they lie in the order of
    the device that sent them, then of the expert, as `segments` has them; the
    rest of the result is 0. With `returns` the same rows go the other way.

    ```mlir
    %y = kern.exchange %x, %r, %s over ["ep"] : (tensor<1x128x64xf32>, tensor<1x8x2xi32>, tensor<1x2x4x2xi32>) -> tensor<1x200x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$rows, AnyRankedTensor:$ranges,
                       AnyRankedTensor:$segments, StrArrayAttr:$axes,
                       OptionalAttr<StrAttr>:$why, UnitAttr:$returns);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $rows `,` $ranges `,` $segments `over` $axes attr-dict
    `:` functional-type(operands, $result)
  }];
}

def Kern_PlaceOp : Kern_Op<"place", [Pure]> {
  let summary = "a number that follows from the device's place in the mesh";
  let description = [{
    The device's place among those that differ only along `axes` (row-major over
    the list), times `step`.

    ```mlir
    %o = kern.place over ["tp"] step 128
    ```
  }];
  let arguments = (ins StrArrayAttr:$axes, I64Attr:$step);
  let results = (outs I32:$result);
  let assemblyFormat = "`over` $axes `step` $step attr-dict";
}

def Kern_ViewOp : Kern_Op<"view", [Pure]> {
  let summary = "the same bytes under another shape";
  let description = [{
    Row-major reinterpretation: the result has the operand's element type and
    its first elements. No instruction comes of it.

    ```mlir
    %v = kern.view %x : tensor<4x256x64xf32> to tensor<1024x64xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Variables, the host, the step
//===----------------------------------------------------------------------===//

def Kern_VariableOp : Kern_Op<"variable", [Symbol]> {
  let summary = "a tensor that lives from step to step";
  let description = [{
    A gradient, a state of the optimizer and a working copy are `of` a parameter,
    of whose states `slot` names one (`exp_avg`, ...). `info` is what the runtime
    needs of it.

    ```mlir
    kern.variable @w : tensor<8x8xf32> {info = #step.variable_info<init = "zeros", shape = [8, 8]>, kind = #kern.variable_kind<parameter>}
    ```

    ```mlir
    kern.variable @w.exp_avg : tensor<8x8xf32> {kind = #kern.variable_kind<optimizer_state>, of = @w, slot = "exp_avg"}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       Kern_VariableKindAttr:$kind,
                       OptionalAttr<FlatSymbolRefAttr>:$of,
                       OptionalAttr<StrAttr>:$slot,
                       OptionalAttr<Step_VariableInfoAttr>:$info);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
}

def Kern_ReadOp : Kern_Op<"read", [MemoryEffects<[MemRead]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a variable";
  let description = [{
    What was last written to the variable, in this step or an earlier one.

    ```mlir
    %w = kern.read @w : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$variable attr-dict `:` type($result)";
}

def Kern_WriteOp : Kern_Op<"write", [MemoryEffects<[MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "sets a variable";
  let description = [{
    The value is what the variable's reads see from here on.

    ```mlir
    kern.write %v, @w : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, FlatSymbolRefAttr:$variable);
  let assemblyFormat = "$value `,` $variable attr-dict `:` type($value)";
}

def Kern_AccumulateOp : Kern_Op<"accumulate", [MemoryEffects<[MemRead, MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "adds to a variable, or sets it in the first microbatch";
  let description = [{
    `always` adds in the first microbatch too (a second contribution to the
    same variable).

    ```mlir
    kern.accumulate %g, @w.grad : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, FlatSymbolRefAttr:$variable,
                       UnitAttr:$always);
  let assemblyFormat = "$value `,` $variable attr-dict `:` type($value)";
}

def Kern_InputOp : Kern_Op<"input", [MemoryEffects<[MemRead]>]> {
  let summary = "a value from the host";
  let description = [{
    What the runtime calls `name` and hands over before the function runs.

    ```mlir
    %lr = kern.input "learning_rate" : tensor<f32>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def Kern_OutputOp : Kern_Op<"output", [MemoryEffects<[MemWrite]>]> {
  let summary = "a value for the host";
  let description = [{
    The runtime finds it under `name` when the function has run. Of a value
    that devices hold in shards, `axes` has for each dim the axes that split it.

    ```mlir
    kern.output %loss, "loss" : tensor<f32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, StrAttr:$name,
                       OptionalAttr<ArrayAttr>:$axes);
  let assemblyFormat = "$value `,` $name attr-dict `:` type($value)";
}

def Kern_ScheduleOp : Kern_Op<"schedule"> {
  let summary = "which fragments run, in which order";
  let description = [{
    `entry` names what the runtime asks for, of pipeline rank `rank`. `slots`
    copies exist of what one fragment keeps for another.

    ```mlir
    kern.schedule "eval_step" slots 1 [#kern.action<@evaluate microbatch 0 slot 0>]
    ```

    ```mlir
    kern.schedule "train_step" rank 1 slots 1 [
      #kern.action<@forward microbatch 0 slot 0>,
      #kern.action<@backward microbatch 0 slot 0>]
    ```
  }];
  let arguments = (ins StrAttr:$entry, DefaultValuedAttr<I64Attr, "0">:$rank,
                       I64Attr:$slots,
                       TypedArrayAttrBase<Kern_ActionAttr, "actions">:$actions);
  let assemblyFormat = [{
    $entry (`rank` $rank^)? `slots` $slots $actions attr-dict
  }];
}

#endif
