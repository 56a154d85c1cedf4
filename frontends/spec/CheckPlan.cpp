//===- CheckPlan.cpp - Fields of plan and cluster -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/Check.h"
#include "frontends/spec/model/PlanMessage.h"

using namespace hocket;
using namespace hocket::spec;

/// S19: nothing moves a program's state to the host's memory yet.
static void checkOffload(const Plan &plan, ConstraintErrors &errors) {
  if (plan.offload() != Plan::NO_OFFLOAD)
    errors.add(19, "plan.offload",
               "plan.offload is " + Plan::Offload_Name(plan.offload()) +
                   "; this build does not compile that yet: write NO_OFFLOAD");
}

/// S41: memory is chosen to fit what there is.
static void checkAutomatic(const Spec &spec, ConstraintErrors &errors) {
  if (spec.plan().recompute() == Plan::AUTO &&
      !spec.cluster().has_memory_bytes())
    errors.add(41, "plan.recompute",
               "plan.recompute is AUTO, which needs to know how many bytes a "
               "device has; write cluster.memory_bytes (--memory 80GiB)");
}

void spec::checkPlan(const Spec &spec, ConstraintErrors &errors) {
  for (const plan::BrokenRule &rule :
       brokenRules(planOf(spec), planSizes(spec)))
    errors.add(rule.number, rule.field, rule.text);
  // An empty name is no file.
  if (spec.plan().has_shardings() && spec.plan().shardings().empty())
    errors.add(43, "plan.shardings", "plan.shardings is empty; name a file");
  checkAutomatic(spec, errors);
  checkOffload(spec.plan(), errors);
}
