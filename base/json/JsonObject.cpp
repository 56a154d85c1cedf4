//===- JsonObject.cpp - A JSON object of others ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/json/JsonObject.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

using namespace hocket;
using nlohmann::json;

namespace {
/// Reads a text and keeps none of it. nlohmann's parser that is watched while
/// it makes values looks through a whole list for each object of it.
class Watch final : public nlohmann::json_sax<json> {
public:
  bool start_object(size_t) override {
    keys.emplace_back();
    return goDeeper();
  }
  bool start_array(size_t) override { return goDeeper(); }
  bool end_object() override {
    keys.pop_back();
    --levels;
    return true;
  }
  bool end_array() override {
    --levels;
    return true;
  }
  bool key(std::string &name) override {
    if (twice.empty() && !keys.back().insert(name).second)
      twice = {name};
    return true;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string &) override { return true; }
  bool string(std::string &) override { return true; }
  bool binary(json::binary_t &) override { return true; }
  bool parse_error(size_t, const std::string &,
                   const json::exception &) override {
    return false;
  }

  std::vector<std::string> twice; ///< The first key that is, if any.

private:
  static constexpr int mostLevels = 1024;
  bool goDeeper() { return ++levels <= mostLevels; }

  int levels = 0;
  std::vector<std::set<std::string>> keys; ///< Of the objects around.
};
} // namespace

std::optional<JsonDefect> hocket::readJsonObject(std::string_view text,
                                                 json &object) {
  Watch watch;
  bool isSound = json::sax_parse(text, &watch);
  object = isSound ? json::parse(text, nullptr, /*allow_exceptions=*/false)
                   : json(nullptr);
  size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  if (!isSound || object.is_discarded()) {
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
  return invalidArgument(placeInFile(path, text, defect->offset, line) +
                         ": expected " + defect->expected);
}
