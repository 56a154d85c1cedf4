//===- ChatFormat.h - Conversations as prompts ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_CHATFORMAT_H
#define HOCKET_RUNTIME_SERVE_CHATFORMAT_H

#include "runtime/chat/ChatTemplate.h"
#include "runtime/serve/Questions.h"

#include <optional>
#include <string>
#include <vector>

namespace hocket::serve {

/// How conversations become prompts of a model.
class ChatFormat {
public:
  /// Of a tokenizer and its folder; `path`, if not empty, is the template.
  /// NotFound if there is no template; InvalidArgument for one that cannot be
  /// read, or whose special tokens the tokenizer would not find.
  static StatusOr<ChatFormat> open(const std::string &folder,
                                   const std::string &path,
                                   const tokenizer::Tokenizer &tokenizer);

  explicit ChatFormat(chat::ChatTemplate form)
      : ownForm(std::move(form)), ownContents(ownForm.contentForms()) {}

  const chat::ChatTemplate &form() const { return ownForm; }
  const chat::ContentForms &contents() const { return ownContents; }

  /// The most pixels of an image that comes in a request. One takes up to 11
  /// bytes while it is decoded; one image is decoded at a time.
  static constexpr uint64_t defaultPixels = uint64_t(32) << 20;
  uint64_t mostPixels = defaultPixels;

private:
  chat::ChatTemplate ownForm;
  chat::ContentForms ownContents;
};

/// What a request says of a conversation; the fields are vLLM's.
struct ChatOptions {
  const nlohmann::json *messages = nullptr;
  bool addsPrompt = true; ///< For an answer: add_generation_prompt.
  /// The last message is the beginning of the answer: continue_final_message.
  bool continues = false;
  /// What the tokenizer puts around a prompt: add_special_tokens. By default,
  /// as transformers has it, nothing of a model that sees no images; of others
  /// unless the text begins with "bos_token".
  std::optional<bool> addsSpecial;
  chat::Members more; ///< Variables of the template: chat_template_kwargs.
};

/// InvalidArgument, naming the field. `fields` outlive what is read.
StatusOr<ChatOptions> readChatOptions(RequestFields &fields);

/// Makes the conversation the prompt of `question`, with its images.
/// InvalidArgument or DataLoss for what the template refuses, or the model does
/// not see.
Status setPrompt(const ChatOptions &options, const ServedModel &model,
                 Question &question);

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_CHATFORMAT_H
