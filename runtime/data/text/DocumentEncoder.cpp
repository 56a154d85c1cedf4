//===- DocumentEncoder.cpp - A chunk of documents to tokens ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/DocumentEncoder.h"

#include "base/TextLines.h"
#include "base/json/JsonDefect.h"

#include <cstring>
#include <simdjson.h>
#include <span>

using namespace hocket;
using namespace hocket::data;

static constexpr size_t longLine = size_t(1) << 20;
static constexpr size_t valuesLimit = size_t(4) << 20;

static_assert(DocumentChunk::padding >= simdjson::SIMDJSON_PADDING);

struct DocumentEncoder::Json {
  simdjson::dom::parser parser;
};

DocumentEncoder::DocumentEncoder(const EncoderOptions &options)
    : options(options), json(std::make_unique<Json>()) {
  if (options.chat)
    contents = options.chat->contentForms();
}
DocumentEncoder::~DocumentEncoder() = default;

/// Counts lines up to the one that begins at `offset`. Every line is counted
/// once, however many of them are bad.
void DocumentEncoder::reachLine(const DocumentChunk &chunk, size_t offset) {
  reachedPlace =
      reachedPlace.after(chunk.text().substr(reached, offset - reached));
  reached = offset;
}

/// "file:line:column: message" for the byte `offset` of a chunk.
Status DocumentEncoder::wrongAt(const DocumentChunk &chunk, size_t offset,
                                const std::string &message) const {
  TextPlace place =
      reachedPlace.after(chunk.text().substr(reached, offset - reached));
  return invalidArgument(chunk.path + ":" + std::to_string(place.line) + ":" +
                         std::to_string(place.column) + ": " + message);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

template <typename T>
static void appendAs(std::span<const int32_t> tokens, std::string &bytes) {
  size_t begin = bytes.size();
  bytes.resize(begin + tokens.size() * sizeof(T));
  for (size_t i = 0; i < tokens.size(); ++i) {
    T token = T(tokens[i]);
    std::memcpy(bytes.data() + begin + i * sizeof(T), &token, sizeof(T));
  }
}

void data::appendTokens(std::span<const int32_t> tokens, TokenType type,
                        std::string &bytes) {
  if (type == TokenType::U16)
    appendAs<uint16_t>(tokens, bytes);
  else
    appendAs<int32_t>(tokens, bytes);
}

/// How much of `text` to encode at once, where it can be cut.
size_t DocumentEncoder::partOf(std::string_view text) const {
  for (size_t size = size_t(1) << 20; size < text.size(); size *= 2)
    if (size_t at = options.tokenizer->splitPoint(text.substr(0, size)))
      return at;
  return text.size();
}

/// Appends what `tokens` holds, and empties it; returns how many that were.
uint64_t DocumentEncoder::flushTokens(EncodedText &out) {
  appendTokens(tokens, options.type, out.bytes);
  uint64_t count = tokens.size();
  tokens.clear();
  return count;
}

/// Appends the tokens of `text`, which goes on where `continues`; returns how
/// many they are.
uint64_t DocumentEncoder::encodeSequence(std::string_view text, bool continues,
                                         EncodedText &out) {
  uint64_t count = 0;
  auto part =
      continues ? tokenizer::TextPart::Later : tokenizer::TextPart::First;
  while (!text.empty()) {
    size_t size = partOf(text);
    options.tokenizer->encode(text.substr(0, size), tokens, part);
    part = tokenizer::TextPart::Later;
    text.remove_prefix(size);
    count += flushTokens(out);
  }
  return count;
}

void DocumentEncoder::emit(std::string_view text, bool continuesDocument,
                           bool endsDocument, EncodedText &out) {
  size_t first = out.lengths.size();
  if (options.sentences == SentenceSplit::None)
    out.lengths.push_back(encodeSequence(text, continuesDocument, out));
  else
    for (std::string_view sentence :
         splitSentences(text, options.sentences == SentenceSplit::WithSpace))
      if (uint64_t count = encodeSequence(sentence, /*continues=*/false, out))
        out.lengths.push_back(count);
  bool hasText = continuesDocument ||
                 (out.lengths.size() > first && out.lengths.back() > 0);
  if (endsDocument && hasText && options.endOfDocument) {
    tokens.push_back(*options.endOfDocument);
    if (out.lengths.size() == first)
      out.lengths.push_back(0);
    out.lengths.back() += flushTokens(out);
  }
  out.sequences.push_back(out.lengths.size() - first);
}

//===----------------------------------------------------------------------===//
// Plain text
//===----------------------------------------------------------------------===//

Status DocumentEncoder::encodeText(const DocumentChunk &chunk,
                                   EncodedChunk &out) {
  if (!simdjson::validate_utf8(chunk.bytes.data(), chunk.size))
    return wrongAt(chunk, findInvalidUtf8(chunk.text()),
                   "expected valid UTF-8");
  out.continuesDocument = !chunk.beginsDocument;
  // Chunks are cut between sentences.
  out.continuesSequence =
      out.continuesDocument && options.sentences == SentenceSplit::None;
  emit(chunk.text(), out.continuesDocument, chunk.endsDocument,
       out.texts.front());
  return okStatus();
}

//===----------------------------------------------------------------------===//
// JSON lines
//===----------------------------------------------------------------------===//

/// Why simdjson refused `line`, which begins at byte `begin` of the chunk.
Status DocumentEncoder::wrongJson(const DocumentChunk &chunk, size_t begin,
                                  std::string_view line, int error) const {
  if (auto defect = findJsonDefect(line))
    return wrongAt(chunk, begin + defect->offset,
                   "expected " + defect->expected);
  if (error == simdjson::NUMBER_ERROR || error == simdjson::NUMBER_OUT_OF_RANGE)
    return wrongAt(chunk, begin, "expected numbers that 64 bits can hold");
  return wrongAt(chunk, begin,
                 simdjson::error_message(simdjson::error_code(error)));
}

static const char *kindName(simdjson::dom::element_type type) {
  using simdjson::dom::element_type;
  switch (type) {
  case element_type::ARRAY:
    return "an array";
  case element_type::OBJECT:
    return "an object";
  case element_type::INT64:
  case element_type::UINT64:
  case element_type::DOUBLE:
    return "a number";
  case element_type::STRING:
    return "a string";
  case element_type::BOOL:
    return "true or false";
  case element_type::NULL_VALUE:
    return "null";
  }
  return "something else";
}

/// Whether so long a line has more values than a document needs; the parser
/// takes up to 28 bytes for each.
static bool hasTooManyValues(std::string_view line) {
  if (line.size() < longLine)
    return false;
  size_t values = 0;
  bool isString = false;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (isString && c == '\\')
      ++i;
    else if (c == '"')
      isString = !isString;
    else if (!isString)
      values += c == ',' || c == ':' || c == '[' || c == '{';
  }
  return values > valuesLimit;
}

Status DocumentEncoder::parseJson(const DocumentChunk &chunk,
                                  std::string_view line) {
  auto begin = size_t(line.data() - chunk.bytes.data());
  reachLine(chunk, begin);
  if (hasTooManyValues(line))
    return wrongAt(chunk, begin,
                   "expected at most " + std::to_string(valuesLimit) +
                       " JSON values in one line");
  // The line is followed by its line feed and the rest of the chunk, so the
  // parser may read past its end.
  auto parsed = json->parser.parse(line.data(), line.size(), false);
  if (parsed.error())
    return wrongJson(chunk, begin, line, parsed.error());
  return okStatus();
}

/// Finds the one string under each key.
Status DocumentEncoder::parseLine(const DocumentChunk &chunk,
                                  std::string_view line) {
  auto begin = size_t(line.data() - chunk.bytes.data());
  HOCKET_RETURN_IF_ERROR(parseJson(chunk, line));
  simdjson::dom::element parsed = json->parser.doc.root();
  simdjson::dom::object object;
  if (parsed.get(object))
    return wrongAt(chunk, begin,
                   std::string("expected an object with the key '") +
                       options.jsonKeys.front() + "', found " +
                       kindName(parsed.type()));
  for (size_t k = 0; k < options.jsonKeys.size(); ++k) {
    const std::string &key = options.jsonKeys[k];
    auto memberAt = [&](unsigned occurrence) {
      return begin + findJsonMember(line, key, occurrence).value_or(0);
    };
    bool found = false;
    for (auto field : object) {
      if (field.key != key)
        continue;
      if (found)
        return wrongAt(chunk, memberAt(1),
                       "the key '" + key + "' appears twice");
      if (field.value.get(lineTexts[k]))
        return wrongAt(chunk, memberAt(0),
                       "expected a string under the key '" + key + "', found " +
                           kindName(field.value.type()));
      found = true;
    }
    if (!found)
      return wrongAt(chunk, begin,
                     "expected an object with the key '" + key + "'");
  }
  return okStatus();
}

static chat::Value valueOf(const simdjson::dom::element &element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
  case element_type::ARRAY: {
    chat::Items items;
    for (simdjson::dom::element item : element.get_array().value_unsafe())
      items.push_back(valueOf(item));
    return chat::Value::list(std::move(items));
  }
  case element_type::OBJECT: {
    chat::Members members;
    for (auto field : element.get_object().value_unsafe())
      members.emplace_back(std::string(field.key), valueOf(field.value));
    return chat::Value::dict(std::move(members));
  }
  case element_type::INT64:
    return chat::Value(element.get_int64().value_unsafe());
  case element_type::UINT64: // Beyond what 64 bits with a sign hold.
    return chat::Value(double(element.get_uint64().value_unsafe()));
  case element_type::DOUBLE:
    return chat::Value(element.get_double().value_unsafe());
  case element_type::STRING:
    return chat::Value(std::string(element.get_string().value_unsafe()));
  case element_type::BOOL:
    return chat::Value(element.get_bool().value_unsafe());
  case element_type::NULL_VALUE:
    break;
  }
  return {};
}

/// A list of dicts that each say their role.
static bool areMessages(const chat::Value &value) {
  return value.isList() && !value.items().empty() &&
         std::ranges::all_of(value.items(), [](const chat::Value &message) {
           const chat::Value *role = message.find("role");
           return role && role->isString();
         });
}

/// What the parsed line holds; messages are None where there are none.
StatusOr<ImageMessages> DocumentEncoder::readMessages() const {
  simdjson::dom::element parsed = json->parser.doc.root(), found;
  const std::string &key = options.jsonKeys.front();
  if (options.images)
    return readImageMessages(valueOf(parsed), key, options.images->placeholder);
  ImageMessages read;
  if (!parsed.at_key(key).get(found))
    read.messages = valueOf(found);
  return read;
}

Status DocumentEncoder::parseConversation(const DocumentChunk &chunk,
                                          std::string_view line,
                                          EncodedChunk &out) {
  auto begin = size_t(line.data() - chunk.bytes.data());
  HOCKET_RETURN_IF_ERROR(parseJson(chunk, line));
  auto read = readMessages();
  if (!read.ok())
    return wrongAt(chunk, begin, read.status().message());
  if (!areMessages(read->messages))
    return wrongAt(chunk, begin,
                   "expected an object with messages under the key '" +
                       options.jsonKeys.front() +
                       "': [{\"role\": \"user\", \"content\": ...}, ...]");
  auto conversation = options.chat->renderToLearn(read->messages, contents);
  if (!conversation.ok())
    return wrongAt(chunk, begin, conversation.status().message());
  LearnedTokens encoded =
      encodeConversation(*options.tokenizer, *conversation,
                         options.chat->wantsSpecialTokens(
                             conversation->text, bool(options.images)));
  if (options.images)
    if (Status status = addImages(*options.images, chunk.path, read->files,
                                  encoded, out.pixels);
        !status.ok())
      return wrongAt(chunk, begin, status.message());
  out.conversations.push_back(std::move(encoded));
  return okStatus();
}

Status DocumentEncoder::encodeLines(const DocumentChunk &chunk,
                                    EncodedChunk &out) {
  std::string_view rest = chunk.text();
  while (!rest.empty()) {
    std::string_view line = takeLine(rest);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    Status status = options.chat ? parseConversation(chunk, line, out)
                                 : parseLine(chunk, line);
    if (status.ok() && options.chat)
      continue;
    if (status.ok()) {
      for (size_t k = 0; k < lineTexts.size(); ++k)
        emit(lineTexts[k], /*continuesDocument=*/false, /*endsDocument=*/true,
             out.texts[k]);
      continue;
    }
    if (!options.skipsBadLines)
      return status;
    ++out.badLines;
    if (out.wrong.size() < EncodedChunk::mostWrong)
      out.wrong.push_back(status.message());
  }
  return okStatus();
}

StatusOr<EncodedChunk> DocumentEncoder::encode(const DocumentChunk &chunk) {
  EncodedChunk out;
  out.textBytes = chunk.size;
  out.fileBytes = chunk.fileBytes;
  reached = 0;
  reachedPlace = chunk.begin;
  out.texts.resize(options.jsonKeys.size());
  lineTexts.resize(options.jsonKeys.size());
  // Of several keys, none has the whole chunk.
  if (out.texts.size() == 1)
    out.texts.front().bytes.reserve(chunk.size * tokenBytes(options.type));
  HOCKET_RETURN_IF_ERROR(chunk.jsonLines ? encodeLines(chunk, out)
                                         : encodeText(chunk, out));
  return out;
}
