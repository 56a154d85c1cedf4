//===- ExecAttrs.td - Attributes of the executable dialect -*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_EXEC_EXECATTRS
#define HOCKET_DIALECTS_EXEC_EXECATTRS

include "dialects/exec/IR/ExecDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::hocket::exec";
  let genSpecializedAttr = 0;
}

class Exec_EnumAttr<EnumAttrInfo info, string mnemonic>
    : EnumAttr<Exec_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

// Printed as a bare word, where a format names it.
class Exec_WordAttr<EnumAttrInfo info, string mnemonic>
    : EnumAttr<Exec_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}

def Exec_MemoryKind : Exec_Enum<"MemoryKind", "what a buffer's bytes are for", [
  I32EnumAttrCase<"Parameters", 0, "parameters">,
  I32EnumAttrCase<"Gradients", 1, "gradients">,
  I32EnumAttrCase<"Optimizer", 2, "optimizer">,
  I32EnumAttrCase<"WorkingCopies", 3, "working_copies">,
  I32EnumAttrCase<"State", 4, "state">,
  I32EnumAttrCase<"Inputs", 5, "inputs">,
  I32EnumAttrCase<"Activations", 6, "activations">,
  I32EnumAttrCase<"Temporaries", 7, "temporaries">,
  I32EnumAttrCase<"Transfers", 8, "transfers">,
  I32EnumAttrCase<"Workspace", 9, "workspace">,
  I32EnumAttrCase<"Cache", 10, "cache">]>;
def Exec_MemoryKindAttr : Exec_WordAttr<Exec_MemoryKind, "memory_kind">;

// The numbers are those of Accumulate in runtime/program/program.proto.
def Exec_Accumulation : Exec_Enum<"Accumulation",
    "how a result meets what its buffer holds", [
  I32EnumAttrCase<"Overwrite", 0, "overwrite">,
  I32EnumAttrCase<"Add", 1, "add">,
  I32EnumAttrCase<"AddUnlessFirst", 2, "add_unless_first">]>;
def Exec_AccumulationAttr : Exec_EnumAttr<Exec_Accumulation, "accumulation">;

def Exec_FragmentKind : Exec_Enum<"FragmentKind",
    "which part of a step a sequence is", [
  I32EnumAttrCase<"Forward", 0, "F">, I32EnumAttrCase<"Backward", 1, "B">,
  I32EnumAttrCase<"Weight", 2, "W">, I32EnumAttrCase<"Update", 3, "U">,
  I32EnumAttrCase<"Evaluate", 4, "E">, I32EnumAttrCase<"Prepare", 5, "P">,
  I32EnumAttrCase<"Prefill", 6, "L">, I32EnumAttrCase<"Decode", 7, "D">]>;
def Exec_FragmentKindAttr : Exec_WordAttr<Exec_FragmentKind, "fragment_kind">;

def Exec_CollectiveKind : Exec_Enum<"CollectiveKind",
    "how ranks exchange data", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
  I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
  I32EnumAttrCase<"AllGather", 2, "all_gather">,
  I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
  I32EnumAttrCase<"Shift", 4, "shift">]>;
def Exec_CollectiveKindAttr
    : Exec_WordAttr<Exec_CollectiveKind, "collective_kind">;

def Exec_HostDirection : Exec_Enum<"HostDirection",
    "whether data comes from the host or goes to it", [
  I32EnumAttrCase<"Input", 0, "input">,
  I32EnumAttrCase<"Output", 1, "output">]>;
def Exec_HostDirectionAttr : Exec_WordAttr<Exec_HostDirection, "host_direction">;

def Exec_Epilogue : Exec_Enum<"Epilogue", "what follows a GEMM", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Gelu", 1, "gelu">,
  I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">,
  I32EnumAttrCase<"Silu", 3, "silu">, I32EnumAttrCase<"Relu", 4, "relu">,
  I32EnumAttrCase<"ReluSquared", 5, "relu_squared">,
  I32EnumAttrCase<"Tanh", 6, "tanh">]>;
def Exec_EpilogueAttr : Exec_EnumAttr<Exec_Epilogue, "epilogue">;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

def Exec_PlaceAttr : AttrDef<Exec_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "A number that follows from the rank's place in the mesh";
  let description = [{
    The rank's place among those that differ only along some mesh axes (row-major
    over the list), times a step. `#exec.place<["tp"] step 128>`
  }];
  let parameters = (ins "::mlir::ArrayAttr":$axes, "int64_t":$step);
  let assemblyFormat = "`<` $axes `step` $step `>`";
}

#endif
