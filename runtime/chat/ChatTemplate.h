//===- ChatTemplate.h - A conversation as text ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A model's `chat_template`, which is Jinja: what transformers'
/// apply_chat_template makes of messages. The part of Jinja is that of
/// published templates; anything else is an error that names its line.
///
/// What a model is to learn of a conversation are its answers: what
/// {% generation %} blocks print, or, in a template without, what an
/// assistant's message adds to the messages before it and the prompt for an
/// answer.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHAT_CHATTEMPLATE_H
#define HOCKET_RUNTIME_CHAT_CHATTEMPLATE_H

#include "runtime/chat/Render.h"

#include <memory>
#include <string>
#include <vector>

namespace hocket::chat {

/// A conversation as text, and the bytes of it that are answers, in order.
struct Conversation {
  std::string text;
  std::vector<ByteRange> answers;
};

/// Immutable: any number of threads may use one.
class ChatTemplate {
public:
  /// `source` stands in `file`; `tokens` are names such as "bos_token" and
  /// their texts. InvalidArgument for what cannot be read.
  static StatusOr<ChatTemplate> parse(const std::string &source,
                                      std::string file, Members tokens = {});

  const std::string &path() const { return file; }
  /// Whether the template says itself what is learned.
  bool marksAnswers() const { return isMarked; }

  /// What apply_chat_template(messages, tokenize=False) makes of a list of
  /// dicts; with `prompts`, add_generation_prompt=True.
  StatusOr<Rendered> render(const Value &messages, bool prompts) const;

  /// The same, with what is learned of it. InvalidArgument where that cannot be
  /// told: without {% generation %} the text of the first messages has to be
  /// the beginning of that of all.
  StatusOr<Conversation> renderToLearn(const Value &messages) const;

private:
  ChatTemplate() = default;
  StatusOr<std::vector<ByteRange>>
  answersByPrefix(const Value &messages, const std::string &text) const;

  std::string file;
  std::shared_ptr<const Body> body;
  Members tokens;
  bool isMarked = false;
};

/// The template of a model's folder: chat_template.jinja, or the one that
/// tokenizer_config.json has under "chat_template"; the tokens are those of
/// tokenizer_config.json. `path` is the folder, a file in it, or, where it ends
/// in .jinja, the template itself beside the tokens of `folder`.
StatusOr<ChatTemplate> openChatTemplate(const std::string &folder,
                                        const std::string &path = "");

} // namespace hocket::chat

#endif // HOCKET_RUNTIME_CHAT_CHATTEMPLATE_H
