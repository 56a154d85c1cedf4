//===- KernelLaunches.cpp - What an instruction starts on a GPU -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/KernelLaunches.h"

#include "base/Format.h"
#include "base/ScanFlops.h"
#include "kernels/cuda/Geometry.cuh"
#include "kernels/cuda/launches/Library.h"
#include "runtime/predict/InstructionCost.h"
#include "runtime/predict/ScanWork.h"
#include "runtime/program/DataType.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

using namespace hocket;
using program::Instruction;

GpuArchitecture::GpuArchitecture(const std::string &name) : name(name) {
  constexpr size_t prefix = std::string_view("sm_").size();
  int number = 0;
  if (name.size() > prefix)
    std::from_chars(name.data() + prefix, name.data() + name.size(), number);
  major = number / 10, minor = number % 10;
}

double hocket::askedBytes(double bytes) {
  constexpr double vector = 16, held = 4, ofLoop = 2;
  return bytes <= held * vector ? bytes : ofLoop * vector;
}

static void addOperands(const Instruction &instruction,
                        const program::Role &role,
                        const program::Program &program, KernelLaunch &launch) {
  for (const InstructionOperand &operand : operandsOf(instruction, program)) {
    launch.bytes += touchedBytes(operand, role, program);
    if (operand.access != OperandAccess::Write &&
        operand.access != OperandAccess::WriteThenAdd)
      launch.readBytes += double(bufferBytes(role, operand.buffer));
  }
}

/// What blocks leave of sums over rows for those that add them, in f32: written
/// and read, an element for each part of the rows.
static double partialBytes(const program::Kernel &kernel) {
  const program::Kernel::Space &space = kernel.space();
  if (space.task_rows() == 0 || space.task_rows() >= space.rows())
    return 0;
  double parts = std::ceil(double(space.rows()) / double(space.task_rows()));
  double bytes = 0;
  for (const auto &operand : kernel.operands())
    if (operand.access() == program::WRITE &&
        operand.pattern() == program::Kernel::COLUMN)
      bytes += 2 * 4 * parts * double(operand.elements());
  return bytes;
}

static KernelLaunch generatedLaunch(const Instruction &instruction,
                                    const program::Role &role,
                                    const program::Program &program) {
  const program::Kernel &kernel =
      program.kernels(int(instruction.launch().kernel()));
  KernelLaunch launch;
  launch.name = kernel.name();
  launch.symbol = kernel.symbol();
  launch.blocks = double(kernel.tasks());
  launch.threads = double(kernel.threads());
  launch.sharedBytes = double(kernel.shared_bytes());
  launch.flops = kernel.flops();
  addOperands(instruction, role, program, launch);
  launch.bytes += partialBytes(kernel);
  double threads = std::max(1.0, launch.blocks * launch.threads);
  for (const auto &operand : kernel.operands()) {
    bool isStream = operand.pattern() == program::Kernel::EACH ||
                    operand.pattern() == program::Kernel::TILED;
    if (isStream && operand.access() != program::WRITE)
      launch.threadBytes +=
          askedBytes(double(operand.elements()) *
                     double(dataTypeBytes(operand.dtype())) / threads);
  }
  return launch;
}

static KernelLaunch gemmLaunch(const Instruction &instruction,
                               const program::Role &role,
                               const program::Program &program) {
  const program::Gemm &gemm = instruction.gemm();
  KernelLaunch launch;
  launch.gemm = GemmSizes{double(gemm.m()), double(gemm.n()), double(gemm.k()),
                          role.buffers(int(gemm.a())).dtype()};
  launch.tensorCores = launch.gemm->type != program::F32;
  launch.flops = instructionFlops(instruction, program);
  addOperands(instruction, role, program, launch);
  double a = double(bufferBytes(role, gemm.a()));
  launch.epilogueBytes = launch.bytes - a -
                         double(bufferBytes(role, gemm.b())) -
                         double(bufferBytes(role, gemm.d()));
  if (gemm.has_bias_gradient())
    launch.summedBytes = a;
  launch.name =
      formatText("gemm %llux%llux%llu %s", (unsigned long long)gemm.m(),
                 (unsigned long long)gemm.n(), (unsigned long long)gemm.k(),
                 dataTypeName(launch.gemm->type));
  if (gemm.has_bias())
    launch.name += " + bias";
  if (!gemm.epilogue().empty())
    launch.name += " + " + gemm.epilogue();
  if (gemm.has_preactivation())
    launch.name += "_gradient";
  if (gemm.has_bias_gradient())
    launch.name += " + bias_gradient";
  if (gemm.has_residual())
    launch.name += " + residual";
  if (gemm.accumulate() != program::OVERWRITE)
    launch.name += ", adds";
  return launch;
}

//===----------------------------------------------------------------------===//
// Library ops
//===----------------------------------------------------------------------===//

namespace {

/// The launches of one call.
class LibraryLaunches {
public:
  LibraryLaunches(const Instruction &instruction, const program::Role &role,
                  const program::Program &program)
      : call(instruction.library()), op(kernels::findLibraryOp(call.op())),
        operands(operandsOf(instruction, program)) {
    for (const InstructionOperand &operand : operands)
      touched.push_back(touchedBytes(operand, role, program));
  }

  std::vector<KernelLaunch> make(const GpuArchitecture &architecture) {
    kernels::CudaRequest request{
        std::span(call.integers().data(), size_t(call.integers_size())),
        std::span(call.floats().data(), size_t(call.floats_size())),
        size_t(call.buffers_size()), size_t(call.scalars_size())};
    if (!op || kernels::makeCudaCall(*op, request, made))
      return {}; // The program would not have passed.
    const auto &launches =
        made.launchesOn(architecture.major, architecture.minor);
    std::vector<KernelLaunch> result;
    for (const kernels::CudaLaunch &launch : launches)
      result.push_back(makeLaunch(launch, launches.size()));
    return result;
  }

private:
  /// "hocket_rope_bf16_true_e8f..." is a call of `rope`.
  static std::string functionOf(const std::string &symbol) {
    constexpr size_t prefix = std::string_view("hocket_").size();
    return symbol.substr(prefix, symbol.find('_', prefix) - prefix);
  }

  KernelLaunch makeLaunch(const kernels::CudaLaunch &from, size_t count) {
    std::string function = functionOf(from.symbol);
    KernelLaunch launch;
    launch.name = count > 1 ? call.op() + ": " + function : call.op();
    launch.symbol = from.symbol;
    launch.blocks = double(from.grid[0]) * from.grid[1] * from.grid[2];
    launch.threads = from.threads;
    launch.sharedBytes = from.sharedBytes;
    addBuffers(from, function, launch);
    addWork(function, launch);
    return launch;
  }

  void addBuffers(const kernels::CudaLaunch &from, const std::string &function,
                  KernelLaunch &launch) {
    std::set<uint32_t> buffers;
    bool hasWorkspace = false;
    for (const kernels::CudaArgument &argument : from.arguments) {
      hasWorkspace |= argument.kind == kernels::CudaArgument::Kind::Workspace;
      if (argument.kind == kernels::CudaArgument::Kind::Buffer)
        buffers.insert(argument.index);
    }
    for (const kernels::CudaTensor &tensor : from.tensors)
      buffers.insert(tensor.buffer);
    double threads = std::max(1.0, launch.blocks * launch.threads);
    for (uint32_t buffer : buffers) {
      bool isRead = operands[buffer].access == OperandAccess::Read;
      double bytes = isRead ? std::min(touched[buffer], gathered(function))
                            : touched[buffer];
      launch.bytes += bytes;
      if (isRead) {
        launch.readBytes += bytes;
        launch.threadBytes +=
            std::min(askedBytes(bytes / threads), vectorOf(function));
      }
    }
    if (hasWorkspace && !function.ends_with("JointGradient"))
      launch.bytes += double(made.workspaceBytes);
    if (function == "crossEntropyJoint") {
      double again = touched[0] - launch.blocks * launch.sharedBytes;
      launch.bytes += std::max(0.0, again);
      launch.readBytes += std::max(0.0, again);
    }
  }

  /// What a kernel that looks up single elements or rows reads at most of one
  /// buffer; any other reads all of it.
  double gathered(const std::string &function) const {
    if (function == "meanLossOf") // An element of a row.
      return 4 * double(call.integers(1));
    if (function == "embedding") // A row for each token.
      return double(call.integers(2)) * double(call.integers(4)) *
             double(dataTypeBytes(program::DType(call.integers(0))));
    return double(UINT64_MAX);
  }

  /// What a thread asks for at a time, where that is one element.
  static double vectorOf(const std::string &function) {
    for (const char *single :
         {"meanLossOf", "meanLoss", "countLabels", "logSumExp"})
      if (function == single)
        return 4;
    return double(UINT64_MAX);
  }

  /// GEMMs: attention's, and those of experts; and scans.
  void addWork(const std::string &function, KernelLaunch &launch) const {
    if (std::optional<AttentionSizes> sizes = attentionSizesOf(call))
      addAttention(function, *sizes, launch);
    if (function == "stateScan" || function == "stateForward" ||
        function == "cachedScan")
      launch.flops = scannedStates(call) * kScanFlops;
    if (function == "stateBack")
      launch.flops = scannedStates(call) * kScanBackFlops;
    bool isGemm = function.ends_with("roupedLinear") ||
                  function.ends_with("roupedWeightGradient");
    if (!isGemm)
      return;
    // Of the rows that are expected; a tile of rows of no expert is cleared.
    launch.flops = 2 * double(call.integers(7)) * double(call.integers(2)) *
                   double(call.integers(3));
    launch.tensorCores = call.integers(0) != program::F32;
    launch.threadBytes = 0;
  }

  /// Sums of a joint gradient that are not in shared memory, written and read
  /// as often as a later tile of keys adds to them. Most of it stays in the
  /// GPU's second cache; priced as if nothing did.
  static double sumBytes(const AttentionSizes &sizes) {
    auto pairs = static_cast<int>((sizes.queries + cuda::kHopperRows - 1) /
                                  cuda::kHopperRows);
    double apart = pairs - cuda::jointHeldPairs(pairs);
    double times = apart * (apart - 1) / 2;
    return sizes.sequences * sizes.heads * times * 2 * 4 * cuda::kJointSums;
  }

  /// Backward computes the scores twice, once for each of its kernels: three
  /// GEMMs by queries, four by keys; five where one kernel has both.
  static void addAttention(const std::string &function,
                           const AttentionSizes &sizes, KernelLaunch &launch) {
    bool byQueries = function.ends_with("QueryGradient");
    bool byKeys = function.ends_with("KeyGradient");
    bool isJoint = function.ends_with("JointGradient");
    if (sizes.backward && !byQueries && !byKeys && !isJoint)
      return; // What only reads and writes.
    double gemms = byQueries ? 3 : byKeys ? 4 : isJoint ? 5 : 2;
    launch.flops = sizes.forwardFlops() * gemms / 2;
    launch.tensorCores = sizes.elementBytes < 4;
    launch.threadBytes = 0;
    if (launch.tensorCores)
      launch.attention = AttentionPart{sizes, sizes.backward ? gemms / 7 : 1};
    if (isJoint) {
      launch.attention->wholeHeads = sizes.sequences * sizes.heads;
      launch.bytes += sumBytes(sizes);
    }
  }

  const program::Library &call;
  const kernels::LibraryOp *op;
  std::vector<InstructionOperand> operands;
  std::vector<double> touched; ///< Bytes by operand.
  kernels::CudaCall made;
};

} // namespace

std::vector<KernelLaunch>
hocket::launchesOf(const Instruction &instruction, const program::Role &role,
                   const program::Program &program,
                   const GpuArchitecture &architecture) {
  switch (instruction.kind_case()) {
  case Instruction::kLaunch:
    return {generatedLaunch(instruction, role, program)};
  case Instruction::kGemm:
    return {gemmLaunch(instruction, role, program)};
  case Instruction::kLibrary:
    return LibraryLaunches(instruction, role, program).make(architecture);
  case Instruction::kCopy:
  case Instruction::kFill: {
    KernelLaunch launch;
    launch.name = instruction.has_copy() ? "copy" : "fill";
    addOperands(instruction, role, program, launch);
    return {launch};
  }
  default:
    return {};
  }
}
