// RUN: hocket-opt %s --exec-place-events | FileCheck %s

// The collective's stream waits for its operand, stream 0 for the result; no
// event for the sequence's end, which follows. %b has the bytes of %s, so what
// writes it waits though it is another buffer. Lifetimes move along.

exec.role @role0 ranks [0, 1] arena 4096 lower_bound 4096 streams ["tp"] {
  // CHECK: exec.buffer "d" at 0 kind temporaries live 0 to 3
  %d = exec.buffer "d" at 0 kind temporaries live 0 to 1 : memref<8xf32>
  // CHECK: exec.buffer "s" at 256 kind temporaries live 3 to 5
  %s = exec.buffer "s" at 256 kind temporaries live 1 to 2 : memref<8xf32>
  // CHECK: exec.buffer "g" at 512 kind temporaries live 5 to 7
  %g = exec.buffer "g" at 512 kind temporaries live 2 to 3 : memref<8xf32>
  %b = exec.buffer "b" at 256 kind temporaries live 3 to 3 : memref<8xf32>
  // CHECK: exec.launch @k() to (%d)
  // CHECK-NEXT: exec.record 0 on 0
  // CHECK-NEXT: exec.wait 0 on 1
  // CHECK-NEXT: exec.collective all_reduce %d to %s
  // CHECK-NEXT: exec.record 1 on 1
  // CHECK-NEXT: exec.launch @k() to (%g)
  // CHECK-NEXT: exec.wait 1 on 0
  // CHECK-NEXT: exec.launch @k(%g) to (%b)
  // CHECK-NEXT: {{^    }$}}
  exec.sequence @backward fragment B {
    exec.launch @k() to (%d) : () -> memref<8xf32>
    exec.collective all_reduce %d to %s over ["tp"] {stream = 1 : i64} : memref<8xf32>, memref<8xf32>
    exec.launch @k() to (%g) : () -> memref<8xf32>
    exec.launch @k(%g) to (%b) : (memref<8xf32>) -> memref<8xf32>
  }
  // The sequence's end waits where nothing else does.
  // CHECK: exec.sequence @forward
  // CHECK-NEXT: exec.record 0 on 0
  // CHECK-NEXT: exec.wait 0 on 1
  // CHECK-NEXT: exec.collective
  // CHECK-NEXT: exec.record 1 on 1
  // CHECK-NEXT: exec.wait 1 on 0
  // CHECK-NEXT: {{^    }$}}
  exec.sequence @forward fragment F {
    exec.collective all_reduce %d to %s over ["tp"] {stream = 1 : i64} : memref<8xf32>, memref<8xf32>
  }
  // What a bucket waits for is the matter of the runs around it.
  // CHECK: exec.sequence @gradients0
  // CHECK-NEXT: exec.collective
  // CHECK-NEXT: {{^    }$}}
  exec.sequence @gradients0 fragment B of "backward" bucket {
    exec.collective all_reduce %d to %s over ["tp"] {stream = 1 : i64} : memref<8xf32>, memref<8xf32>
  }
}
