//===- ChoiceFiles.cpp - Multiple choice as it is distributed -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/evaluate/ChoiceFiles.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/TextLines.h"
#include "base/json/JsonObject.h"
#include "runtime/tokenizer/text/SourceText.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::evaluate;
using nlohmann::json;
using tokenizer::SourceText;
namespace fs = std::filesystem;

namespace {

/// The fields of one object, each of which must be what it is taken for.
class Fields {
public:
  Fields(const json &object, std::string place)
      : object(object), place(std::move(place)) {}

  bool has(const char *name) const { return object.contains(name); }

  Status wrong(const std::string &message) const {
    return invalidArgument(place + ": " + message);
  }

  StatusOr<std::string> text(const char *name) const {
    auto found = object.find(name);
    if (found == object.end() || !found->is_string())
      return wrong(formatText("\"%s\" is no string", name));
    return found->get<std::string>();
  }

  StatusOr<std::vector<std::string>> texts(const char *name) const {
    auto found = object.find(name);
    if (found == object.end())
      return wrong(formatText("there is no \"%s\"", name));
    return textsOf(*found, name);
  }

  StatusOr<std::vector<std::string>> textsOf(const json &list,
                                             const char *name) const {
    std::vector<std::string> result;
    if (!list.is_array())
      return wrong(formatText("\"%s\" is no list", name));
    for (const json &element : list) {
      if (!element.is_string())
        return wrong(formatText("\"%s\" is no list of strings", name));
      result.push_back(element.get<std::string>());
    }
    return result;
  }

  /// A number, or one that is written as a string.
  StatusOr<size_t> index(const char *name, size_t count) const {
    if (count < 2)
      return wrong("there are fewer than two choices");
    auto found = object.find(name);
    std::string text = found == object.end() ? "nothing"
                       : found->is_string()  ? found->get<std::string>()
                                             : found->dump();
    for (size_t i = 0; i < count; ++i)
      if (text == std::to_string(i))
        return i;
    return wrong(formatText("\"%s\" is %s, there are choices 0 to %zu", name,
                            text.c_str(), count - 1));
  }

  const json &object;
  std::string place;
};

} // namespace

static StatusOr<ChoiceItem> checked(ChoiceItem item, const Fields &fields) {
  if (item.choices.size() < 2)
    return fields.wrong("there are fewer than two choices");
  for (const std::string &choice : item.choices)
    if (choice.empty())
      return fields.wrong("a choice is empty");
  item.place = fields.place;
  return item;
}

static void addSpaces(std::vector<std::string> &choices) {
  for (std::string &choice : choices)
    choice.insert(0, " ");
}

//===----------------------------------------------------------------------===//
// JSON lines
//===----------------------------------------------------------------------===//

static StatusOr<ChoiceItem> plainItem(const Fields &fields) {
  ChoiceItem item;
  HOCKET_ASSIGN_OR_RETURN(item.context, fields.text("context"));
  HOCKET_ASSIGN_OR_RETURN(item.choices, fields.texts("choices"));
  HOCKET_ASSIGN_OR_RETURN(item.label,
                          fields.index("label", item.choices.size()));
  return checked(std::move(item), fields);
}

/// WikiHow's marks, which HellaSwag has kept, as sentences end.
static std::string withoutMarks(std::string text) {
  auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos;
         at += to.size())
      text.replace(at, from.size(), to);
  };
  text.erase(0, text.find_first_not_of(" \t\r\n"));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  replace(" [title]", ". ");
  for (size_t open = 0; (open = text.find('[', open)) != text.npos;) {
    size_t close = text.find(']', open);
    if (close == text.npos)
      break;
    text.erase(open, close + 1 - open);
  }
  replace("  ", " ");
  return text;
}

static StatusOr<ChoiceItem> hellaSwagItem(const Fields &fields) {
  ChoiceItem item;
  HOCKET_ASSIGN_OR_RETURN(std::string activity, fields.text("activity_label"));
  HOCKET_ASSIGN_OR_RETURN(std::string first, fields.text("ctx_a"));
  HOCKET_ASSIGN_OR_RETURN(std::string second, fields.text("ctx_b"));
  HOCKET_ASSIGN_OR_RETURN(item.choices, fields.texts("endings"));
  HOCKET_ASSIGN_OR_RETURN(item.label,
                          fields.index("label", item.choices.size()));
  for (size_t i = 0; i < second.size(); ++i)
    second[i] = char(i == 0 ? std::toupper(uint8_t(second[i]))
                            : std::tolower(uint8_t(second[i])));
  item.context = withoutMarks(activity + ": " + first + " " + second);
  for (std::string &choice : item.choices)
    choice = withoutMarks(choice);
  addSpaces(item.choices);
  return checked(std::move(item), fields);
}

static StatusOr<ChoiceItem> arcItem(const Fields &fields) {
  ChoiceItem item;
  HOCKET_ASSIGN_OR_RETURN(std::string question, fields.text("question"));
  HOCKET_ASSIGN_OR_RETURN(std::string answer, fields.text("answerKey"));
  const json &choices = fields.object.at("choices");
  if (!choices.is_object() || !choices.contains("text") ||
      !choices.contains("label"))
    return fields.wrong("\"choices\" has no \"text\" and \"label\"");
  HOCKET_ASSIGN_OR_RETURN(item.choices,
                          fields.textsOf(choices["text"], "choices.text"));
  HOCKET_ASSIGN_OR_RETURN(std::vector<std::string> labels,
                          fields.textsOf(choices["label"], "choices.label"));
  auto found = std::find(labels.begin(), labels.end(), answer);
  if (labels.size() != item.choices.size() || found == labels.end())
    return fields.wrong("\"answerKey\" is " + tokenizer::inQuotes(answer) +
                        ", which labels no choice");
  item.label = size_t(found - labels.begin());
  item.context = "Question: " + question + "\nAnswer:";
  addSpaces(item.choices);
  return checked(std::move(item), fields);
}

static StatusOr<ChoiceItem> piqaItem(const Fields &fields) {
  ChoiceItem item;
  HOCKET_ASSIGN_OR_RETURN(std::string goal, fields.text("goal"));
  item.choices.resize(2);
  HOCKET_ASSIGN_OR_RETURN(item.choices[0], fields.text("sol1"));
  HOCKET_ASSIGN_OR_RETURN(item.choices[1], fields.text("sol2"));
  HOCKET_ASSIGN_OR_RETURN(item.label, fields.index("label", 2));
  item.context = "Question: " + goal + "\nAnswer:";
  addSpaces(item.choices);
  return checked(std::move(item), fields);
}

static StatusOr<ChoiceItem> jsonItem(const Fields &fields) {
  if (fields.has("context") && fields.has("choices"))
    return plainItem(fields);
  if (fields.has("endings"))
    return hellaSwagItem(fields);
  if (fields.has("choices") && fields.has("answerKey"))
    return arcItem(fields);
  if (fields.has("goal"))
    return piqaItem(fields);
  return fields.wrong(
      "these are the fields of no task: context, choices and label; "
      "activity_label, ctx_a, ctx_b, endings and label (HellaSwag); question, "
      "choices and answerKey (ARC); goal, sol1, sol2 and label (PIQA)");
}

static Status readJsonLines(const SourceText &file,
                            std::vector<ChoiceItem> &items) {
  std::string_view rest = file.text;
  for (uint64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = takeLine(rest);
    if (line.find_first_not_of(" \t\r") == line.npos)
      continue;
    std::string place = file.path + ":" + std::to_string(number);
    HOCKET_ASSIGN_OR_RETURN(json object,
                            parseJsonObject(line, file.path, number));
    HOCKET_ASSIGN_OR_RETURN(ChoiceItem item, jsonItem({object, place}));
    items.push_back(std::move(item));
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// MNLI
//===----------------------------------------------------------------------===//

static Status readMnli(const SourceText &file, std::vector<ChoiceItem> &items) {
  static constexpr const char *columns[] = {"sentence1", "sentence2",
                                            "gold_label"};
  static const std::map<std::string, size_t, std::less<>> labels = {
      {"entailment", 0}, {"neutral", 1}, {"contradiction", 2}};
  std::string_view rest = file.text;
  std::vector<size_t> at;
  for (uint64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = takeLine(rest);
    std::vector<std::string_view> cells = cellsOfLine(line);
    std::string place = file.path + ":" + std::to_string(number);
    if (number == 1) {
      for (const char *column : columns) {
        auto found = std::find(cells.begin(), cells.end(), column);
        if (found == cells.end())
          return invalidArgument(place + ": MNLI's table has a column '" +
                                 column + "', this has none");
        at.push_back(size_t(found - cells.begin()));
      }
      continue;
    }
    if (cells.size() <= *std::max_element(at.begin(), at.end()))
      return invalidArgument(
          place + formatText(": there are only %zu columns", cells.size()));
    // Those who labelled it did not agree.
    if (cells[at[2]] == "-")
      continue;
    auto label = labels.find(cells[at[2]]);
    if (label == labels.end())
      return invalidArgument(place + ": the gold_label is " +
                             tokenizer::inQuotes(cells[at[2]]) +
                             ", none of entailment, neutral, contradiction");
    std::string premise(cells[at[0]]), hypothesis(cells[at[1]]);
    hypothesis.erase(hypothesis.find_last_not_of(" \t") + 1);
    if (!hypothesis.ends_with('.'))
      hypothesis += '.';
    items.push_back({premise + "\nQuestion: " + hypothesis +
                         " True, False or Neither?\nAnswer:",
                     {" True", " Neither", " False"},
                     label->second,
                     place});
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// RACE
//===----------------------------------------------------------------------===//

static Status readRacePassage(const SourceText &file,
                              std::vector<ChoiceItem> &items) {
  HOCKET_ASSIGN_OR_RETURN(json object,
                          parseJsonObject(file.text, file.path, 1));
  Fields fields(object, file.path);
  HOCKET_ASSIGN_OR_RETURN(std::string article, fields.text("article"));
  HOCKET_ASSIGN_OR_RETURN(auto questions, fields.texts("questions"));
  HOCKET_ASSIGN_OR_RETURN(auto answers, fields.texts("answers"));
  if (!fields.has("options") || !object["options"].is_array() ||
      object["options"].size() != questions.size() ||
      answers.size() != questions.size())
    return fields.wrong("there are not as many \"options\" and \"answers\" "
                        "as \"questions\"");
  for (size_t i = 0; i < questions.size(); ++i) {
    ChoiceItem item;
    HOCKET_ASSIGN_OR_RETURN(item.choices,
                            fields.textsOf(object["options"][i], "options"));
    addSpaces(item.choices);
    if (answers[i].size() != 1 || answers[i][0] < 'A' ||
        size_t(answers[i][0] - 'A') >= item.choices.size())
      return fields.wrong("an answer is " + tokenizer::inQuotes(answers[i]) +
                          ", which is none of its options");
    item.label = size_t(answers[i][0] - 'A');
    item.context =
        "Article: " + article + "\n\nQuestion: " + questions[i] + "\n\nAnswer:";
    HOCKET_ASSIGN_OR_RETURN(item, checked(std::move(item), fields));
    items.push_back(std::move(item));
  }
  return okStatus();
}

static Status readRaceFolder(const std::string &path,
                             std::vector<ChoiceItem> &items) {
  HOCKET_ASSIGN_OR_RETURN(auto files, filesBelow(path, {".txt"}));
  for (const std::string &name : files) {
    HOCKET_ASSIGN_OR_RETURN(SourceText file, SourceText::read(name));
    HOCKET_RETURN_IF_ERROR(readRacePassage(file, items));
  }
  return okStatus();
}

StatusOr<std::vector<ChoiceItem>>
evaluate::readChoices(const std::string &path) {
  std::vector<ChoiceItem> items;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    HOCKET_RETURN_IF_ERROR(readRaceFolder(path, items));
    if (items.empty())
      return invalidArgument(path + ": no passage of RACE (.txt) is in it");
    return items;
  }
  HOCKET_ASSIGN_OR_RETURN(SourceText file, SourceText::read(path));
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  HOCKET_RETURN_IF_ERROR(path.ends_with(".tsv") ? readMnli(file, items)
                                                : readJsonLines(file, items));
  if (items.empty())
    return invalidArgument(path + ": there is no question in it");
  return items;
}
