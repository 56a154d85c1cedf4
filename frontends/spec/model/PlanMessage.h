//===- PlanMessage.h - Plans of the schema ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A plan as specifications and plan files write it, and the one form that
/// everything else reads (dialects/plan/ParallelPlan.h).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_MODEL_PLANMESSAGE_H
#define HOCKET_FRONTENDS_SPEC_MODEL_PLANMESSAGE_H

#include "dialects/plan/PlanRules.h"
#include "frontends/spec/spec.pb.h"

namespace hocket::spec {

/// What `plan` says, whether or not its defaults were filled in; its microbatch
/// is 1 where it names none.
plan::ParallelPlan planOf(const Plan &plan);

/// The plan of a specification whose defaults were filled in.
plan::ParallelPlan planOf(const Spec &spec);

/// What that plan has to divide.
plan::PlanSizes planSizes(const Spec &spec);

/// The message that says the same, without defaults but the axes and the
/// microbatch.
Plan messageOf(const plan::ParallelPlan &plan);

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_MODEL_PLANMESSAGE_H
