//===- XfOpBase.td - What the ops of the dialect share ----*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFOPBASE
#define HOCKET_DIALECTS_XF_XFOPBASE

include "dialects/xf/IR/XfDialect.td"
include "dialects/xf/IR/XfAttrs.td"
include "dialects/xf/IR/XfInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

defvar Xf_Float = AnyTypeOf<[F32, BF16, F16, F64]>;
defvar Xf_Tensor = TensorOf<[F32, BF16, F16, F64]>;
// What is multiplied in 8 bits, and what may be multiplied at all.
defvar Xf_F8 = TensorOf<[F8E4M3FN, F8E5M2]>;
defvar Xf_Factor = TensorOf<[F32, BF16, F16, F64, F8E4M3FN, F8E5M2]>;
defvar Xf_Ids = TensorOf<[I32]>;
defvar Xf_Scalar = 0DTensorOf<[F32, F64]>;

// A pure op on tensors. What gradients and the update are built of has no
// gradient of its own: nothing differentiates twice.
class Xf_Op<string mnemonic, list<Trait> traits = []>
    : Op<Xf_Dialect, mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<Xf_ShardableOpInterface>,
        DeclareOpInterfaceMethods<Xf_CostOpInterface>,
        DeclareOpInterfaceMethods<Xf_InterpretableOpInterface>], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

// An op of the model: also builds its gradient.
class Xf_ModelOp<string mnemonic, list<Trait> traits = []>
    : Xf_Op<mnemonic, !listconcat(
        [DeclareOpInterfaceMethods<Xf_DifferentiableOpInterface>], traits)>;

#endif
