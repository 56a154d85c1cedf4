// RUN: hocket-opt %s --verify-exec --split-input-file --verify-diagnostics

// expected-error @+1 {{E11: has no arena: exec-lay-out-arena has not run}}
exec.role @role0 ranks [0] {
}

// -----

exec.role @role0 ranks [0] arena 4096 lower_bound 4096 {
  // expected-error @+1 {{E12: is used from 0 to 1, where it does not live}}
  %x = exec.buffer "x" at 0 kind inputs live 0 to 0 : memref<8xf32>
  exec.sequence @s {
    exec.host input "x" %x : memref<8xf32>
    exec.host output "x" %x : memref<8xf32>
  }
}

// -----

exec.role @role0 ranks [0] arena 4096 lower_bound 4096 {
  // expected-error @+1 {{E12: is used from 0 to 0, where it does not live}}
  %x = exec.buffer "x" at 0 kind inputs : memref<8xf32>
  exec.sequence @s {
    exec.host input "x" %x : memref<8xf32>
  }
}

// -----

exec.role @role0 ranks [0] arena 4096 lower_bound 4096 {
  %x = exec.buffer "x" at 0 kind inputs live 0 to 1 : memref<8xf32>
  exec.sequence @s {
    exec.host input "x" %x : memref<8xf32>
    // expected-error @+1 {{E13: stands beside other instructions: exec-schedule-transfers has not run}}
    exec.transfer(%x) over ["pp"] {peers = array<i64: 1>, sends = array<i1: true>, tags = array<i64: 0>} : memref<8xf32>
  }
}

// -----

exec.role @role0 ranks [0] arena 4096 lower_bound 4096 {
  exec.sequence @s {
    exec.record 0 on 1
    // expected-error @+1 {{E14: waits for event 1, which nothing records}}
    exec.wait 1 on 0
  }
}
