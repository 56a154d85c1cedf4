//===- InstructionCost.cpp - How long an instruction takes ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/InstructionCost.h"

#include "base/Format.h"
#include "base/Quantity.h"
#include "runtime/predict/AttentionSizes.h"
#include "runtime/predict/ScanWork.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>

using namespace hocket;
using program::Instruction;

uint64_t hocket::bufferBytes(const program::Role &role, uint32_t buffer) {
  return role.buffers(int(buffer)).bytes();
}

double hocket::touchedBytes(const InstructionOperand &operand,
                            const program::Role &role,
                            const program::Program &program) {
  auto bytes = double(bufferBytes(role, operand.buffer));
  if (operand.access == OperandAccess::ReadWrite)
    return 2 * bytes;
  if (operand.access != OperandAccess::WriteThenAdd)
    return bytes;
  // Of a step's microbatches only the first does not read what was there.
  double microbatches =
      double(std::max<uint64_t>(1, program.training().microbatches()));
  return bytes * (2 - 1 / microbatches);
}

static double attentionFlops(const program::Library &call) {
  std::optional<AttentionSizes> sizes = attentionSizesOf(call);
  return sizes ? sizes->forwardFlops() * (sizes->backward ? 2.5 : 1) : 0;
}

/// A GEMM for every row that is expected.
static double expertFlops(const program::Library &call) {
  if (!call.op().starts_with("grouped_linear") || call.integers_size() < 8)
    return 0;
  return 2 * double(call.integers(7)) * double(call.integers(2)) *
         double(call.integers(3));
}

/// Whether a list of ranks spans machines.
static bool spansNodes(const program::Group::Members *members,
                       uint32_t ranksPerNode) {
  if (!members || ranksPerNode == 0)
    return false;
  return std::any_of(
      members->ranks().begin(), members->ranks().end(), [&](uint32_t rank) {
        return rank / ranksPerNode != members->ranks(0) / ranksPerNode;
      });
}

static void countCollective(const program::Collective &call,
                            const program::Role &role,
                            const program::Program &program,
                            uint32_t ranksPerNode, InstructionWork &work) {
  const auto *members = membersOf(program, call.group(), role.ranks(0));
  double ranks = members ? members->ranks_size() : 1;
  auto larger = [&](uint32_t from, uint32_t to) {
    return double(std::max(bufferBytes(role, from), bufferBytes(role, to)));
  };
  // Of rows those that are chosen evenly: as many as the smaller end holds.
  double bytes = call.has_rows()
                     ? double(std::min(bufferBytes(role, call.from()),
                                       bufferBytes(role, call.to())))
                     : larger(call.from(), call.to());
  for (const auto &part : call.others())
    bytes += larger(part.from(), part.to());
  double rounds = call.op() == "all_reduce" ? 2 : 1;
  work.messages = rounds * (ranks - 1);
  work.sentBytes = work.receivedBytes =
      call.op() == "broadcast" ? bytes : rounds * bytes * (ranks - 1) / ranks;
  work.farAway = spansNodes(members, ranksPerNode);
}

static void countTransfer(const program::Transfer &transfer,
                          const program::Role &role,
                          const program::Program &program,
                          uint32_t ranksPerNode, InstructionWork &work) {
  work.messages = 1;
  for (const auto &part : transfer.parts())
    (part.send() ? work.sentBytes : work.receivedBytes) +=
        double(bufferBytes(role, part.buffer()));
  work.farAway = spansNodes(membersOf(program, transfer.group(), role.ranks(0)),
                            ranksPerNode);
}

InstructionWork hocket::workOf(const Instruction &instruction,
                               const program::Role &role,
                               const program::Program &program,
                               uint32_t ranksPerNode) {
  InstructionWork work;
  if (instruction.has_collective()) {
    countCollective(instruction.collective(), role, program, ranksPerNode,
                    work);
    return work;
  }
  if (instruction.has_transfer()) {
    countTransfer(instruction.transfer(), role, program, ranksPerNode, work);
    return work;
  }
  work.flops = instructionFlops(instruction, program);
  if (instruction.has_library())
    work.flops = attentionFlops(instruction.library()) +
                 expertFlops(instruction.library()) +
                 scanFlops(instruction.library());
  for (const InstructionOperand &operand : operandsOf(instruction, program))
    work.memoryBytes += touchedBytes(operand, role, program);
  return work;
}

double DeviceModel::seconds(const Instruction &instruction,
                            const program::Role &role,
                            const program::Program &program) const {
  InstructionWork work = workOf(instruction, role, program, ranksPerNode);
  double link = work.farAway ? networkBytesPerSecond : linkBytesPerSecond;
  return launchSeconds + work.messages * messageSeconds +
         std::max(work.sentBytes, work.receivedBytes) / link +
         std::max(work.flops / flopsPerSecond,
                  work.memoryBytes / memoryBytesPerSecond);
}

std::string DeviceModel::description() const {
  std::string text =
      formatText("a device of %s and %s/s of memory, links of %s/s",
                 formatRate(flopsPerSecond, "FLOP/s").c_str(),
                 formatBytes(uint64_t(memoryBytesPerSecond)).c_str(),
                 formatBytes(uint64_t(linkBytesPerSecond)).c_str());
  if (ranksPerNode)
    text += formatText(" within machines of %s and %s/s between them",
                       formatNoun(ranksPerNode, "rank").c_str(),
                       formatBytes(uint64_t(networkBytesPerSecond)).c_str());
  return text + formatText(", %s a message, %s a start",
                           formatDuration(messageSeconds).c_str(),
                           formatDuration(launchSeconds).c_str());
}
