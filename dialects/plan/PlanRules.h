//===- PlanRules.h - Whether a plan is one ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The one judge of plans: specifications, plan search, `simulate`, and what
/// `compile` proposes where memory runs out all ask it. Its numbers are those
/// of docs/spec.md.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_PLAN_PLANRULES_H
#define HOCKET_DIALECTS_PLAN_PLANRULES_H

#include "dialects/plan/ParallelPlan.h"

namespace hocket::plan {

/// What a plan has to divide. A size of 0 is unknown, and what depends on it is
/// not looked at; `experts` of 0 are none.
struct PlanSizes {
  int64_t layers = 0;        ///< Of both stacks, the encoder's first.
  int64_t encoderLayers = 0; ///< Those of them that are an encoder's.
  int64_t heads = 0;
  int64_t kvHeads = 0;                     ///< 0 where no layer attends.
  int64_t stateHeads = 0, stateGroups = 0; ///< Of state-space layers.
  int64_t visionHeads = 0; ///< Of a tower that sees images; 0: there is none.
  int64_t experts = 0;
  bool classifies = false; ///< Has a loss of sequences alone, not of tokens.
  int64_t sequence = 0;    ///< Tokens.
  int64_t encoderSequence = 0;
  int64_t globalBatch = 0; ///< Sequences of a step.
  /// Sequences of earlier steps, where the batch grows.
  std::vector<int64_t> smallerBatches = {};
  int64_t devices = 0;
  /// Numbers that have a scale in 8 bits, whatever the plan: shards are whole
  /// blocks of them. 0: there are no such blocks.
  int64_t block = 0;
  /// Widths that tensor ranks split, with `block`: of a head, of an expert and
  /// of all shared experts. 0: there are none.
  int64_t headDim = 0, expertFfn = 0, sharedFfn = 0;
  std::vector<int64_t> ffn; ///< Of dense MLPs, each width once.
};

/// "S22", at the field "plan.tensor_parallel" of a specification, and what to
/// write instead.
struct BrokenRule {
  int number = 0;
  std::string field;
  std::string text;
};

/// The rules that a plan breaks, in their order: S4, S14, S18, S20 to S23, S35
/// to S38, S40, S43, S61, S62, S86 to S88, S109 and S117 to S119. The
/// schedule's name is not looked at (S25, Q10).
std::vector<BrokenRule> brokenRules(const ParallelPlan &plan,
                                    const PlanSizes &sizes);

/// S61 and S62 alone: what of a plan would cut blocks of 8-bit numbers.
std::vector<BrokenRule> brokenBlocks(const ParallelPlan &plan,
                                     const PlanSizes &sizes);

} // namespace hocket::plan

#endif // HOCKET_DIALECTS_PLAN_PLANRULES_H
