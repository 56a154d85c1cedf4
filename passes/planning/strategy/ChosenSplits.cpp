//===- ChosenSplits.cpp - Chosen strategies for people --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/ChosenSplits.h"

#include "base/File.h"
#include "passes/planning/TextLines.h"

#include <algorithm>
#include <set>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr uint64_t kMostBytes = uint64_t(64) << 20;
constexpr int64_t kMostDevices = int64_t(1) << 20;
constexpr std::string_view kArrow = "->";

class Reader {
public:
  Reader(std::string_view file, std::string_view text) : lines(file, text) {}

  StatusOr<ChosenSplits> read();

private:
  Status readLine(const TextLine &line);
  Status readMesh(const TextLine &line);
  Status readSplit(const TextLine &line);
  StatusOr<SplitTensor> readTensor(const TextWord &word) const;
  /// The axes `dp+tp` of one dim; `used` are those of the dims before it.
  StatusOr<std::vector<std::string>> readDim(const TextWord &part,
                                             std::set<std::string> &used) const;

  bool isAxis(const std::string &name) const {
    return std::any_of(result.mesh.begin(), result.mesh.end(),
                       [&](const auto &axis) { return axis.first == name; });
  }

  TextLines lines;
  ChosenSplits result;
  int64_t version = 0;
  std::set<std::string> names;
};

SplitPlace placeOf(const TextWord &word) { return {word.line, word.column}; }

/// The part of `word` from `at` on, `size` characters long.
TextWord partOf(const TextWord &word, size_t at, size_t size) {
  return {word.text.substr(at, size), word.line,
          word.column + static_cast<int64_t>(at)};
}

} // namespace

StatusOr<ChosenSplits> Reader::read() {
  HOCKET_RETURN_IF_ERROR(lines.readOnce(
      "shardings", [&](const TextLine &line) { return readLine(line); },
      "split"));
  if (version == 0)
    return lines.errorAtEnd("expected the line 'version 1'");
  if (result.mesh.empty())
    return lines.errorAtEnd("expected a line like 'mesh dp=2 tp=4'");
  return std::move(result);
}

Status Reader::readLine(const TextLine &line) {
  HOCKET_ASSIGN_OR_RETURN(bool taken,
                          lines.takeWhole(line, {{"version", 1, 1, &version}}));
  if (taken)
    return okStatus();
  if (line[0].text == "mesh")
    return readMesh(line);
  if (line[0].text == "split")
    return readSplit(line);
  return lines.errorAt(line[0], "expected version, mesh or split");
}

Status Reader::readMesh(const TextLine &line) {
  constexpr size_t mostAxes = 16;
  HOCKET_RETURN_IF_ERROR(lines.expectWords(line, 2, 1 + mostAxes));
  result.meshPlace = placeOf(line[0]);
  for (size_t i = 1; i < line.size(); ++i) {
    size_t equals = line[i].text.find('=');
    std::string name(line[i].text.substr(0, equals));
    if (equals == std::string_view::npos || name.empty() || isAxis(name))
      return lines.errorAt(line[i], "expected another axis and its size, "
                                    "like tp=4");
    HOCKET_ASSIGN_OR_RETURN(
        int64_t size,
        lines.whole(partOf(line[i], equals + 1, std::string_view::npos), 1,
                    kMostDevices));
    result.mesh.emplace_back(std::move(name), size);
  }
  return okStatus();
}

StatusOr<std::vector<std::string>>
Reader::readDim(const TextWord &part, std::set<std::string> &used) const {
  std::vector<std::string> axes;
  if (part.text == "-")
    return axes;
  for (size_t at = 0; at <= part.text.size();) {
    size_t plus = std::min(part.text.find('+', at), part.text.size());
    TextWord word = partOf(part, at, plus - at);
    at = plus + 1;
    axes.emplace_back(word.text);
    if (!isAxis(axes.back()))
      return lines.errorAt(word, "expected axes of the mesh (" +
                                     meshText(result.mesh) +
                                     "), or - for a dim that is whole");
    if (!used.insert(axes.back()).second)
      return lines.errorAt(word, "an axis splits one dim of a tensor, once");
  }
  return axes;
}

StatusOr<SplitTensor> Reader::readTensor(const TextWord &word) const {
  SplitTensor tensor{std::string(word.text), {}, placeOf(word)};
  if (!tensor.isTensor() || word.text == "[]")
    return tensor;
  if (word.text.size() < 3 || word.text.front() != '[' ||
      word.text.back() != ']')
    return lines.errorAt(word, "expected a tensor, like [dp,-,tp]");
  std::set<std::string> used;
  size_t end = word.text.size() - 1;
  for (size_t at = 1; at <= end;) {
    size_t comma = std::min(word.text.find(',', at), end);
    HOCKET_ASSIGN_OR_RETURN(std::vector<std::string> axes,
                            readDim(partOf(word, at, comma - at), used));
    tensor.dims.push_back(std::move(axes));
    at = comma + 1;
  }
  return tensor;
}

Status Reader::readSplit(const TextLine &line) {
  if (result.mesh.empty())
    return lines.errorAt(line[0], "expected the line 'mesh' before any split");
  HOCKET_RETURN_IF_ERROR(lines.expectWords(line, 3, line.size()));
  ChosenSplit split;
  split.name = std::string(line[1].text);
  split.place = placeOf(line[1]);
  if (!names.insert(split.name).second)
    return lines.errorAt(line[1], "expected each name once");
  for (size_t i = 2; i < line.size(); ++i) {
    if (line[i].text == kArrow && !split.isOp) {
      split.isOp = true;
      continue;
    }
    HOCKET_ASSIGN_OR_RETURN(SplitTensor tensor, readTensor(line[i]));
    (split.isOp ? split.results : split.operands).push_back(std::move(tensor));
  }
  if (!split.isOp && split.operands.size() != 1)
    return lines.errorAt(line[3], "expected the end of a parameter's line, or "
                                  "-> and results for an op");
  result.splits.push_back(std::move(split));
  return okStatus();
}

std::string ChosenSplit::text() const {
  std::string text;
  auto add = [&](std::string_view word) {
    text += (text.empty() ? "" : " ") + std::string(word);
  };
  for (const SplitTensor &tensor : operands)
    add(tensor.text);
  if (isOp)
    add(kArrow);
  for (const SplitTensor &tensor : results)
    add(tensor.text);
  return text;
}

StatusOr<ChosenSplits> planning::readChosenSplits(std::string_view file,
                                                  std::string_view text) {
  return Reader(file, text).read();
}

StatusOr<ChosenSplits> planning::loadChosenSplits(const std::string &path) {
  HOCKET_ASSIGN_OR_RETURN(std::string text, readFile(path, kMostBytes));
  return readChosenSplits(path, text);
}

std::string planning::meshText(const MeshSizes &mesh) {
  std::string text;
  for (const auto &[name, size] : mesh)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(size);
  return text;
}

StatusOr<std::string>
planning::writtenChosenSplits(const StrategyProblem &problem,
                              const StrategyChoice &choice) {
  if (problem.mesh.empty())
    return invalidArgument("the problem is not of a plan's mesh: export it "
                           "with --mesh, without --axes");
  std::string text = "shardings\nversion 1\nmesh " + problem.mesh + "\n";
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    if (const StrategyNode &node = problem.nodes[i]; !node.labels.empty())
      text +=
          "split " + node.name + " " + node.labels[size_t(choice[i])] + "\n";
  return text;
}
