//===- TaskFiles.h - Labelled texts as they are distributed -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What GLUE's tables and RACE's passages hold:
///
///   mnli   a .tsv with the columns sentence1, sentence2 and gold_label:
///          contradiction, entailment or neutral. Where those who labelled a
///          pair did not agree ("-") it is left out, and counted
///   qqp    a .tsv with the columns question1, question2 and is_duplicate:
///          not_duplicate (0) or duplicate (1)
///   race   passages (.txt or .json), or folders of them, searched with their
///          subfolders in the order of their names: an article, and questions
///          of as many options each, of which a letter is the answer
///
/// Classes are numbered in the order of their names here, which is Megatron's.
/// Cells of a table stand as they are: GLUE quotes nothing. A choice's text is
/// its question with the option in the place of "_", or behind it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_DATA_TEXT_TASKFILES_H
#define HOCKET_RUNTIME_DATA_TEXT_TASKFILES_H

#include "base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::data {

/// A document: its texts as ClassFile.h has them, and its class.
struct LabelledTexts {
  std::vector<std::string> texts;
  uint16_t label = 0;
  std::string place; ///< "FILE:LINE"
};

struct TaskSamples {
  std::vector<std::string> classes;
  bool areChoices = false;
  std::vector<LabelledTexts> samples;
  uint64_t unlabelled = 0; ///< Left out, for they have no agreed class.
  uint64_t badLines = 0;   ///< Left out as well.
  std::vector<std::string> firstBadLines; ///< What is wrong with the first 10.
  uint64_t bytes = 0;                     ///< Of the files.
};

/// The names of the tasks.
const std::vector<std::string> &taskNames();

/// Reads `inputs`, in this order, as files of the task `task`, one of
/// taskNames(). InvalidArgument, with file, line and column, for a row that is
/// none of the task's, once there are more than `maxBadLines` of them, and
/// where there is no sample. Memory: that of the texts.
StatusOr<TaskSamples> readTask(std::string_view task,
                               const std::vector<std::string> &inputs,
                               uint64_t maxBadLines);

} // namespace hocket::data

#endif // HOCKET_RUNTIME_DATA_TEXT_TASKFILES_H
