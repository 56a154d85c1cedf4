//===- ProgramText.cpp - An executable, described for people --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "base/Quantity.h"
#include "base/Sha256.h"
#include "runtime/program/DataType.h"
#include "runtime/program/Entries.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/tools/reports/ProgramReport.h"
#include "runtime/train/step/LearningRate.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace hocket;
using program::Instruction;
using program::Program;
using program::Role;

using Rows = std::vector<std::vector<std::string>>;

/// Every line of `text` two columns to the right.
static std::string indented(const std::string &text) {
  std::string result;
  bool start = true;
  for (char c : text) {
    if (start && c != '\n')
      result += "  ";
    start = c == '\n';
    result += c;
  }
  return result;
}

static std::string meshText(const program::Mesh &mesh) {
  uint64_t ranks = 1;
  std::string text;
  for (const auto &axis : mesh.axes()) {
    ranks *= axis.size();
    text += formatText("%s=%u ", axis.name().c_str(), axis.size());
  }
  return text + "(" + formatNoun(ranks, "rank") + ")";
}

/// "dp 4 x 2, tp 2 x 4": names, and how many ranks in how many lists.
static std::string groupsText(const Program &program) {
  std::string text;
  for (const program::Group &group : program.groups())
    text += formatText(
        "%s%s %d x %d", text.empty() ? "" : ", ", group.name().c_str(),
        group.members().empty() ? 0 : group.members(0).ranks_size(),
        group.members_size());
  return text.empty() ? "none" : text;
}

/// "x86-64-v4, x86-64-v3"; "sm_90a, source" where the GPU's own is made from
/// it.
static std::string codeText(const Program &program) {
  std::vector<std::string> names;
  for (const auto &module : program.modules())
    for (const auto &variant : module.variants()) {
      std::string name = variant.isa().empty() ? "source" : variant.isa();
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// "split 969,30,1 of 0.7 books 0.3 news"; with data of their own for others,
/// "books, valid held-out".
/// Steps and samples, or epochs, whose steps the data says.
static std::string stepsText(const program::TrainingInfo &training) {
  std::string seed = ", seed " + std::to_string(training.seed());
  if (training.epochs() > 0)
    return "those of " + formatNoun(training.epochs(), "epoch") + seed;
  uint64_t samples =
      batchSizesOf(training).samplesIn(training.steps()).value_or(UINT64_MAX);
  return formatGrouped(training.steps()) + " (" +
         formatNoun(samples, "sample") + ")" + seed;
}

static std::string warmupText(const program::LearningRate &rate) {
  if (rate.warmup_fraction() > 0)
    return formatText("%g of the run", rate.warmup_fraction());
  return isInSamples(rate) ? formatNoun(rate.warmup_samples(), "sample")
                           : formatNoun(rate.warmup_steps(), "step");
}

static std::string dataText(const program::TrainingInfo &training) {
  auto words = [](const auto &list) {
    std::string text;
    for (const std::string &word : list)
      text += " " + word;
    return text;
  };
  if (training.train_data().empty())
    return "split " + training.data_split();
  if (training.valid_data().empty() && training.test_data().empty())
    return "split " + training.data_split() + " of" +
           words(training.train_data());
  std::string text = words(training.train_data()).substr(1);
  if (!training.valid_data().empty())
    text += ", valid" + words(training.valid_data());
  if (!training.test_data().empty())
    text += ", test" + words(training.test_data());
  return text;
}

/// "train_step, eval_step"
static std::string joinedEntries(const Program &program) {
  std::string text;
  for (const std::string &entry : entriesOf(program))
    text += (text.empty() ? "" : ", ") + entry;
  return text;
}

/// "2 (1 microbatch), 4 from sample 16 (2), 8 from sample 48 (4)"
static std::string growthText(const program::TrainingInfo &training) {
  std::string text;
  uint64_t each = globalMicrobatchOf(training);
  BatchSizes sizes = batchSizesOf(training);
  for (const BatchSize &size : sizes.sizes()) {
    bool isFirst = text.empty();
    text += (isFirst ? "" : ", ") + formatGrouped(size.size);
    if (!isFirst)
      text += " from sample " + formatGrouped(size.from);
    text +=
        " (" +
        (isFirst ? formatNoun(size.size / each, "microbatch", "microbatches")
                 : formatGrouped(size.size / each)) +
        ")";
  }
  return text;
}

static std::string headText(const Program &program) {
  const auto &from = program.provenance();
  const auto &model = program.model();
  const auto &training = program.training();
  Rows rows = {
      {"model", model.name()},
      {"target", from.target()},
      {"code", codeText(program)},
      {"compiler", from.compiler_version()},
      {"fingerprint", toHex(from.fingerprint()).substr(0, 16)},
      {"mesh", meshText(program.mesh())},
      {"groups", groupsText(program)},
      {"entries", joinedEntries(program)},
      {"precision", training.precision()},
      {"batch",
       formatNoun(training.global_batch_size(), "sequence") + " of " +
           formatNoun(model.sequence_length(), "token") + " a step: " +
           formatNoun(training.microbatches(), "microbatch", "microbatches") +
           " of " + formatGrouped(training.micro_batch_size())},
      {"steps", stepsText(training)},
      {"data", dataText(training)},
      {"learning rate",
       formatText("%s, peak %g, minimum %g, %s of warm-up",
                  training.learning_rate().schedule().c_str(),
                  training.learning_rate().peak(),
                  training.learning_rate().minimum(),
                  warmupText(training.learning_rate()).c_str())}};
  if (!training.batch_sizes().empty())
    rows.insert(rows.begin() + 10, {"batch grows", growthText(training)});
  return "Executable\n" + indented(formatTable({"", ""}, rows));
}

/// Bytes of the optimizer's state for each trained number.
static uint64_t slotBytes(const Program &program) {
  uint64_t bytes = 0;
  for (const auto &parameter : program.parameters()) {
    uint64_t own = 0;
    for (const auto &slot : parameter.slots())
      own += dataTypeBytes(slot.dtype());
    bytes = std::max(bytes, own);
  }
  return bytes;
}

/// "; 4,096 in 3 tensors are trained. To train the others would take 1.2 MiB
/// more ...", or nothing where all are trained.
static std::string frozenText(const Program &program) {
  constexpr uint64_t wide = 4; // A number of a gradient, or of an FP32 copy.
  uint64_t trained = 0, tensors = 0, bytes = 0, slots = slotBytes(program);
  for (const auto &parameter : program.parameters()) {
    if (parameter.name().starts_with("state."))
      continue;
    uint64_t count = checkedProduct(parameter.shape()).value_or(0);
    uint64_t copy = dataTypeBytes(parameter.dtype()) < wide ? wide : 0;
    if (parameter.frozen())
      bytes += count * (wide + slots + copy);
    else
      trained += count, ++tensors;
  }
  if (bytes == 0)
    return "";
  return "; " + formatGrouped(trained) + " in " +
         formatNoun(tensors, "tensor") +
         " are trained. To train the others would take " + formatBytes(bytes) +
         " more: gradients, optimizer state and FP32 copies";
}

static std::string parametersText(const Program &program) {
  Rows rows;
  uint64_t elements = 0, tensors = 0;
  for (const auto &parameter : program.parameters()) {
    uint64_t count = checkedProduct(parameter.shape()).value_or(0);
    // What only counts steps or scales the loss is none of the model's.
    if (!parameter.name().starts_with("state.")) {
      elements += count;
      ++tensors;
    }
    const auto &initializer = parameter.initializer();
    std::string slots;
    for (const auto &slot : parameter.slots())
      slots += (slots.empty() ? "" : ", ") + slot.name();
    rows.push_back({parameter.name(), shapeText(parameter.shape()),
                    dataTypeName(parameter.dtype()), formatGrouped(count),
                    initializer.kind() == "normal"
                        ? formatText("normal %g", initializer.stddev())
                        : initializer.kind(),
                    parameter.frozen()         ? "frozen"
                    : parameter.weight_decay() ? "yes"
                                               : "",
                    slots});
  }
  return "Parameters: " + formatGrouped(elements) + " in " +
         formatNoun(tensors, "tensor") + frozenText(program) + "\n" +
         indented(formatTable({"name", "shape", "type", ">elements",
                               "initializer", "decay", "slots"},
                              rows));
}

static std::string flopsText(const Program &program) {
  const auto &model = program.model();
  double tokens = double(program.training().global_batch_size()) *
                  double(model.sequence_length());
  return "FLOPs: " + formatCount(model.flops_per_token()) + " a token, " +
         formatCount(model.flops_per_token() * tokens) +
         " a step (forward and backward)\n";
}

/// A bar of at most 40 columns.
static std::string bar(uint64_t part, uint64_t whole) {
  constexpr uint64_t width = 40;
  double share = whole ? double(part) / double(whole) : 0;
  auto columns = uint64_t(std::llround(share * double(width)));
  return std::string(std::min(columns, width), '#') +
         std::string(width - std::min(columns, width), '.');
}

static std::string memoryText(const Role &role) {
  const program::MemoryPlan &memory = role.memory();
  double excess = memory.lower_bound_bytes()
                      ? 100.0 * (double(memory.arena_bytes()) /
                                     double(memory.lower_bound_bytes()) -
                                 1)
                      : 0;
  std::string text = formatText(
      "Memory of role '%s': %s (%s bytes), %.2f %% above the lower bound\n",
      role.name().c_str(), formatBytes(memory.arena_bytes()).c_str(),
      formatGrouped(memory.arena_bytes()).c_str(), excess);
  if (memory.at_peak().empty())
    return text;
  Rows rows;
  for (const auto &kind : memory.at_peak())
    rows.push_back({kind.name(), bar(kind.bytes(), memory.arena_bytes()),
                    formatBytes(kind.bytes()),
                    formatText("%.1f %%", 100.0 * double(kind.bytes()) /
                                              double(std::max<uint64_t>(
                                                  1, memory.arena_bytes())))});
  return text +
         indented(formatTable({"at the peak", "", ">bytes", ">share"}, rows));
}

static std::string kernelsText(const Program &program) {
  std::vector<uint64_t> uses(size_t(program.kernels_size()));
  for (const Role &role : program.roles())
    for (const auto &sequence : role.sequences())
      for (const auto &instruction : sequence.instructions())
        if (instruction.has_launch())
          ++uses[instruction.launch().kernel()];
  bool forGpu = program.kernels_size() > 0 && program.kernels(0).threads() > 0;
  Rows rows;
  for (int i = 0; i < program.kernels_size(); ++i) {
    const program::Kernel &kernel = program.kernels(i);
    rows.push_back({kernel.name(), formatGrouped(uses[size_t(i)]),
                    formatGrouped(kernel.tasks()),
                    formatGrouped(forGpu ? kernel.threads() : kernel.grain()),
                    formatCount(kernel.flops()), formatBytes(kernel.bytes()),
                    kernel.description()});
  }
  std::string text = formatText("Kernels: %d in ", program.kernels_size()) +
                     formatNoun(uint64_t(program.modules_size()), "module") +
                     "\n";
  for (const auto &module : program.modules())
    for (const auto &variant : module.variants())
      text +=
          formatText("  module %s for %s (%s): %s\n", module.name().c_str(),
                     variant.isa().empty() ? "any GPU" : variant.isa().c_str(),
                     variant.format().c_str(),
                     formatBytes(variant.image().size()).c_str());
  return text +
         indented(formatTable(
             {"name", ">launches", forGpu ? ">blocks" : ">tasks",
              forGpu ? ">threads" : ">grain", ">flops", ">bytes", "what"},
             rows));
}

/// "launch 12, gemm 24, ...".
static std::string countsText(const program::Sequence &sequence,
                              const Program &program) {
  std::map<std::string, uint64_t> counts;
  for (const auto &instruction : sequence.instructions()) {
    std::string text = instructionText(instruction, program);
    ++counts[text.substr(0, text.find(' '))];
  }
  std::string text;
  for (const auto &[kind, count] : counts)
    text += formatText("%s%s %llu", text.empty() ? "" : ", ", kind.c_str(),
                       (unsigned long long)count);
  return text;
}

static std::string entryText(const program::Entry &entry, const Role &role) {
  std::string text;
  for (int i = 0; i < entry.runs_size(); ++i) {
    if (i == 8 && entry.runs_size() > 10) {
      text += " ... (" + formatNoun(uint64_t(entry.runs_size()), "run") + ")";
      break;
    }
    const auto &run = entry.runs(i);
    text += formatText(" %s(%u)",
                       role.sequences(int(run.sequence())).name().c_str(),
                       run.microbatch());
  }
  return "  entry " + entry.name() + ":" + text + "\n";
}

static std::string programListing(const Program &program, const Role &role,
                                  bool listing) {
  std::string text = formatText("Program of role '%s'\n", role.name().c_str());
  for (const auto &entry : role.entries())
    text += entryText(entry, role);
  for (const auto &sequence : role.sequences()) {
    text += "  sequence " + sequence.name() + ": " +
            formatNoun(uint64_t(sequence.instructions_size()), "instruction") +
            ": " + countsText(sequence, program) + "\n";
    for (int i = 0; listing && i < sequence.instructions_size(); ++i) {
      const Instruction &instruction = sequence.instructions(i);
      text +=
          formatText("    %5d  ", i) + instructionText(instruction, program);
      if (instruction.stream() > 0)
        text += formatText(" [stream %u]", instruction.stream());
      if (!instruction.source().empty())
        text += "  // " + instruction.source();
      text += "\n";
    }
  }
  if (!listing)
    return text;
  Rows rows;
  for (int i = 0; i < role.buffers_size(); ++i) {
    const program::Buffer &buffer = role.buffers(i);
    rows.push_back(
        {formatText("%%%d", i), dataTypeName(buffer.dtype()),
         shapeText(buffer.shape()), formatGrouped(buffer.offset()),
         formatGrouped(buffer.bytes()), buffer.kind(),
         buffer.persistent()
             ? "always"
             : formatText("%llu-%llu", (unsigned long long)buffer.first(),
                          (unsigned long long)buffer.last()),
         buffer.name()});
  }
  return text + "  buffers\n" +
         indented(indented(formatTable({"", "type", "shape", ">offset",
                                        ">bytes", "kind", ">lives", "name"},
                                       rows)));
}

std::string hocket::programText(const Program &program, bool listing) {
  std::string text = headText(program) + "\n" + parametersText(program) + "\n" +
                     flopsText(program) + "\n";
  for (const Role &role : program.roles())
    text += memoryText(role) + "\n";
  text += certificateText(program) + "\n";
  text += kernelsText(program);
  for (const Role &role : program.roles())
    text += "\n" + programListing(program, role, listing);
  return text;
}
