//===- PlanProblem.cpp - From a spec to a planning problem ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/PlanProblem.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "frontends/FrontEnd.h"
#include "frontends/spec/model/Frozen.h"
#include "frontends/spec/model/LayerPattern.h"
#include "frontends/spec/model/PlanMessage.h"
#include "frontends/spec/model/Retrieval.h"
#include "frontends/spec/model/Sizes.h"
#include "frontends/spec/model/Vision.h"
#include "frontends/spec/text/SpecText.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

using namespace hocket;
using namespace hocket::planning;

/// What prices see of a kind of layers.
static planning::LayerKind pricedKind(const spec::ResolvedKind &kind) {
  planning::LayerKind priced;
  priced.attention = kind.attention ? 1 : 0;
  priced.stateSpace = kind.stateSpace ? 1 : 0;
  priced.window = kind.attention ? kind.window() : 0;
  priced.windowShare = priced.window > 0 ? 1 : 0;
  priced.ffn = kind.isDense() ? kind.model.ffn() : 0;
  priced.experts = kind.hasExperts();
  return priced;
}

static StateSpace stateSpaceOf(const spec::StateSpace &from) {
  StateSpace space;
  space.heads = from.heads();
  space.headDim = from.head_dim();
  space.state = from.state_size();
  space.groups = from.groups();
  space.convolution = from.conv_width();
  space.normGroups = from.norm_groups();
  return space;
}

/// With what is trained of it.
static VisionShape visionOf(const spec::Spec &spec) {
  const spec::Model &model = spec.model();
  const spec::Vision &from = model.vision();
  VisionShape vision;
  vision.layers = computedLayers(from);
  vision.unread = from.layers() - vision.layers;
  vision.hidden = from.hidden();
  vision.heads = from.heads();
  vision.ffn = from.ffn();
  vision.rows = towerRows(from);
  vision.patch = patchElements(from);
  vision.images = spec.training().images_per_sequence();
  auto perMillion = [&](auto isOne) {
    return static_cast<int64_t>(trainedShare(spec, isOne) * 1e6);
  };
  vision.towerPerMillion = perMillion([&](const spec::Parameter &parameter) {
    return parameter.name.starts_with(spec::visionPrefix) &&
           !isUnread(model, parameter.name);
  });
  vision.projectorPerMillion = perMillion([](const spec::Parameter &parameter) {
    return spec::isOfProjector(parameter.name);
  });
  return vision;
}

static ModelShape shapeOf(const spec::Spec &spec) {
  const spec::Model &from = spec.model();
  ModelShape model;
  model.name = spec.name();
  model.layers = from.layers() + from.encoder().layers();
  model.hidden = from.hidden();
  model.heads = from.heads();
  model.kvHeads = from.kv_heads();
  model.headDim = from.head_dim();
  model.ffn = from.ffn();
  model.gated = isGated(from.activation());
  model.vocab = paddedVocabSize(from).get().value_or(from.vocab_size());
  if (from.position() == spec::Model::LEARNED)
    model.positions = from.max_positions();
  model.positions += from.token_types(); // Rows of the same width.
  // Of a prefix: its kernels may compute all of the square.
  model.bidirectional = from.attention_mask() != spec::Model::CAUSAL;
  model.tied = from.tied_embeddings();
  if (tellsClasses(from)) {
    model.classes = classValues(from);
    model.tied = false;
  }
  model.dropout = from.dropout().residual() > 0;
  model.inputNorms = hasNormBefore(from);
  model.resultNorms = hasPostNorm(from);
  model.headNorms = from.qk_norm();
  model.parallelBranches = from.branches() != spec::Model::SEQUENTIAL;
  model.oneNorm = hasOneNorm(from);
  model.mlpBiases = from.mlp_bias();
  model.cappedLogits = from.has_logit_softcap();
  if (from.has_moe()) {
    model.capacity = from.moe().capacity_factor();
    model.rowsBound = from.moe().expert_capacity_bound();
    model.runsAgain = from.moe().beyond_bound() == spec::Moe::RERUN;
    model.inputJitter = from.moe().input_jitter() > 0;
    model.experts = from.moe().experts();
    model.topK = from.moe().top_k();
    model.expertFfn = from.moe().ffn();
    model.sharedFfn = from.moe().shared_experts() * from.moe().ffn();
  }
  if (const spec::LatentAttention &latent = from.latent_attention();
      from.has_latent_attention())
    model.latent = {latent.q_lora_rank(), latent.kv_lora_rank(),
                    latent.qk_nope_head_dim(), latent.qk_rope_head_dim(),
                    latent.v_head_dim()};
  if (from.has_state_space())
    model.stateSpace = stateSpaceOf(from.state_space());
  if (from.has_vision())
    model.vision = visionOf(spec);
  const spec::Model encoder = encoderOf(from);
  spec::LayerPattern pattern(from), ofEncoder(encoder);
  for (int64_t layer = 0; layer < encoder.layers(); ++layer) {
    planning::LayerKind kind = pricedKind(ofEncoder[layer]);
    kind.encoder = true;
    model.addLayers(kind);
  }
  for (int64_t layer = 0; layer < from.layers(); ++layer) {
    planning::LayerKind kind = pricedKind(pattern[layer]);
    kind.crosses = from.has_encoder() || pattern[layer].retrieves;
    if (pattern[layer].encodes)
      kind.encodes = from.retrieval().encoder_layers();
    model.addLayers(kind);
  }
  return model;
}

/// Whether it is none of what sees images.
static bool isOfText(const spec::Parameter &parameter) {
  return !spec::isOfVision(parameter.name);
}

StatusOr<CostProblem>
hocket::planProblem(const spec::Spec &spec,
                    const cluster::ClusterChoice &cluster) {
  CostProblem problem;
  problem.model = shapeOf(spec);
  const spec::Training &training = spec.training();
  problem.step.sequence = training.sequence_length();
  problem.step.encoderSequence = training.encoder_sequence_length();
  if (spec.model().has_retrieval()) {
    const spec::Retrieval &retrieval = spec.model().retrieval();
    problem.step.chunk = retrieval.chunk_length();
    problem.step.retrieved = retrieval.retrieved_length();
    problem.step.neighborTokens = spec::neighborTokens(spec);
    problem.step.neighborSpan =
        retrieval.neighbors() * retrieval.retrieved_length();
  }
  problem.step.globalBatch = training.global_batch_size();
  problem.step.smallerBatches = spec::planSizes(spec).smallerBatches;
  problem.step.elementBits = training.precision() == spec::Training::FP32 ? 32
                             : training.fp8_format() == spec::Training::NONE
                                 ? 16
                                 : 8;
  problem.step.trainedPerMillion =
      static_cast<int64_t>(spec::trainedShare(spec, isOfText) * 1e6);
  problem.step.block = spec::fp8Block(training);
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
  const spec::Moe &moe = loaded.spec.model().moe();
  bool auxLoss =
      moe.aux_loss() > 0 && moe.aux_loss_scope() == spec::Moe::MICROBATCH;
  const spec::Training &training = loaded.spec.training();
  bool scales = training.fp8_format() != spec::Training::NONE &&
                training.fp8_recipe() == spec::Training::TENSORWISE;
  if (auxLoss || scales)
    problem->step.microbatch = loaded.sequencesTogether;
  // Which fields those are, and what frees the plan of each.
  if (scales)
    problem->step.keeps.push_back(
        {"training.fp8_recipe: TENSORWISE", "training.fp8_recipe: MXFP8"});
  if (auxLoss)
    problem->step.keeps.push_back(
        {"moe.aux_loss_scope: MICROBATCH", "moe.aux_loss_scope: SEQUENCE"});
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

spec::Plan hocket::messageOf(ParallelPlan plan, const ModelShape &model) {
  if (model.layers % plan.stages() != 0)
    plan.layers = layersOf(plan, model);
  return spec::messageOf(plan);
}

static StatusOr<ParallelPlan> readPlanFile(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(std::string text, spec::readInput(path));
  spec::Plan plan;
  spec::FieldLocations locations(path);
  HOCKET_RETURN_IF_ERROR(
      spec::parseText({std::move(text), path, "plan"}, plan, locations));
  return spec::planOf(plan);
}

StatusOr<ParallelPlan> hocket::readPlan(const std::string &text) {
  return isShortPlan(text) ? parsePlan(text) : readPlanFile(text);
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
  text << "# A plan of " << problem.model.name << " on "
       << formatNoun(uint64_t(problem.devices), "device") << " of "
       << problem.system.name() << ", predicted to take\n# "
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
