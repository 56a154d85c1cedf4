//===- Messages.h - The messages of a conversation --------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// OpenAI's "messages":
///
///   [{"role": "system", "content": "Be brief."},
///    {"role": "user", "content": [
///      {"type": "image_url", "image_url": {"url":
///      "data:image/png;base64,..."}},
///      {"type": "text", "text": "What is it?"}]}]
///
/// A template that takes parts gets {"type": "image"} for an image, and prints
/// what stands for one; a template of texts gets parts as one text, a line
/// each, with the text of the image's token where an image stands.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_MESSAGES_H
#define HOCKET_RUNTIME_SERVE_MESSAGES_H

#include "runtime/chat/Value.h"
#include "runtime/serve/Questions.h"

#include <string>
#include <string_view>
#include <vector>

namespace hocket::serve {

/// Messages as the model's chat template takes them, and the images of all, in
/// their order.
struct Messages {
  chat::Value value;
  std::vector<inference::TowerImage> images;
};

/// `tag` is put behind the last text of the last message. InvalidArgument or
/// DataLoss, naming the field, for what is no message, no PNG or JPEG image, or
/// more than the model sees; and for a text with the image's token in it.
StatusOr<Messages> readMessages(const nlohmann::json &list,
                                const ServedModel &model,
                                const std::string &tag);

/// The bytes of a request but for those that can only be an image's: the value
/// of "url" in an "image_url", behind nothing but "detail". Any bytes will do.
uint64_t bytesBesideImages(std::string_view body);

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_MESSAGES_H
