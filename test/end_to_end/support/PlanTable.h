//===- PlanTable.h - The plans that must train one model --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Models and plans as tables. A plan is written as on the command line, and
/// with it the number of microbatches that a step's 12 sequences are cut into.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_SUPPORT_PLANTABLE_H
#define HOCKET_TEST_END_TO_END_SUPPORT_PLANTABLE_H

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace hocket::test {

/// Tiny models of vocabulary 61 in four layers.
struct ModelRow {
  const char *name;
  const char *fields;        ///< of the message `model`
  const char *data = "";     ///< fields of the message `training.data`
  const char *training = ""; ///< fields of the message `training`
};

/// A GPT, the same with dropout, a Llama of which no size divides well, and one
/// with a window.
extern const ModelRow gpt, gptWithDropout, llama, sliding;
/// A GPT, the same with dropout, and a Llama, on documents that share
/// sequences: several in most, none of which sees, or learns to follow,
/// another. A GPT, and a Llama with a window, on such documents whose positions
/// are those of the sequence.
extern const ModelRow gptOnDocuments, dropoutOnDocuments, llamaOnDocuments,
    gptOnMaskedDocuments, slidingOnDocuments;
/// A mixture of experts with a loss of its own, and one that drops tokens,
/// draws its choice into balance and has a shared expert; the first of them
/// with dropout.
extern const ModelRow experts, droppingExperts, expertsWithDropout;
/// Of which no rank has room for more than its even share, so that steps are
/// run again.
extern const ModelRow expertsRunAgain;
/// Layers by pattern: windows and ropes of two kinds, between norms that are
/// about zero; and layers of one branch each, attention with and without
/// positions, an MLP of its own width, experts.
extern const ModelRow patterned, hybrid;
extern const ModelRow sideBySide, sideBySideOnOneNorm;
/// Scores and logits within softcaps, with dropout and on documents.
extern const ModelRow capped, cappedOnDocuments;
/// Attention to latents, the same with dropout, and before experts that a bias
/// balances.
extern const ModelRow latent, latentWithDropout, latentExperts;
/// Heads that have slopes, with dropout and on documents.
extern const ModelRow sloped, slopedOnDocuments;
/// Scores that get a number by distance, with dropout and on documents.
extern const ModelRow relative, relativeOnDocuments;
/// State-space layers: between attention, of as many groups as ranks may split;
/// and alone, of one group that they do not.
extern const ModelRow stateSpace, oneGroup;

/// Encoders, trained on masked tokens of sentences and on their order: BERT,
/// and the same with Megatron's norms and dropout.
extern const ModelRow bert, bertWithDropout;
extern const ModelRow bertClasses, bertClassesWithDropout, bertChoices;
/// The same without types of tokens, positions being distances.
extern const ModelRow relativeBert;
/// Tokens of a prefix see each other, and what is behind it is learned.
extern const ModelRow prefixed, relativePrefixed;

/// An encoder before the decoder, trained on corrupted spans; one that takes in
/// less than the decoder; with dropout.
extern const ModelRow twoStacks, twoStacksOfFewInputs, twoStacksWithDropout;

/// A Llama that sees images, a GPT that does and has dropout, and the first
/// again with nothing trained but what lies between its tower and its layers.
extern const ModelRow sighted, sightedWithDropout, sightedByProjector;

/// A Llama that attends to neighbours of chunks, a GPT that does from its first
/// layer on, and one that does in one layer and has dropout.
extern const ModelRow retrieving, retrievingAtOnce, retrievingWithDropout;

/// Mixtures of experts with every way to keep their load even, and with none;
/// the last of them by a loss over what is computed together.
std::span<const ModelRow> balancedExperts();

struct PlanRow {
  const char *name;
  const char *mesh;       ///< as of --mesh; "" for one rank
  int64_t microbatches;   ///< of a step; divides 12 / dp
  const char *flags = ""; ///< more options, and fields as of --set
};

/// The number of `axis` of the plan's mesh; 1 if it is not there.
int64_t sizeOf(const PlanRow &plan, const std::string &axis);

/// For every model; that share sequences; with experts alone; of those that
/// only `droppingExperts` can do; with dropout.
std::span<const PlanRow> densePlans();
std::span<const PlanRow> contextPlans();
std::span<const PlanRow> expertPlans();
std::span<const PlanRow> moreExpertPlans();
std::span<const PlanRow> dropoutPlans();
/// Layouts of a checkpoint of `experts`, the first of one rank.
std::span<const PlanRow> checkpointLayouts();
/// One of every schedule.
std::span<const PlanRow> schedulePlans();
/// Of models in bf16; more for a mixture of experts.
std::span<const PlanRow> narrowPlans(const ModelRow &model);

/// A model under a plan.
struct PlanCase {
  const ModelRow *model;
  const PlanRow *plan;

  std::string name() const { return std::string(model->name) + plan->name; }
};

std::ostream &operator<<(std::ostream &out, const PlanCase &plan);

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_SUPPORT_PLANTABLE_H
