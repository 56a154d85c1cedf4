//===- ParallelPlan.cpp - Plans as text, and their checks -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/cost/ParallelPlan.h"

#include "passes/planning/ScheduleGenerators.h"

#include <algorithm>
#include <charconv>

using namespace hocket;
using namespace hocket::planning;

std::string ParallelPlan::scheduleName() const {
  if (schedule.empty())
    return chunks > 1 ? "interleaved-1f1b" : "1f1b";
  return std::string(fullScheduleName(schedule));
}

RecomputeModules ParallelPlan::modulesAgain(bool compiled) const {
  if (recompute != Recompute::Selective)
    return {};
  if (!modules.empty())
    return modules;
  return compiled ? kDefaultModules : kMegatronModules;
}

std::vector<int64_t> planning::divisors(int64_t number, int64_t most) {
  std::vector<int64_t> found;
  for (int64_t divisor = 1; divisor <= std::min(number, most); ++divisor)
    if (number % divisor == 0)
      found.push_back(divisor);
  return found;
}

std::vector<int64_t> planning::evenLayers(int64_t layers, int64_t stages) {
  std::vector<int64_t> split(static_cast<size_t>(stages), layers / stages);
  int64_t left = layers % stages, first = (stages - left) / 2;
  // One stage more at the front than at the back where they do not pair up.
  for (int64_t stage = 0; stage < left; ++stage)
    ++split[static_cast<size_t>(first + stage)];
  return split;
}

std::vector<int64_t> planning::layersOf(const ParallelPlan &plan,
                                        const ModelShape &model) {
  return plan.layers.empty() ? evenLayers(model.layers, plan.stages())
                             : plan.layers;
}

std::string_view planning::spelled(Recompute recompute) {
  switch (recompute) {
  case Recompute::None:
    return "none";
  case Recompute::Selective:
    return "selective";
  case Recompute::Full:
    return "full";
  }
  return "none";
}

std::string_view planning::spelled(Offload offload) {
  switch (offload) {
  case Offload::None:
    return "none";
  case Offload::Optimizer:
    return "optimizer";
  case Offload::Activations:
    return "activations";
  case Offload::All:
    return "all";
  }
  return "none";
}

namespace {

/// A key of the text form whose value is a whole number.
struct NumberKey {
  std::string_view name;
  int64_t ParallelPlan::*field;
};

constexpr NumberKey numberKeys[] = {
    {"pp", &ParallelPlan::pp},     {"dp", &ParallelPlan::dp},
    {"cp", &ParallelPlan::cp},     {"tp", &ParallelPlan::tp},
    {"ep", &ParallelPlan::ep},     {"etp", &ParallelPlan::expertTp},
    {"v", &ParallelPlan::chunks},  {"mbs", &ParallelPlan::microBatch},
    {"zero", &ParallelPlan::zero},
};

Status badPlan(std::string_view key, const std::string &text) {
  return invalidArgument("plan: " + std::string(key) + text);
}

StatusOr<int64_t> numberOf(std::string_view key, std::string_view text) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
      value > (1 << 20))
    return badPlan(key, "=" + std::string(text) +
                            " is not a number from 0 to 1048576");
  return value;
}

StatusOr<std::vector<int64_t>> layerList(std::string_view text) {
  std::vector<int64_t> layers;
  while (true) {
    size_t slash = text.find('/');
    HOCKET_ASSIGN_OR_RETURN(int64_t count,
                            numberOf("layers", text.substr(0, slash)));
    layers.push_back(count);
    if (slash == std::string_view::npos)
      return layers;
    text.remove_prefix(slash + 1);
  }
}

StatusOr<RecomputeModules> moduleList(std::string_view text) {
  RecomputeModules modules;
  while (true) {
    size_t slash = text.find('/');
    std::string_view name = text.substr(0, slash);
    std::optional<RecomputeModule> module = recomputeModuleNamed(name);
    if (!module)
      return badPlan("modules", "=" + std::string(name) +
                                    " is no module; write some of core_attn, "
                                    "layernorm, mlp, shared_experts, moe, "
                                    "moe_act, activation and pointwise, with "
                                    "/ between");
    modules.add(*module);
    if (slash == std::string_view::npos)
      return modules;
    text.remove_prefix(slash + 1);
  }
}

/// One of a few words into `field`.
template <typename Word>
Status assignWord(std::string_view key, std::string_view value,
                  std::initializer_list<Word> words, Word &field) {
  std::string all;
  for (Word word : words) {
    if (value == spelled(word)) {
      field = word;
      return okStatus();
    }
    bool isLast = word == *(words.end() - 1);
    all += (all.empty() ? "" : isLast ? " or " : ", ");
    all += spelled(word);
  }
  return badPlan(key, "=" + std::string(value) + "; write " + all);
}

Status assign(std::string_view key, std::string_view value,
              ParallelPlan &plan) {
  for (const NumberKey &number : numberKeys)
    if (key == number.name) {
      HOCKET_ASSIGN_OR_RETURN(plan.*number.field, numberOf(key, value));
      return okStatus();
    }
  if (key == "sp") {
    if (value != "0" && value != "1")
      return badPlan(key, "=" + std::string(value) + "; write 0 or 1");
    plan.sequenceParallel = value == "1";
  } else if (key == "recompute") {
    return assignWord(key, value,
                      {Recompute::None, Recompute::Selective, Recompute::Full},
                      plan.recompute);
  } else if (key == "modules") {
    HOCKET_ASSIGN_OR_RETURN(plan.modules, moduleList(value));
  } else if (key == "offload") {
    return assignWord(
        key, value,
        {Offload::None, Offload::Optimizer, Offload::Activations, Offload::All},
        plan.offload);
  } else if (key == "schedule") {
    plan.schedule = value == "interleaved" ? "interleaved-1f1b" : value;
  } else if (key == "layers") {
    HOCKET_ASSIGN_OR_RETURN(plan.layers, layerList(value));
  } else {
    return badPlan(key, " is no key; write pp, dp, cp, tp, ep, etp, v, mbs, "
                        "sp, zero, recompute, modules, offload, schedule or "
                        "layers, as in tp=8,pp=16");
  }
  return okStatus();
}

} // namespace

std::string planning::printPlan(const ParallelPlan &plan) {
  std::string text;
  auto add = [&](const std::string &part) {
    text += (text.empty() ? "" : ",") + part;
  };
  for (const NumberKey &key : numberKeys) {
    bool always = key.name == "pp" || key.name == "dp" || key.name == "tp" ||
                  key.name == "mbs";
    if (always || plan.*key.field != ParallelPlan().*key.field)
      add(std::string(key.name) + "=" + std::to_string(plan.*key.field));
  }
  if (plan.sequenceParallel)
    add("sp=1");
  if (plan.recompute != Recompute::None)
    add("recompute=" + std::string(spelled(plan.recompute)));
  if (!plan.modules.empty())
    add("modules=" + printModules(plan.modules));
  if (plan.offload != Offload::None)
    add("offload=" + std::string(spelled(plan.offload)));
  if (!plan.schedule.empty())
    add("schedule=" + plan.scheduleName());
  for (size_t i = 0; i < plan.layers.size(); ++i)
    text += (i ? "/" : ",layers=") + std::to_string(plan.layers[i]);
  return text;
}

StatusOr<ParallelPlan> planning::parsePlan(std::string_view text,
                                           const ParallelPlan &base) {
  ParallelPlan plan = base;
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return badPlan(part,
                     " has no value; write " + std::string(part) + "=...");
    HOCKET_RETURN_IF_ERROR(
        assign(part.substr(0, equals), part.substr(equals + 1), plan));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return plan;
}

namespace {

Status checkSizes(const ParallelPlan &plan) {
  for (const NumberKey &key : numberKeys)
    if (key.name != "zero" && plan.*key.field < 1)
      return badPlan(key.name, "=0; write at least 1");
  if (plan.zero > 3)
    return badPlan("zero", "=" + std::to_string(plan.zero) +
                               "; write a stage from 0 to 3");
  if (!plan.modules.empty() && plan.recompute != Recompute::Selective)
    return badPlan("modules", "=" + printModules(plan.modules) +
                                  " has no meaning with recompute=" +
                                  std::string(spelled(plan.recompute)) +
                                  "; write recompute=selective");
  const auto &names = scheduleNames();
  if (std::find(names.begin(), names.end(), plan.scheduleName()) == names.end())
    return badPlan("schedule", "=" + plan.schedule + " is not known");
  return okStatus();
}

Status divides(std::string_view key, int64_t divisor, std::string_view what,
               int64_t number) {
  if (number % divisor == 0)
    return okStatus();
  return badPlan(key, "=" + std::to_string(divisor) + " does not divide " +
                          std::string(what) + " (" + std::to_string(number) +
                          ")");
}

Status checkStages(const ParallelPlan &plan, const ModelShape &model) {
  if (plan.chunks > 1 && plan.pp == 1)
    return badPlan("v", " has no use where pp=1");
  if (plan.stages() > model.layers)
    return badPlan("pp", "=" + std::to_string(plan.pp) +
                             " times v=" + std::to_string(plan.chunks) +
                             " makes more stages than the model's " +
                             std::to_string(model.layers) + " layers");
  if (plan.layers.empty())
    return okStatus();
  int64_t sum = 0;
  for (int64_t count : plan.layers)
    sum += count;
  if (int64_t(plan.layers.size()) != plan.stages() || sum != model.layers)
    return badPlan("layers", " has " + std::to_string(plan.layers.size()) +
                                 " stages of " + std::to_string(sum) +
                                 " layers together; write " +
                                 std::to_string(plan.stages()) + " of " +
                                 std::to_string(model.layers));
  return okStatus();
}

Status checkExperts(const ParallelPlan &plan, const ModelShape &model) {
  if (plan.ep == 1)
    return okStatus();
  if (model.experts == 0)
    return badPlan("ep", " has no use: the model has no experts");
  HOCKET_RETURN_IF_ERROR(
      divides("ep", plan.ep, "the model's experts", model.experts));
  HOCKET_RETURN_IF_ERROR(divides("etp", plan.expertTp, "tp", plan.tp));
  return divides("ep", plan.ep * plan.expertTp, "dp * cp * tp",
                 plan.dp * plan.cp * plan.tp);
}

Status checkOffload(const ParallelPlan &plan) {
  if (!plan.offloadsActivations() || !splitsWeight(plan.scheduleName()))
    return okStatus();
  return badPlan("offload", "=" + std::string(spelled(plan.offload)) +
                                ": schedule=" + plan.scheduleName() +
                                " splits the backward, and what it keeps for "
                                "weight gradients is not offloaded");
}

} // namespace

bool planning::splitsWeight(std::string_view schedule) {
  const ScheduleTraits *traits = scheduleTraits(schedule);
  return traits && traits->splitsWeights;
}

Status planning::checkPlan(const ParallelPlan &plan, const ModelShape &model,
                           const StepShape &step) {
  HOCKET_RETURN_IF_ERROR(checkSizes(plan));
  HOCKET_RETURN_IF_ERROR(
      divides("tp", plan.tp, "the model's heads", model.heads));
  HOCKET_RETURN_IF_ERROR(checkStages(plan, model));
  HOCKET_RETURN_IF_ERROR(checkExperts(plan, model));
  HOCKET_RETURN_IF_ERROR(checkOffload(plan));
  int64_t shards = plan.cp * (plan.sequenceParallel ? plan.tp : 1);
  HOCKET_RETURN_IF_ERROR(divides(plan.sequenceParallel ? "cp * tp" : "cp",
                                 shards, "the sequence's tokens",
                                 step.sequence));
  return divides("dp * mbs", plan.dp * plan.microBatch, "the global batch",
                 step.globalBatch);
}
