//===- CompiledWorkspace.cpp - What programs need inside ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/CompiledWorkspace.h"

#include "passes/planning/cost/ScatteredGradients.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace hocket;
using namespace hocket::planning;

/// Where nothing is trained there is no gradient of a parameter.
static std::array<double, 3> bytesOfTrained(const StepShape &step) {
  std::array<double, 3> bytes = bytesOfParameter(step);
  if (step.isFrozen())
    bytes[1] = 0;
  return bytes;
}

CompiledWorkspace::CompiledWorkspace(const CostProblem &problem,
                                     const ParallelPlan &plan,
                                     const ActivationBytes &activations,
                                     const KindsOfRanks &kinds)
    : model(problem.model), step(problem.step), plan(plan),
      activations(activations), kinds(kinds),
      bytes(bytesOfTrained(problem.step)), stream(activations.ofStream()),
      shard(plan.sequenceParallel ? stream / double(plan.tp) : stream),
      embedding(bytes[1] * double(model.hidden * model.vocab) /
                double(plan.tp)),
      headTable(model.classes > 0
                    ? bytes[1] * double(model.hidden) * model.headColumns()
                    : embedding),
      streams(streamsBetweenStages(model, problem.step, plan)),
      crossShare(problem.step.crossShare()),
      vision(visionBytes(model, problem.step, plan,
                         problem.system.software().attention() > 0,
                         problem.compiled)),
      expertData(double(plan.dp * plan.cp * plan.tp) /
                 double(plan.ep * plan.expertTensor())),
      splits(splitsWeight(plan.scheduleName())) {}

int64_t CompiledWorkspace::of(int64_t rank, const RankParameters &held,
                              const RankMemory &memory) const {
  double live = double(memory[MemoryItem::Activations]),
         logits = double(memory[MemoryItem::Logits]);
  PipelineShape shape{plan.pp, plan.chunks, 1, stagePlacement(plan)};
  bool last = rank == shape.rankOf(plan.stages() - 1);
  bool first = rank == 0 || rank == shape.rankOf(inputStageOf(model, plan));
  bool frees = live <= ofOne(rank);
  // The head's gradient is being scattered while the scan of the last layer
  // goes back; of several chunks any, and the head's next logits may be there.
  double ofHead = last && makesWhole()
                      ? headTable * (1 + 1 / double(plan.dp * plan.cp))
                      : 0;
  bool isLong = last && plan.chunks > 1 && kinds.hasStateSpace();
  double most = isLong ? layer(rank, held, frees, 0) + ofHead
                       : layer(rank, held, frees, ofHead) - logits;
  if (first && makesWhole()) {
    // The embedding's gradient is made when the microbatch's layers are done
    // with. Beside a head of tokens that is less than what its logits took.
    double gone = frees && kinds.hasStateSpace() ? live
                  : model.classes > 0
                      ? double(activations.ofLayers(kinds.layersOf(rank)))
                      : 0;
    most = std::max(most,
                    embedding - logits + shards(held) + pending(held) - gone);
  }
  if (walks(frees))
    most = scattering(rank, frees, last ? logits : 0, last, first);
  else if (hasEncoder() && frees)
    most = wayBack(rank, held, last ? logits : 0, first);
  else
    most += packedExperts(rank);
  // The tower, and the projector before it, go back behind all layers.
  if (rank == 0 && vision.kept > 0)
    most = std::max(most, double(vision.inside) - logits -
                              (frees ? live - double(vision.kept) : 0));
  // Its shards are beside what other microbatches keep.
  if (plan.zero == 1 && !frees)
    most += shardOf(held.visionTrained);
  if (last)
    most = std::max(most, head(held));
  most += transfers(shape, rank);
  if (last && plan.lossChunks > 1)
    most = std::max(most, evaluation(shape, rank) - live - logits);
  // When all passes are done, the copies of a tied embedding are summed.
  bool hasCopies = model.tied || shape.rankOf(inputStageOf(model, plan)) != 0;
  if (hasCopies && (first || (model.tied && last)) && plan.pp > 1)
    most = std::max(most, copies(held) - live - logits);
  return std::llround(std::max(0.0, most));
}

double CompiledWorkspace::ofOne(int64_t rank) const {
  return double(activations.ofLayers(kinds.layersOf(rank)) +
                (rank == 0 ? vision.kept : 0));
}

double CompiledWorkspace::pending(const RankParameters &held) const {
  return splits ? -double(activations.ofWeightGradients(firstStage()))
                : waiting(held);
}

double CompiledWorkspace::waiting(const RankParameters &held) const {
  return makesWhole() && !walks(false) ? 2 * shardOf(held.layers) : 0;
}

double CompiledWorkspace::shardOf(double parameters) const {
  return bytes[1] * parameters / double(plan.dp * plan.cp);
}

std::vector<int64_t> CompiledWorkspace::firstStage() const {
  LayerKinds all(model);
  std::vector<int64_t> layers;
  for (size_t kind = 0; kind < all.size(); ++kind)
    layers.push_back(all.layersOf(kind, 0, layersOf(plan, model)[0]));
  return layers;
}

double CompiledWorkspace::layer(int64_t rank, const RankParameters &held,
                                bool frees, double ofHead) const {
  double most =
      kinds.mostOf(rank, [&](const LayerKind &kind) { return insideOf(kind); });
  double gradients = waiting(held), own = shards(held);
  if (kinds.hasStateSpace()) {
    gradients += packs(rank);
    most = std::max(most, frees ? firstScan(rank, ofHead) : scan(rank, ofHead));
    gradients = besideScans(rank, gradients + own, frees);
    own = 0;
  }
  return most + gradients +
         (plan.zero == 3 ? 2 * bytes[0] * held.layers * double(plan.pp) /
                               double(model.layers)
                         : 0) +
         own;
}

double CompiledWorkspace::wayBack(int64_t rank, const RankParameters &held,
                                  double logits, bool embeds) const {
  double gone = logits, most = 0, shards = 0;
  // Gradients that are whole while they are scattered, with their shards.
  auto scattered = [&](double bytesOfAll) {
    return makesWhole() ? bytesOfAll * (1 + 1 / double(plan.dp * plan.cp)) : 0;
  };
  double beside = logits > 0 ? scattered(headTable) : 0;
  bool isEncoder = false;
  auto look = [&] {
    double table = makesWhole() ? embedding : 0;
    most = std::max(most, table + beside + shards - gone);
  };
  kinds.fromLast(rank, [&](const LayerKind &kind) {
    if (embeds && kind.encoder && !isEncoder)
      look(); // The decoder's tokens.
    isEncoder = kind.encoder;
    auto kept = double(activations.ofLayer(kind));
    double parameters = model.sharedParameters(kind) / double(plan.tp);
    double gradients = bytes[1] * parameters;
    double inside = insideOf(kind) + beside + shards - gone;
    most = std::max({most, inside, inside + scattered(gradients) - kept});
    gone += kept;
    beside = scattered(gradients);
    shards += plan.zero == 1 ? shardOf(parameters) : 0;
  });
  if (embeds)
    look();
  double gathered = plan.zero == 3 ? 2 * bytes[0] * held.layers *
                                         double(plan.pp) / double(model.layers)
                                   : 0;
  return most + gathered;
}

static double sum(const std::vector<double> &parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

double CompiledWorkspace::LayerMatrices::all() const {
  return sum(mixer) + sum(feedForward) + sum(experts);
}

double CompiledWorkspace::LayerMatrices::bucket(double limit) const {
  double bytes = 0;
  for (const std::vector<double> *part : {&mixer, &feedForward, &experts})
    for (double matrix : *part)
      bytes += bytes < limit ? matrix : 0;
  return bytes;
}

CompiledWorkspace::LayerMatrices
CompiledWorkspace::matricesOf(const LayerKind &kind, double element) const {
  LayerMatrices result;
  double tp = double(plan.tp), row = element * double(model.hidden);
  if (model.latent.keyValueRank > 0) {
    double whole = model.latent.wholeParameters(model.hidden);
    double shared = model.attentionParameters() - whole;
    result.mixer.assign(4,
                        element * kind.attention * (whole + shared / tp) / 4);
  } else if (kind.attention > 0) {
    double q = row * double(model.heads * model.headDim) / tp;
    double keys =
        row * std::max(1.0, double(model.kvHeads) / tp) * double(model.headDim);
    result.mixer = {q, keys, keys, q};
  }
  auto count = size_t(model.matrices());
  if (auto width = double(kind.experts ? model.sharedFfn : kind.ffn);
      width > 0) {
    result.feedForward.assign(count, row * width / tp);
    if (model.mlpBiases) // Behind a full bucket one begins with it.
      result.feedForward.push_back(row);
  }
  if (kind.experts)
    result.experts.assign(count, element * model.expertParameters() /
                                     double(plan.ep * plan.expertTensor()) /
                                     double(count));
  return result;
}

double CompiledWorkspace::packedExperts(int64_t rank) const {
  // Shards are contiguous where they are whole experts.
  auto own = std::max<int64_t>(1, model.experts / plan.ep);
  if (plan.zero != 1 || model.experts == 0 ||
      own % std::llround(expertData) == 0)
    return 0;
  double all = 0, one = 0;
  kinds.fromLast(rank, [&](const LayerKind &kind) {
    for (double matrix : matricesOf(kind, bytes[1] * step.trained()).experts) {
      all += matrix;
      one = matrix;
    }
  });
  // What one bucket packs, the next but one packs into.
  auto limit = double(plan.bucketBytes);
  return one == 0 ? 0 : std::min(all, 2 * std::ceil(limit / one) * one);
}

double CompiledWorkspace::scattering(int64_t rank, bool frees, double logits,
                                     bool last, bool first) const {
  double data = double(plan.dp * plan.cp);
  auto limit = double(plan.bucketBytes);
  ScatteredGradients dense(limit, data), experts(limit, expertData);
  double positions = bytes[1] * double(model.positions * model.hidden);
  // Of a split backward it is W that makes them, and what B left is gone last.
  auto left = double(activations.ofWeightGradients(firstStage()));
  double gone = 0, most = 0;
  double shards = packedExperts(rank);
  auto look = [&](double inside) {
    most =
        std::max(most, inside + dense.live() + experts.live() + shards - gone);
  };
  // The last stage goes back at once: B has given up what it alone reads.
  if (splits && last && plan.chunks == 1)
    gone =
        ofOne(rank) - double(activations.ofWeightInputs(kinds.layersOf(rank)));
  if (last) {
    if (makesWhole())
      dense.make(headTable);
    look(3 * stream);
    if (makesWhole())
      dense.deal(std::vector{headTable});
    else if (!model.tied)
      shards += headTable / data;
    if (plan.chunks == 1) // Else another chunk may be computed meanwhile.
      gone += logits;
    else if (model.cappedLogits) // What the cap reads stays as well.
      gone -= double(activations.ofLoss());
  }
  int64_t behind = 0;
  kinds.fromLast(rank, [&](const LayerKind &) { ++behind; });
  kinds.fromLast(rank, [&](const LayerKind &kind) {
    LayerMatrices made = matricesOf(kind, bytes[1] * step.trained());
    LayerMatrices read = matricesOf(kind, plan.zero == 3 ? bytes[0] : 0);
    auto kept = double(activations.ofLayer(kind));
    auto keptByMixer = double(activations.ofLayer(mixerOf(kind)));
    double ahead = --behind > 0 ? read.bucket(limit) : 0;
    if (splits)
      most = std::max(most, insideOf(kind) + read.all() + ahead);
    else
      look(insideOf(kind) + read.all() + ahead);
    if (makesWhole()) {
      dense.make(sum(made.feedForward));
      experts.make(sum(made.experts));
    }
    if (frees)
      gone += kept - keptByMixer;
    look(splits ? 0 : insideOf(mixerOf(kind)) + sum(read.mixer) + ahead);
    if (makesWhole())
      dense.make(sum(made.mixer));
    if (frees)
      gone += keptByMixer;
    look(splits ? 0 : 3 * stream + ahead);
    if (!makesWhole()) {
      shards += (sum(made.mixer) + sum(made.feedForward)) / data +
                sum(made.experts) / expertData;
      return;
    }
    dense.deal(made.mixer);
    dense.deal(made.feedForward);
    experts.deal(made.experts);
  });
  if (first && !makesWhole())
    look(stream + embedding / data);
  if (first && makesWhole()) { // Its own bucket, beside the two before it.
    dense.make(positions);
    dense.deal(std::vector{positions});
    look((splits ? -left : 2 * stream) + embedding * (1 + 1 / data));
  }
  return most;
}

double CompiledWorkspace::insideOf(const LayerKind &kind) const {
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
  double row = activations.ofStream(kind);
  if (kind.encodes > 0) // Its rows are those of neighbours, inside it.
    row = std::max(row, crossShare * row);
  double inside = std::max(rows * row, 1.5 * row + routed);
  if (kind.crosses) // The gradient of what was encoded, and its sum.
    inside += 2 * crossShare * stream;
  return inside + again + activations.ofWidened(kind) +
         activations.ofFrozenInputs(kind);
}

double CompiledWorkspace::scanOf(const LayerKind &kind, bool frees) const {
  if (kind.stateSpace == 0)
    return 0;
  double again = splits ? 0 : double(activations.ofLayerAgain(mixerOf(kind)));
  double inside =
      std::max(activations.ofScanBackward(frees), activations.ofGatheredNorm());
  bool isBeside = plan.pp == 1 || model.stateSpace.groups % plan.tp != 0;
  return (isBeside ? stream : 0) + inside + again;
}

double CompiledWorkspace::scan(int64_t rank, double ofHead) const {
  double most = kinds.mostOf(rank, [&](const LayerKind &kind) {
    return scanOf(kind, /*frees=*/false);
  });
  bool isLast = true;
  kinds.fromLast(rank, [&](const LayerKind &kind) {
    if (isLast && kind.stateSpace > 0)
      most = std::max(most, scanOf(kind, /*frees=*/false) + ofHead);
    isLast = false;
  });
  return most;
}

double CompiledWorkspace::firstScan(int64_t rank, double ofHead) const {
  double most = 0, gone = 0;
  kinds.fromLast(rank, [&](const LayerKind &kind) {
    auto kept = double(activations.ofLayer(kind));
    double mlp = kept - double(activations.ofLayer(mixerOf(kind)));
    double head = gone == 0 && kind.stateSpace > 0 ? ofHead : 0;
    most = std::max(most, scanOf(kind, /*frees=*/true) + head - gone - mlp);
    gone += kept;
  });
  return most;
}

double CompiledWorkspace::packs(int64_t rank) const {
  double whole = kinds.wholeGradients(rank, model, plan.tp);
  double tp = double(plan.tp);
  if (plan.zero == 1) // Beside those of shards().
    return whole * (1 - 1 / tp) / double(plan.dp * plan.cp);
  if (!plan.sequenceParallel || plan.zero != 0 || splits)
    return 0;
  // What one bucket packs, the next but one packs into (exec-bucket-gradients).
  double one = 4 * double(model.hidden * model.stateSpace.inner());
  double ofBucket = std::ceil(double(plan.bucketBytes) / one) * one;
  return std::min(whole, 2 * ofBucket) + whole / tp;
}

double CompiledWorkspace::besideScans(int64_t rank, double gradients,
                                      bool frees) const {
  std::span<const int64_t> layers = kinds.layersOf(rank);
  auto count =
      double(std::accumulate(layers.begin(), layers.end(), int64_t(0)));
  if (!frees || count == 0)
    return gradients;
  double kept = double(activations.ofLayers(layers));
  return std::max(gradients, (gradients - kept) * (count - 1)) / count;
}

double CompiledWorkspace::head(const RankParameters &held) const {
  double rows = plan.tp > 1 && !plan.sequenceParallel ? 4 : 3;
  double own = plan.zero >= 2 ? headTable : 0, capped = cappedLogits();
  if (plan.zero == 3 && headTable == 0) // Its weight is gathered all the same.
    own = headWeight();
  return rows * stream +
         (plan.chunks > 1 ? own + capped : std::max(own, capped)) +
         (plan.chunks > 1 ? waiting(held) + shards(held) : 0);
}

double CompiledWorkspace::cappedLogits() const {
  if (!model.cappedLogits)
    return 0;
  return double(activations.ofLoss()) + (plan.zero == 3 ? headWeight() : 0);
}

double CompiledWorkspace::headWeight() const {
  return bytes[0] * double(model.hidden * model.vocab) / double(plan.tp);
}

double CompiledWorkspace::shards(const RankParameters &held) const {
  if (plan.zero != 1)
    return 0;
  return shardOf(plan.chunks > 1 ? held.all() : held.layers);
}

double CompiledWorkspace::copies(const RankParameters &held) const {
  double data = double(plan.dp * plan.cp);
  if (plan.zero == 1)
    return embedding * (1 + 1 / data) + shardOf(held.layers);
  return (data > 1 ? 2 : 1) * embedding;
}

double CompiledWorkspace::evaluation(const PipelineShape &shape,
                                     int64_t rank) const {
  double rows = 0;
  for (int64_t stage = 0; stage < plan.stages(); ++stage) {
    if (shape.rankOf(stage) != rank)
      continue;
    if (stage + 1 < plan.stages())
      rows += streams[size_t(stage)];
    if (stage > 0)
      rows += streams[size_t(stage - 1)];
  }
  return double(activations.ofLogits()) + stream + rows * shard;
}

double CompiledWorkspace::transfers(const PipelineShape &shape,
                                    int64_t rank) const {
  double rows = 0;
  for (int64_t stage = 0; plan.pp > 1 && stage < plan.stages(); ++stage) {
    if (shape.rankOf(stage) != rank)
      continue;
    bool isLast = stage + 1 == plan.stages();
    if (!isLast)
      rows += (stage > 0 ? 3 : 4) * streams[size_t(stage)];
    if (stage > 0)
      rows += (plan.chunks > 1 ? 2 : 1) * streams[size_t(stage - 1)];
  }
  return rows * shard;
}
