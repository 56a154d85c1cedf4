//===- MixerWork.cpp - Blocks that mix tokens, but plain attention --------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/MixerWork.h"

#include "passes/planning/cost/BlockWork.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

class MixerPricer : public BlockWork {
public:
  using BlockWork::BlockWork;

  void stateSpace();
  void compiledStateSpace(bool ends);
  void stateSpaceModules(RecomputeModules modules);
  void latentAttention();
  /// Of it, what makes heads of the small vectors.
  void latentHeads();

private:
  void scan(double inner, double both);
  void recurrence();
  void exchangePositions();
  void gatedNorm();
  /// Of a rank's part of a Mamba-2 block.
  double inner() const { return double(model.stateSpace.inner()) / tp; }
  double channels() const { return model.stateSpace.localChannels(plan.tp); }
  void attend();
  /// Rows of the stream: the norm, and what is added to it, as of attention in
  /// LayerWork.cpp.
  void stream() {
    double row = element * whole * hidden;
    moved(5.5 * row, 8 * row, 3);
  }
};

void MixerPricer::stateSpace() {
  const StateSpace &shape = model.stateSpace;
  double inner = double(shape.inner()) / tp;
  double groups = std::max(1.0, double(shape.groups) / tp);
  double both = 2 * groups * double(shape.state); // B and C.
  gemm({tokens, 2 * inner + both + double(shape.heads) / tp, hidden});
  scan(inner, both);
  gemm({tokens, hidden, inner});
  tensorCollective();
  stream();
}

/// The kernels between the two GEMMs: the convolution, the recurrence in
/// chunks, and the gated norm. Matrix products in a chunk are in 16 bits, at
/// what fused attention reaches over as many tokens as a chunk has.
void MixerPricer::scan(double inner, double both) {
  const StateSpace &shape = model.stateSpace;
  double flops = tokens * shape.scanFlops() / tp;
  double seconds =
      times.attention(flops, double(shape.chunk), double(shape.headDim));
  // A state of [headDim, state] in 32 bits is written for every head and chunk,
  // passed on from chunk to chunk, and read.
  double states =
      4 * 4 * tokens / double(shape.chunk) * inner * double(shape.state);
  double row = element * tokens;
  // Convolution: x, B, C read and written. Recurrence: x read twice, B and C by
  // three kernels, y written. Gated norm: y and the gate read, one written.
  double bytes = row * (2 * (inner + both) + 3 * inner + 3 * both + 3 * inner);
  double again = times.memory(states);
  for (auto [pass, share] :
       {std::pair(&work.forward, 1.0), {&work.backward, 2.0}}) {
    pass->attention += share * (seconds + again);
  }
  moved(bytes, 2 * bytes, 7);
  if (plan.cp == 1)
    return;
  double exchanged = row * (3 * inner + both); // In, and y out.
  double link = times.dispatch(exchanged, 1, {plan.cp, plan.tp});
  for (Work *pass : {&work.forward, &work.backward}) {
    pass->context += link;
    pass->host += 2 * times.software().host_collective_seconds();
  }
}

void MixerPricer::compiledStateSpace(bool ends) {
  const StateSpace &shape = model.stateSpace;
  double maps = channels() - inner();
  for (double width :
       {inner(), inner(), maps / 2, maps / 2, double(shape.heads) / tp})
    gemm({tokens, width, hidden});
  // The convolutions of x, B and C, and an activation behind each.
  double row = element * tokens * channels();
  moved(4 * row, 8 * row, 6);
  recurrence();
  exchangePositions();
  gatedNorm();
  if (ends)
    gemm({tokens, hidden, inner()});
  // Ranks that share groups add up what x, the gate, steps and maps give the
  // stream one by one.
  if (ends)
    tensorCollective(1, shape.groups % plan.tp == 0 ? 1 : 5);
  stream();
}

/// Ranks that share sequences get heads of whole ones: x, B, C and steps on the
/// way in, y on the way out; backward, their gradients. Maps of groups that
/// several ranks have are gathered.
void MixerPricer::exchangePositions() {
  if (plan.cp == 1)
    return;
  const StateSpace &shape = model.stateSpace;
  double row = element * tokens, maps = channels() - inner();
  bool dealsMaps = std::max<int64_t>(1, shape.groups / plan.tp) % plan.cp == 0;
  double dealt =
      2 * inner() + double(shape.heads) / tp + (dealsMaps ? maps : 0);
  double link = times.dispatch(row * dealt, 1, {plan.cp, plan.tp});
  if (!dealsMaps)
    link += times.allGather(row * maps * double(plan.cp), {plan.cp, plan.tp});
  for (Work *pass : {&work.forward, &work.backward}) {
    pass->context += link;
    pass->host += 5 * times.software().host_collective_seconds();
  }
}

/// Token by token: a kernel is bound by its FLOPs or by its bytes. Backward the
/// workspace is written by one kernel and read by the next.
void MixerPricer::recurrence() {
  const StateSpace &shape = model.stateSpace;
  double row = element * tokens;
  double read = row * (inner() + channels() + double(shape.heads) / tp);
  double worked = 4 * tokens * shape.gradientWorkspace() / tp;
  double flops = tokens * shape.recurrenceFlops() / tp;
  double gradient = tokens * shape.recurrenceGradientFlops() / tp;
  work.forward.attention += std::max(times.vector(flops), times.memory(read));
  work.backward.attention +=
      std::max(times.vector(gradient), times.memory(2 * read + 2 * worked));
  launch(work.forward, 1);
  launch(work.backward, 6);
}

/// The gate's product and the norm of it. Groups that several ranks have are
/// gathered; backward, so are their gradients.
void MixerPricer::gatedNorm() {
  const StateSpace &shape = model.stateSpace;
  double row = element * tokens * inner();
  double parts = shape.normGroups > 1 ? 2 : 1;
  moved((3 + 2 * parts) * row, (5 + 3 * parts) * row, 1 + parts);
  int64_t ranks = std::max<int64_t>(1, plan.tp / shape.normGroups);
  if (ranks == 1)
    return;
  double link = times.allGather(row * double(ranks), {ranks, 1});
  work.forward.tensor += link;
  work.backward.tensor += 2 * link;
  work.forward.host += times.software().host_collective_seconds();
  work.backward.host += 2 * times.software().host_collective_seconds();
}

void MixerPricer::stateSpaceModules(RecomputeModules modules) {
  double row = element * tokens, bytes = 0, ops = 0;
  auto add = [&](RecomputeModules made, double read) {
    if (!modules.intersects(made))
      return;
    bytes += row * read;
    ++ops;
  };
  bool hasGroups = model.stateSpace.normGroups > 1;
  add({RecomputeModule::Pointwise}, 2 * channels());
  add({RecomputeModule::Activation}, 2 * channels());
  add({RecomputeModule::Activation, RecomputeModule::Mlp}, 3 * inner());
  add({RecomputeModule::LayerNorm}, 2 * inner());
  if (hasGroups)
    add({RecomputeModule::Pointwise}, 2 * inner());
  moved(bytes, 0, ops);
  if (modules.has(RecomputeModule::Mlp))
    gemm({tokens, inner(), hidden});
  if (modules.has(RecomputeModule::CoreAttention))
    recurrence();
}

void MixerPricer::latentAttention() {
  const LatentAttention &shape = model.latent;
  double small = double(shape.queryRank + shape.keyValueRank);
  gemm({whole, small + double(shape.rotaryDim), hidden});
  latentHeads();
  attend();
  gemm({tokens, hidden, double(model.heads * shape.valueDim) / tp});
  tensorCollective();
  stream();
}

void MixerPricer::latentHeads() {
  const LatentAttention &shape = model.latent;
  double heads = double(model.heads) / tp;
  double q = double(shape.queryRank), kv = double(shape.keyValueRank);
  double key = double(shape.plainDim + shape.rotaryDim);
  double value = double(shape.valueDim);
  gemm({tokens, heads * key, q > 0 ? q : hidden});
  gemm({tokens, heads * (double(shape.plainDim) + value), kv});
  // Two norms of the small vectors; queries are rotated, keys are put together
  // from their parts, values taken out: each read and written.
  double row = element * tokens;
  double small = 2 * element * whole * (q + kv);
  double wide = row * heads * (2 * key + 2 * key + 2 * value);
  moved(small + wide, 2 * small + wide, 5);
}

void MixerPricer::attend() {
  double length = double(step.sequence);
  double flops = 4 * tokens * length / 2 * model.scoreWidth() / tp;
  double seconds =
      times.attention(flops, length, double(model.latent.valueDim));
  work.forward.attention += seconds;
  work.backward.attention += times.software().attention_backward() * seconds;
  launch(work.forward, 1);
  launch(work.backward, 2);
  if (plan.cp == 1)
    return;
  // Keys and values of all heads are gathered over the context axis.
  double width = double(model.heads) / tp *
                 double(model.latent.plainDim + model.latent.rotaryDim +
                        model.latent.valueDim);
  double link = times.allGather(element * tokens * double(plan.cp) * width,
                                {plan.cp, plan.tp});
  work.forward.context += link;
  work.backward.context += 2 * link;
}

} // namespace

PassWork planning::stateSpaceWork(const ModelShape &model,
                                  const StepShape &step,
                                  const ParallelPlan &plan,
                                  const cluster::OpTimes &times,
                                  bool compiled) {
  MixerPricer pricer(model, step, plan, times, compiled);
  if (compiled)
    pricer.compiledStateSpace(/*ends=*/true);
  else
    pricer.stateSpace();
  return pricer.result();
}

Work planning::stateSpaceAgainWork(const ModelShape &model,
                                   const StepShape &step,
                                   const ParallelPlan &plan,
                                   const cluster::OpTimes &times, bool ends) {
  MixerPricer pricer(model, step, plan, times, true);
  pricer.compiledStateSpace(ends);
  return pricer.result().forward;
}

Work planning::stateSpaceModulesWork(const ModelShape &model,
                                     const StepShape &step,
                                     const ParallelPlan &plan,
                                     const cluster::OpTimes &times,
                                     RecomputeModules modules) {
  MixerPricer pricer(model, step, plan, times, true);
  pricer.stateSpaceModules(modules);
  return pricer.result().forward;
}

PassWork planning::latentAttentionWork(const ModelShape &model,
                                       const StepShape &step,
                                       const ParallelPlan &plan,
                                       const cluster::OpTimes &times) {
  MixerPricer pricer(model, step, plan, times, false);
  pricer.latentAttention();
  return pricer.result();
}

Work planning::latentAgainWork(const ModelShape &model, const StepShape &step,
                               const ParallelPlan &plan,
                               const cluster::OpTimes &times) {
  MixerPricer pricer(model, step, plan, times, false);
  pricer.latentHeads();
  return pricer.result().forward;
}
