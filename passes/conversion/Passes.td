//===- Passes.td - From one level to the next --------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_CONVERSION_PASSES
#define HOCKET_PASSES_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertXfToDist : Pass<"convert-xf-to-dist", "::mlir::ModuleOp"> {
  let summary = "Place every tensor on the device mesh";
  let description = [{
    Adds the plan's `dist.mesh` and a sharding to every variable and to every
    argument of the functions that face the host. On a mesh of one device each
    tensor is whole, so the program's ops stay as they are. The axes of the model
    split parameters by their roles; a warning names a parameter without one, which
    stays whole on them. An argument of a layer that `xf.stream` marks gets the
    sharding of the residual stream, as `dist.stream`; a warning names a layer
    without one.

    Where ranks share sequences by position, these are stored so that each rank has
    as much to attend to (kernels/reference/Positions.h): in one round of parts, or,
    where documents share sequences, in as many rounds as leave parts long enough.

    ```mlir
    xf.variable @w : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>}
    ```
    becomes
    ```mlir
    dist.mesh @mesh ["dp"] sizes [1]
    xf.variable @w : tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, ...}
    ```
  }];
  // A multiple of the rows of every kernel's tile (kernels/cuda/Geometry.cuh).
  let options = [
    Option<"leastPart", "least-part", "int64_t", "128",
           "The fewest positions of a part of a sequence that is dealt out in "
           "several rounds">];
  let dependentDialects = ["::hocket::dist::DistDialect"];
}

def ConvertDistToPipe : Pass<"convert-dist-to-pipe", "::mlir::ModuleOp"> {
  let summary = "Cut the step into fragments and write its schedule";
  let description = [{
    Replaces `xf.step` by a `pipe.fragment` for each of its functions and a
    `pipe.schedule` for each entry that the runtime has. With one stage, 1F1B
    is a forward and a backward in turn for each microbatch, then the update.
    What functions are given, and how devices hold it, moves from attributes of
    their arguments into the fragments.

    ```mlir
    xf.step microbatches(2) forward(@f) backward(@b) update(@u) evaluate(@e)
    ```
    becomes
    ```mlir
    pipe.fragment F @f(host "tokens", host "labels") -> (kept, kept) stage 0 chunk 0
    pipe.fragment B @b(F argument 0, F argument 1, F result 1) stage 0 chunk 0
    ...
    pipe.schedule "train_step" rank 0 microbatches 2 slots 1 [F, B, F, B, U]
    ```
  }];
  let dependentDialects = ["::hocket::pipe::PipeDialect"];
}

def ConvertKernToExec : Pass<"convert-kern-to-exec", "::mlir::ModuleOp"> {
  let summary = "Write what each pipeline rank runs as a role";
  let description = [{
    Inlines the layers' functions into each fragment and gives every
    value a buffer. Each pipeline rank gets an `exec.role`: the buffers of its
    variables and values, a sequence for each of its fragments, what they
    receive and send as an `exec.transfer` at their beginning and end, and an
    entry for each schedule. Nothing has an address, a stream or a lifetime yet.
    What is left beside the roles are the `kern.kernel`s that they launch.

    ```mlir
    kern.fragment F @forward(%x: tensor<8x8xi32> from host "tokens") -> (tensor<8x8xf32>) {
      %y = kern.launch @scale(%x) : (tensor<8x8xi32>) -> tensor<8x8xf32>
      kern.return %y : tensor<8x8xf32>
    }
    ```
    becomes
    ```mlir
    exec.role @role0 ranks [0] {
      %tokens = exec.buffer "tokens" kind inputs : memref<8x8xi32>
      %scale = exec.buffer "scale" kind activations : memref<8x8xf32>
      exec.sequence @forward fragment F {
        exec.host input "tokens" %tokens : memref<8x8xi32>
        exec.launch @scale(%tokens) to (%scale) : (memref<8x8xi32>) -> memref<8x8xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::hocket::exec::ExecDialect"];
  let statistics = [
    Statistic<"roles", "roles", "Number of roles written">];
}

#endif
