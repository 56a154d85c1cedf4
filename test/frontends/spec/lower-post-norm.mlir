// Norms after each branch, no positions, a gate with exact GELU; a window as
// long as the sequence is none.
// RUN: hocket-translate --spec-to-xf %S/Inputs/post.textproto | FileCheck %s

// CHECK: func.func private @layer(%[[X:[a-z0-9]+]]: tensor<1x4x8xf32> {xf.stream}, %{{[a-z0-9]+}}: tensor<8xf32>
// CHECK: xf.linear %[[X]],
// CHECK: xf.attention
// CHECK-NOT: window
// CHECK: %[[A:.+]] = xf.add %[[X]]
// CHECK: %[[N:.+]] = xf.norm %[[A]], %{{[a-z0-9]+}} {
// CHECK: xf.linear %[[N]]
// CHECK: xf.gated {{.*}}#xf.activation_kind<gelu>
// CHECK: %[[B:.+]] = xf.add %[[N]]
// CHECK: %[[Y:.+]] = xf.norm %[[B]]
// CHECK: return %[[Y]]

// CHECK: func.func @forward
// CHECK: %[[E:.+]] = xf.embedding
// CHECK-NOT: xf.add
// CHECK-NOT: xf.rope_table
// CHECK: call @layer(%[[E]]
