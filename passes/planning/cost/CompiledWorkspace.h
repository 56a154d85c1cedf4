//===- CompiledWorkspace.h - What programs need inside ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_COST_COMPILEDWORKSPACE_H
#define HOCKET_PASSES_PLANNING_COST_COMPILEDWORKSPACE_H

#include "passes/planning/cost/ActivationBytes.h"
#include "passes/planning/cost/KindsOfRanks.h"
#include "passes/planning/cost/RankParameters.h"
#include "passes/planning/cost/StepCost.h"
#include "passes/planning/cost/VisionCost.h"

#include <array>
#include <vector>

namespace hocket::planning {

/// What a compiled program needs beside the residuals of all microbatches in
/// flight, which have their room for the whole step. It was counted in the
/// arenas of programs, at their peaks, in rows of the stream: which buffers of
/// a layer live at once is settled by the memory planner, not by a formula.
class CompiledWorkspace {
public:
  /// All arguments outlive this.
  CompiledWorkspace(const CostProblem &problem, const ParallelPlan &plan,
                    const ActivationBytes &activations,
                    const KindsOfRanks &kinds);
  /// At the step's fullest moment, of `rank` with the parameters `held`, whose
  /// residuals and logits `memory` has.
  int64_t of(int64_t rank, const RankParameters &held,
             const RankMemory &memory) const;

private:
  /// A weight's gradient is whole before it is scattered. What is not scattered
  /// is added where it is kept.
  bool makesWhole() const { return plan.zero >= 2; }
  bool hasEncoder() const { return LayerKinds(model).encoderLayers() > 0; }
  /// Whether scattering() tells what the backward pass of such layers needs.
  /// `frees`: residuals of one microbatch alone go while ZeRO-1 scatters.
  bool walks(bool frees) const {
    bool isAlike = !hasEncoder() && !kinds.hasStateSpace();
    bool isOnePass = plan.pp == 1 && microbatchesOf(plan, step) == 1;
    return isAlike && (makesWhole() || (plan.zero == 1 && frees && !isOnePass &&
                                        vision.kept == 0));
  }
  /// Beside the embedding's, gradients that are being scattered. Of a split
  /// backward it is W that makes it, when what B left is gone.
  double pending(const RankParameters &held) const;
  /// Of layers' gradients, what their scattering works in, beside the shards
  /// that they are summed into.
  double waiting(const RankParameters &held) const;
  /// Of experts, what their gradients are packed into before they are
  /// scattered.
  double packedExperts(int64_t rank) const;
  /// Where gradients are scattered beside backward, of layers of attention and
  /// MLPs: layer by layer from the last one, whose residuals go as gradients
  /// come where `frees` says so.
  double scattering(int64_t rank, bool frees, double logits, bool last,
                    bool first) const;
  /// Of a layer's matrices on a rank, in the order in which their gradients
  /// are dealt, the bytes of their elements.
  struct LayerMatrices {
    std::vector<double> mixer, feedForward, experts;

    double all() const;
    /// Of those that are gathered together, which go on until there are `limit`
    /// bytes, those of one layer.
    double bucket(double limit) const;
  };
  LayerMatrices matricesOf(const LayerKind &kind, double element) const;
  /// What one microbatch keeps on a rank.
  double ofOne(int64_t rank) const;
  double shardOf(double parameters) const;
  /// The layers of the first stage, by kind.
  std::vector<int64_t> firstStage() const;
  /// Of a rank's layer that needs the most; with stage 3 two layers at a time
  /// are gathered. `frees`: residuals of one microbatch alone are gone when
  /// they have been read; `ofHead`: what the last layer has of the head's
  /// gradient.
  double layer(int64_t rank, const RankParameters &held, bool frees,
               double ofHead) const;
  /// Of a rank with layers of two stacks, of which one microbatch's residuals
  /// are there: layer by layer from the last one, whose residuals go as
  /// gradients come. `logits` are there before; `embeds`: tokens are looked up
  /// here.
  double wayBack(int64_t rank, const RankParameters &held, double logits,
                 bool embeds) const;
  /// A layer's gradients, on the stream and inside, and what is made again,
  /// which a split backward keeps for W; what codes stand for while a GEMM
  /// reads it.
  double insideOf(const LayerKind &kind) const;
  /// Of a layer whose scan goes back, which has been through its MLP. With
  /// several stages, rows of the stream are those that are sent and received,
  /// unless ranks that share groups add them up by themselves.
  double scanOf(const LayerKind &kind, bool frees) const;
  static LayerKind mlpOf(LayerKind kind) {
    kind.attention = kind.stateSpace = 0;
    return kind;
  }
  static LayerKind mixerOf(LayerKind kind) {
    kind.ffn = 0;
    kind.experts = false;
    return kind;
  }
  double scan(int64_t rank, double ofHead) const;
  /// Where layers behind a scan have given up their residuals.
  double firstScan(int64_t rank, double ofHead) const;
  /// Whole gradients of output matrices, packed for being scattered over the
  /// tensor axis, and their shards, all of which wait until passes are done.
  /// With stage 1, what they have more in the shards of data ranks.
  double packs(int64_t rank) const;
  /// Of gradients that are being scattered: there are the first layer's or,
  /// where residuals are gone, those of all layers but the last.
  double besideScans(int64_t rank, double gradients, bool frees) const;
  /// The final norm's rows and their gradients; the head's own; with several
  /// chunks, those of the one before.
  double head(const RankParameters &held) const;
  /// What the gradient of the logits' cap reads beside the logits, before the
  /// head has its own; with stage 3 the head's weight is still there.
  double cappedLogits() const;
  double headWeight() const; ///< As GEMMs read it, on a tensor rank.
  /// With stage 1 gradients are scattered into shards of their own beside the
  /// last backward pass.
  double shards(const RankParameters &held) const;
  /// While the copies of a tied embedding's gradient are summed: the other
  /// rank's, and what data ranks make of it, which with stage 1 is a shard
  /// beside those of layers.
  double copies(const RankParameters &held) const;
  /// What evaluating a microbatch needs, which keeps nothing and makes whole
  /// logits: these, of the final norm, and what stages send and receive.
  double evaluation(const PipelineShape &shape, int64_t rank) const;
  /// A stage sends and receives ahead of what it computes; what it received to
  /// compute from is a residual.
  double transfers(const PipelineShape &shape, int64_t rank) const;

  const ModelShape &model;
  const StepShape &step;
  const ParallelPlan &plan;
  const ActivationBytes &activations;
  const KindsOfRanks &kinds;
  std::array<double, 3> bytes; ///< Of a parameter.
  double stream, shard, embedding;
  double headTable; ///< What the head multiplies with, on a tensor rank.
  std::vector<double> streams; ///< Between stages (streamsBetweenStages).
  double crossShare;           ///< Tokens that a layer attends to besides.
  VisionBytes vision;          ///< Of rank 0.
  double expertData;           ///< Ranks that share out an expert's state.
  bool splits;
};

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_COST_COMPILEDWORKSPACE_H
