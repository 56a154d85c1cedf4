//===- ChoiceFiles.h - Multiple choice as it is distributed -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is asked, and after which words, is part of a result. These are the
/// prompts of EleutherAI's lm-evaluation-harness where it has the task:
///
///   context, choices, label  `context`, then each of `choices` as it stands
///   HellaSwag                activity, context; then each ending
///   ARC                      Question: ...\nAnswer:
///   PIQA                     Question: ...\nAnswer:
///   RACE                     Article: ...\n\nQuestion: ...\n\nAnswer:
///   MNLI                     premise\nQuestion: hypothesis True, False or
///                            Neither?\nAnswer:
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_EVALUATE_CHOICEFILES_H
#define HOCKET_RUNTIME_EVALUATE_CHOICEFILES_H

#include "runtime/evaluate/Choice.h"

namespace hocket::evaluate {

/// The items of `path`: JSON lines (the fields of each say which task it is),
/// MNLI's table (.tsv), or a folder of RACE's passages (.txt), searched with
/// its subfolders in the order of their names. InvalidArgument, with file and
/// line, for anything else, and where there is no item.
StatusOr<std::vector<ChoiceItem>> readChoices(const std::string &path);

} // namespace hocket::evaluate

#endif // HOCKET_RUNTIME_EVALUATE_CHOICEFILES_H
