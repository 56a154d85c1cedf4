// RUN: hocket-opt %s --xf-set-plan=plan=bucket_bytes=512 --hocket-kern-to-exec | FileCheck %s
// RUN: hocket-opt %s --hocket-kern-to-exec | FileCheck %s --check-prefix=APART

// Three gradients of 256 bytes, which the update sums over dp. In buckets of
// 512 bytes @c and @b go together as soon as both are there; @a, which backward
// computes last, is alone. The sums are the gradients' own buffers. In the
// first microbatch the sections of backward run one after another.

// CHECK: exec.sequence @forward{{.*}} {
// CHECK: exec.sequence @backward.0{{.*}} {
// CHECK: exec.gemm {{.*}} into %c.grad
// CHECK-NEXT: exec.gemm {{.*}} into %b.grad
// CHECK-NEXT: {{^    }$}}
// CHECK-NEXT: exec.sequence @gradients0{{.*}} {
// CHECK-NEXT: exec.collective all_reduce %c.grad, %b.grad to %c.grad, %b.grad over ["dp"] {stream = 1 : i64}
// CHECK-NEXT: {{^    }$}}
// CHECK-NEXT: exec.sequence @backward.1{{.*}} {
// CHECK-NEXT: exec.gemm {{.*}} into %a.grad
// CHECK-NEXT: {{^    }$}}
// CHECK-NEXT: exec.sequence @gradients1{{.*}} {
// CHECK-NEXT: exec.collective all_reduce %a.grad to %a.grad over ["dp"] {stream = 1 : i64}
// CHECK-NEXT: {{^    }$}}
// CHECK-NEXT: exec.sequence @update{{.*}} {
// CHECK-NEXT: exec.launch @descend(%a, %a.grad) to (%a)
// CHECK-NEXT: exec.launch @descend(%b, %b.grad) to (%b)
// CHECK-NEXT: exec.launch @descend(%c, %c.grad) to (%c)

// A bucket waits for what completes it, the update for both.

// CHECK: exec.sequence @[[FIRST:sync.r0s0.w0s1]]{{.*}} {
// CHECK-NEXT: exec.record 0 on 0
// CHECK-NEXT: exec.wait 0 on 1
// CHECK: exec.sequence @[[JOIN:sync.r3s1.w3s0]]{{.*}} {
// CHECK-NEXT: exec.record 3 on 1
// CHECK-NEXT: exec.wait 3 on 0
// CHECK: exec.entry "train_step" [@{{.*}}, @forward, @backward.0, @backward.1, @forward, @backward.0, @[[FIRST]], @gradients0, @backward.1, @{{.*}}, @gradients1, @[[JOIN]], @update] microbatches [0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0]

// Without buckets they stay in the update, each by itself.

// APART: exec.sequence @backward{{.*}} {
// APART: exec.sequence @update{{.*}} {
// APART: exec.collective all_reduce %a.grad to %{{.*}} over ["dp"]
// APART: exec.collective all_reduce %b.grad to
// APART: exec.entry "train_step" [@forward, @backward, @forward, @backward, @update]

module {
step.mesh ["dp"] sizes [2]
kern.variable @a : tensor<8x8xf32> {kind = #kern.variable_kind<parameter>}
kern.variable @b : tensor<8x8xf32> {kind = #kern.variable_kind<parameter>}
kern.variable @c : tensor<8x8xf32> {kind = #kern.variable_kind<parameter>}
kern.variable @a.grad : tensor<8x8xf32> {kind = #kern.variable_kind<gradient>, of = @a}
kern.variable @b.grad : tensor<8x8xf32> {kind = #kern.variable_kind<gradient>, of = @b}
kern.variable @c.grad : tensor<8x8xf32> {kind = #kern.variable_kind<gradient>, of = @c}

kern.kernel @cast [8 x 8] (%t: tensor<8x8xi32> as full) -> (tensor<8x8xf32> as full) {
  kern.yield %t : f32
}
kern.kernel @descend [8 x 8] (%p: tensor<8x8xf32> as full, %g: tensor<8x8xf32> as full) -> (tensor<8x8xf32> as full) {
  %0 = arith.subf %p, %g : f32
  kern.yield %0 : f32
}

kern.fragment F @forward(%t: tensor<8x8xi32> from host "tokens") -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %x = kern.launch @cast(%t) : (tensor<8x8xi32>) -> tensor<8x8xf32>
  %w = kern.read @a : tensor<8x8xf32>
  %o = kern.gemm %x, %w {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kern.output %o, "loss" : tensor<8x8xf32>
  kern.return %o, %x : tensor<8x8xf32>, tensor<8x8xf32>
}
kern.fragment B @backward(%t: tensor<8x8xi32> from F argument 0, %x: tensor<8x8xf32> from F result 1) {
  %c = kern.gemm %x, %x {k = 8 : i64, m = 8 : i64, n = 8 : i64} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kern.accumulate %c, @c.grad : tensor<8x8xf32>
  %b = kern.gemm %x, %x {k = 8 : i64, m = 8 : i64, n = 8 : i64, transpose_a} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kern.accumulate %b, @b.grad : tensor<8x8xf32>
  %a = kern.gemm %x, %x {k = 8 : i64, m = 8 : i64, n = 8 : i64, transpose_b} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kern.accumulate %a, @a.grad : tensor<8x8xf32>
  kern.return
}
kern.fragment U @update() {
  %ag = kern.read @a.grad : tensor<8x8xf32>
  %as = kern.collective all_reduce %ag over ["dp"] : tensor<8x8xf32> to tensor<8x8xf32>
  %bg = kern.read @b.grad : tensor<8x8xf32>
  %bs = kern.collective all_reduce %bg over ["dp"] : tensor<8x8xf32> to tensor<8x8xf32>
  %cg = kern.read @c.grad : tensor<8x8xf32>
  %cs = kern.collective all_reduce %cg over ["dp"] : tensor<8x8xf32> to tensor<8x8xf32>
  %a = kern.read @a : tensor<8x8xf32>
  %a1 = kern.launch @descend(%a, %as) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kern.write %a1, @a : tensor<8x8xf32>
  %b = kern.read @b : tensor<8x8xf32>
  %b1 = kern.launch @descend(%b, %bs) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kern.write %b1, @b : tensor<8x8xf32>
  %c = kern.read @c : tensor<8x8xf32>
  %c1 = kern.launch @descend(%c, %cs) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  kern.write %c1, @c : tensor<8x8xf32>
  kern.return
}
kern.schedule "train_step" slots 1 [#kern.action<@forward microbatch 0 slot 0>, #kern.action<@backward microbatch 0 slot 0>, #kern.action<@forward microbatch 1 slot 0>, #kern.action<@backward microbatch 1 slot 0>, #kern.action<@update microbatch 0 slot 0>]
}
