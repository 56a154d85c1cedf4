//===- RequestFields.cpp - The fields of a JSON request -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/RequestFields.h"

#include "base/Format.h"
#include "base/NearestNames.h"
#include "base/json/JsonObject.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::serve;
using nlohmann::json;

StatusOr<RequestFields> RequestFields::parse(std::string_view body) {
  if (size_t at = findInvalidUtf8(body); at < body.size())
    return invalidArgument(
        formatText("the body is not UTF-8 from byte %zu on", at + 1));
  auto whole = std::make_shared<json>();
  auto defect = readJsonObject(body, *whole);
  if (!defect) {
    RequestFields fields(*whole);
    fields.owned = std::move(whole);
    return fields;
  }
  std::string_view before = body.substr(0, defect->offset);
  auto lines = std::count(before.begin(), before.end(), '\n');
  size_t column = before.size() - (before.rfind('\n') + 1);
  return invalidArgument(
      formatText("the body is no JSON object: line %zu, column "
                 "%zu: expected %s",
                 size_t(lines) + 1, column + 1, defect->expected.c_str()));
}

StatusOr<RequestFields> RequestFields::within(const json &object,
                                              const std::string &place) {
  if (!object.is_object())
    return invalidArgument("'" + place + "' is an object");
  RequestFields fields(object);
  fields.place = place + ".";
  return fields;
}

std::string RequestFields::quoted(const std::string &name) const {
  return "'" + place + name + "'";
}

const json *RequestFields::find(const std::string &name) {
  known.insert(name);
  auto found = object->find(name);
  return found == object->end() || found->is_null() ? nullptr : &*found;
}

Status RequestFields::read(const std::string &name, bool &value) {
  const json *found = find(name);
  if (!found)
    return okStatus();
  if (!found->is_boolean())
    return invalidArgument(quoted(name) + " is true or false");
  value = found->get<bool>();
  return okStatus();
}

Status RequestFields::read(const std::string &name, std::string &value) {
  std::string_view found = value;
  HOCKET_RETURN_IF_ERROR(read(name, found));
  if (found.data() != value.data())
    value = found;
  return okStatus();
}

Status RequestFields::read(const std::string &name, std::string_view &value) {
  const json *found = find(name);
  if (!found)
    return okStatus();
  if (!found->is_string())
    return invalidArgument(quoted(name) + " is a string");
  value = found->get_ref<const std::string &>();
  return okStatus();
}

Status RequestFields::read(const std::string &name, double &value, double least,
                           double most) {
  const json *found = find(name);
  if (!found)
    return okStatus();
  double number = found->is_number() ? found->get<double>() : NAN;
  // Not a number is in no range.
  if (!(number >= least && number <= most))
    return invalidArgument(
        quoted(name) + formatText(" is a number from %g to %g", least, most));
  value = number;
  return okStatus();
}

Status RequestFields::read(const std::string &name, uint64_t &value,
                           uint64_t least, uint64_t most) {
  const json *found = find(name);
  if (!found)
    return okStatus();
  // As 16 and as 16.0.
  double number = found->is_number() ? found->get<double>() : NAN;
  if (!(number >= double(least) && number <= double(most)) ||
      number != std::floor(number))
    return invalidArgument(quoted(name) +
                           formatText(" is a whole number from %llu to %llu",
                                      wide(least), wide(most)));
  value = found->is_number_float() ? uint64_t(number) : found->get<uint64_t>();
  value = std::clamp(value, least, most);
  return okStatus();
}

Status RequestFields::read(const std::string &name,
                           std::vector<std::string> &value, size_t most) {
  const json *found = find(name);
  if (!found)
    return okStatus();
  json list = found->is_array() ? *found : json::array({*found});
  bool fits = list.size() <= most;
  for (const json &each : list)
    fits &= each.is_string() && !each.get_ref<const std::string &>().empty();
  if (!fits)
    return invalidArgument(
        quoted(name) +
        formatText(" is a string or a list of at most %zu, none empty", most));
  value = list.get<std::vector<std::string>>();
  return okStatus();
}

Status RequestFields::expect(const std::string &name, const json &only) {
  const json *found = find(name);
  if (!found || *found == only)
    return okStatus();
  return invalidArgument(quoted(name) + " can only be " + only.dump() +
                         " here");
}

Status RequestFields::require(const std::string &name) {
  if (find(name))
    return okStatus();
  return invalidArgument("there is no field " + quoted(name));
}

Status RequestFields::checkNoneLeft() const {
  for (const auto &[name, value] : object->items())
    if (!known.count(name))
      return invalidArgument("there is no field " + quoted(name) +
                             didYouMean(name, {known.begin(), known.end()}));
  return okStatus();
}
