//===- StepAttrs.td - Where a fragment's values come from --*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_STEP_STEPATTRS
#define HOCKET_DIALECTS_STEP_STEPATTRS

include "dialects/step/IR/StepDialect.td"
include "dialects/step/IR/StepEnums.td"
include "mlir/IR/AttrTypeBase.td"

// An attribute of `dialect` that is one of the kinds of StepEnums.td. Without the
// override it would be sought in the namespace of the enumeration.
class Step_EnumAttr<Dialect dialect, EnumAttrInfo info, string mnemonic>
    : EnumAttr<dialect, info, mnemonic> {
  let cppNamespace = dialect.cppNamespace;
}

def Step_VariableInfoAttr : AttrDef<Step_Dialect, "VariableInfo"> {
  let mnemonic = "variable_info";
  let summary = "What the runtime needs of a variable";
  let description = [{
    `init` is what it begins as (`normal`, `zeros`, ...), with `value` the number
    that belongs to it; `random_key` names its random numbers. Of a parameter
    `decay` says that weights decay and `frozen` that it is not trained. `shape`
    is the whole tensor's, and `axes` has for each dim the mesh axes that split
    it, where any does.

    `#step.variable_info<axes = [["tp"], []], init = "normal", random_key = 7 : i32, shape = [8, 8], value = 2.0e-2 : f64>`
  }];
  let parameters = (ins OptionalParameter<"::mlir::ArrayAttr">:$axes,
                        OptionalParameter<"::mlir::UnitAttr">:$decay,
                        OptionalParameter<"::mlir::UnitAttr">:$frozen,
                        OptionalParameter<"::mlir::StringAttr">:$init,
                        OptionalParameter<"::mlir::IntegerAttr">:$random_key,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$shape,
                        OptionalParameter<"::mlir::FloatAttr">:$value);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Step_HostAttr : AttrDef<Step_Dialect, "Host"> {
  let mnemonic = "host";
  let summary = "A value that comes from the host";
  let description = [{
    What the runtime calls `name`. Of a value that devices hold in shards, `axes`
    has for each dim the mesh axes that split it.
    `#step.host<"tokens" split [["dp"], []]>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
                        OptionalParameter<"::mlir::ArrayAttr">:$axes);
  let assemblyFormat = "`<` $name (`split` $axes^)? `>`";
}

def Step_LinkAttr : AttrDef<Step_Dialect, "Link"> {
  let mnemonic = "link";
  let summary = "The other end of a value that crosses between stages";
  let description = [{
    Of what a fragment takes: pipeline rank `rank` sends it, in the message
    `tag`. Of what it returns: `rank` receives it. `#step.link<rank 1 tag 3>`
  }];
  let parameters = (ins "int64_t":$rank, "int64_t":$tag);
  let assemblyFormat = "`<` `rank` $rank `tag` $tag `>`";
}

def Step_SavedAttr : AttrDef<Step_Dialect, "Saved"> {
  let mnemonic = "saved";
  let summary = "A value that another fragment took or returned";
  let description = [{
    Argument or result `index` of the fragment of `kind`, of the same stage and
    microbatch. `#step.saved<F result 2>`
  }];
  let parameters = (ins EnumParameter<Step_FragmentKind>:$kind,
                        EnumParameter<Step_FragmentEnd>:$end,
                        "int64_t":$index);
  let assemblyFormat = "`<` $kind $end $index `>`";
}

// Where each argument of a fragment comes from.
def Step_SourcesAttr : TypedArrayAttrBase<
    AnyAttrOf<[Step_HostAttr, Step_LinkAttr, Step_SavedAttr]>,
    "sources: from the host, a rank or a fragment">;
// Where each result of a fragment goes; a unit is only kept.
def Step_TargetsAttr : TypedArrayAttrBase<AnyAttrOf<[Step_LinkAttr, UnitAttr]>,
    "targets: a rank or none">;

#endif
