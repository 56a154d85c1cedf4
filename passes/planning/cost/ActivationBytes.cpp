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
    : model(model), step(step), plan(plan), fused(fused), compiled(compiled),
      again(plan.modulesAgain(compiled)),
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
  double kv = std::max(1.0, double(model.kvHeads) / tp) * double(model.headDim);
  return 2 * q + 2 * kv;
}

/// Of a Mamba-2 block: the norm's input and the GEMM's; what that makes, and
/// the same of it convolved; y, and y with its norm.
double ActivationBytes::stateSpace() const {
  const StateSpace &shape = model.stateSpace;
  double rows = whole * double(model.hidden) * 2 * element;
  double made = double(2 * shape.channels() + shape.heads);
  return rows + tokens * element / tp * (made + 3 * double(shape.inner()));
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
double ActivationBytes::blockedInputs(bool experts) const {
  double row = whole * double(model.hidden);
  double heads = tokens * double(model.heads * model.headDim) / tp;
  double inside = tokens * double(experts ? model.sharedFfn : model.ffn) / tp;
  double less = (element - code()) * (row + inside) - code() * heads;
  if (!experts)
    return less + (element - code()) * row;
  return model.sharedFfn > 0 ? less - code() * row : less;
}

/// Of GEMMs' inputs published systems keep the 8 bits that these had: what that
/// is less.
double ActivationBytes::narrowInputs(bool experts) const {
  if (compiled && step.block > 0)
    return blockedInputs(experts);
  if (compiled || step.elementBits != 8)
    return 0;
  double rows = 2 * whole * double(model.hidden);
  double inside = tokens * double(experts ? model.sharedFfn : model.ffn) / tp;
  double chosen = experts ? sent : 0;
  return (element - 1) *
         (rows + inside +
          chosen * double(model.expertWidth() + model.expertFfn));
}

/// The inputs of norms that stand elsewhere than before a block: what blocks
/// make, where a norm before them keeps the stream as well; queries and keys,
/// unless they are normalised and rotated again.
double ActivationBytes::furtherNorms(Recompute recompute) const {
  double elements = 0;
  if (model.resultNorms && model.inputNorms)
    elements += whole * double(model.hidden) * (model.attentionPerLayer() + 1);
  bool headsAgain = recompute == Recompute::Selective &&
                    again.has(RecomputeModule::LayerNorm) &&
                    again.has(RecomputeModule::Pointwise);
  // The stream between the branches is not there, nor is a second norm.
  if (model.parallelBranches)
    elements -= whole * double(model.hidden);
  double bytes = model.oneNorm ? -input() * whole * double(model.hidden) : 0;
  if (model.headNorms && !headsAgain)
    elements +=
        model.attentionPerLayer() * tokens * double(model.headDim) *
        (double(model.heads) / tp + std::max(1.0, double(model.kvHeads) / tp));
  return element * elements + bytes;
}

double ActivationBytes::kept(bool experts, Recompute recompute) const {
  if (recompute == Recompute::Full)
    return whole * double(model.hidden) * element;
  double bytes = model.attentionPerLayer() * attention(recompute);
  if (model.stateSpace.blocks > 0)
    bytes += model.stateSpacePerLayer() * stateSpace();
  if (!experts)
    bytes += mlp(double(model.ffn));
  else
    bytes += mlp(double(model.sharedFfn)) + routed();
  bytes += furtherNorms(recompute) - narrowInputs(experts);
  if (recompute == Recompute::Selective)
    bytes -= inputsAgain(experts) + firstGemmsAgain(experts);
  return bytes;
}

/// Of the inputs of GEMMs, what is computed again: two norms' results, the
/// activation's and, in compiled programs, attention's.
double ActivationBytes::inputsAgain(bool experts) const {
  RecomputeModule dense =
      experts ? RecomputeModule::SharedExperts : RecomputeModule::Mlp;
  double elements = 0, bytes = 0;
  // What a norm behind a block makes is added and gone.
  if (again.has(RecomputeModule::LayerNorm) && model.inputNorms)
    bytes += (experts         ? input() + element
              : model.oneNorm ? input()
                              : 2 * input()) *
             whole * double(model.hidden);
  if (compiled && again.has(RecomputeModule::CoreAttention))
    bytes +=
        (element + code()) * tokens * double(model.heads * model.headDim) / tp;
  if (again.intersects({RecomputeModule::Activation, dense}))
    bytes +=
        input() * tokens * double(experts ? model.sharedFfn : model.ffn) / tp;
  if (experts &&
      again.intersects({RecomputeModule::Activation,
                        RecomputeModule::MoeActivation, RecomputeModule::Moe}))
    elements += held * double(model.expertFfn) / expertTp;
  return bytes + element * elements;
}

/// What an MLP's first GEMMs make, where they are computed again.
double ActivationBytes::firstGemmsAgain(bool experts) const {
  RecomputeModule dense =
      experts ? RecomputeModule::SharedExperts : RecomputeModule::Mlp;
  double elements = 0;
  if (again.has(dense))
    elements += tokens * double(experts ? model.sharedFfn : model.ffn) / tp;
  if (experts && again.has(RecomputeModule::Moe))
    elements += held * double(model.expertFfn) / expertTp;
  return element * (model.gated ? 2 : 1) * elements;
}

int64_t ActivationBytes::ofLayers(int64_t dense, int64_t experts) const {
  double bytes = double(dense) * kept(false, plan.recompute);
  if (experts > 0)
    bytes += double(experts) * kept(true, plan.recompute);
  return std::llround(bytes);
}

int64_t ActivationBytes::ofWeightInputs(int64_t dense, int64_t experts) const {
  if (plan.recompute == Recompute::Full)
    return 0;
  return weightInputs(dense, experts) - ofInputsAgain(dense, experts);
}

int64_t ActivationBytes::ofInputsAgain(int64_t dense, int64_t experts) const {
  double bytes = double(dense) * inputsAgain(false);
  return std::llround(experts > 0 ? bytes + double(experts) * inputsAgain(true)
                                  : bytes);
}

/// The inputs of GEMMs: two norms, attention's result, the activation's.
int64_t ActivationBytes::weightInputs(int64_t dense, int64_t experts) const {
  double q = double(model.heads * model.headDim) / tp;
  double norms = model.oneNorm ? 1 : 2;
  double own = norms * whole * double(model.hidden) + tokens * q;
  double ffn = tokens * double(model.ffn) / tp;
  double routed =
      held * (double(model.hidden) + double(model.expertFfn) / expertTp) +
      tokens * double(model.sharedFfn) / tp;
  return std::llround(element * (double(dense) * (own + ffn) +
                                 double(experts) * (own + routed)));
}

/// Of what GEMMs make; of those that end on the stream, gathered.
int64_t ActivationBytes::ofWeightGradients(int64_t dense,
                                           int64_t experts) const {
  double q = double(model.heads * model.headDim) / tp;
  double kv = std::max(1.0, double(model.kvHeads) / tp) * double(model.headDim);
  double wide = model.gated ? 2 : 1;
  double own = tokens * (q + 2 * kv + double(model.hidden));
  double ffn = tokens * (double(model.hidden) + wide * double(model.ffn) / tp);
  double routed =
      held * (double(model.hidden) + wide * double(model.expertFfn) / expertTp);
  double sum = element *
               (double(dense) * (own + ffn) + double(experts) * (own + routed));
  // What the backward pass made again lives as long.
  if (plan.recompute == Recompute::Full)
    sum += double(weightInputs(dense, experts));
  return std::llround(sum) + ofInputsAgain(dense, experts);
}

int64_t ActivationBytes::ofOneLayerAgain() const {
  if (plan.recompute == Recompute::None)
    return 0;
  bool experts = model.experts > 0;
  return std::llround(kept(experts, Recompute::None) -
                      kept(experts, plan.recompute));
}

double ActivationBytes::ofRoutedBackward() const {
  if (model.experts == 0)
    return 0;
  double row = double(model.hidden),
         inside = double(model.expertFfn) / expertTp;
  double most = row + inside;
  if (model.gated)
    most = std::max(most, 2 * (row - inside));
  return element * (held * most - sent * row);
}

double ActivationBytes::ofWidened() const {
  if (!compiled || step.block == 0)
    return 0;
  double row = double(model.hidden), inside = double(model.ffn) / tp;
  if (model.experts > 0)
    inside = double(model.sharedFfn) / tp;
  inside = std::max(inside, double(model.heads * model.headDim) / tp);
  double most = tokens * (row + inside) + row * inside;
  if (model.experts > 0) {
    double ffn = double(model.expertFfn) / expertTp;
    double local = double(model.experts) / double(plan.ep);
    most = std::max(most, held * (row + ffn) + local * row * ffn);
  }
  return element * most;
}

int64_t ActivationBytes::ofLoss() const {
  double rows = whole * double(model.hidden) * 2 * element;
  double logits = tokens * double(model.vocab) / tp;
  if (compiled)
    return std::llround(logits * element);
  return std::llround(rows + logits * (element + 4));
}
