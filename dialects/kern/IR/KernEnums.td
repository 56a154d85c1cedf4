//===- KernEnums.td - Kinds of the kernel dialect ----------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_KERN_KERNENUMS
#define HOCKET_DIALECTS_KERN_KERNENUMS

include "mlir/IR/EnumAttr.td"

class Kern_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::hocket::kern";
  let genSpecializedAttr = 0;
}

def Kern_Access : Kern_Enum<"Access", "how an operand follows the iteration", [
  I32EnumAttrCase<"Full", 0, "full">, I32EnumAttrCase<"Tiled", 1, "tiled">,
  I32EnumAttrCase<"Row", 2, "row">, I32EnumAttrCase<"Col", 3, "col">,
  I32EnumAttrCase<"Scalar", 4, "scalar">]>;

def Kern_Reduction : Kern_Enum<"Reduction", "how values become one", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">]>;

#endif
