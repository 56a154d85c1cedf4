//===- ClusterCosts.cpp - Instructions on a described cluster -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/predict/ClusterCosts.h"

#include "base/Format.h"
#include "runtime/predict/AttentionSizes.h"
#include "runtime/predict/ScanWork.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <cstdlib>

using namespace hocket;
using cluster::RankGroup;
using program::Instruction;

ClusterCosts::ClusterCosts(cluster::System described)
    : system(std::move(described)), wide(system, 32), narrow(system, 16),
      eight(system, 8) {}

const cluster::OpTimes &ClusterCosts::timesOf(program::DType type) const {
  switch (type) {
  case program::F32:
  case program::F64:
    return wide;
  case program::F8_E4M3:
  case program::F8_E5M2:
  case program::U8:
    return eight;
  default:
    return narrow;
  }
}

double ClusterCosts::gemm(const program::Gemm &gemm,
                          const program::Role &role) const {
  program::DType type = role.buffers(int(gemm.a())).dtype();
  return timesOf(type).gemm(
      {double(gemm.m()), double(gemm.n()), double(gemm.k()), 1});
}

/// Fused, or as two GEMMs and a softmax that reads and writes the scores,
/// as plans are priced where a system has no fused kernel.
InstructionTime ClusterCosts::attention(const program::Library &call) const {
  InstructionTime time;
  std::optional<AttentionSizes> sizes = attentionSizesOf(call);
  if (!sizes)
    return time;
  const cluster::Software &software = system.software();
  double again = sizes->backward ? software.attention_backward() : 1;
  if (software.attention() > 0) {
    time.attention = again * narrow.attention(sizes->forwardFlops(),
                                              sizes->span(), sizes->headDim);
    return time;
  }
  double heads = sizes->sequences * sizes->heads, span = sizes->span();
  double gemms = narrow.gemm16({sizes->queries, span, sizes->headDim, heads}) +
                 narrow.gemm16({sizes->queries, sizes->headDim, span, heads});
  double scores = sizes->elementBytes * heads * sizes->queries * span;
  time.attention = (sizes->backward ? 2 : 1) * gemms +
                   narrow.memory((sizes->backward ? 6.5 : 4.5) * scores);
  return time;
}

InstructionTime ClusterCosts::library(const program::Library &call,
                                      double memoryBytes) const {
  InstructionTime time = attention(call);
  if (time.attention > 0)
    return time;
  if (double flops = scanFlops(call); flops > 0) { // As plans are priced.
    time.attention = std::max(narrow.vector(flops), narrow.memory(memoryBytes));
    return time;
  }
  if (call.op().starts_with("grouped_linear") && call.integers_size() >= 8) {
    // The rows that are expected are shared evenly.
    double experts = std::max(1.0, double(call.integers(4)));
    const cluster::OpTimes &times = timesOf(program::DType(call.integers(0)));
    time.gemms = times.gemm16(
        {std::max(1.0, double(call.integers(7)) / experts),
         double(call.integers(2)), double(call.integers(3)), experts});
    return time;
  }
  time.memory = narrow.memory(memoryBytes);
  return time;
}

/// A list of ranks as so many, so far apart.
static RankGroup rankGroupOf(const program::Group::Members *members) {
  RankGroup group;
  if (!members || members->ranks_size() < 2)
    return group;
  group.size = members->ranks_size();
  group.stride = INT64_MAX;
  for (int i = 1; i < members->ranks_size(); ++i)
    group.stride = std::min(
        group.stride,
        std::max<int64_t>(1, std::abs(int64_t(members->ranks(i)) -
                                      int64_t(members->ranks(i - 1)))));
  return group;
}

double ClusterCosts::collective(const program::Collective &call,
                                const program::Role &role,
                                const program::Program &program) const {
  RankGroup group =
      rankGroupOf(membersOf(program, call.group(), role.ranks(0)));
  auto larger = [&](uint32_t from, uint32_t to) {
    return double(std::max(bufferBytes(role, from), bufferBytes(role, to)));
  };
  // What is chosen evenly: as much as the smaller end holds.
  if (call.has_rows())
    return narrow.dispatch(double(std::min(bufferBytes(role, call.from()),
                                           bufferBytes(role, call.to()))),
                           1, group);
  double bytes = larger(call.from(), call.to());
  for (const auto &part : call.others())
    bytes += larger(part.from(), part.to());
  if (call.op() == "all_reduce")
    return narrow.allReduce(bytes, group);
  // Each rank's rows go to all others, one copy each.
  if (call.op() == "all_to_all")
    return narrow.dispatch(bytes, 1, group);
  return narrow.allGather(bytes, group);
}

double ClusterCosts::transfer(const program::Transfer &transfer,
                              const program::Role &role,
                              const program::Program &program) const {
  double sent = 0, received = 0;
  for (const auto &part : transfer.parts())
    (part.send() ? sent : received) += double(bufferBytes(role, part.buffer()));
  return narrow.transfer(
      std::max(sent, received),
      rankGroupOf(membersOf(program, transfer.group(), role.ranks(0))));
}

InstructionTime ClusterCosts::timeOf(const Instruction &instruction,
                                     const program::Role &role,
                                     const program::Program &program) const {
  InstructionTime time;
  if (instruction.has_collective()) {
    time.message = collective(instruction.collective(), role, program);
    return time;
  }
  if (instruction.has_transfer()) {
    time.message = transfer(instruction.transfer(), role, program);
    return time;
  }
  if (instruction.has_record() || instruction.has_wait() ||
      instruction.has_host())
    return time;
  double bytes = workOf(instruction, role, program).memoryBytes;
  if (instruction.has_gemm())
    time.gemms = gemm(instruction.gemm(), role);
  else if (instruction.has_library())
    time = library(instruction.library(), bytes);
  else
    time.memory = narrow.memory(bytes);
  time.gap = system.software().kernel_seconds();
  return time;
}

double ClusterCosts::seconds(const Instruction &instruction,
                             const program::Role &role,
                             const program::Program &program) const {
  return timeOf(instruction, role, program).seconds();
}

double ClusterCosts::hostSeconds(const Instruction &instruction) const {
  if (instruction.has_record() || instruction.has_wait())
    return 0;
  bool isMessage = instruction.has_collective() || instruction.has_transfer();
  return isMessage ? system.software().host_collective_seconds()
                   : system.software().host_op_seconds();
}

double ClusterCosts::outsideSeconds() const {
  return system.software().step_seconds();
}

std::string ClusterCosts::description() const {
  return system.name() + (system.device().name().empty()
                              ? ""
                              : " (" + system.device().name() + ")");
}
