//===- ChatTemplate.cpp - A conversation as text --------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/ChatTemplate.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::chat;

static constexpr size_t mostSource = size_t(128) << 10;

static bool holdsGeneration(const Body &body) {
  return std::any_of(body.begin(), body.end(), [](const auto &statement) {
    return statement->kind == Statement::Kind::Generation ||
           std::any_of(statement->bodies.begin(), statement->bodies.end(),
                       holdsGeneration);
  });
}

StatusOr<ChatTemplate> ChatTemplate::parse(const std::string &source,
                                           std::string file, Members tokens) {
  if (source.size() > mostSource)
    return invalidArgument(file + ": a template has at most 128 KiB");
  ChatTemplate made;
  made.file = std::move(file);
  HOCKET_ASSIGN_OR_RETURN(Body body, parseTemplate(source, made.file));
  made.isMarked = holdsGeneration(body);
  made.body = std::make_shared<const Body>(std::move(body));
  made.tokens = std::move(tokens);
  return made;
}

std::optional<std::string> ChatTemplate::token(std::string_view name) const {
  for (const auto &[known, value] : tokens)
    if (known == name && value.isString())
      return value.string();
  return std::nullopt;
}

StatusOr<Rendered> ChatTemplate::render(const Value &messages, bool prompts,
                                        const Members &more) const {
  // The first of a name is found.
  Members globals = more;
  globals.insert(globals.end(), tokens.begin(), tokens.end());
  globals.emplace_back("messages", messages);
  globals.emplace_back("add_generation_prompt", Value(prompts));
  globals.emplace_back("tools", Value());
  globals.emplace_back("documents", Value());
  return Renderer(file, std::move(globals)).run(*body);
}

bool ChatTemplate::wantsSpecialTokens(std::string_view text,
                                      bool seesImages) const {
  std::string begin = token("bos_token").value_or("");
  return seesImages && (begin.empty() || !text.starts_with(begin));
}

ContentForms ChatTemplate::contentForms() const {
  const std::string said = "what a person says";
  auto prints = [&](const Value &content) {
    Value message = Value::dict({{"role", "user"}, {"content", content}});
    StatusOr<Rendered> rendered = render(Value::list({message}), true);
    // Of parts that it does not look into it prints the dicts.
    return rendered.ok() && rendered->text.find(said) != std::string::npos &&
           rendered->text.find("'text'") == std::string::npos &&
           rendered->text.find("\"text\"") == std::string::npos;
  };
  ContentForms forms;
  forms.parts =
      prints(Value::list({Value::dict({{"type", "text"}, {"text", said}})}));
  forms.texts = !forms.parts || prints(said);
  return forms;
}

static bool isAnswer(const Value &message) {
  const Value *role = message.find("role");
  return role && role->isString() && role->string() == "assistant";
}

StatusOr<std::vector<ByteRange>>
ChatTemplate::answersByPrefix(const Value &messages,
                              const std::string &text) const {
  std::vector<ByteRange> answers;
  const Items &all = messages.items();
  auto lengthOf = [&](size_t count, bool prompts) -> StatusOr<size_t> {
    HOCKET_ASSIGN_OR_RETURN(
        Rendered part,
        render(Value::list(Items(all.begin(), all.begin() + ptrdiff_t(count))),
               prompts));
    if (text.starts_with(part.text))
      return part.text.size();
    return invalidArgument(
        file + ": the text of the first " + std::to_string(count) +
        " messages is not the beginning of that of all " +
        std::to_string(all.size()) +
        ", so that it cannot be told which part is the answer; put "
        "{% generation %} and {% endgeneration %} around answers in a copy of "
        "the template");
  };
  for (size_t i = 0; i < all.size(); ++i) {
    if (!isAnswer(all[i]))
      continue;
    HOCKET_ASSIGN_OR_RETURN(size_t begin, lengthOf(i, true));
    size_t end = text.size();
    if (i + 1 < all.size()) {
      HOCKET_ASSIGN_OR_RETURN(end, lengthOf(i + 1, false));
    }
    answers.emplace_back(begin, std::max(begin, end));
  }
  return answers;
}

/// The lines of a list of parts that are all texts.
static std::optional<std::string> joinedParts(const Items &parts) {
  std::string joined;
  for (const Value &part : parts) {
    const Value *type = part.isDict() ? part.find("type") : nullptr;
    const Value *text = part.isDict() ? part.find("text") : nullptr;
    if (!type || !type->isString() || type->string() != "text" || !text ||
        !text->isString())
      return std::nullopt;
    joined += (&part == &parts.front() ? "" : "\n") + text->string();
  }
  return joined;
}

/// The content in a form that the template takes, where it comes in another.
static Value adapted(const Value &content, const ContentForms &forms) {
  if (content.isString() && !forms.texts)
    return Value::list({Value::dict({{"type", "text"}, {"text", content}})});
  if (content.isList() && !forms.parts)
    if (std::optional<std::string> text = joinedParts(content.items()))
      return Value(*text);
  return content;
}

static Value adaptedMessages(const Value &messages, const ContentForms &forms) {
  if (!messages.isList())
    return messages;
  Items items;
  for (const Value &message : messages.items()) {
    if (!message.isDict()) {
      items.push_back(message);
      continue;
    }
    Members members;
    for (const auto &[name, value] : message.members())
      members.emplace_back(name,
                           name == "content" ? adapted(value, forms) : value);
    items.push_back(Value::dict(std::move(members)));
  }
  return Value::list(std::move(items));
}

StatusOr<Conversation>
ChatTemplate::renderToLearn(const Value &given,
                            const ContentForms &forms) const {
  const Value messages = adaptedMessages(given, forms);
  HOCKET_ASSIGN_OR_RETURN(Rendered whole, render(messages, false));
  Conversation conversation{std::move(whole.text), std::move(whole.generated)};
  if (!isMarked) {
    HOCKET_ASSIGN_OR_RETURN(conversation.answers,
                            answersByPrefix(messages, conversation.text));
  }
  return conversation;
}
