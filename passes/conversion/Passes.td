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
    tensor is whole, so the program's ops stay as they are.

    ```mlir
    xf.variable @w : tensor<8x8xf32> {kind = #xf.variable_kind<parameter>}
    ```
    becomes
    ```mlir
    dist.mesh @mesh ["dp"] sizes [1]
    xf.variable @w : tensor<8x8xf32> {dist.sharding = #dist.sharding<@mesh, [[], []], partial = []>, ...}
    ```
  }];
  let options = [
    ListOption<"axes", "axes", "std::string",
               "The mesh as name=size, the slowest axis first">];
  let dependentDialects = ["::hocket::dist::DistDialect"];
}

def ConvertDistToPipe : Pass<"convert-dist-to-pipe", "::mlir::ModuleOp"> {
  let summary = "Cut the step into fragments and write its schedule";
  let description = [{
    Replaces `xf.step` by a `pipe.fragment` for each of its functions and a
    `pipe.schedule` for each entry that the runtime has. With one stage, 1F1B
    is a forward and a backward in turn for each microbatch, then the update.

    ```mlir
    xf.step microbatches(2) forward(@f) backward(@b) update(@u) evaluate(@e)
    ```
    becomes
    ```mlir
    pipe.fragment F @f stage 0 chunk 0
    ...
    pipe.schedule "train_step" rank 0 microbatches 2 slots 1 [F, B, F, B, U]
    ```
  }];
  let dependentDialects = ["::hocket::pipe::PipeDialect"];
}

def ConvertKernToExec : Pass<"convert-kern-to-exec", "::mlir::ModuleOp"> {
  let summary = "Lay the program out as straight lines over one arena";
  let description = [{
    Inlines the layers' functions into each scheduled function, gives every
    value a buffer (an update in place or an accumulation writes straight to
    its variable), finds lifetimes through forward and backward, and plans
    offsets. What is left is `exec.role` and the `kern.kernel`s it launches.

    A collective beside which something can be computed runs on a stream of its
    mesh axis, with events where streams meet. With `bucket-bytes`, collectives go
    together until they have that many bytes: those of gradients while the last
    backward runs, those of sharded parameters ahead of their use.

    ```mlir
    func.func @forward(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %y = kern.launch @scale(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
      return %y : tensor<8x8xf32>
    }
    ```
    becomes
    ```mlir
    exec.role @role0 ranks [0] arena 512 lower_bound 512 {
      %x = exec.buffer "x" at 0 kind "inputs" live 0 to 1 : memref<8x8xf32>
      %y = exec.buffer "scale" at 256 kind "activations" live 1 to 1 : memref<8x8xf32>
      exec.sequence @forward {
        exec.host "input" "x" %x : memref<8x8xf32>
        exec.launch @scale(%x, %y) {kernel_inputs = 1 : i64} : memref<8x8xf32>, memref<8x8xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::hocket::exec::ExecDialect"];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"0",
           "Bytes of a full bucket of collectives; 0: each by itself">];
  let statistics = [
    Statistic<"buffers", "buffers", "Number of buffers planned">,
    Statistic<"inPlace", "in-place", "Number of results written over operands">,
    Statistic<"direct", "direct", "Number of results written straight to variables">];
}

#endif
