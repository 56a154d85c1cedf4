//===- ImageConversations.h - Conversations about images --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A line of JSON may be a conversation about images, in one of two forms:
///
///   {"messages": [{"role": "user", "content": [{"type": "image"},
///                  {"type": "text", "text": ...}]}, ...], "images": ["a.jpg"]}
///   {"conversations": [{"from": "human", "value": "<image>\n..."},
///                      {"from": "gpt", "value": ...}], "image": "a.jpg"}
///
/// The first is that of `transformers`, whose image parts may also name their
/// file themselves, under "path", "image" or "url"; the second is LLaVA's.
/// Files lie on this machine. What the chat template prints for an image is one
/// token, in the place of which stand as many as the model has of an image.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_IMAGECONVERSATIONS_H
#define HOCKET_RUNTIME_DATA_TEXT_IMAGECONVERSATIONS_H

#include "base/Status.h"
#include "runtime/chat/Value.h"
#include "runtime/data/text/Conversations.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::data {

/// What an image becomes.
struct ImageEncoding {
  uint64_t imageSize = 0;         ///< Pixels of a side.
  uint64_t tokensPerImage = 0;    ///< Of `token`, in a row.
  uint64_t imagesPerSequence = 0; ///< The most.
  int32_t token = 0;
  std::string placeholder = "<image>"; ///< What stands for `token` in texts.
  std::string folder = {}; ///< Of files; empty: the one that names them.
};

/// A conversation as a chat template takes it, and the files of its images, as
/// the line names them, in the order in which they are spoken of.
struct ImageMessages {
  chat::Value messages;
  std::vector<std::string> files;
};

/// Reads a line. Messages stand under `key` or "conversations". InvalidArgument
/// where it has not as many places for images as images.
StatusOr<ImageMessages> readImageMessages(const chat::Value &line,
                                          const std::string &key,
                                          const std::string &placeholder);

/// Reads the images of a conversation that stands in the file `path`, puts
/// their pixels (resizeAndCrop()) behind `pixels` and their numbers there into
/// `conversation`, and expands their tokens. InvalidArgument where a file is no
/// image, or there are too many or not as many as the conversation has tokens.
Status addImages(const ImageEncoding &encoding, const std::string &path,
                 const std::vector<std::string> &files,
                 LearnedTokens &conversation,
                 std::vector<std::vector<uint8_t>> &pixels);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_IMAGECONVERSATIONS_H
