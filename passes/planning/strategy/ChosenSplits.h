//===- ChosenSplits.h - Chosen strategies for people ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How the parameters and ops of a program are split, as text that a person can
/// read and write and that `hocket compile --shardings` takes:
///
///   shardings
///   version 1
///   mesh dp=2 tp=4
///   split layers.*.mlp.up.weight [tp,-]
///   split layer/mlp.up/linear [dp,-,-] [tp,-] -> [dp,-,tp]
///
/// A tensor lists, dim by dim, the axes that split it, the coarsest first
/// (`dp+tp`; `-`: none); `[]` is a scalar, `.` an operand that is no tensor. A
/// parameter has one tensor; an op its operands and, after `->`, its results.
/// TextLines.h has the rest of the syntax. Names are those of
/// passes/dist/OpNames.h.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_STRATEGY_CHOSENSPLITS_H
#define HOCKET_PASSES_PLANNING_STRATEGY_CHOSENSPLITS_H

#include "passes/planning/strategy/StrategyProblem.h"

#include <string_view>
#include <utility>

namespace hocket::planning {

/// Where something stands in a text, counted from 1.
struct SplitPlace {
  int64_t line = 1, column = 1;
};

/// One tensor of a line.
struct SplitTensor {
  std::string text; ///< `[dp,-]`, or `.`
  std::vector<std::vector<std::string>> dims;
  SplitPlace place;

  bool isTensor() const { return text != "."; }
};

/// One line: a parameter, which has one operand alone, or an op.
struct ChosenSplit {
  std::string name;
  std::vector<SplitTensor> operands, results;
  bool isOp = false; ///< There is an `->`.
  SplitPlace place;

  /// All behind the name, with one blank between words.
  std::string text() const;
};

using MeshSizes = std::vector<std::pair<std::string, int64_t>>;

struct ChosenSplits {
  MeshSizes mesh; ///< The slowest axis first.
  SplitPlace meshPlace;
  std::vector<ChosenSplit> splits; ///< Of different names.
};

/// Every axis that is named is the mesh's and stands once in a tensor. Errors
/// are `file:line:column: Q30: ...`.
StatusOr<ChosenSplits> readChosenSplits(std::string_view file,
                                        std::string_view text);

/// The same of a file, of at most 64 MiB.
StatusOr<ChosenSplits> loadChosenSplits(const std::string &path);

/// `dp=2 tp=4`.
std::string meshText(const MeshSizes &mesh);

/// The words of the strategies that `choice`, valid for `problem`, has taken;
/// nodes without words are left out. InvalidArgument where the problem is not
/// of a plan's mesh, so that nothing would compile it.
StatusOr<std::string> writtenChosenSplits(const StrategyProblem &problem,
                                          const StrategyChoice &choice);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_STRATEGY_CHOSENSPLITS_H
