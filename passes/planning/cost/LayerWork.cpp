//===- LayerWork.cpp - A layer's time on one rank -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/BlockWork.h"
#include "passes/planning/cost/MixerWork.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// Gathers a layer's forward and backward passes, op by op.
class LayerPricer : public BlockWork {
public:
  using BlockWork::BlockWork;

  /// Norm, query/key/value, attention, projection, dropout and residual;
  /// without `ends` all of it but the projection, and what brings its sums
  /// together.
  void attentionBlock(const LayerKind &kind, bool ends = true);
  void resultNorm();
  void secondCollective(double gradientGemm);
  void denseBlock(double ffn);
  /// All of it but its last GEMM, and what brings that one's sums together.
  void denseInside(double ffn);
  void expertBlock();
  void embedding();
  void head();
  void prediction();
  void attention(const LayerKind &kind);
  /// Attention to what an encoder made: the same, of its keys and values.
  void crossBlock(bool ends = true);
  void crossAttention();
  /// But for attention and Mamba-2 blocks.
  void modules(RecomputeModules modules, const LayerKind &kind);

private:
  /// One that compiled programs never compute in 8 bits.
  void wideGemm(const cluster::Gemm &gemm);
  /// One of all experts that the rank has.
  void expertGemm(const cluster::Gemm &shape);
  /// Limits on what activations read, and biases, have kernels of their own in
  /// published systems whose experts' GEMMs are not one kernel
  /// (Megatron-Core, weighted_bias_quick_geglu_impl and TEGroupedMLP).
  bool limitsApart() const;
  void limits(double elements); ///< Of each half.
  void groupedBias(double elements);
  void expertBias(double elements, double experts);
  static constexpr double kLimitBytes = 16, kLimitKernels = 4;
  /// Tensors that are quantized, and what they have together.
  struct Quantized {
    double elements, tensors;
  };
  /// Where GEMMs have operands of 8 bits, what making these takes: forward
  /// `factors`, backward `gradients`; in blocks, `weights` too.
  void quantize(Quantized factors, Quantized gradients, Quantized weights);
  /// In blocks; `alongTokens`, too, for the gradient by weights.
  void quantizeBlocks(Quantized factors, Quantized gradients, Quantized weights,
                      bool alongTokens);
  void unfusedAttention(double span);
  void fusedAttention(double span, double share, bool isWhole);
  void contextCollective(double keys);
  double keys() const; ///< Of a token, or its values, on the rank.
  double crossTokens() const { return tokens * step.crossShare(); }
  void expertCollective(double seconds);
  double heldRows() const;
};
void LayerPricer::wideGemm(const cluster::Gemm &gemm) {
  addGemm(compiled ? times.gemm16(gemm) : times.gemm(gemm));
}

void LayerPricer::expertGemm(const cluster::Gemm &shape) {
  if (compiled)
    return wideGemm(shape);
  gemm(shape, step.elementBits == 8 ? times.software().expert_gemm() : 1);
  double kernels = step.elementBits == 8 ? 1 + quantizeKernels : 1;
  double each = times.software().expert_launches() * kernels * shape.count;
  launch(work.forward, each);
  launch(work.backward, 2 * each);
  groupedBias(shape.count * shape.m * shape.n);
}

bool LayerPricer::limitsApart() const {
  return !compiled && model.expertLimits &&
         times.software().expert_launches() > 0;
}

/// With GEMMs of all experts at once a kernel adds each bias, and one sums its
/// gradient.
void LayerPricer::groupedBias(double elements) {
  if (!compiled && model.expertLimits && !limitsApart())
    moved(2 * element * elements, element * elements, 1);
}

/// Forward each half is limited, and both are put side by side; backward masks
/// of one and of both limits are made and applied, and the halves put side by
/// side (torch.clamp, torch.cat).
void LayerPricer::limits(double elements) {
  work.forward.memory += times.memory(kLimitBytes * elements);
  work.backward.memory += times.memory(30 * elements);
  launch(work.forward, kLimitKernels);
  launch(work.backward, 7);
}

/// Of the second matrix; a GEMM adds that of the first. The bias times a
/// token's weight is made in 32 bits, added, put side by side with what other
/// experts make, and narrowed. Backward the gradient is widened and narrowed,
/// its parts put side by side, and multiplied and summed for the bias and for
/// the weight.
void LayerPricer::expertBias(double elements, double experts) {
  work.forward.memory += times.memory(28 * elements);
  work.backward.memory += times.memory(40 * elements);
  launch(work.forward, 2 * experts + 2);
  launch(work.backward, 5 * experts + 2);
}

/// Of each tensor the largest magnitude is found, beside what makes the tensor,
/// brought together between all that hold shards, and then the tensor is read
/// and written as bytes.
void LayerPricer::quantize(Quantized factors, Quantized gradients,
                           Quantized weights) {
  if (!compiled || step.elementBits != 8)
    return;
  if (step.block > 0)
    return quantizeBlocks(factors, gradients, weights, /*alongTokens=*/true);
  cluster::RankGroup ranks{plan.dp * plan.cp * plan.tp, 1};
  for (auto [pass, quantized] :
       {std::pair(&work.forward, factors), {&work.backward, gradients}}) {
    pass->memory += times.memory((element + 1) * quantized.elements);
    launch(*pass, 2 * quantized.tensors);
    if (ranks.size == 1)
      continue;
    pass->tensor +=
        quantized.tensors * times.allGather(4 * double(ranks.size), ranks);
    pass->host +=
        quantized.tensors * times.software().host_collective_seconds();
  }
}

/// Kernels of their own write codes, and what these stand for. Forward does so
/// for inputs and weights, and makes the codes that backward keeps of inputs;
/// backward does so for weights and, along both dims, for gradients, and widens
/// what was kept.
void LayerPricer::quantizeBlocks(Quantized factors, Quantized gradients,
                                 Quantized weights, bool alongTokens) {
  double bytes = element + 1 + 4 / double(step.block); // read and written
  double again = alongTokens ? 1 : 0;
  auto add = [&](Work &pass, const Quantized &tensors, double kernels) {
    pass.memory += times.memory(kernels * bytes * tensors.elements);
    launch(pass, kernels * tensors.tensors);
  };
  add(work.forward, factors, 2 + again);
  add(work.forward, weights, 2);
  add(work.backward, gradients, 2 + 2 * again);
  add(work.backward, factors, again);
  add(work.backward, weights, 2);
}

/// `keys` tokens of the rank have them.
void LayerPricer::contextCollective(double keys) {
  if (plan.cp == 1)
    return;
  // Keys and values of the whole sequence, gathered; their gradients,
  // scattered. A ring moves the same bytes.
  double kv = 2 * element * keys * double(plan.cp) *
              double(model.kvHeads * model.headDim) / tp;
  double seconds = times.allGather(kv, {plan.cp, plan.tp});
  work.forward.context += seconds;
  work.backward.context += 2 * seconds;
  work.forward.host += times.software().host_collective_seconds();
  work.backward.host += 2 * times.software().host_collective_seconds();
}

/// Two GEMMs a head, and a softmax that reads and writes the scores.
void LayerPricer::unfusedAttention(double span) {
  double length = double(step.sequence), dim = double(model.headDim);
  double heads = double(plan.microBatch) * double(model.heads) / tp;
  double rows = length / double(plan.cp);
  double seconds = times.gemm16({rows, span, dim, heads}) +
                   times.gemm16({rows, dim, span, heads});
  double bytes = element * heads * rows * span;
  Work forward, backward;
  forward.attention = seconds + times.memory(4.5 * bytes);
  backward.attention = 2 * seconds + times.memory(6.5 * bytes);
  launch(forward, 5);
  launch(backward, 9);
  // Megatron's fused softmax takes heads in fours; of other numbers it makes a
  // mask, widens, scales, fills, sums and narrows in kernels of their own
  // (megatron/fused_kernels, FusedScaleMaskSoftmax.is_kernel_available).
  if (!compiled && std::fmod(heads, 4) != 0) {
    forward.attention += times.memory(11 * bytes);
    backward.attention += times.memory(11 * bytes);
    launch(forward, 10);
    launch(backward, 10);
  }
  work.forward += forward;
  work.backward += backward;
}

/// Forward two GEMMs of half of the square, or of all of it where both
/// directions are seen; backward five. Of a `share` of the attention blocks.
void LayerPricer::fusedAttention(double span, double share, bool isWhole) {
  double width = double(model.heads * model.headDim) / tp;
  double square = isWhole ? span : span / 2;
  double flops = 4 * share * tokens * square * width;
  double seconds = times.attention(flops, span, double(model.headDim));
  work.forward.attention += seconds;
  work.backward.attention += times.software().attention_backward() * seconds;
  launch(work.forward, share);
  launch(work.backward, 2 * share);
}

void LayerPricer::attention(const LayerKind &kind) {
  double all = double(step.sequence), share = kind.windowShare;
  double span = std::min(all, double(kind.window));
  if (times.software().attention() == 0)
    return unfusedAttention(kind.window ? span : all);
  bool seesAll = model.bidirectional || kind.encoder;
  if (share > 0)
    fusedAttention(span, share, seesAll || span < all);
  if (share < 1)
    fusedAttention(all, 1 - share, seesAll);
}

double LayerPricer::keys() const {
  return std::max(1.0, double(model.kvHeads) / tp) * double(model.headDim);
}

void LayerPricer::crossAttention() {
  auto span = double(step.crossSpan());
  if (times.software().attention() == 0)
    return unfusedAttention(span);
  fusedAttention(span, 1, /*isWhole=*/true);
}

void LayerPricer::crossBlock(bool ends) {
  double q = double(model.heads * model.headDim) / tp;
  gemm({tokens, q, hidden});
  gemm({crossTokens(), 2 * keys(), hidden});
  contextCollective(crossTokens());
  crossAttention();
  if (ends) {
    gemm({tokens, hidden, q});
    tensorCollective();
  }
  double row = element * whole * hidden;
  double heads = element * (tokens * q + crossTokens() * 2 * keys());
  moved(5.5 * row + 2 * heads, 8 * row + 2 * heads, 5);
  resultNorm();
}

void LayerPricer::attentionBlock(const LayerKind &kind, bool ends) {
  double q = double(model.heads * model.headDim) / tp;
  double kv = keys();
  gemm({tokens, q + 2 * kv, hidden});
  contextCollective(tokens);
  attention(kind);
  if (ends)
    gemm({tokens, hidden, q});
  quantize({tokens * (hidden + q), 2}, {tokens * (q + 2 * kv + hidden), 4},
           {hidden * (2 * q + 2 * kv), 4});
  if (ends)
    tensorCollective(1, 1, times.gemm({tokens, q + 2 * kv, hidden}));
  // Norm: reads and writes. Bias, dropout and residual: two reads, one write
  // and a mask. Biases, transposes or rotary: the heads, read and written.
  double row = element * whole * hidden,
         heads = element * tokens * (q + 2 * kv);
  moved(5.5 * row + 2 * heads, 8 * row + 2 * heads, 5);
  resultNorm();
  if (model.headNorms)
    moved(2 * element * tokens * (q + kv), 3 * element * tokens * (q + kv), 2);
}

/// A norm of what a block makes, beside the one that every block is priced
/// with.
void LayerPricer::resultNorm() {
  double row = element * whole * hidden;
  if (model.resultNorms && model.inputNorms)
    moved(2 * row, 3 * row, 1);
}

void LayerPricer::denseBlock(double ffn) {
  denseInside(ffn);
  gemm({tokens, hidden, ffn / tp});
  quantize({tokens * ffn / tp, 1}, {tokens * hidden, 1},
           {hidden * ffn / tp, 1});
  double up = model.gated ? 2 * ffn : ffn;
  secondCollective(times.gemm({tokens, up / tp, hidden}));
  resultNorm();
}

/// Of the second block of a layer. Blocks side by side form the sum of both at
/// once, unless dropout lies between; so do their gradients, if they read the
/// same. With sequence parallelism half of it gathers what they read.
void LayerPricer::secondCollective(double gradientGemm) {
  if (!model.parallelBranches || model.dropout)
    return tensorCollective(1, 1, gradientGemm);
  double reads = model.oneNorm ? 0 : 1;
  if (plan.sequenceParallel)
    tensorCollective(0.5 * reads, 0.5 * reads);
  else
    tensorCollective(0, reads, gradientGemm);
}

void LayerPricer::denseInside(double ffn) {
  double local = ffn / tp, up = model.gated ? 2 * local : local;
  gemm({tokens, up, hidden});
  double matrices = model.gated ? 2 : 1;
  quantize({tokens * hidden, 1}, {tokens * up, matrices},
           {hidden * up, matrices});
  double row = element * whole * hidden, wide = element * tokens * (up + local);
  moved(5.5 * row + wide, 8 * row + 2 * wide, 4);
}

void LayerPricer::expertBlock() {
  double topK = double(model.topK), expertTp = double(plan.expertTensor());
  double width = double(model.expertWidth()); // Of what experts work on.
  double row = element * whole * hidden;
  wideGemm({whole, double(model.experts), hidden});
  moved(5.5 * row, 8 * row, 8);
  resultNorm();
  if (model.expertLatent > 0) {
    gemm({whole, width, hidden});
    gemm({whole, hidden, width});
  }
  // Each rank's tokens go to topK experts; a rank has experts / ep of them.
  double routed = tokens * topK / tp;
  double local = double(model.experts) / double(plan.ep);
  double each = routed * expertTp / local;
  double ffn = double(model.expertFfn) / expertTp;
  double up = model.gated ? 2 * ffn : ffn;
  expertGemm({each, up, width, local});
  expertGemm({each, width, ffn, local});
  if (limitsApart()) {
    limits(local * each * ffn);
    expertBias(local * each * width, local);
  }
  if (compiled && step.block > 0) {
    double matrices = model.gated ? 3 : 2;
    quantizeBlocks({heldRows() * (width + ffn), 2},
                   {heldRows() * (up + width), matrices},
                   {local * width * (up + ffn), matrices},
                   /*alongTokens=*/false);
  }
  double bytes = element * routed * width,
         wide = element * heldRows() * (up + ffn);
  double moves = compiled ? 4 : times.software().expert_moves();
  moved(moves * bytes + wide, 1.5 * moves * bytes + 2 * wide, 6);
  work.forward.host += times.software().expert_host_seconds();
  work.backward.host += times.software().expert_host_seconds();
  if (model.sharedFfn > 0)
    denseBlock(double(model.sharedFfn));
  if (plan.ep == 1)
    return;
  // The ranks that share an expert gather its input and scatter the sums of
  // what each has made of it: the rows that have come to them, or, in compiled
  // programs, tokens, before they become rows that all of these ranks send.
  // Published systems send a token once to each machine; programs, each row.
  double shared = compiled ? bytes / topK : bytes;
  double sent = compiled ? bytes * expertTp : bytes / topK;
  double open = model.expertGroups > 0
                    ? double(model.topGroups) / double(model.expertGroups)
                    : 1;
  expertCollective(2 * times.dispatch(sent, compiled ? 1 : topK,
                                      {plan.ep, plan.expertTensor()}, open));
  if (plan.expertTensor() > 1)
    expertCollective(
        2 * times.allGather(shared * expertTp, {plan.expertTensor(), 1}));
}

/// What comes evenly to a rank's experts; of programs that exchange rows all
/// that there is room for, since kernels between GEMMs pass over it.
double LayerPricer::heldRows() const {
  double own = tokens * double(plan.expertTensor()) / tp;
  if (!compiled || plan.ep == 1 || model.capacity > 0)
    return own * double(model.topK);
  return double(
      plan::expertRowsBound({model.experts, model.topK, model.rowsBound},
                            plan.ep, std::llround(own)));
}

/// Two collectives of experts, forward, and their gradients', backward.
void LayerPricer::expertCollective(double seconds) {
  for (Work *pass : {&work.forward, &work.backward}) {
    pass->expert += seconds * (1 - times.software().expert_overlap());
    pass->host += 2 * times.software().host_collective_seconds();
  }
}

void LayerPricer::modules(RecomputeModules modules, const LayerKind &kind) {
  bool experts = kind.experts;
  double up = model.gated ? 2 : 1, bytes = 0, ops = 0;
  if (modules.has(RecomputeModule::LayerNorm)) {
    double norms = kind.attention + kind.stateSpace + (kind.crosses ? 1 : 0) +
                   (kind.hasFeedForward() ? 1 : 0);
    bytes += 2 * norms * element * whole * hidden;
    ops += norms;
  }
  RecomputeModule dense =
      experts ? RecomputeModule::SharedExperts : RecomputeModule::Mlp;
  double ffn = double(experts ? model.sharedFfn : kind.ffn) / tp;
  if (modules.has(dense) && ffn > 0)
    gemm({tokens, up * ffn, hidden});
  if (modules.intersects({RecomputeModule::Activation, dense}) &&
      kind.hasFeedForward()) {
    bytes += element * (up + 1) * ffn * tokens;
    ++ops;
  }
  double routed = double(model.topK) * tokens / tp;
  if (experts && modules.has(RecomputeModule::Moe)) {
    double local = double(model.experts) / double(plan.ep);
    double each = routed * double(plan.expertTensor()) / local;
    wideGemm({each, up * double(model.expertFfn) / double(plan.expertTensor()),
              hidden, local});
  }
  if (experts && modules.intersects({RecomputeModule::Activation,
                                     RecomputeModule::MoeActivation,
                                     RecomputeModule::Moe})) {
    double ffn = double(model.expertFfn) / double(plan.expertTensor());
    bytes += element * (up + 1) * heldRows() * ffn;
    ++ops;
    if (limitsApart()) {
      bytes += kLimitBytes * heldRows() * ffn;
      ops += kLimitKernels;
    }
  }
  moved(bytes, 0, ops);
}

void LayerPricer::embedding() {
  double row = element * whole * hidden;
  moved(4 * row, 4 * row, 3);
  tensorCollective();
}

void LayerPricer::head() {
  double vocab = model.headColumns() / (model.classes > 0 ? 1 : tp);
  double row = element * whole * hidden;
  auto chunks = double(plan.lossChunks);
  wideGemm({tokens / chunks, vocab, hidden, chunks});
  // The loss works in 32 bits: the logits are widened, their largest, the sum
  // of exponentials and the label's are found, and the gradient written.
  double logits = times.software().loss_bytes() / 3 * tokens * vocab;
  moved(2 * row + 2 * logits, 4 * row + logits, 10);
  if (model.cappedLogits)
    moved(2 * element * tokens * vocab, 3 * element * tokens * vocab, 1);
  tensorCollective();
}

void LayerPricer::prediction() {
  double row = element * whole * hidden;
  gemm({tokens, hidden / tp, 2 * hidden});
  tensorCollective();
  moved(6 * row, 9 * row, 4);
}

} // namespace

/// A layer of an encoder goes through its tokens.
static StepShape stepOf(const StepShape &step, const LayerKind &kind) {
  StepShape own = step;
  own.sequence = step.sequenceOf(kind);
  return own;
}

/// Of a layer, what mixes tokens.
static PassWork mixers(const ModelShape &model, const StepShape &step,
                       const ParallelPlan &plan, const LayerKind &kind,
                       const cluster::OpTimes &times, bool compiled) {
  PassWork work;
  if (kind.attention > 0 && model.latent.keyValueRank > 0) {
    work = latentAttentionWork(model, step, plan, times);
  } else if (kind.attention > 0) {
    LayerPricer pricer(model, step, plan, times, compiled && kind.experts);
    pricer.attentionBlock(kind);
    work = pricer.result();
  }
  work = work * kind.attention;
  if (kind.crosses) {
    LayerPricer pricer(model, step, plan, times, /*compiled=*/false);
    pricer.crossBlock();
    work += pricer.result();
  }
  if (kind.stateSpace > 0)
    work +=
        stateSpaceWork(model, step, plan, times, compiled) * kind.stateSpace;
  return work;
}

PassWork planning::layerWork(const ModelShape &model, const StepShape &all,
                             const ParallelPlan &plan, const LayerKind &kind,
                             const cluster::OpTimes &times, bool compiled) {
  const StepShape step = stepOf(all, kind);
  LayerPricer pricer(model, step, plan, times, compiled && kind.experts);
  if (kind.experts)
    pricer.expertBlock();
  else if (kind.ffn > 0)
    pricer.denseBlock(double(kind.ffn));
  PassWork work = mixers(model, step, plan, kind, times, compiled);
  work += pricer.result();
  for (int64_t layer = 0; layer < kind.encodes; ++layer)
    work += layerWork(model, stepOfRetriever(all), plan,
                      kindOfRetriever(all, kind, layer), times, compiled);
  if (plan.recompute == Recompute::Full)
    work.again = work.forward;
  return work;
}

Work planning::neededAgainWork(const ModelShape &model, const StepShape &all,
                               const ParallelPlan &plan, const LayerKind &kind,
                               const cluster::OpTimes &times) {
  const StepShape step = stepOf(all, kind);
  LayerPricer pricer(model, step, plan, times, false);
  if (kind.attention > 0)
    pricer.attentionBlock(kind, kind.ffn > 0);
  if (kind.crosses)
    pricer.crossBlock(kind.ffn > 0);
  if (kind.ffn > 0)
    pricer.denseInside(double(kind.ffn));
  Work work = pricer.result().forward;
  if (kind.stateSpace > 0)
    work += stateSpaceAgainWork(model, step, plan, times, kind.ffn > 0);
  for (int64_t layer = 0; layer < kind.encodes; ++layer)
    work += neededAgainWork(model, stepOfRetriever(all), plan,
                            kindOfRetriever(all, kind, layer), times);
  return work;
}

Work planning::modulesWork(const ModelShape &model, const StepShape &all,
                           const ParallelPlan &plan, const LayerKind &kind,
                           const cluster::OpTimes &times,
                           RecomputeModules modules, bool compiled) {
  const StepShape step = stepOf(all, kind);
  Work work;
  if (modules.has(RecomputeModule::CoreAttention) && kind.attention > 0) {
    LayerPricer attention(model, step, plan, times, false);
    attention.attention(kind);
    work = attention.result().forward * kind.attention;
  }
  if (modules.has(RecomputeModule::CoreAttention) && kind.crosses) {
    LayerPricer attention(model, step, plan, times, false);
    attention.crossAttention();
    work += attention.result().forward;
  }
  if (compiled && kind.stateSpace > 0)
    work += stateSpaceModulesWork(model, step, plan, times, modules);
  LayerPricer pricer(model, step, plan, times, false);
  pricer.modules(modules, kind);
  work += pricer.result().forward;
  if (!compiled && times.software().whole_experts_again() && kind.experts &&
      modules.has(RecomputeModule::Moe)) {
    LayerPricer experts(model, step, plan, times, false);
    experts.expertBlock();
    work += experts.result().forward;
  }
  for (int64_t layer = 0; layer < kind.encodes; ++layer)
    work += modulesWork(model, stepOfRetriever(all), plan,
                        kindOfRetriever(all, kind, layer), times, modules,
                        compiled);
  return work;
}

PassWork planning::inputWork(const ModelShape &model, const StepShape &step,
                             const ParallelPlan &plan,
                             const cluster::OpTimes &times) {
  LayerPricer pricer(model, step, plan, times, false);
  pricer.embedding();
  return pricer.result();
}

PassWork planning::outputWork(const ModelShape &model, const StepShape &step,
                              const ParallelPlan &plan,
                              const cluster::OpTimes &times) {
  LayerPricer pricer(model, step, plan, times, false);
  pricer.head();
  return pricer.result();
}

PassWork planning::predictionWork(const ModelShape &model,
                                  const StepShape &step,
                                  const ParallelPlan &plan,
                                  const cluster::OpTimes &times) {
  LayerPricer pricer(model, step, plan, times, false);
  pricer.prediction();
  return pricer.result();
}
