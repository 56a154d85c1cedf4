//===- XfStepOps.td - Variables, the optimizer and the step -*- tablegen -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_XFSTEPOPS
#define HOCKET_DIALECTS_XF_XFSTEPOPS

include "dialects/xf/IR/XfOpBase.td"

// An op that only moves state or data: no interface of the model's ops.
class Xf_StateOp<string mnemonic, list<Trait> traits = []>
    : Op<Xf_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

def Xf_VariableOp : Xf_StateOp<"variable", [Symbol,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a tensor that lives from step to step";
  let description = [{
    Parameters are named as in a checkpoint. A gradient or optimizer state
    names its parameter in `of`, and an optimizer state its `slot`. A `working`
    variable is a parameter's copy in the compute precision, made once a step; of a
    copy with 8-bit elements the scale is a `working` variable beside it.
    `random_key` names the initialiser's random stream; `decay` says whether
    weight decay applies. The `role` of a parameter is what it does in the model;
    shardings follow it, and what belongs to a parameter is split as its role says.
    Where each device holds a shard, `whole` is the type of
    the tensor that the shards make up. A `frozen` parameter is not trained: it has
    no gradient and no optimizer state, and no step writes it.

    ```mlir
    xf.variable @embedding.weight : tensor<512x64xf32> {decay, init = #xf.init<normal, 0.02>, kind = #xf.variable_kind<parameter>, role = #xf.parameter_role<embedding>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttr:$type,
                       Xf_VariableKindAttr:$kind,
                       OptionalAttr<Xf_InitAttr>:$init,
                       DefaultValuedAttr<I32Attr, "0">:$random_key,
                       UnitAttr:$decay,
                       OptionalAttr<FlatSymbolRefAttr>:$of,
                       OptionalAttr<StrAttr>:$slot,
                       OptionalAttr<TypeAttr>:$whole,
                       OptionalAttr<Xf_ParameterRoleAttr>:$role,
                       UnitAttr:$frozen);
  let results = (outs );
  let assemblyFormat = [{ $sym_name `:` $type attr-dict }];
  // Of a variable that is not frozen, as most are.
  let builders = [
    OpBuilder<(ins "::mlir::StringAttr":$name, "::mlir::TypeAttr":$type,
                   "VariableKindAttr":$kind, "InitAttr":$init,
                   "::mlir::IntegerAttr":$randomKey, "::mlir::UnitAttr":$decay,
                   "::mlir::FlatSymbolRefAttr":$of, "::mlir::StringAttr":$slot,
                   "::mlir::TypeAttr":$whole, "ParameterRoleAttr":$role),
    [{
      build($_builder, $_state, name, type, kind, init, randomKey, decay, of,
            slot, whole, role, ::mlir::UnitAttr());
    }]>];
  let extraClassDeclaration = [{
    /// The type of the tensor, of which a device may hold a shard.
    ::mlir::RankedTensorType getWholeType() {
      return ::llvm::cast<::mlir::RankedTensorType>(
          getWhole().value_or(getType()));
    }

    /// The role of the parameter that this is or belongs to; none for other
    /// state, and where the parameter has none.
    ::std::optional<ParameterRole>
    findRole(const ::mlir::SymbolTable &symbols);
  }];
}

def Xf_LowRankOp : Xf_StateOp<"low_rank"> {
  let summary = "asks for low-rank adapters of linear layers";
  let description = [{
    LoRA (Hu et al., arXiv 2106.09685): every linear layer whose weight has a role
    of `targets` becomes `W x + b + alpha / rank B A dropout(x)`, with matrices A of
    `[rank, in]` and B of `[out, rank]`, which alone are trained. `xf-low-rank`
    writes that.

    ```mlir
    xf.low_rank {alpha = 16.0, dropout = 0.05, rank = 8 : i64, targets = [#xf.parameter_role<query>, #xf.parameter_role<value>]}
    ```
  }];
  let arguments = (ins I64Attr:$rank,
                       F64Attr:$alpha,
                       F64Attr:$dropout,
                       TypedArrayAttrBase<Xf_ParameterRoleAttr,
                                          "roles of parameters">:$targets);
  let results = (outs );
  let assemblyFormat = [{ attr-dict }];
}

def Xf_ReadOp : Xf_StateOp<"read", [MemoryEffects<[MemRead]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the value of a variable";
  let description = [{
    The value at this point of the step.

    ```mlir
    %w = xf.read @embedding.weight : tensor<512x64xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$variable);
  let results = (outs Xf_Factor:$result);
  let assemblyFormat = [{ $variable attr-dict `:` type($result) }];
}

def Xf_WriteOp : Xf_StateOp<"write", [MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "sets a variable";
  let description = [{
    Replaces the whole value.

    ```mlir
    xf.write %v, @embedding.weight : tensor<512x64xf32>
    ```
  }];
  let arguments = (ins Xf_Factor:$value,
                       FlatSymbolRefAttr:$variable);
  let results = (outs );
  let assemblyFormat = [{ $value `,` $variable attr-dict `:` type($value) }];
}

def Xf_AccumulateOp : Xf_StateOp<"accumulate", [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "adds to a gradient";
  let description = [{
    Sets the variable in the first microbatch of a step and adds to it in the
    others. With several `xf.accumulate` on one variable in a function, the
    first one sets.

    ```mlir
    xf.accumulate %g, @embedding.weight.grad : tensor<512x64xf32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$value,
                       FlatSymbolRefAttr:$variable);
  let results = (outs );
  let assemblyFormat = [{ $value `,` $variable attr-dict `:` type($value) }];
}

def Xf_InputOp : Xf_StateOp<"input", [MemoryEffects<[MemRead]>]> {
  let summary = "a value from the host";
  let description = [{
    `learning_rate` (f32), set before each step; `microbatches` (f32), how many
    the step has, where that varies.

    ```mlir
    %lr = xf.input "learning_rate" : tensor<f32>
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{ $name attr-dict `:` type($result) }];
}

def Xf_OutputOp : Xf_StateOp<"output", [MemoryEffects<[MemWrite]>]> {
  let summary = "a value for the host";
  let description = [{
    `loss` after each microbatch; `grad_norm`, `loss_scale` and `skipped` after
    the update. Of an evaluation also `lse` and `picked`, one number for each
    label, which devices hold as they hold the labels, and the `logits`, which
    they hold as they come (`xf.cross_entropy`).

    ```mlir
    xf.output %loss, "loss" : tensor<f32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$value,
                       StrAttr:$name);
  let results = (outs );
  let assemblyFormat = [{ $value `,` $name attr-dict `:` type($value) }];
}

def Xf_TrainingOp : Xf_StateOp<"training"> {
  let summary = "how the model is trained";
  let description = [{
    The one place of a module that holds what is not mathematics of the model:
    sizes, optimizer, precision, and what the runtime needs for its loop
    (`runtime`, a dictionary that is carried into the executable). Its keys:
    `seed`, `steps`, `vocab_size`, `valid_interval`, `valid_batches`,
    `log_interval`, `save_interval` (i64); `data_split`, `spec` (strings; the
    resolved specification as textproto); `learning_rate`, a dictionary of
    `schedule` (constant, linear, cosine, inverse_sqrt or wsd), `peak`,
    `minimum` (f64), `warmup_steps`, `decay_steps` and `wsd_decay_steps`
    (i64), or the same in samples (`warmup_samples` and so on); `train_data`, `valid_data` and `test_data`, arrays of strings, the
    words of a blend; `eod_token` (i64), which ends each of the documents that
    share a sequence, and `eod_mask_loss` (unit): what follows it is no label.
    All may be absent.

    `fp8` says that layers multiply in 8 bits, and what has a scale
    (`xf-quantize`).

    `batch_sizes`, where the global batch grows, are all its sizes, the last of
    them `global_batch_size`; each is a multiple of `micro_batch_size`.

    `micro_batch_size` is what all data-parallel ranks compute at a time. How the
    work is spread is the module's plan (`plan.step`).

    ```mlir
    xf.training {clip_norm = 1.0, global_batch_size = 8 : i64, micro_batch_size = 4 : i64, model_name = "nano", optimizer = #xf.adamw<beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1>, precision = #xf.precision<fp32>, runtime = {}, sequence_length = 256 : i64}
    ```
  }];
  let arguments = (ins StrAttr:$model_name,
                       I64Attr:$micro_batch_size,
                       I64Attr:$global_batch_size,
                       I64Attr:$sequence_length,
                       AnyAttr:$optimizer,
                       DefaultValuedAttr<F64Attr, "0.0">:$clip_norm,
                       Xf_PrecisionAttr:$precision,
                       OptionalAttr<Xf_LossScaleAttr>:$loss_scale,
                       OptionalAttr<Xf_Fp8RecipeAttr>:$fp8,
                       OptionalAttr<TypedArrayAttrBase<Xf_BatchSizeAttr, "batch sizes">>:$batch_sizes,
                       DictionaryAttr:$runtime);
  let results = (outs );
  let assemblyFormat = [{ attr-dict }];
  let extraClassDeclaration = [{
    /// Microbatches of a step that takes the whole global batch.
    int64_t getMostMicrobatches() {
      return static_cast<int64_t>(getGlobalBatchSize() / getMicroBatchSize());
    }
    /// Microbatches of the steps before the batch has grown to that, from
    /// fewest to most.
    ::llvm::SmallVector<int64_t> getRampup();
  }];
}

def Xf_BalanceOp : Xf_StateOp<"balance", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "keeps a router's load even by its bias";
  let description = [{
    Says that after every step the state `bias` is moved against `counts`, what
    a step's microbatches have accumulated of `expert_counts`. The pass that
    builds the update puts `xf.balance_bias` in its place.

    ```mlir
    xf.balance @state.bias counts(@state.counts) {rate = 0.001}
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$bias,
                       FlatSymbolRefAttr:$counts,
                       F64Attr:$rate);
  let results = (outs );
  let assemblyFormat = [{ $bias `counts` `(` $counts `)` attr-dict }];
}

def Xf_StepOp : Xf_StateOp<"step", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one training step";
  let description = [{
    Runs `forward(tokens, labels) -> (loss, residuals...)` and then
    `backward(tokens, labels, residuals...)` once for each microbatch, then
    `update()`. Where the batch grows, there are steps of fewer microbatches
    too, as many as `rampup` lists, from fewest to most.
     `evaluate(tokens, labels) -> loss` is the forward pass without
    dropout and residuals.
    `prepare` makes working copies of the parameters; it runs once after these
    are initialised or loaded.

    ```mlir
    xf.step microbatches(2) forward(@forward) backward(@backward) update(@update) evaluate(@evaluate)
    ```
  }];
  let arguments = (ins I64Attr:$microbatches,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$rampup,
                       FlatSymbolRefAttr:$forward,
                       FlatSymbolRefAttr:$backward,
                       FlatSymbolRefAttr:$update,
                       FlatSymbolRefAttr:$evaluate,
                       OptionalAttr<FlatSymbolRefAttr>:$prepare);
  let results = (outs );
  let assemblyFormat = [{
    `microbatches` `(` $microbatches `)` (`rampup` $rampup^)?
    `forward` `(` $forward `)`
    `backward` `(` $backward `)` `update` `(` $update `)`
    `evaluate` `(` $evaluate `)` (`prepare` `(` $prepare^ `)`)? attr-dict
  }];
}

def Xf_GlobalNormOp : Xf_Op<"global_norm"> {
  let summary = "the norm of all gradients together";
  let description = [{
    `norm = sqrt(sum of squares of all elements)`; `nonfinite` is 1 if any
    element is infinite or not a number, else 0.

    ```mlir
    %n, %bad = xf.global_norm %a, %b : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<f32>)
    ```
  }];
  let arguments = (ins Variadic<Xf_Tensor>:$grads);
  let results = (outs Xf_Tensor:$norm, Xf_Tensor:$nonfinite);
}

def Xf_GradientScaleOp : Xf_Op<"gradient_scale", [AttrSizedOperandSegments]> {
  let summary = "by what gradients are multiplied before the update";
  let description = [{
    `1 / (loss_scale * microbatches)`, times `min(1, max_norm / (n + 1e-6))`
    where `max_norm` > 0, with `n` the norm after unscaling. The second result
    is that unscaled norm. Where steps differ in their `microbatches` (the batch
    grows), `count` says how many this one has, in place of the attribute.

    ```mlir
    %s, %n1 = xf.gradient_scale %n {max_norm = 1.0, microbatches = 2 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %t, %n2 = xf.gradient_scale %n count %m {max_norm = 1.0} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    ```
  }];
  let assemblyFormat = [{
    $norm (`,` $loss_scale^)? (`count` $count^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let arguments = (ins Xf_Tensor:$norm,
                       Optional<Xf_Tensor>:$loss_scale,
                       Optional<Xf_Tensor>:$count,
                       F64Attr:$max_norm,
                       OptionalAttr<I64Attr>:$microbatches);
  let results = (outs Xf_Tensor:$scale, Xf_Tensor:$unscaled_norm);
}

def Xf_BiasCorrectionOp : Xf_Op<"bias_correction"> {
  let summary = "Adam's bias correction";
  let description = [{
    `1 - beta^step`, computed as `-expm1(step * log(beta))`.

    ```mlir
    %c = xf.bias_correction %t {beta = 0.9} : (tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$step,
                       F64Attr:$beta);
  let results = (outs Xf_Tensor:$result);
}

def Xf_AdvanceStepOp : Xf_Op<"advance_step"> {
  let summary = "counts a step unless it is skipped";
  let description = [{
    `result = step + (1 - skip)`.

    ```mlir
    %t1 = xf.advance_step %t, %skip : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Xf_Tensor:$step,
                       Xf_Tensor:$skip);
  let results = (outs Xf_Tensor:$result);
}

def Xf_AdamWOp : Xf_Op<"adamw"> {
  let summary = "the update of AdamW";
  let description = [{
    With `g = grad * scale` (arXiv 1711.05101, the form of PyTorch):
    `m = beta1 m + (1 - beta1) g`, `v = beta2 v + (1 - beta2) g^2`,
    `p = p (1 - lr weight_decay) - lr (m / c1) / (sqrt(v / c2) + epsilon)`,
    where `c1`, `c2` are the bias corrections. Where `skip` is not 0 nothing
    changes.

    ```mlir
    %p1, %m1, %v1 = xf.adamw %p, %g, %m, %v, %lr, %c1, %c2, %s, %skip {beta1 = 0.9, beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$param,
                       Xf_Tensor:$grad,
                       Xf_Tensor:$exp_avg,
                       Xf_Tensor:$exp_avg_sq,
                       Xf_Tensor:$learning_rate,
                       Xf_Tensor:$correction1,
                       Xf_Tensor:$correction2,
                       Xf_Tensor:$scale,
                       Xf_Tensor:$skip,
                       F64Attr:$beta1,
                       F64Attr:$beta2,
                       F64Attr:$epsilon,
                       F64Attr:$weight_decay);
  let results = (outs Xf_Tensor:$new_param, Xf_Tensor:$new_exp_avg, Xf_Tensor:$new_exp_avg_sq);
}

def Xf_SgdOp : Xf_Op<"sgd"> {
  let summary = "the update of SGD with momentum";
  let description = [{
    With `g = grad * scale + weight_decay p` (the form of PyTorch, dampening
    0): `b = momentum b + g`, `p = p - lr b`; without momentum `b` is absent
    and `p = p - lr g`. Where `skip` is not 0 nothing changes.

    ```mlir
    %p1, %b1 = xf.sgd %p, %g, %lr, %s, %skip, %b {momentum = 0.9, weight_decay = 0.0} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$param,
                       Xf_Tensor:$grad,
                       Xf_Tensor:$learning_rate,
                       Xf_Tensor:$scale,
                       Xf_Tensor:$skip,
                       Optional<Xf_Tensor>:$buffer,
                       F64Attr:$momentum,
                       F64Attr:$weight_decay);
  let results = (outs Xf_Tensor:$new_param, Optional<Xf_Tensor>:$new_buffer);
}

def Xf_LossScaleUpdateOp : Xf_Op<"loss_scale_update"> {
  let summary = "dynamic loss scaling";
  let description = [{
    On overflow (`nonfinite` not 0) the scale is multiplied by `backoff_factor`
    (not below `minimum`) and the count of good steps is 0; after
    `growth_interval` good steps it is multiplied by `growth_factor`
    (arXiv 1710.03740).

    ```mlir
    %s1, %n1 = xf.loss_scale_update %s, %n, %bad {policy = #xf.loss_scale<initial = 65536.0, growth_factor = 2.0, backoff_factor = 0.5, growth_interval = 1000, minimum = 1.0>} : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    ```
  }];
  let arguments = (ins Xf_Tensor:$scale,
                       Xf_Tensor:$good_steps,
                       Xf_Tensor:$nonfinite,
                       Xf_LossScaleAttr:$policy);
  let results = (outs Xf_Tensor:$new_scale, Xf_Tensor:$new_good_steps);
}

#endif
