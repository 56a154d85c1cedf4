//===- ActivationBytes.h - What a layer keeps for its backward --*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bytes that one rank holds of one microbatch, from a layer's forward to its
/// backward. For a GPT layer with 16-bit elements this is Korthikanti et al.
/// (arXiv 2205.05198), equations 2 and 4:
///
///   s b h (10 + 24/t + 5 a s / (h t))   tensor parallelism t
///   s b h (34 + 5 a s / h) / t          with sequence parallelism
///   s b h 34 / t                        core_attn recomputed, or fused
///   s b h 2                             every layer recomputed
///
/// generalised to grouped heads, latent attention, Mamba-2 blocks, gated MLPs,
/// experts and context parallelism.
///
/// Of a program that Hocket compiles (`compiled`) it is the same but for what
/// that program does not keep, or cannot know before it runs: logits once; with
/// core_attn recomputed not attention's result either; and room for the rows
/// that may come to a rank's experts, beside those that its tokens have sent.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_ACTIVATIONBYTES_H
#define HOCKET_PASSES_PLANNING_COST_ACTIVATIONBYTES_H

#include "passes/planning/cost/ParallelPlan.h"

#include <span>

namespace hocket::planning {

class ActivationBytes {
public:
  /// `fused`: attention that never stores its scores. The arguments outlive
  /// it.
  ActivationBytes(const ModelShape &model, const StepShape &step,
                  const ParallelPlan &plan, bool fused = true,
                  bool compiled = false);

  /// Kept by layers, as plan.recompute has it: `layers` is how many there are
  /// of each kind (LayerKinds).
  int64_t ofLayers(std::span<const int64_t> layers) const;
  int64_t ofLayer(const LayerKind &kind) const;
  /// Of those, what weight gradients need; and the gradients that they need,
  /// which a split backward keeps from B to W.
  int64_t ofWeightInputs(std::span<const int64_t> layers) const;
  int64_t ofWeightGradients(std::span<const int64_t> layers) const;
  /// A row of the stream for each token, as the tensor axis gathers it.
  double ofStream() const { return tokens * double(model.hidden) * element; }
  /// The same of a layer's own stack.
  double ofStream(const LayerKind &kind) const {
    return step.shareOf(kind) * ofStream();
  }
  /// Beside those, of the layer whose backward runs: all that it computes
  /// again. 0 where nothing is.
  int64_t ofLayerAgain(const LayerKind &kind) const;
  /// Beside its residuals, of a layer with experts whose backward runs: the
  /// gradients of rows and of what the activation made, where the rows that
  /// came back are gone; or, with a gate, both gradients of the rows, when what
  /// it was made of is. 0 without experts.
  double ofRoutedBackward(const LayerKind &kind) const;
  /// Beside its residuals and what is on the stream, of a layer whose scan goes
  /// back: what that works in, and gradients, less what the gate and the norm
  /// have given up: with `frees` of their residuals, else of what was made
  /// again.
  double ofScanBackward(bool frees) const;
  /// The same where a gated norm goes back whose rows ranks hold in parts: its
  /// gradients, gathered, and what it makes again.
  double ofGatheredNorm() const;
  /// Where no weight is trained, what the backward of a layer makes in the
  /// place of residuals that are not there: 0 elsewhere.
  double ofFrozenInputs(const LayerKind &kind) const;
  /// What blocks of 8 bits stand for, while a GEMM of a layer reads it: its
  /// rows on the stream and inside, and its weight. 0 without blocks.
  double ofWidened(const LayerKind &kind) const;
  /// The logits, once in 16 and once in 32 bits, and their gradient; those of a
  /// chunk where the loss is computed in several.
  int64_t ofLoss() const;
  /// The logits of a whole microbatch of a compiled program, which evaluation
  /// makes however the loss is computed.
  int64_t ofLogits() const;

private:
  double logits() const; ///< Elements of a microbatch, on a tensor rank.
  double kept(const LayerKind &kind, Recompute recompute) const;
  /// Of a layer as if its tokens were `step.sequence`.
  double keptOfTokens(const LayerKind &kind, Recompute recompute) const;
  double attention(Recompute recompute) const;
  double crossAttention() const;
  double headsOfToken() const;
  /// Keys, or values, of a rank's heads.
  double keysOfToken() const;
  double stateSpace() const;
  double stateSpaceAgain() const;
  double normedAgain() const;
  double gatedWidth() const;
  double mlp(double width) const;
  double routed() const;
  double jittered(Recompute recompute) const;
  double furtherNorms(const LayerKind &kind, Recompute recompute) const;
  double inputsAgain(const LayerKind &kind) const {
    return inputsOf(again, kind);
  }
  double inputsOf(RecomputeModules modules, const LayerKind &kind) const;
  double orderedRows(const LayerKind &kind) const;
  double firstGemmsAgain(const LayerKind &kind) const;
  int64_t ofPlacesLent(std::span<const int64_t> layers) const;
  int64_t ofInputsAgain(std::span<const int64_t> layers) const;
  double choice() const;
  double input() const;
  double code() const;
  double blockedInputs(const LayerKind &kind) const;
  double narrowInputs(const LayerKind &kind) const;
  int64_t weightInputs(std::span<const int64_t> layers) const;
  /// Elements of one layer.
  double weightInputsOf(const LayerKind &kind) const;
  double weightGradientsOf(const LayerKind &kind) const;
  double gatheredAgain(std::span<const int64_t> layers) const;
  /// `of(bytes, layer)` for each layer of the encoder inside one of `kind`,
  /// with the bytes of its own sequence.
  template <typename Of>
  double ofRetriever(const LayerKind &kind, Of of) const {
    if (kind.encodes == 0)
      return 0;
    const StepShape own = stepOfRetriever(step);
    const ActivationBytes inside(model, own, plan, fused, compiled);
    double sum = 0;
    for (int64_t layer = 0; layer < kind.encodes; ++layer)
      sum += of(inside, kindOfRetriever(step, kind, layer));
    return sum;
  }
  /// Blocks of a layer, each with a norm of its own.
  static double blocksOf(const LayerKind &kind) {
    return kind.attention + kind.stateSpace + (kind.crosses ? 1 : 0) +
           (kind.hasFeedForward() ? 1 : 0);
  }
  static bool hasTwoBranches(const LayerKind &kind) {
    return kind.attention + kind.stateSpace > 0 && kind.hasFeedForward();
  }
  double normsOf(const LayerKind &kind) const {
    return model.oneNorm && hasTwoBranches(kind) ? 1 : blocksOf(kind);
  }
  /// Of the MLP that all tokens go through.
  double denseWidth(const LayerKind &kind) const {
    return double(kind.experts ? model.sharedFfn : kind.ffn);
  }
  /// `of(kind)` for each of the layers.
  template <typename Of>
  double sumOf(std::span<const int64_t> layers, Of of) const {
    double sum = 0;
    for (size_t kind = 0; kind < layers.size(); ++kind)
      if (layers[kind] > 0)
        sum += double(layers[kind]) * of(kinds[kind]);
    return sum;
  }
  double mask() const { return model.dropout ? 1 : 0; }
  /// Programs keep inputs of GEMMs for weights' gradients.
  bool isFrozen() const { return compiled && step.isFrozen(); }

  const ModelShape &model;
  LayerKinds kinds;
  const StepShape &step;
  const ParallelPlan &plan;
  bool fused, compiled;
  /// What plan.recompute computes again, unless it is everything.
  RecomputeModules again;
  double tokens, tp, whole, element;
  /// Of experts: what a row of them is split over, the rows of a rank's tokens,
  /// and those that it has room for where its experts are.
  double expertTp = 1, sent = 0, held = 0;
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_ACTIVATIONBYTES_H
