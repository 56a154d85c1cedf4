//===- PlanProblem.cpp - From a spec to a planning problem ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/PlanProblem.h"

#include "frontends/FrontEnd.h"
#include "frontends/spec/Sizes.h"
#include "frontends/spec/SpecText.h"
#include "runtime/base/Format.h"

#include <google/protobuf/text_format.h>

#include <charconv>
#include <sstream>

using namespace hocket;
using namespace hocket::planning;

static ModelShape shapeOf(const spec::Spec &spec) {
  const spec::Model &from = spec.model();
  ModelShape model;
  model.name = spec.name();
  model.layers = from.layers();
  model.hidden = from.hidden();
  model.heads = from.heads();
  model.kvHeads = from.kv_heads();
  model.headDim = from.head_dim();
  model.ffn = from.ffn();
  model.gated = isGated(from.activation());
  model.vocab = paddedVocabSize(from).get().value_or(from.vocab_size());
  if (from.position() == spec::Model::LEARNED)
    model.positions = from.max_positions();
  model.tied = from.tied_embeddings();
  model.window = from.has_sliding_window() ? from.sliding_window() : 0;
  model.dropout = from.dropout().residual() > 0;
  if (!from.has_moe())
    return model;
  model.capacity = from.moe().capacity_factor();
  model.experts = from.moe().experts();
  model.topK = from.moe().top_k();
  model.expertFfn = from.moe().ffn();
  model.sharedFfn = from.moe().shared_experts() * from.moe().ffn();
  // Dense layers between those with experts are priced as if in front.
  model.denseLayers = from.layers() - expertLayers(from);
  return model;
}

StatusOr<CostProblem>
hocket::planProblem(const spec::Spec &spec,
                    const cluster::ClusterChoice &cluster) {
  CostProblem problem;
  problem.model = shapeOf(spec);
  const spec::Training &training = spec.training();
  problem.step.sequence = training.sequence_length();
  problem.step.globalBatch = training.global_batch_size();
  problem.step.elementBits = training.precision() == spec::Training::FP32 ? 32
                             : training.fp8_format() == spec::Training::NONE
                                 ? 16
                                 : 8;
  problem.compiled = true;
  problem.system = cluster.system;
  problem.devices = cluster.devices;
  HOCKET_RETURN_IF_ERROR(checkShapes(problem.model, problem.step));
  return problem;
}

StatusOr<CostProblem> hocket::planProblem(const PlanRequest &request) {
  HOCKET_ASSIGN_OR_RETURN(cluster::ClusterChoice cluster,
                          cluster::readCluster(request.cluster));
  spec::LoadOptions options;
  options.overrides = request.overrides;
  options.withoutPlan = true;
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec loaded,
                          loadSpecification(request.input, options));
  StatusOr<CostProblem> problem = planProblem(loaded.spec, cluster);
  if (!problem.ok())
    return problem.status().withContext(request.input);
  return problem;
}

StatusOr<double> hocket::parseMargin(std::string text) {
  std::string written = text;
  bool percent = text.ends_with('%');
  if (percent)
    text.pop_back();
  double value = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (percent)
    value /= 100;
  if (error != std::errc() || rest != end || !(value >= 0 && value <= 0.9))
    return invalidArgument("--memory-margin " + written +
                           ": write a share from 0% to 90%, as in 5%");
  return value;
}

static Recompute recomputeOf(spec::Plan::Recompute recompute) {
  switch (recompute) {
  case spec::Plan::SELECTIVE:
    return Recompute::Selective;
  case spec::Plan::FULL:
    return Recompute::Full;
  case spec::Plan::NONE:
  case spec::Plan::AUTO:
    return Recompute::None;
  }
  return Recompute::None;
}

// The two enums are one, which passes/planning may not read from the spec.
static_assert(spec::Plan::RecomputeModule_ARRAYSIZE == kRecomputeModules);
static_assert(int(spec::Plan::CORE_ATTN) ==
              int(RecomputeModule::CoreAttention));
static_assert(int(spec::Plan::LAYERNORM) == int(RecomputeModule::LayerNorm));
static_assert(int(spec::Plan::MLP) == int(RecomputeModule::Mlp));
static_assert(int(spec::Plan::SHARED_EXPERTS) ==
              int(RecomputeModule::SharedExperts));
static_assert(int(spec::Plan::MOE) == int(RecomputeModule::Moe));
static_assert(int(spec::Plan::MOE_ACT) == int(RecomputeModule::MoeActivation));
static_assert(int(spec::Plan::ACTIVATION) == int(RecomputeModule::Activation));
static_assert(int(spec::Plan::POINTWISE) == int(RecomputeModule::Pointwise));

StatusOr<ParallelPlan> hocket::planOf(const spec::Plan &plan,
                                      const std::string &file) {
  if (plan.recompute() == spec::Plan::AUTO)
    return invalidArgument(file + ": recompute is AUTO, which has no price; "
                                  "write NONE, SELECTIVE or FULL");
  ParallelPlan result;
  result.pp = plan.pipeline_parallel();
  result.dp = plan.data_parallel();
  result.cp = plan.context_parallel();
  result.tp = plan.tensor_parallel();
  result.ep = plan.expert_parallel();
  if (result.ep > 1)
    result.expertTp = plan.has_expert_tensor_parallel()
                          ? plan.expert_tensor_parallel()
                          : result.tp;
  result.chunks = plan.virtual_stages();
  result.microBatch = plan.has_micro_batch_size() ? plan.micro_batch_size() : 1;
  result.sequenceParallel = plan.sequence_parallel();
  result.zero = plan.zero_stage();
  result.schedule = plan.schedule();
  result.recompute = recomputeOf(plan.recompute());
  for (int module : plan.recompute_modules())
    result.modules.add(RecomputeModule(module));
  result.offload = Offload(plan.offload());
  result.layers.assign(plan.layers_per_stage().begin(),
                       plan.layers_per_stage().end());
  return result;
}

spec::Plan hocket::messageOf(const ParallelPlan &plan,
                             const ModelShape &model) {
  spec::Plan message;
  message.set_pipeline_parallel(plan.pp);
  message.set_data_parallel(plan.dp);
  message.set_context_parallel(plan.cp);
  message.set_tensor_parallel(plan.tp);
  message.set_expert_parallel(plan.ep);
  if (plan.ep > 1 && plan.expertTp != plan.tp)
    message.set_expert_tensor_parallel(plan.expertTp);
  message.set_sequence_parallel(plan.sequenceParallel);
  message.set_zero_stage(plan.zero);
  message.set_virtual_stages(plan.chunks);
  message.set_schedule(plan.scheduleName());
  if (!plan.layers.empty() || model.layers % plan.stages() != 0)
    for (int64_t count : layersOf(plan, model))
      message.add_layers_per_stage(count);
  message.set_recompute(plan.recompute == Recompute::Full ? spec::Plan::FULL
                        : plan.recompute == Recompute::Selective
                            ? spec::Plan::SELECTIVE
                            : spec::Plan::NONE);
  for (int i = 0; i < kRecomputeModules; ++i)
    if (plan.modules.has(RecomputeModule(i)))
      message.add_recompute_modules(spec::Plan::RecomputeModule(i));
  if (plan.offload != Offload::None)
    message.set_offload(spec::Plan::Offload(plan.offload));
  message.set_micro_batch_size(plan.microBatch);
  return message;
}

StatusOr<ParallelPlan> hocket::readPlanFile(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(std::string text, spec::readInput(path));
  spec::Plan plan;
  spec::FieldLocations locations(path);
  HOCKET_RETURN_IF_ERROR(
      spec::parseText({std::move(text), path, "plan"}, plan, locations));
  return planOf(plan, path);
}

std::vector<PriceItem> hocket::itemsOf(const StepCost &cost) {
  std::vector<PriceItem> items;
  for (size_t i = 0; i < kTimeItems; ++i)
    items.push_back({"time", std::string(spelled(TimeItem(i))), cost.items[i]});
  const RankMemory &memory = cost.memory[size_t(cost.fullest)];
  for (size_t i = 0; i < kMemoryItems; ++i)
    items.push_back(
        {"bytes", std::string(spelled(MemoryItem(i))), memory.items[i]});
  for (size_t i = 0; i < kMemoryItems; ++i)
    if (memory.host[i] > 0)
      items.push_back(
          {"host", std::string(spelled(MemoryItem(i))), memory.host[i]});
  return items;
}

std::string hocket::planText(const PlanRequest &request,
                             const CostProblem &problem,
                             const PricedPlan &plan) {
  std::ostringstream text;
  text << "# A plan of " << problem.model.name << " on " << problem.devices
       << " devices of " << problem.system.name() << ", predicted to take\n# "
       << formatText("%.3f s +/- %.1f%% a step and %.2f GiB a rank.\n",
                     plan.cost.seconds(), 100 * spreadOf(problem),
                     double(plan.cost.bytes()) / double(1 << 30));
  text << "# hocket simulate " << request.input << " --plan THIS --cluster "
       << request.cluster << "\n#\n";
  for (const PriceItem &item : itemsOf(plan.cost))
    text << "# price " << item.kind << " " << item.name << " " << item.value
         << "\n";
  std::string message;
  google::protobuf::TextFormat::PrintToString(
      messageOf(plan.plan, problem.model), &message);
  text << "\n" << message;
  return text.str();
}

StatusOr<std::vector<PriceItem>>
hocket::readPriceItems(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(std::string text, spec::readInput(path));
  std::istringstream lines(text);
  std::vector<PriceItem> items;
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.starts_with("# price "))
      continue;
    size_t kindEnd = line.find(' ', 8), last = line.rfind(' ');
    PriceItem item;
    const char *end = line.data() + line.size();
    auto [rest, error] =
        std::from_chars(line.data() + last + 1, end, item.value);
    bool sound = kindEnd < last && error == std::errc() && rest == end &&
                 std::abs(item.value) < (int64_t(1) << 56);
    if (!sound)
      return invalidArgument(path + ":" + std::to_string(number) +
                             ": expected '# price KIND NAME NUMBER'");
    item.kind = line.substr(8, kindEnd - 8);
    item.name = line.substr(kindEnd + 1, last - kindEnd - 1);
    items.push_back(std::move(item));
  }
  if (items.empty())
    return invalidArgument(path + ": no lines '# price ...'; have it written "
                                  "by hocket plan -o");
  return items;
}
