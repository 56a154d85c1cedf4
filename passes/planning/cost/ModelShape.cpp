//===- ModelShape.cpp - The sizes that a price depends on -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ModelShape.h"

#include "base/ScanFlops.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

double StateSpace::localChannels(int64_t tp) const {
  double local = std::max(1.0, double(groups) / double(tp));
  return double(inner()) / double(tp) + 2 * local * double(state);
}

double StateSpace::parameters(int64_t hidden) const {
  double in = double(2 * inner() + 2 * groups * state + heads);
  // The convolution with its bias, three numbers a head, the gated norm.
  double small = double((convolution + 1) * channels() + 3 * heads + inner());
  return double(hidden) * (in + double(inner())) + small;
}

double StateSpace::sharedParameters(int64_t hidden, int64_t tp) const {
  double more = localChannels(tp) - double(channels()) / double(tp);
  return more * double(hidden + convolution + 1);
}

double StateSpace::scanFlops() const {
  double square = double(chunk) * double(groups * state + inner());
  return 2 * square + 4 * double(inner() * state);
}

double StateSpace::recurrenceFlops() const {
  return kScanFlops * double(inner() * state);
}

double StateSpace::recurrenceGradientFlops() const {
  return (kScanFlops + kScanBackFlops) * double(inner() * state);
}

/// Of each head its part of the maps' gradients, and three numbers.
double StateSpace::gradientWorkspace() const {
  return double(heads * (2 * state + 3));
}

double VisionShape::layerParameters() const {
  double h = double(hidden), inner = double(ffn);
  return 4 * h * h + 2 * h * inner + 9 * h + inner; // Biases and two norms.
}

double VisionShape::towerParameters(int64_t tp) const {
  if (layers == 0)
    return 0;
  double h = double(hidden);
  // Those of patches and rows, the class and two norms are whole.
  double ends = h * double(patch + rows + 5);
  return double(layers + unread) * layerParameters() / double(tp) + ends;
}

double VisionShape::projectorParameters(int64_t modelHidden, int64_t tp) const {
  double out = double(modelHidden);
  return layers == 0 ? 0 : out * double(hidden + modelHidden + 2) / double(tp);
}

double VisionShape::trainedParameters(int64_t modelHidden, int64_t tp) const {
  double kept = double(unread) * layerParameters() / double(tp);
  return towerTrained() * (towerParameters(tp) - kept) +
         projectorTrained() * projectorParameters(modelHidden, tp);
}

double VisionShape::flops(int64_t modelHidden) const {
  if (layers == 0)
    return 0;
  double h = double(hidden), out = double(modelHidden);
  double each = double(images * rows);
  // Of every image all of the square.
  double ofLayer = 2 * (4 * h * h + 2 * h * double(ffn)),
         scores = 4 * double(rows) * h;
  double goesBack = towerPerMillion > 0 ? 1 : 0;
  double tower = double(layers) * (ofLayer * (1 + goesBack + towerTrained()) +
                                   scores * (1 + 2 * goesBack)) +
                 2 * h * double(patch) * (1 + towerTrained());
  double projector =
      2 * out * h * (1 + goesBack + projectorTrained()) +
      2 * out * out * (1 + (hasBackward() ? 1 : 0) + projectorTrained());
  return each * (tower + projector);
}

double ModelShape::scoreWidth() const {
  if (latent.keyValueRank == 0)
    return double(heads * headDim);
  return double(heads *
                (latent.plainDim + latent.rotaryDim + latent.valueDim)) /
         2;
}

double ModelShape::attentionParameters() const {
  double h = double(hidden), n = double(heads);
  if (latent.keyValueRank > 0) {
    double q = double(latent.queryRank), kv = double(latent.keyValueRank);
    double plain = double(latent.plainDim), rotary = double(latent.rotaryDim),
           value = double(latent.valueDim);
    // Queries of the token itself have one matrix.
    double queries = n * (plain + rotary) * (q > 0 ? q : h);
    return h * q + queries + h * (kv + rotary) + kv * n * (plain + value) +
           n * value * h;
  }
  double q = double(heads * headDim), kv = double(kvHeads * headDim);
  return h * (q + 2 * kv) + q * h;
}

/// Matrices to and from the width that experts work on.
static double latentParameters(const ModelShape &model) {
  return 2 * double(model.hidden) * double(model.expertLatent);
}

double ModelShape::sharedParameters(const LayerKind &kind) const {
  double h = double(hidden);
  double crossing = kind.crosses ? 1 : 0;
  double mixers = (kind.attention + crossing) * attentionParameters() +
                  kind.stateSpace * stateSpace.parameters(hidden);
  double blocks = crossing + (kind.hasFeedForward() ? 1 : 0);
  double norms = h * (blocks + kind.attention + kind.stateSpace);
  double mlp = kind.experts ? h * double(sharedFfn) * double(matrices()) +
                                  h * double(experts) + latentParameters(*this)
                            : h * double(kind.ffn) * double(matrices());
  double inside = 0;
  for (int64_t layer = 0; layer < kind.encodes; ++layer)
    inside += sharedParameters(kindOfRetriever({}, kind, layer));
  return mixers + mlp + norms + inside;
}

double ModelShape::expertParameters() const {
  return double(experts) * double(expertWidth()) * double(expertFfn) *
         double(matrices());
}

double ModelShape::embeddingParameters() const {
  return double(hidden) * double(vocab + positions);
}

double ModelShape::headColumns() const {
  return classes > 0 ? double(hidden + classes) : double(vocab);
}

double ModelShape::headParameters() const {
  return double(hidden) * (tied ? 1 : headColumns() + 1);
}

double ModelShape::parameters() const {
  LayerKinds kinds(*this);
  double sum = double(predicted * 2 * hidden * hidden) + embeddingParameters() +
               headParameters() + vision.towerParameters(1) +
               vision.projectorParameters(hidden, 1);
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    double each = sharedParameters(kinds[kind]);
    if (kinds[kind].experts)
      each += expertParameters();
    sum += double(kinds.layersOf(kind)) * each;
  }
  return sum;
}

StepShape planning::stepOfRetriever(const StepShape &step) {
  StepShape own = step;
  own.sequence = own.encoderSequence = step.neighborTokens;
  own.neighborTokens = step.sequence;
  own.neighborSpan = step.chunk;
  return own;
}

LayerKind planning::kindOfRetriever(const StepShape &step,
                                    const LayerKind &kind, int64_t layer) {
  LayerKind own;
  own.ffn = kind.ffn;
  own.encoder = true;
  own.window = step.retrieved; // A neighbour sees itself.
  own.windowShare = 1;
  own.crosses = layer == 0;
  return own;
}

void ModelShape::addLayers(const LayerKind &kind, int64_t count) {
  auto found = std::ranges::find(kinds, kind);
  kindOf.insert(kindOf.end(), size_t(count), uint32_t(found - kinds.begin()));
  if (found == kinds.end())
    kinds.push_back(kind);
}

LayerKinds::LayerKinds(const ModelShape &model) : model(model) {
  if (!model.kinds.empty())
    return;
  LayerKind &dense = own[0];
  double layers = double(model.layers);
  if (model.attentionBlocks)
    dense.attention = double(model.attentionBlocks) / layers;
  dense.stateSpace = double(model.stateSpace.blocks) / layers;
  dense.window = model.window;
  double blocks =
      model.attentionBlocks ? double(model.attentionBlocks) : layers;
  if (model.window > 0)
    dense.windowShare =
        model.windowBlocks ? double(model.windowBlocks) / blocks : 1;
  dense.ffn = model.ffn;
  if (model.experts == 0)
    return;
  count = 2;
  own[1] = dense;
  own[1].ffn = 0;
  own[1].experts = true;
}

int64_t LayerKinds::layersOf(size_t kind, int64_t first, int64_t end) const {
  if (size() == 1)
    return end - first;
  if (!model.kinds.empty())
    return std::count(model.kindOf.begin() + first, model.kindOf.begin() + end,
                      uint32_t(kind));
  int64_t experts =
      std::max<int64_t>(0, end - std::max(first, model.denseLayers));
  return kind == 1 ? experts : end - first - experts;
}

bool LayerKinds::hasStateSpace() const {
  return std::ranges::any_of(
      all(), [](const LayerKind &kind) { return kind.stateSpace > 0; });
}

int64_t LayerKinds::encoderLayers() const {
  int64_t count = 0;
  for (size_t kind = 0; kind < size(); ++kind)
    count += all()[kind].encoder ? layersOf(kind) : 0;
  return count;
}

/// The mean over a kind's attention blocks of the tokens that one sees, before
/// the half that is not causal is left out.
static double meanSpan(const LayerKind &kind, const StepShape &step) {
  double all = double(step.sequenceOf(kind)), share = kind.windowShare;
  return (1 - share) * all + share * std::min(double(kind.window), all);
}

/// Numbers that a token of the encoder is multiplied with in each layer that
/// attends to it: keys and values.
static double crossKeyParameters(const ModelShape &model) {
  return double(model.hidden) * double(2 * model.kvHeads * model.headDim);
}

/// Numbers of a layer that each token is multiplied with.
static double gemmParameters(const ModelShape &model, const LayerKind &kind) {
  double h = double(model.hidden), f = double(model.matrices());
  const StateSpace &scans = model.stateSpace;
  double each = double(model.expertWidth() * model.topK * model.expertFfn) +
                h * double(model.sharedFfn);
  double experts =
      f * each + h * double(model.experts) + latentParameters(model);
  return kind.attention * model.attentionParameters() +
         kind.stateSpace * h *
             double(3 * scans.inner() + 2 * scans.groups * scans.state +
                    scans.heads) +
         (kind.experts ? experts : f * h * double(kind.ffn));
}

namespace {
/// Of a token: numbers that it is multiplied with, tokens that it sees, and
/// layers that scan.
struct TokenWork {
  double gemms = 0, scores = 0, scans = 0;

  void add(const TokenWork &other, double times) {
    gemms += times * other.gemms;
    scores += times * other.scores;
    scans += times * other.scans;
  }
};
} // namespace

/// Of a token of `step.sequence`, what one layer takes.
static TokenWork workOf(const ModelShape &model, const StepShape &step,
                        const LayerKind &kind, double square) {
  double share = step.shareOf(kind);
  // An encoder's tokens see all of its square, which others' causal half is
  // counted in.
  double all = kind.encoder ? 12 / square : 1;
  TokenWork work{share * gemmParameters(model, kind),
                 all * share * kind.attention * meanSpan(kind, step),
                 kind.stateSpace};
  if (kind.crosses) {
    double keys = crossKeyParameters(model);
    work.gemms += model.attentionParameters() - keys + step.crossShare() * keys;
    work.scores += 12 / square * double(step.crossSpan());
  }
  const StepShape inside = stepOfRetriever(step);
  for (int64_t layer = 0; layer < kind.encodes; ++layer)
    work.add(workOf(model, inside, kindOfRetriever(step, kind, layer), square),
             step.crossShare());
  return work;
}

static double flops(const ModelShape &model, const StepShape &step,
                    double square) {
  double h = double(model.hidden), tokens = step.tokens();
  double predicted = double(model.predicted);
  TokenWork work{predicted * 2 * h * h +
                 (1 + predicted) * h * model.headColumns()};
  LayerKinds kinds(model);
  for (size_t i = 0; i < kinds.size(); ++i)
    work.add(workOf(model, step, kinds[i], square), double(kinds.layersOf(i)));
  const StateSpace &scans = model.stateSpace;
  return (4 + 2 * step.trained()) * tokens * work.gemms +
         square * tokens * work.scores * model.scoreWidth() +
         3 * kModelScanFlops * tokens * work.scans *
             double(scans.inner() * scans.state) +
         double(step.globalBatch) * model.vision.flops(model.hidden);
}

double planning::modelFlops(const ModelShape &model, const StepShape &step) {
  return flops(model, step, model.bidirectional ? 12 : 6);
}

double planning::modelFlopsFullSquare(const ModelShape &model,
                                      const StepShape &step) {
  return flops(model, step, 12);
}

Status planning::checkShapes(const ModelShape &model, const StepShape &step) {
  constexpr int64_t most = int64_t(1) << 31;
  for (int64_t size :
       {model.layers, model.hidden, model.heads, model.kvHeads, model.headDim,
        model.ffn, model.vocab, step.sequence, step.globalBatch})
    if (size < 1 || size > most)
      return invalidArgument(
          "the model's layers, hidden size, heads, ffn and vocabulary, the "
          "sequence and the batch are numbers from 1 to 2^31");
  if (model.experts < 0 || model.experts > most ||
      (model.experts > 0 && (model.topK < 1 || model.topK > model.experts ||
                             model.expertFfn < 1 || model.expertFfn > most)))
    return invalidArgument("a token goes through at least one expert and at "
                           "most all of them");
  if (model.heads % model.kvHeads != 0)
    return invalidArgument("key/value heads divide the query heads");
  bool retrieves = step.neighborTokens > 0;
  bool isEncoder = std::ranges::any_of(model.kinds, [&](const LayerKind &kind) {
    return kind.encoder || (kind.crosses && !retrieves);
  });
  if (retrieves &&
      (std::min({step.chunk, step.retrieved, step.neighborSpan}) < 1 ||
       std::max({step.chunk, step.retrieved, step.neighborSpan,
                 step.neighborTokens}) > most))
    return invalidArgument("chunks and their neighbours have 1 to 2^31 tokens");
  if (!retrieves && std::ranges::any_of(model.kinds, [](const LayerKind &kind) {
        return kind.encodes > 0;
      }))
    return invalidArgument("a layer encodes neighbours, and there are none");
  if (step.encoderSequence < 0 || step.encoderSequence > most ||
      isEncoder != (step.encoderSequence > 0))
    return invalidArgument("an encoder's layers, and those that attend to it, "
                           "have a sequence of 1 to 2^31 tokens");
  const VisionShape &vision = model.vision;
  bool hasTower = vision.layers != 0;
  for (int64_t size : {vision.layers, vision.hidden, vision.heads, vision.ffn,
                       vision.rows, vision.patch, vision.images})
    if (hasTower && (size < 1 || size > most))
      return invalidArgument("a tower's layers, hidden size, heads, ffn, rows, "
                             "patch and images are numbers from 1 to 2^31");
  if (hasTower && (vision.unread < 0 || vision.unread > most ||
                   vision.hidden % vision.heads != 0))
    return invalidArgument("a tower's heads divide its hidden size, and from 0 "
                           "to 2^31 of its layers are not read");
  const StateSpace &scans = model.stateSpace;
  bool isListed = int64_t(model.kindOf.size()) == model.layers;
  if (!model.kinds.empty() &&
      (!isListed ||
       *std::ranges::max_element(model.kindOf) >= model.kinds.size()))
    return invalidArgument("each of the layers has one of their kinds");
  int64_t ofEncoder = LayerKinds(model).encoderLayers();
  auto isOfEncoder = [&](uint32_t kind) { return model.kinds[kind].encoder; };
  if (isEncoder &&
      (ofEncoder == model.layers ||
       !std::all_of(model.kindOf.begin(), model.kindOf.begin() + ofEncoder,
                    isOfEncoder)))
    return invalidArgument("an encoder's layers come before a decoder's");
  if (LayerKinds(model).hasStateSpace() &&
      (std::min({scans.heads, scans.headDim, scans.state, scans.groups,
                 scans.chunk}) < 1 ||
       scans.heads % scans.groups != 0))
    return invalidArgument("a state-space block has heads, a state and groups "
                           "that divide the heads");
  return okStatus();
}
