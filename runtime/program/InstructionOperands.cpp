//===- InstructionOperands.cpp - What an instruction touches --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/InstructionOperands.h"

#include "base/Format.h"
#include "kernels/library/Library.h"

#include <algorithm>

using namespace hocket;
using program::Instruction;

using Operands = std::vector<InstructionOperand>;

static OperandAccess resultAccess(program::Accumulate accumulate) {
  switch (accumulate) {
  case program::ADD:
    return OperandAccess::ReadWrite;
  case program::ADD_UNLESS_FIRST_MICROBATCH:
    return OperandAccess::WriteThenAdd;
  default:
    return OperandAccess::Write;
  }
}

/// How a launch of a kernel that accumulates treats its results: as scalar 3
/// says.
static program::Accumulate accumulateOf(const program::Launch &launch) {
  constexpr int index = 3;
  if (launch.scalars_size() <= index)
    return program::ADD; // V21 refuses it.
  const program::Scalar &scalar = launch.scalars(index);
  if (scalar.step() == program::Scalar::NOT_FIRST_MICROBATCH)
    return program::ADD_UNLESS_FIRST_MICROBATCH;
  return scalar.has_constant() && scalar.constant() == 0 ? program::OVERWRITE
                                                         : program::ADD;
}

static OperandAccess kernelAccess(const program::Kernel *kernel,
                                  const program::Launch &launch, int index) {
  if (!kernel || index >= kernel->operands_size())
    return OperandAccess::Unknown;
  const program::Kernel::Operand &operand = kernel->operands(index);
  switch (operand.access()) {
  case program::READ:
    return OperandAccess::Read;
  case program::WRITE:
    return kernel->accumulates() && !operand.overwritten()
               ? resultAccess(accumulateOf(launch))
               : OperandAccess::Write;
  case program::READ_WRITE:
    return OperandAccess::ReadWrite;
  default:
    return OperandAccess::Unknown;
  }
}

static Operands launchOperands(const program::Launch &launch,
                               const program::Program &program) {
  const program::Kernel *kernel =
      launch.kernel() < uint32_t(program.kernels_size())
          ? &program.kernels(int(launch.kernel()))
          : nullptr;
  Operands operands;
  for (int i = 0; i < launch.buffers_size(); ++i)
    operands.push_back({launch.buffers(i), kernelAccess(kernel, launch, i)});
  return operands;
}

static Operands gemmOperands(const program::Gemm &gemm) {
  Operands operands = {{gemm.a(), OperandAccess::Read},
                       {gemm.b(), OperandAccess::Read},
                       {gemm.d(), resultAccess(gemm.accumulate())}};
  if (gemm.has_bias())
    operands.push_back({gemm.bias(), OperandAccess::Read});
  if (gemm.has_residual())
    operands.push_back({gemm.residual(), OperandAccess::Read});
  if (gemm.has_auxiliary())
    operands.push_back({gemm.auxiliary(), OperandAccess::Write});
  if (gemm.has_preactivation())
    operands.push_back({gemm.preactivation(), OperandAccess::Read});
  if (gemm.has_bias_gradient())
    operands.push_back({gemm.bias_gradient(), OperandAccess::Write});
  if (gemm.has_scale_a())
    operands.push_back({gemm.scale_a(), OperandAccess::Read});
  if (gemm.has_scale_b())
    operands.push_back({gemm.scale_b(), OperandAccess::Read});
  return operands;
}

static Operands libraryOperands(const program::Library &library) {
  const kernels::LibraryOp *op = kernels::findLibraryOp(library.op());
  Operands operands;
  for (int i = 0; i < library.buffers_size(); ++i) {
    OperandAccess access = OperandAccess::Unknown;
    if (op && (i >= 64 || !(op->writes >> i & 1)))
      access = OperandAccess::Read;
    else if (op)
      access = op->accumulates ? resultAccess(library.accumulate())
                               : OperandAccess::Write;
    operands.push_back({library.buffers(i), access});
  }
  return operands;
}

Operands hocket::operandsOf(const Instruction &instruction,
                            const program::Program &program) {
  Operands operands;
  switch (instruction.kind_case()) {
  case Instruction::kLaunch:
    return launchOperands(instruction.launch(), program);
  case Instruction::kGemm:
    return gemmOperands(instruction.gemm());
  case Instruction::kLibrary:
    return libraryOperands(instruction.library());
  case Instruction::kCopy:
    return {{instruction.copy().from(), OperandAccess::Read},
            {instruction.copy().to(), OperandAccess::Write}};
  case Instruction::kFill:
    return {{instruction.fill().buffer(), OperandAccess::Write}};
  case Instruction::kHost:
    return {{instruction.host().buffer(),
             instruction.host().direction() == program::Host::INPUT
                 ? OperandAccess::Write
                 : OperandAccess::Read}};
  case Instruction::kCollective:
    operands = {{instruction.collective().from(), OperandAccess::Read},
                {instruction.collective().to(), OperandAccess::Write}};
    for (const auto &part : instruction.collective().others()) {
      operands.push_back({part.from(), OperandAccess::Read});
      operands.push_back({part.to(), OperandAccess::Write});
    }
    if (instruction.collective().has_rows()) {
      const program::Collective::Rows &rows = instruction.collective().rows();
      operands.push_back({rows.ranges(), OperandAccess::Read});
      operands.push_back({rows.segments(), OperandAccess::Read});
    }
    return operands;
  case Instruction::kTransfer:
    for (const auto &part : instruction.transfer().parts())
      operands.push_back({part.buffer(), part.send() ? OperandAccess::Read
                                                     : OperandAccess::Write});
    return operands;
  case Instruction::kRecord:
  case Instruction::kWait:
  case Instruction::KIND_NOT_SET:
    return operands;
  }
  return operands;
}

static std::string gemmText(const program::Gemm &gemm) {
  std::string text =
      formatText("gemm %s%%%u = %%%u%s x %%%u%s [%llu x %llu x %llu]",
                 gemm.accumulate() == program::OVERWRITE ? "" : "+", gemm.d(),
                 gemm.a(), gemm.transpose_a() ? "^T" : "", gemm.b(),
                 gemm.transpose_b() ? "^T" : "", (unsigned long long)gemm.m(),
                 (unsigned long long)gemm.n(), (unsigned long long)gemm.k());
  if (gemm.has_bias())
    text += formatText(" bias %%%u", gemm.bias());
  if (!gemm.epilogue().empty())
    text += " " + gemm.epilogue();
  if (gemm.has_residual())
    text += formatText(" residual %%%u", gemm.residual());
  if (gemm.has_auxiliary())
    text += formatText(" auxiliary %%%u", gemm.auxiliary());
  if (gemm.has_preactivation())
    text += formatText(" preactivation %%%u", gemm.preactivation());
  if (gemm.has_bias_gradient())
    text += formatText(" bias gradient %%%u", gemm.bias_gradient());
  if (gemm.has_scale_a())
    text += formatText(" scale a %%%u", gemm.scale_a());
  if (gemm.has_scale_b())
    text += formatText(" scale b %%%u", gemm.scale_b());
  return text + (gemm.b_packed() ? " packed" : "");
}

/// "%1, %2, %3".
template <typename Range> static std::string bufferList(const Range &buffers) {
  std::string text;
  for (uint32_t buffer : buffers)
    text += formatText("%s%%%u", text.empty() ? "" : ", ", buffer);
  return text;
}

static std::string transferText(const program::Transfer &transfer) {
  std::string text = formatText("transfer in group %u", transfer.group());
  for (const auto &part : transfer.parts())
    text +=
        formatText(" %s %%%u %s %s%u tag %u", part.send() ? "send" : "receive",
                   part.buffer(), part.send() ? "to" : "from",
                   part.relative() ? "+" : "", part.peer(), part.tag());
  return text;
}

/// "%2 = %1", or "%1" if that is where the result goes.
static std::string partText(uint32_t to, uint32_t from) {
  return to == from ? formatText("%%%u", to)
                    : formatText("%%%u = %%%u", to, from);
}

static std::string collectiveText(const program::Collective &collective) {
  std::string text =
      collective.op() + " " + partText(collective.to(), collective.from());
  for (const auto &part : collective.others())
    text += ", " + partText(part.to(), part.from());
  if (collective.has_rows())
    text += formatText(" by %%%u, %%%u", collective.rows().ranges(),
                       collective.rows().segments());
  return text + formatText(" group %u", collective.group());
}

std::string hocket::instructionText(const Instruction &instruction,
                                    const program::Program &program) {
  switch (instruction.kind_case()) {
  case Instruction::kLaunch: {
    const program::Launch &launch = instruction.launch();
    std::string name = launch.kernel() < uint32_t(program.kernels_size())
                           ? program.kernels(int(launch.kernel())).name()
                           : "?";
    return "launch " + name + "(" + bufferList(launch.buffers()) + ")";
  }
  case Instruction::kGemm:
    return gemmText(instruction.gemm());
  case Instruction::kLibrary:
    return "library " + instruction.library().op() + "(" +
           bufferList(instruction.library().buffers()) + ")";
  case Instruction::kCopy:
    return formatText("copy %%%u = %%%u", instruction.copy().to(),
                      instruction.copy().from());
  case Instruction::kFill:
    return formatText("fill %%%u = 0x%02x", instruction.fill().buffer(),
                      instruction.fill().byte_value());
  case Instruction::kHost:
    return formatText(instruction.host().direction() == program::Host::INPUT
                          ? "host input %s -> %%%u"
                          : "host output %s <- %%%u",
                      instruction.host().name().c_str(),
                      instruction.host().buffer());
  case Instruction::kCollective:
    return collectiveText(instruction.collective());
  case Instruction::kTransfer:
    return transferText(instruction.transfer());
  case Instruction::kRecord:
    return formatText("record event %u", instruction.record().event());
  case Instruction::kWait:
    return formatText("wait event %u", instruction.wait().event());
  case Instruction::KIND_NOT_SET:
    return "nothing";
  }
  return "nothing";
}

bool hocket::sendsToAll(const program::Collective &collective) {
  return collective.op() == "all_to_all" || collective.has_rows();
}

double hocket::instructionFlops(const Instruction &instruction,
                                const program::Program &program) {
  if (instruction.has_gemm())
    return 2.0 * double(instruction.gemm().m()) *
           double(instruction.gemm().n()) * double(instruction.gemm().k());
  if (instruction.has_launch())
    return program.kernels(int(instruction.launch().kernel())).flops();
  return 0;
}
