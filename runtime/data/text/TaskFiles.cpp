//===- TaskFiles.cpp - Labelled texts as they are distributed -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/text/TaskFiles.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/TextLines.h"
#include "base/json/JsonObject.h"
#include "runtime/tokenizer/text/SourceText.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

using namespace hocket;
using namespace hocket::data;
using nlohmann::json;
using tokenizer::inQuotes;
using tokenizer::SourceText;
namespace fs = std::filesystem;

static constexpr size_t mostShown = 10; // Bad lines.

namespace {

/// A table: its columns, and how its labels are written.
struct TableTask {
  const char *name;
  const char *columns[3]; ///< Both texts, and the label.
  std::vector<std::pair<std::string_view, uint16_t>> labels;
  std::vector<std::string> classes;
  std::string_view noLabel; ///< Of rows without a class.
};

/// What all files of a task add to.
class TaskReader {
public:
  TaskReader(TaskSamples &out, uint64_t maxBadLines)
      : out(out), maxBadLines(maxBadLines) {}

  Status readTable(const SourceText &file, const TableTask &task);
  Status readPassage(const SourceText &file);

private:
  using Cells = std::vector<std::string_view>;

  Status readHeader(const SourceText &file, const TableTask &task,
                    const Cells &cells);
  Status readRow(const SourceText &file, const TableTask &task,
                 const Cells &cells, uint64_t line);
  Status readQuestion(const std::string &place, const std::string &article,
                      const json &question, const json &options,
                      const json &answer);
  Status skip(const Status &wrong);

  TaskSamples &out;
  const uint64_t maxBadLines;
  size_t columns = 0; ///< Of the table's header,
  size_t at[3] = {};  ///< and which of them are the task's.
};

} // namespace

static const std::vector<TableTask> &tables() {
  static const std::vector<TableTask> all = {
      {"mnli",
       {"sentence1", "sentence2", "gold_label"},
       {{"contradiction", 0}, {"entailment", 1}, {"neutral", 2}},
       {"contradiction", "entailment", "neutral"},
       "-"},
      {"qqp",
       {"question1", "question2", "is_duplicate"},
       {{"0", 0}, {"1", 1}},
       {"not_duplicate", "duplicate"},
       ""}};
  return all;
}

/// Counts a row that is left out, or fails with what is wrong with it.
Status TaskReader::skip(const Status &wrong) {
  if (out.firstBadLines.size() < mostShown)
    out.firstBadLines.push_back(wrong.message());
  if (++out.badLines <= maxBadLines)
    return okStatus();
  if (maxBadLines == 0)
    return wrong;
  return invalidArgument("more than " + std::to_string(maxBadLines) +
                         " bad lines, which --max-bad-lines allows; the first "
                         "is " +
                         out.firstBadLines.front());
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

Status TaskReader::readHeader(const SourceText &file, const TableTask &task,
                              const Cells &cells) {
  columns = cells.size();
  for (size_t i = 0; i < std::size(at); ++i) {
    auto found = std::ranges::find(cells, task.columns[i]);
    if (found == cells.end())
      return file.wrongAt(
          cells.front(),
          formatText("a table of %s has a column \"%s\", and this has none",
                     task.name, task.columns[i]) +
              (i == 2 ? "; test sets are published without classes" : ""));
    at[i] = size_t(found - cells.begin());
  }
  return okStatus();
}

Status TaskReader::readRow(const SourceText &file, const TableTask &task,
                           const Cells &cells, uint64_t line) {
  if (cells.size() != columns)
    return skip(file.wrongAt(
        cells.front(),
        formatText("the row has %zu cell%s, and the table %zu columns",
                   cells.size(), cells.size() == 1 ? "" : "s", columns)));
  std::string_view label = cells[at[2]];
  if (!task.noLabel.empty() && label == task.noLabel) {
    ++out.unlabelled;
    return okStatus();
  }
  auto found = std::ranges::find(task.labels, label,
                                 &std::pair<std::string_view, uint16_t>::first);
  if (found == task.labels.end()) {
    std::string names;
    for (const auto &[name, number] : task.labels)
      names += (names.empty() ? "" : ", ") + std::string(name);
    return skip(file.wrongAt(label, formatText("%s is ", task.columns[2]) +
                                        inQuotes(label) + ", none of " +
                                        names));
  }
  for (size_t i = 0; i < 2; ++i)
    if (cells[at[i]].find_first_not_of(" \t") == std::string_view::npos)
      return skip(file.wrongAt(cells[at[i]],
                               formatText("%s is empty", task.columns[i])));
  out.samples.push_back({{std::string(cells[at[0]]), std::string(cells[at[1]])},
                         found->second,
                         file.path + ":" + std::to_string(line)});
  return okStatus();
}

Status TaskReader::readTable(const SourceText &file, const TableTask &task) {
  std::string_view rest = file.text;
  if (rest.starts_with("\xef\xbb\xbf")) // A byte order mark.
    rest.remove_prefix(3);
  for (uint64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = takeLine(rest);
    Cells cells = cellsOfLine(line);
    HOCKET_RETURN_IF_ERROR(number == 1 ? readHeader(file, task, cells)
                                       : readRow(file, task, cells, number));
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Passages
//===----------------------------------------------------------------------===//

/// What a choice says of its question.
static std::string answered(const std::string &question,
                            const std::string &option) {
  if (question.find('_') == question.npos)
    return question + " " + option;
  std::string text;
  for (char c : question)
    text += c == '_' ? option : std::string(1, c);
  return text;
}

static bool isBlank(const std::string &text) {
  return text.find_first_not_of(" \t\r\n") == text.npos;
}

/// `place`: of the question.
Status TaskReader::readQuestion(const std::string &place,
                                const std::string &article,
                                const json &question, const json &options,
                                const json &answer) {
  auto wrong = [&](const std::string &what) {
    return skip(invalidArgument(place + ": " + what));
  };
  if (!question.is_string() || !options.is_array() || !answer.is_string())
    return wrong("has no string as its question, no list of options, or no "
                 "letter as its answer");
  if (options.size() < 2 || options.size() > 26)
    return wrong(
        formatText("has %zu options, expected 2 to 26", options.size()));
  LabelledTexts sample{{article}, 0, place};
  for (const json &option : options) {
    if (!option.is_string())
      return wrong("an option is no string");
    sample.texts.push_back(
        answered(question.get<std::string>(), option.get<std::string>()));
    if (isBlank(sample.texts.back()))
      return wrong("a question and its option are empty");
  }
  auto letter = answer.get<std::string>();
  if (letter.size() != 1 || letter[0] < 'A' ||
      size_t(letter[0] - 'A') >= options.size())
    return wrong("the answer is " + inQuotes(letter) +
                 formatText(", expected a letter from A to %c",
                            char('A' + options.size() - 1)));
  if (out.classes.empty())
    for (size_t i = 0; i < options.size(); ++i)
      out.classes.emplace_back(1, char('A' + i));
  if (options.size() != out.classes.size())
    return wrong(formatText("has %zu options, and questions before it have %zu",
                            options.size(), out.classes.size()));
  sample.label = uint16_t(letter[0] - 'A');
  out.samples.push_back(std::move(sample));
  return okStatus();
}

Status TaskReader::readPassage(const SourceText &file) {
  auto object = parseJsonObject(file.text, file.path, 1);
  if (!object.ok())
    return skip(object.status());
  auto wrong = [&](const std::string &what) {
    return skip(invalidArgument(file.path + ":1:1: " + what));
  };
  for (const char *name : {"questions", "options", "answers"})
    if (!object->contains(name) || !(*object)[name].is_array())
      return wrong(
          formatText("a passage has a list \"%s\", and this has none", name));
  const json &questions = (*object)["questions"],
             &options = (*object)["options"], &answers = (*object)["answers"];
  if (!object->contains("article") || !(*object)["article"].is_string() ||
      isBlank((*object)["article"].get<std::string>()))
    return wrong("a passage has a text \"article\", and this has none");
  if (options.size() != questions.size() || answers.size() != questions.size())
    return wrong(formatText("has %zu questions, %zu lists of options and %zu "
                            "answers",
                            questions.size(), options.size(), answers.size()));
  auto article = (*object)["article"].get<std::string>();
  for (size_t i = 0; i < questions.size(); ++i)
    HOCKET_RETURN_IF_ERROR(
        readQuestion(file.path + formatText(":1:1: question %zu", i + 1),
                     article, questions[i], options[i], answers[i]));
  return okStatus();
}

/// The files of `path`: itself, or those in a folder.
static StatusOr<std::vector<std::string>> passagesIn(const std::string &path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return std::vector<std::string>{path};
  HOCKET_ASSIGN_OR_RETURN(auto files, filesBelow(path, {".txt", ".json"}));
  if (files.empty())
    return invalidArgument(path + ": no passage (.txt or .json) is in it");
  return files;
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

const std::vector<std::string> &data::taskNames() {
  static const std::vector<std::string> names = {"mnli", "qqp", "race"};
  return names;
}

static StatusOr<SourceText> readTaskFile(const std::string &path,
                                         TaskSamples &out) {
  HOCKET_ASSIGN_OR_RETURN(SourceText file, SourceText::read(path));
  HOCKET_RETURN_IF_ERROR(file.checkUtf8());
  out.bytes += file.text.size();
  return file;
}

StatusOr<TaskSamples> data::readTask(std::string_view task,
                                     const std::vector<std::string> &inputs,
                                     uint64_t maxBadLines) {
  TaskSamples out;
  auto table = std::ranges::find(tables(), task, &TableTask::name);
  bool isTable = table != tables().end();
  if (isTable)
    out.classes = table->classes;
  out.areChoices = !isTable;
  for (const std::string &input : inputs) {
    std::vector<std::string> paths = {input};
    if (!isTable) {
      HOCKET_ASSIGN_OR_RETURN(paths, passagesIn(input));
    }
    for (const std::string &path : paths) {
      HOCKET_ASSIGN_OR_RETURN(SourceText file, readTaskFile(path, out));
      TaskReader reader(out, maxBadLines);
      HOCKET_RETURN_IF_ERROR(isTable ? reader.readTable(file, *table)
                                     : reader.readPassage(file));
    }
  }
  if (out.samples.empty())
    return invalidArgument(inputs.front() +
                           ": there is no labelled text in the inputs");
  return out;
}
