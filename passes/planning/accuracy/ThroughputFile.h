//===- ThroughputFile.h - Measured and published step times -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads a table of training runs, comma-separated, one run a line under a line
/// of column names. Two layouts are known by their columns:
///
///   measured   `# GPUs`, `global batch`, `micro batch`, `hidden size`,
///              `attention heads`, `# layers`, `sequence length`, `tensor
///              parallelism`, `data parallelism`, `pipeline parallelism`,
///              `iteration time (ms)`: GPTs on A100s
///   published  `set`, `model`, `system`, `gpus`, `precision`, `heads`, ...,
///              `iter_time_s`, `tflops_per_gpu`, `mfu_pct`, ...: what a column
///              leaves out is taken from the model's name, then from how the
///              set's software works (docs/accuracy.md)
///
/// A row that cannot be priced says why.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_PLANNING_ACCURACY_THROUGHPUTFILE_H
#define HOCKET_PASSES_PLANNING_ACCURACY_THROUGHPUTFILE_H

#include "passes/planning/cost/StepCost.h"

#include <map>
#include <optional>

namespace hocket::planning {

/// One line of the table by the names of its columns.
using TableRow = std::map<std::string, std::string>;

/// Comma-separated text with quoted cells. Errors are InvalidArgument,
/// `file:line: ...`.
StatusOr<std::vector<TableRow>> readTable(const std::string &file,
                                          const std::string &text);

/// What a row's number is.
enum class Quantity : uint8_t { Seconds, Gibibytes, Percent };

/// What a run captured in CUDA graphs; OfRelease: what its release did.
enum class Graphs : uint8_t { OfRelease, None, Parts };

/// How tokens went to experts: once for each expert or once to each rank, and
/// of both, beside another microbatch's passes or not.
enum class Exchange : uint8_t {
  OfRelease,
  AllToAll,
  Once,
  Overlapped,
  OnceOverlapped
};

/// What a published run's recipe has that its release alone does not tell.
struct RowRecipe {
  Graphs graphs = Graphs::OfRelease;
  Exchange exchange = Exchange::OfRelease;
  bool fixedSizes = false; ///< Experts have room for as many tokens each.
  bool wholeExpertsAgain = false; ///< As cluster.proto has it.
  bool tensorScales = false;      ///< 8-bit tensors have one scale each.
  bool latentAgain = false;       ///< As cluster.proto has it.
  bool attention8 = false;        ///< Attention multiplies in 8 bits.
  bool tensorApart = false; ///< No collective of the tensor axis beside GEMMs.
  bool dataApart = false;   ///< Of the data axis, none beside passes.
  bool traced = false;      ///< Not measured as a whole (System.traced).
};

struct ThroughputRow {
  int64_t line = 1;    ///< In the file.
  std::string group;   ///< "multi-node A100", "published H100 dense", ...
  std::string label;   ///< The model and the plan, for a person.
  std::string skipped; ///< Why the row is not predicted; else empty.

  /// Without the cluster's description: `systemName` names it.
  CostProblem problem;
  std::string systemName;
  std::string release; ///< Of the software, as "26.04.01"; empty: the newest.
  RowRecipe recipe;
  ParallelPlan plan;
  /// Choices that the row does not tell; the fastest that fits is taken.
  bool anyMicroBatch = false;
  bool anyChunks = false;
  bool anyAxes = false; ///< tp, pp and dp too.

  Quantity quantity = Quantity::Seconds;
  double measured = 0;
  /// Of Gibibytes and Percent: which part of memory.
  std::string part;
};

/// `system` with the software of the row.
cluster::System systemOfRow(const ThroughputRow &row,
                            const cluster::System &system);

/// Rows of a table in either layout.
StatusOr<std::vector<ThroughputRow>> readThroughput(const std::string &file,
                                                    const std::string &text);

/// Sizes of a published model by its name in tables, however that is written:
/// case, what separates words, makers, "Instruct" and the like, remarks in
/// brackets, and the model's own size do not count ("DeepSeek-V3 671B",
/// "deepseek-ai/DeepSeek-V3", "DeepSeekV3 (w/ MTP)"). A name with anything else
/// in it is another model's: nothing is returned, and `why` says so.
std::optional<ModelShape> publishedModel(const std::string &name,
                                         std::string &why);

} // namespace hocket::planning

#endif // HOCKET_PASSES_PLANNING_ACCURACY_THROUGHPUTFILE_H
