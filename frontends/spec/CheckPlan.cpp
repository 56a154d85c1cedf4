//===- CheckPlan.cpp - Fields of plan and cluster -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/Sizes.h"

#include <numeric>

using namespace hocket::spec;

/// Ranks that the plan asks for. Each axis is in its range (S4).
static CheckedSize rankCount(const Plan &plan) {
  return CheckedSize(plan.pipeline_parallel()) * plan.data_parallel() *
         plan.context_parallel() * plan.tensor_parallel();
}

/// S20.
static void checkRanks(const Spec &spec, ConstraintErrors &errors) {
  std::optional<int64_t> ranks = rankCount(spec.plan()).get();
  if (!ranks || *ranks > maxRanks) {
    errors.add(20, "plan",
               "the plan's axes ask for more than " + std::to_string(maxRanks) +
                   " ranks; write smaller ones");
    return;
  }
  int64_t devices = spec.cluster().devices();
  if (devices != *ranks)
    errors.add(20, "cluster.devices",
               "cluster.devices is " + std::to_string(devices) +
                   ", but the plan's axes multiply to " +
                   std::to_string(*ranks) + " ranks (" + planAxes(spec.plan()) +
                   "); write " + std::to_string(*ranks) + ", or leave it out");
}

/// S19: what this build does not compile yet.
static void addUnsupported(const std::string &path, const std::string &value,
                           const std::string &instead,
                           ConstraintErrors &errors) {
  errors.add(19, path,
             path + " is " + value +
                 "; this build does not compile that yet: write " + instead);
}

/// S21, S35: ranks that hold different experts.
static void checkExperts(const Spec &spec, ConstraintErrors &errors) {
  const Plan &plan = spec.plan();
  const std::string path = "plan.expert_parallel";
  std::string value = std::to_string(plan.expert_parallel());
  int64_t experts = spec.model().moe().experts();
  if (plan.expert_parallel() > 1 &&
      (experts == 0 || experts % plan.expert_parallel() != 0))
    errors.add(35, path,
               path + " is " + value + ", which does not divide the model's " +
                   std::to_string(experts) + " experts");
  CheckedSize copies =
      CheckedSize(plan.data_parallel()) * plan.context_parallel();
  std::string ranks = "data_parallel * context_parallel";
  int64_t groups = tensorGroups(plan);
  if (groups > 1) {
    copies = copies * groups;
    ranks += plan.expert_tensor_parallel() == 1
                 ? " * tensor_parallel"
                 : " * tensor_parallel / expert_tensor_parallel";
  }
  bool hasGrid = !plan.has_expert_tensor_parallel() ||
                 plan.tensor_parallel() % plan.expert_tensor_parallel() == 0;
  if (!copies.get() || !hasGrid) // S20, S38
    return;
  if (!expertGrid(plan))
    errors.add(21, path,
               path + " is " + value + ", which does not divide " + ranks +
                   " (" + std::to_string(*copies.get()) + ")");
}

/// S37, S38: ranks that share experts.
static void checkSharedExperts(const Spec &spec, ConstraintErrors &errors) {
  const Plan &plan = spec.plan();
  const std::string path = "plan.expert_tensor_parallel";
  int64_t share = plan.expert_tensor_parallel(), ranks = plan.tensor_parallel();
  if (!plan.has_expert_tensor_parallel() || share == ranks)
    return;
  std::string value = std::to_string(share);
  if (ranks % share != 0)
    errors.add(38, path,
               path + " is " + value +
                   ", which does not divide plan.tensor_parallel (" +
                   std::to_string(ranks) + "); write one of its divisors");
  else if (spec.model().moe().experts() == 0)
    errors.add(37, path,
               path + " is " + value +
                   ", which has no use without experts; leave it out");
  else if (!plan.sequence_parallel())
    errors.add(37, path,
               path + " is " + value + ", so that " +
                   (share == 1 ? "each tensor rank sends"
                               : "groups of as many tensor ranks send") +
                   " tokens of " + (share == 1 ? "its" : "their") +
                   " own to the experts; write sequence_parallel: true "
                   "(--sequence-parallel), or leave it out");
}

/// S18 for stages that are written out.
static void checkLayerList(const Spec &spec, int64_t stages,
                           ConstraintErrors &errors) {
  const Plan &plan = spec.plan();
  const std::string path = "plan.layers_per_stage";
  int64_t layers = spec.model().layers(), sum = 0;
  if (plan.layers_per_stage_size() != stages) {
    errors.add(18, path,
               path + " has " + std::to_string(plan.layers_per_stage_size()) +
                   " entries; write one for each of the " +
                   std::to_string(stages) +
                   " stages (pipeline_parallel * virtual_stages)");
    return;
  }
  for (int64_t count : plan.layers_per_stage()) {
    if (count < 0 || count > layers) {
      errors.add(18, path,
                 path + " has an entry of " + std::to_string(count) +
                     "; write numbers from 0 to model.layers (" +
                     std::to_string(layers) + ")");
      return;
    }
    sum += count;
  }
  if (sum != layers)
    errors.add(18, path,
               "the entries of " + path + " add up to " + std::to_string(sum) +
                   "; write as many as model.layers (" +
                   std::to_string(layers) + ")");
}

/// S18: every layer has a stage, and every stage something to compute.
static void checkStages(const Spec &spec, ConstraintErrors &errors) {
  const Plan &plan = spec.plan();
  std::optional<int64_t> stages =
      (CheckedSize(plan.pipeline_parallel()) * plan.virtual_stages()).get();
  if (!stages)
    return; // no: the ranges of S4 keep it
  if (plan.virtual_stages() > 1 && plan.pipeline_parallel() == 1)
    errors.add(18, "plan.virtual_stages",
               "plan.virtual_stages is " +
                   std::to_string(plan.virtual_stages()) +
                   ", which has no use on one pipeline rank; write 1, or a "
                   "larger pipeline_parallel");
  if (plan.layers_per_stage_size() > 0)
    return checkLayerList(spec, *stages, errors);
  int64_t parts =
      spec.model().layers() + plan.count_embedding() + plan.count_head();
  if (*stages > parts)
    errors.add(18, "plan.virtual_stages",
               "there are " + std::to_string(*stages) +
                   " stages (pipeline_parallel * virtual_stages) for " +
                   std::to_string(parts) +
                   " layers; write fewer stages, or layers_per_stage");
}

/// S22: heads go to tensor ranks whole.
static void checkHeads(const Spec &spec, ConstraintErrors &errors) {
  int64_t heads = spec.model().heads(), ranks = spec.plan().tensor_parallel();
  if (heads % ranks != 0)
    errors.add(22, "plan.tensor_parallel",
               "plan.tensor_parallel is " + std::to_string(ranks) +
                   ", which does not divide model.heads (" +
                   std::to_string(heads) + "); write one of its divisors");
}

/// S23: positions go to ranks in shards of one size.
static void checkPositions(const Spec &spec, ConstraintErrors &errors) {
  const Plan &plan = spec.plan();
  CheckedSize shards = CheckedSize(plan.context_parallel());
  if (plan.sequence_parallel())
    shards = shards * plan.tensor_parallel();
  std::optional<int64_t> count = shards.get();
  int64_t length = spec.training().sequence_length();
  if (!count || length % *count == 0)
    return;
  errors.add(23, "training.sequence_length",
             "training.sequence_length is " + std::to_string(length) +
                 ", which " + std::to_string(*count) +
                 " ranks do not share evenly (context_parallel, and "
                 "tensor_parallel with sequence_parallel); write a multiple");
}

/// S36: with all-to-all, key heads go to context ranks too.
static void checkContext(const Spec &spec, ConstraintErrors &errors) {
  const Plan &plan = spec.plan();
  if (plan.context_parallel() == 1 ||
      plan.context_strategy() != Plan::ALL_TO_ALL)
    return;
  CheckedSize ranks =
      CheckedSize(plan.context_parallel()) * plan.tensor_parallel();
  int64_t heads = spec.model().kv_heads();
  if (ranks.get() && heads % *ranks.get() == 0)
    return;
  errors.add(36, "plan.context_strategy",
             "plan.context_strategy is ALL_TO_ALL, which deals out key heads, "
             "but model.kv_heads (" +
                 std::to_string(heads) +
                 ") is no multiple of context_parallel * tensor_parallel (" +
                 std::to_string(*ranks.get()) +
                 "); write ALL_GATHER or RING, or fewer ranks");
}

/// S43: what shardings that are written out can be of.
static void checkShardings(const Spec &spec, ConstraintErrors &errors) {
  const Plan &plan = spec.plan();
  if (!plan.has_shardings())
    return;
  std::string what;
  if (plan.shardings().empty())
    what = "is empty; name a file";
  else if (plan.pipeline_parallel() > 1 || plan.virtual_stages() > 1)
    what = "is of programs in one stage; leave pipeline_parallel and "
           "virtual_stages out";
  else if (plan.context_parallel() > 1)
    what = "splits over the data and the tensor axis; leave context_parallel "
           "out";
  else if (spec.model().moe().experts() > 0)
    what = "is of models without experts";
  else if (plan.data_parallel() * plan.tensor_parallel() == 1)
    what = "has no use on one rank; leave it out";
  if (!what.empty())
    errors.add(43, "plan.shardings", "plan.shardings " + what);
}

/// S40, S41: recomputation.
static void checkRecompute(const Spec &spec, ConstraintErrors &errors) {
  const Plan &plan = spec.plan();
  if (plan.recompute() != Plan::FULL &&
      (plan.recompute_method() != Plan::UNIFORM ||
       plan.recompute_layers() != 1))
    errors.add(40, "plan.recompute",
               "plan.recompute is " + Plan::Recompute_Name(plan.recompute()) +
                   ", with which recompute_method and recompute_layers have no "
                   "meaning; leave them out, or write FULL");
  if (plan.recompute() != Plan::SELECTIVE && plan.recompute_modules_size() > 0)
    errors.add(40, "plan.recompute_modules",
               "plan.recompute is " + Plan::Recompute_Name(plan.recompute()) +
                   ", with which recompute_modules has no meaning; leave it "
                   "out, or write SELECTIVE");
  if (plan.recompute() == Plan::AUTO && !spec.cluster().has_memory_bytes())
    errors.add(41, "plan.recompute",
               "plan.recompute is AUTO, which needs to know how many bytes a "
               "device has; write cluster.memory_bytes (--memory 80GiB)");
}

/// S19: nothing moves a program's state to the host's memory yet.
static void checkOffload(const Spec &spec, ConstraintErrors &errors) {
  Plan::Offload offload = spec.plan().offload();
  if (offload != Plan::NO_OFFLOAD)
    addUnsupported("plan.offload", Plan::Offload_Name(offload), "NO_OFFLOAD",
                   errors);
}

int64_t hocket::spec::tensorGroups(const Plan &plan) {
  int64_t ranks = plan.tensor_parallel(), share = plan.expert_tensor_parallel();
  bool isSplit = plan.has_expert_tensor_parallel() && ranks % share == 0;
  return isSplit ? ranks / share : 1;
}

std::optional<ExpertGrid> hocket::spec::expertGrid(const Plan &plan) {
  ExpertGrid grid;
  int64_t left = plan.expert_parallel();
  auto take = [&](int64_t ranks) {
    int64_t parts = std::gcd(left, ranks);
    left /= parts;
    return parts;
  };
  grid.tensor = take(tensorGroups(plan));
  grid.context = take(plan.context_parallel());
  grid.data = take(plan.data_parallel());
  // What the first cannot take no other order would spread either: of each
  // prime they have taken as many factors as there are.
  if (left != 1)
    return std::nullopt;
  return grid;
}

std::string hocket::spec::planAxes(const Plan &plan) {
  int64_t experts = expertGrid(plan).value_or(ExpertGrid()).data;
  std::string text;
  auto add = [&](const char *name, int64_t size) {
    if (size > 1)
      text += (text.empty() ? "" : ",") + std::string(name) + "=" +
              std::to_string(size);
  };
  add("pp", plan.pipeline_parallel());
  // Ranks along `ep` are data-parallel ones that hold different experts.
  add("dp", plan.data_parallel() / experts);
  add("ep", experts);
  add("cp", plan.context_parallel());
  add("tp", plan.tensor_parallel());
  return text.empty() ? "dp=1" : text;
}

void hocket::spec::checkPlan(const Spec &spec, ConstraintErrors &errors) {
  checkRanks(spec, errors);
  checkExperts(spec, errors);
  checkSharedExperts(spec, errors);
  checkStages(spec, errors);
  checkHeads(spec, errors);
  checkPositions(spec, errors);
  checkContext(spec, errors);
  checkShardings(spec, errors);
  checkRecompute(spec, errors);
  checkOffload(spec, errors);
}
