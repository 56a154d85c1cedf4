//===- XfInterfaces.td - What every op can say -------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFINTERFACES
#define HOCKET_DIALECTS_XF_XFINTERFACES

include "mlir/IR/OpBase.td"

def Xf_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::hocket::xf";
  let description = [{ Builds its own gradient. }];
  let methods = [InterfaceMethod<[{
      Builds the gradient of every operand from the gradients of the results.
      `resultGradients` has one value a result, null where no gradient reaches
      it. Returns one value an operand, null where the operand has none
      (integers, labels). What the gradient reads of the forward pass (the
      op's own operands and results) becomes a residual.
    }],
    "::llvm::SmallVector<::mlir::Value>", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGradients)>];
}

def Xf_ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let cppNamespace = "::hocket::xf";
  let description = [{
    States how the op may be sharded, as a factor rule: which dims of operands
    and results are one factor, and which factors are reduced.
  }];
  let methods = [InterfaceMethod<"The factor rule for the op's own types.",
    "::hocket::xf::FactorRule", "getFactorRule">];
}

def Xf_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::hocket::xf";
  let description = [{ Counts the op's work for its own (local) shapes. }];
  let methods = [InterfaceMethod<[{
      Floating-point operations (a fused multiply-add is two; causal attention
      counts the half that is computed), and bytes read and written at least.
    }],
    "::hocket::xf::OpCost", "getCost">];
}

def Xf_InterpretableOpInterface : OpInterface<"InterpretableOpInterface"> {
  let cppNamespace = "::hocket::xf";
  let description = [{ The plain reference evaluation, in f64, for tests. }];
  let methods = [InterfaceMethod<[{
      Computes the results from the operands. `operands` has a tensor for each
      tensor operand and a rank-0 tensor for each scalar.
    }],
    "::mlir::LogicalResult", "evaluate",
    (ins "::hocket::xf::EvaluationContext &":$context,
         "::llvm::ArrayRef<::hocket::xf::ReferenceTensor>":$operands,
         "::llvm::SmallVectorImpl<::hocket::xf::ReferenceTensor> &":$results)>];
}

#endif
