//===- Overrides.cpp - `--set PATH=VALUE` ---------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/text/Overrides.h"

#include "frontends/spec/text/FieldNames.h"
#include "frontends/spec/text/FieldPath.h"
#include "frontends/spec/text/SpecText.h"

#include <charconv>
#include <memory>

using namespace google::protobuf;
using namespace hocket;
using namespace hocket::spec;

/// Reads all of `text` as a T, or says that `expected` was expected.
template <typename T>
static StatusOr<T> parseNumber(const std::string &text, const char *expected) {
  T value{};
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range)
    return invalidArgument("S1: " + elide(text) + " is out of range");
  if (error != std::errc() || stop != end)
    return invalidArgument("S1: expected " + std::string(expected) +
                           ", got \"" + elide(text) + "\"");
  return value;
}

static Status setBool(const FieldReference &at, const std::string &text) {
  if (text != "true" && text != "false")
    return invalidArgument("S1: expected true or false, got \"" + elide(text) +
                           "\"");
  at.message->GetReflection()->SetBool(at.message, at.field, text == "true");
  return okStatus();
}

static StatusOr<const EnumValueDescriptor *>
valueOf(const FieldDescriptor &field, const std::string &text) {
  const EnumDescriptor &type = *field.enum_type();
  if (const EnumValueDescriptor *value = type.FindValueByName(text))
    return value;
  return invalidArgument(
      "S1: " + field.name() + " cannot be " + elide(text) + "; write " +
      joinAlternatives(suggestValues(text, valueNames(type))));
}

static Status setEnum(const FieldReference &at, const std::string &text) {
  HOCKET_ASSIGN_OR_RETURN(const EnumValueDescriptor *value,
                          valueOf(*at.field, text));
  at.message->GetReflection()->SetEnum(at.message, at.field, value);
  return okStatus();
}

static std::string withoutQuotes(const std::string &text) {
  bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

/// `text` is a whole message in braces; it replaces the one at `at`.
static Status setMessage(const FieldReference &at, const std::string &path,
                         const std::string &text) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}')
    return invalidArgument("S1: " + path +
                           " is a message; set one of its fields, or write "
                           "all of it in braces");
  const Reflection &reflection = *at.message->GetReflection();
  Message *nested =
      at.index >= 0
          ? reflection.MutableRepeatedMessage(at.message, at.field, at.index)
          : reflection.MutableMessage(at.message, at.field);
  nested->Clear();
  FieldLocations ignored;
  return parseText({text.substr(1, text.size() - 2), "value", path}, *nested,
                   ignored);
}

/// Sets the entry at `at`, or appends one where `at` is the whole list.
static Status setEntry(const FieldReference &at, const std::string &text) {
  const Reflection &reflection = *at.message->GetReflection();
  if (at.field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    HOCKET_ASSIGN_OR_RETURN(const EnumValueDescriptor *value,
                            valueOf(*at.field, text));
    if (at.index >= 0)
      reflection.SetRepeatedEnum(at.message, at.field, at.index, value);
    else
      reflection.AddEnum(at.message, at.field, value);
    return okStatus();
  }
  if (at.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    if (at.index >= 0)
      reflection.SetRepeatedString(at.message, at.field, at.index,
                                   withoutQuotes(text));
    else
      reflection.AddString(at.message, at.field, withoutQuotes(text));
    return okStatus();
  }
  HOCKET_ASSIGN_OR_RETURN(int64_t value,
                          parseNumber<int64_t>(text, "a whole number"));
  if (at.index >= 0)
    reflection.SetRepeatedInt64(at.message, at.field, at.index, value);
  else
    reflection.AddInt64(at.message, at.field, value);
  return okStatus();
}

/// `text` is the value of one entry, or all of a list with commas between.
static Status setList(const FieldReference &at, const std::string &text) {
  if (at.index >= 0)
    return setEntry(at, text);
  at.message->GetReflection()->ClearField(at.message, at.field);
  for (size_t begin = 0;;) {
    size_t comma = text.find(',', begin);
    HOCKET_RETURN_IF_ERROR(setEntry(at, text.substr(begin, comma - begin)));
    if (comma == std::string::npos)
      return okStatus();
    begin = comma + 1;
  }
}

static Status setField(const FieldReference &at, const std::string &path,
                       const std::string &text) {
  const Reflection &reflection = *at.message->GetReflection();
  switch (at.field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT64: {
    if (at.field->is_repeated())
      return setList(at, text);
    HOCKET_ASSIGN_OR_RETURN(int64_t value,
                            parseNumber<int64_t>(text, "a whole number"));
    reflection.SetInt64(at.message, at.field, value);
    return okStatus();
  }
  case FieldDescriptor::CPPTYPE_UINT64: {
    HOCKET_ASSIGN_OR_RETURN(
        uint64_t value,
        parseNumber<uint64_t>(text, "a whole number that is not negative"));
    reflection.SetUInt64(at.message, at.field, value);
    return okStatus();
  }
  case FieldDescriptor::CPPTYPE_DOUBLE: {
    HOCKET_ASSIGN_OR_RETURN(double value,
                            parseNumber<double>(text, "a number"));
    reflection.SetDouble(at.message, at.field, value);
    return okStatus();
  }
  case FieldDescriptor::CPPTYPE_BOOL:
    return setBool(at, text);
  case FieldDescriptor::CPPTYPE_ENUM:
    return at.field->is_repeated() ? setList(at, text) : setEnum(at, text);
  case FieldDescriptor::CPPTYPE_STRING:
    if (at.field->is_repeated())
      return setList(at, text);
    reflection.SetString(at.message, at.field, withoutQuotes(text));
    return okStatus();
  case FieldDescriptor::CPPTYPE_MESSAGE:
    return setMessage(at, path, text);
  default:
    return internalError("no override is known for the type of " + path);
  }
}

Status spec::applyOverride(const std::string &assignment, Spec &spec,
                           FieldLocations &locations) {
  std::string place = "--set " + elide(assignment);
  size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalidArgument(place + ": S1: expected PATH=VALUE, for example "
                                   "model.layers=4");
  std::string path = assignment.substr(0, equals);
  std::string value = assignment.substr(equals + 1);
  if (value.empty())
    return invalidArgument(place + ": S1: there is no value after \"=\"");
  return setFieldFrom(place, path, value, spec, locations);
}

Status spec::setFieldFrom(const std::string &place, const std::string &path,
                          const std::string &value, Spec &spec,
                          FieldLocations &locations) {
  StatusOr<FieldReference> found = findForWriting(spec, path);
  if (!found.ok())
    return found.status().withContext(place);
  Status written = setField(*found, path, value);
  if (!written.ok())
    return written.withContext(place);
  locations.set(path, {place, 0, 0});
  // Messages on the way that nobody wrote exist because of this override.
  for (size_t dot = path.find('.'); dot != std::string::npos;
       dot = path.find('.', dot + 1))
    locations.setIfAbsent(path.substr(0, dot), {place, 0, 0});
  return okStatus();
}
