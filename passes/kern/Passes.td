//===- Passes.td - Passes over kernels ---------------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_KERN_PASSES
#define HOCKET_PASSES_KERN_PASSES

include "mlir/Pass/PassBase.td"

class Kern_Pass<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::hocket::kern::KernDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def KernFitF8Gemms : Kern_Pass<"kern-fit-f8-gemms"> {
  let summary = "stores 8-bit operands as cuBLASLt multiplies them";
  let description = [{
    Most GPUs multiply 8-bit operands only where the inner dimension of both runs
    fastest. One that is stored the other way gets a transposed copy, which all
    GEMMs of the block share:

    ```mlir
    %d = kern.gemm %g, %w {k = 32, m = 16, n = 64} : (tensor<16x32xf8E5M2>, tensor<32x64xf8E4M3FN>) -> tensor<16x64xbf16>
    ```
    becomes
    ```mlir
    %t = kern.library "transpose"(%w) {integers = array<i64: 7, 32, 64>} : (tensor<32x64xf8E4M3FN>) -> tensor<64x32xf8E4M3FN>
    %d = kern.gemm %g, %t {k = 32, m = 16, n = 64, transpose_b} : (tensor<16x32xf8E5M2>, tensor<64x32xf8E4M3FN>) -> tensor<16x64xbf16>
    ```

    Where a size is no multiple of 16, or a GPU that the program is for has no
    such GEMMs, operands become bf16, which has all their numbers, and a region
    behind the GEMM multiplies by the scales. So does one add a bias to a
    result of f32, for which the library wants a bias of bf16.
  }];
  let options = [
    Option<"layouts", "layouts", "std::string", "\"inner-fastest\"",
           "How 8-bit operands may be stored: `inner-fastest`, `any`, or `none` "
           "where they are not multiplied">,
  ];
  let statistics = [
    Statistic<"transposed", "transposed", "Number of matrices transposed">,
    Statistic<"widened", "widened", "Number of GEMMs in bf16">];
}

def KernInvariantGemms : Kern_Pass<"kern-invariant-gemms"> {
  let summary = "gives GEMMs of linear layers to a kernel of one tile";
  let description = [{
    A GPU's library chooses the algorithm of a GEMM by its sizes, so that a row of
    the result may have other bits where there are more rows. Hocket's own
    kernel for experts has one tile and one order of sums over k. This pass
    makes each GEMM of a forward pass (`transpose_b` alone) the linear layer of
    one expert, and adds its bias by a region, which is fused as others are:

    ```mlir
    %y = kern.gemm %x, %w {k = 32, m = 16, n = 64, transpose_b} : (tensor<16x32xbf16>, tensor<64x32xbf16>) -> tensor<16x64xbf16>
    ```
    becomes
    ```mlir
    %y = kern.library "grouped_linear"(%x, %w) {integers = array<i64: 2, 16, 64, 32, 1, 1>, results_first} : (tensor<16x32xbf16>, tensor<64x32xbf16>) -> tensor<16x64xbf16>
    ```

    A GEMM that has scales or several element types is an error.
  }];
  let statistics = [
    Statistic<"replaced", "replaced", "Number of GEMMs replaced">];
}

def KernJointAttention : Kern_Pass<"kern-joint-attention"> {
  let summary = "finds all gradients of attention in one kernel";
  let description = [{
    The gradients of attention take two kernels, one for queries and one for keys
    and values, which both compute the scores: seven GEMMs. Hopper has
    a kernel that computes them once, five GEMMs, for causal attention of
    whole sequences of up to 2,048 positions, with as many heads of keys as of
    queries, of size 64, in 16 bits and without dropout. A block of it has a whole
    head, so this pass chooses it where a batch has 128 heads or more:

    ```mlir
    %r:4 = kern.library "attention_backward"(%q, %k, %v, %o, %lse, %do) {integers = array<i64: 1, 64, 1024, 12, 12, 64, 1, 0, 0>, ..}
    ```
    becomes
    ```mlir
    %r:4 = kern.library "attention_backward_joint"(%q, %k, %v, %o, %lse, %do) {integers = array<i64: 1, 64, 1024, 12, 12, 64, 1, 0, 0>, ..}
    ```
  }];
  let statistics = [
    Statistic<"replaced", "replaced", "Number of calls replaced">];
}

def KernFuseGemmEpilogue : Kern_Pass<"kern-fuse-gemm-epilogue"> {
  let summary = "gives what follows a GEMM to the GEMM";
  let description = [{
    A region that only adds a bias to a GEMM, applies a nonlinearity, adds
    a residual or changes the element type becomes part of the `kern.gemm`.
    The GEMM must have no other use; before a nonlinearity it may, and its
    value is then kept as `auxiliary`. Regions are recognised by what they
    compute, not by their label.

    ```mlir
    %h = kern.gemm %x, %w {...} : ... -> tensor<8x64xbf16>
    %y = kern.rows "add" [8 x 64] (%a = %h as full : tensor<8x64xbf16>, %b = %r as full : tensor<8x64xbf16>) -> (tensor<8x64xbf16> as full) {
      %0 = arith.addf %a, %b : f32
      kern.yield %0 : f32
    }
    ```
    becomes
    ```mlir
    %y = kern.gemm %x, %w residual %r {...} : ... -> tensor<8x64xbf16>
    ```

    With `library=cublaslt` only what that library computes in one GEMM is
    fused, of which a backward pass has a nonlinearity's derivative at the
    `preactivation` that was kept, and a sum over the rows of the left factor,
    the bias's gradient beside the weight's:

    ```mlir
    %h = kern.gemm %dy, %w preactivation %x {epilogue = #kern.epilogue<gelu_tanh>, ...} : ... -> tensor<8x64xbf16>
    %dw, %db = kern.gemm %h, %z {bias_gradient, transpose_a, ...} : ... -> (tensor<64x32xf32>, tensor<64xf32>)
    ```

    There is no nonlinearity but the tanh form of GELU, whose kept input has rows
    of a multiple of 8, no residual behind it, and one type for the result and
    what is added to it. Behind 8-bit operands no nonlinearity is, and a bias
    only where the result is not f32.
  }];
  let options = [
    Option<"library", "library", "std::string", "\"\"",
           "Who computes GEMMs: `cublaslt`, or empty for kernels/cpu">,
  ];
  let statistics = [Statistic<"fused", "fused", "Number of regions fused">];
}

def KernFuseLoss : Kern_Pass<"kern-fuse-loss"> {
  let summary = "takes the cross-entropy and its gradient in one walk";
  let description = [{
    Where a block has both, the logits are whole rows of the vocabulary and the
    gradient of the loss is known before it, one call reads each row once and
    writes the gradient, in the logits' place if nothing else reads them.

    ```mlir
    %loss, %lse = kern.library "cross_entropy_forward"(%x, %y) ...
    %dx = kern.library "cross_entropy_backward"(%x, %y, %lse, %d) ...
    ```
    becomes
    ```mlir
    %n = kern.library "count_labels"(%y) ...
    %lse, %picked, %dx = kern.library "cross_entropy_joint"(%x, %y, %d, %n) ...
    %loss = kern.library "mean_loss"(%lse, %picked, %y, %n) ...
    ```
  }];
  let statistics = [Statistic<"fused", "fused", "Number of losses fused">];
}

def KernFuseRows : Kern_Pass<"kern-fuse-rows"> {
  let summary = "fuses regions of one iteration space";
  let description = [{
    Joins a `kern.rows` with the one that computes its operand, so that the
    value is not stored and read again (it is stored if something else reads
    it), and two that read the same tensor. Constants go into their readers.
    Regions of other shapes join as passes/kern/RegionFusion.h says; what
    keeps two apart is told by `kern-report-fusion`.

    ```mlir
    %h = kern.rows "add" [8 x 64] (%x, %r) ...
    %y = kern.rows "rms_norm" [8 x 64] (%h, %w) ...
    ```
    becomes
    ```mlir
    %h, %y = kern.rows "add+rms_norm" [8 x 64] (%x, %r, %w) ...
    ```
  }];
  let options = [
    Option<"maxBuffers", "max-buffers", "unsigned", "16",
           "Most operands and results of a kernel">];
  let statistics = [
    Statistic<"producers", "producers", "Number of producers fused">,
    Statistic<"siblings", "siblings", "Number of siblings fused">];
}

def KernFuseColumns : Kern_Pass<"kern-fuse-columns"> {
  let summary = "fuses into sums over rows";
  let description = [{
    Joins a `kern.columns` with an elementwise region that computes its operand
    and has no other use (one that only changes the element type is copied),
    and two sums over the same operand.

    ```mlir
    %g = kern.rows "gelu_gradient" [8 x 64] (%d, %x) ...
    %b = kern.columns "sum_leading" [8 x 64] (%g) ...
    ```
    becomes
    ```mlir
    %b = kern.columns "gelu_gradient+sum_leading" [8 x 64] (%d, %x) ...
    ```
  }];
  let options = [
    Option<"maxBuffers", "max-buffers", "unsigned", "16",
           "Most operands and results of a kernel">];
  let statistics = [
    Statistic<"producers", "producers", "Number of producers fused">,
    Statistic<"siblings", "siblings", "Number of siblings fused">];
}

def KernFuseSums : Kern_Pass<"kern-fuse-sums"> {
  let summary = "sums rows in what reads or writes them anyway";
  let description = [{
    Joins a `kern.columns` over many rows with a `kern.rows` that reads or writes
    the same tensor, which then is not read again; of several, with the one that
    has most of what it reads. Only GPUs have kernels for such regions. With few
    rows they would be too few blocks.

    ```mlir
    %dx, %r = kern.rows "rms_norm_gradient" [65536 x 64] (%dy, %x, %w) ...
    %dw = kern.columns "rms_norm_weight_gradient" [65536 x 64] (%dy, %x, %r) ...
    ```
    becomes
    ```mlir
    %dx, %dw = kern.rows "rms_norm_gradient+rms_norm_weight_gradient" [65536 x 64] (%dy, %x, %w) -> (tensor<65536x64xbf16> as full, tensor<64xf32> as col) ...
    ```
  }];
  let options = [
    Option<"leastRows", "least-rows", "int64_t", "8192",
           "Fewer rows are summed by themselves">,
    Option<"maxSums", "max-sums", "unsigned", "4",
           "Most sums of a kernel of rows">,
    Option<"maxBuffers", "max-buffers", "unsigned", "16",
           "Most operands and results of a kernel">];
  let statistics = [Statistic<"fused", "fused", "Number of sums fused">];
}

def KernOutlineKernels : Kern_Pass<"kern-outline-kernels"> {
  let summary = "gives each distinct region a name";
  let description = [{
    Every `kern.rows` and `kern.columns` becomes a `kern.launch` of a
    `kern.kernel`. Regions that compute the same on the same types share one.
    A kernel is named for what it computes, its iteration space and its first
    tensor's element type; names depend on nothing but the module.

    ```mlir
    %y = kern.rows "rms_norm" [8 x 64] (%a = %x as full : tensor<8x64xf32>, ...) ...
    ```
    becomes
    ```mlir
    kern.kernel @rms_norm_8x64_f32 "rms_norm" [8 x 64] (%a: tensor<8x64xf32> as full, ...) ...
    %y = kern.launch @rms_norm_8x64_f32(%x, ...)
    ```
  }];
  let statistics = [
    Statistic<"launches", "launches", "Number of launches">,
    Statistic<"kernels", "kernels", "Number of kernels">];
}

def KernReportFusion : Kern_Pass<"kern-report-fusion"> {
  let summary = "says what was fused and what stopped it";
  let description = [{
    Writes what each fused region, GEMM and library call holds with the
    places in the model that it comes from, and for every value that one of
    them hands to another through memory why the two are not one kernel. The
    module is not changed. To run after the fusion passes and before
    `kern-outline-kernels`.

    ```mlir
    @layer
      add+rms_norm [1024 x 768]: add (model.textproto:3:1), rms_norm (...)
      not fused: linear -> gated_silu: the GEMM has several uses
    ```
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"",
           "Where to write; standard error if empty">,
    Option<"json", "json", "bool", "false", "Write JSON instead of text">,
    Option<"maxBuffers", "max-buffers", "unsigned", "16",
           "Most operands and results of a kernel, as for the fusion">];
}

def VerifyKern : Kern_Pass<"verify-kern"> {
  let summary = "checks that a module is complete at this level";
  let description = [{
    Beyond what each op checks: no op of an earlier level is left (K14), every
    function that a schedule names is a fragment (K15), only the first
    contribution to a gradient sets it (K17), what a fragment takes of another is
    there (K18), and the library has each op that is called (K30).

    ```mlir
    xf.constant {value = 1.0} : () -> tensor<f32> // error: left from an earlier level (K14)
    ```
  }];
}

#endif
