//===- FieldPath.cpp - Fields of a spec by path ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/text/FieldPath.h"

#include "frontends/spec/text/FieldNames.h"
#include "frontends/spec/text/SpecText.h"

#include <charconv>

using namespace google::protobuf;
using namespace hocket;
using namespace hocket::spec;

namespace {
/// One step of a path: `name` or `name[index]`.
struct PathPart {
  std::string name;
  int index = -1;
};
} // namespace

static Status unknownPath(std::string_view path) {
  std::string text = "S1: there is no field \"" + elide(path) + "\"";
  std::vector<std::string> near = nearestPaths(path);
  if (!near.empty())
    return invalidArgument(text + "; did you mean " + joinAlternatives(near) +
                           "?");
  std::vector<std::string> top;
  for (int i = 0; i < Spec::descriptor()->field_count(); ++i)
    top.push_back(Spec::descriptor()->field(i)->name());
  return invalidArgument(text + "; a path begins with " +
                         joinAlternatives(top));
}

static StatusOr<PathPart> parsePart(std::string_view part) {
  size_t bracket = part.find('[');
  if (bracket == std::string_view::npos)
    return PathPart{std::string(part)};
  PathPart result{std::string(part.substr(0, bracket))};
  std::string_view digits = part.substr(bracket + 1);
  const char *begin = digits.data(), *end = begin + digits.size();
  auto [stop, error] = std::from_chars(begin, end, result.index);
  if (error != std::errc() || stop + 1 != end || *stop != ']' ||
      result.index < 0)
    return invalidArgument("S1: \"" + elide(part) +
                           "\" is not an entry; write it like " + result.name +
                           "[0]");
  return result;
}

/// Checks `part` against its field and, for an entry past the end of a
/// repeated field, appends one.
static Status enterPart(Message &message, const FieldDescriptor &field,
                        PathPart &part) {
  if (!field.is_repeated()) {
    if (part.index < 0)
      return okStatus();
    return invalidArgument("S1: " + part.name +
                           " is not repeated; write it without an index");
  }
  const Reflection &reflection = *message.GetReflection();
  int size = reflection.FieldSize(message, &field);
  bool isList = !field.message_type();
  if (isList && part.index < 0)
    return okStatus(); // all of its entries
  if (part.index < 0 || part.index > size)
    return invalidArgument("S1: " + part.name + " has " + std::to_string(size) +
                           " entries; write " + part.name + "[" +
                           std::to_string(size) + "] to add one");
  if (part.index < size)
    return okStatus();
  // Lists are of numbers, words and messages.
  if (field.message_type())
    reflection.AddMessage(&message, &field);
  else if (field.enum_type())
    reflection.AddEnumValue(&message, &field, 0);
  else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING)
    reflection.AddString(&message, &field, "");
  else
    reflection.AddInt64(&message, &field, 0);
  return okStatus();
}

StatusOr<FieldReference> spec::findForWriting(Spec &spec,
                                              std::string_view path) {
  Message *message = &spec;
  std::string_view rest = path;
  while (true) {
    size_t dot = rest.find('.');
    HOCKET_ASSIGN_OR_RETURN(PathPart part, parsePart(rest.substr(0, dot)));
    const FieldDescriptor *field =
        message->GetDescriptor()->FindFieldByName(part.name);
    bool last = dot == std::string_view::npos;
    if (!field || (!last && !field->message_type()))
      return unknownPath(path);
    HOCKET_RETURN_IF_ERROR(enterPart(*message, *field, part));
    if (last)
      return FieldReference{message, field, part.index};
    const Reflection &reflection = *message->GetReflection();
    message =
        field->is_repeated()
            ? reflection.MutableRepeatedMessage(message, field, part.index)
            : reflection.MutableMessage(message, field);
    rest = rest.substr(dot + 1);
  }
}

/// The message that `part` of `message` is, or null.
static const Message *innerMessage(const Message &message,
                                   const FieldDescriptor &field, int index) {
  const Reflection &reflection = *message.GetReflection();
  if (!field.message_type())
    return nullptr;
  if (!field.is_repeated())
    return reflection.HasField(message, &field)
               ? &reflection.GetMessage(message, &field)
               : nullptr;
  return index >= 0 && index < reflection.FieldSize(message, &field)
             ? &reflection.GetRepeatedMessage(message, &field, index)
             : nullptr;
}

ConstFieldReference spec::findWritten(const Spec &spec, std::string_view path) {
  const Message *message = &spec;
  while (message) {
    size_t dot = path.find('.');
    StatusOr<PathPart> part = parsePart(path.substr(0, dot));
    if (!part.ok())
      return {};
    const FieldDescriptor *field =
        message->GetDescriptor()->FindFieldByName(part->name);
    if (!field)
      return {};
    if (dot == std::string_view::npos) {
      if (field->is_repeated() ||
          !message->GetReflection()->HasField(*message, field))
        return {};
      return {message, field};
    }
    message = innerMessage(*message, *field, part->index);
    path = path.substr(dot + 1);
  }
  return {};
}
