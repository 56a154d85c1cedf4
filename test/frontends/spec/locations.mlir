// Each op says which part of the model it is and which field asked for it.
// RUN: hocket-translate --spec-to-xf --mlir-print-debuginfo --mlir-print-local-scope %S/Inputs/llama.textproto | FileCheck %s

// CHECK: xf.variable @layers.1.attention.k.weight {{.*}} loc("layers.1.attention.k.weight"("{{.*}}llama.textproto":6:3))
// CHECK: xf.attention {{.*}} loc("attention"("{{.*}}llama.textproto":5:3))
// CHECK: xf.gated {{.*}} loc("mlp.activation"("{{.*}}llama.textproto":13:3))
// CHECK: call @layer{{.*}} loc("layers.1.layer"("{{.*}}llama.textproto":3:3))
// A field that was left out has the place of the message around it.
// CHECK: xf.cross_entropy {{.*}} loc("loss"("{{.*}}llama.textproto":9:3))
