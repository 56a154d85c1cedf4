//===- SpanNames.cpp - What instructions and streams are called -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/SpanNames.h"

#include "base/AxisKind.h"
#include "runtime/program/InstructionOperands.h"

#include <algorithm>
#include <optional>
#include <sstream>

using namespace hocket;
using program::Instruction;

/// "layers.3.layer.mlp.up.1" -> "layers.3.mlp.up": a layer's function is called
/// `layer`, and of several values of an op all but the first have a number.
static std::string normalPath(const std::string &name) {
  std::vector<std::string> words;
  std::istringstream stream(name);
  for (std::string word; std::getline(stream, word, '.');)
    words.push_back(word);
  auto isNumber = [](const std::string &word) {
    return !word.empty() &&
           word.find_first_not_of("0123456789") == std::string::npos;
  };
  if (words.size() > 1 && isNumber(words.back()) &&
      words[words.size() - 2] != "layers")
    words.pop_back();
  std::string path;
  for (size_t i = 0; i < words.size(); ++i) {
    bool isFunction = words[i] == "layer" && i > 0 && isNumber(words[i - 1]);
    if (!isFunction)
      path += (path.empty() ? "" : ".") + words[i];
  }
  return path;
}

/// The buffer whose value an instruction makes.
static std::optional<uint32_t> madeBy(const Instruction &instruction,
                                      const program::Program &program) {
  if (instruction.has_collective()) {
    const program::Collective &call = instruction.collective();
    // A bucket is of many.
    return call.others().empty() ? std::optional(call.to()) : std::nullopt;
  }
  if (instruction.has_transfer() || instruction.has_host())
    return std::nullopt;
  if (instruction.has_gemm())
    return instruction.gemm().d();
  for (const InstructionOperand &operand : operandsOf(instruction, program))
    if (operand.access != OperandAccess::Read &&
        operand.access != OperandAccess::Unknown)
      return operand.buffer;
  return std::nullopt;
}

std::string hocket::layerPath(const Instruction &instruction,
                              const program::Role &role,
                              const program::Program &program) {
  // What belongs to no layer has the model's name.
  const std::string &model = program.model().name();
  auto known = [&](const std::string &name) {
    std::string path = normalPath(name);
    bool isNone = path == model || path.starts_with(model + ".") ||
                  path.ends_with(".receive");
    return isNone ? std::string() : path;
  };
  if (auto buffer = madeBy(instruction, program))
    if (std::string path = known(role.buffers(int(*buffer)).name());
        !path.empty())
      return path;
  const std::string &source = instruction.source();
  size_t space = source.find(' ');
  return space == std::string::npos || instruction.has_transfer() ||
                 instruction.has_host()
             ? ""
             : known(source.substr(space + 1));
}

static const char *directionOf(const program::Transfer &transfer) {
  bool sends = false, receives = false;
  for (const auto &part : transfer.parts())
    (part.send() ? sends : receives) = true;
  return sends && receives ? "send and receive" : sends ? "send" : "receive";
}

std::string hocket::actionName(const Instruction &instruction,
                               const program::Program &program) {
  auto group = [&](uint32_t index) {
    return program.groups(int(index)).name();
  };
  switch (instruction.kind_case()) {
  case Instruction::kLaunch:
    return program.kernels(int(instruction.launch().kernel())).name();
  case Instruction::kGemm:
    return "gemm";
  case Instruction::kLibrary:
    return instruction.library().op();
  case Instruction::kCopy:
    return "copy";
  case Instruction::kFill:
    return "fill";
  case Instruction::kHost:
    return (instruction.host().direction() == program::Host::INPUT
                ? "input "
                : "output ") +
           instruction.host().name();
  case Instruction::kCollective:
    return instruction.collective().op() + " " +
           group(instruction.collective().group());
  case Instruction::kTransfer:
    return std::string(directionOf(instruction.transfer())) + " " +
           group(instruction.transfer().group());
  case Instruction::kRecord:
    return "record event";
  case Instruction::kWait:
    return "wait for event";
  case Instruction::KIND_NOT_SET:
    return "nothing";
  }
  return "nothing";
}

std::string hocket::spanName(const Instruction &instruction,
                             const program::Role &role,
                             const program::Program &program) {
  std::string path = layerPath(instruction, role, program);
  std::string action = actionName(instruction, program);
  return path.empty() ? action : path + " " + action;
}

/// What an instruction's stream carries because of it; empty for nothing.
static std::string cargoOf(const Instruction &instruction,
                           const program::Program &program) {
  if (instruction.has_transfer()) {
    const program::Transfer &transfer = instruction.transfer();
    return std::string(directionOf(transfer)) + " (" +
           program.groups(int(transfer.group())).name() + ")";
  }
  if (!instruction.has_collective())
    return instruction.has_record() || instruction.has_wait() ? "" : "compute";
  const program::Collective &call = instruction.collective();
  const std::string &group = program.groups(int(call.group())).name();
  // What lies along the data axis are parameters and their gradients.
  if (!liesAlong(group, AxisKind::Data))
    return group;
  bool sums = call.op() == "all_reduce" || call.op() == "reduce_scatter";
  return (sums                        ? "gradients ("
          : call.op() == "all_gather" ? "parameters ("
                                      : call.op() + " (") +
         group + ")";
}

std::vector<std::string> hocket::streamNames(const program::Program &program,
                                             const program::Role &role) {
  std::vector<std::vector<std::string>> cargo(std::max(1u, role.streams()));
  cargo[0] = {"compute"};
  for (const program::Sequence &sequence : role.sequences())
    for (const Instruction &instruction : sequence.instructions()) {
      std::string what = cargoOf(instruction, program);
      std::vector<std::string> &known = cargo[instruction.stream()];
      bool isNew = std::find(known.begin(), known.end(), what) == known.end();
      if (instruction.stream() > 0 && !what.empty() && isNew)
        known.push_back(std::move(what));
    }
  std::vector<std::string> names;
  for (size_t stream = 0; stream < cargo.size(); ++stream) {
    std::string name;
    for (const std::string &what : cargo[stream])
      name += (name.empty() ? "" : ", ") + what;
    names.push_back(name.empty() ? "stream " + std::to_string(stream) : name);
  }
  return names;
}
