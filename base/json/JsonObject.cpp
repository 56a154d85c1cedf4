//===- JsonObject.cpp - A JSON object of others ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonObject.h"

#include "base/Format.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

using namespace hocket;
using nlohmann::json;

namespace {
/// What nlohmann's parser tells while it reads.
class Watch {
public:
  bool operator()(int depth, json::parse_event_t event, const json &value) {
    using Event = json::parse_event_t;
    bool begins = event == Event::object_start || event == Event::array_start;
    isTooDeep |= begins && depth >= mostLevels;
    if (event == Event::object_start)
      keys.emplace_back();
    else if (event == Event::object_end)
      keys.pop_back();
    else if (event == Event::key && !isTooDeep && twice.empty() &&
             !keys.back().insert(value.get<std::string>()).second)
      twice = {value.get<std::string>()};
    return !isTooDeep; // What is left out is not told of when it ends.
  }

  static constexpr int mostLevels = 1024;
  bool isTooDeep = false;
  std::vector<std::string> twice; ///< The first key that is, if any.

private:
  std::vector<std::set<std::string>> keys; ///< Of the objects around.
};
} // namespace

std::optional<JsonDefect> hocket::readJsonObject(std::string_view text,
                                                 json &object) {
  Watch watch;
  object = json::parse(text, std::ref(watch), /*allow_exceptions=*/false);
  size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  if (object.is_discarded() || watch.isTooDeep) {
    object = nullptr;
    auto defect = findJsonDefect(text);
    return defect ? *defect : JsonDefect{begin, "JSON"};
  }
  if (!object.is_object())
    return JsonDefect{begin, "an object"};
  if (watch.twice.empty())
    return std::nullopt;
  const std::string &key = watch.twice.front();
  return JsonDefect{findJsonMember(text, key, 1).value_or(begin),
                    "each key once, found '" + key + "' again"};
}

StatusOr<json> hocket::parseJsonObject(std::string_view text,
                                       const std::string &path, uint64_t line) {
  json object;
  auto defect = readJsonObject(text, object);
  if (!defect)
    return object;
  std::string_view before = text.substr(0, defect->offset);
  auto lines = std::count(before.begin(), before.end(), '\n');
  size_t column = before.size() - (before.rfind('\n') + 1);
  return invalidArgument(path +
                         formatText(":%llu:%zu: expected ",
                                    wide(line + uint64_t(lines)), column + 1) +
                         defect->expected);
}
