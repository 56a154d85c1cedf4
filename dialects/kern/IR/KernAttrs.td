//===- KernAttrs.td - Attributes of the kernel dialect -----*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_KERN_KERNATTRS
#define HOCKET_DIALECTS_KERN_KERNATTRS

include "mlir/IR/AttrTypeBase.td"
include "dialects/kern/IR/KernDialect.td"
include "dialects/kern/IR/KernEnums.td"
include "dialects/step/IR/StepAttrs.td"

def Kern_AccessAttr : EnumAttr<Kern_Dialect, Kern_Access, "access"> {
  let assemblyFormat = "$value";
}
def Kern_AccessArrayAttr : TypedArrayAttrBase<Kern_AccessAttr, "accesses">;

def Kern_ReductionAttr : EnumAttr<Kern_Dialect, Kern_Reduction, "reduction"> {
  let assemblyFormat = "$value";
}

def Kern_EpilogueAttr : Step_EnumAttr<Kern_Dialect, Step_Epilogue, "epilogue"> {
  let assemblyFormat = "`<` $value `>`";
}

def Kern_CollectiveKindAttr
    : Step_EnumAttr<Kern_Dialect, Step_CollectiveKind, "collective_kind"> {
  let assemblyFormat = "$value";
}

def Kern_VariableKindAttr
    : EnumAttr<Kern_Dialect, Kern_VariableKind, "variable_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Kern_FragmentKindAttr
    : Step_EnumAttr<Kern_Dialect, Step_FragmentKind, "fragment_kind"> {
  let assemblyFormat = "$value";
}

def Kern_HostAttr : AttrDef<Kern_Dialect, "Host"> {
  let mnemonic = "host";
  let summary = "A value that comes from the host";
  let description = [{
    What the runtime calls `name`. Of a value that devices hold in shards, `axes`
    has for each dim the mesh axes that split it.
    `#kern.host<"tokens" split [["dp"], []]>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
                        OptionalParameter<"::mlir::ArrayAttr">:$axes);
  let assemblyFormat = "`<` $name (`split` $axes^)? `>`";
  let genVerifyDecl = 1;
}

// Where an argument of a fragment comes from.
def Kern_SourcesAttr : TypedArrayAttrBase<
    AnyAttrOf<[Kern_HostAttr, Step_LinkAttr, Step_SavedAttr]>,
    "sources: from the host, a rank or a fragment">;
// Where a result of a fragment goes; a unit is only kept.
def Kern_TargetsAttr : TypedArrayAttrBase<AnyAttrOf<[Step_LinkAttr, UnitAttr]>,
    "targets: a rank or none">;

def Kern_ActionAttr : AttrDef<Kern_Dialect, "Action"> {
  let mnemonic = "action";
  let summary = "One run of a fragment";
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
