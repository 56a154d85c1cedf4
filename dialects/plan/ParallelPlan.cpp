//===- ParallelPlan.cpp - How a training is spread over ranks -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/plan/ParallelPlan.h"

#include "base/AxisKind.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace hocket;
using namespace hocket::plan;

std::string_view plan::fullScheduleName(std::string_view name) {
  return name == "interleaved" ? "interleaved-1f1b" : name;
}

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

int64_t plan::tensorGroups(const ParallelPlan &plan) {
  int64_t share = plan.expertTensor();
  return share > 0 && plan.tp % share == 0 ? plan.tp / share : 1;
}

int64_t plan::positionRuns(const ParallelPlan &plan) {
  return plan.cp * tensorGroups(plan);
}

std::optional<ExpertGrid> plan::expertGrid(const ParallelPlan &plan) {
  ExpertGrid grid;
  int64_t left = plan.ep;
  auto take = [&](int64_t ranks) {
    int64_t parts = std::gcd(left, ranks);
    left /= parts;
    return parts;
  };
  grid.tensor = take(tensorGroups(plan));
  grid.context = take(plan.cp);
  grid.data = take(plan.dp);
  // What the first cannot take no other order would spread either: of each
  // prime they have taken as many factors as there are.
  if (left != 1)
    return std::nullopt;
  return grid;
}

int64_t plan::expertRowsBound(const DroplessExperts &experts, int64_t ep,
                              int64_t tokens) {
  auto own = static_cast<double>(std::max<int64_t>(1, experts.experts / ep));
  auto all = static_cast<double>(tokens), topK = double(experts.topK);
  // A token chooses an expert once.
  double most = static_cast<double>(ep) * all * std::min(topK, own);
  double factor = experts.bound > 0 ? experts.bound : 1 + 12 / std::sqrt(own);
  // A product like 1.1 * 10 must not be rounded up for its last bit.
  double wish = std::ceil(factor * all * topK * (1 - 1e-12));
  // What is far beyond 32-bit numbers need not be exact.
  return static_cast<int64_t>(std::min({wish, most, 0x1p52}));
}

std::vector<MeshAxis> plan::meshAxes(const ParallelPlan &plan) {
  int64_t experts = expertGrid(plan).value_or(ExpertGrid()).data;
  std::vector<MeshAxis> axes;
  auto add = [&](AxisKind kind, int64_t size) {
    if (size > 1)
      axes.emplace_back(kind, size);
  };
  add(AxisKind::Pipeline, plan.pp);
  add(AxisKind::Data, plan.dp / experts);
  add(AxisKind::Expert, experts);
  add(AxisKind::Context, plan.cp);
  add(AxisKind::Tensor, plan.tp);
  return axes;
}

std::string plan::printAxes(const ParallelPlan &plan) {
  std::string text;
  for (const auto &[kind, size] : meshAxes(plan))
    text += (text.empty() ? "" : ",") + std::string(axisName(kind)) + "=" +
            std::to_string(size);
  return text.empty() ? "dp=1" : text;
}
