//===- Passes.td - Passes over stages and schedules --------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PIPE_PASSES
#define HOCKET_PASSES_PIPE_PASSES

include "mlir/Pass/PassBase.td"

def PipeSplitStages : Pass<"pipe-split-stages", "::mlir::ModuleOp"> {
  let summary = "Cut the step's functions into the stages of the plan";
  let description = [{
    Cuts forward, backward and evaluation at their calls of layers, and gives
    each pipeline rank its part of the update and of the preparation. What
    crosses from stage to stage becomes a result of one fragment and an argument
    of the other, with a link between them; what backward needs of forward a
    result of one that the other names as its source. Ops that depend on nothing
    that flows (rotary tables, constants) are copied to every stage that needs
    them.

    A parameter that two ranks use (tied embeddings) lives on both, and their
    gradients are summed before the update. The gradient norm is combined over
    all ranks, so that all of them clip and skip alike.

    ```mlir
    func.func @forward(%t, %l) {
      %0 = call @layer(%x, ...)
      %1 = call @layer(%0, ...)
      ...
    }
    pipe.fragment F @forward(host "tokens", host "labels") -> (kept, ...) stage 0 chunk 0
    // becomes, with two pipeline ranks
    func.func @forward_0(%t) -> (tensor, ...)
    func.func @forward_1(%l, %0) -> ...
    pipe.fragment F @forward_0(host "tokens") -> (rank 1 tag 0, kept, ...) stage 0 chunk 0 cut
    pipe.fragment F @forward_1(host "labels", rank 0 tag 0) -> (kept, ...) stage 1 chunk 0 rank 1 cut
    ```

    Schedules are left to `pipe-write-schedule`. A plan of one stage changes
    nothing.
  }];
  let statistics = [
    Statistic<"numStages", "stages", "Number of stages">,
    Statistic<"numLinks", "links", "Number of values that cross">];
  let dependentDialects = ["::hocket::pipe::PipeDialect"];
}

def PipeChunkLoss : Pass<"pipe-chunk-loss", "::mlir::ModuleOp"> {
  let summary = "Compute the head and the loss in chunks of rows";
  let description = [{
    For `loss_chunks` of several in the plan. The head, the loss and what follows
    from them move from the last stage's forward to its backward, and are
    computed there chunk by chunk: the logits of some rows, their loss, their
    gradient, the gradient of the rows' input, and a part of the gradient of the
    head's weight. So the logits of a whole microbatch never exist, nor are any
    kept. Nothing is computed twice, and only the order changes in which the
    gradient of the head's weight is added up. A chunk's collectives of
    vocabulary-parallel ranks are of its rows alone.

    ```mlir
    func.func @forward(%x, %y) { %l = xf.linear %x, %w ...; xf.cross_entropy %l, %y ... }
    func.func @backward(%x, %dl) { xf.linear_weight_gradient %dl, %x ... }
    // becomes, of 2 chunks of 4 rows
    func.func @backward(%x, %y) {
      %x0 = pipe.slice_rows %x from 0 : tensor<8x64xf32> to tensor<4x64xf32>
      %l0 = xf.linear %x0, %w ...
      %dl0 = xf.cross_entropy_gradient %one, %l0, ...
      xf.linear_weight_gradient %dl0, %x0 ...
      %x1 = pipe.slice_rows %x from 4 : tensor<8x64xf32> to tensor<4x64xf32>
      ...
    }
    ```

    A program without a loss over a head's logits is left alone.
  }];
  let statistics = [Statistic<"numCut", "cut", "Number of losses cut up">];
  let dependentDialects = ["::hocket::pipe::PipeDialect",
                           "::hocket::xf::XfDialect"];
}

def PipeRecompute : Pass<"pipe-recompute", "::mlir::ModuleOp"> {
  let summary = "Have the backward compute residuals again";
  let description = [{
    For `recompute = auto`, and for `full` with `recompute_block` or several
    `recompute_layers` in the plan (`selective` and plain `full` are
    `xf-autodiff`'s). Finds the residuals of every layer on local shapes, their
    copies in flight from the schedule, and what each costs to compute from the
    others; plans each rank (passes/planning/RecomputePlan.h) and rewrites its
    fragments: a layer that recomputes calls a forward half that returns less
    and a backward half that begins with the forward's own ops.

    ```mlir
    %y, %h = call @layer_forward(%x, %w)     // forward keeps %x and %h
    %dx, %dw = call @layer_backward(%x, %w, %h, %dy)
    // becomes
    %y = call @layer_forward_lean(%x, %w)    // forward keeps %x
    %dx, %dw = call @layer_backward_joint(%x, %w, %dy)
    ```

    `auto` saves all it can within `memory_bytes`. What else a rank needs is
    known once the program is laid out, so that the driver compiles more than
    once: without `fixed` nothing is recomputed. A `step.recompute` of
    each rank reports how many bytes its residuals have, what was planned, and
    at what price.
  }];
  let options = [
    ListOption<"fixed", "fixed", "int64_t",
               "Bytes of each pipeline rank besides residuals of layers">,
    ListOption<"least", "least", "int64_t",
               "The same, of what no choice can free; only for the bound">];
  let statistics = [
    Statistic<"numRecomputed", "recomputed", "ops that compute again">];
  let dependentDialects = ["::hocket::pipe::PipeDialect",
                           "::hocket::xf::XfDialect"];
}

def PipeSplitWeightGradient
    : Pass<"pipe-split-weight-gradient", "::mlir::ModuleOp"> {
  let summary = "Split weight gradients off the backward fragments";
  let description = [{
    For schedules that run B and W apart. Of every backward fragment, and of the
    functions of layers that it calls, the weight gradients that nothing waits
    for become a fragment W of the same stage, which takes what F and B keep.

    ```mlir
    func.func @layer_backward(%x, %w, %dy) -> (tensor, tensor) {
      %dx = xf.linear_input_gradient %dy, %w : ...
      %dw = xf.linear_weight_gradient %dy, %x : ...
      return %dx, %dw : ...
    }
    pipe.fragment B @backward_0 stage 0 chunk 0 cut
    // becomes
    func.func @layer_backward(%x, %w, %dy) -> tensor
    func.func @layer_backward_weight(%dy, %x) -> tensor
    pipe.fragment B @backward_0 stage 0 chunk 0 cut
    pipe.fragment W @weight_0 stage 0 chunk 0 cut
    ```

    A plan whose schedule has B and W in one changes nothing.
  }];
  let statistics = [
    Statistic<"numFragments", "fragments", "Number of fragments W">];
  let dependentDialects = ["::hocket::pipe::PipeDialect"];
}

def PipeWriteSchedule : Pass<"pipe-write-schedule", "::mlir::ModuleOp"> {
  let summary = "Write what each pipeline rank runs, in order";
  let description = [{
    Generates the plan's schedule (or reads it from the file that it names),
    has it verified, gives every microbatch in flight a copy of its residuals,
    and writes one `pipe.schedule` for each rank and entry.

    ```mlir
    pipe.schedule "train_step" rank 1 microbatches 2 slots 1 [
      #pipe.action<F chunk 0 microbatch 0 slot 0>,
      #pipe.action<B chunk 0 microbatch 0 slot 0>, ...]
    ```

    A plan of one stage changes nothing.
  }];
  let statistics = [
    Statistic<"numActions", "actions", "Number of actions of all ranks">];
  let dependentDialects = ["::hocket::pipe::PipeDialect"];
}

def VerifyPipe : Pass<"verify-pipe", "::mlir::ModuleOp"> {
  let summary = "checks that stages fit together";
  let description = [{
    Beyond what each op checks: a rank has one fragment of a kind and chunk (P10),
    what one stage sends another takes in (P11), residuals are results of the
    fragment that is named (P12), and schedules run every fragment as often as
    they should (P13).

    ```mlir
    pipe.fragment F @forward_0 stage 0 chunk 0 cut // error: P11: sends ... to rank 1, which that end knows nothing of
    ```
  }];
}

#endif
