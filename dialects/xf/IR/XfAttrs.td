//===- XfAttrs.td - Attributes of the transformer dialect --*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFATTRS
#define HOCKET_DIALECTS_XF_XFATTRS

include "mlir/IR/AttrTypeBase.td"
include "dialects/step/IR/StepAttrs.td"
include "dialects/xf/IR/XfDialect.td"
include "dialects/xf/IR/XfEnums.td"

def Xf_NormKindAttr : EnumAttr<Xf_Dialect, Xf_NormKind, "norm_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Xf_ActivationKindAttr
    : EnumAttr<Xf_Dialect, Xf_ActivationKind, "activation_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Xf_RouterScoresAttr
    : EnumAttr<Xf_Dialect, Xf_RouterScores, "router_scores"> {
  let assemblyFormat = "`<` $value `>`";
}

def Xf_VariableKindAttr
    : Step_EnumAttr<Xf_Dialect, Step_VariableKind, "variable_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Xf_ParameterRoleAttr
    : EnumAttr<Xf_Dialect, Xf_ParameterRole, "parameter_role"> {
  let assemblyFormat = "`<` $value `>`";
}

def Xf_HostInputAttr : EnumAttr<Xf_Dialect, Xf_HostInput, "host_input"> {
  let assemblyFormat = "`<` $value `>`";
}

def Xf_PrecisionAttr : EnumAttr<Xf_Dialect, Xf_Precision, "precision"> {
  let assemblyFormat = "`<` $value `>`";
}

def Xf_Fp8RecipeAttr : EnumAttr<Xf_Dialect, Xf_Fp8Recipe, "fp8_recipe"> {
  let assemblyFormat = "`<` $value `>`";
}

// A string that is written as a keyword.
class Xf_KeywordParameter<string desc> : StringRefParameter<desc> {
  let parser = [{::hocket::xf::parseKeyword($_parser)}];
  let printer = [{$_printer.printKeywordOrString($_self)}];
}

class Xf_Attr<string name, string attrMnemonic> : AttrDef<Xf_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Xf_InitAttr : Xf_Attr<"Init", "init"> {
  let summary = "The initial value of a variable";
  let description = [{
    `kind` is `normal`, `uniform`, `log_uniform`, `time_step`, `zeros`, `ones` or
    `constant`; `value` is the standard deviation of a `normal`, the bound of a
    `uniform`, whose numbers lie between it and its negative, and the value of a
    `constant`, else 0. Numbers of `log_uniform` are logarithms of uniform ones
    between 1 and `value`. Those of `time_step` are what softplus makes steps of
    between `value` / 100 and `value` of, whose logarithms are uniform.
  }];
  let parameters = (ins Xf_KeywordParameter<"normal, uniform, log_uniform, time_step, zeros, ones, constant">:$kind,
      DefaultValuedParameter<"::mlir::FloatAttr", "::mlir::FloatAttr()">:$value);
  let assemblyFormat = "`<` $kind (`,` $value^)? `>`";
  let genVerifyDecl = 1;
}

def Xf_AdamWAttr : Xf_Attr<"AdamW", "adamw"> {
  let summary = "AdamW (Loshchilov and Hutter, arXiv 1711.05101)";
  let parameters = (ins "::mlir::FloatAttr":$beta1, "::mlir::FloatAttr":$beta2,
                        "::mlir::FloatAttr":$epsilon,
                        "::mlir::FloatAttr":$weight_decay);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Xf_SgdAttr : Xf_Attr<"Sgd", "sgd"> {
  let summary = "Stochastic gradient descent with momentum, as PyTorch's";
  let parameters = (ins "::mlir::FloatAttr":$momentum,
                        "::mlir::FloatAttr":$weight_decay);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Xf_LossScaleAttr : Xf_Attr<"LossScale", "loss_scale"> {
  let summary = "Dynamic loss scaling for fp16";
  let parameters = (ins "::mlir::FloatAttr":$initial,
                        "::mlir::FloatAttr":$growth_factor,
                        "::mlir::FloatAttr":$backoff_factor,
                        "int64_t":$growth_interval,
                        "::mlir::FloatAttr":$minimum);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Xf_BatchSizeAttr : Xf_Attr<"BatchSize", "batch_size"> {
  let summary = "The global batch, once some samples were consumed";
  let description = [{
    `#xf.batch_size<4 from 16>`: steps before which at least 16 samples were
    consumed take 4.
  }];
  let parameters = (ins "int64_t":$size, "int64_t":$from);
  let assemblyFormat = "`<` $size `from` $from `>`";
}

#endif
