//===- DistAttrs.td - Attributes of the dist dialect -------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_DIST_DISTATTRS
#define HOCKET_DIALECTS_DIST_DISTATTRS

include "dialects/dist/IR/DistDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Dist_ShardingAttr : AttrDef<Dist_Dialect, "Sharding"> {
  let mnemonic = "sharding";
  let summary = "How a tensor is split over a mesh";
  let description = [{
    For every dim the axes that split it, the major one first, then the axes
    over which the shards are partial sums.

    `#dist.sharding<@mesh, [["dp"], [], ["tp"]], partial = []>`
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
                        "::mlir::ArrayAttr":$dims,
                        "::mlir::ArrayAttr":$partial);
  let assemblyFormat = "`<` $mesh `,` $dims `,` `partial` `=` $partial `>`";
  let genVerifyDecl = 1;
}

def Dist_ContextStrategy : I32EnumAttr<"ContextStrategy",
    "how devices that share sequences compute attention", [
    I32EnumAttrCase<"AllGather", 0, "all_gather">,
    I32EnumAttrCase<"Ring", 1, "ring">,
    I32EnumAttrCase<"AllToAll", 2, "all_to_all">]> {
  let cppNamespace = "::hocket::dist";
  let genSpecializedAttr = 0;
}
def Dist_ContextStrategyAttr
    : EnumAttr<Dist_Dialect, Dist_ContextStrategy, "context_strategy"> {
  let assemblyFormat = "$value";
}

//===----------------------------------------------------------------------===//
// Why tensors are split as they are
//===----------------------------------------------------------------------===//

def Dist_ReasonKind : I32EnumAttr<"ReasonKind", "what decided a sharding", [
    // Of variables, which the plan splits.
    I32EnumAttrCase<"Model", 0, "model">,
    I32EnumAttrCase<"ZeroState", 1, "zero_state">,
    I32EnumAttrCase<"ZeroCopy", 2, "zero_copy">,
    I32EnumAttrCase<"ZeroGradients", 3, "zero_gradients">,
    I32EnumAttrCase<"ZeroWeights", 4, "zero_weights">,
    I32EnumAttrCase<"CachePages", 5, "cache_pages">,
    I32EnumAttrCase<"CacheHeads", 6, "cache_heads">,
    // Of gradients, which are split as what is added to them.
    I32EnumAttrCase<"FirstAddition", 7, "first_addition">,
    I32EnumAttrCase<"SumsOfData", 8, "sums_of_data">,
    // A file of shardings says so: of this op or variable, or of its like.
    I32EnumAttrCase<"Chosen", 9, "chosen">,
    I32EnumAttrCase<"ChosenAlike", 10, "chosen_alike">,
    // Of the results of ops: what proposed the axis.
    I32EnumAttrCase<"Operand", 11, "operand">,
    I32EnumAttrCase<"Weight", 12, "weight">,
    I32EnumAttrCase<"WeightFirst", 13, "weight_first">,
    I32EnumAttrCase<"Stream", 14, "stream">,
    I32EnumAttrCase<"GradientOf", 15, "gradient_of">,
    I32EnumAttrCase<"Positions", 16, "positions">,
    I32EnumAttrCase<"Vocabulary", 17, "vocabulary">,
    I32EnumAttrCase<"SharedRows", 18, "shared_rows">,
    I32EnumAttrCase<"Heads", 19, "heads">,
    I32EnumAttrCase<"Ring", 20, "ring">,
    // Why it is a partial sum.
    I32EnumAttrCase<"Linear", 21, "linear">,
    I32EnumAttrCase<"SummedOver", 22, "summed_over">,
    I32EnumAttrCase<"OwnPart", 23, "own_part">,
    // Of `dist.constrain`.
    I32EnumAttrCase<"Wanted", 24, "wanted">,
    I32EnumAttrCase<"Experts", 25, "experts">,
    // Why an operand may not keep an axis.
    I32EnumAttrCase<"FormSums", 26, "form_sums">,
    I32EnumAttrCase<"NeedsAll", 27, "needs_all">]> {
  let cppNamespace = "::hocket::dist";
  let genSpecializedAttr = 0;
}

def Dist_ReasonAttr : AttrDef<Dist_Dialect, "Reason"> {
  let mnemonic = "reason";
  let summary = "What decided where one axis of the mesh stands";
  let description = [{
    In a placement, a list for each result of an op, or one for a variable: why
    `axis` splits a dim of it, or is one that it is a partial sum over;
    without an axis, why all of it is split as it is. In its `moves`, a list for
    each operand: why it may not keep `axis`. `operand` and `dim` say what the
    axis follows, `line` where a file of shardings says so. Each is written down
    when it is decided, for dist-explain-shardings to put into words, and gone
    after partitioning.

    `#dist.reason<weight_first over "tp" operand 1 dim 0>`
  }];
  let parameters = (ins EnumParameter<Dist_ReasonKind>:$kind,
                        OptionalParameter<"::mlir::StringAttr">:$axis,
                        DefaultValuedParameter<"int64_t", "-1">:$operand,
                        DefaultValuedParameter<"int64_t", "-1">:$dim,
                        DefaultValuedParameter<"int64_t", "-1">:$line);
  let assemblyFormat = [{
    `<` $kind (`over` $axis^)? (`operand` $operand^)? (`dim` $dim^)?
    (`line` $line^)? `>`
  }];
  let extraClassDeclaration = [{
    /// Of all of a tensor.
    static ReasonAttr of(::mlir::MLIRContext *context,
                         ::hocket::dist::ReasonKind kind) {
      return get(context, kind, {}, -1, -1, -1);
    }
    /// Of an axis, and of what is at dim `dim` of operand `operand`, if it is
    /// about one.
    static ReasonAttr of(::hocket::dist::ReasonKind kind,
                         ::mlir::StringAttr axis, int64_t operand = -1,
                         int64_t dim = -1) {
      return get(axis.getContext(), kind, axis, operand, dim, -1);
    }
    /// Of the same axis by itself.
    ReasonAttr about(::hocket::dist::ReasonKind kind) const {
      return of(kind, getAxis());
    }
  }];
}

//===----------------------------------------------------------------------===//
// What is decided of an op before tensors are local
//===----------------------------------------------------------------------===//

def Dist_PlacementAttr : AttrDef<Dist_Dialect, "Placement"> {
  let mnemonic = "placement";
  let summary = "How an op is split, and why";
  let description = [{
    The attribute `dist.placement` of any op of a function, until partitioning:
    ops of `xf` must not know of shardings, so none declares it.

    | parameter | holds |
    |---|---|
    | `operands`, `results` | for each of them a sharding, `unit` for what is no tensor |
    | `reasons` | for each result a list of `#dist.reason` |
    | `moves` | for each operand why it may not stay as it is, `unit` for one that may |
    | `split` | the axes of each factor of the op's rule, where a file of shardings says so |
    | `line` | the line of that file, where it names this op |

    Of a variable it has `reasons`, one list, the `line` that names it, and
    `scattered`: a gradient that is kept in the shards of the optimizer's state.

    `#dist.placement<operands = [#dist.sharding<@mesh, [["dp"], []], partial = []>], results = [unit]>`
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "-1">:$line,
                        OptionalParameter<"::mlir::ArrayAttr">:$moves,
                        OptionalParameter<"::mlir::ArrayAttr">:$operands,
                        OptionalParameter<"::mlir::ArrayAttr">:$reasons,
                        OptionalParameter<"::mlir::ArrayAttr">:$results,
                        OptionalParameter<"::mlir::UnitAttr">:$scattered,
                        OptionalParameter<"::mlir::ArrayAttr">:$split);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
