//===- RecomputeModules.cpp - Parts of a layer made again -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/RecomputeModules.h"

using namespace hocket;
using namespace hocket::plan;

static constexpr std::string_view kNames[kRecomputeModules] = {
    "core_attn", "layernorm", "mlp",        "shared_experts",
    "moe",       "moe_act",   "activation", "pointwise"};

std::string_view plan::spelled(RecomputeModule module) {
  return kNames[size_t(module)];
}

std::optional<RecomputeModule>
plan::recomputeModuleNamed(std::string_view name) {
  for (int i = 0; i < kRecomputeModules; ++i)
    if (kNames[i] == name)
      return RecomputeModule(i);
  return std::nullopt;
}

std::string plan::printModules(RecomputeModules modules) {
  std::string text;
  for (int i = 0; i < kRecomputeModules; ++i)
    if (modules.has(RecomputeModule(i)))
      text += (text.empty() ? "" : "/") + std::string(kNames[i]);
  return text;
}
