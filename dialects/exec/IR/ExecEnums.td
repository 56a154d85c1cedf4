//===- ExecEnums.td - Kinds of the executable dialect ------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_EXEC_EXECENUMS
#define HOCKET_DIALECTS_EXEC_EXECENUMS

include "mlir/IR/EnumAttr.td"

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::hocket::exec";
  let genSpecializedAttr = 0;
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

// The numbers are those of Accumulate in runtime/program/program.proto.
def Exec_Accumulation : Exec_Enum<"Accumulation",
    "how a result meets what its buffer holds", [
  I32EnumAttrCase<"Overwrite", 0, "overwrite">,
  I32EnumAttrCase<"Add", 1, "add">,
  I32EnumAttrCase<"AddUnlessFirst", 2, "add_unless_first">]>;

def Exec_HostDirection : Exec_Enum<"HostDirection",
    "whether data comes from the host or goes to it", [
  I32EnumAttrCase<"Input", 0, "input">,
  I32EnumAttrCase<"Output", 1, "output">]>;

#endif
