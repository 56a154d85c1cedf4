//===- ImageConversations.cpp - Conversations about images ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/ImageConversations.h"

#include "base/Quantity.h"
#include "runtime/data/images/Pixels.h"

#include <algorithm>
#include <filesystem>

using namespace hocket;
using namespace hocket::data;

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

/// How often `what` stands in `text`.
static size_t countOf(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos;
       at = text.find(what, at + what.size()))
    ++count;
  return count;
}

/// The file that a value names.
static StatusOr<std::string> fileNamed(const chat::Value &value) {
  const chat::Value *path = value.isDict() ? value.find("path") : &value;
  if (!path || !path->isString())
    return invalidArgument("expected the path of an image, found " +
                           value.kind());
  for (const char *scheme : {"http://", "https://", "data:"})
    if (path->string().starts_with(scheme))
      return invalidArgument(
          "expected the path of an image on this machine, found '" +
          path->string().substr(0, 60) + "'; save it as a file");
  if (path->string().empty() || path->string().find('\0') != std::string::npos)
    return invalidArgument("expected the path of an image, found an empty one");
  return path->string();
}

/// The images that a line names beside its messages.
static StatusOr<std::vector<std::string>> filesOf(const chat::Value &line) {
  std::vector<std::string> files;
  for (const char *key : {"images", "image"}) {
    const chat::Value *value = line.find(key);
    if (!value || value->isNone())
      continue;
    chat::Items items = value->isList() ? value->items() : chat::Items{*value};
    for (const chat::Value &item : items) {
      HOCKET_ASSIGN_OR_RETURN(std::string file, fileNamed(item));
      files.push_back(std::move(file));
    }
  }
  return files;
}

namespace {
/// Gives each place for an image its file, in order.
class ImagePlaces {
public:
  ImagePlaces(const std::string &placeholder, std::vector<std::string> beside)
      : placeholder(placeholder), beside(std::move(beside)) {}

  Status readMessage(const chat::Value &message);
  /// A placeholder in a text.
  Status take();
  /// What was found; all files have a place.
  StatusOr<std::vector<std::string>> finish();

private:
  Status readPart(const chat::Value &part);

  const std::string &placeholder;
  std::vector<std::string> beside; ///< Files that the line names.
  size_t taken = 0;                ///< Of these.
  std::vector<std::string> files;
};
} // namespace

Status ImagePlaces::take() {
  if (taken == beside.size())
    return invalidArgument("the messages have a place for image " +
                           std::to_string(files.size() + 1) +
                           ", and no file is named for it");
  files.push_back(beside[taken++]);
  return okStatus();
}

Status ImagePlaces::readPart(const chat::Value &part) {
  const chat::Value *type = part.isDict() ? part.find("type") : nullptr;
  if (!type || !type->isString())
    return invalidArgument("a part of a message's content says its type, "
                           "\"text\" or \"image\", and this is " +
                           part.kind());
  if (type->string() == "text") {
    const chat::Value *text = part.find("text");
    if (text && text->isString() && countOf(text->string(), placeholder) > 0)
      return invalidArgument("a part of type \"text\" has " + placeholder +
                             " in it; images are parts of their own");
    return okStatus();
  }
  if (type->string() != "image")
    return invalidArgument(
        "expected parts of the types \"text\" and \"image\", found \"" +
        type->string() + "\"");
  for (const char *key : {"path", "image", "url"})
    if (const chat::Value *named = part.find(key); named && !named->isNone()) {
      HOCKET_ASSIGN_OR_RETURN(std::string file, fileNamed(*named));
      files.push_back(std::move(file));
      return okStatus();
    }
  return take();
}

Status ImagePlaces::readMessage(const chat::Value &message) {
  const chat::Value *content =
      message.isDict() ? message.find("content") : nullptr;
  if (content && content->isList())
    for (const chat::Value &part : content->items())
      HOCKET_RETURN_IF_ERROR(readPart(part));
  if (content && content->isString())
    for (size_t n = countOf(content->string(), placeholder); n > 0; --n)
      HOCKET_RETURN_IF_ERROR(take());
  return okStatus();
}

StatusOr<std::vector<std::string>> ImagePlaces::finish() {
  if (taken == beside.size())
    return std::move(files);
  return invalidArgument(
      "the line names " + formatNoun(beside.size(), "image") +
      ", and its messages have places for " + std::to_string(taken));
}

//===----------------------------------------------------------------------===//
// LLaVA's form
//===----------------------------------------------------------------------===//

/// A text without placeholders and the white space around it.
static std::string withoutImages(std::string text,
                                 const std::string &placeholder) {
  for (size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at))
    text.erase(at, placeholder.size());
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos)
    return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

/// Images first, then the text, as LLaVA has it and templates print it.
static StatusOr<chat::Value> messageOf(const chat::Value &turn,
                                       const std::string &placeholder) {
  const chat::Value *from = turn.isDict() ? turn.find("from") : nullptr;
  const chat::Value *value = turn.isDict() ? turn.find("value") : nullptr;
  if (!from || !from->isString() || !value || !value->isString())
    return invalidArgument(
        "a turn is {\"from\": \"human\" or \"gpt\", \"value\": \"...\"}, and "
        "one of the conversation is not");
  std::string role = from->string() == "human" ? "user"
                     : from->string() == "gpt" ? "assistant"
                                               : from->string();
  if (role != "user" && role != "assistant" && role != "system")
    return invalidArgument("a turn is from \"human\", \"gpt\" or \"system\", "
                           "not from \"" +
                           from->string() + "\"");
  chat::Items parts;
  for (size_t n = countOf(value->string(), placeholder); n > 0; --n)
    parts.push_back(chat::Value::dict({{"type", "image"}}));
  parts.push_back(chat::Value::dict(
      {{"type", "text"},
       {"text", parts.empty() ? value->string()
                              : withoutImages(value->string(), placeholder)}}));
  return chat::Value::dict(
      {{"role", role}, {"content", chat::Value::list(std::move(parts))}});
}

static StatusOr<chat::Value> messagesOf(const chat::Value &turns,
                                        const std::string &placeholder) {
  if (!turns.isList())
    return invalidArgument("expected a list of turns under the key "
                           "'conversations', found " +
                           turns.kind());
  chat::Items messages;
  for (const chat::Value &turn : turns.items()) {
    HOCKET_ASSIGN_OR_RETURN(chat::Value message, messageOf(turn, placeholder));
    messages.push_back(std::move(message));
  }
  return chat::Value::list(std::move(messages));
}

StatusOr<ImageMessages>
data::readImageMessages(const chat::Value &line, const std::string &key,
                        const std::string &placeholder) {
  ImageMessages result;
  if (!line.isDict())
    return result;
  const chat::Value *messages = line.find(key);
  if (messages) {
    result.messages = *messages;
  } else if (const chat::Value *turns = line.find("conversations")) {
    HOCKET_ASSIGN_OR_RETURN(result.messages, messagesOf(*turns, placeholder));
  }
  if (!result.messages.isList())
    return result;
  HOCKET_ASSIGN_OR_RETURN(auto beside, filesOf(line));
  ImagePlaces places(placeholder, std::move(beside));
  for (const chat::Value &message : result.messages.items())
    HOCKET_RETURN_IF_ERROR(places.readMessage(message));
  HOCKET_ASSIGN_OR_RETURN(result.files, places.finish());
  return result;
}

//===----------------------------------------------------------------------===//
// Pixels and tokens
//===----------------------------------------------------------------------===//

/// As many tokens as an image has, in the place of each that stands for one.
static void expandImages(const ImageEncoding &encoding,
                         LearnedTokens &conversation) {
  LearnedTokens expanded;
  expanded.images = std::move(conversation.images);
  for (size_t i = 0; i < conversation.tokens.size(); ++i) {
    bool isImage = conversation.tokens[i] == encoding.token;
    size_t count = isImage ? encoding.tokensPerImage : 1;
    expanded.tokens.insert(expanded.tokens.end(), count,
                           conversation.tokens[i]);
    expanded.learned.insert(expanded.learned.end(), count,
                            isImage ? 0 : conversation.learned[i]);
  }
  conversation = std::move(expanded);
}

Status data::addImages(const ImageEncoding &encoding, const std::string &path,
                       const std::vector<std::string> &files,
                       LearnedTokens &conversation,
                       std::vector<std::vector<uint8_t>> &pixels) {
  auto places = size_t(std::ranges::count(conversation.tokens, encoding.token));
  if (places != files.size())
    return invalidArgument(
        "the chat template makes " + formatNoun(places, "token") + " " +
        encoding.placeholder + " of " + formatNoun(files.size(), "image") +
        "; is it the template of a model that sees images?");
  if (files.size() > encoding.imagesPerSequence)
    return invalidArgument("the conversation has " +
                           formatNoun(files.size(), "image") +
                           ", and --images-per-sequence allows " +
                           std::to_string(encoding.imagesPerSequence));
  std::filesystem::path folder = encoding.folder.empty()
                                     ? std::filesystem::path(path).parent_path()
                                     : std::filesystem::path(encoding.folder);
  for (const std::string &file : files) {
    HOCKET_ASSIGN_OR_RETURN(RgbImage image,
                            readImage((folder / file).string()));
    conversation.images.push_back(uint32_t(pixels.size()));
    pixels.push_back(resizeAndCrop(image, encoding.imageSize));
  }
  expandImages(encoding, conversation);
  return okStatus();
}
