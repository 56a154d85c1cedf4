//===- PlanText.cpp - The short text form of plans ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/ParallelPlan.h"

#include <algorithm>
#include <charconv>
#include <set>

using namespace hocket;
using namespace hocket::plan;

std::string_view plan::spelled(Recompute recompute) {
  switch (recompute) {
  case Recompute::None:
    return "none";
  case Recompute::Selective:
    return "selective";
  case Recompute::Full:
    return "full";
  case Recompute::Auto:
    return "auto";
  }
  return "none";
}

std::string_view plan::spelled(Offload offload) {
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

std::string_view plan::spelled(ContextStrategy strategy) {
  switch (strategy) {
  case ContextStrategy::AllGather:
    return "allgather";
  case ContextStrategy::Ring:
    return "ring";
  case ContextStrategy::AllToAll:
    return "alltoall";
  }
  return "allgather";
}

namespace {

/// A key whose value is a whole number.
struct NumberKey {
  std::string_view name;
  int64_t ParallelPlan::*field;
  int64_t most = 1 << 20;
  bool isAlwaysWritten = false;
};

/// A key whose value is 0 or 1.
struct FlagKey {
  std::string_view name;
  bool ParallelPlan::*field;
};

/// A key whose value is a name or a path.
struct TextKey {
  std::string_view name;
  std::string ParallelPlan::*field;
};

constexpr NumberKey numberKeys[] = {
    {"pp", &ParallelPlan::pp, 1 << 20, true},
    {"dp", &ParallelPlan::dp, 1 << 20, true},
    {"cp", &ParallelPlan::cp},
    {"tp", &ParallelPlan::tp, 1 << 20, true},
    {"ep", &ParallelPlan::ep},
    {"etp", &ParallelPlan::expertTp},
    {"v", &ParallelPlan::chunks},
    {"mbs", &ParallelPlan::microBatch, 1 << 20, true},
    {"zero", &ParallelPlan::zero},
    {"group", &ParallelPlan::group, 1 << 24},
    {"recompute_layers", &ParallelPlan::recomputeLayers},
    {"loss_chunks", &ParallelPlan::lossChunks},
    {"bucket_bytes", &ParallelPlan::bucketBytes, int64_t(1) << 60},
};

constexpr FlagKey flagKeys[] = {
    {"sp", &ParallelPlan::sequenceParallel},
    {"recompute_block", &ParallelPlan::recomputeBlock},
    {"balance_cost", &ParallelPlan::balanceCost},
    {"count_embedding", &ParallelPlan::countEmbedding},
    {"count_head", &ParallelPlan::countHead},
};

constexpr TextKey textKeys[] = {
    {"schedule", &ParallelPlan::schedule},
    {"shardings", &ParallelPlan::shardings},
};

constexpr std::string_view knownKeys =
    "pp, dp, cp, tp, ep, etp, v, mbs, sp, zero, context, recompute, modules, "
    "recompute_block, recompute_layers, offload, schedule, group, layers, "
    "balance_cost, count_embedding, count_head, loss_chunks, bucket_bytes or "
    "shardings";

Status badPlan(std::string_view key, const std::string &text) {
  return invalidArgument("plan: " + std::string(key) + text);
}

StatusOr<int64_t> numberOf(std::string_view key, std::string_view text,
                           int64_t most) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
      value > most)
    return badPlan(key, "=" + std::string(text) +
                            " is not a number from 0 to " +
                            std::to_string(most));
  return value;
}

/// The parts of a value between slashes.
std::vector<std::string_view> partsOf(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t slash = text.find('/');
    parts.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos)
      return parts;
    text.remove_prefix(slash + 1);
  }
}

StatusOr<std::vector<int64_t>> layerList(std::string_view text) {
  std::vector<int64_t> layers;
  for (std::string_view part : partsOf(text)) {
    HOCKET_ASSIGN_OR_RETURN(int64_t count, numberOf("layers", part, 1 << 20));
    layers.push_back(count);
  }
  return layers;
}

StatusOr<RecomputeModules> moduleList(std::string_view text) {
  RecomputeModules modules;
  for (std::string_view name : partsOf(text)) {
    std::optional<RecomputeModule> module = recomputeModuleNamed(name);
    if (!module)
      return badPlan("modules", "=" + std::string(name) +
                                    " is no module; write some of core_attn, "
                                    "layernorm, mlp, shared_experts, moe, "
                                    "moe_act, activation and pointwise, with "
                                    "/ between");
    modules.add(*module);
  }
  return modules;
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

/// A key of which there is one of its kind.
Status assignOther(std::string_view key, std::string_view value,
                   ParallelPlan &plan) {
  if (key == "recompute")
    return assignWord(key, value,
                      {Recompute::None, Recompute::Selective, Recompute::Full,
                       Recompute::Auto},
                      plan.recompute);
  if (key == "offload")
    return assignWord(
        key, value,
        {Offload::None, Offload::Optimizer, Offload::Activations, Offload::All},
        plan.offload);
  if (key == "context")
    return assignWord(key, value,
                      {ContextStrategy::AllGather, ContextStrategy::Ring,
                       ContextStrategy::AllToAll},
                      plan.context);
  if (key == "modules") {
    HOCKET_ASSIGN_OR_RETURN(plan.modules, moduleList(value));
  } else if (key == "layers") {
    HOCKET_ASSIGN_OR_RETURN(plan.layers, layerList(value));
  } else {
    return badPlan(key, " is no key; write " + std::string(knownKeys) +
                            ", as in tp=8,pp=16");
  }
  return okStatus();
}

Status assign(std::string_view key, std::string_view value,
              ParallelPlan &plan) {
  for (const NumberKey &number : numberKeys)
    if (key == number.name) {
      HOCKET_ASSIGN_OR_RETURN(plan.*number.field,
                              numberOf(key, value, number.most));
      return okStatus();
    }
  for (const FlagKey &flag : flagKeys)
    if (key == flag.name) {
      if (value != "0" && value != "1")
        return badPlan(key, "=" + std::string(value) + "; write 0 or 1");
      plan.*flag.field = value == "1";
      return okStatus();
    }
  for (const TextKey &text : textKeys)
    if (key == text.name) {
      plan.*text.field =
          key == "schedule" ? fullScheduleName(value) : std::string_view(value);
      return okStatus();
    }
  return assignOther(key, value, plan);
}

/// A value with what separates values in quotes.
std::string quoted(const std::string &value) {
  if (value.find_first_of(",'") == std::string::npos)
    return value;
  std::string text = "'";
  for (char c : value)
    text += c == '\'' ? "''" : std::string(1, c);
  return text + "'";
}

/// Takes a value from the front of `text`, up to a comma or its end.
StatusOr<std::string> takeValue(std::string_view key, std::string_view &text) {
  std::string value;
  if (!text.starts_with('\'')) {
    value = text.substr(0, text.find(','));
    text.remove_prefix(value.size());
    return value;
  }
  size_t at = 1;
  for (; at < text.size(); ++at) {
    if (text[at] == '\'' && !text.substr(at + 1).starts_with('\''))
      break;
    at += text[at] == '\'' ? 1 : 0;
    value += text[at];
  }
  if (at == text.size())
    return badPlan(key, " has a quote without its end");
  text.remove_prefix(at + 1);
  if (!text.empty() && !text.starts_with(','))
    return badPlan(key, " has something behind its quoted value");
  return value;
}

} // namespace

std::string plan::printValue(const ParallelPlan &plan, std::string_view key) {
  for (const NumberKey &number : numberKeys)
    if (key == number.name)
      return std::to_string(key == "etp" ? plan.expertTensor()
                                         : plan.*number.field);
  for (const FlagKey &flag : flagKeys)
    if (key == flag.name)
      return plan.*flag.field ? "1" : "0";
  if (key == "schedule")
    return plan.scheduleName();
  if (key == "shardings")
    return plan.shardings;
  if (key == "recompute")
    return std::string(spelled(plan.recompute));
  if (key == "offload")
    return std::string(spelled(plan.offload));
  if (key == "context")
    return std::string(spelled(plan.context));
  if (key == "modules")
    return printModules(plan.modules);
  std::string text;
  if (key == "layers")
    for (size_t i = 0; i < plan.layers.size(); ++i)
      text += (i ? "/" : "") + std::to_string(plan.layers[i]);
  return text;
}

std::string plan::printPlan(const ParallelPlan &plan) {
  static const ParallelPlan ordinary;
  std::string text;
  auto add = [&](std::string_view key) {
    text += (text.empty() ? "" : ",") + std::string(key) + "=" +
            quoted(printValue(plan, key));
  };
  for (const NumberKey &key : numberKeys)
    if (key.isAlwaysWritten || plan.*key.field != ordinary.*key.field)
      add(key.name);
  for (const FlagKey &key : flagKeys)
    if (plan.*key.field)
      add(key.name);
  if (plan.context != ordinary.context)
    add("context");
  if (plan.recompute != ordinary.recompute)
    add("recompute");
  if (!plan.modules.empty())
    add("modules");
  if (plan.offload != ordinary.offload)
    add("offload");
  if (!plan.schedule.empty())
    add("schedule");
  if (!plan.layers.empty())
    add("layers");
  if (!plan.shardings.empty())
    add("shardings");
  return text;
}

StatusOr<std::vector<std::pair<std::string, std::string>>>
plan::splitPlan(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> entries;
  std::set<std::string, std::less<>> seen;
  while (!text.empty()) {
    size_t equals = text.find_first_of("=,");
    std::string key(text.substr(0, equals));
    if (equals == std::string_view::npos || text[equals] == ',')
      return badPlan(key, " has no value; write " + key + "=...");
    if (!seen.insert(key).second)
      return badPlan(key, " is there twice");
    text.remove_prefix(equals + 1);
    HOCKET_ASSIGN_OR_RETURN(std::string value, takeValue(key, text));
    entries.emplace_back(std::move(key), std::move(value));
    if (text.empty())
      return entries;
    text.remove_prefix(1);
    if (text.empty())
      return badPlan(entries.back().first,
                     " has a comma and nothing behind it");
  }
  return entries;
}

StatusOr<ParallelPlan> plan::parsePlan(std::string_view text,
                                       const ParallelPlan &base) {
  ParallelPlan plan = base;
  HOCKET_ASSIGN_OR_RETURN(auto entries, splitPlan(text));
  for (const auto &[key, value] : entries)
    HOCKET_RETURN_IF_ERROR(assign(key, value, plan));
  if (std::ranges::any_of(entries, [](const auto &entry) {
        return entry.first == "etp" && entry.second == "0";
      }))
    return badPlan("etp", "=0; write at least 1");
  if (plan.expertTp == plan.tp)
    plan.expertTp = 0;
  return plan;
}

bool plan::isShortPlan(std::string_view text) {
  return text.find('=') < text.find('/');
}
