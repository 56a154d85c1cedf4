//===- KernAttrs.td - Attributes of the kernel dialect -----*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_KERN_KERNATTRS
#define HOCKET_DIALECTS_KERN_KERNATTRS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "dialects/kern/IR/KernDialect.td"

class Kern_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::hocket::kern";
  let genSpecializedAttr = 0;
}

def Kern_Access : Kern_Enum<"Access", "how an operand follows the iteration", [
  I32EnumAttrCase<"Full", 0, "full">, I32EnumAttrCase<"Tiled", 1, "tiled">,
  I32EnumAttrCase<"Row", 2, "row">, I32EnumAttrCase<"Col", 3, "col">,
  I32EnumAttrCase<"Scalar", 4, "scalar">]>;
def Kern_AccessAttr : EnumAttr<Kern_Dialect, Kern_Access, "access"> {
  let assemblyFormat = "$value";
}
def Kern_AccessArrayAttr : TypedArrayAttrBase<Kern_AccessAttr, "accesses">;

def Kern_Reduction : Kern_Enum<"Reduction", "how values become one", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">]>;
def Kern_ReductionAttr : EnumAttr<Kern_Dialect, Kern_Reduction, "reduction"> {
  let assemblyFormat = "$value";
}

def Kern_Epilogue : Kern_Enum<"Epilogue", "what follows a GEMM", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Gelu", 1, "gelu">,
  I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">,
  I32EnumAttrCase<"Silu", 3, "silu">, I32EnumAttrCase<"Relu", 4, "relu">,
  I32EnumAttrCase<"ReluSquared", 5, "relu_squared">,
  I32EnumAttrCase<"Tanh", 6, "tanh">]>;
def Kern_EpilogueAttr : EnumAttr<Kern_Dialect, Kern_Epilogue, "epilogue"> {
  let assemblyFormat = "`<` $value `>`";
}

def Kern_CollectiveKind : Kern_Enum<"CollectiveKind",
    "how devices exchange data", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
  I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
  I32EnumAttrCase<"AllGather", 2, "all_gather">,
  I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
  I32EnumAttrCase<"Shift", 4, "shift">]>;
def Kern_CollectiveKindAttr
    : EnumAttr<Kern_Dialect, Kern_CollectiveKind, "collective_kind"> {
  let assemblyFormat = "$value";
}

def Kern_VariableKind : Kern_Enum<"VariableKind", "what a variable is for", [
  I32EnumAttrCase<"Parameter", 0, "parameter">,
  I32EnumAttrCase<"Gradient", 1, "gradient">,
  I32EnumAttrCase<"OptimizerState", 2, "optimizer_state">,
  I32EnumAttrCase<"State", 3, "state">,
  I32EnumAttrCase<"Working", 4, "working">,
  I32EnumAttrCase<"Cache", 5, "cache">]>;
def Kern_VariableKindAttr
    : EnumAttr<Kern_Dialect, Kern_VariableKind, "variable_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Kern_ActionAttr : AttrDef<Kern_Dialect, "Action"> {
  let mnemonic = "action";
  let summary = "One run of a function";
  let description = [{
    For one microbatch; what it keeps for a later one is in copy `slot`.
    `#kern.action<@forward microbatch 3 slot 1>`
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$function,
                        "int64_t":$microbatch, "int64_t":$slot);
  let assemblyFormat = [{
    `<` $function `microbatch` $microbatch `slot` $slot `>`
  }];
}

#endif
