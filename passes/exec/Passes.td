//===- Passes.td - Passes over roles -----------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_EXEC_PASSES
#define HOCKET_PASSES_EXEC_PASSES

include "mlir/Pass/PassBase.td"

class Exec_Pass<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::hocket::exec::ExecDialect"];
}

def ExecOrderCollectives : Exec_Pass<"exec-order-collectives"> {
  let summary = "starts collectives early, several as one";
  let description = [{
    Within each sequence a collective moves up to the instruction that it needs,
    so that what does not need it can run beside it. With `bucket_bytes` in the plan, gathers
    of sharded parameters go together by layer and come ahead of their use, and
    gathers and reduce-scatters whose results are only stored go together; the
    stores come behind.

    ```mlir
    exec.gemm %x, %w into %d ...
    exec.gemm %x, %x into %g ...
    exec.collective all_reduce %d to %s over ["tp"] ...
    ```
    becomes
    ```mlir
    exec.gemm %x, %w into %d ...
    exec.collective all_reduce %d to %s over ["tp"] ...
    exec.gemm %x, %x into %g ...
    ```
  }];
}

def ExecFoldWrites : Exec_Pass<"exec-fold-writes"> {
  let summary = "writes results straight to variables and over operands";
  let description = [{
    A value that is only added to a variable, or that becomes its new value, is
    written there by the instruction that computes it; a result of a kernel takes
    the buffer of an operand that dies there.

    ```mlir
    exec.gemm %x, %y into %g {...}
    exec.accumulate %g to %w.grad {accumulate = #exec.accumulation<add_unless_first>}
    ```
    becomes
    ```mlir
    exec.gemm %x, %y into %w.grad {accumulate = #exec.accumulation<add_unless_first>, ...}
    ```
  }];
  let statistics = [
    Statistic<"inPlace", "in-place", "Number of results written over operands">,
    Statistic<"direct", "direct", "Number of results written straight to variables">];
}

def ExecPackWeights : Exec_Pass<"exec-pack-weights"> {
  let summary = "packs the weights of a program that trains nothing";
  let description = [{
    Working copies of bf16 that GEMMs multiply by are packed once, in `prepare`,
    as the CPUs' library reads them. What nothing else reads is a temporary of
    `prepare` then. A program with a training step stays as it is.

    ```mlir
    exec.gemm %x, %w into %y {..., transpose_b} : memref<1x64xbf16>, memref<128x64xbf16>, memref<1x128xbf16>
    ```
    becomes
    ```mlir
    exec.library "gemm_pack"(%w) to (%w.packed) {...} : (memref<128x64xbf16>) -> memref<16384xi8>
    exec.gemm %x, %w.packed into %y {b_packed, ..., transpose_b} : memref<1x64xbf16>, memref<16384xi8>, memref<1x128xbf16>
    ```
  }];
  let statistics = [Statistic<"packed", "packed", "Number of weights packed">];
}

def ExecBucketGradients : Exec_Pass<"exec-bucket-gradients"> {
  let summary = "reduces gradients while the last backward runs";
  let description = [{
    Takes the sums of gradients between ranks out of the update: buckets of
    the plan's `bucket_bytes` run as soon as their gradients are complete, in the step's last
    run of the fragment that completes them. That fragment is cut there.

    ```mlir
    exec.sequence @backward fragment B { exec.gemm ... into %b.grad; exec.gemm ... into %a.grad }
    exec.sequence @update fragment U { exec.collective all_reduce %a.grad to %a.sum ...; exec.collective all_reduce %b.grad to %b.sum ... }
    ```
    becomes
    ```mlir
    exec.sequence @backward.0 fragment B of "backward" { exec.gemm ... into %b.grad }
    exec.sequence @gradients0 fragment B of "backward" bucket { exec.collective all_reduce %b.grad to %b.grad ... }
    exec.sequence @backward.1 fragment B of "backward" { exec.gemm ... into %a.grad }
    exec.sequence @gradients1 fragment B of "backward" bucket { exec.collective all_reduce %a.grad to %a.grad ... }
    exec.sequence @update fragment U { }
    ```
  }];
  let statistics = [Statistic<"buckets", "buckets", "Number of buckets">];
}

def ExecFreeGradients : Exec_Pass<"exec-free-gradients"> {
  let summary = "lets gradients of one microbatch live from where they are made";
  let description = [{
    Where a step has one microbatch, a gradient that its first instruction
    overwrites is a value of the step like any other: nothing is kept between
    steps, and nothing is added.

    ```mlir
    %g = exec.buffer "w.grad" kind gradients {persistent} : memref<8x8xf32>
    exec.gemm %x, %y into %g {accumulate = #exec.accumulation<add_unless_first>, ...}
    ```
    becomes
    ```mlir
    %g = exec.buffer "w.grad" kind gradients : memref<8x8xf32>
    exec.gemm %x, %y into %g {...}
    ```
  }];
  let statistics = [Statistic<"freed", "freed", "Number of gradients freed">];
}

def ExecOverlapCollectives : Exec_Pass<"exec-overlap-collectives"> {
  let summary = "gives collectives that computation passes by a stream";
  let description = [{
    A collective beside which something is computed runs on the stream of its
    first mesh axis, a bucket of gradients on one of its own. The role lists what
    its streams are for.

    ```mlir
    exec.role @role0 ranks [0, 1] {
      exec.collective all_reduce %d to %s over ["tp"] ...
    ```
    becomes
    ```mlir
    exec.role @role0 ranks [0, 1] streams ["tp"] {
      exec.collective all_reduce %d to %s over ["tp"] {stream = 1 : i64} ...
    ```
  }];
  let statistics = [
    Statistic<"overlapped", "overlapped", "Number of collectives beside stream 0">];
}

def ExecJoinOwnTransfers : Exec_Pass<"exec-join-own-transfers"> {
  let summary = "makes what a rank sends itself one transfer";
  let description = [{
    Where a rank has two stages that follow each other, the send of the one goes
    to the receive of the other.

    ```mlir
    exec.sequence @f0 fragment F stage 0 { exec.transfer(%x) over ["pp"] {sends = array<i1: true>, ...} }
    exec.sequence @f1 fragment F stage 1 { exec.transfer(%y) over ["pp"] {sends = array<i1: false>, ...} }
    ```
    becomes
    ```mlir
    exec.sequence @f0 fragment F stage 0 { }
    exec.sequence @f1 fragment F stage 1 { exec.transfer(%x, %y) over ["pp"] {sends = array<i1: true, false>, ...} }
    ```
  }];
  let statistics = [Statistic<"joined", "joined", "Number of transfers joined">];
}

def ExecCountCopies : Exec_Pass<"exec-count-copies"> {
  let summary = "gives residuals and links a copy for each microbatch in flight";
  let description = [{
    Counts, from the entries, of how many microbatches a buffer holds values at
    once. Copies are a ring by microbatch; where several stages of a rank are not
    full at one time, residuals stand together in `frames`, one for each slot of
    the schedule.

    ```mlir
    %h = exec.buffer "h" kind activations {residual} : memref<4x8xf32>
    ```
    becomes
    ```mlir
    %h = exec.buffer "h" kind activations {by_microbatch, residual, slots = 3 : i64} : memref<4x8xf32>
    ```
  }];
  let statistics = [
    Statistic<"framed", "framed", "Number of buffers that stand in frames">];
}

def ExecSettleTransfers : Exec_Pass<"exec-settle-transfers"> {
  let summary = "adds copies until no ranks wait for each other for ever";
  let description = [{
    Runs each entry of all pipeline ranks together, without data, and gives the
    smallest buffer of a circle of waits one copy more until all come to their
    ends. Fails where the schedule's own waits have a circle.

    ```mlir
    %x = exec.buffer "x" kind transfers {by_microbatch, slots = 2 : i64} : memref<4x8xf32>
    ```
    becomes, where two copies are not enough,
    ```mlir
    %x = exec.buffer "x" kind transfers {by_microbatch, slots = 4 : i64} : memref<4x8xf32>
    ```
  }];
  let statistics = [Statistic<"copies", "copies", "Number of copies added">];
}

def ExecLayOutArena : Exec_Pass<"exec-lay-out-arena"> {
  let summary = "finds lifetimes and offsets";
  let description = [{
    Counts the positions from and to which each buffer holds a value, and places
    buffers so that what lives at one time does not share bytes: variables first,
    then the values of the step, as passes/planning/memory finds.

    ```mlir
    exec.role @role0 ranks [0] {
      %x = exec.buffer "tokens" kind inputs : memref<4x8xi32>
    ```
    becomes
    ```mlir
    exec.role @role0 ranks [0] arena 4096 lower_bound 4096 {
      %x = exec.buffer "tokens" at 0 kind inputs live 0 to 1 : memref<4x8xi32>
    ```
  }];
  let statistics = [
    Statistic<"buffers", "buffers", "Number of buffers planned">];
}

def ExecPlaceEvents : Exec_Pass<"exec-place-events"> {
  let summary = "orders the streams of a sequence where they meet";
  let description = [{
    Instructions of one sequence on different streams that use the same bytes,
    one of which changes them, get a record behind the earlier and a wait before
    the later, unless other waits say as much.

    ```mlir
    exec.gemm %x, %w into %d ...
    exec.collective all_reduce %d to %s over ["tp"] {stream = 1 : i64} ...
    ```
    becomes
    ```mlir
    exec.gemm %x, %w into %d ...
    exec.record 0 on 0
    exec.wait 0 on 1
    exec.collective all_reduce %d to %s over ["tp"] {stream = 1 : i64} ...
    ```
  }];
  let statistics = [Statistic<"events", "events", "Number of events placed">];
}

def ExecScheduleTransfers : Exec_Pass<"exec-schedule-transfers"> {
  let summary = "writes transfers and what waits for them into the entries";
  let description = [{
    Transfers become sequences of their own, each peer, direction and kind of
    data on a stream. Entries run them as early as the copy that they fill is
    free, with records and waits where two streams use one copy of a buffer.

    ```mlir
    exec.sequence @f fragment F stage 0 { exec.launch @k(%t) to (%x) ...; exec.transfer(%x) over ["pp"] ... }
    exec.entry "train_step" [@f] microbatches [0] slots [0]
    ```
    becomes
    ```mlir
    exec.sequence @f fragment F stage 0 { exec.launch @k(%t) to (%x) ... }
    exec.sequence @f.send { exec.transfer(%x) over ["pp"] {stream = 1 : i64, ...} ... }
    exec.sequence @sync.r0s0.w0s1 { exec.record 0 on 0; exec.wait 0 on 1 }
    exec.entry "train_step" [..., @f, @sync.r0s0.w0s1, @f.send, ...] microbatches [...] slots [...]
    ```
  }];
  let statistics = [
    Statistic<"transfers", "transfers", "Number of transfers scheduled">];
}

def VerifyExec : Exec_Pass<"verify-exec"> {
  let summary = "checks that roles can be executed";
  let description = [{
    Beyond what each op checks: every role has an arena (E11), every buffer lives
    where instructions use it (E12), transfers have sequences of their own (E13),
    and a wait is for an event that something records (E14).

    ```mlir
    exec.role @role0 ranks [0] { // error: E11: has no arena
    }
    ```
  }];
}

#endif
