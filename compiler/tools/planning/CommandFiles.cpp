//===- CommandFiles.cpp - What commands read and write --------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/planning/CommandFiles.h"

#include "runtime/tools/command_line/OutputFile.h"

#include <nlohmann/json.hpp>

#include <iostream>

using namespace hocket;

Status hocket::writeIfAsked(const std::string &path, const std::string &text) {
  return path.empty() ? okStatus() : writeOutput(path, text);
}

void hocket::printJson(const nlohmann::json &json) {
  std::cout << json.dump(2) << "\n";
}

void hocket::printJson(const nlohmann::ordered_json &json) {
  std::cout << json.dump(2) << "\n";
}
