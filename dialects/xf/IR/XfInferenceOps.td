//===- XfInferenceOps.td - What a trained model writes with -*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFINFERENCEOPS
#define HOCKET_DIALECTS_XF_XFINFERENCEOPS

include "dialects/xf/IR/XfOpBase.td"

def Xf_RopeTableAtOp : Xf_Op<"rope_table_at"> {
  let summary = "cosines and sines of the rotary embedding at given positions";
  let description = [{
    `xf.rope_table` of the positions that `positions` holds:
    `result[..., i] = (cos(p * f_i), sin(p * f_i))` for `p = positions[...]`.

    ```mlir
    %t = xf.rope_table_at %p {inverse_frequencies = array<f64: 1.0, 0.01>} : (tensor<8x1xi32>) -> tensor<8x1x2x2xf32>
    ```
  }];
  let arguments = (ins Xf_Ids:$positions,
                       DenseF64ArrayAttr:$inverse_frequencies);
  let results = (outs Xf_Tensor:$result);
}

def Xf_CachedAttentionOp : Xf_Op<"cached_attention", [AttrSizedOperandSegments]> {
  let summary = "attention over the keys and values that a cache keeps";
  let description = [{
    Attention of `T` tokens of several sequences, each alone in its row:
    `query[T, 1, n, d]`, `key`, `value` `[T, 1, g, d]`. Token `t` is at
    `positions[t, 0]` of the sequence in row `rows[t, 0]`, or is padding where
    that is -1. `table[r, i]` is the page of the caches `keys`, `values`
    `[N, page, g, d]` that keeps the positions from `i * page` on of row `r`
    (arXiv 2309.06180). The results `new_keys`, `new_values` are the caches with
    the tokens' own keys and values; each token sees all of its sequence up to
    itself, or the last `window` of that, and padding gives 0. `softcap`, `alibi`
    and `bias` are those of `xf.attention`. What a table or a row says of pages is
    about the shard that a device holds; with `alibi` a shard of `whole_heads`
    heads says which is its first one.

    ```mlir
    %o, %k1, %v1 = xf.cached_attention %q, %k, %v, %p, %r, %t, %kc, %vc {scale = 0.125} : (tensor<8x1x8x64xf32>, tensor<8x1x2x64xf32>, tensor<8x1x2x64xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x2xi32>, tensor<8x64x2x64xf32>, tensor<8x64x2x64xf32>) -> (tensor<8x1x8x64xf32>, tensor<8x64x2x64xf32>, tensor<8x64x2x64xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$query,
                       Xf_Tensor:$key,
                       Xf_Tensor:$value,
                       Xf_Ids:$positions,
                       Xf_Ids:$rows,
                       Xf_Ids:$table,
                       Xf_Tensor:$keys,
                       Xf_Tensor:$values,
                       Optional<I32>:$first_head,
                       Optional<Xf_Tensor>:$bias,
                       DefaultValuedAttr<I64Attr, "0">:$window,
                       F64Attr:$scale,
                       DefaultValuedAttr<F64Attr, "0.0">:$softcap,
                       UnitAttr:$alibi,
                       DefaultValuedAttr<I64Attr, "0">:$whole_heads);
  let results = (outs Xf_Tensor:$result,
                      Xf_Tensor:$new_keys,
                      Xf_Tensor:$new_values);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $positions `,` $rows `,` $table `,` $keys `,`
    $values (`,` $first_head^)? (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

def Xf_CachedConvOp : Xf_Op<"cached_conv"> {
  let summary = "a convolution along texts whose last inputs a cache keeps";
  let description = [{
    `xf.causal_conv` of `T` tokens of several texts, each alone in its row:
    `input[T, 1, C]`. Token `t` is at `positions[t, 0]` of the text in row
    `rows[t, 0]` of the cache, or is padding where that is -1. The cache
    `[R, K - 1, C]` has a slot for each of a text's last `K - 1` positions:
    position `p` is in slot `p % (K - 1)`. The result `new_cache` is the cache with
    the tokens' own inputs. Tokens of a text stand in the order of their positions,
    and go on from where the cache stands; at position 0 a text begins, whatever
    the row held before. Padding gives 0.

    ```mlir
    %y, %c1 = xf.cached_conv %x, %w, %p, %r, %b, %c : (tensor<8x1x64xf32>, tensor<64x4xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<64xf32>, tensor<4x3x64xf32>) -> (tensor<8x1x64xf32>, tensor<4x3x64xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Tensor:$weight,
                       Xf_Ids:$positions,
                       Xf_Ids:$rows,
                       Optional<Xf_Tensor>:$bias,
                       Xf_Tensor:$cache);
  let results = (outs Xf_Tensor:$result, Xf_Tensor:$new_cache);
}

def Xf_CachedScanOp : Xf_Op<"cached_scan"> {
  let summary = "the recurrence of a state-space layer over states of a cache";
  let description = [{
    `xf.state_scan` of `T` tokens of several texts, each alone in its row, which
    `positions` and `rows` place as `xf.cached_conv` says. `state` `[R, n, p, N]`
    holds what the last token of each text has left; a token at position 0 finds a
    state of 0 instead. The result `new_state` holds what the tokens leave. A row
    that no token is of keeps its state.

    ```mlir
    %y, %h1 = xf.cached_scan %x, %dt, %b, %c, %a, %tb, %d, %p, %r, %h : (tensor<8x1x6x64xf32>, tensor<8x1x6xf32>, tensor<8x1x1x16xf32>, tensor<8x1x1x16xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<8x1xi32>, tensor<8x1xi32>, tensor<4x6x64x16xf32>) -> (tensor<8x1x6x64xf32>, tensor<4x6x64x16xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$input,
                       Xf_Tensor:$step,
                       Xf_Tensor:$in_map,
                       Xf_Tensor:$out_map,
                       Xf_Tensor:$decay,
                       Xf_Tensor:$step_bias,
                       Xf_Tensor:$skip,
                       Xf_Ids:$positions,
                       Xf_Ids:$rows,
                       Xf_Tensor:$state,
                       DefaultValuedAttr<F64Attr, "0.0">:$least,
                       OptionalAttr<F64Attr>:$most);
  let results = (outs Xf_Tensor:$result, Xf_Tensor:$new_state);
}

def Xf_ServeOp : Op<Xf_Dialect, "serve",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "what a model that is asked runs";
  let description = [{
    Functions `(tokens, labels, positions, rows, table)` that go on with the
    sequences of a cache, without a result: `prefill`, of many tokens of few
    sequences, and `decode`, of one token of each. The first four are `[T, 1]`,
    a token in each row; `xf.cached_attention` says what the others mean. What
    they tell of the labels is what `evaluate` tells (`xf.output`).

    Of a model that sees images `encode` is a function `(pixels, image_rows)` that
    makes rows of an image and keeps them, and `prefill` takes the `image_rows` of
    its tokens behind the table: of each the row that stands in its place.

    A module may have neither, where nothing is written. `alone` says that it
    trains nothing: it has no `xf.step`, and what would be the step's,
    `evaluate` and `prepare`, is named here.

    ```mlir
    xf.serve prefill(@prefill) decode(@decode) {alone}
    ```
  }];
  let arguments = (ins OptionalAttr<FlatSymbolRefAttr>:$encode,
                       OptionalAttr<FlatSymbolRefAttr>:$prefill,
                       OptionalAttr<FlatSymbolRefAttr>:$decode,
                       UnitAttr:$alone,
                       OptionalAttr<FlatSymbolRefAttr>:$evaluate,
                       OptionalAttr<FlatSymbolRefAttr>:$prepare);
  let results = (outs );
  let assemblyFormat = [{
    (`encode` `(` $encode^ `)`)?
    (`prefill` `(` $prefill^ `)`)? (`decode` `(` $decode^ `)`)?
    (`evaluate` `(` $evaluate^ `)`)? (`prepare` `(` $prepare^ `)`)? attr-dict
  }];
}

#endif
