//===- Messages.cpp - The messages of a conversation ----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Messages.h"

#include "base/Base64.h"
#include "runtime/serve/ChatFormat.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>

using namespace hocket;
using namespace hocket::serve;
using inference::TowerImage;
using nlohmann::json;

static std::string at(const std::string &place, size_t index) {
  return place + "[" + std::to_string(index) + "]";
}

/// The bytes of an image that its URL holds.
static StatusOr<std::string> bytesOfUrl(std::string_view url) {
  for (const char *scheme : {"http://", "https://", "file://"})
    if (url.starts_with(scheme))
      return invalidArgument("the server fetches nothing: send the image "
                             "itself, data:image/png;base64,... or "
                             "data:image/jpeg;base64,...");
  for (std::string_view kind : {"png", "jpeg", "jpg"}) {
    std::string begin = "data:image/" + std::string(kind) + ";base64,";
    if (url.starts_with(begin))
      return decodeBase64(url.substr(begin.size()));
  }
  return invalidArgument("expected data:image/png;base64,... or "
                         "data:image/jpeg;base64,..., found '" +
                         std::string(url.substr(0, 40)) + "'");
}

/// One at a time, so that what hostile images take of memory does not add up.
static StatusOr<TowerImage> decodeAlone(const ServedModel &model,
                                        const std::string &bytes) {
  static std::mutex decoding;
  std::lock_guard lock(decoding);
  return inference::decodeTowerImage(*model.program, bytes,
                                     model.chat->mostPixels);
}

namespace {
/// A part of a message's content.
struct Part {
  bool isImage = false;
  std::string text;
};

class MessageReader {
public:
  explicit MessageReader(const ServedModel &model)
      : model(model), images(model.program->training().images()),
        seesImages(model.program->training().has_images()) {
    if (seesImages)
      placeholder = model.tokenizer->tokenText(int32_t(images.image_token()))
                        .value_or("");
  }

  /// `tag` is put behind the last text.
  StatusOr<chat::Value> read(const json &message, const std::string &place,
                             const std::string &tag);
  std::vector<TowerImage> take() { return std::move(seen); }

private:
  StatusOr<std::vector<Part>> readParts(const json &list,
                                        const std::string &place);
  StatusOr<Part> readPart(const json &part, const std::string &place);
  Status checkText(const std::string &text, const std::string &place) const;
  Status checkSees(const std::string &place) const;
  Status readImage(RequestFields &fields, const std::string &place);
  StatusOr<chat::Value> contentOf(const std::vector<Part> &parts,
                                  bool isText) const;

  const ServedModel &model;
  const program::TrainingInfo::Images &images;
  const bool seesImages;
  std::string placeholder; ///< The text of the image's token.
  std::vector<TowerImage> seen;
};
} // namespace

/// What it says would be taken for an image.
Status MessageReader::checkText(const std::string &text,
                                const std::string &place) const {
  if (placeholder.empty() || text.find(placeholder) == text.npos)
    return okStatus();
  return invalidArgument("'" + place + "' has " + placeholder +
                         " in it, which stands for an image; images are parts "
                         "of their own, of type \"image_url\"");
}

Status MessageReader::checkSees(const std::string &place) const {
  if (!seesImages)
    return invalidArgument("'" + place + "' is an image, and the model '" +
                           model.name + "' sees none");
  if (seen.size() < images.images())
    return okStatus();
  return invalidArgument("'" + place + "' is image " +
                         std::to_string(seen.size() + 1) +
                         " of the conversation, and the model sees at most " +
                         std::to_string(images.images()) +
                         ": compile it with more training.images_per_sequence");
}

Status MessageReader::readImage(RequestFields &fields,
                                const std::string &place) {
  HOCKET_RETURN_IF_ERROR(checkSees(place));
  HOCKET_RETURN_IF_ERROR(fields.require("image_url"));
  HOCKET_ASSIGN_OR_RETURN(
      RequestFields inner,
      RequestFields::within(*fields.find("image_url"), place + ".image_url"));
  std::string_view url;
  HOCKET_RETURN_IF_ERROR(inner.require("url"));
  HOCKET_RETURN_IF_ERROR(inner.read("url", url));
  HOCKET_RETURN_IF_ERROR(inner.expect("detail", "auto"));
  HOCKET_RETURN_IF_ERROR(inner.checkNoneLeft());
  StatusOr<std::string> bytes = bytesOfUrl(url);
  if (!bytes.ok())
    return bytes.status().withContext(inner.quoted("url"));
  StatusOr<TowerImage> image = decodeAlone(model, *bytes);
  if (!image.ok())
    return image.status().withContext(inner.quoted("url"));
  seen.push_back(*std::move(image));
  return okStatus();
}

StatusOr<Part> MessageReader::readPart(const json &part,
                                       const std::string &place) {
  HOCKET_ASSIGN_OR_RETURN(RequestFields fields,
                          RequestFields::within(part, place));
  Part result;
  std::string type;
  HOCKET_RETURN_IF_ERROR(fields.require("type"));
  HOCKET_RETURN_IF_ERROR(fields.read("type", type));
  if (type == "text") {
    HOCKET_RETURN_IF_ERROR(fields.require("text"));
    HOCKET_RETURN_IF_ERROR(fields.read("text", result.text));
    HOCKET_RETURN_IF_ERROR(checkText(result.text, place + ".text"));
  } else if (type == "image_url") {
    result.isImage = true;
    HOCKET_RETURN_IF_ERROR(readImage(fields, place));
  } else {
    return invalidArgument(fields.quoted("type") +
                           " is \"text\" or \"image_url\", not \"" + type +
                           "\"");
  }
  HOCKET_RETURN_IF_ERROR(fields.checkNoneLeft());
  return result;
}

StatusOr<std::vector<Part>> MessageReader::readParts(const json &list,
                                                     const std::string &place) {
  std::vector<Part> parts;
  if (list.is_string()) {
    HOCKET_RETURN_IF_ERROR(checkText(list.get<std::string>(), place));
    parts.push_back({false, list.get<std::string>()});
    return parts;
  }
  if (!list.is_array() || list.empty())
    return invalidArgument("'" + place +
                           "' is a text, or a list of at least one part");
  for (const json &each : list) {
    HOCKET_ASSIGN_OR_RETURN(Part part, readPart(each, at(place, parts.size())));
    parts.push_back(std::move(part));
  }
  return parts;
}

/// As the template takes it; `isText`: it came as a text.
StatusOr<chat::Value> MessageReader::contentOf(const std::vector<Part> &parts,
                                               bool isText) const {
  const chat::ContentForms &forms = model.chat->contents();
  if (forms.parts && !(isText && forms.texts)) {
    chat::Items items;
    for (const Part &part : parts)
      items.push_back(part.isImage ? chat::Value::dict({{"type", "image"}})
                                   : chat::Value::dict({{"type", "text"},
                                                        {"text", part.text}}));
    return chat::Value::list(std::move(items));
  }
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].isImage && placeholder.empty())
      return invalidArgument("the tokenizer has no text for the token of an "
                             "image, which the chat template needs");
    text +=
        (i > 0 ? "\n" : "") + (parts[i].isImage ? placeholder : parts[i].text);
  }
  return chat::Value(std::move(text));
}

StatusOr<chat::Value> MessageReader::read(const json &message,
                                          const std::string &place,
                                          const std::string &tag) {
  HOCKET_ASSIGN_OR_RETURN(RequestFields fields,
                          RequestFields::within(message, place));
  std::string role, name;
  for (const char *needed : {"role", "content"})
    HOCKET_RETURN_IF_ERROR(fields.require(needed));
  HOCKET_RETURN_IF_ERROR(fields.read("role", role));
  HOCKET_RETURN_IF_ERROR(fields.read("name", name));
  HOCKET_RETURN_IF_ERROR(fields.expect("tool_calls", json::array()));
  const json &content = *fields.find("content");
  HOCKET_RETURN_IF_ERROR(fields.checkNoneLeft());
  HOCKET_ASSIGN_OR_RETURN(std::vector<Part> parts,
                          readParts(content, place + ".content"));
  if (!tag.empty()) {
    if (parts.back().isImage)
      return invalidArgument("'continue_final_message': the last message does "
                             "not end with a text");
    parts.back().text += tag;
  }
  HOCKET_ASSIGN_OR_RETURN(chat::Value value,
                          contentOf(parts, content.is_string()));
  chat::Members members = {{"role", role}, {"content", std::move(value)}};
  if (!name.empty())
    members.emplace_back("name", name);
  return chat::Value::dict(std::move(members));
}

StatusOr<Messages> serve::readMessages(const json &list,
                                       const ServedModel &model,
                                       const std::string &tag) {
  if (!list.is_array() || list.empty())
    return invalidArgument("'messages' is a list of at least one message");
  MessageReader reader(model);
  chat::Items items;
  for (size_t i = 0; i < list.size(); ++i) {
    HOCKET_ASSIGN_OR_RETURN(chat::Value message,
                            reader.read(list[i], at("messages", i),
                                        i + 1 == list.size() ? tag : ""));
    items.push_back(std::move(message));
  }
  return Messages{chat::Value::list(std::move(items)), reader.take()};
}

/// Takes `text`, behind space, from the front of `rest`; whether it was there.
static bool skip(std::string_view &rest, std::string_view text) {
  size_t begin = rest.find_first_not_of(" \t\r\n");
  if (begin == rest.npos || !rest.substr(begin).starts_with(text))
    return false;
  rest.remove_prefix(begin + text.size());
  return true;
}

uint64_t serve::bytesBesideImages(std::string_view body) {
  constexpr std::string_view name = "\"image_url\"";
  uint64_t bytes = body.size();
  std::string_view rest = body;
  for (size_t at; (at = rest.find(name)) != rest.npos;) {
    rest.remove_prefix(at + name.size());
    if (!skip(rest, ":") || !skip(rest, "{"))
      continue;
    if (skip(rest, "\"detail\"") && skip(rest, ":") && skip(rest, "\"")) {
      rest.remove_prefix(std::min(rest.find('"'), rest.size()));
      if (!skip(rest, "\"") || !skip(rest, ","))
        continue;
    }
    if (!skip(rest, "\"url\"") || !skip(rest, ":") || !skip(rest, "\""))
      continue;
    size_t end = std::min(rest.find('"'), rest.size());
    bytes -= end;
    rest.remove_prefix(end);
  }
  return bytes;
}
