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
    : Step_EnumAttr<Kern_Dialect, Step_VariableKind, "variable_kind"> {
  let assemblyFormat = "`<` $value `>`";
}

def Kern_FragmentKindAttr
    : Step_EnumAttr<Kern_Dialect, Step_FragmentKind, "fragment_kind"> {
  let assemblyFormat = "$value";
}

def Kern_ShardAttr : AttrDef<Kern_Dialect, "Shard"> {
  let mnemonic = "shard";
  let summary = "What a shard is of a larger tensor";
  let description = [{
    Its shape and that of the whole; the dims that a number beside it says the
    shard starts in; and of each of these how many rows the parts have that it is
    stored in, 0 for one that is in order, dealt out in `rounds`
    (kernels/reference/TensorShard.h).

    `#kern.shard<[4, 64] of [8, 64] dims [0] parts [0]>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        ArrayRefParameter<"int64_t">:$whole,
                        OptionalArrayRefParameter<"int64_t">:$dims,
                        OptionalArrayRefParameter<"int64_t">:$parts,
                        DefaultValuedParameter<"int64_t", "1">:$rounds);
  let assemblyFormat = [{
    `<` `[` $shape `]` `of` ` ` `[` $whole `]` (`dims` ` ` `[` $dims^ `]`)?
    (`parts` ` ` `[` $parts^ `]`)? (`rounds` $rounds^)? `>`
  }];
  let genVerifyDecl = 1;
}

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
