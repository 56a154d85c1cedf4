//===- StepEnums.td - Kinds that several levels have -------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Enumerations alone: a dialect that prints one makes an attribute of its own
// of it. The file holds nothing else, as TableGen declares every enumeration
// that it sees.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_STEP_STEPENUMS
#define HOCKET_DIALECTS_STEP_STEPENUMS

include "mlir/IR/EnumAttr.td"

class Step_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::hocket::step";
  let genSpecializedAttr = 0;
}

def Step_VariableKind : Step_Enum<"VariableKind", "what a variable holds", [
  I32EnumAttrCase<"Parameter", 0, "parameter">,
  I32EnumAttrCase<"Gradient", 1, "gradient">,
  I32EnumAttrCase<"OptimizerState", 2, "optimizer_state">,
  I32EnumAttrCase<"State", 3, "state">,
  I32EnumAttrCase<"Working", 4, "working">,
  I32EnumAttrCase<"Cache", 5, "cache">]>;

def Step_FragmentKind : Step_Enum<"FragmentKind", "which part of a step it is", [
  I32EnumAttrCase<"Forward", 0, "F">, I32EnumAttrCase<"Backward", 1, "B">,
  I32EnumAttrCase<"Weight", 2, "W">, I32EnumAttrCase<"Update", 3, "U">,
  I32EnumAttrCase<"Evaluate", 4, "E">, I32EnumAttrCase<"Prepare", 5, "P">,
  I32EnumAttrCase<"Prefill", 6, "L">, I32EnumAttrCase<"Decode", 7, "D">,
  I32EnumAttrCase<"Encode", 8, "I">]>;

def Step_FragmentEnd : Step_Enum<"FragmentEnd", "which values of a fragment", [
  I32EnumAttrCase<"Argument", 0, "argument">,
  I32EnumAttrCase<"Result", 1, "result">]>;

def Step_CollectiveKind : Step_Enum<"CollectiveKind",
    "how devices exchange data", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
  I32EnumAttrCase<"ReduceScatter", 1, "reduce_scatter">,
  I32EnumAttrCase<"AllGather", 2, "all_gather">,
  I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
  I32EnumAttrCase<"Shift", 4, "shift">]>;

def Step_Epilogue : Step_Enum<"Epilogue", "what follows a GEMM", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Gelu", 1, "gelu">,
  I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">,
  I32EnumAttrCase<"Silu", 3, "silu">, I32EnumAttrCase<"Relu", 4, "relu">,
  I32EnumAttrCase<"ReluSquared", 5, "relu_squared">,
  I32EnumAttrCase<"Tanh", 6, "tanh">,
  I32EnumAttrCase<"QuickGelu", 7, "quick_gelu">]>;

#endif
