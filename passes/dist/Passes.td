//===- Passes.td - Passes over the dist dialect ------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_DIST_PASSES
#define HOCKET_PASSES_DIST_PASSES

include "mlir/Pass/PassBase.td"

def DistSeedShardings : Pass<"dist-seed-shardings", "::mlir::ModuleOp"> {
  let summary = "takes the shardings of parameters and ops from the plan's file";
  let description = [{
    The file (passes/planning/strategy/ChosenSplits.h) is what `hocket strategy
    solve --shardings` or a person has written, for the mesh of the program; where
    the plan names none, nothing changes. A parameter's line takes the place of
    the plan's seed, for its optimizer state, its gradient and its working copy
    too. An op's line becomes the `split` of its `dist.placement`, the axes of
    each factor of its rule, which dist-propagate-shardings keeps to. What the
    file does not name follows as ever, but the residual stream has no
    sharding of its own once ops are named. D21 says what is refused.

    ```mlir
    %y = xf.linear %x, %w : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
    // becomes, with `split forward/linear [-,tp] [-,tp] -> [-,-]`
    %y = xf.linear %x, %w {dist.placement = #dist.placement<line = 4, split = [[], ["tp"], []]>} : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
    ```
  }];
  let statistics = [
    Statistic<"numSeeds", "seeds", "parameters and ops that the file names">];
  let dependentDialects = ["::hocket::dist::DistDialect"];
}

def DistPropagateShardings
    : Pass<"dist-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "decides how every op and every value is split over the mesh";
  let description = [{
    From the seeds (`dist.sharding` on variables and on the arguments of the
    functions that face the host, `dist.stream` on arguments of layers) through
    every op in program order, by its factor rule: each op gets a
    `dist.placement`, of `operands` what it wants, of `results` what it gives.
    passes/dist/OpSharding.h states the priorities. Partial sums that are of the residual stream
    (passes/dist/StreamValues.h) are reduced to its sharding; others are reduced
    where the first op needs them. Gradients take the sharding in which they are made.
    What decided is written down with it, for dist-explain-shardings:
    `reasons` of results, `moves` of operands.

    Ops whose shards are no op of the same kind are rewritten: a bias after
    partial sums, cross-entropy over a split vocabulary or split rows.

    ```mlir
    %y = xf.linear %x, %w : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
    // becomes, with the rows of %w split over tp
    %y = xf.linear %x, %w {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [[], []], partial = []>, #dist.sharding<@mesh, [["tp"], []], partial = []>], reasons = [[#dist.reason<weight_first over "tp" operand 1 dim 0>]], results = [#dist.sharding<@mesh, [[], ["tp"]], partial = []>]>} : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
    ```
  }];
  let statistics = [
    Statistic<"numConflicts", "conflicts",
              "operands that move because two wanted one axis">];
  let dependentDialects = ["::hocket::dist::DistDialect"];
}

def DistExplainShardings
    : Pass<"dist-explain-shardings", "::mlir::ModuleOp"> {
  let summary = "says of every tensor why it is split as it is";
  let description = [{
    Puts into words what convert-xf-to-dist has written on variables and
    dist-propagate-shardings on ops (`#dist.reason`): which operand, which
    priority or which part of the plan each axis of a value or a variable comes
    from, and why operands that are not as their op wants them must move. The
    mesh keeps the words as `explanation`, down to the executable, where
    `hocket explain` reads them. Layers that share a function are explained once.

    ```mlir
    dist.mesh @mesh ["tp"] sizes [2]
    // becomes
    dist.mesh @mesh ["tp"] sizes [2] {explanation = [{name = "layers.*.attention.q", kind = "linear", why = "dim 2 over tp: follows dim 0 of 'layers.*.attention.q.weight', a weight, and weights move last", ...}, ...]}
    ```
  }];
  let dependentDialects = ["::hocket::dist::DistDialect"];
}

def DistPartition : Pass<"dist-partition", "::mlir::ModuleOp"> {
  let summary = "turns global tensors into the shards that one device holds";
  let description = [{
    Gives every value the type of its shard and puts the cheapest sequence of
    collectives where an operand is not as its op wants it
    (passes/dist/Reshard.h). A value that several ops want in the same way is
    moved once. Each collective says in `why` which two ops made it necessary.

    ```mlir
    %y = xf.linear %x, %w {dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [[], ["tp"]], partial = []>, #dist.sharding<@mesh, [[], ["tp"]], partial = []>], results = [#dist.sharding<@mesh, [[], []], partial = ["tp"]>]>} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
    // becomes, on two devices and with a next op that wants %y whole
    %p = xf.linear %x, %w : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %y = dist.all_reduce %p over ["tp"] : tensor<8x16xf32>
    ```
  }];
  let statistics = [
    Statistic<"numCollectives", "collectives", "collectives that were inserted">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::hocket::dist::DistDialect",
                           "::hocket::xf::XfDialect"];
}

def DistRingAttention : Pass<"dist-ring-attention", "::mlir::ModuleOp"> {
  let summary = "lets keys and values travel to the queries";
  let description = [{
    Attention that is left with the keys of one device (`--cp-strategy ring`)
    becomes a ring over `cp`: in each turn a device attends to the keys that it
    has and sends them to the next; what it gets is put together by
    `xf.merge_attention`. Backward, the gradients by keys and values travel too,
    and come home in the end. Sums are in f32.

    ```mlir
    %o, %l = xf.attention %q, %k, %v from (%p, %p, %z, %z) {causal, scale = 0.5, whole = array<i64: 1, 2, 16>} : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, i32, i32, i32, i32) -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
    // becomes, on two devices,
    %k1 = dist.shift %k over ["cp"] : tensor<1x8x2x4xf32>
    %v1 = dist.shift %v over ["cp"] : tensor<1x8x2x4xf32>
    %a, %la = xf.attention %q, %k, %v from (%p, %p, %z, %z) {...}
    %b, %lb = xf.attention %q, %k1, %v1 from (%p, %p, %z, %z) {behind = 8 : i64, ...}
    %o, %l = xf.merge_attention %a, %la, %b, %lb : ...
    ```
  }];
  let statistics = [Statistic<"numRings", "rings", "attentions that became rings">];
  let dependentDialects = ["::hocket::dist::DistDialect",
                           "::hocket::xf::XfDialect"];
}

def VerifyDist : Pass<"verify-dist", "::mlir::ModuleOp"> {
  let summary = "checks that every tensor is what one device holds";
  let description = [{
    Beyond what each op checks: the mesh is that of the module's plan (D20), every
    variable has the type that its sharding leaves on a device (D22), nothing is
    left that partitioning takes away (D23), no collective crosses between
    stages (D24), and a microbatch is what the plan's data ranks compute (D27).

    ```mlir
    dist.mesh @mesh ["dp"] sizes [2]
    xf.variable @w : tensor<8xf32> {dist.sharding = #dist.sharding<@mesh, [["dp"]], partial = []>, ...} // error: D22
    ```
  }];
}

#endif
