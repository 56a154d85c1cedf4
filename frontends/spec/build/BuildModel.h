//===- BuildModel.h - From a spec to the transformer dialect ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The lowering of a checked spec to a module of `xf`:
///
///   xf.training {...}                       optimizer, precision, run
///   xf.variable @embedding.weight ...       each parameter, see Parameters.h
///   func.func private @layer(x, [instance], [rope table], parameters...) -> x
///   func.func private @expert_layer(x, [instance], [rope table], [router
///   bias],
///       parameters...) -> (x, [loss], [counts])
///   func.func @forward(tokens, labels) -> loss
///
/// `forward` works on one microbatch: tokens and labels are
/// tensor<BxSxi32> with B = micro_batch_size and S = sequence_length, the loss
/// is the mean over labels that are not -1. It calls `layer` once a layer with
/// that layer's parameters; `instance`, the layer's index, is there where
/// dropout needs to know it. Everything is f32; precision is a later pass.
///
/// Layers with experts are calls of `expert_layer`. What routers add to the
/// loss is returned by it, added to the loss that is differentiated, and not to
/// the one that the host sees. With `bias_rate` every such layer has two
/// states,
///   state.layers.{i}.mlp.router.{bias,counts}        [experts]
/// counts are accumulated over a step, and an `xf.balance` names the pair.
///
/// With Entries::generate there are two functions more, named by an `xf.serve`,
/// with layers of their own,
///   func.func @{prefill,decode}(tokens, labels, positions, rows, table)
/// and the caches of each layer, `cache.layers.{i}.{keys,values}`.
///
/// Random streams (ModelBuilder.h): 1 embedding, 2 attention probabilities, 3
/// the attention branch, 4 the MLP branch, 5 a router's input, 9 within an MLP,
/// 10 behind the last norm; `instance` is the layer. The random key of a
/// parameter's initial values is its position in the module, from 1.
///
/// Locations name the part ("layers.3.attention.q.weight") and point at the
/// field of the spec that asked for it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_BUILD_BUILDMODEL_H
#define HOCKET_FRONTENDS_SPEC_BUILD_BUILDMODEL_H

#include "frontends/spec/LoadSpec.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace hocket::spec {

/// What a program is compiled to do; with none, to evaluate.
struct Entries {
  bool train = true;
  /// To write: `prefill` and `decode`, by which tokens are added to sequences
  /// whose keys and values a cache keeps. Evaluation belongs to both.
  bool generate = false;
  /// To tell, when it evaluates, what the last layer made of each token: of
  /// these an embedder makes one of a text. Not to train.
  bool embed = false;
  /// Tokens of prompts that a rank takes in at a time; 0: the lesser of 128 and
  /// the sequence length.
  int64_t prefillTokens = 0;

  bool operator==(const Entries &) const = default;
};

/// Why a spec has no entries to write by; empty if it has.
std::string whyNotServed(const Spec &spec);

/// The module of `loaded`, verified; null, with a diagnostic, if it does not
/// verify. Loads the dialects that it uses into `context`.
/// `entries.generate` only where whyNotServed() says nothing.
mlir::OwningOpRef<mlir::ModuleOp> buildModel(const LoadedSpec &loaded,
                                             mlir::MLIRContext &context,
                                             const Entries &entries = {});

/// Registers `--spec-to-xf` with mlir-translate's driver: textproto in, module
/// out.
void registerSpecTranslation();

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_BUILD_BUILDMODEL_H
