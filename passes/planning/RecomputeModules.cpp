//===- RecomputeModules.cpp - Parts of a layer made again -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/RecomputeModules.h"

using namespace hocket;
using namespace hocket::planning;

static constexpr std::string_view kNames[kRecomputeModules] = {
    "core_attn", "layernorm", "mlp",        "shared_experts",
    "moe",       "moe_act",   "activation", "pointwise"};

std::string_view planning::spelled(RecomputeModule module) {
  return kNames[size_t(module)];
}

std::optional<RecomputeModule>
planning::recomputeModuleNamed(std::string_view name) {
  for (int i = 0; i < kRecomputeModules; ++i)
    if (kNames[i] == name)
      return RecomputeModule(i);
  return std::nullopt;
}

std::string planning::printModules(RecomputeModules modules) {
  std::string text;
  for (int i = 0; i < kRecomputeModules; ++i)
    if (modules.has(RecomputeModule(i)))
      text += (text.empty() ? "" : "/") + std::string(kNames[i]);
  return text;
}
