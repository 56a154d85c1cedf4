//===- ValueWriters.cpp - Which instruction wrote what -------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/ValueWriters.h"

#include "runtime/program/InstructionOperands.h"

using namespace hocket;

ValueWriters::ValueWriters(const program::Program &program,
                           const program::Role &role)
    : program(program), writers(size_t(role.buffers_size())) {}

std::vector<uint32_t>
ValueWriters::next(const program::Instruction &instruction) {
  ++position;
  std::vector<InstructionOperand> operands = operandsOf(instruction, program);
  std::vector<uint32_t> found;
  found.reserve(operands.size());
  for (const InstructionOperand &operand : operands)
    found.push_back(writers[operand.buffer]);
  for (const InstructionOperand &operand : operands)
    if (operand.access != OperandAccess::Read)
      writers[operand.buffer] = position;
  return found;
}

void hocket::stateWriters(const program::Program &program,
                          program::Role &role) {
  ValueWriters writers(program, role);
  for (program::Sequence &sequence : *role.mutable_sequences())
    for (program::Instruction &instruction : *sequence.mutable_instructions()) {
      std::vector<uint32_t> found = writers.next(instruction);
      *instruction.mutable_writers() = {found.begin(), found.end()};
    }
}
