//===- ChatTest.cpp - Requests for answers --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Of the tokenizer "byte", in which '@' stands for an image of four rows.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/Chat.h"

#include "base/Base64.h"
#include "runtime/serve/ChatFormat.h"
#include "runtime/serve/Completion.h"
#include "runtime/serve/Messages.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace hocket;
using namespace hocket::serve;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

const char *ofTexts =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";
const char *ofParts =
    "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}"
    "{% if p.type == 'image' %}@{% else %}({{ p.text }}){% endif %}"
    "{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";
const char *ofBoth =
    "{% for m in messages %}<{{ m.role }}>{% if m.content is string %}"
    "{{ m.content }}{% else %}{% for p in m.content %}"
    "{% if p.type == 'image' %}@{% else %}({{ p.text }}){% endif %}"
    "{% endfor %}{% endif %}{% endfor %}";

ServedModel modelOf(const std::string &source, bool seesImages = true) {
  auto program = std::make_shared<program::Program>();
  program->mutable_model()->set_vocab_size(257);
  program->mutable_model()->set_sequence_length(64);
  if (seesImages) {
    auto &images = *program->mutable_training()->mutable_images();
    images.set_image_token('@');
    images.set_images(2);
    images.set_image_size(8);
    images.set_patch_size(4);
  }
  ServedModel model{"small", program, *tokenizer::openTokenizer("byte"), 0};
  auto form = chat::ChatTemplate::parse(source, "folder/t.jinja",
                                        {{"eos_token", chat::Value("!")}});
  EXPECT_TRUE(form.ok()) << form.status().message();
  model.ends = {7, '!'};
  model.chat = std::make_shared<const ChatFormat>(*std::move(form));
  return model;
}

/// An image of the tests of images, as a part of a message.
json imagePart(const std::string &name) {
  std::ifstream file(HOCKET_SOURCE_DIR "/test/runtime/data/golden/images.txt");
  std::string kind, known, digits, rest, bytes;
  while (file >> kind >> known >> digits && std::getline(file, rest))
    if (kind == "image" && known == name)
      for (size_t i = 0; i < digits.size(); i += 2)
        bytes += char(std::stoi(digits.substr(i, 2), nullptr, 16));
  return {
      {"type", "image_url"},
      {"image_url", {{"url", "data:image/png;base64," + encodeBase64(bytes)}}}};
}

json textPart(const std::string &text) {
  return {{"type", "text"}, {"text", text}};
}

json listOf(const json &item) { return json::array({item}); }

json requestOf(const json &content, const json &more = json::object()) {
  json request = {{"messages", {{{"role", "user"}, {"content", content}}}},
                  {"max_tokens", 2}};
  request.update(more);
  return request;
}

/// The prompt that the model gets, with one '@' for an image.
std::string promptOf(const ServedModel &model, const json &request) {
  StatusOr<Completion> completion = parseChat(request.dump(), model);
  if (!completion.ok())
    return "error: " + completion.status().message();
  std::string text;
  for (int32_t token : completion->questions.front().request.prompt)
    text += char(token);
  for (size_t at; (at = text.find("@@@@")) != text.npos;)
    text.replace(at, 4, "@");
  return text;
}

std::string errorOf(const ServedModel &model, const json &request) {
  StatusOr<Completion> completion = parseChat(request.dump(), model);
  return completion.ok() ? "" : completion.status().message();
}

} // namespace

TEST(ChatTest, ContentIsWhatTheTemplateTakes) {
  json parts = {textPart("a"), imagePart("gray"), textPart("b")};
  ServedModel texts = modelOf(ofTexts), part = modelOf(ofParts),
              both = modelOf(ofBoth);
  EXPECT_EQ(promptOf(texts, requestOf("hi")), "<user>hi<assistant>");
  EXPECT_EQ(promptOf(texts, requestOf(parts)), "<user>a\n@\nb<assistant>");
  EXPECT_EQ(promptOf(part, requestOf("hi")), "<user>(hi)<assistant>");
  EXPECT_EQ(promptOf(part, requestOf(parts)), "<user>(a)@(b)<assistant>");
  EXPECT_EQ(promptOf(both, requestOf("hi")), "<user>hi");
  EXPECT_EQ(promptOf(both, requestOf(parts)), "<user>(a)@(b)");
}

TEST(ChatTest, RolesAndNamesAreTheTemplates) {
  ServedModel model = modelOf(
      "{% for m in messages %}{{ m.role }}/{{ m.name }}:{{ m.content }};"
      "{% endfor %}");
  json request = requestOf("a");
  request["messages"].push_back(
      {{"role", "developer"}, {"name", "Ada"}, {"content", "b"}});
  EXPECT_EQ(promptOf(model, request), "user/:a;developer/Ada:b;");
}

TEST(ChatTest, ImagesAreThoseOfGenerate) {
  ServedModel model = modelOf(ofParts);
  json request =
      requestOf({imagePart("gray"), imagePart("rgb")}, {{"n", 2}, {"seed", 3}});
  auto completion = parseChat(request.dump(), model);
  ASSERT_TRUE(completion.ok()) << completion.status().message();
  ASSERT_EQ(completion->questions.size(), 2u);
  const auto &first = completion->questions[0].request;
  const auto &second = completion->questions[1].request;
  ASSERT_EQ(first.images.size(), 2u);
  // Choices share them, and differ in their random numbers.
  EXPECT_EQ(first.images, second.images);
  EXPECT_NE(first.stream, second.stream);
  for (size_t i : {0, 1}) {
    json part = imagePart(i == 0 ? "gray" : "rgb");
    std::string path = testing::TempDir() + "chat-test.png";
    std::ofstream(path, std::ios::binary) << *decodeBase64(
        part["image_url"]["url"].get<std::string>().substr(22));
    auto read = inference::readTowerImage(*model.program, path);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*first.images[i], **read);
  }
  EXPECT_NE(*first.images[0], *first.images[1]);
}

TEST(ChatTest, TextsEndWhereTheModelEndsThem) {
  ServedModel model = modelOf(ofTexts);
  auto endsOf = [](const StatusOr<Completion> &completion) {
    EXPECT_TRUE(completion.ok()) << completion.status().message();
    return completion->questions.front().stops.tokens;
  };
  using Tokens = std::vector<int32_t>;
  for (bool ignores : {false, true}) {
    json more = {{"ignore_eos", ignores}};
    Tokens ends = ignores ? Tokens() : Tokens({7, '!'});
    EXPECT_EQ(endsOf(parseChat(requestOf("a", more).dump(), model)), ends);
    more["prompt"] = "a";
    EXPECT_EQ(endsOf(parseCompletion(more.dump(), model)), ends);
  }
  EXPECT_EQ(endsOf(parseCompletion(R"({"prompt": "a"})", model)),
            Tokens({7, '!'}));
  EXPECT_EQ(endsOf(parseMegatron(R"({"prompts": ["a"]})", model)),
            Tokens({7, '!'}));
}

TEST(ChatTest, BytesBesideImages) {
  auto beside = [](const std::string &body) {
    return body.size() - bytesBesideImages(body);
  };
  EXPECT_EQ(beside(R"({"image_url": {"url": "12345"}})"), 5u);
  EXPECT_EQ(beside(R"([{"image_url":{"url":"123"}},)"
                   R"({"image_url" : { "detail" :"auto", "url":"1234"}}])"),
            7u);
  // Whole to the end, cut anywhere, and what is no image's.
  EXPECT_EQ(beside(R"({"image_url": {"url": "12345)"), 5u);
  for (const char *other :
       {"", R"("image_url")", R"({"image_url":)", R"({"image_url": {"url":)",
        R"({"image_url": {"detail": "au)", R"({"image_url": "12345"})",
        R"({"url": "12345"})", R"({"image_url": {"a": 1, "url": "12345"}})",
        R"({"a": "\"image_url\": {\"url\": \"12345"})"})
    EXPECT_EQ(beside(other), 0u) << other;
}

TEST(ChatTest, LengthsAreOptional) {
  ServedModel model = modelOf(ofTexts);
  auto tokens = [&](const json &asked) {
    auto completion = parseChat(asked.dump(), model);
    EXPECT_TRUE(completion.ok()) << completion.status().message();
    return completion->questions.front().request.tokens;
  };
  json request = requestOf("hi");
  EXPECT_EQ(tokens(request), 2u);
  request.erase("max_tokens");
  // What clients send that know no better.
  request.update({{"response_format", {{"type", "text"}}},
                  {"tools", json::array()},
                  {"tool_choice", "none"},
                  {"frequency_penalty", 0},
                  {"stop", nullptr}});
  // All that the model sees, and one more.
  EXPECT_EQ(tokens(request), 65 - std::string("<user>hi<assistant>").size());
  request["max_completion_tokens"] = 5;
  EXPECT_EQ(tokens(request), 5u);
  request["max_tokens"] = 5;
  EXPECT_EQ(tokens(request), 5u);
  request["max_tokens"] = 6;
  EXPECT_NE(errorOf(model, request).find("are not the same"),
            std::string::npos);
}

TEST(ChatTest, TheLastMessageCanBeContinued) {
  json request = requestOf("hi");
  request["messages"].push_back(
      {{"role", "assistant"}, {"content", "It is a "}});
  request["continue_final_message"] = true;
  EXPECT_EQ(promptOf(modelOf(ofTexts), request), "<user>hi<assistant>It is a ");
  EXPECT_EQ(promptOf(modelOf(ofParts), request),
            "<user>(hi)<assistant>(It is a ");
  // As transformers has it, of a template that strips.
  ServedModel strips = modelOf("{% for m in messages %}<{{ m.role }}>{{ "
                               "m.content | trim }}.{% endfor %}");
  EXPECT_EQ(promptOf(strips, request), "<user>hi.<assistant>It is a");
  EXPECT_NE(errorOf(modelOf("{{ messages[0].content }}"), request)
                .find("does not print the last message"),
            std::string::npos);
  request["add_generation_prompt"] = true;
  EXPECT_NE(errorOf(strips, request).find("cannot both be true"),
            std::string::npos);
}

TEST(ChatTest, VariablesOfTheTemplate) {
  ServedModel model = modelOf(
      "{{ messages[0].content }}{% if thinks is defined and not thinks %}"
      "-{{ mood }}{{ level }}{{ eos_token }}{% endif %}");
  EXPECT_EQ(promptOf(model, requestOf("a")), "a");
  json more = {
      {"thinks", false}, {"mood", "calm"}, {"level", 3}, {"eos_token", "?"}};
  EXPECT_EQ(promptOf(model, requestOf("a", {{"chat_template_kwargs", more}})),
            "a-calm3?");
}

TEST(ChatTest, WrongRequests) {
  ServedModel model = modelOf(ofParts);
  json gif = imagePart("gray"), cut = gif, http = gif, detail = gif, odd = gif;
  json text = gif;
  std::string url = gif["image_url"]["url"];
  gif["image_url"]["url"] = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
  cut["image_url"]["url"] = url.substr(0, 22 + 80);
  http["image_url"]["url"] = "https://example.org/cat.png";
  detail["image_url"]["detail"] = "low";
  odd["image_url"]["url"] = url.substr(0, url.size() - 4) + " AA=";
  text["image_url"]["url"] = "data:image/png;base64," + encodeBase64("hello");
  json gray = imagePart("gray");
  json many;
  for (int i = 0; i < 65; ++i)
    many["k" + std::to_string(i)] = i;
  auto message = [](const json &value) {
    return json{{"messages", {value}}, {"max_tokens", 1}};
  };
  const std::pair<json, std::string> wrong[] = {
      {json::object(), "there is no field 'messages'"},
      {{{"messages", json::array()}}, "list of at least one message"},
      {{{"messages", "hi"}}, "list of at least one message"},
      {message("hi"), "'messages[0]' is an object"},
      {message({{"content", "a"}}), "no field 'messages[0].role'"},
      {message({{"role", "user"}}), "no field 'messages[0].content'"},
      {message({{"role", 1}, {"content", "a"}}), "'messages[0].role' is a str"},
      {message({{"role", "user"}, {"content", "a"}, {"nome", "b"}}),
       "no field 'messages[0].nome'; did you mean name"},
      {message({{"role", "user"}, {"content", "a"}, {"tool_calls", {1}}}),
       "'messages[0].tool_calls' can only be []"},
      {requestOf(3), "'messages[0].content' is a text, or a list"},
      {requestOf(json::array()), "list of at least one part"},
      {requestOf({"a"}), "'messages[0].content[0]' is an object"},
      {requestOf({{{"text", "a"}}}), "no field 'messages[0].content[0].type'"},
      {requestOf({{{"type", "text"}}}), "content[0].text'"},
      {requestOf({{{"type", "video_url"}}}), "not \"video_url\""},
      {requestOf({{{"type", "text"}, {"text", "a"}, {"image", 1}}}),
       "no field 'messages[0].content[0].image'"},
      {requestOf({{{"type", "image_url"}}}), "content[0].image_url'"},
      {requestOf({{{"type", "image_url"}, {"image_url", "a"}}}),
       "'messages[0].content[0].image_url' is an object"},
      {requestOf({{{"type", "image_url"}, {"image_url", json::object()}}}),
       "'messages[0].content[0].image_url.url'"},
      {requestOf(listOf(http)), "image_url.url': the server fetches nothing"},
      {requestOf(listOf(gif)), "expected data:image/png;base64"},
      {requestOf(listOf(detail)), "image_url.detail' can only be \"auto\""},
      {requestOf(listOf(odd)), "image_url.url': is no base64"},
      {requestOf(listOf(cut)), "is a damaged PNG file"},
      {requestOf(listOf(text)), "expected a PNG or JPEG file, found something"},
      {requestOf({gray, gray, gray}),
       "'messages[0].content[2]' is image 3 of the conversation, and the model "
       "sees at most 2"},
      {requestOf("a @ b"), "'messages[0].content' has @ in it"},
      {requestOf({gray, textPart("@")}),
       "'messages[0].content[1].text' has @ in it"},
      {requestOf(listOf(gray), {{"max_tokens", 63}}), "at most"},
      {requestOf(std::string(70, 'a')), "the model sees 64"},
      {requestOf("a", {{"top_logprobs", 2}}), "wants 'logprobs' to be true"},
      {requestOf("a", {{"logprobs", 2}}), "'logprobs' is true or false"},
      {requestOf("a", {{"logprobs", true}, {"top_logprobs", 21}}), "0 to 20"},
      {requestOf("a", {{"n", 1025}}), "'n' is a whole number"},
      {requestOf("a", {{"stream_options", {{"include_usage", true}}}}),
       "are of a 'stream'"},
      {requestOf("a", {{"stream", true}, {"stream_options", {{"usage", 1}}}}),
       "no field 'stream_options.usage'"},
      {requestOf("a", {{"tools", {1}}}), "'tools' can only be []"},
      {requestOf("a", {{"response_format", {{"type", "json_object"}}}}),
       "'response_format' can only be"},
      {requestOf("a", {{"prompt", "b"}}), "there is no field 'prompt'"},
      {requestOf("a", {{"echo", true}}), "there is no field 'echo'"},
      {requestOf("a", {{"chat_template_kwargs", {{"messages", "b"}}}}),
       "cannot have 'messages'"},
      {requestOf("a", {{"chat_template_kwargs", {{"b", {1}}}}}),
       "'chat_template_kwargs': 'b' is a text"},
      {requestOf("a", {{"chat_template_kwargs", many}}), "of at most 64 var"},
      {requestOf(listOf(gray), {{"continue_final_message", true}}),
       "does not end with a text"},
      {requestOf("a", {{"model", "large"}}), "'small' is served"},
  };
  for (const auto &[request, expected] : wrong)
    EXPECT_NE(errorOf(model, request).find(expected), std::string::npos)
        << request.dump().substr(0, 100) << "\n"
        << errorOf(model, request);
}

TEST(ChatTest, ImagesThatTheTemplateLosesOrMakes) {
  json gray = imagePart("gray");
  EXPECT_NE(errorOf(modelOf("{% for p in messages[0].content %}{{ p.text }}"
                            "{% endfor %}"),
                    requestOf({gray, textPart("a")}))
                .find("0 places for an image"),
            std::string::npos);
  EXPECT_NE(errorOf(modelOf("@@{% for p in messages[0].content %}{{ p.text }}"
                            "{% endfor %}"),
                    requestOf({gray, textPart("a")}))
                .find("2 places for an image"),
            std::string::npos);
  // Put together by the template.
  ServedModel roles =
      modelOf("{{ messages[0].role }}{{ messages[0].content }}");
  json request = requestOf("a");
  request["messages"][0]["role"] = "@";
  EXPECT_NE(errorOf(roles, request).find("1 place for an image"),
            std::string::npos);
}

TEST(ChatTest, ModelsThatSeeNoImages) {
  ServedModel model = modelOf(ofTexts, /*seesImages=*/false);
  EXPECT_EQ(promptOf(model, requestOf("a @ b")), "<user>a @ b<assistant>");
  EXPECT_NE(errorOf(model, requestOf(listOf(imagePart("gray"))))
                .find("is an image, and the model 'small' sees none"),
            std::string::npos);
  model.chat = nullptr;
  model.whyNoChat = "name one with --chat-template";
  EXPECT_EQ(errorOf(model, requestOf("a")), "name one with --chat-template");
}

TEST(ChatTest, ImagesAreOfSoManyPixels) {
  ServedModel model = modelOf(ofParts);
  ChatFormat format = *model.chat;
  format.mostPixels = 10;
  model.chat = std::make_shared<const ChatFormat>(format);
  EXPECT_NE(errorOf(model, requestOf(listOf(imagePart("gray"))))
                .find("expected at most 10"),
            std::string::npos);
}

TEST(ChatTest, TheTemplateRefuses) {
  ServedModel model = modelOf("{{ raise_exception('no such role') }}");
  std::string error = errorOf(model, requestOf("a"));
  EXPECT_NE(error.find("the chat template:1:"), std::string::npos) << error;
  EXPECT_NE(error.find("no such role"), std::string::npos) << error;
  EXPECT_EQ(error.find("folder"), std::string::npos) << error;
}

TEST(ChatTest, PromptsOfTextsHaveNoImages) {
  auto completion = parseCompletion(R"({"prompt": "a @ b"})", modelOf(ofParts));
  ASSERT_FALSE(completion.ok());
  EXPECT_NE(completion.status().message().find("/v1/chat/completions"),
            std::string::npos);
  EXPECT_TRUE(
      parseCompletion(R"({"prompt": "a @ b"})", modelOf(ofTexts, false)).ok());
}

TEST(ChatTest, TokensOfMessages) {
  ServedModel model = modelOf(ofParts);
  json request = requestOf({imagePart("gray"), textPart("a")});
  request.erase("max_tokens");
  auto told = tokenizeJson(request.dump(), model);
  ASSERT_TRUE(told.ok()) << told.status().message();
  std::string text;
  for (int32_t token : (*told)["tokens"].get<std::vector<int32_t>>())
    text += char(token);
  EXPECT_EQ(text, "<user>@@@@(a)<assistant>");
}

/// Two texts of two tokens each, "ok" and an e with an accent.
static std::vector<inference::GeneratedText> someTexts() {
  inference::GeneratedText ok, accent;
  ok.tokens = {'o', 'k'};
  accent.tokens = {0xc3, 0xa9};
  for (auto *text : {&ok, &accent}) {
    text->logProbabilities = {-0.5f, -1.5f};
    text->likeliest = {{{'x', -0.25f}}, {{'y', -0.75f}}};
  }
  accent.finish = inference::Finish::Ended;
  return {ok, accent};
}

TEST(ChatTest, WholeAnswers) {
  ServedModel model = modelOf(ofTexts);
  auto completion = parseChat(
      requestOf("a", {{"n", 2}, {"logprobs", true}, {"top_logprobs", 1}})
          .dump(),
      model);
  ASSERT_TRUE(completion.ok()) << completion.status().message();
  ordered_json answer = chatJson(*completion, someTexts(), model, 9);
  EXPECT_EQ(answer["id"], "chatcmpl-9");
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_EQ(answer["choices"][0]["message"],
            ordered_json({{"role", "assistant"}, {"content", "ok"}}));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["choices"][1]["message"]["content"], "\xc3\xa9");
  EXPECT_EQ(answer["choices"][1]["finish_reason"], "stop");
  EXPECT_EQ(answer["choices"][1]["index"], 1);
  const ordered_json &half = answer["choices"][1]["logprobs"]["content"][0];
  EXPECT_EQ(half["token"], "bytes:\\xc3");
  EXPECT_EQ(half["bytes"], ordered_json({0xc3}));
  EXPECT_EQ(half["logprob"], -0.5);
  EXPECT_EQ(half["top_logprobs"],
            ordered_json::array(
                {{{"token", "x"}, {"logprob", -0.25}, {"bytes", {'x'}}}}));
  EXPECT_EQ(answer["usage"], ordered_json({{"prompt_tokens", 18},
                                           {"completion_tokens", 4},
                                           {"total_tokens", 22}}));
}

TEST(ChatTest, StreamsSayTheSame) {
  ServedModel model = modelOf(ofTexts);
  auto completion =
      parseChat(requestOf("a", {{"n", 2},
                                {"logprobs", true},
                                {"stream", true},
                                {"stream_options", {{"include_usage", true}}}})
                    .dump(),
                model);
  ASSERT_TRUE(completion.ok()) << completion.status().message();
  std::vector<inference::GeneratedText> texts = someTexts();
  ChatStream stream(*completion, model, 9);
  std::string said;
  for (size_t i : {0, 1})
    for (size_t index : {0, 1}) {
      inference::PlacedToken token;
      token.token = texts[index].tokens[i];
      token.logProbability = texts[index].logProbabilities[i];
      said += stream.add({index, token, {}});
    }
  for (size_t index : {0, 1})
    said += stream.add({index, {}, texts[index]});
  said += stream.end();
  std::vector<std::string> roles(2), contents(2), reasons(2);
  std::vector<size_t> tokens(2);
  std::istringstream lines(said);
  std::string line, last;
  ordered_json usage;
  while (std::getline(lines, line)) {
    if (line.empty())
      continue;
    last = line;
    ASSERT_TRUE(line.starts_with("data: "));
    if (line == "data: [DONE]")
      continue;
    ordered_json part = ordered_json::parse(line.substr(6));
    EXPECT_EQ(part["object"], "chat.completion.chunk");
    if (part.contains("usage")) {
      EXPECT_TRUE(part["choices"].empty());
      usage = part["usage"];
      continue;
    }
    const ordered_json &choice = part["choices"][0];
    size_t index = choice["index"];
    // The role comes first, once.
    if (choice["delta"].contains("role")) {
      EXPECT_EQ(roles[index] + contents[index], "");
      roles[index] += choice["delta"]["role"];
    }
    contents[index] += choice["delta"].value("content", "");
    if (!choice["logprobs"].is_null())
      tokens[index] += choice["logprobs"]["content"].size();
    if (!choice["finish_reason"].is_null())
      reasons[index] += choice["finish_reason"];
  }
  EXPECT_EQ(last, "data: [DONE]");
  EXPECT_EQ(roles, std::vector<std::string>({"assistant", "assistant"}));
  EXPECT_EQ(contents, std::vector<std::string>({"ok", "\xc3\xa9"}));
  EXPECT_EQ(reasons, std::vector<std::string>({"length", "stop"}));
  EXPECT_EQ(tokens, std::vector<size_t>({2, 2}));
  EXPECT_EQ(usage["completion_tokens"], 4);
}
