//===- ExecOps.td - Buffers and instructions ---------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_EXEC_EXECOPS
#define HOCKET_DIALECTS_EXEC_EXECOPS

include "dialects/exec/IR/ExecAttrs.td"
include "dialects/exec/IR/ExecInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// The role
//===----------------------------------------------------------------------===//

def Exec_RoleOp : Op<Exec_Dialect, "role",
    [Symbol, SymbolTable, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "what a rank, or ranks that differ only by place, execute";
  let description = [{
    Holds the buffers, then the sequences, then the entries. `arena_bytes` is
    what the runtime allocates, once; `lower_bound` is the least any placement
    of the same buffers could need. Both are absent until the arena is laid out.

    `pipeline_rank` is the place along the pipeline, absent where the model has
    one stage. `streams` names what the streams 1, 2, ... are for that a
    computation uses beside stream 0: an axis of the mesh, or "gradients".

    ```mlir
    exec.role @all ranks [0] arena 8192 lower_bound 8192 {
      %x = exec.buffer "x" at 0 kind activations live 0 to 3 : memref<8x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$ranks,
                       OptionalAttr<I64Attr>:$pipeline_rank,
                       OptionalAttr<I64Attr>:$arena_bytes,
                       OptionalAttr<I64Attr>:$lower_bound,
                       OptionalAttr<StrArrayAttr>:$streams);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `ranks` $ranks (`pipeline_rank` $pipeline_rank^)?
    (`arena` $arena_bytes^)? (`lower_bound` $lower_bound^)?
    (`streams` $streams^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Exec_BufferOp : Op<Exec_Dialect, "buffer",
    [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a typed range of the arena";
  let description = [{
    Bytes `[offset, offset + size)`. It holds a value from instruction `first`
    to instruction `last`, counted through all sequences of the role in their
    order, or for ever if `persistent`. With `slots` > 1 there are copies for
    microbatches in flight, `slot_stride` bytes apart: a run uses the one of its
    slot or, `by_microbatch`, of its microbatch modulo their number. `residual`
    says that a fragment leaves the value for a later one.

    Until the arena is laid out there are no `offset`, `first`, `last` and
    `slot_stride`. A persistent buffer that no instruction uses has no `first`
    and `last` afterwards either.

    A buffer `within` another stands in its bytes, copy by copy (until the arena
    is laid out, `offset` counts from the beginning of the other). Several may,
    and may share bytes: that of microbatches and stages that are in flight no
    two have one slot is the schedule's matter.

    ```mlir
    %w = exec.buffer "w" at 0 kind parameters live 0 to 9 {persistent} : memref<64x64xf32>
    %f = exec.buffer "frames" at 16384 kind activations live 0 to 9 {slots = 2, slot_stride = 512} : memref<512xi8>
    %x = exec.buffer "x" within %f at 16640 kind activations live 0 to 9 {slots = 2, slot_stride = 512} : memref<64xf32> in memref<512xi8>
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$offset,
                       Exec_MemoryKindAttr:$kind,
                       OptionalAttr<I64Attr>:$first,
                       OptionalAttr<I64Attr>:$last, UnitAttr:$persistent,
                       UnitAttr:$residual,
                       DefaultValuedAttr<I64Attr, "1">:$slots,
                       DefaultValuedAttr<I64Attr, "0">:$slot_stride,
                       UnitAttr:$by_microbatch, Optional<AnyMemRef>:$within);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $name (`within` $within^)? (`at` $offset^)? `kind` `` $kind
    (`live` $first^ `to` $last)? attr-dict `:`
    type($result) (`in` type($within)^)?
  }];
  let builders = [OpBuilder<
    (ins "::mlir::MemRefType":$type, "const ::llvm::Twine &":$name,
         "::hocket::exec::MemoryKind":$kind),
    [{
      auto &properties = $_state.getOrAddProperties<Properties>();
      properties.name = $_builder.getStringAttr(name);
      properties.kind = MemoryKindAttr::get($_builder.getContext(), kind);
      $_state.addTypes(type);
    }]>];
}

def Exec_SequenceOp : Op<Exec_Dialect, "sequence",
    [Symbol, NoTerminator, SingleBlock, HasParent<"RoleOp">]> {
  let summary = "a straight line of instructions";
  let description = [{
    Instructions that run one after another on their streams, without branches.
    It is a `fragment` of a step, of a `stage` where there are several; what
    only orders streams is none.

    Where a scheduled function has become several sequences, `of` names it, and
    they follow each other. A `bucket` reduces gradients, on a stream of its own,
    and runs only with the last run of its function in a step.

    Until transfers are scheduled, what the sequence receives from one peer
    stands at its beginning and what it sends at its end, an `exec.transfer`
    each.

    ```mlir
    exec.sequence @backward.0 fragment B stage 1 of "backward" {
      exec.copy %a to %b : memref<8xf32>, memref<8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       OptionalAttr<Exec_FragmentKindAttr>:$fragment,
                       OptionalAttr<I64Attr>:$stage,
                       OptionalAttr<StrAttr>:$function, UnitAttr:$bucket);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`fragment` `` $fragment^)? (`stage` $stage^)? (`of` $function^)?
    (`bucket` $bucket^)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// What a schedule calls it.
    ::llvm::StringRef getFunctionName() {
      return getFunction().value_or(getSymName());
    }
    bool isFragment(FragmentKind kind) { return getFragment() == kind; }
  }];
}

def Exec_EntryOp : Op<Exec_Dialect, "entry",
    [HasParent<"RoleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "what the runtime can ask for";
  let description = [{
    Runs `sequences[i]` for microbatch `microbatches[i]` with the residuals in
    copy `slots[i]`, in order: the schedule, written out. Transfers and waits
    are among them once transfers are scheduled.

    ```mlir
    exec.entry "train_step" [@forward, @backward] microbatches [0, 0] slots [0, 0]
    ```
  }];
  let arguments = (ins StrAttr:$name, ArrayAttr:$sequences,
                       DenseI64ArrayAttr:$microbatches,
                       DenseI64ArrayAttr:$slots);
  let assemblyFormat = [{
    $name $sequences `microbatches` $microbatches `slots` $slots attr-dict
  }];
}

def Exec_ParameterOp : Op<Exec_Dialect, "parameter", [HasParent<"RoleOp">]> {
  let summary = "which buffer holds a parameter, or a state of its optimizer";
  let description = [{
    `state` is `value` or the name of an optimizer's slot; `info` is what the
    runtime needs of it.

    ```mlir
    exec.parameter "w" state "value" in %w {info = #step.variable_info<shape = [64, 64]>} : memref<64x64xf32>
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$state, AnyMemRef:$buffer,
                       Step_VariableInfoAttr:$info);
  let assemblyFormat = "$name `state` $state `in` $buffer attr-dict `:` type($buffer)";
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

// `instances` and `scalars` of an instruction are numbers: an i64 or an
// #exec.place each.
class Exec_Instruction<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, !listconcat(traits, [HasParent<"SequenceOp">,
         DeclareOpInterfaceMethods<Exec_InstructionOpInterface,
                                   ["writesOperand"]>])> {
  code commonDescription = [{
    `accumulate` says whether the result is overwritten, added to, or added to
    except in the first microbatch.
  }];
}

defvar Exec_Accumulate = DefaultValuedAttr<Exec_AccumulationAttr,
    "::hocket::exec::Accumulation::Overwrite">;

def Exec_LaunchOp : Exec_Instruction<"launch", [AttrSizedOperandSegments]> {
  let summary = "runs a generated kernel";
  let description = commonDescription # [{
    The kernel's arguments are the inputs, then the outputs.

    ```mlir
    exec.launch @norm(%x, %w) to (%y) : (memref<8x64xf32>, memref<64xf32>) -> memref<8x64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyMemRef>:$inputs,
                       Variadic<AnyMemRef>:$outputs,
                       DefaultValuedAttr<ArrayAttr, "{}">:$instances,
                       Exec_Accumulate:$accumulate,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `to` ` ` `(` $outputs `)` attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

def Exec_GemmOp : Exec_Instruction<"gemm", [AttrSizedOperandSegments]> {
  let summary = "a GEMM";
  let description = commonDescription # [{
    As `kern.gemm`, into `d`; `bias_gradient` is a result of its own here.

    ```mlir
    exec.gemm %x, %w into %y {k = 64 : i64, m = 8 : i64, n = 64 : i64} : memref<8x64xf32>, memref<64x64xf32>, memref<8x64xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$a, AnyMemRef:$b, AnyMemRef:$d,
                       Optional<AnyMemRef>:$bias, Optional<AnyMemRef>:$residual,
                       Optional<AnyMemRef>:$auxiliary,
                       Optional<AnyMemRef>:$preactivation,
                       Optional<AnyMemRef>:$bias_gradient,
                       Optional<AnyMemRef>:$scale_a,
                       Optional<AnyMemRef>:$scale_b,
                       I64Attr:$m, I64Attr:$n, I64Attr:$k,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       UnitAttr:$b_packed,
                       DefaultValuedAttr<Exec_EpilogueAttr,
                         "::hocket::exec::Epilogue::None">:$epilogue,
                       DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
                       Exec_Accumulate:$accumulate,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    $a `,` $b `into` $d (`bias` $bias^)? (`residual` $residual^)?
    (`auxiliary` $auxiliary^)? (`preactivation` $preactivation^)?
    (`bias_gradient` $bias_gradient^)? (`scale_a` $scale_a^)?
    (`scale_b` $scale_b^)? attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
}

def Exec_LibraryOp : Exec_Instruction<"library", [AttrSizedOperandSegments]> {
  let summary = "a hand-written kernel";
  let description = commonDescription # [{
    The op's buffers are the inputs, then the outputs; `results_first`: the other
    way round. Output `i` may be written over input `in_place[i]` where that is
    not -1.

    `random` gives the call the seed, the step and the index of the microbatch's
    first element (`elements` times the microbatch) as scalars, or, if `elements`
    is 0, zeros; `scalars` follow.

    ```mlir
    exec.library "rope"(%x, %t) to (%y) {floats = array<f64>, integers = array<i64: 1>} : (memref<8xf32>, memref<8xf32>) -> memref<8xf32>
    ```
  }];
  let arguments = (ins StrAttr:$op, Variadic<AnyMemRef>:$inputs,
                       Variadic<AnyMemRef>:$outputs,
                       DenseI64ArrayAttr:$integers, DenseF64ArrayAttr:$floats,
                       UnitAttr:$random, UnitAttr:$results_first,
                       OptionalAttr<DenseI64ArrayAttr>:$in_place,
                       DefaultValuedAttr<ArrayAttr, "{}">:$scalars,
                       DefaultValuedAttr<I64Attr, "0">:$elements,
                       Exec_Accumulate:$accumulate,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    $op `(` $inputs `)` `to` ` ` `(` $outputs `)` attr-dict
    `:` functional-type($inputs, $outputs)
  }];
  let extraClassDeclaration = [{
    /// In the order in which the library's op takes them.
    ::llvm::SmallVector<::mlir::Value> getBuffers();
  }];
}

def Exec_AccumulateOp : Exec_Instruction<"accumulate"> {
  let summary = "adds a buffer to another";
  let description = [{
    A contribution to a variable that the instruction which computes it does not
    add itself. Both buffers have one element type and as many elements.

    ```mlir
    exec.accumulate %g to %w.grad {accumulate = #exec.accumulation<add>} : memref<8xf32>, memref<8xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$from, AnyMemRef:$to,
                       Exec_Accumulate:$accumulate,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = "$from `to` $to attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Exec_CopyOp : Exec_Instruction<"copy"> {
  let summary = "copies a buffer";
  let description = [{
    Both buffers have the same size and do not overlap.

    ```mlir
    exec.copy %a to %b : memref<8xf32>, memref<8xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$from, AnyMemRef:$to,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = "$from `to` $to attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

def Exec_CollectiveOp
    : Exec_Instruction<"collective", [SameVariadicOperandSize]> {
  let summary = "ranks that differ along some mesh axes exchange data";
  let description = [{
    As `kern.collective`, between buffers; sums where it reduces. Several go
    together as a bucket: part `i` of `from` becomes part `i` of `to`. `layer`
    names the part of the model that it belongs to; a bucket ends where that
    does.

    ```mlir
    exec.collective all_reduce %x to %y over ["tp"] : memref<8xf32>, memref<8xf32>
    exec.collective all_reduce %g, %h to %g, %h over ["dp"] {stream = 1 : i64} : memref<8xf32>, memref<4xf32>, memref<8xf32>, memref<4xf32>
    ```
  }];
  let arguments = (ins Exec_CollectiveKindAttr:$kind,
                       Variadic<AnyMemRef>:$from, Variadic<AnyMemRef>:$to,
                       StrArrayAttr:$axes, OptionalAttr<StrAttr>:$why,
                       OptionalAttr<StrAttr>:$layer,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    `` $kind $from `to` $to `over` $axes attr-dict `:` type(operands)
  }];
}

def Exec_ExchangeOp : Exec_Instruction<"exchange"> {
  let summary = "ranks exchange as many rows as data says";
  let description = [{
    As `kern.exchange`, between buffers of rows of `width` elements.

    ```mlir
    exec.exchange %x to %y by %r, %s over ["ep"] width 64 : memref<1x128x64xf32>, memref<1x200x64xf32>, memref<1x8x2xi32>, memref<1x2x4x2xi32>
    ```
  }];
  let arguments = (ins AnyMemRef:$from, AnyMemRef:$to, AnyMemRef:$ranges,
                       AnyMemRef:$segments, StrArrayAttr:$axes,
                       I64Attr:$width, OptionalAttr<StrAttr>:$why,
                       UnitAttr:$returns,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    $from `to` $to `by` $ranges `,` $segments `over` $axes `width` $width
    attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
}

def Exec_HostOp : Exec_Instruction<"host"> {
  let summary = "data crosses between host and device";
  let description = [{
    Comes from the host (`input`) or goes to it (`output`). Of what ranks hold shards of,
    `axes` has for each dim the mesh axes that split it; `shape` has the shard's dims
    where the buffer, which another view of its elements has made, has others. With
    `part` > 0 dim 1, of positions, is stored out of order: in parts of that many
    elements, which are dealt out in as many rounds as a rank has pairs of them
    (kernels/reference/Positions.h).

    ```mlir
    exec.host input "tokens" %t : memref<4x256xi32>
    ```
  }];
  let arguments = (ins Exec_HostDirectionAttr:$direction, StrAttr:$name, AnyMemRef:$buffer,
                       OptionalAttr<ArrayAttr>:$axes,
                       OptionalAttr<DenseI64ArrayAttr>:$shape,
                       DefaultValuedAttr<I64Attr, "0">:$part,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = "`` $direction $name $buffer attr-dict `:` type($buffer)";
  let extraClassDeclaration = [{
    /// Of what the host gives or takes.
    ::llvm::ArrayRef<int64_t> dims() {
      return getShape() ? *getShape() : getBuffer().getType().getShape();
    }
  }];
}

//===----------------------------------------------------------------------===//
// Between ranks and streams
//===----------------------------------------------------------------------===//

def Exec_TransferOp : Exec_Instruction<"transfer"> {
  let summary = "sends and receives that are issued together";
  let description = [{
    Part `i` sends buffer `i` to the place `peers[i]` among the ranks that differ
    along `axes`, or receives it from there, under the tag `tags[i]`. A send
    meets the receive of its peer with the same tag, type and size; several with
    one tag meet in order.

    ```mlir
    exec.transfer (%x, %g) over ["pp"] {peers = array<i64: 1, 1>, sends = array<i1: true, false>, tags = array<i64: 0, 1>, stream = 1 : i64} : memref<8xf32>, memref<8xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers,
                       DenseBoolArrayAttr:$sends, DenseI64ArrayAttr:$peers,
                       DenseI64ArrayAttr:$tags, StrArrayAttr:$axes,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let extraClassDeclaration = [{
    /// Whether anything comes in; what a rank sends itself does.
    bool receives() { return !::llvm::all_of(getSends(), [](bool s) { return s; }); }
  }];
  let assemblyFormat = [{
    `(` $buffers `)` `over` $axes attr-dict `:` type($buffers)
  }];
  let hasVerifier = 1;
}

class Exec_EventInstruction<string mnemonic>
    : Op<Exec_Dialect, mnemonic,
         [HasParent<"SequenceOp">, Exec_InstructionOpInterface]>;

def Exec_RecordOp : Exec_EventInstruction<"record"> {
  let summary = "marks a moment of a stream";
  let description = [{
    The event has happened when everything before it on `stream` is done.

    ```mlir
    exec.record 3 on 1
    ```
  }];
  let arguments = (ins I64Attr:$event, I64Attr:$stream);
  let assemblyFormat = "$event `on` $stream attr-dict";
}

def Exec_WaitOp : Exec_EventInstruction<"wait"> {
  let summary = "holds a stream until an event has happened";
  let description = [{
    Nothing behind it on `stream` starts before the last `exec.record` of the
    event that stands before this op in the order of the role.

    ```mlir
    exec.wait 3 on 0
    ```
  }];
  let arguments = (ins I64Attr:$event, I64Attr:$stream);
  let assemblyFormat = "$event `on` $stream attr-dict";
}

#endif
