//===- XfEnums.td - Kinds of the transformer dialect -------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Enumerations alone, as in StepEnums.td: TableGen declares every one it sees.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFENUMS
#define HOCKET_DIALECTS_XF_XFENUMS

include "mlir/IR/EnumAttr.td"

class Xf_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::hocket::xf";
  let genSpecializedAttr = 0;
}

def Xf_NormKind : Xf_Enum<"NormKind", "which normalisation", [
  I32EnumAttrCase<"Layer", 0, "layer">, I32EnumAttrCase<"Rms", 1, "rms">]>;

def Xf_ActivationKind : Xf_Enum<"ActivationKind", "which nonlinearity", [
  I32EnumAttrCase<"Gelu", 0, "gelu">,
  I32EnumAttrCase<"GeluTanh", 1, "gelu_tanh">,
  I32EnumAttrCase<"Silu", 2, "silu">,
  I32EnumAttrCase<"Relu", 3, "relu">,
  I32EnumAttrCase<"ReluSquared", 4, "relu_squared">,
  I32EnumAttrCase<"Tanh", 5, "tanh">,
  I32EnumAttrCase<"QuickGelu", 6, "quick_gelu">]>;

def Xf_RouterScores : Xf_Enum<"RouterScores", "how logits become scores", [
  I32EnumAttrCase<"Softmax", 0, "softmax">,
  I32EnumAttrCase<"Sigmoid", 1, "sigmoid">]>;

// A bias has the role of its linear layer: what splits the one splits the other.
def Xf_ParameterRole : Xf_Enum<"ParameterRole", "what a parameter does", [
  I32EnumAttrCase<"Embedding", 0, "embedding">,
  I32EnumAttrCase<"Positions", 1, "positions">,
  I32EnumAttrCase<"Norm", 2, "norm">,
  I32EnumAttrCase<"Query", 3, "query">,
  I32EnumAttrCase<"Key", 4, "key">,
  I32EnumAttrCase<"Value", 5, "value">,
  I32EnumAttrCase<"AttentionOutput", 6, "attention_output">,
  I32EnumAttrCase<"Gate", 7, "gate">,
  I32EnumAttrCase<"Up", 8, "up">,
  I32EnumAttrCase<"Down", 9, "down">,
  I32EnumAttrCase<"Router", 10, "router">,
  I32EnumAttrCase<"ExpertGate", 11, "expert_gate">,
  I32EnumAttrCase<"ExpertUp", 12, "expert_up">,
  I32EnumAttrCase<"ExpertDown", 13, "expert_down">,
  I32EnumAttrCase<"Head", 14, "head">,
  // The matrix of an adapter that is as narrow on every device.
  I32EnumAttrCase<"LowRank", 15, "low_rank">,
  I32EnumAttrCase<"TokenTypes", 16, "token_types">,
  // Layers behind the last one that are as wide on every device.
  I32EnumAttrCase<"HeadTransform", 17, "head_transform">,
  I32EnumAttrCase<"SentenceHead", 18, "sentence_head">,
  // What of a state-space layer belongs to heads, to groups of them, and the
  // layer behind.
  I32EnumAttrCase<"StateInput", 19, "state_input">,
  I32EnumAttrCase<"StateGroup", 20, "state_group">,
  I32EnumAttrCase<"StateOutput", 21, "state_output">,
  // Of each head and bucket of distances.
  I32EnumAttrCase<"RelativePositions", 22, "relative_positions">,
  // What makes rows of an image's patches, as wide on every device.
  I32EnumAttrCase<"Patches", 23, "patches">,
  // What makes the latents of attention, as wide on every device.
  I32EnumAttrCase<"Latent", 24, "latent">]>;

// The attribute `xf.host` of an entry function's argument.
def Xf_HostInput : Xf_Enum<"HostInput", "what the host gives a microbatch", [
  I32EnumAttrCase<"Tokens", 0, "tokens">,
  I32EnumAttrCase<"Labels", 1, "labels">,
  I32EnumAttrCase<"LabelCount", 2, "label_count">,
  I32EnumAttrCase<"Positions", 3, "positions">,
  I32EnumAttrCase<"Rows", 4, "rows">,
  I32EnumAttrCase<"Table", 5, "table">,
  I32EnumAttrCase<"TokenTypes", 6, "token_types">,
  I32EnumAttrCase<"KeyCounts", 7, "key_counts">,
  I32EnumAttrCase<"SentenceLabels", 8, "sentence_labels">,
  I32EnumAttrCase<"EncoderTokens", 9, "encoder_tokens">,
  // Of each sequence the rows of its images, f32, one behind the other, and of
  // each token which of the tower's rows stands there.
  I32EnumAttrCase<"Pixels", 10, "pixels">,
  I32EnumAttrCase<"ImageRows", 11, "image_rows">,
  // Of each sequence what was retrieved for its chunks.
  I32EnumAttrCase<"Neighbors", 12, "neighbors">]>;

def Xf_Precision : Xf_Enum<"Precision", "in what the model computes", [
  I32EnumAttrCase<"Fp32", 0, "fp32">, I32EnumAttrCase<"Bf16", 1, "bf16">,
  I32EnumAttrCase<"Fp16", 2, "fp16">]>;

def Xf_Fp8Recipe : Xf_Enum<"Fp8Recipe", "what has a scale in 8 bits", [
  I32EnumAttrCase<"Tensorwise", 0, "tensorwise">,
  I32EnumAttrCase<"Blockwise", 1, "blockwise">,
  I32EnumAttrCase<"Mxfp8", 2, "mxfp8">]>;

#endif
