//===- StrategyText.cpp - Strategy problems and choices as text -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/strategy/StrategyText.h"

#include <nlohmann/json.hpp>
#include <simdjson.h>

using namespace hocket;
using namespace hocket::planning;
using simdjson::dom::array;
using simdjson::dom::element;

namespace {

Status expected(const std::string &what) {
  return invalidArgument("Q74: expected " + what);
}

StatusOr<std::vector<int64_t>> numbersOf(element value,
                                         const std::string &what) {
  array list;
  if (value.get(list) != simdjson::SUCCESS)
    return expected(what + " as a list of whole numbers");
  std::vector<int64_t> numbers;
  for (element item : list) {
    int64_t number;
    if (item.get(number) != simdjson::SUCCESS)
      return expected(what + " as a list of whole numbers");
    numbers.push_back(number);
  }
  return numbers;
}

StatusOr<std::vector<std::vector<int64_t>>> listsOf(element from,
                                                    const char *path) {
  array outer;
  if (from.at_pointer(path).get(outer) != simdjson::SUCCESS)
    return expected("lists at " + std::string(path));
  std::vector<std::vector<int64_t>> lists;
  for (element item : outer) {
    HOCKET_ASSIGN_OR_RETURN(std::vector<int64_t> list,
                            numbersOf(item, std::string(path) + "/" +
                                                std::to_string(lists.size())));
    lists.push_back(std::move(list));
  }
  return lists;
}

/// Strings at `path`, or none where it is left out.
StatusOr<std::vector<std::string>> stringsOf(element from, const char *path) {
  std::vector<std::string> strings;
  element found;
  if (from.at_pointer(path).get(found) != simdjson::SUCCESS)
    return strings;
  array list;
  if (found.get(list) != simdjson::SUCCESS)
    return expected("a list at " + std::string(path));
  for (element item : list) {
    std::string_view text;
    if (item.get(text) != simdjson::SUCCESS)
      return expected("strings at " + std::string(path));
    strings.emplace_back(text);
  }
  return strings;
}

Status readLabels(element root, StrategyProblem &problem) {
  array lists;
  if (root.at_pointer("/problem/nodes/labels").get(lists) != simdjson::SUCCESS)
    return okStatus();
  size_t next = 0;
  for (element list : lists) {
    HOCKET_ASSIGN_OR_RETURN(std::vector<std::string> labels,
                            stringsOf(list, ""));
    if (next >= problem.nodes.size())
      return expected("as many labels as nodes");
    problem.nodes[next++].labels = std::move(labels);
  }
  return okStatus();
}

Status readNodes(element root, StrategyProblem &problem) {
  HOCKET_ASSIGN_OR_RETURN(auto intervals,
                          listsOf(root, "/problem/nodes/intervals"));
  HOCKET_ASSIGN_OR_RETURN(auto costs, listsOf(root, "/problem/nodes/costs"));
  HOCKET_ASSIGN_OR_RETURN(auto usages, listsOf(root, "/problem/nodes/usages"));
  HOCKET_ASSIGN_OR_RETURN(std::vector<std::string> names,
                          stringsOf(root, "/problem/nodes/names"));
  if (costs.size() != intervals.size() || usages.size() != intervals.size() ||
      (!names.empty() && names.size() != intervals.size()))
    return expected("as many costs, usages and names as intervals of nodes");
  for (size_t i = 0; i < intervals.size(); ++i) {
    if (intervals[i].size() != 2)
      return expected("[begin, end] at /problem/nodes/intervals/" +
                      std::to_string(i));
    StrategyNode &node = problem.nodes.emplace_back();
    node.begin = intervals[i][0];
    node.end = intervals[i][1];
    node.costs = std::move(costs[i]);
    node.usages = std::move(usages[i]);
    if (!names.empty())
      node.name = std::move(names[i]);
  }
  return readLabels(root, problem);
}

Status readEdges(element root, StrategyProblem &problem) {
  HOCKET_ASSIGN_OR_RETURN(auto nodes, listsOf(root, "/problem/edges/nodes"));
  HOCKET_ASSIGN_OR_RETURN(auto costs, listsOf(root, "/problem/edges/costs"));
  if (nodes.size() != costs.size())
    return expected("as many costs as nodes of edges");
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].size() != 2)
      return expected("[first, second] at /problem/edges/nodes/" +
                      std::to_string(i));
    problem.edges.push_back({nodes[i][0], nodes[i][1], std::move(costs[i])});
  }
  return okStatus();
}

/// The document lives as long as the parser.
StatusOr<element> parse(simdjson::dom::parser &parser, std::string_view text) {
  element root;
  auto error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS)
    return expected(std::string("JSON: ") + simdjson::error_message(error));
  return root;
}

Status readProblem(element root, StrategyProblem &problem) {
  std::string_view name;
  if (root.at_pointer("/problem/name").get(name) == simdjson::SUCCESS)
    problem.name = std::string(name);
  if (root.at_pointer("/problem/mesh").get(name) == simdjson::SUCCESS)
    problem.mesh = std::string(name);
  if (root.at_pointer("/problem/usage_limit").get(problem.usageLimit) !=
      simdjson::SUCCESS)
    return expected("a whole number at /problem/usage_limit");
  HOCKET_RETURN_IF_ERROR(readNodes(root, problem));
  HOCKET_RETURN_IF_ERROR(readEdges(root, problem));
  return checkStrategyProblem(problem);
}

} // namespace

StatusOr<StrategyProblem> planning::readStrategyProblem(const std::string &file,
                                                        std::string_view text) {
  simdjson::dom::parser parser;
  StatusOr<element> root = parse(parser, text);
  StrategyProblem problem;
  Status status = root.ok() ? readProblem(*root, problem) : root.status();
  if (!status.ok())
    return status.withContext(file);
  return problem;
}

StatusOr<StrategyChoice> planning::readStrategyChoice(const std::string &file,
                                                      std::string_view text) {
  simdjson::dom::parser parser;
  StatusOr<element> root = parse(parser, text);
  if (!root.ok())
    return root.status().withContext(file);
  StatusOr<std::vector<int64_t>> numbers = numbersOf(*root, "a choice");
  if (!numbers.ok())
    return numbers.status().withContext(file);
  return *numbers;
}

std::string planning::writtenStrategyProblem(const StrategyProblem &problem) {
  nlohmann::ordered_json nodes = {{"intervals", nlohmann::json::array()},
                                  {"costs", nlohmann::json::array()},
                                  {"usages", nlohmann::json::array()}};
  bool named = false, labelled = false;
  for (const StrategyNode &node : problem.nodes) {
    nodes["intervals"].push_back({node.begin, node.end});
    nodes["costs"].push_back(node.costs);
    nodes["usages"].push_back(node.usages);
    named |= !node.name.empty();
    labelled |= !node.labels.empty();
  }
  for (const StrategyNode &node : problem.nodes) {
    if (named)
      nodes["names"].push_back(node.name);
    if (labelled)
      nodes["labels"].push_back(node.labels);
  }
  nlohmann::ordered_json edges = {{"nodes", nlohmann::json::array()},
                                  {"costs", nlohmann::json::array()}};
  for (const StrategyEdge &edge : problem.edges) {
    edges["nodes"].push_back({edge.first, edge.second});
    edges["costs"].push_back(edge.costs);
  }
  nlohmann::ordered_json root;
  root["problem"] = {{"name", problem.name},
                     {"nodes", std::move(nodes)},
                     {"edges", std::move(edges)},
                     {"usage_limit", problem.usageLimit}};
  if (!problem.mesh.empty())
    root["problem"]["mesh"] = problem.mesh;
  return root.dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

std::string planning::writtenStrategyChoice(const StrategyChoice &choice) {
  std::string text = "[";
  for (size_t i = 0; i < choice.size(); ++i)
    text += (i ? ", " : "") + std::to_string(choice[i]);
  return text + "]\n";
}
