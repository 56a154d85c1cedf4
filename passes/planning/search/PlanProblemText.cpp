//===- PlanProblemText.cpp - A plan search as text ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/search/PlanProblemText.h"

#include "passes/planning/TextLines.h"
#include "runtime/cluster/Systems.h"

#include <algorithm>
#include <iterator>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr int64_t mostSize = int64_t(1) << 40, mostDevices = 1 << 20;
constexpr int64_t mostTop = 1000, mostLayers = 1 << 20;
constexpr std::string_view nextLayers = "next-layers";

struct Flag {
  std::string_view key;
  bool *field;
};

std::vector<WholeLine> sizesOf(PlanProblem &problem) {
  ModelShape &model = problem.cost.model;
  StepShape &step = problem.cost.step;
  return {{"devices", 1, mostDevices, &problem.cost.devices},
          {"memory", 0, INT64_MAX, &problem.options.memory},
          {"top", 1, mostTop, &problem.options.top},
          {"layers", 1, mostSize, &model.layers},
          {"hidden", 1, mostSize, &model.hidden},
          {"heads", 1, mostSize, &model.heads},
          {"kv-heads", 1, mostSize, &model.kvHeads},
          {"head-dim", 1, mostSize, &model.headDim},
          {"ffn", 1, mostSize, &model.ffn},
          {"vocab", 1, mostSize, &model.vocab},
          {"positions", 0, mostSize, &model.positions},
          {"classes", 0, mostSize, &model.classes},
          {"window", 0, mostSize, &model.window},
          {"experts", 0, mostSize, &model.experts},
          {"top-k", 0, mostSize, &model.topK},
          {"expert-ffn", 0, mostSize, &model.expertFfn},
          {"shared-ffn", 0, mostSize, &model.sharedFfn},
          {"dense-layers", 0, mostSize, &model.denseLayers},
          {"state-heads", 0, mostSize, &model.stateSpace.heads},
          {"state-head-dim", 0, mostSize, &model.stateSpace.headDim},
          {"state-size", 0, mostSize, &model.stateSpace.state},
          {"state-groups", 0, mostSize, &model.stateSpace.groups},
          {"state-norm-groups", 1, mostSize, &model.stateSpace.normGroups},
          {"convolution", 1, mostSize, &model.stateSpace.convolution},
          {"vision-layers", 0, mostSize, &model.vision.layers},
          {"vision-unread", 0, mostSize, &model.vision.unread},
          {"vision-hidden", 0, mostSize, &model.vision.hidden},
          {"vision-heads", 0, mostSize, &model.vision.heads},
          {"vision-ffn", 0, mostSize, &model.vision.ffn},
          {"vision-rows", 0, mostSize, &model.vision.rows},
          {"vision-patch", 0, mostSize, &model.vision.patch},
          {"vision-images", 0, mostSize, &model.vision.images},
          {"vision-trained-per-million", 0, 1'000'000,
           &model.vision.towerPerMillion},
          {"projector-trained-per-million", 0, 1'000'000,
           &model.vision.projectorPerMillion},
          {"sequence", 1, mostSize, &step.sequence},
          {"encoder-sequence", 0, mostSize, &step.encoderSequence},
          {"chunk", 0, mostSize, &step.chunk},
          {"retrieved", 0, mostSize, &step.retrieved},
          {"neighbor-tokens", 0, mostSize, &step.neighborTokens},
          {"neighbor-span", 0, mostSize, &step.neighborSpan},
          {"batch", 1, mostSize, &step.globalBatch},
          {"bits", 8, 32, &step.elementBits},
          {"trained-per-million", 0, 1'000'000, &step.trainedPerMillion},
          {"block", 0, 128, &step.block}};
}

/// Numbers that need not be whole, from 0 on.
struct Multiple {
  std::string_view key;
  double *field;
};

std::vector<Multiple> multiplesOf(PlanProblem &problem) {
  ModelShape &model = problem.cost.model;
  return {{"capacity", &model.capacity}, {"rows-bound", &model.rowsBound}};
}

std::vector<Flag> flagsOf(PlanProblem &problem) {
  ModelShape &model = problem.cost.model;
  return {{"compiled", &problem.cost.compiled},
          {"offload", &problem.cost.mayOffload},
          {"gated", &model.gated},
          {"tied", &model.tied},
          {"dropout", &model.dropout},
          {"input-norms", &model.inputNorms},
          {"result-norms", &model.resultNorms},
          {"head-norms", &model.headNorms},
          {"parallel-branches", &model.parallelBranches},
          {"one-norm", &model.oneNorm},
          {"mlp-biases", &model.mlpBiases},
          {"capped-logits", &model.cappedLogits},
          {"input-jitter", &model.inputJitter},
          {"runs-again", &model.runsAgain},
          {"bidirectional", &model.bidirectional}};
}

/// "next-layers 3 0 1 0 0 0": so many layers of a kind, behind those before. A
/// seventh number is 1 for those of an encoder, and 2 for those that attend to
/// it, or to neighbours; an eighth is how many layers encode these inside.
Status readLayers(const TextLines &lines, const TextLine &line,
                  ModelShape &model) {
  constexpr int64_t most[] = {mostLayers, 1, 1, mostSize,
                              mostSize,   1, 2, mostLayers};
  HOCKET_RETURN_IF_ERROR(
      lines.expectWords(line, std::size(most) - 1, std::size(most) + 1));
  int64_t numbers[std::size(most)] = {};
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    HOCKET_ASSIGN_OR_RETURN(numbers[i],
                            lines.whole(line[i + 1], i == 0 ? 1 : 0, most[i]));
  }
  auto [count, attention, stateSpace, window, ffn, experts, stack, encodes] =
      numbers;
  LayerKind kind;
  kind.attention = double(attention);
  kind.stateSpace = double(stateSpace);
  kind.window = window;
  kind.windowShare = window > 0 ? 1 : 0;
  kind.ffn = ffn;
  kind.experts = experts == 1;
  kind.encoder = stack == 1;
  kind.crosses = stack == 2;
  kind.encodes = encodes;
  if (int64_t(model.kindOf.size()) + count > mostLayers)
    return lines.errorAt(line[1], "there are more layers than 2^20");
  model.addLayers(kind, count);
  return okStatus();
}

std::string writeLayers(const ModelShape &model) {
  std::string text;
  for (size_t i = 0, end = 0; i < model.kindOf.size(); i = end) {
    while (end < model.kindOf.size() && model.kindOf[end] == model.kindOf[i])
      ++end;
    const LayerKind &kind = model.kinds[model.kindOf[i]];
    text += nextLayers;
    for (int64_t number :
         {int64_t(end - i), int64_t(kind.attention), int64_t(kind.stateSpace),
          kind.window, kind.ffn, int64_t(kind.experts)})
      text += " " + std::to_string(number);
    if (kind.encoder || kind.crosses)
      text += kind.encoder ? " 1" : " 2";
    if (kind.encodes > 0)
      text += " " + std::to_string(kind.encodes);
    text += "\n";
  }
  return text;
}

Status readLine(const TextLines &lines, const TextLine &line,
                PlanProblem &problem) {
  if (line[0].text == nextLayers)
    return readLayers(lines, line, problem.cost.model);
  HOCKET_RETURN_IF_ERROR(lines.expectWords(line, 2, 2));
  const TextWord &value = line[1];
  if (line[0].text == "system") {
    StatusOr<cluster::System> system =
        cluster::systemNamed(std::string(value.text));
    if (!system.ok())
      return lines.errorAt(value, system.status().message());
    problem.cost.system = *system;
    return okStatus();
  }
  if (line[0].text == "keep") {
    StatusOr<PlanConstraints> kept =
        PlanConstraints::parse(std::string(value.text));
    if (!kept.ok())
      return lines.errorAt(value, kept.status().message());
    problem.constraints = *kept;
    return okStatus();
  }
  HOCKET_ASSIGN_OR_RETURN(bool taken, lines.takeWhole(line, sizesOf(problem)));
  if (taken)
    return okStatus();
  for (const Multiple &multiple : multiplesOf(problem))
    if (line[0].text == multiple.key) {
      HOCKET_ASSIGN_OR_RETURN(*multiple.field,
                              lines.number(value, plan::mostRowsBound));
      return okStatus();
    }
  for (const Flag &flag : flagsOf(problem))
    if (line[0].text == flag.key) {
      HOCKET_ASSIGN_OR_RETURN(int64_t set, lines.whole(value, 0, 1));
      *flag.field = set == 1;
      return okStatus();
    }
  return lines.errorAt(line[0], "expected system, keep, or a size or a choice "
                                "that a problem of plans has");
}

} // namespace

StatusOr<PlanProblem> planning::readPlanProblem(std::string_view file,
                                                std::string_view text) {
  TextLines lines(file, text);
  PlanProblem problem;
  HOCKET_RETURN_IF_ERROR(lines.readOnce(
      "plan-problem",
      [&](const TextLine &line) { return readLine(lines, line, problem); },
      nextLayers));
  if (problem.cost.system.name().empty())
    return lines.errorAtEnd("expected a line 'system NAME'");
  Status sizes = checkShapes(problem.cost.model, problem.cost.step);
  if (!sizes.ok())
    return lines.errorAtEnd(sizes.message());
  return problem;
}

std::string planning::writePlanProblem(const PlanProblem &problem) {
  PlanProblem own = problem, defaults;
  std::string text =
      "plan-problem\nsystem " + problem.cost.system.name() + "\n";
  if (!problem.constraints.empty())
    text += "keep " + problem.constraints.text() + "\n";
  auto line = [&](std::string_view key, int64_t value) {
    text += std::string(key) + " " + std::to_string(value) + "\n";
  };
  std::vector<WholeLine> sizes = sizesOf(own), usual = sizesOf(defaults);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (*sizes[i].field != *usual[i].field)
      line(sizes[i].key, *sizes[i].field);
  std::vector<Multiple> multiples = multiplesOf(own);
  std::vector<Multiple> defaultMultiples = multiplesOf(defaults);
  for (size_t i = 0; i < multiples.size(); ++i)
    if (*multiples[i].field != *defaultMultiples[i].field)
      text += std::string(multiples[i].key) + " " +
              writtenNumber(*multiples[i].field) + "\n";
  std::vector<Flag> flags = flagsOf(own), unset = flagsOf(defaults);
  for (size_t i = 0; i < flags.size(); ++i)
    if (*flags[i].field != *unset[i].field)
      line(flags[i].key, *flags[i].field ? 1 : 0);
  return text + writeLayers(problem.cost.model);
}

Status planning::validatePlans(const PlanProblem &problem,
                               const SearchResult &result) {
  int64_t before = 0;
  for (const PricedPlan &found : result.best) {
    auto wrong = [&](const std::string &what) {
      return internalError("Q80: " + printPlan(found.plan) + ": " + what);
    };
    StatusOr<StepCost> cost = priceStep(problem.cost, found.plan);
    if (!cost.ok())
      return wrong(cost.status().message());
    if (!problem.constraints.allow(found.plan, false))
      return wrong("is not what was to be kept");
    if (cost->items != found.cost.items || cost->bytes() != found.cost.bytes())
      return wrong("has another price");
    if (!fits(problem.cost, cost->memory, problem.options.memory))
      return wrong("does not fit");
    if (cost->nanoseconds() < before)
      return wrong("is faster than the one before it");
    before = cost->nanoseconds();
  }
  return okStatus();
}
