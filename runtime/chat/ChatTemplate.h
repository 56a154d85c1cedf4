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
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::chat {

/// A conversation as text, and the bytes of it that are answers, in order.
struct Conversation {
  std::string text;
  std::vector<ByteRange> answers;
};

/// A message's "content" is a text, or a list of parts: {"type": "image"} and
/// {"type": "text", "text": ...}. A template may take either or both. One that
/// takes neither by itself wants other messages, and is given texts.
struct ContentForms {
  bool texts = true, parts = false;
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

  /// The text of a token such as "bos_token"; nullopt where it has none.
  std::optional<std::string> token(std::string_view name) const;

  /// Whether the special tokens of a prompt are put around a text of the
  /// template: as processors of models that see images do, unless the text
  /// begins with bos_token. To tokenizers it is whole.
  bool wantsSpecialTokens(std::string_view text, bool seesImages) const;

  /// What apply_chat_template(messages, tokenize=False) makes of a list of
  /// dicts; with `prompts`, add_generation_prompt=True. `more` are variables
  /// beside: its keyword arguments.
  StatusOr<Rendered> render(const Value &messages, bool prompts,
                            const Members &more = {}) const;

  /// What it takes as a message's content, found by rendering one.
  ContentForms contentForms() const;

  /// The same, with what is learned of it. InvalidArgument where that cannot be
  /// told: without {% generation %} the text of the first messages has to be
  /// the beginning of that of all.
  /// A content of another form than `forms`, those of contentForms(), is
  /// brought into one of them: of a text a template that loops over parts
  /// prints nothing, and nothing would be learned.
  StatusOr<Conversation> renderToLearn(const Value &messages,
                                       const ContentForms &forms) const;

private:
  ChatTemplate() = default;
  StatusOr<std::vector<ByteRange>>
  answersByPrefix(const Value &messages, const std::string &text) const;

  std::string file;
  std::shared_ptr<const Body> body;
  Members tokens;
  bool isMarked = false;
};

/// The folder of a model's files that `path` is or stands in; empty where there
/// is no such thing, as for the tokenizer "byte".
std::string modelFolderOf(const std::string &path);

/// The template of a model's folder: chat_template.jinja, or the one that
/// chat_template.json or tokenizer_config.json has under "chat_template"; the
/// tokens are those of tokenizer_config.json. `folder` is the folder or a file
/// in it; `path`, if not empty, the template itself. NotFound if there is none.
StatusOr<ChatTemplate> openChatTemplate(const std::string &folder,
                                        const std::string &path = "");

/// How the files of a model say that it ends what it writes.
struct ModelEnds {
  std::string text; ///< "eos_token" of tokenizer_config.json, or "".
  /// "eos_token_id", a number or a list, of generation_config.json or, where
  /// there is no such file, of config.json, of its model of texts if need be.
  std::vector<int32_t> tokens;
};

/// Of a folder, or of that of a file. InvalidArgument or DataLoss for files
/// that hold anything else.
StatusOr<ModelEnds> readModelEnds(const std::string &folder);

} // namespace hocket::chat

#endif // HOCKET_RUNTIME_CHAT_CHATTEMPLATE_H
