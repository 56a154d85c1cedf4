//===- Chat.h - Requests for answers ----------------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// OpenAI's `POST /v1/chat/completions`: messages (Messages.h), of which the
/// model's chat template makes a prompt (ChatFormat.h), and the JSON of what is
/// written behind it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_CHAT_H
#define HOCKET_RUNTIME_SERVE_CHAT_H

#include "runtime/serve/Answers.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::serve {

/// InvalidArgument, naming the field; NotFound for another model's name;
/// DataLoss for a damaged image.
StatusOr<Completion> parseChat(std::string_view body, const ServedModel &model);

/// The whole answer; `texts` are those of the questions, `number` is the
/// request's.
nlohmann::ordered_json
chatJson(const Completion &completion,
         const std::vector<inference::GeneratedText> &texts,
         const ServedModel &model, uint64_t number);

/// The same as a stream: of each choice first the role.
class ChatStream final : public AnswerStream {
public:
  /// All outlive the stream.
  ChatStream(const Completion &completion, const ServedModel &model,
             uint64_t number);
  ~ChatStream() override;

private:
  struct Text;
  std::string say(const Event &event) override;
  std::string partOf(size_t index, nlohmann::ordered_json delta,
                     const char *finish);

  const ServedModel &model;
  std::vector<std::unique_ptr<Text>> texts;
};

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_CHAT_H
