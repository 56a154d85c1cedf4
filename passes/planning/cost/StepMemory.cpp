//===- StepMemory.cpp - Bytes of every pipeline rank ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ActivationBytes.h"
#include "passes/planning/cost/RankParameters.h"
#include "passes/planning/cost/StepCost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace hocket;
using namespace hocket::planning;

std::string_view planning::spelled(MemoryItem item) {
  constexpr std::string_view names[kMemoryItems] = {"parameters", "gradients",
                                                    "optimizer",  "activations",
                                                    "logits",     "workspace"};
  return names[size_t(item)];
}

int64_t RankMemory::total() const {
  int64_t sum = 0;
  for (int64_t bytes : items)
    sum += bytes;
  return sum;
}

int64_t RankMemory::hostTotal() const {
  int64_t sum = 0;
  for (int64_t bytes : host)
    sum += bytes;
  return sum;
}

std::vector<RankParameters> planning::rankParameters(const ModelShape &model,
                                                     const ParallelPlan &plan,
                                                     Placement placement) {
  PipelineShape shape{plan.pp, plan.chunks, 1, placement};
  std::vector<RankParameters> ranks(size_t(plan.pp));
  std::vector<double> ends(size_t(plan.pp));
  std::vector<int64_t> layers = layersOf(plan, model);
  double tp = double(plan.tp);
  double expertShards = double(plan.ep * plan.expertTensor());
  LayerKinds kinds(model);
  std::vector<double> shared(kinds.size());
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    shared[kind] = model.sharedParameters(kinds[kind]) / tp +
                   kinds[kind].stateSpace *
                       model.stateSpace.sharedParameters(model.hidden, plan.tp);
  int64_t layer = 0, last = plan.stages() - 1;
  for (int64_t stage = 0; stage <= last; ++stage) {
    RankParameters &rank = ranks[size_t(shape.rankOf(stage))];
    for (int64_t end = layer + layers[size_t(stage)]; layer < end; ++layer) {
      size_t kind = kinds.kindOf(layer);
      rank.dense += shared[kind];
      if (kinds[kind].experts)
        rank.experts += model.expertParameters() / expertShards;
    }
    rank.layers = rank.all();
    double rows = double(model.hidden * model.vocab);
    if (stage == 0) // Positions are whole on every tensor rank.
      ends[size_t(shape.rankOf(0))] +=
          rows / tp + (model.embeddingParameters() - rows);
    if (stage == last) {
      double hidden = double(model.hidden); // Of further predictions.
      ends[size_t(shape.rankOf(last))] +=
          2 * hidden * hidden * double(model.predicted) / tp;
      // A tied head on another rank than the embedding is a copy of its rows.
      bool copy = model.tied && shape.rankOf(0) != shape.rankOf(last);
      ends[size_t(shape.rankOf(last))] +=
          (model.headParameters() + (copy ? rows : 0)) / tp;
    }
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    ranks[rank].dense += ends[rank];
  return ranks;
}

std::array<double, 3> planning::bytesOfParameter(const StepShape &step) {
  if (step.elementBits == 32)
    return {4, 4, 8};
  return {2, 4, 12};
}

namespace {

/// How many layers of each kind a pipeline rank has.
class KindsOfRanks {
public:
  KindsOfRanks(const ModelShape &model, const ParallelPlan &plan)
      : kinds(model), counts(size_t(plan.pp) * kinds.size()),
        lastStages(size_t(plan.pp)) {
    PipelineShape shape{plan.pp, plan.chunks, 1, stagePlacement(plan)};
    std::vector<int64_t> layers = planning::layersOf(plan, model);
    int64_t first = 0;
    for (int64_t stage = 0; stage < plan.stages(); ++stage) {
      int64_t end = first + layers[size_t(stage)];
      size_t rank = size_t(shape.rankOf(stage));
      for (size_t kind = 0; kind < kinds.size(); ++kind)
        counts[rank * kinds.size() + kind] += kinds.layersOf(kind, first, end);
      lastStages[rank] = {first, end};
      first = end;
    }
  }

  /// By kind.
  std::span<const int64_t> layersOf(int64_t rank) const {
    return std::span(counts).subspan(size_t(rank) * kinds.size(), kinds.size());
  }
  /// The most that `of(kind)` is of a rank's layers.
  template <typename Of> auto mostOf(int64_t rank, Of of) const {
    decltype(of(kinds[0])) most = 0;
    std::span<const int64_t> layers = layersOf(rank);
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      if (layers[kind] > 0)
        most = std::max(most, of(kinds[kind]));
    return most;
  }

  /// Bytes of what gathered norms leave whole on a rank.
  double wholeGradients(int64_t rank, const ModelShape &model,
                        int64_t tp) const {
    double blocks = 0;
    std::span<const int64_t> layers = layersOf(rank);
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      blocks += double(layers[kind]) * kinds[kind].stateSpace;
    return model.stateSpace.gathersNorm(tp)
               ? 4 * blocks * double(model.hidden * model.stateSpace.inner())
               : 0;
  }
  /// Each layer's kind, of a rank's last stage, the last layer first.
  template <typename Take> void fromLast(int64_t rank, Take take) const {
    auto [first, end] = lastStages[size_t(rank)];
    while (end > first)
      take(kinds[kinds.kindOf(--end)]);
  }
  bool hasStateSpace() const { return kinds.hasStateSpace(); }

private:
  LayerKinds kinds;
  std::vector<int64_t> counts;
  std::vector<std::pair<int64_t, int64_t>> lastStages; ///< Of ranks: layers.
};

/// What a compiled program needs beside the residuals of all microbatches in
/// flight, which have their room for the whole step. It was counted in the
/// arenas of programs, at their peaks, in rows of the stream: which buffers of
/// a layer live at once is settled by the memory planner, not by a formula.
class CompiledWorkspace {
public:
  CompiledWorkspace(const CostProblem &problem, const ParallelPlan &plan,
                    const ActivationBytes &activations,
                    const KindsOfRanks &kinds)
      : model(problem.model), plan(plan), activations(activations),
        kinds(kinds), bytes(bytesOfParameter(problem.step)),
        stream(activations.ofStream()),
        shard(plan.sequenceParallel ? stream / double(plan.tp) : stream),
        embedding(bytes[1] * double(model.hidden * model.vocab) /
                  double(plan.tp)),
        splits(splitsWeight(plan.scheduleName())) {}

  /// At the step's fullest moment, of `rank` with the parameters `held`, whose
  /// residuals and logits `memory` has.
  int64_t of(int64_t rank, const RankParameters &held,
             const RankMemory &memory) const {
    double live = double(memory[MemoryItem::Activations]),
           logits = double(memory[MemoryItem::Logits]);
    PipelineShape shape{plan.pp, plan.chunks, 1, stagePlacement(plan)};
    bool first = rank == 0, last = rank == shape.rankOf(plan.stages() - 1);
    bool frees = live <= double(activations.ofLayers(kinds.layersOf(rank)));
    double most = layer(rank, held, frees) - logits;
    // Of several chunks one goes back while the head's next logits are there,
    // and its gradient waits for a full bucket.
    if (last && plan.chunks > 1 && kinds.hasStateSpace())
      most += logits +
              (makesWhole() ? embedding + shardOf(embedding / bytes[1]) : 0);
    if (first && makesWhole()) {
      double gone = frees && kinds.hasStateSpace() ? live : 0;
      most = std::max(most,
                      embedding - logits + shards(held) + beside(held) - gone);
    }
    if (last)
      most = std::max(most, head(held));
    most += transfers(shape, rank);
    // When all passes are done, the copies of a tied embedding are summed.
    if (model.tied && (first || last) && plan.pp > 1)
      most = std::max(most, (plan.dp * plan.cp > 1 ? 2 : 1) * embedding - live -
                                logits);
    return std::llround(std::max(0.0, most));
  }

private:
  /// A weight's gradient is whole before it is scattered. What is not scattered
  /// is added where it is kept.
  bool makesWhole() const { return plan.zero >= 2; }

  /// Beside that: gradients that are being scattered. Of a split backward it
  /// is W that makes it, when what B left is gone.
  double beside(const RankParameters &held) const {
    return splits ? -double(activations.ofWeightGradients(firstStage()))
                  : waiting(held);
  }

  /// Of layers' gradients, what their scattering works in, beside the shards
  /// that they are summed into.
  double waiting(const RankParameters &held) const {
    return plan.zero >= 2 ? 2 * shardOf(held.layers) : 0;
  }

  double shardOf(double parameters) const {
    return bytes[1] * parameters / double(plan.dp * plan.cp);
  }

  /// The layers of the first stage, by kind.
  std::vector<int64_t> firstStage() const {
    LayerKinds all(model);
    std::vector<int64_t> layers;
    for (size_t kind = 0; kind < all.size(); ++kind)
      layers.push_back(all.layersOf(kind, 0, layersOf(plan, model)[0]));
    return layers;
  }

  /// Of a rank's layer that needs the most; with stage 3 two layers at a time
  /// are gathered. `frees`: residuals of one microbatch alone are gone when
  /// they have been read.
  double layer(int64_t rank, const RankParameters &held, bool frees) const {
    double most = kinds.mostOf(
        rank, [&](const LayerKind &kind) { return insideOf(kind); });
    double gradients = waiting(held), own = shards(held);
    if (kinds.hasStateSpace()) {
      gradients += packs(rank);
      most = std::max(most, frees ? firstScan(rank) : scan(rank));
      gradients = besideScans(rank, gradients + own, frees);
      own = 0;
    }
    return most + gradients +
           (plan.zero == 3 ? 2 * bytes[0] * held.layers * double(plan.pp) /
                                 double(model.layers)
                           : 0) +
           own;
  }

  /// A layer's gradients, on the stream and inside, and what is made again,
  /// which a split backward keeps for W; what codes stand for while a GEMM
  /// reads it.
  double insideOf(const LayerKind &kind) const {
    if (!kind.hasFeedForward() && kind.attention == 0)
      return 0;
    // What a state-space block makes again is priced with its scan.
    if (kind.stateSpace > 0)
      return insideOf(mlpOf(kind));
    double rows = splits ? 2 : plan.tp > 1 ? 4 : 5;
    // Of branches side by side one is made again when the other is done with;
    // else what the first gives waits for the second.
    if (model.parallelBranches && plan.recompute == Recompute::Full)
      rows = 0;
    else if (model.parallelBranches && !splits)
      rows += !model.oneNorm ? 1 : plan.tp > 1 ? 2 : 4;
    double again = splits ? 0 : double(activations.ofLayerAgain(kind));
    double routed = activations.ofRoutedBackward(kind);
    double inside = std::max(rows * stream, 1.5 * stream + routed);
    return inside + again + activations.ofWidened(kind);
  }

  /// Of a layer whose scan goes back, which has been through its MLP. With
  /// several stages, rows of the stream are those that are sent and received,
  /// unless ranks that share groups add them up by themselves.
  double scanOf(const LayerKind &kind, bool frees) const {
    if (kind.stateSpace == 0)
      return 0;
    double again = splits ? 0 : double(activations.ofLayerAgain(mixerOf(kind)));
    double inside = std::max(activations.ofScanBackward(frees),
                             activations.ofGatheredNorm());
    bool isBeside = plan.pp == 1 || model.stateSpace.groups % plan.tp != 0;
    return (isBeside ? stream : 0) + inside + again;
  }
  static LayerKind mlpOf(LayerKind kind) {
    kind.attention = kind.stateSpace = 0;
    return kind;
  }
  static LayerKind mixerOf(LayerKind kind) {
    kind.ffn = 0;
    kind.experts = false;
    return kind;
  }

  double scan(int64_t rank) const {
    return kinds.mostOf(rank, [&](const LayerKind &kind) {
      return scanOf(kind, /*frees=*/false);
    });
  }

  /// Where layers behind a scan have given up their residuals.
  double firstScan(int64_t rank) const {
    double most = 0, gone = 0;
    kinds.fromLast(rank, [&](const LayerKind &kind) {
      auto kept = double(activations.ofLayer(kind));
      double mlp = kept - double(activations.ofLayer(mixerOf(kind)));
      most = std::max(most, scanOf(kind, /*frees=*/true) - gone - mlp);
      gone += kept;
    });
    return most;
  }

  /// Whole gradients of output matrices that wait for a full bucket to be
  /// scattered over the tensor axis, and their shards.
  double packs(int64_t rank) const {
    if (!plan.sequenceParallel || plan.zero > 0 || splits)
      return 0;
    double whole = kinds.wholeGradients(rank, model, plan.tp);
    return std::min(double(plan.bucketBytes), whole) *
           (1 + 1 / double(plan.tp));
  }

  /// Of gradients that are being scattered: there are the first layer's, or all
  /// where residuals are gone.
  double besideScans(int64_t rank, double gradients, bool frees) const {
    if (!frees)
      return gradients;
    std::span<const int64_t> layers = kinds.layersOf(rank);
    auto count =
        double(std::accumulate(layers.begin(), layers.end(), int64_t(0)));
    return std::max(gradients / count,
                    gradients - double(activations.ofLayers(layers)));
  }

  /// The final norm's rows and their gradients; the head's own; with several
  /// chunks, those of the one before.
  double head(const RankParameters &held) const {
    double rows = plan.tp > 1 && !plan.sequenceParallel ? 4 : 3;
    double own = plan.zero >= 2 ? embedding : 0, capped = cappedLogits();
    return rows * stream +
           (plan.chunks > 1 ? own + capped : std::max(own, capped)) +
           (plan.chunks > 1 ? waiting(held) + shards(held) : 0);
  }

  /// What the gradient of the logits' cap reads beside the logits, before the
  /// head has its own; with stage 3 the head's weight is still there.
  double cappedLogits() const {
    if (!model.cappedLogits)
      return 0;
    double weight = embedding * bytes[0] / bytes[1];
    return double(activations.ofLoss()) + (plan.zero == 3 ? weight : 0);
  }

  /// With stage 1 gradients are scattered into shards of their own beside the
  /// last backward pass.
  double shards(const RankParameters &held) const {
    if (plan.zero != 1)
      return 0;
    return shardOf(plan.chunks > 1 ? held.all() : held.layers);
  }

  /// A stage sends and receives ahead of what it computes; what it received to
  /// compute from is a residual.
  double transfers(const PipelineShape &shape, int64_t rank) const {
    double rows = 0;
    for (int64_t stage = 0; plan.pp > 1 && stage < plan.stages(); ++stage)
      if (shape.rankOf(stage) == rank)
        rows += (stage + 1 < plan.stages() ? 4 : 1) +
                (plan.chunks > 1 && stage > 0);
    return rows * shard;
  }

  const ModelShape &model;
  const ParallelPlan &plan;
  const ActivationBytes &activations;
  const KindsOfRanks &kinds;
  std::array<double, 3> bytes; ///< Of a parameter.
  double stream, shard, embedding;
  bool splits;
};

} // namespace

/// Takes to the host what the plan offloads; `ofLayer`: what a layer keeps.
static void offload(const CostProblem &problem, const ParallelPlan &plan,
                    int64_t ofLayer, RankMemory &memory) {
  auto take = [&](MemoryItem item, int64_t inFlight) {
    int64_t all = memory[item];
    memory.host[size_t(item)] = all;
    memory[item] = 0;
    memory[MemoryItem::Workspace] += std::min(all, inFlight);
  };
  int64_t held = memory[MemoryItem::Optimizer];
  // A layer's is updated while the next one's comes and the last one's goes.
  if (plan.offloadsOptimizer())
    take(MemoryItem::Optimizer, 3 * held * plan.pp / problem.model.layers);
  if (plan.offloadsActivations())
    take(MemoryItem::Activations, 3 * ofLayer);
}

/// Parameters, gradients and the optimizer's state, sharded as ZeRO has it.
static void fillState(const CostProblem &problem, const ParallelPlan &plan,
                      const RankParameters &held, RankMemory &memory) {
  std::array<double, 3> each = bytesOfParameter(problem.step);
  double dense = double(plan.dp * plan.cp);
  double expert = double(plan.dp * plan.cp * plan.tp) /
                  double(plan.ep * plan.expertTensor());
  double sharded = held.dense / dense + held.experts / expert;
  for (int part = 0; part < 3; ++part) {
    bool shards = plan.zero >= 3 - part;
    double share = part == 0 ? 1 : problem.step.trained();
    memory.items[size_t(part)] = std::llround(share * each[size_t(part)] *
                                              (shards ? sharded : held.all()));
  }
}

/// One microbatch alone gives up as many residuals as it leaves gradients: the
/// two are not whole at once.
static void overlapGradients(const RankParameters &held, RankMemory &memory) {
  int64_t &gradients = memory[MemoryItem::Gradients];
  int64_t ofLayers = std::llround(double(gradients) * held.layers / held.all());
  gradients -= std::min(ofLayers, memory[MemoryItem::Activations] +
                                      memory[MemoryItem::Logits]);
}

std::vector<RankMemory> planning::rankMemory(const CostProblem &problem,
                                             const ParallelPlan &plan,
                                             const std::vector<int64_t> &live) {
  const ModelShape &model = problem.model;
  bool fused = problem.system.software().attention() > 0;
  ActivationBytes activations(model, problem.step, plan, fused,
                              problem.compiled);
  KindsOfRanks kinds(model, plan);
  CompiledWorkspace compiled(problem, plan, activations, kinds);
  Placement placement = stagePlacement(plan);
  int64_t headRank = PipelineShape{plan.pp, plan.chunks, 1, placement}.rankOf(
      plan.stages() - 1);
  // A split backward keeps the logits' gradient, in their place.
  bool keepsApart = problem.compiled && splitsWeight(plan.scheduleName());
  bool isOnePass = plan.pp == 1 && microbatchesOf(plan, problem.step) == 1;
  std::vector<RankParameters> parameters =
      rankParameters(model, plan, placement);
  std::vector<RankMemory> ranks(size_t(plan.pp));
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankParameters &held = parameters[rank];
    RankMemory &memory = ranks[rank];
    fillState(problem, plan, held, memory);
    if (problem.compiled && plan.zero < 2)
      memory[MemoryItem::Gradients] +=
          std::llround(kinds.wholeGradients(int64_t(rank), model, plan.tp) *
                       (1 - 1 / double(plan.tp)) * problem.step.trained());
    memory[MemoryItem::Activations] = live[rank];
    if (int64_t(rank) == headRank && !keepsApart)
      memory[MemoryItem::Logits] = activations.ofLoss();
    memory[MemoryItem::Workspace] =
        problem.compiled
            ? compiled.of(int64_t(rank), held, memory)
            : kinds.mostOf(int64_t(rank), [&](const LayerKind &kind) {
                return activations.ofLayerAgain(kind);
              });
    if (problem.compiled && isOnePass)
      overlapGradients(held, memory);
    if (plan.zero == 3 && !problem.compiled) // Two layers are gathered.
      memory[MemoryItem::Workspace] +=
          std::llround(2 * bytesOfParameter(problem.step)[0] * held.all() *
                       double(plan.pp) / double(model.layers));
    if (plan.offload != Offload::None)
      offload(problem, plan,
              kinds.mostOf(int64_t(rank),
                           [&](const LayerKind &kind) {
                             return activations.ofLayer(kind);
                           }),
              memory);
  }
  return ranks;
}
