//===- StageBalanceText.cpp - Layers and their costs as text --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/StageBalance.h"
#include "passes/planning/TextLines.h"

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr int64_t kMostLayerCount = 65536;

Status readLine(const TextLines &lines, const TextLine &line,
                StageBalanceProblem &problem) {
  std::string_view key = line[0].text;
  if (key == "layers") {
    for (size_t i = 1; i < line.size(); ++i) {
      HOCKET_ASSIGN_OR_RETURN(double cost,
                              lines.number(line[i], kMostLayerCost));
      problem.layers.push_back(cost);
    }
    return okStatus();
  }
  HOCKET_ASSIGN_OR_RETURN(
      bool taken,
      lines.takeWhole(line, {{"stages", 1, kMostLayerCount, &problem.stages},
                             {"least", 0, 1, &problem.least}}));
  if (taken)
    return okStatus();
  HOCKET_RETURN_IF_ERROR(lines.expectWords(line, 2, 2));
  if (key == "embedding") {
    HOCKET_ASSIGN_OR_RETURN(problem.embedding,
                            lines.number(line[1], kMostLayerCost));
  } else if (key == "head") {
    HOCKET_ASSIGN_OR_RETURN(problem.head,
                            lines.number(line[1], kMostLayerCost));
  } else {
    return lines.errorAt(line[0],
                         "expected stages, embedding, head, least or layers");
  }
  return okStatus();
}

} // namespace

StatusOr<StageBalanceProblem>
hocket::planning::readStageBalance(std::string_view file,
                                   std::string_view text) {
  TextLines lines(file, text);
  StageBalanceProblem problem;
  HOCKET_RETURN_IF_ERROR(lines.readOnce(
      "stage-balance",
      [&](const TextLine &line) { return readLine(lines, line, problem); },
      "layers"));
  if (Status checked = checkStageBalance(problem); !checked.ok())
    return lines.located(checked);
  return problem;
}

std::string
hocket::planning::writeStageBalance(const StageBalanceProblem &problem) {
  constexpr size_t width = 80;
  std::string text = "stage-balance\nstages " + std::to_string(problem.stages) +
                     "\nembedding " + writtenNumber(problem.embedding) +
                     "\nhead " + writtenNumber(problem.head) + "\nleast " +
                     std::to_string(problem.least) + "\n";
  std::string line;
  for (double cost : problem.layers) {
    std::string word = " " + writtenNumber(cost);
    if (line.size() + word.size() > width) {
      text += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "layers" : "") + word;
  }
  return line.empty() ? text : text + line + "\n";
}
