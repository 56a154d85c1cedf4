//===- PlanMessage.cpp - Plans of the schema ------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/model/PlanMessage.h"

#include "frontends/spec/model/LayerPattern.h"
#include "frontends/spec/model/Sizes.h"

#include <set>

using namespace hocket;
using namespace hocket::spec;
using plan::ParallelPlan;

// The enums of the schema are those of plans, number by number.
template <typename Own, typename Theirs>
static constexpr bool agree(std::initializer_list<std::pair<Own, Theirs>> all) {
  for (auto [own, theirs] : all)
    if (static_cast<int>(own) != static_cast<int>(theirs))
      return false;
  return true;
}
static_assert(agree<Plan::Recompute, plan::Recompute>(
    {{Plan::NONE, plan::Recompute::None},
     {Plan::SELECTIVE, plan::Recompute::Selective},
     {Plan::FULL, plan::Recompute::Full},
     {Plan::AUTO, plan::Recompute::Auto}}));
static_assert(agree<Plan::Offload, plan::Offload>(
    {{Plan::NO_OFFLOAD, plan::Offload::None},
     {Plan::OPTIMIZER, plan::Offload::Optimizer},
     {Plan::ACTIVATIONS, plan::Offload::Activations},
     {Plan::OPTIMIZER_AND_ACTIVATIONS, plan::Offload::All}}));
static_assert(agree<Plan::ContextStrategy, plan::ContextStrategy>(
    {{Plan::ALL_GATHER, plan::ContextStrategy::AllGather},
     {Plan::RING, plan::ContextStrategy::Ring},
     {Plan::ALL_TO_ALL, plan::ContextStrategy::AllToAll}}));
static_assert(Plan::RecomputeModule_ARRAYSIZE == plan::kRecomputeModules);
static_assert(agree<Plan::RecomputeModule, plan::RecomputeModule>(
    {{Plan::CORE_ATTN, plan::RecomputeModule::CoreAttention},
     {Plan::LAYERNORM, plan::RecomputeModule::LayerNorm},
     {Plan::MLP, plan::RecomputeModule::Mlp},
     {Plan::SHARED_EXPERTS, plan::RecomputeModule::SharedExperts},
     {Plan::MOE, plan::RecomputeModule::Moe},
     {Plan::MOE_ACT, plan::RecomputeModule::MoeActivation},
     {Plan::ACTIVATION, plan::RecomputeModule::Activation},
     {Plan::POINTWISE, plan::RecomputeModule::Pointwise}}));

ParallelPlan spec::planOf(const Plan &plan) {
  ParallelPlan result;
  result.pp = plan.pipeline_parallel();
  result.dp = plan.data_parallel();
  result.cp = plan.context_parallel();
  result.tp = plan.tensor_parallel();
  result.ep = plan.expert_parallel();
  if (plan.has_expert_tensor_parallel() &&
      plan.expert_tensor_parallel() != result.tp)
    result.expertTp = plan.expert_tensor_parallel();
  result.chunks = plan.virtual_stages();
  if (plan.has_micro_batch_size())
    result.microBatch = plan.micro_batch_size();
  result.sequenceParallel = plan.sequence_parallel();
  result.zero = plan.zero_stage();
  result.context = plan::ContextStrategy(plan.context_strategy());
  result.recompute = plan::Recompute(plan.recompute());
  for (int module : plan.recompute_modules())
    result.modules.add(plan::RecomputeModule(module));
  result.recomputeBlock = plan.recompute_method() == Plan::BLOCK;
  result.recomputeLayers = plan.recompute_layers();
  result.offload = plan::Offload(plan.offload());
  // What is written out and the default are one plan.
  result.schedule = plan::fullScheduleName(plan.schedule());
  ParallelPlan ordinary;
  ordinary.chunks = result.chunks;
  if (result.schedule == ordinary.scheduleName())
    result.schedule.clear();
  if (plan.schedule_group() != result.pp)
    result.group = plan.schedule_group();
  result.layers.assign(plan.layers_per_stage().begin(),
                       plan.layers_per_stage().end());
  result.balanceCost = plan.stage_split() == Plan::COST;
  result.countEmbedding = plan.count_embedding();
  result.countHead = plan.count_head();
  result.lossChunks = plan.loss_chunks();
  result.bucketBytes = plan.bucket_bytes();
  result.shardings = plan.shardings();
  return result;
}

ParallelPlan spec::planOf(const Spec &spec) {
  ParallelPlan plan = planOf(spec.plan());
  plan.microBatch = spec.training().micro_batch_size();
  return plan;
}

plan::PlanSizes spec::planSizes(const Spec &spec) {
  plan::PlanSizes sizes;
  sizes.encoderLayers = spec.model().encoder().layers();
  sizes.layers = spec.model().layers() + sizes.encoderLayers;
  // Sizes of attention that no layer has bind nothing.
  bool attending = attends(spec.model());
  sizes.heads = attending ? spec.model().heads() : 0;
  sizes.kvHeads = attending ? spec.model().kv_heads() : 0;
  if (hasStateSpace(spec.model())) {
    sizes.stateHeads = spec.model().state_space().heads();
    sizes.stateGroups = spec.model().state_space().groups();
  }
  sizes.visionHeads = spec.model().vision().heads();
  sizes.experts = spec.model().moe().experts();
  sizes.classifies = spec.model().has_classes() || spec.model().has_choices();
  sizes.sequence = spec.training().sequence_length();
  sizes.encoderSequence = spec.training().encoder_sequence_length();
  sizes.globalBatch = spec.training().global_batch_size();
  for (const BatchSizeStep &step : spec.training().batch_size_steps())
    sizes.smallerBatches.push_back(step.batch_size());
  sizes.devices = spec.cluster().devices();
  sizes.block = fp8Block(spec.training());
  sizes.headDim = spec.model().head_dim();
  std::set<int64_t> widths;
  LayerPattern layers(spec.model());
  for (const ResolvedKind &kind : layers.kinds())
    if (kind.isDense() && kind.layers > 0)
      widths.insert(kind.model.ffn());
  sizes.ffn.assign(widths.begin(), widths.end());
  sizes.expertFfn = spec.model().moe().ffn();
  sizes.sharedFfn =
      spec.model().moe().shared_experts() * spec.model().moe().ffn();
  return sizes;
}

Plan spec::messageOf(const ParallelPlan &plan) {
  static const ParallelPlan ordinary;
  Plan message;
  message.set_pipeline_parallel(plan.pp);
  message.set_data_parallel(plan.dp);
  message.set_context_parallel(plan.cp);
  message.set_tensor_parallel(plan.tp);
  message.set_expert_parallel(plan.ep);
  if (plan.expertTp != 0)
    message.set_expert_tensor_parallel(plan.expertTp);
  message.set_sequence_parallel(plan.sequenceParallel);
  message.set_zero_stage(plan.zero);
  if (plan.context != ordinary.context)
    message.set_context_strategy(Plan::ContextStrategy(plan.context));
  message.set_virtual_stages(plan.chunks);
  message.set_schedule(plan.scheduleName());
  if (plan.group != 0)
    message.set_schedule_group(plan.group);
  for (int64_t count : plan.layers)
    message.add_layers_per_stage(count);
  if (plan.balanceCost)
    message.set_stage_split(Plan::COST);
  if (plan.countEmbedding)
    message.set_count_embedding(true);
  if (plan.countHead)
    message.set_count_head(true);
  message.set_recompute(Plan::Recompute(plan.recompute));
  for (int i = 0; i < plan::kRecomputeModules; ++i)
    if (plan.modules.has(plan::RecomputeModule(i)))
      message.add_recompute_modules(Plan::RecomputeModule(i));
  if (plan.recomputeBlock)
    message.set_recompute_method(Plan::BLOCK);
  if (plan.recomputeLayers != 1)
    message.set_recompute_layers(plan.recomputeLayers);
  if (plan.offload != ordinary.offload)
    message.set_offload(Plan::Offload(plan.offload));
  if (plan.lossChunks != ordinary.lossChunks)
    message.set_loss_chunks(plan.lossChunks);
  if (plan.bucketBytes != ordinary.bucketBytes)
    message.set_bucket_bytes(plan.bucketBytes);
  if (!plan.shardings.empty())
    message.set_shardings(plan.shardings);
  message.set_micro_batch_size(plan.microBatch);
  return message;
}
