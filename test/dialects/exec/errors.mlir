// RUN: hocket-opt %s --split-input-file --verify-diagnostics

exec.role @all ranks [0] arena 8192 lower_bound 0 {
  // expected-error @+1 {{E1: a buffer has a static shape of integers or floats, not 'memref<?xf32>'}}
  %x = exec.buffer "x" at 0 kind inputs live 0 to 1 : memref<?xf32>
}

// -----

exec.role @all ranks [0] arena 256 lower_bound 0 {
  // expected-error @+1 {{E2: bytes [128, 384) lie outside the arena of 256}}
  %x = exec.buffer "x" at 128 kind inputs live 0 to 1 : memref<64xf32>
}

// -----

exec.role @all ranks [0] arena 512 lower_bound 0 {
  // expected-error @+1 {{E2: bytes [0, 768) lie outside the arena of 512}}
  %x = exec.buffer "x" at 0 kind inputs live 0 to 1 {slots = 3 : i64, slot_stride = 256 : i64} : memref<64xf32>
}

// -----

exec.role @all ranks [0] arena 256 lower_bound 0 {
  exec.sequence @forward {
  }
  // expected-error @+1 {{E3: sequences, microbatches and slots of an entry have one length}}
  exec.entry "train_step" [@forward] microbatches [0, 1] slots [0]
}

// -----

exec.role @all ranks [0] arena 256 lower_bound 0 {
  // expected-error @+1 {{E4: no `exec.sequence` is named @forward}}
  exec.entry "train_step" [@forward] microbatches [0] slots [0]
}

// -----

exec.role @all ranks [0] arena 4096 lower_bound 0 {
  %x = exec.buffer "x" at 0 kind inputs live 0 to 1 : memref<8x8xf32>
  exec.sequence @forward {
    // expected-error @+1 {{E5: m, n and k are at least 1}}
    exec.gemm %x, %x into %x {k = 0 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  }
}

// -----

exec.role @all ranks [0] arena 4096 lower_bound 0 {
  %x = exec.buffer "x" at 0 kind inputs live 0 to 1 : memref<8x8xf32>
  exec.sequence @forward {
    // expected-error @+1 {{E6: a buffer is smaller than m, n and k ask for}}
    exec.gemm %x, %x into %x {k = 16 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>
  }
}

// -----

exec.role @all ranks [0] arena 4096 lower_bound 0 {
  %x = exec.buffer "x" at 0 kind inputs live 0 to 1 : memref<8x8xf32>
  %y = exec.buffer "y" at 256 kind inputs live 0 to 1 : memref<8x8xbf16>
  exec.sequence @forward {
    // expected-error @+1 {{E6: a scale is an f32}}
    exec.gemm %x, %x into %x scale_a %y {k = 8 : i64, m = 8 : i64, n = 8 : i64} : memref<8x8xf32>, memref<8x8xf32>, memref<8x8xf32>, memref<8x8xbf16>
  }
}

// -----

exec.role @all ranks [0] arena 4096 lower_bound 0 {
  %x = exec.buffer "x" at 0 kind inputs live 0 to 1 : memref<8x8xf32>
  %y = exec.buffer "y" at 256 kind inputs live 0 to 1 : memref<8x8xbf16>
  exec.sequence @forward {
    // expected-error @+1 {{E7: copies between buffers of different sizes}}
    exec.copy %x to %y : memref<8x8xf32>, memref<8x8xbf16>
  }
}

// -----

exec.role @all ranks [0] arena 256 lower_bound 0 {
  %x = exec.buffer "x" at 0 kind inputs live 0 to 1 : memref<8xf32>
  exec.sequence @s {
    // expected-error @+1 {{E8: a transfer has a direction, a peer and a tag for each of its buffers}}
    exec.transfer(%x) over ["pp"] {peers = array<i64: 1, 2>, sends = array<i1: true>, tags = array<i64: 0>} : memref<8xf32>
  }
}

// -----

exec.role @all ranks [0] arena 4096 lower_bound 0 {
  %f = exec.buffer "frames" at 0 kind activations live 0 to 1 {slots = 2 : i64, slot_stride = 512 : i64} : memref<512xi8>
  // expected-error @+1 {{E9: what a buffer is within is a buffer of as many copies, within no other}}
  %x = exec.buffer "x" within %f at 0 kind activations live 0 to 1 : memref<64xf32> in memref<512xi8>
}

// -----

exec.role @all ranks [0] arena 4096 lower_bound 0 {
  %f = exec.buffer "frames" at 0 kind activations live 0 to 1 {slots = 2 : i64, slot_stride = 512 : i64} : memref<512xi8>
  // expected-error @+1 {{E9: its bytes and lifetime lie outside those of the buffer that it is within}}
  %x = exec.buffer "x" within %f at 384 kind activations live 0 to 1 {slots = 2 : i64, slot_stride = 512 : i64} : memref<64xf32> in memref<512xi8>
}

// -----

exec.role @all ranks [0] arena 4096 lower_bound 0 {
  %f = exec.buffer "frames" at 0 kind activations live 0 to 1 {slots = 2 : i64, slot_stride = 512 : i64} : memref<512xi8>
  // expected-error @+1 {{E9: its bytes and lifetime lie outside those of the buffer that it is within}}
  %x = exec.buffer "x" within %f at 0 kind activations live 0 to 2 {slots = 2 : i64, slot_stride = 512 : i64} : memref<64xf32> in memref<512xi8>
}

// -----

exec.role @all ranks [0] arena 4096 lower_bound 0 {
  // expected-error @+1 {{E2: a buffer of an arena has an offset}}
  %x = exec.buffer "x" kind inputs : memref<64xf32>
}

// -----

exec.role @all ranks [0] {
  // expected-error @+1 {{E2: before the arena is laid out, a buffer has an offset if it is within another}}
  %x = exec.buffer "x" at 0 kind inputs : memref<64xf32>
}

// -----

exec.role @all ranks [0] {
  %x = exec.buffer "x" kind inputs : memref<64xf32>
  %y = exec.buffer "y" kind inputs : memref<64xbf16>
  exec.sequence @s {
    // expected-error @+1 {{E10: adds a buffer to one of another element type or number of elements}}
    exec.accumulate %x to %y : memref<64xf32>, memref<64xbf16>
  }
}

// -----

exec.role @all ranks [0, 1] {
  %x = exec.buffer "x" kind inputs : memref<1x6x5xf32>
  %y = exec.buffer "y" kind inputs : memref<1x9x5xf32>
  %r = exec.buffer "r" kind inputs : memref<1x4x2xi32>
  exec.sequence @s {
    // expected-error @+1 {{E15: exchanges rows of 4 elements between 'memref<1x6x5xf32>' and 'memref<1x9x5xf32>'}}
    exec.exchange %x to %y by %r, %r over ["ep"] width 4 : memref<1x6x5xf32>, memref<1x9x5xf32>, memref<1x4x2xi32>, memref<1x4x2xi32>
  }
}

// -----

exec.role @all ranks [0, 1] {
  %x = exec.buffer "x" kind inputs : memref<1x6x5xf32>
  %y = exec.buffer "y" kind inputs : memref<1x9x5xf32>
  %r = exec.buffer "r" kind inputs : memref<1x4x2xi32>
  %s = exec.buffer "s" kind inputs : memref<1x2x3x2xi32>
  exec.sequence @s {
    // expected-error @+1 {{E15: 'memref<1x2x3x2xi32>' holds no pairs of 32-bit numbers, one for each of 'memref<1x4x2xi32>'}}
    exec.exchange %x to %y by %r, %s over ["ep"] width 5 : memref<1x6x5xf32>, memref<1x9x5xf32>, memref<1x4x2xi32>, memref<1x2x3x2xi32>
  }
}
