//===- ProblemText.cpp - A schedule's problem as text ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleText.h"
#include "passes/planning/ShapeText.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// A line of costs: times or bytes, of one member of ChunkCost.
struct CostField {
  std::string_view name;
  double ChunkCost::*time;
  int64_t ChunkCost::*bytes;
};

constexpr CostField kCosts[] = {
    {"forward", &ChunkCost::forward, nullptr},
    {"backward", &ChunkCost::backward, nullptr},
    {"weight", &ChunkCost::weight, nullptr},
    {"memory", nullptr, &ChunkCost::memory},
    {"kept", nullptr, &ChunkCost::kept},
};

class ProblemReader {
public:
  ProblemReader(std::string_view file, std::string_view text)
      : lines(file, text), shape(lines) {}

  StatusOr<ScheduleProblem> read() {
    HOCKET_RETURN_IF_ERROR(lines.expectTitle("pipeline-problem"));
    for (size_t i = 1; i < lines.lines().size(); ++i)
      HOCKET_RETURN_IF_ERROR(readHead(lines.lines()[i]));
    HOCKET_ASSIGN_OR_RETURN(PipelineShape read, shape.finish());
    ScheduleProblem uniform = uniformProblem(read);
    problem.shape = read;
    problem.costs = std::move(uniform.costs);
    problem.caps = std::move(uniform.caps);
    // What is said of all ranks first, so that one rank's line overrides it.
    for (bool one : {false, true})
      for (const TextLine *line : costLines)
        if (isOfOneRank(*line) == one)
          HOCKET_RETURN_IF_ERROR(readCosts(*line));
    HOCKET_RETURN_IF_ERROR(lines.located(checkProblem(problem)));
    return std::move(problem);
  }

private:
  static bool isOfOneRank(const TextLine &line) {
    return line.size() > 1 && line[1].text == "rank";
  }

  Status readHead(const TextLine &line) {
    HOCKET_ASSIGN_OR_RETURN(bool taken, shape.take(line));
    if (taken)
      return okStatus();
    std::string_view key = line[0].text;
    bool isCost =
        key == "cap" ||
        std::any_of(std::begin(kCosts), std::end(kCosts),
                    [&](const CostField &f) { return f.name == key; });
    if (isCost) {
      costLines.push_back(&line);
      return okStatus();
    }
    if (key != "group" && key != "weights" && key != "transfer" &&
        key != "pair")
      return lines.errorAt(
          line[0],
          "expected ranks, chunks, microbatches, placement, group, "
          "weights, transfer, pair, forward, backward, weight, memory, "
          "kept or cap");
    HOCKET_RETURN_IF_ERROR(lines.expectWords(line, 2, 2));
    if (!seen.insert({std::string(key), -1}).second)
      return lines.errorAt(line[0], "expected each line once");
    if (key == "group") {
      HOCKET_ASSIGN_OR_RETURN(problem.group,
                              lines.whole(line[1], 0, kMostCells));
    } else if (key == "transfer") {
      HOCKET_ASSIGN_OR_RETURN(problem.transfer,
                              lines.number(line[1], kMostTime));
    } else if (key == "pair") {
      HOCKET_ASSIGN_OR_RETURN(problem.pair, lines.number(line[1], 1));
    } else {
      problem.splitWeight = line[1].text == "split";
      if (!problem.splitWeight && line[1].text != "joined")
        return lines.errorAt(line[1], "expected joined or split");
    }
    return okStatus();
  }

  /// One value for every rank and chunk, or one for each chunk of a rank.
  Status readCosts(const TextLine &line) {
    const PipelineShape &sizes = problem.shape;
    int64_t rank = -1;
    size_t first = 1, count = 1;
    if (isOfOneRank(line)) {
      first = 3;
      count = line[0].text == "cap" ? 1 : sizes.chunks;
    }
    HOCKET_RETURN_IF_ERROR(
        lines.expectWords(line, first + count, first + count));
    if (first == 3) {
      HOCKET_ASSIGN_OR_RETURN(rank, lines.whole(line[2], 0, sizes.ranks - 1));
    }
    if (!seen.insert({std::string(line[0].text), rank}).second)
      return lines.errorAt(line[0], "expected each line once");
    if (line[0].text == "cap")
      return readCap(line[first], rank);
    for (int64_t i = 0; i < sizes.stages(); ++i)
      if (rank < 0 || i / sizes.chunks == rank)
        HOCKET_RETURN_IF_ERROR(readCost(
            line[0].text, line[rank < 0 ? first : first + i % sizes.chunks],
            problem.costs[i]));
    return okStatus();
  }

  Status readCost(std::string_view name, const TextWord &word,
                  ChunkCost &cost) {
    for (const CostField &field : kCosts) {
      if (field.name != name)
        continue;
      if (field.time) {
        HOCKET_ASSIGN_OR_RETURN(cost.*field.time,
                                lines.number(word, kMostTime));
      } else {
        HOCKET_ASSIGN_OR_RETURN(cost.*field.bytes,
                                lines.whole(word, 0, kMostMemory));
      }
    }
    return okStatus();
  }

  Status readCap(const TextWord &word, int64_t rank) {
    int64_t cap = kNoCap;
    if (word.text != "none") {
      HOCKET_ASSIGN_OR_RETURN(cap, lines.whole(word, 0, INT64_MAX - 1));
    }
    for (int64_t i = 0; i < problem.shape.ranks; ++i)
      if (rank < 0 || i == rank)
        problem.caps[i] = cap;
    return okStatus();
  }

  TextLines lines;
  ShapeText shape;
  ScheduleProblem problem;
  std::vector<const TextLine *> costLines;
  std::set<std::pair<std::string, int64_t>> seen;
};

std::string written(const CostField &field, const ChunkCost &cost) {
  return field.time ? writtenNumber(cost.*field.time)
                    : std::to_string(cost.*field.bytes);
}

/// `name VALUE` where all `values` are equal, else `name rank R VALUES...`.
std::string writtenRows(std::string_view name,
                        const std::vector<std::string> &values, size_t row) {
  std::string text(name);
  if (std::count(values.begin(), values.end(), values[0]) ==
      static_cast<ptrdiff_t>(values.size()))
    return text + " " + values[0] + "\n";
  text.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % row == 0)
      text += std::string(name) + " rank " + std::to_string(i / row);
    text += " " + values[i] + (i % row == row - 1 ? "\n" : "");
  }
  return text;
}

} // namespace

StatusOr<ScheduleProblem> hocket::planning::readProblem(std::string_view file,
                                                        std::string_view text) {
  return ProblemReader(file, text).read();
}

std::string hocket::planning::writeProblem(const ScheduleProblem &problem) {
  std::string text = "pipeline-problem\n" + writtenShape(problem.shape);
  text += "group " + std::to_string(problem.group) + "\n";
  text += problem.splitWeight ? "weights split\n" : "weights joined\n";
  text += "transfer " + writtenNumber(problem.transfer) + "\n";
  text += "pair " + writtenNumber(problem.pair) + "\n";
  for (const CostField &field : kCosts) {
    std::vector<std::string> values;
    for (const ChunkCost &cost : problem.costs)
      values.push_back(written(field, cost));
    text += writtenRows(field.name, values, problem.shape.chunks);
  }
  std::vector<std::string> caps;
  for (int64_t cap : problem.caps)
    caps.push_back(cap == kNoCap ? "none" : std::to_string(cap));
  return text + writtenRows("cap", caps, 1);
}
