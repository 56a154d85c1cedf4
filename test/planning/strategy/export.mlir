// Two GEMMs and their backward pass, as a problem of strategies.

// RUN: hocket strategy export %s --axes model=4 --cluster h100:4 -o %t.json \
// RUN:   | FileCheck %s --check-prefix=WROTE
// RUN: hocket strategy solve %t.json -o %t.choice \
// RUN:   | FileCheck %s --check-prefix=SOLVED
// RUN: hocket strategy check %t.json %t.choice --nodes \
// RUN:   | FileCheck %s --check-prefix=CHOICE
// RUN: FileCheck %s --check-prefix=NODES < %t.json

// WROTE: 21 nodes, {{[0-9]+}} edges

// A parameter uses 4 bytes for itself and 4 for its gradient, of 16384 x 4096.
// NODES: "usages":
// NODES-SAME: [536870912,134217728,134217728]
// A GEMM's result: whole, split by position, whole sums (channels are split)
// and split by features. What it takes is split to match.
// NODES-SAME: [33554432,8388608,33554432,8388608]
// NODES-SAME: "labels":
// NODES-SAME: "[-,-,-] [-,-] -> [-,-,-]","[-,model,-] [-,-] -> [-,model,-]","[-,-,model] [-,model] -> [-,-,-]","[-,-,-] [model,-] -> [-,-,model]"

// Column-parallel, then row-parallel, with sums after the second one alone
// (Shoeybi et al., arXiv 1909.08053), and its mirror image in the backward pass.
// SOLVED: gap          0.00 %
// CHOICE:      up.weight from 0 to 17: [model,-], cost 0, usage 134217728
// CHOICE-NEXT: down.weight from 0 to 17: [-,model]
// CHOICE-NEXT: forward/embedding
// CHOICE-NEXT: forward/linear from 2 to 14: [-,-,-] [model,-] -> [-,-,model]
// CHOICE-NEXT: forward/activation from 3 to 13: [-,-,model] -> [-,-,model]
// CHOICE-NEXT: forward/linear@2 from 4 to 11: [-,-,model] [-,model] -> [-,-,-]
// CHOICE:      backward/linear_input_gradient@2 from 11 to 14: [-,-,-] [-,model] -> [-,-,model]
// CHOICE-NEXT: backward/linear_weight_gradient@2 from 12 to 13: [-,-,-] [-,-,model] -> [-,model]
// CHOICE-NEXT: backward/activation_gradient from 13 to 16: [-,-,model] [-,-,model] -> [-,-,model]
// CHOICE-NEXT: backward/linear_input_gradient@3 from 14 to 17: [-,-,model] [model,-] -> [-,-,-]
// CHOICE-NEXT: backward/linear_weight_gradient@3 from 15 to 16: [-,-,model] [-,-,-] -> [model,-]

// What is wrong is said, with exit status 2.
// RUN: not hocket strategy export %s --axes model=4 --cluster h100:8 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DEVICES
// RUN: not hocket strategy export %s --axes a=2,a=2 --cluster h100:4 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TWICE
// RUN: bash -c 'hocket strategy export %s --axes a=2,b --cluster h100:4; test $? = 2'
// RUN: bash -c 'hocket strategy export %s --axes a=2, --cluster h100:2; test $? = 2'
// RUN: bash -c 'hocket strategy export %s --axes a=1 --cluster h100:1; test $? = 2'
// RUN: bash -c 'hocket strategy export %s --axes a=2x --cluster h100:2; test $? = 2'
// RUN: bash -c 'hocket strategy export %s --axes a=2 --cluster none:2; test $? = 2'
// RUN: not hocket strategy export %s --cluster h100:64 \
// RUN:   --axes a=2,b=2,c=2,d=2,e=2,f=2 2>&1 | FileCheck %s --check-prefix=MANY

// RUN: not hocket strategy solve %t.json --shardings %t.txt 2>&1 \
// RUN:   | FileCheck %s --check-prefix=AXES

// AXES: the problem is not of a plan's mesh: export it with --mesh, without --axes
// DEVICES: export.mlir: --axes model=4 are not the 8 devices of --cluster
// TWICE: --axes a=2,a=2: write different names with sizes
// MANY: ways over these axes; at most 256 are exported

xf.training {global_batch_size = 1 : i64, micro_batch_size = 1 : i64, model_name = "tiny", optimizer = #xf.sgd<momentum = 0.0, weight_decay = 0.0>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 512 : i64}
xf.variable @table : tensor<64x4096xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @up.weight : tensor<16384x4096xf32> {kind = #xf.variable_kind<parameter>}
xf.variable @down.weight : tensor<4096x16384xf32> {kind = #xf.variable_kind<parameter>}

func.func @forward(%tokens: tensor<1x512xi32>, %labels: tensor<1x512xi32>) -> tensor<f32> {
  %table = xf.read @table : tensor<64x4096xf32>
  %up = xf.read @up.weight : tensor<16384x4096xf32>
  %down = xf.read @down.weight : tensor<4096x16384xf32>
  %x = xf.embedding %tokens, %table : (tensor<1x512xi32>, tensor<64x4096xf32>) -> tensor<1x512x4096xf32>
  %h = xf.linear %x, %up : (tensor<1x512x4096xf32>, tensor<16384x4096xf32>) -> tensor<1x512x16384xf32>
  %a = xf.activation %h {kind = #xf.activation_kind<gelu>} : (tensor<1x512x16384xf32>) -> tensor<1x512x16384xf32>
  %y = xf.linear %a, %down : (tensor<1x512x16384xf32>, tensor<4096x16384xf32>) -> tensor<1x512x4096xf32>
  %logits = xf.linear %y, %table : (tensor<1x512x4096xf32>, tensor<64x4096xf32>) -> tensor<1x512x64xf32>
  %loss, %lse = xf.cross_entropy %logits, %labels {valid_vocab = 64 : i64} : (tensor<1x512x64xf32>, tensor<1x512xi32>) -> (tensor<f32>, tensor<1x512xf32>)
  return %loss : tensor<f32>
}
