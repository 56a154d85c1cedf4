//===- BuildTraining.cpp - The training part as an op ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/BuildTraining.h"

#include "dialects/xf/IR/Xf.h"
#include "frontends/spec/Check.h"
#include "frontends/spec/LoadSpec.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::spec;

static Attribute optimizerAttr(const Optimizer &optimizer, Builder &builder) {
  auto real = [&](double value) { return builder.getF64FloatAttr(value); };
  if (optimizer.has_sgd())
    return xf::SgdAttr::get(builder.getContext(),
                            real(optimizer.sgd().momentum()),
                            real(optimizer.sgd().weight_decay()));
  const Optimizer::AdamW &adamw = optimizer.adamw();
  return xf::AdamWAttr::get(builder.getContext(), real(adamw.beta1()),
                            real(adamw.beta2()), real(adamw.eps()),
                            real(adamw.weight_decay()));
}

static xf::LossScaleAttr lossScaleAttr(const Training &training,
                                       Builder &builder) {
  if (!training.has_loss_scale())
    return nullptr;
  const LossScale &scale = training.loss_scale();
  auto real = [&](double value) { return builder.getF64FloatAttr(value); };
  return xf::LossScaleAttr::get(builder.getContext(), real(scale.initial()),
                                real(scale.growth_factor()),
                                real(scale.backoff_factor()),
                                scale.growth_interval(), real(scale.minimum()));
}

static xf::Precision precisionOf(Training::Precision precision) {
  switch (precision) {
  case Training::FP32:
    return xf::Precision::Fp32;
  case Training::BF16:
    return xf::Precision::Bf16;
  case Training::FP16:
    return xf::Precision::Fp16;
  }
  llvm_unreachable("a parsed enum has one of its values");
}

static xf::Recompute recomputeOf(Plan::Recompute recompute) {
  switch (recompute) {
  case Plan::SELECTIVE:
    return xf::Recompute::Selective;
  case Plan::FULL:
    return xf::Recompute::Full;
  case Plan::AUTO:
    return xf::Recompute::Auto;
  case Plan::NONE:
    return xf::Recompute::None;
  }
  llvm_unreachable("a parsed enum has one of its values");
}

static StringRef scheduleName(LearningRate::Schedule schedule) {
  switch (schedule) {
  case LearningRate::CONSTANT:
    return "constant";
  case LearningRate::LINEAR:
    return "linear";
  case LearningRate::COSINE:
    return "cosine";
  case LearningRate::INVERSE_SQRT:
    return "inverse_sqrt";
  case LearningRate::WSD:
    return "wsd";
  }
  llvm_unreachable("a parsed enum has one of its values");
}

static DictionaryAttr learningRateAttr(const LearningRate &rate,
                                       Builder &builder) {
  return builder.getDictionaryAttr({
      builder.getNamedAttr(
          "schedule", builder.getStringAttr(scheduleName(rate.schedule()))),
      builder.getNamedAttr("peak", builder.getF64FloatAttr(rate.peak())),
      builder.getNamedAttr("minimum", builder.getF64FloatAttr(rate.minimum())),
      builder.getNamedAttr("warmup_steps",
                           builder.getI64IntegerAttr(rate.warmup_steps())),
      builder.getNamedAttr("decay_steps",
                           builder.getI64IntegerAttr(rate.decay_steps())),
      builder.getNamedAttr("wsd_decay_steps",
                           builder.getI64IntegerAttr(rate.wsd_decay_steps())),
  });
}

static DictionaryAttr runtimeAttr(const Spec &spec, Builder &builder) {
  const Training &training = spec.training();
  SmallVector<NamedAttribute> entries;
  auto add = [&](StringRef name, Attribute value) {
    entries.push_back(builder.getNamedAttr(name, value));
  };
  auto whole = [&](StringRef name, int64_t value) {
    add(name, builder.getI64IntegerAttr(value));
  };
  add("data_split", builder.getStringAttr(training.data().split()));
  add("learning_rate", learningRateAttr(training.learning_rate(), builder));
  whole("log_interval", training.log_interval());
  whole("save_interval", training.save_interval());
  whole("seed", static_cast<int64_t>(training.seed()));
  add("spec", builder.getStringAttr(printSpec(spec)));
  whole("steps", training.steps());
  whole("valid_batches", training.validation().batches());
  whole("valid_interval", training.validation().interval());
  whole("vocab_size", spec.model().vocab_size());
  if (spec.cluster().has_memory_bytes())
    whole("memory_bytes", spec.cluster().memory_bytes());
  return builder.getDictionaryAttr(entries);
}

/// The fields of the plan that differ from their defaults; null where none
/// does, which is one rank.
static DictionaryAttr planAttr(const Spec &spec, Builder &builder) {
  const Plan &plan = spec.plan();
  NamedAttrList entries;
  auto size = [&](StringRef name, int64_t value, int64_t ordinary) {
    if (value != ordinary)
      entries.set(name, builder.getI64IntegerAttr(value));
  };
  size("pipeline_parallel", plan.pipeline_parallel(), 1);
  size("data_parallel", plan.data_parallel(), 1);
  size("context_parallel", plan.context_parallel(), 1);
  size("tensor_parallel", plan.tensor_parallel(), 1);
  // The rest of expert_parallel is the mesh's axis ep.
  ExpertGrid grid = expertGrid(plan).value_or(ExpertGrid());
  size("experts_over_context", grid.context, 1);
  size("experts_over_tensor", grid.tensor, 1);
  if (plan.has_expert_tensor_parallel())
    size("expert_tensor_parallel", plan.expert_tensor_parallel(),
         plan.tensor_parallel());
  size("zero_stage", plan.zero_stage(), 0);
  size("virtual_stages", plan.virtual_stages(), 1);
  size("schedule_group", plan.schedule_group(), plan.pipeline_parallel());
  size("recompute_layers", plan.recompute_layers(), 1);
  auto flag = [&](StringRef name, bool value) {
    if (value)
      entries.set(name, builder.getUnitAttr());
  };
  flag("sequence_parallel", plan.sequence_parallel());
  flag("count_embedding", plan.count_embedding());
  flag("count_head", plan.count_head());
  flag("balance_cost", plan.stage_split() == Plan::COST);
  flag("recompute_block", plan.recompute_method() == Plan::BLOCK);
  if (plan.context_strategy() != Plan::ALL_GATHER)
    entries.set("context_strategy",
                builder.getStringAttr(StringRef(Plan::ContextStrategy_Name(
                                                    plan.context_strategy()))
                                          .lower()));
  if (plan.pipeline_parallel() > 1 || plan.virtual_stages() > 1)
    entries.set("schedule", builder.getStringAttr(plan.schedule()));
  if (plan.layers_per_stage_size() > 0)
    entries.set(
        "layers_per_stage",
        builder.getDenseI64ArrayAttr(SmallVector<int64_t>(
            plan.layers_per_stage().begin(), plan.layers_per_stage().end())));
  if (plan.recompute_modules_size() > 0) {
    SmallVector<Attribute> modules;
    for (int module : plan.recompute_modules())
      modules.push_back(builder.getStringAttr(
          StringRef(Plan::RecomputeModule_Name(Plan::RecomputeModule(module)))
              .lower()));
    entries.set("recompute_modules", builder.getArrayAttr(modules));
  }
  return entries.empty() ? DictionaryAttr()
                         : entries.getDictionary(builder.getContext());
}

void spec::buildTraining(const Spec &spec, OpBuilder &builder,
                         Location location) {
  const Training &training = spec.training();
  MLIRContext *context = builder.getContext();
  builder.create<xf::TrainingOp>(
      location, builder.getStringAttr(spec.name()),
      // The program is global: a microbatch is what all data ranks compute.
      builder.getI64IntegerAttr(training.micro_batch_size() *
                                spec.plan().data_parallel()),
      builder.getI64IntegerAttr(training.global_batch_size()),
      builder.getI64IntegerAttr(training.sequence_length()),
      optimizerAttr(training.optimizer(), builder),
      builder.getF64FloatAttr(training.clip_norm()),
      xf::PrecisionAttr::get(context, precisionOf(training.precision())),
      xf::RecomputeAttr::get(context, recomputeOf(spec.plan().recompute())),
      lossScaleAttr(training, builder),
      training.fp8_format() == Training::HYBRID ? builder.getUnitAttr()
                                                : UnitAttr(),
      runtimeAttr(spec, builder), planAttr(spec, builder));
}
