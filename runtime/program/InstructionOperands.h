//===- InstructionOperands.h - What an instruction touches ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_INSTRUCTIONOPERANDS_H
#define HOCKET_RUNTIME_PROGRAM_INSTRUCTIONOPERANDS_H

#include "runtime/program/program.pb.h"

#include <string>
#include <vector>

namespace hocket {

/// How an instruction uses one buffer. `Unknown` may be any of the others.
enum class OperandAccess {
  Unknown,
  Read,
  Write,        ///< All of it, whatever was there.
  ReadWrite,    ///< Needs what was there.
  WriteThenAdd, ///< Write in its sequence's first run, later ReadWrite.
};

struct InstructionOperand {
  uint32_t buffer;
  OperandAccess access;
};

/// The buffers of `instruction`, in the order of its fields. A launch of a
/// kernel that does not exist has only Unknown operands.
std::vector<InstructionOperand>
operandsOf(const program::Instruction &instruction,
           const program::Program &program);

/// One line for people: "gemm d=7 a=3 b=4 [512x768x768]".
std::string instructionText(const program::Instruction &instruction,
                            const program::Program &program);

/// Multiplications and additions of an instruction: 2 m n k of a GEMM, what a
/// kernel says of itself, 0 for anything else.
double instructionFlops(const program::Instruction &instruction,
                        const program::Program &program);

/// Whether every member of a collective sends to every other.
bool sendsToAll(const program::Collective &collective);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_INSTRUCTIONOPERANDS_H
