//===- CompileCommand.cpp - hocket compile --------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/CompileCommand.h"

#include "base/File.h"
#include "base/Format.h"
#include "base/json/JsonLines.h"
#include "compiler/driver/Compile.h"
#include "compiler/targets/cpu/KernelObjects.h"
#include "compiler/tools/EmitCuda.h"
#include "compiler/tools/MachineCode.h"
#include "compiler/tools/SpecOptions.h"
#include "compiler/tools/planning/AutoPlan.h"
#include "runtime/program/NativeOrigin.h"
#include "runtime/program/NcclMemory.h"
#include "runtime/program/file/ProgramFile.h"
#include "runtime/tools/command_line/CommandLine.h"
#include "runtime/tools/command_line/OptionValues.h"
#include "runtime/tools/command_line/OutputFile.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <utility>

using namespace hocket;

namespace {

struct CompileArguments {
  CompileRequest request;
  std::string output, from, to = "program", emit;
  std::string attentionGradient = "recomputed";
  std::vector<std::string> entries; ///< Empty: to train.
  bool noFusion = false, json = false;
  AutoPlanOptions search; ///< With `--plan auto`.
  std::string margin = "5%";
};

constexpr const char *compileDetails =
    R"(SPEC is a specification (textproto), a Hugging Face folder with config.json, or
xf IR (.mlir). The result of -o is one file, the same bytes for the same input.

Levels, in order: xf (what is computed), dist (where each shard lives), pipe
(when it runs), kern (how a kernel computes), exec (in which bytes), program.

Examples:
  hocket compile examples/nano/spec.textproto -o nano.hkx
  hocket compile Llama-3-8B/ --set training.precision=BF16 -o llama.hkx
  hocket compile spec.textproto --mesh pp=2,dp=2 --microbatches 8 -o four.hkx
  hocket compile spec.textproto --mesh tp=8 --sequence-parallel \
         --recompute auto --memory 80GiB -o eight.hkx
  hocket compile spec.textproto --plan auto --cluster h100:1024 -o big.hkx
  hocket compile spec.textproto --compile-to=kern -o kern.mlir
  hocket compile kern.mlir -o model.hkx
  hocket compile spec.textproto --dump-phases phases -o model.hkx
  hocket compile spec.textproto --target cuda --arch sm_90a -o model.hkx
  hocket compile spec.textproto --emit=cuda --arch sm_90a -o kernels/)";

Status checkEmit(const CompileArguments &arguments) {
  if (!arguments.request.architectures.empty() && arguments.emit.empty() &&
      arguments.to != "program")
    return invalidArgument("--arch is for executables and for --emit=cuda, not "
                           "for the IR of a level");
  if (arguments.emit.empty())
    return okStatus();
  if (arguments.emit != "cuda")
    return invalidArgument("--emit=" + arguments.emit + ": write cuda");
  if (arguments.to != "program")
    return invalidArgument("--emit=cuda writes kernels, --compile-to=" +
                           arguments.to + " the IR of a level; choose one");
  return okStatus();
}

Status parseLevels(CompileArguments &arguments) {
  auto to = parseLevel(arguments.to);
  if (!to)
    return invalidArgument("--compile-to=" + arguments.to +
                           ": the levels are xf, dist, pipe, kern, exec and "
                           "program");
  arguments.request.to = *to;
  if (arguments.from.empty())
    return okStatus();
  arguments.request.from = parseLevel(arguments.from);
  if (!arguments.request.from)
    return invalidArgument("--compile-from=" + arguments.from +
                           ": the levels are xf, dist, pipe, kern and exec");
  return okStatus();
}

Status parseAttentionGradient(CompileArguments &arguments,
                              const std::string &target) {
  const std::string &kind = arguments.attentionGradient;
  if (kind != "recomputed" && kind != "joint")
    return invalidArgument("--attention-gradient " + kind +
                           ": write recomputed or joint");
  arguments.request.jointAttention = kind == "joint";
  if (arguments.request.jointAttention && target != "cuda")
    return invalidArgument("--attention-gradient joint is for --target cuda");
  return okStatus();
}

/// train, generate, or both; or embed.
Status parseEntries(CompileArguments &arguments) {
  if (arguments.entries.empty())
    return okStatus();
  spec::Entries entries{.train = false};
  for (const std::string &name : arguments.entries) {
    if (name != "train" && name != "generate" && name != "embed")
      return invalidArgument("--entries " + name +
                             ": write train, generate, train,generate or "
                             "embed");
    (name == "train"      ? entries.train
     : name == "generate" ? entries.generate
                          : entries.embed) = true;
  }
  if (entries.embed && (entries.train || entries.generate))
    return invalidArgument("--entries: what embeds does nothing else; compile "
                           "another program to train or generate");
  if (llvm::StringRef(arguments.request.input).ends_with(".mlir"))
    return invalidArgument("--entries: what a .mlir file holds is what its "
                           "program does; compile the specification again");
  entries.prefillTokens = arguments.request.entries.prefillTokens;
  arguments.request.entries = entries;
  return okStatus();
}

/// Roles that are listed one by one.
constexpr size_t mostRoles = 4;

/// What the ranks need beside what a device has.
void printMemory(std::ostream &out, const CompileResult &result) {
  std::string text;
  int64_t most = mostNeeded(result.memory);
  if (result.memory.size() <= mostRoles)
    for (const RoleMemory &memory : result.memory)
      text += (text.empty() ? "" : ", ") + ranksText(memory.ranks) + " " +
              formatBytes(uint64_t(memory.needed()));
  else
    text = formatBytes(uint64_t(most)) + " on the fullest rank";
  out << "memory: " << text << "; a device has "
      << formatBytes(uint64_t(result.memoryBudget)) << ", "
      << formatBytes(uint64_t(result.memoryBudget - most)) << " more\n";
}

double percentOf(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

/// What was recomputed, and how far from the least that can be.
void printRecompute(std::ostream &out, const CompileResult &result) {
  int64_t recomputed = 0;
  for (size_t i = 0; i < result.recompute.size(); ++i) {
    const RecomputeNote &note = result.recompute[i];
    recomputed += note.recomputed;
    if (note.recomputed == 0 || result.recompute.size() > mostRoles)
      continue;
    out << "recompute: " << ranksText(result.memory[i].ranks) << ": "
        << note.recomputed << " of " << note.residuals << " residuals, "
        << formatText("%.2f %% more work",
                      percentOf(note.seconds, note.stepSeconds));
    if (result.memoryBudget > 0)
      out << formatText("; no choice that fits takes less than %.2f %%",
                        percentOf(note.leastSeconds, note.stepSeconds));
    out << "\n";
  }
  if (recomputed == 0 || result.recompute.size() <= mostRoles)
    return;
  auto share = [](const RecomputeNote &note) {
    return percentOf(note.seconds, note.stepSeconds);
  };
  const RecomputeNote &worst = *std::max_element(
      result.recompute.begin(), result.recompute.end(),
      [&](const auto &a, const auto &b) { return share(a) < share(b); });
  out << "recompute: "
      << formatText("at most %.2f %% more work on a rank", share(worst));
  if (result.memoryBudget > 0)
    out << formatText("; there no choice that fits takes less than %.2f %%",
                      percentOf(worst.leastSeconds, worst.stepSeconds));
  out << "\n";
}

/// What was split as a file of shardings says.
void printShardings(std::ostream &out, const ShardingsNote &note) {
  int64_t others = note.ops - note.keptOps;
  out << "shardings: " << note.parameters << " parameters and " << note.keptOps
      << " of " << note.ops << " ops are split as was chosen";
  if (others > 0)
    out << "; " << others << (others == 1 ? " is" : " are")
        << " computed in parts by other ops";
  out << "\n";
}

/// The same for programs to read.
nlohmann::ordered_json shardingsJson(const ShardingsNote &note) {
  return {{"parameters", note.parameters},
          {"ops", note.ops},
          {"kept_ops", note.keptOps}};
}

/// Memory for programs to read, an entry a role.
nlohmann::ordered_json memoryJson(const CompileResult &result) {
  auto roles = nlohmann::ordered_json::array();
  for (size_t i = 0; i < result.memory.size(); ++i) {
    const RoleMemory &memory = result.memory[i];
    nlohmann::ordered_json role = {{"ranks", memory.ranks.size()},
                                   {"first_rank", memory.ranks.front()},
                                   {"arena_bytes", memory.arena},
                                   {"device_bytes", memory.needed()}};
    if (i < result.recompute.size()) {
      const RecomputeNote &note = result.recompute[i];
      role["residuals"] = note.residuals;
      role["recomputed"] = note.recomputed;
      role["recompute_share"] = percentOf(note.seconds, note.stepSeconds) / 100;
      role["least_share"] =
          percentOf(note.leastSeconds, note.stepSeconds) / 100;
    }
    roles.push_back(std::move(role));
  }
  return roles;
}

/// What came of a compilation.
struct Outcome {
  CompileResult result;
  std::optional<AutoPlan> plan;
  uint64_t fileBytes = 0;
  double seconds = 0;
};

/// What an executable is made of.
struct ProgramCounts {
  uint64_t instructions = 0, arenaBytes = 0;
};

ProgramCounts countsOf(const program::Program &program) {
  ProgramCounts counts;
  for (const auto &role : program.roles()) {
    counts.arenaBytes =
        std::max(counts.arenaBytes, role.memory().arena_bytes());
    for (const auto &sequence : role.sequences())
      counts.instructions +=
          static_cast<uint64_t>(sequence.instructions_size());
  }
  return counts;
}

/// The summary for programs to read.
nlohmann::ordered_json summaryJson(const std::string &output,
                                   const Outcome &outcome) {
  const CompileResult &result = outcome.result;
  ProgramCounts counts = countsOf(result.program);
  nlohmann::ordered_json summary = {
      {"output", output},
      {"parameters", result.program.model().parameter_count()},
      {"kernels", result.program.kernels_size()},
      {"instructions", counts.instructions},
      {"arena_bytes", counts.arenaBytes},
      {"memory", memoryJson(result)}};
  if (result.shardings)
    summary["shardings"] = shardingsJson(*result.shardings);
  if (outcome.plan)
    summary["plan"] = autoPlanJson(*outcome.plan);
  summary["file_bytes"] = outcome.fileBytes;
  summary["seconds"] = outcome.seconds;
  return summary;
}

/// How far --attention-gradient joint could be followed.
void printJointGradients(std::ostream &out, const program::Program &program) {
  uint64_t joint = 0, apart = 0;
  for (const auto &role : program.roles())
    for (const auto &sequence : role.sequences())
      for (const auto &instruction : sequence.instructions()) {
        joint += instruction.library().op() == "attention_backward_joint";
        apart += instruction.library().op() == "attention_backward";
      }
  out << "gradients of attention by one kernel: " << joint << " of "
      << joint + apart << (apart ? " (docs/gpus.md says which)" : "") << "\n";
}

void printSummary(const CompileArguments &arguments, const Outcome &outcome) {
  const CompileResult &result = outcome.result;
  const program::Program &program = result.program;
  std::ostream &out = reportStream(arguments.output);
  if (arguments.json) {
    out << toJsonText(summaryJson(arguments.output, outcome)) << "\n";
    return;
  }
  if (outcome.plan)
    out << autoPlanText(*outcome.plan);
  out << (arguments.output.empty() ? "not written" : arguments.output) << ": "
      << formatCount(program.model().parameter_count()) << " parameters, "
      << program.kernels_size() << " kernels, "
      << countsOf(program).instructions << " instructions, "
      << formatBytes(uint64_t(mostNeeded(result.memory))) << " of memory, "
      << formatBytes(outcome.fileBytes) << " on disk, compiled in "
      << formatDuration(outcome.seconds) << "\n";
  if (result.memoryBudget > 0)
    printMemory(out, result);
  uint64_t nccl = estimateNcclBytes(program);
  if (program.provenance().target() == "cuda" && nccl > 0)
    out << "NCCL takes about " << formatBytes(nccl)
        << " of a GPU's memory beside that\n";
  printRecompute(out, result);
  if (arguments.request.jointAttention)
    printJointGradients(out, program);
  if (result.shardings)
    printShardings(out, *result.shardings);
}

bool isAuto(const CompileArguments &arguments) {
  return arguments.request.spec.planPath == "auto";
}

/// What `--plan auto` and `--cluster` do not go with.
Status checkSearch(const CompileArguments &arguments) {
  const CompileRequest &request = arguments.request;
  if (!isAuto(arguments)) {
    if (!arguments.search.cluster.empty())
      return invalidArgument("--cluster is for --plan auto");
    return arguments.output.empty() ? invalidArgument("-o is required")
                                    : okStatus();
  }
  if (arguments.search.cluster.empty())
    return invalidArgument("--plan auto: write --cluster too, as in "
                           "--cluster h100:64");
  if (!request.spec.flags.empty())
    return invalidArgument("--plan auto chooses what " +
                           request.spec.flags.given.front().option + " sets");
  if (request.from || request.input.ends_with(".mlir"))
    return invalidArgument("--plan auto is for a specification, not a .mlir "
                           "file");
  if (request.to != Level::Program && arguments.output.empty())
    return invalidArgument("-o is required with --compile-to");
  return okStatus();
}

/// Chooses the plan where that was asked for.
Status choose(CompileArguments &arguments, Outcome &outcome) {
  HOCKET_RETURN_IF_ERROR(checkSearch(arguments));
  if (!isAuto(arguments))
    return okStatus();
  HOCKET_ASSIGN_OR_RETURN(arguments.search.margin,
                          parseMargin(arguments.margin));
  arguments.request.spec.planPath.clear();
  HOCKET_ASSIGN_OR_RETURN(outcome.plan,
                          choosePlan(arguments.search, arguments.request));
  return okStatus();
}

/// The certificate's peaks are the planner's, to the byte.
Status checkPeaks(const Outcome &outcome) {
  if (!outcome.plan)
    return okStatus();
  std::string unequal = unequalPeaks(*outcome.plan, outcome.result.program);
  if (unequal.empty())
    return okStatus();
  unequal.pop_back();
  return internalError("the certificate's peak is not the planned one: " +
                       unequal);
}

Status write(CompileArguments &arguments, Outcome &outcome) {
  if (arguments.request.emitCuda)
    return emitCuda({outcome.result.text, outcome.result.libraryText},
                    arguments.request.architectures, arguments.output);
  if (arguments.request.to != Level::Program)
    return writeOutput(arguments.output, outcome.result.text);
  HOCKET_ASSIGN_OR_RETURN(std::string bytes,
                          serializeProgram(outcome.result.program));
  outcome.fileBytes = bytes.size();
  return arguments.output.empty()
             ? okStatus()
             : writeOutput(arguments.output, bytes, OutputKind::Binary);
}

/// What `-o -` cannot be.
Status checkDestination(const CompileArguments &arguments) {
  if (!arguments.emit.empty())
    return isStandardOutput(arguments.output)
               ? invalidArgument("--emit=cuda writes a folder, not standard "
                                 "output (-o -)")
               : okStatus();
  return checkOutput(arguments.output, arguments.to == "program"
                                           ? OutputKind::Binary
                                           : OutputKind::Text);
}

Status run(CompileArguments &arguments) {
  auto start = std::chrono::steady_clock::now();
  HOCKET_RETURN_IF_ERROR(parseLevels(arguments));
  HOCKET_RETURN_IF_ERROR(parseEntries(arguments));
  HOCKET_RETURN_IF_ERROR(checkEmit(arguments));
  HOCKET_RETURN_IF_ERROR(checkDestination(arguments));
  CompileRequest &request = arguments.request;
  request.fuse = !arguments.noFusion;
  request.emitCuda = !arguments.emit.empty();
  if (request.emitCuda)
    request.target = "cuda";
  HOCKET_ASSIGN_OR_RETURN(std::string target, targetOf(request));
  if (request.invariantGemms && target != "cuda")
    return invalidArgument("--invariant-gemms is for --target cuda: on CPUs no "
                           "GEMM depends on its number of rows");
  HOCKET_RETURN_IF_ERROR(parseAttentionGradient(arguments, target));
  HOCKET_RETURN_IF_ERROR(target == "cuda"
                             ? checkArchitectures(request.architectures)
                             : chooseInstructionSets(request.architectures));
  if (target != "cuda")
    request.kernelObjects = cpu::KernelObjects::kept();
  Outcome outcome;
  HOCKET_RETURN_IF_ERROR(choose(arguments, outcome));
  if (outcome.plan && outcome.plan->compiled) {
    outcome.result = *std::exchange(outcome.plan->compiled, std::nullopt);
  } else {
    HOCKET_ASSIGN_OR_RETURN(outcome.result, compile(arguments.request));
  }
  bool isProgram =
      !arguments.request.emitCuda && arguments.request.to == Level::Program;
  if (isProgram) {
    HOCKET_RETURN_IF_ERROR(checkPeaks(outcome));
    if (target == "cuda")
      HOCKET_RETURN_IF_ERROR(
          addMachineCode(request.architectures, outcome.result.program));
  }
  HOCKET_RETURN_IF_ERROR(write(arguments, outcome));
  if (!isProgram)
    return okStatus();
  // Without a cache `train` says that it does not know this code.
  (void)noteNativeCode(outcome.result.program);
  outcome.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  printSummary(arguments, outcome);
  return okStatus();
}

constexpr const char *targetOptions = "Target options";
constexpr const char *phaseOptions = "Options to look inside";

void addTargetOptions(CLI::App &command, CompileArguments &arguments) {
  CompileRequest &request = arguments.request;
  command
      .add_option("--target", request.target,
                  "What the program runs on: cpu, or cuda (NVIDIA GPUs). "
                  "Default: the specification's cluster.device, or cpu")
      ->type_name("cpu|cuda")
      ->group(targetOptions);
  command
      .add_option("--arch", request.architectures,
                  "Make machine code only for these. cpu: x86-64-v4 "
                  "(AVX-512), x86-64-v3 (AVX2) or native, this machine's; "
                  "default: the first two. cuda: sm_80, sm_90a, ...; needs "
                  "NVRTC. For other GPUs the source is compiled when the "
                  "executable is loaded")
      ->type_name("NAMES")
      ->delimiter(',')
      ->group(targetOptions);
  command
      .add_flag("--invariant-gemms", request.invariantGemms,
                "cuda: compute forward GEMMs with a kernel of one tile size, "
                "so that no bit depends on the number of rows, as on CPUs. "
                "Slower than cuBLASLt (docs/gpus.md)")
      ->group(targetOptions);
  command
      .add_option("--attention-gradient", arguments.attentionGradient,
                  "cuda: recomputed: gradients of queries, and of keys and "
                  "values, in a kernel each, which both compute the scores; "
                  "joint: one kernel where Hopper has one for the shape "
                  "(docs/gpus.md)")
      ->type_name("KIND")
      ->capture_default_str()
      ->group(targetOptions);
  command
      .add_option("--emit", arguments.emit,
                  "cuda: write all kernels as CUDA C++ into the folder of -o, "
                  "instead of an executable")
      ->type_name("cuda")
      ->group(targetOptions);
}

constexpr uint64_t mostPrefillTokens = uint64_t(1) << 20;

void addEntryOptions(CLI::App &command, CompileArguments &arguments) {
  command
      .add_option("--entries", arguments.entries,
                  "What the program does: train, generate (text with a cache "
                  "of keys and values, and evaluation), or both; or embed "
                  "(chunks of text, for `hocket data neighbors`). Default: "
                  "train")
      ->type_name("NAMES")
      ->delimiter(',')
      ->group(targetOptions);
  wantWhole(command.add_option("--prefill-tokens",
                               arguments.request.entries.prefillTokens,
                               "Prompt tokens that a rank processes at a "
                               "time. Default: 128, or the sequence length "
                               "if that is less"),
            1, mostPrefillTokens)
      ->type_name("N")
      ->group(targetOptions);
}

void addPhaseOptions(CLI::App &command, CompileArguments &arguments) {
  CompileRequest &request = arguments.request;
  command.add_option("--compile-to", arguments.to, "Stop at this level")
      ->type_name("LEVEL")
      ->capture_default_str()
      ->group(phaseOptions);
  command
      .add_option("--compile-from", arguments.from,
                  "SPEC is a .mlir file of this level (default: the one\n"
                  "that --compile-to wrote it for)")
      ->type_name("LEVEL")
      ->group(phaseOptions);
  wantPath(command.add_option("--dump-phases", request.dumpPhases,
                              "Write the IR after every pass into this folder, "
                              "numbered"))
      ->type_name("DIR")
      ->group(phaseOptions);
  wantPath(command.add_option("--fusion-report", request.fusionReport,
                              "Write what was fused, and what prevented "
                              "other fusions"))
      ->type_name("FILE")
      ->group(phaseOptions);
  command
      .add_flag("--no-fusion", arguments.noFusion,
                "Make every op a kernel of its own (for debugging)")
      ->group(phaseOptions);
}

} // namespace

void hocket::registerCompile(CLI::App &app, Status &result) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App *command =
      addCommand(app, "compile", "Compile a model into an executable");
  command->footer(compileDetails);
  CompileRequest &request = arguments->request;
  command->add_option("SPEC", request.input, "What to compile")->required();
  command
      ->add_option("-o,--output", arguments->output,
                   "The executable, or the text of the level of --compile-to "
                   "(- for standard output); optional with --plan auto")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print the summary as JSON");
  addSpecOptions(*command, request.spec);
  command
      ->add_option("--cluster", arguments->search.cluster,
                   "With --plan auto: the system to find a plan for")
      ->type_name("SYSTEM:DEVICES")
      ->group(planOptions);
  command
      ->add_option("--memory-margin", arguments->margin,
                   "With --plan auto: the share of a device's memory to "
                   "leave free")
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(planOptions);
  addEntryOptions(*command, *arguments);
  addTargetOptions(*command, *arguments);
  addPhaseOptions(*command, *arguments);
  command->callback([arguments, &result] { result = run(*arguments); });
}
