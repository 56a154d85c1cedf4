// RUN: hocket-opt %s --dist-partition --split-input-file --verify-diagnostics

// Shards of a whole do not become partial sums of one.

dist.mesh @mesh ["dp", "tp"] sizes [2, 2]
func.func @f(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [["dp"], []], partial = []>}) -> tensor<4x8xf32> {
  // expected-error @+1 {{D17: operand 0 is wanted as [[dp], []], partial = [tp] but is [[dp], []], partial = [], which are no sums over the same axes}}
  %y = xf.activation %x {kind = #xf.activation_kind<gelu>, dist.placement = #dist.placement<operands = [#dist.sharding<@mesh, [["dp"], []], partial = ["tp"]>], results = [#dist.sharding<@mesh, [["dp"], []], partial = ["tp"]>]>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
