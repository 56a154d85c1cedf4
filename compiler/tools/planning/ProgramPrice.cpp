//===- ProgramPrice.cpp - What an executable's plan costs -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/ProgramPrice.h"

#include "compiler/tools/planning/PlanProblem.h"
#include "frontends/spec/LoadSpec.h"
#include "frontends/spec/model/PlanMessage.h"

using namespace hocket;
using namespace hocket::planning;

StatusOr<PlanPrice> hocket::priceProgram(const program::Program &program,
                                         const cluster::ClusterChoice &choice) {
  const std::string &text = program.provenance().spec_text();
  if (text.empty())
    return invalidArgument("the executable carries no specification");
  HOCKET_ASSIGN_OR_RETURN(spec::LoadedSpec loaded,
                          spec::parseSpec(text, "specification"));
  HOCKET_ASSIGN_OR_RETURN(CostProblem problem,
                          planProblem(loaded.spec, choice));
  ParallelPlan plan = spec::planOf(loaded.spec);
  plan.microBatch = int64_t(program.training().micro_batch_size());
  HOCKET_ASSIGN_OR_RETURN(StepCost cost, priceStep(problem, plan));
  PlanPrice price;
  price.seconds = cost.seconds();
  price.spread = spreadOf(problem);
  for (size_t item = 0; item < kTimeItems; ++item)
    price.terms.push_back({std::string(spelled(TimeItem(item))),
                           double(cost.items[item]) * 1e-9});
  return price;
}
