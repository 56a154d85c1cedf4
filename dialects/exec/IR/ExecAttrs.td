//===- ExecAttrs.td - Attributes of the executable dialect -*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_EXEC_EXECATTRS
#define HOCKET_DIALECTS_EXEC_EXECATTRS

include "dialects/exec/IR/ExecDialect.td"
include "dialects/exec/IR/ExecEnums.td"
include "dialects/step/IR/StepAttrs.td"

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

class Exec_EnumAttr<EnumAttrInfo info, string mnemonic>
    : Step_EnumAttr<Exec_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

// Printed as a bare word, where a format names it.
class Exec_WordAttr<EnumAttrInfo info, string mnemonic>
    : Step_EnumAttr<Exec_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}

def Exec_MemoryKindAttr : Exec_WordAttr<Exec_MemoryKind, "memory_kind">;

def Exec_AccumulationAttr : Exec_EnumAttr<Exec_Accumulation, "accumulation">;

def Exec_FragmentKindAttr : Exec_WordAttr<Step_FragmentKind, "fragment_kind">;

def Exec_CollectiveKindAttr
    : Exec_WordAttr<Step_CollectiveKind, "collective_kind">;

def Exec_HostDirectionAttr : Exec_WordAttr<Exec_HostDirection, "host_direction">;

def Exec_EpilogueAttr : Exec_EnumAttr<Step_Epilogue, "epilogue">;

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
