//===- ChatTemplateTest.cpp - Templates against transformers --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// golden/make_golden.py had transformers render conversations by templates of
// the kinds that are published.
//
//===----------------------------------------------------------------------===//

#include "runtime/chat/ChatTemplate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace hocket;
using namespace hocket::chat;
using nlohmann::ordered_json;

namespace {

const std::string folder = HOCKET_CHAT_FOLDER;

Value valueOf(const ordered_json &json) {
  if (json.is_string())
    return Value(json.get<std::string>());
  if (json.is_boolean())
    return Value(json.get<bool>());
  if (json.is_number_integer())
    return Value(json.get<int64_t>());
  if (json.is_number())
    return Value(json.get<double>());
  if (json.is_array()) {
    Items items;
    for (const ordered_json &item : json)
      items.push_back(valueOf(item));
    return Value::list(std::move(items));
  }
  if (json.is_object()) {
    Members members;
    for (const auto &[key, value] : json.items())
      members.emplace_back(key, valueOf(value));
    return Value::dict(std::move(members));
  }
  return {};
}

StatusOr<ChatTemplate> parse(const std::string &source) {
  return ChatTemplate::parse(
      source, "t.jinja",
      {{"bos_token", Value("<s>")}, {"eos_token", Value("</s>")}});
}

std::string textOf(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(folder + path).rdbuf();
  return text.str();
}

/// A user's message and an assistant's.
Value twoMessages() {
  return valueOf(ordered_json::parse(
      R"([{"role":"user","content":"Hi"},{"role":"assistant","content":"Yo"}])"));
}

TEST(ChatTemplate, RendersAsTransformersDoes) {
  auto golden =
      ordered_json::parse(std::ifstream(folder + "golden/golden.json"));
  auto conversations =
      ordered_json::parse(std::ifstream(folder + "golden/conversations.json"));
  size_t rendered = 0, refused = 0;
  for (const auto &[name, results] : golden.items()) {
    auto chat = parse(textOf("templates/" + name));
    ASSERT_TRUE(chat.ok()) << chat.status().message();
    ASSERT_EQ(results.size(), conversations.size());
    for (size_t i = 0; i < results.size(); ++i)
      for (bool prompts : {false, true}) {
        const ordered_json &wanted = results[i][prompts ? "True" : "False"];
        auto found = chat->render(valueOf(conversations[i]), prompts);
        if (wanted.contains("error")) {
          EXPECT_FALSE(found.ok()) << name << " " << i;
          ++refused;
          continue;
        }
        ASSERT_TRUE(found.ok())
            << name << " " << i << ": " << found.status().message();
        EXPECT_EQ(found->text, wanted["text"].get<std::string>())
            << name << " " << i;
        ++rendered;
        if (!prompts && chat->marksAnswers()) {
          ASSERT_EQ(found->generated.size(), wanted["generated"].size());
          for (size_t k = 0; k < found->generated.size(); ++k) {
            auto [begin, end] = found->generated[k];
            const ordered_json &range = wanted["generated"][k];
            EXPECT_EQ(characterCount(found->text.substr(0, begin)),
                      range[0].get<size_t>());
            EXPECT_EQ(characterCount(found->text.substr(0, end)),
                      range[1].get<size_t>());
          }
        }
      }
  }
  EXPECT_GT(rendered, 50u);
  EXPECT_GT(refused, 4u);
}

TEST(ChatTemplate, AnswersArePrefixDifferences) {
  auto conversations =
      ordered_json::parse(std::ifstream(folder + "golden/conversations.json"));
  auto chat = parse(textOf("templates/chatml.jinja"));
  ASSERT_TRUE(chat.ok());
  EXPECT_FALSE(chat->marksAnswers());
  auto found =
      chat->renderToLearn(valueOf(conversations[1]), chat->contentForms());
  ASSERT_TRUE(found.ok()) << found.status().message();
  std::vector<std::string> answers;
  for (auto [begin, end] : found->answers)
    answers.push_back(found->text.substr(begin, end - begin));
  EXPECT_EQ(answers, (std::vector<std::string>{" Blue.\n<|im_end|>\n",
                                               "Grün \u2713<|im_end|>\n"}));
}

/// What is learned of a question and an answer, whose content is a text or a
/// list of parts.
std::vector<std::string> learnedWith(const std::string &source,
                                     const char *messages) {
  auto chat = parse(source);
  EXPECT_TRUE(chat.ok()) << chat.status().message();
  auto found = chat->renderToLearn(valueOf(ordered_json::parse(messages)),
                                   chat->contentForms());
  EXPECT_TRUE(found.ok()) << found.status().message();
  std::vector<std::string> learned = {found->text};
  for (auto [begin, end] : found->answers)
    learned.push_back(found->text.substr(begin, end - begin));
  return learned;
}

TEST(ChatTemplate, ContentsHaveTheFormThatItTakes) {
  const char *texts =
      R"([{"role":"user","content":"Hi"},{"role":"assistant","content":"Yo"}])";
  const char *parts =
      R"([{"role":"user","content":[{"type":"text","text":"H"},)"
      R"({"type":"text","text":"i"}]},{"role":"assistant",)"
      R"("content":[{"type":"text","text":"Yo"}]}])";
  const std::string ofParts =
      "{% for m in messages %}{{ m.role }}:{% for part in m.content %}"
      "{{ part.text }}{% endfor %};{% endfor %}";
  const std::string ofTexts =
      "{% for m in messages %}{{ m.role }}:{% if m.content is string %}"
      "{{ m.content }}{% endif %};{% endfor %}";
  using Learned = std::vector<std::string>;
  EXPECT_EQ(learnedWith(ofParts, parts),
            (Learned{"user:Hi;assistant:Yo;", "assistant:Yo;"}));
  EXPECT_EQ(learnedWith(ofParts, texts),
            (Learned{"user:Hi;assistant:Yo;", "assistant:Yo;"}));
  EXPECT_EQ(learnedWith(ofTexts, texts),
            (Learned{"user:Hi;assistant:Yo;", "assistant:Yo;"}));
  EXPECT_EQ(learnedWith(ofTexts, parts),
            (Learned{"user:H\ni;assistant:Yo;", "assistant:Yo;"}));
}

TEST(ChatTemplate, SaysWhereAnswersCannotBeTold) {
  auto conversations =
      ordered_json::parse(std::ifstream(folder + "golden/conversations.json"));
  auto chat = parse(textOf("templates/reasoning.jinja"));
  ASSERT_TRUE(chat.ok());
  auto found =
      chat->renderToLearn(valueOf(conversations[2]), chat->contentForms());
  EXPECT_EQ(found.status().code(), StatusCode::InvalidArgument);
  EXPECT_EQ(
      found.status().message(),
      "t.jinja: the text of the first 2 messages is not the beginning of "
      "that of all 4, so that it cannot be told which part is the answer; "
      "put {% generation %} and {% endgeneration %} around answers in a "
      "copy of the template");
}

struct BadTemplate {
  const char *source;
  const char *message;
};

TEST(ChatTemplate, BadOnesAreExplained) {
  const BadTemplate cases[] = {
      {"a\n {% include 'b' %}",
       "t.jinja:2:5: the block 'include' is not supported here; templates have "
       "if, for, set, macro, generation, and break and continue in a loop"},
      {"{{ messages | groupby('role') }}",
       "t.jinja:1:15: the filter 'groupby' of a list is not supported"},
      {"{{ 'a'.encode() }}",
       "t.jinja:1:7: a string has no method 'encode' that is supported"},
      {"{{ 1 is prime }}", "t.jinja:1:9: the test 'prime' is not supported"},
      {"{{ 2 ** 3 }}", "t.jinja:1:6: the operator ** is not supported"},
      {"{% if a %}", "t.jinja:1:11: expected 'endif' before the end of the "
                     "template"},
      {"{{ a", "t.jinja:1:1: expected '}}', which ends this output"},
      {"{# a", "t.jinja:1:1: expected '#}', which ends this comment"},
      {"{{ 'a }}", "t.jinja:1:4: expected a quote that ends this string"},
      {"{{ a b }}", "t.jinja:1:6: expected the end of the block, found 'b'"},
      {"{{ ; }}", "t.jinja:1:4: expected a name, a string, a number or an "
                  "operator"},
      {"{{ nothing.at.all }}",
       "t.jinja:1:11: 'nothing' is not defined, and has no 'at'"},
      {"{{ nothing() }}",
       "t.jinja:1:4: 'nothing' is not defined, and cannot be called"},
      {"{{ 'a' + 1 }}", "t.jinja:1:8: cannot compute a string + a number"},
      {"{{ messages[0].content + none }}",
       "t.jinja:1:24: cannot compute a string + None"},
      {"\n\n{{ raise_exception('no ' ~ 1) }}",
       "t.jinja:3:4: the template refuses these messages: no 1"},
      {"{{ strftime_now('%d') }}",
       "t.jinja:1:4: the template asks for the date, so that it would prepare "
       "other data tomorrow; put a date of its own in its place"},
      {"{% for i in range(1000000) %}{% endfor %}",
       "t.jinja:1:13: a range has more than 100000 numbers"},
      {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
       "t.jinja:1:20: macros call each other more than 64 levels deep"},
      {"{{ 9223372036854775807 + 1 }}",
       "t.jinja:1:24: the result of '+' is no number that 64 bits hold"},
      {"{% set x %}{% generation %}a{% endgeneration %}{% endset %}",
       "t.jinja:1:4: a generation block inside of a macro or of what is set is "
       "not supported"},
      {"{% break %}",
       "t.jinja:1:4: the block 'break' is not supported here; templates have "
       "if, for, set, macro, generation, and break and continue in a loop"},
  };
  for (const BadTemplate &bad : cases) {
    auto chat = parse(bad.source);
    Status status =
        chat.ok() ? chat->render(twoMessages(), false).status() : chat.status();
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << bad.source;
    EXPECT_EQ(status.message(), bad.message) << bad.source;
  }
}

/// What a template may take is bounded.
TEST(ChatTemplate, HostileOnesEnd) {
  std::string deep(100000, '(');
  EXPECT_FALSE(parse("{{ " + deep + " }}").ok());
  EXPECT_FALSE(parse("{{ " + std::string(100000, '-') + "1 }}").ok());
  std::string nots;
  for (int i = 0; i < 100000; ++i)
    nots += "not ";
  EXPECT_FALSE(parse("{{ " + nots + "1 }}").ok());
  std::string blocks;
  for (int i = 0; i < 10000; ++i)
    blocks += "{% if 1 %}";
  EXPECT_FALSE(parse(blocks).ok());
  auto loops = parse("{% for a in range(9999) %}{% for b in range(9999) %}"
                     "{{ a }}{% endfor %}{% endfor %}");
  ASSERT_TRUE(loops.ok());
  EXPECT_FALSE(loops->render(twoMessages(), false).ok());
  auto grows = parse("{% set n = namespace(t='aaaaaaaa') %}"
                     "{% for a in range(99) %}{% set n.t = n.t + n.t %}"
                     "{% endfor %}");
  ASSERT_TRUE(grows.ok());
  EXPECT_FALSE(grows->render(twoMessages(), false).ok());
}

/// Texts, parts, or either.
TEST(ChatTemplate, ContentForms) {
  auto formsOf = [](const std::string &source) {
    auto parsed = parse(source);
    EXPECT_TRUE(parsed.ok()) << source;
    ContentForms forms = parsed->contentForms();
    return std::pair(forms.texts, forms.parts);
  };
  const std::string each = "{% for m in messages %}", end = "{% endfor %}";
  const std::string parts = "{% for p in m.content %}{{ p.text }}{% endfor %}";
  EXPECT_EQ(formsOf(each + "{{ m.content }}" + end), std::pair(true, false));
  EXPECT_EQ(formsOf(each + "{{ m.content | tojson }}" + end),
            std::pair(true, false));
  EXPECT_EQ(formsOf(each + "{{ m.content + eos_token }}" + end),
            std::pair(true, false));
  EXPECT_EQ(formsOf(each + parts + end), std::pair(false, true));
  EXPECT_EQ(formsOf(each +
                    "{{ m.content if m.content is string else "
                    "m.content[0].text }}" +
                    end),
            std::pair(true, true));
  // One that wants other messages.
  EXPECT_EQ(formsOf("{{ raise_exception('no') }}"), std::pair(true, false));
  for (const char *path :
       {"chatml.jinja", "headers.jinja", "instructions.jinja"})
    EXPECT_TRUE(formsOf(textOf("templates/" + std::string(path))).first)
        << path;
}

/// What a model's folder has beside the tokenizer.
TEST(ChatTemplate, FilesOfAFolder) {
  std::string dir = testing::TempDir() + "chat-test-folder";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directory(dir);
  auto write = [&](const std::string &name, const std::string &text) {
    std::ofstream(dir + "/" + name) << text;
  };
  EXPECT_EQ(openChatTemplate(dir).status().code(), StatusCode::NotFound);
  write("tokenizer_config.json",
        R"({"eos_token": {"content": "</s>"}, "chat_template": "config"})");
  auto rendered = [&](const std::string &path = "") {
    auto opened = openChatTemplate(dir, path);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened->token("eos_token"), "</s>");
    EXPECT_EQ(opened->token("bos_token"), std::nullopt);
    return opened->render(twoMessages(), false)->text;
  };
  EXPECT_EQ(rendered(), "config");
  write("chat_template.json", R"({"chat_template": "processor"})");
  EXPECT_EQ(rendered(), "processor");
  write("chat_template.jinja", "file");
  EXPECT_EQ(rendered(), "file");
  write("other", "other");
  EXPECT_EQ(rendered(dir + "/other"), "other");
  EXPECT_EQ(openChatTemplate(dir, dir + "/none").status().code(),
            StatusCode::NotFound);

  using Tokens = std::vector<int32_t>;
  auto ends = [&](const std::string &path) {
    auto read = readModelEnds(path);
    EXPECT_TRUE(read.ok()) << read.status().message();
    return std::pair(read->text, read->tokens);
  };
  auto are = [](const Tokens &tokens) {
    return std::pair(std::string("</s>"), tokens);
  };
  EXPECT_EQ(ends(dir), are({}));
  EXPECT_EQ(ends("byte"), std::pair(std::string(), Tokens()));
  // As transformers: without generation_config.json that of config.json, or of
  // its text_config.
  write("config.json", R"({"text_config": {"eos_token_id": [8, 9]}})");
  EXPECT_EQ(ends(dir), are({8, 9}));
  write("config.json",
        R"({"eos_token_id": 4, "text_config": {"eos_token_id": 8}})");
  EXPECT_EQ(ends(dir), are({4}));
  write("generation_config.json", R"({"do_sample": true})");
  EXPECT_EQ(ends(dir), are({}));
  write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(ends(dir), are({}));
  write("generation_config.json", R"({"eos_token_id": 3})");
  EXPECT_EQ(ends(dir), are({3}));
  write("generation_config.json", R"({"eos_token_id": [3, 5]})");
  EXPECT_EQ(ends(dir + "/other"), are({3, 5}));
  for (const char *wrong : {"-1", "\"a\"", "[1.5]", "4294967296", "{}"}) {
    write("generation_config.json",
          std::string("{\"eos_token_id\": ") + wrong + "}");
    EXPECT_EQ(readModelEnds(dir).status().code(), StatusCode::InvalidArgument)
        << wrong;
  }
}

} // namespace
