//===- ValueWriters.h - Which instruction wrote what ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Buffers are written in place, again and again. What tells two values of one
/// buffer apart is the instruction that wrote them.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_VALUEWRITERS_H
#define HOCKET_RUNTIME_PROGRAM_VALUEWRITERS_H

#include "runtime/program/program.pb.h"

#include <vector>

namespace hocket {

/// Walks the instructions of a role in the order of the file.
class ValueWriters {
public:
  ValueWriters(const program::Program &program, const program::Role &role);

  /// For each operand of the next instruction (operandsOf()), the number of
  /// the instruction that wrote its buffer last, counted from 1 through all
  /// sequences; 0 for none. Buffers must exist.
  std::vector<uint32_t> next(const program::Instruction &instruction);

private:
  const program::Program &program;
  std::vector<uint32_t> writers; ///< By buffer.
  uint32_t position = 0;
};

/// Fills in Instruction.writers of a whole role, whose buffers and instructions
/// are there.
void stateWriters(const program::Program &program, program::Role &role);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_VALUEWRITERS_H
