//===- SpecText.cpp - Text to message, with places ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/text/SpecText.h"

#include "frontends/spec/spec.pb.h"
#include "frontends/spec/text/FieldNames.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

using namespace google::protobuf;
using namespace hocket;
using namespace hocket::spec;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

StatusOr<std::string> spec::readInput(const std::string &path) {
  std::error_code error;
  std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found)
    return notFound(path + ": there is no such file");
  if (std::filesystem::is_directory(status))
    return invalidArgument(path + ": is a folder; a file is expected");
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return invalidArgument(path + ": cannot be opened for reading");
  std::string text(maxInputBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad())
    return invalidArgument(path + ": cannot be read");
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > maxInputBytes)
    return invalidArgument(path + ": S1: is larger than " +
                           std::to_string(maxInputBytes) +
                           " bytes, the most that a specification may have");
  return text;
}

std::string spec::elide(std::string_view text) {
  constexpr size_t most = 64;
  return std::string(text.substr(0, most)) + (text.size() > most ? "..." : "");
}

std::string spec::joinPath(const std::string &prefix, const std::string &name) {
  return prefix.empty() ? name : prefix + "." + name;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// protobuf's tokenizer advances a tab to the next multiple of eight columns;
/// people's editors and compilers count bytes. Both count from 0 here.
static int byteColumn(const std::string &text, int line, int column) {
  size_t start = 0;
  for (int i = 0; i < line && start != std::string::npos; ++i) {
    start = text.find('\n', start);
    start = start == std::string::npos ? start : start + 1;
  }
  if (start == std::string::npos)
    return column;
  int bytes = 0;
  for (int at = 0; at < column && start + bytes < text.size(); ++bytes)
    at = text[start + bytes] == '\t' ? (at / 8 + 1) * 8 : at + 1;
  return bytes;
}

static void recordPlaces(const Message &message,
                         const TextFormat::ParseInfoTree &tree,
                         const TextSource &source, FieldLocations &locations) {
  std::vector<const FieldDescriptor *> fields;
  const Reflection &reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor *field : fields) {
    bool repeated = field->is_repeated();
    int count = repeated ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      int index = repeated ? i : -1;
      TextFormat::ParseLocation at = tree.GetLocation(field, index);
      std::string path = joinPath(source.prefix, field->name());
      if (repeated)
        path += "[" + std::to_string(i) + "]";
      locations.set(path, {source.file, at.line + 1,
                           byteColumn(source.text, at.line, at.column) + 1});
      if (!field->message_type())
        continue;
      const Message &nested =
          repeated ? reflection.GetRepeatedMessage(message, field, i)
                   : reflection.GetMessage(message, field);
      if (auto *child = tree.GetTreeForNested(field, index))
        recordPlaces(nested, *child, {source.text, source.file, path},
                     locations);
    }
  }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// The path of the first field of `type` (searched from `root`) whose message
/// is `wanted`, or nothing.
static std::optional<std::string> pathOfType(const Descriptor &root,
                                             const std::string &wanted,
                                             const std::string &prefix) {
  if (root.full_name() == wanted)
    return prefix;
  for (int i = 0; i < root.field_count(); ++i)
    if (const Descriptor *nested = root.field(i)->message_type())
      if (auto found = pathOfType(*nested, wanted,
                                  joinPath(prefix, root.field(i)->name())))
        return found;
  return std::nullopt;
}

static std::string explainUnknownField(const std::string &type,
                                       const std::string &name) {
  const Descriptor &root = *Spec::descriptor();
  std::optional<std::string> prefix = pathOfType(root, type, "");
  std::string owner = prefix && !prefix->empty() ? *prefix : "a spec";
  std::string text = owner + " has no field \"" + elide(name) + "\"";
  if (!prefix)
    return text;
  if (owner.substr(owner.rfind('.') + 1) == name)
    return text + "; its fields stand here already, so leave out the \"" +
           elide(name) + " {\" around them";
  std::vector<std::string> siblings;
  if (const Descriptor *message =
          root.file()->pool()->FindMessageTypeByName(type))
    for (int i = 0; i < message->field_count(); ++i)
      siblings.push_back(message->field(i)->name());
  std::vector<std::string> near = nearestNames(name, siblings);
  if (near.empty())
    near = nearestPaths(name);
  if (!near.empty())
    return text + "; did you mean " + joinAlternatives(near) + "?";
  return text + "; it has " + joinAlternatives(siblings);
}

static std::string explainUnknownValue(const std::string &value,
                                       const std::string &fieldName) {
  // The collector is told the field's name alone: among the fields of that
  // name, the one whose values resemble the text best is meant.
  std::vector<const EnumDescriptor *> types;
  std::vector<const Descriptor *> open = {Spec::descriptor()};
  while (!open.empty()) {
    const Descriptor *type = open.back();
    open.pop_back();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor *field = type->field(i);
      if (field->message_type())
        open.push_back(field->message_type());
      const EnumDescriptor *values = field->enum_type();
      if (values && field->name() == fieldName &&
          std::find(types.begin(), types.end(), values) == types.end())
        types.push_back(values);
    }
  }
  std::string text = fieldName + " cannot be " + elide(value);
  std::vector<std::string> all;
  for (const EnumDescriptor *type : types)
    for (const std::string &name : valueNames(*type))
      all.push_back(name);
  return text + "; write " + joinAlternatives(suggestValues(value, all));
}

/// The quoted words of `message` if it reads `first "A" second "B"`, with at
/// most a full stop after it.
static std::optional<std::pair<std::string, std::string>>
quotedPair(std::string_view message, std::string_view first,
           std::string_view second) {
  if (!message.starts_with(first))
    return std::nullopt;
  message.remove_prefix(first.size());
  size_t middle = message.find(second);
  size_t end = message.rfind('"');
  if (middle == std::string_view::npos || end < middle + second.size())
    return std::nullopt;
  size_t start = middle + second.size();
  return std::pair(std::string(message.substr(0, middle)),
                   std::string(message.substr(start, end - start)));
}

/// What to do about a character that the parser takes for no part of a word.
static std::string explainCharacter(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF"))
    return "the file begins with a byte order mark; save it as UTF-8 without "
           "one";
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return "the file is UTF-16; save it as UTF-8";
  return "a character that is not ASCII stands outside of quotes and comments";
}

namespace {
/// Turns the parser's messages into ours. Only the first error is kept: those
/// after it are mostly its consequences.
class ErrorKeeper : public io::ErrorCollector {
public:
  explicit ErrorKeeper(const TextSource &source) : source(source) {}

  void AddError(int line, int column, const std::string &message) override {
    if (!text.empty())
      return;
    std::string explained = message, token;
    if (auto names = quotedPair(message, "Message type \"",
                                "\" has no field named \"")) {
      token = names->second;
      explained = explainUnknownField(names->first, token);
    } else if (auto names =
                   quotedPair(message, "Unknown enumeration value of \"",
                              "\" for field \"")) {
      token = names->first;
      explained = explainUnknownValue(token, names->second);
    } else if (message.starts_with("Interpreting non ascii codepoint")) {
      explained = explainCharacter(source.text);
    }
    if (explained.ends_with("got: "))
      explained += "the end of the text";
    SourcePlace place = locate(std::max(line, 0), std::max(column, 0));
    if (!token.empty())
      place = locateToken(place, token);
    text = place.str() + ": S1: " + explained;
  }

  std::string text;

private:
  SourcePlace locate(int line, int column) const {
    return {source.file, line + 1, byteColumn(source.text, line, column) + 1};
  }

  /// The parser complains at the token after the one that is wrong: steps back
  /// to the last `token` that begins before `place`.
  SourcePlace locateToken(SourcePlace place, const std::string &token) const {
    size_t offset = 0;
    for (int i = 1; i < place.line; ++i)
      offset = source.text.find('\n', offset) + 1;
    offset += static_cast<size_t>(place.column - 1);
    if (offset == 0 || offset > source.text.size())
      return place;
    size_t found = source.text.rfind(token, offset - 1);
    if (found == std::string::npos)
      return place;
    size_t lineStart = source.text.rfind('\n', found);
    lineStart = lineStart == std::string::npos ? 0 : lineStart + 1;
    auto before = source.text.begin() + static_cast<std::ptrdiff_t>(found);
    place.line =
        1 + static_cast<int>(std::count(source.text.begin(), before, '\n'));
    place.column = static_cast<int>(found - lineStart) + 1;
    return place;
  }

  const TextSource &source;
};
} // namespace

Status spec::parseText(const TextSource &source, Message &message,
                       FieldLocations &locations) {
  ErrorKeeper errors(source);
  TextFormat::ParseInfoTree tree;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&tree);
  parser.SetRecursionLimit(maxNesting);
  if (!parser.ParseFromString(source.text, &message))
    return invalidArgument(errors.text.empty()
                               ? source.file + ": S1: cannot be parsed"
                               : errors.text);
  recordPlaces(message, tree, source, locations);
  return okStatus();
}
