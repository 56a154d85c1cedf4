//===- KernAttrs.td - Attributes of the kernel dialect -----*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_KERN_KERNATTRS
#define HOCKET_DIALECTS_KERN_KERNATTRS

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

#endif
