//===- ActivationBytes.cpp - What a layer keeps for its backward ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ActivationBytes.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

ActivationBytes::ActivationBytes(const ModelShape &model, const StepShape &step,
                                 const ParallelPlan &plan, bool fused,
                                 bool compiled)
    : model(model), kinds(model), step(step), plan(plan), fused(fused),
      compiled(compiled), again(plan.modulesAgain(compiled)),
      tokens(double(plan.microBatch) * double(step.sequence) / double(plan.cp)),
      tp(double(plan.tp)), whole(plan.sequenceParallel ? tokens / tp : tokens),
      element(step.elementBits == 32 ? 4 : 2) {
  sent = held = tokens * double(model.topK) / tp;
  if (!compiled || model.experts == 0)
    return;
  // Ranks that share an expert have the rows of all their tokens.
  expertTp = double(plan.expertTensor());
  double own = tokens * expertTp / tp;
  sent = held =
      own * double(model.topK) * (model.capacity > 0 ? model.capacity : 1);
  if (plan.ep > 1 && model.capacity == 0)
    held = double(
        plan::expertRowsBound({model.experts, model.topK, model.rowsBound},
                              plan.ep, std::llround(own)));
}

/// Elements of queries, keys, values and what is made of them; with latent
/// attention the small vectors too.
double ActivationBytes::headsOfToken() const {
  const LatentAttention &latent = model.latent;
  if (latent.keyValueRank > 0)
    return 2 * double(model.heads) / tp *
               double(latent.plainDim + latent.rotaryDim + latent.valueDim) +
           double(latent.queryRank + latent.keyValueRank);
  double q = double(model.heads * model.headDim) / tp;
  // Ranks that share a key head keep it of their own tokens.
  bool areShared = compiled && plan.sequenceParallel && model.kvHeads < plan.tp;
  double keys =
      areShared ? double(model.kvHeads * model.headDim) / tp : keysOfToken();
  return 2 * q + 2 * keys;
}

double ActivationBytes::keysOfToken() const {
  return std::max(1.0, double(model.kvHeads) / tp) * double(model.headDim);
}

/// Of a Mamba-2 block: the norm's input and the GEMM's; what that makes, and
/// the same of it convolved; y, and y with its norm. Programs keep what is
/// convolved before its activation too, and what the gated norm reads.
double ActivationBytes::stateSpace() const {
  const StateSpace &shape = model.stateSpace;
  double rows = whole * double(model.hidden) * 2 * element;
  if (!compiled) {
    double made = double(2 * shape.channels() + shape.heads);
    return rows + tokens * element / tp * (made + 3 * double(shape.inner()));
  }
  double inner = double(shape.inner()) / tp;
  double made = 3 * shape.localChannels(plan.tp) + double(shape.heads) / tp;
  double gateAndNorm = (shape.normGroups > 1 ? 4 : 3) * inner + gatedWidth();
  return rows + tokens * element * (made + gateAndNorm);
}

/// Of a token what the gated norm reads: of its groups all.
double ActivationBytes::gatedWidth() const {
  const StateSpace &shape = model.stateSpace;
  double groups = std::max(1.0, double(shape.normGroups) / tp);
  return groups * double(shape.inner()) / double(shape.normGroups);
}

/// Of a Mamba-2 block what modules make again, but for inputs of GEMMs: the
/// scan's result; what is convolved, and that with its activation; the gate's
/// product and, as of an MLP, its first GEMM. Programs alone have any.
double ActivationBytes::stateSpaceAgain() const {
  if (!compiled)
    return 0;
  const StateSpace &shape = model.stateSpace;
  double channels = shape.localChannels(plan.tp), elements = 0;
  double inner = double(shape.inner()) / tp;
  if (again.has(RecomputeModule::CoreAttention))
    elements += inner;
  if (again.has(RecomputeModule::Pointwise))
    elements += channels;
  if (again.has(RecomputeModule::Activation))
    elements += channels;
  if (again.intersects({RecomputeModule::Activation, RecomputeModule::Mlp}))
    elements += gatedWidth();
  if (again.has(RecomputeModule::Mlp))
    elements += inner;
  if (shape.normGroups > 1 && again.has(RecomputeModule::LayerNorm))
    elements += inner;
  return tokens * element * elements;
}

/// The same of its last GEMM's input, which is a norm's result or, where the
/// norm has groups, that times a weight.
double ActivationBytes::normedAgain() const {
  RecomputeModule made = model.stateSpace.normGroups > 1
                             ? RecomputeModule::Pointwise
                             : RecomputeModule::LayerNorm;
  return compiled && again.has(made)
             ? tokens * element * double(model.stateSpace.inner()) / tp
             : 0;
}

/// The norm's input, the GEMMs' input, query, key, value, the projection's
/// input and a mask of dropout; scores, their softmax and its mask.
double ActivationBytes::attention(Recompute recompute) const {
  double rows = whole * double(model.hidden) * (2 * element + mask());
  double heads = tokens * element * headsOfToken();
  bool scoresAgain = recompute == Recompute::Selective &&
                     again.has(RecomputeModule::CoreAttention);
  if (fused || scoresAgain)
    return rows + heads;
  double scores = tokens * double(step.sequence) * double(model.heads) / tp;
  return rows + heads + scores * (2 * element + 1);
}

/// The same of attention to the encoder's tokens, of which there are the keys
/// and values.
double ActivationBytes::crossAttention() const {
  double rows = whole * double(model.hidden) * (2 * element + mask());
  double q = double(model.heads * model.headDim) / tp;
  return rows +
         tokens * element * (2 * q + step.crossShare() * 2 * keysOfToken());
}

/// The norm's and the first GEMM's input, a mask; what the activation reads
/// and writes.
double ActivationBytes::mlp(double width) const {
  double rows = whole * double(model.hidden) * (2 * element + mask());
  double wide = model.gated ? 3 : 2;
  return rows + tokens * element * wide * width / tp;
}

/// Of rows that go to experts: where their tokens are, and what has been
/// computed of them where the experts are.
double ActivationBytes::routed() const {
  double wide = model.gated ? 3 : 2;
  auto width = double(model.expertWidth());
  return element *
             (sent * width +
              held * (width + wide * double(model.expertFfn) / expertTp)) +
         choice();
}

/// What a router reads, where that is not the norm's result that shared experts
/// read, but it with noise. Without them one of the two is kept as well.
double ActivationBytes::jittered(Recompute recompute) const {
  bool isAgain = recompute == Recompute::Selective &&
                 again.has(RecomputeModule::Pointwise);
  if (!model.inputJitter || model.sharedFfn == 0 || isAgain)
    return 0;
  return whole * double(model.hidden) * element;
}

/// The router's scores; of each choice the expert, the weight and the row.
double ActivationBytes::choice() const {
  if (!compiled)
    return 0;
  return whole * (4 * double(model.experts) + 12 * double(model.topK));
}

/// What is kept of an element of a GEMM's input that nothing else reads: in
/// blocks of 8 bits its code, and its share of the scale.
double ActivationBytes::input() const {
  return compiled && step.block > 0 ? code() : element;
}

double ActivationBytes::code() const {
  return step.block > 0 ? 1 + 4 / double(step.block) : 0;
}

/// In blocks of 8 bits: what the codes of norms' and activations' results are
/// less than these, but for those of attention's result, and of what experts
/// read, which are kept beside it.
double ActivationBytes::blockedInputs(const LayerKind &kind) const {
  double row = whole * double(model.hidden);
  double heads = tokens * double(model.heads * model.headDim) / tp;
  double inside = tokens * denseWidth(kind) / tp;
  double less = (element - code()) * (row + inside) - code() * heads;
  if (!kind.experts)
    return less + (element - code()) * row;
  return model.sharedFfn > 0 ? less - code() * row : less;
}

/// Of GEMMs' inputs published systems keep the 8 bits that these had: what that
/// is less.
double ActivationBytes::narrowInputs(const LayerKind &kind) const {
  if (compiled && step.block > 0)
    return blockedInputs(kind);
  if (compiled || step.elementBits != 8)
    return 0;
  double rows = 2 * whole * double(model.hidden);
  double inside = tokens * denseWidth(kind) / tp;
  double chosen = kind.experts ? sent : 0;
  return (element - 1) *
         (rows + inside +
          chosen * double(model.expertWidth() + model.expertFfn));
}

/// The inputs of norms that stand elsewhere than before a block: what blocks
/// make, where a norm before them keeps the stream as well; queries and keys,
/// unless they are normalised and rotated again.
double ActivationBytes::furtherNorms(const LayerKind &kind,
                                     Recompute recompute) const {
  double elements = 0;
  if (model.resultNorms && model.inputNorms)
    elements += whole * double(model.hidden) * blocksOf(kind);
  bool headsAgain = recompute == Recompute::Selective &&
                    again.has(RecomputeModule::LayerNorm) &&
                    again.has(RecomputeModule::Pointwise);
  // The stream behind a layer, of that before its last block.
  if (compiled && headsAgain && model.resultNorms && model.inputNorms)
    elements -= whole * double(model.hidden);
  // The stream between the branches is not there, nor is a second norm.
  bool isParallel = model.parallelBranches && hasTwoBranches(kind);
  if (isParallel)
    elements -= whole * double(model.hidden);
  double bytes =
      isParallel && model.oneNorm ? -input() * whole * double(model.hidden) : 0;
  if (model.headNorms && !headsAgain)
    elements +=
        kind.attention * tokens * double(model.headDim) *
        (double(model.heads) / tp + std::max(1.0, double(model.kvHeads) / tp));
  return element * elements + bytes;
}

double ActivationBytes::kept(const LayerKind &kind, Recompute recompute) const {
  double bytes = step.shareOf(kind) * keptOfTokens(kind, recompute);
  if (kind.encodes > 0 && recompute == Recompute::Full) // What it encodes.
    return bytes + step.crossShare() * whole * double(model.hidden) * element;
  return bytes + ofRetriever(kind, [&](auto &inside, const LayerKind &layer) {
           return inside.kept(layer, recompute);
         });
}

double ActivationBytes::keptOfTokens(const LayerKind &kind,
                                     Recompute recompute) const {
  if (recompute == Recompute::Full)
    return whole * double(model.hidden) * element;
  double bytes = 0;
  if (kind.attention > 0)
    bytes += kind.attention * attention(recompute);
  if (kind.crosses)
    bytes += crossAttention();
  if (kind.stateSpace > 0)
    bytes += kind.stateSpace * stateSpace();
  if (kind.experts)
    bytes += mlp(double(model.sharedFfn)) + routed() + jittered(recompute);
  else if (kind.ffn > 0)
    bytes += mlp(double(kind.ffn));
  bytes += furtherNorms(kind, recompute) - narrowInputs(kind);
  bool isSelective = recompute == Recompute::Selective;
  RecomputeModules gone = isSelective ? again : RecomputeModules();
  if (isFrozen()) { // What nothing but weights' gradients reads.
    gone.add(RecomputeModule::LayerNorm);
    gone.add(RecomputeModule::Activation);
  }
  bytes -= inputsOf(gone, kind);
  bool makesMlp = isSelective && again.has(RecomputeModule::Mlp) &&
                  !again.has(RecomputeModule::LayerNorm);
  if (isFrozen() && makesMlp && kind.ffn > 0)
    bytes += whole * double(model.hidden) * element;
  if (!isSelective)
    return bytes;
  bytes -= firstGemmsAgain(kind);
  if (kind.stateSpace > 0)
    bytes -= kind.stateSpace * stateSpaceAgain();
  return bytes;
}

/// Of the inputs of GEMMs, what is computed again: norms' results, the
/// activation's and, in compiled programs, attention's.
double ActivationBytes::inputsOf(RecomputeModules modules,
                                 const LayerKind &kind) const {
  RecomputeModule dense =
      kind.experts ? RecomputeModule::SharedExperts : RecomputeModule::Mlp;
  double elements = 0, bytes = 0;
  // What a norm behind a block makes is added and gone.
  if (modules.has(RecomputeModule::LayerNorm) && model.inputNorms) {
    double norms = kind.experts ? blocksOf(kind) : normsOf(kind);
    bytes +=
        (kind.experts ? (norms - 1) * input() + element : norms * input()) *
        whole * double(model.hidden);
  }
  if (compiled && modules.has(RecomputeModule::CoreAttention))
    bytes += (kind.attention + (kind.crosses ? 1 : 0)) * (element + code()) *
             tokens * double(model.heads * model.headDim) / tp;
  if (kind.stateSpace > 0)
    bytes += kind.stateSpace * normedAgain();
  if (modules.intersects({RecomputeModule::Activation, dense}))
    bytes += input() * tokens * denseWidth(kind) / tp;
  if (kind.experts && modules.intersects({RecomputeModule::Activation,
                                          RecomputeModule::MoeActivation,
                                          RecomputeModule::Moe}))
    elements += held * double(model.expertFfn) / expertTp;
  if (modules.has(RecomputeModule::Pointwise))
    bytes += orderedRows(kind);
  return bytes + element * elements;
}

/// Rows of a rank's own experts, in their order. Those that were exchanged are
/// not made again.
double ActivationBytes::orderedRows(const LayerKind &kind) const {
  return compiled && kind.experts && plan.ep == 1
             ? element * held * double(model.expertWidth())
             : 0;
}

/// What an MLP's first GEMMs make, where they are computed again.
double ActivationBytes::firstGemmsAgain(const LayerKind &kind) const {
  RecomputeModule dense =
      kind.experts ? RecomputeModule::SharedExperts : RecomputeModule::Mlp;
  double elements = 0;
  if (again.has(dense))
    elements += tokens * denseWidth(kind) / tp;
  if (kind.experts && again.has(RecomputeModule::Moe))
    elements += held * double(model.expertFfn) / expertTp;
  return element * (model.gated ? 2 : 1) * elements;
}

/// With layers that attend to it, what the encoder made.
int64_t ActivationBytes::ofLayers(std::span<const int64_t> layers) const {
  bool crosses = false;
  double sum = sumOf(layers, [&](auto &kind) {
    crosses |= kind.crosses;
    return kept(kind, plan.recompute);
  });
  double encoded = whole * double(model.hidden) * element * step.crossShare();
  return std::llround(sum + (crosses ? encoded : 0));
}

int64_t ActivationBytes::ofLayer(const LayerKind &kind) const {
  return std::llround(kept(kind, plan.recompute));
}

int64_t ActivationBytes::ofWeightInputs(std::span<const int64_t> layers) const {
  if (plan.recompute == Recompute::Full || isFrozen())
    return 0;
  return weightInputs(layers) - ofInputsAgain(layers) + ofPlacesLent(layers);
}

/// What is kept to W in place of what B would leave for it. Of an MLP's first
/// GEMMs: with a gate there are two gradients, one of which stands in the place
/// of what B was given; and with the activation again the second GEMM's input
/// does. A norm that is made again is made in W, of its input.
int64_t ActivationBytes::ofPlacesLent(std::span<const int64_t> layers) const {
  if (plan.recompute == Recompute::Full)
    return 0;
  bool isSelective = plan.recompute == Recompute::Selective;
  auto isAgain = [&](RecomputeModules modules) {
    return isSelective && again.intersects(modules);
  };
  double ofGate = model.gated ? 1 : 0;
  auto lent = [&](RecomputeModule gemm, RecomputeModules activation) {
    return isAgain({gemm}) ? 0 : ofGate + (isAgain(activation) ? 1 : 0);
  };
  using enum RecomputeModule;
  return std::llround(
      element * sumOf(layers, [&](const LayerKind &kind) {
        double wide = step.shareOf(kind) * tokens * denseWidth(kind) / tp *
                      lent(kind.experts ? SharedExperts : Mlp, {Activation});
        if (kind.experts)
          wide += held * double(model.expertFfn) / expertTp *
                  lent(Moe, {Activation, MoeActivation});
        if (isAgain({LayerNorm}) && model.inputNorms)
          wide +=
              step.shareOf(kind) * normsOf(kind) * whole * double(model.hidden);
        return wide;
      }));
}

int64_t ActivationBytes::ofInputsAgain(std::span<const int64_t> layers) const {
  return std::llround(sumOf(layers, [&](auto &kind) {
    return step.shareOf(kind) * inputsAgain(kind) +
           ofRetriever(kind, [&](auto &inside, const LayerKind &layer) {
             return inside.inputsAgain(layer);
           });
  }));
}

/// The inputs of GEMMs: norms, attention's result or a scan's, the
/// activation's.
int64_t ActivationBytes::weightInputs(std::span<const int64_t> layers) const {
  double sum = sumOf(
      layers, [&](const LayerKind &kind) { return weightInputsOf(kind); });
  return std::llround(element * sum);
}

double ActivationBytes::weightInputsOf(const LayerKind &kind) const {
  double q = double(model.heads * model.headDim) / tp;
  double inner = double(model.stateSpace.inner()) / tp;
  double norms = normsOf(kind);
  double blocks = kind.attention + (kind.crosses ? 1 : 0);
  double mixers = blocks * (tokens * q) + kind.stateSpace * (tokens * inner);
  double own = norms * whole * double(model.hidden) + mixers;
  double inside = ofRetriever(kind, [](auto &within, const LayerKind &layer) {
    return within.weightInputsOf(layer);
  });
  if (!kind.experts)
    return step.shareOf(kind) * (own + tokens * double(kind.ffn) / tp) + inside;
  double routed =
      held * (double(model.hidden) + double(model.expertFfn) / expertTp) +
      tokens * double(model.sharedFfn) / tp;
  return own + routed;
}

/// Of what GEMMs make; of those that end on the stream, gathered.
int64_t
ActivationBytes::ofWeightGradients(std::span<const int64_t> layers) const {
  if (isFrozen())
    return 0;
  double sum = element * sumOf(layers, [&](const LayerKind &kind) {
                 return weightGradientsOf(kind);
               });
  // What the backward pass made again lives as long.
  if (plan.recompute == Recompute::Full)
    sum += double(weightInputs(layers)) + gatheredAgain(layers);
  // W puts rows in order for itself.
  bool ordersAgain = plan.recompute == Recompute::Selective &&
                     again.has(RecomputeModule::Pointwise);
  double ordered = sumOf(layers, [&](const LayerKind &kind) {
    return ordersAgain ? orderedRows(kind) : 0;
  });
  return std::llround(sum - ordered) + ofInputsAgain(layers) -
         ofPlacesLent(layers);
}

/// Of norms that the backward pass makes again, what tensor ranks gather for
/// the GEMMs behind them, beside their own rows: B leaves all to W.
double ActivationBytes::gatheredAgain(std::span<const int64_t> layers) const {
  if (!compiled)
    return 0;
  return element * sumOf(layers, [&](const LayerKind &kind) {
           double norms = kind.experts ? normsOf(kind) - 1 : normsOf(kind);
           return step.shareOf(kind) * norms * (tokens - whole) *
                  double(model.hidden);
         });
}

double ActivationBytes::weightGradientsOf(const LayerKind &kind) const {
  double q = double(model.heads * model.headDim) / tp, kv = keysOfToken();
  double wide = model.gated ? 2 : 1, row = double(model.hidden);
  const StateSpace &scans = model.stateSpace;
  double scanned =
      scans.localChannels(plan.tp) + double(scans.inner() + scans.heads) / tp;
  double own = kind.attention * (tokens * (q + 2 * kv + row)) +
               kind.stateSpace * (tokens * (scanned + row));
  double ffn = tokens * (row + wide * double(kind.ffn) / tp);
  double routed = held * (row + wide * double(model.expertFfn) / expertTp);
  if (kind.crosses)
    own += tokens * (q + step.crossShare() * 2 * kv + row);
  double inside = ofRetriever(kind, [](auto &within, const LayerKind &layer) {
    return within.weightGradientsOf(layer);
  });
  return step.shareOf(kind) * (own + (kind.experts   ? routed
                                      : kind.ffn > 0 ? ffn
                                                     : 0)) +
         inside;
}

int64_t ActivationBytes::ofLayerAgain(const LayerKind &kind) const {
  if (plan.recompute == Recompute::None)
    return 0;
  return std::llround(kept(kind, Recompute::None) - kept(kind, plan.recompute));
}

double ActivationBytes::ofRoutedBackward(const LayerKind &kind) const {
  if (!kind.experts)
    return 0;
  double row = double(model.hidden),
         inside = double(model.expertFfn) / expertTp;
  double most = row + inside;
  if (model.gated)
    most = std::max(most, 2 * (row - inside));
  return element * (held * most - sent * row);
}

double ActivationBytes::ofScanBackward(bool frees) const {
  const StateSpace &shape = model.stateSpace;
  double inner = double(shape.inner()) / tp;
  bool hasGroups = shape.normGroups > 1;
  double maps = shape.localChannels(plan.tp) - inner;
  // Parts of a gathered norm's gradient do not take the place of the gate.
  bool isApart = hasGroups || (!frees && shape.gathersNorm(plan.tp));
  double elements = maps + double(shape.heads) / tp + (isApart ? 2 : 1) * inner;
  bool all = frees || plan.recompute == Recompute::Full;
  auto give = [&](RecomputeModules makers, double width) {
    if (all || again.intersects(makers))
      elements -= width;
  };
  give({RecomputeModule::Activation, RecomputeModule::Mlp}, gatedWidth());
  give({RecomputeModule::LayerNorm}, inner);
  if (hasGroups) {
    give({RecomputeModule::Pointwise}, inner);
    give({RecomputeModule::CoreAttention}, inner);
  }
  return tokens * (4 * shape.gradientWorkspace() / tp + element * elements);
}

double ActivationBytes::ofGatheredNorm() const {
  if (!model.stateSpace.gathersNorm(plan.tp))
    return 0;
  double wide = plan.recompute == Recompute::Full ? 3 : 2;
  return tokens * element * wide * double(model.stateSpace.inner());
}

double ActivationBytes::ofFrozenInputs(const LayerKind &kind) const {
  return isFrozen() ? inputsOf({RecomputeModule::LayerNorm,
                                RecomputeModule::Activation},
                               kind)
                    : 0;
}

double ActivationBytes::ofWidened(const LayerKind &kind) const {
  if (!compiled || step.block == 0)
    return 0;
  double row = double(model.hidden), inside = denseWidth(kind) / tp;
  inside = std::max(inside, double(model.heads * model.headDim) / tp);
  double most = tokens * (row + inside) + row * inside;
  if (kind.experts) {
    double ffn = double(model.expertFfn) / expertTp;
    double local = double(model.experts) / double(plan.ep);
    most = std::max(most, held * (row + ffn) + local * row * ffn);
  }
  return element * most;
}

double ActivationBytes::logits() const {
  return tokens * model.headColumns() / (model.classes > 0 ? 1 : tp);
}

int64_t ActivationBytes::ofLogits() const {
  return std::llround(logits() * element);
}

int64_t ActivationBytes::ofLoss() const {
  double rows = whole * double(model.hidden) * 2 * element;
  double ofChunk = logits() / double(plan.lossChunks);
  if (compiled)
    return std::llround(ofChunk * element);
  return std::llround(rows + ofChunk * (element + 4));
}
