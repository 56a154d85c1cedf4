// RUN: hocket-opt %s --exec-schedule-transfers | FileCheck %s

// Rank 0 of two, two microbatches in flight. What it computes is sent once it
// is there, and what it receives is read once it is there. Both receives begin
// early, each into its own copy; the update comes behind all transfers. Events
// are numbered behind those within sequences.

// CHECK: exec.sequence @forward_0 fragment F stage 0 {
// CHECK-NEXT: exec.record 0 on 0
// CHECK-NEXT: exec.launch
// CHECK-NEXT: {{^    }$}}
// CHECK-NEXT: exec.sequence @forward_0.send {
// CHECK-NEXT: exec.transfer(%x) over ["pp"] {peers = array<i64: 1>, sends = array<i1: true>, stream = 1 : i64, tags = array<i64: 0>}
// CHECK-NEXT: {{^    }$}}
// CHECK-NEXT: exec.sequence @backward_0.receive {
// CHECK-NEXT: exec.transfer(%d) over ["pp"] {peers = array<i64: 1>, sends = array<i1: false>, stream = 2 : i64, tags = array<i64: 1>}
// CHECK-NEXT: {{^    }$}}
// CHECK-NEXT: exec.sequence @backward_0 fragment B stage 0 {
// CHECK-NEXT: exec.host output "d" %d
// CHECK-NEXT: {{^    }$}}
// CHECK: exec.sequence @[[READY:sync.r1s0.w1s1]] {
// CHECK-NEXT: exec.record 1 on 0
// CHECK-NEXT: exec.wait 1 on 1
// CHECK-NEXT: {{^    }$}}
// CHECK: exec.entry "train_step" [@[[BEGIN:[^,]*]], @forward_0, @[[READY]], @forward_0.send, @backward_0.receive, @{{[^,]*}}, @forward_0, @{{[^,]*}}, @forward_0.send, @backward_0.receive, @[[GOT:[^,]*]], @backward_0, @[[GOT1:[^,]*]], @backward_0, @[[ALL:[^,]*]], @update_0]
// CHECK-SAME: slots [0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0]
exec.role @role0 ranks [0] pipeline_rank 0 {
  %x = exec.buffer "x" kind transfers {by_microbatch, slots = 2 : i64} : memref<8xf32>
  %d = exec.buffer "d" kind transfers {by_microbatch, slots = 2 : i64} : memref<8xf32>
  exec.sequence @forward_0 fragment F stage 0 {
    exec.record 0 on 0
    exec.launch @k() to (%x) : () -> memref<8xf32>
    exec.transfer(%x) over ["pp"] {peers = array<i64: 1>, sends = array<i1: true>, tags = array<i64: 0>} : memref<8xf32>
  }
  exec.sequence @backward_0 fragment B stage 0 {
    exec.transfer(%d) over ["pp"] {peers = array<i64: 1>, sends = array<i1: false>, tags = array<i64: 1>} : memref<8xf32>
    exec.host output "d" %d : memref<8xf32>
  }
  exec.sequence @update_0 fragment U stage 0 {
  }
  exec.entry "train_step" [@forward_0, @forward_0, @backward_0, @backward_0, @update_0] microbatches [0, 1, 0, 1, 0] slots [0, 1, 0, 1, 0]
}
