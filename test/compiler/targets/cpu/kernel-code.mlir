// RUN: hocket-translate %s --kern-to-loops | FileCheck %s --check-prefix=LOOPS
// RUN: hocket-translate %s --kern-to-asm | FileCheck %s --check-prefix=ASM
// RUN: hocket-translate %s --kern-to-llvmir | FileCheck %s --check-prefix=CALLS

// Vectors have the instruction set's width; the columns' rest is masked.

// LOOPS: isa: x86-64-v4
// LOOPS-LABEL: llvm.func @hocket_kernel_scale
// LOOPS: llvm.load {{.*}} : !llvm.ptr -> vector<16xi16>
// LOOPS: llvm.intr.masked.load
// LOOPS: isa: x86-64-v3
// LOOPS-LABEL: llvm.func @hocket_kernel_scale
// LOOPS: llvm.load {{.*}} : !llvm.ptr -> vector<8xi16>

// ASM: isa: x86-64-v4
// ASM-LABEL: hocket_kernel_scale:
// ASM: vmulps {{.*}}%zmm
// ASM: isa: x86-64-v3
// ASM-LABEL: hocket_kernel_scale:
// ASM-NOT: %zmm
// ASM: vmulps {{.*}}%ymm
kern.kernel @scale [8 x 70] (%x: tensor<8x70xbf16> as full, %w: tensor<70xf32> as col) -> (tensor<8x70xf32> as full) {
  %0 = arith.mulf %x, %w : f32
  kern.yield %0 : f32
}

// One pass for each reduction and one for the result: the maximum, the sum of
// exponentials (kept in a row buffer), the quotient. A product that is added
// becomes one instruction.

// LOOPS-LABEL: llvm.func @hocket_kernel_softmax
// LOOPS: llvm.alloca
// LOOPS: scf.for
// LOOPS: scf.for
// LOOPS: arith.maximumf
// LOOPS: scf.for
// LOOPS: math.exp
// LOOPS: scf.for
// LOOPS-NOT: math.exp
// LOOPS: arith.mulf

// Nothing is left to a library.

// CALLS-NOT: call {{.*}}@{{(exp|log|tanh|erf|sqrt|mem)}}
// CALLS-NOT: declare {{.*}}@{{[a-z]+\(}}
kern.kernel @softmax [8 x 64] (%x: tensor<8x64xf32> as full) -> (tensor<8x64xf32> as full) {
  %one = arith.constant 1.0 : f32
  %m = kern.reduce max %x : f32
  %0 = arith.subf %x, %m : f32
  %e = math.exp %0 : f32
  %s = kern.reduce add %e : f32
  %i = arith.divf %one, %s : f32
  %p = arith.mulf %e, %i : f32
  kern.yield %p : f32
}

// ASM-LABEL: hocket_kernel_sums:
// ASM: prefetcht0
// ASM: vaddps
kern.kernel @sums by_columns [64 x 64] (%x: tensor<64x64xf32> as full) -> (tensor<64xf32> as col) {
  kern.yield %x : f32
}
