//===- XfQuantizeOps.td - Numbers of 8 bits ----------------*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFQUANTIZEOPS
#define HOCKET_DIALECTS_XF_XFQUANTIZEOPS

include "dialects/xf/IR/XfOpBase.td"

def Xf_AmaxOp : Xf_Op<"amax"> {
  let summary = "the largest magnitude of a tensor";
  let description = [{
    `result = max |input|`, of the whole tensor, wherever its shards lie; not a
    number if any element is none.

    ```mlir
    %a = xf.amax %x : (tensor<4x256x64xbf16>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input);
  let results = (outs Xf_Scalar:$result);
}

def Xf_QuantizeScaleOp : Xf_Op<"quantize_scale"> {
  let summary = "what a 1 of 8 bits stands for";
  let description = [{
    `result = amax / largest`, the largest finite number of `format`; 1 where
    that is below the least normal f32 (a tensor of zeros). An infinite or
    undefined `amax` gives such a scale, so that nothing it is multiplied with
    looks like a number.

    ```mlir
    %s = xf.quantize_scale %a {format = f8E4M3FN} : (tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Xf_Scalar:$amax,
                       TypeAttr:$format);
  let results = (outs Xf_Scalar:$result);
}

def Xf_QuantizeOp : Xf_ModelOp<"quantize"> {
  let summary = "a tensor in 8 bits";
  let description = [{
    `result = input * (1 / scale)`, rounded to nearest, ties to even; what is
    beyond the largest finite number becomes that number, and what is not a
    number stays so. Its gradient is that of the identity: it passes rounding
    by, and the scale has none.

    ```mlir
    %q = xf.quantize %x, %s : (tensor<4x256x64xbf16>, tensor<f32>) -> tensor<4x256x64xf8E4M3FN>
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Scalar:$scale);
  let results = (outs Xf_F8:$result);
}

def Xf_QuantizeBlocksOp : Xf_ModelOp<"quantize_blocks"> {
  let summary = "a tensor in 8 bits, with a scale a block";
  let description = [{
    A block has `blocks[d]` elements of each dim d, the last one of a dim what
    is left of it. Its scale is the least power of two with which no element is
    beyond the largest finite number of `codes`' format; at least 2^-126, and
    not a number if an element is none or infinite
    (kernels/reference/QuantizeBlocks.h). `codes = input / scale`, rounded to
    nearest, ties to even. All but the last two dims have blocks of 1. Its
    gradient is that of the identity.

    ```mlir
    %q, %s = xf.quantize_blocks %x {blocks = array<i64: 1, 1, 32>} : (tensor<4x256x64xbf16>) -> (tensor<4x256x64xf8E4M3FN>, tensor<4x256x2xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       DenseI64ArrayAttr:$blocks);
  let results = (outs Xf_F8:$codes, TensorOf<[F32]>:$scales);
}

def Xf_DequantizeBlocksOp : Xf_ModelOp<"dequantize_blocks"> {
  let summary = "what codes with a scale a block stand for";
  let description = [{
    `result = codes * scale of their block`, exactly, in bf16 as in wider types.
    Its gradient is that of the identity.

    ```mlir
    %y = xf.dequantize_blocks %q, %s {blocks = array<i64: 1, 1, 32>} : (tensor<4x256x64xf8E4M3FN>, tensor<4x256x2xf32>) -> tensor<4x256x64xbf16>
    ```
  }];
  let arguments = (ins Xf_F8:$codes,
                       TensorOf<[F32]>:$scales,
                       DenseI64ArrayAttr:$blocks);
  let results = (outs Xf_Tensor:$result);
}

#endif
