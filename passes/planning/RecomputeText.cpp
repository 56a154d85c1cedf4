//===- RecomputeText.cpp - Residuals and budgets as text ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/RecomputePlan.h"
#include "passes/planning/TextLines.h"

#include <algorithm>
#include <iterator>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr std::string_view kGroups[] = {"input", "selective", "other"};
constexpr std::string_view kUnlimited = "none";

Status readRank(const TextLines &lines, const TextLine &line,
                RecomputeProblem &problem) {
  HOCKET_RETURN_IF_ERROR(lines.expectWords(line, 6, 6));
  auto next = static_cast<int64_t>(problem.ranks.size());
  HOCKET_RETURN_IF_ERROR(lines.whole(line[1], next, next).status());
  if (line[2].text != "fixed" || line[4].text != "budget")
    return lines.errorAt(line[2], "expected 'rank R fixed BYTES budget BYTES'");
  RecomputeRank rank;
  HOCKET_ASSIGN_OR_RETURN(rank.fixed,
                          lines.whole(line[3], 0, kMostResidualBytes));
  if (line[5].text != kUnlimited) {
    HOCKET_ASSIGN_OR_RETURN(rank.budget,
                            lines.whole(line[5], 0, INT64_MAX - 1));
  }
  problem.ranks.push_back(std::move(rank));
  return okStatus();
}

Status readResidual(const TextLines &lines, const TextLine &line,
                    RecomputeRank &rank) {
  HOCKET_RETURN_IF_ERROR(lines.expectWords(line, 7, 7));
  Residual residual;
  residual.name = line[0].text;
  HOCKET_ASSIGN_OR_RETURN(residual.chunk,
                          lines.whole(line[1], 0, kMostResidualCount));
  HOCKET_ASSIGN_OR_RETURN(residual.layer,
                          lines.whole(line[2], 0, kMostResidualCount));
  HOCKET_ASSIGN_OR_RETURN(residual.bytes,
                          lines.whole(line[3], 0, kMostResidualBytes));
  HOCKET_ASSIGN_OR_RETURN(residual.seconds,
                          lines.number(line[4], kMostResidualSeconds));
  HOCKET_ASSIGN_OR_RETURN(residual.live,
                          lines.whole(line[5], 1, kMostResidualCount));
  const auto *group =
      std::find(std::begin(kGroups), std::end(kGroups), line[6].text);
  if (group == std::end(kGroups))
    return lines.errorAt(line[6], "expected input, selective or other");
  residual.group = static_cast<ResidualGroup>(group - std::begin(kGroups));
  rank.residuals.push_back(std::move(residual));
  return okStatus();
}

std::string writtenResidual(const Residual &residual) {
  std::string text = "  " + residual.name;
  text += " " + std::to_string(residual.chunk);
  text += " " + std::to_string(residual.layer);
  text += " " + std::to_string(residual.bytes);
  text += " " + writtenNumber(residual.seconds);
  text += " " + std::to_string(residual.live);
  text += " " + std::string(kGroups[static_cast<size_t>(residual.group)]);
  return text + "\n";
}

} // namespace

StatusOr<RecomputeProblem>
hocket::planning::readRecomputeProblem(std::string_view file,
                                       std::string_view text) {
  TextLines lines(file, text);
  HOCKET_RETURN_IF_ERROR(lines.expectTitle("recompute-problem"));
  RecomputeProblem problem;
  for (size_t i = 1; i < lines.lines().size(); ++i) {
    const TextLine &line = lines.lines()[i];
    if (line[0].text == "rank") {
      HOCKET_RETURN_IF_ERROR(readRank(lines, line, problem));
    } else if (!problem.ranks.empty()) {
      HOCKET_RETURN_IF_ERROR(readResidual(lines, line, problem.ranks.back()));
    } else if (line[0].text == "microbatches") {
      HOCKET_RETURN_IF_ERROR(lines.expectWords(line, 2, 2));
      HOCKET_ASSIGN_OR_RETURN(problem.microbatches,
                              lines.whole(line[1], 1, kMostResidualCount));
    } else {
      return lines.errorAt(line[0], "expected microbatches or rank");
    }
  }
  if (Status checked = checkRecomputeProblem(problem); !checked.ok())
    return lines.located(checked);
  return problem;
}

std::string
hocket::planning::writeRecomputeProblem(const RecomputeProblem &problem) {
  std::string text = "recompute-problem\nmicrobatches " +
                     std::to_string(problem.microbatches) + "\n";
  for (size_t i = 0; i < problem.ranks.size(); ++i) {
    const RecomputeRank &rank = problem.ranks[i];
    text += "rank " + std::to_string(i) + " fixed " +
            std::to_string(rank.fixed) + " budget " +
            (rank.budget == INT64_MAX ? std::string(kUnlimited)
                                      : std::to_string(rank.budget)) +
            "\n";
    for (const Residual &residual : rank.residuals)
      text += writtenResidual(residual);
  }
  return text;
}
