//===- CheckWriters.cpp - Checks of which value an operand holds ---------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an entry runs without data (CheckEntries.cpp) has values of some
/// instruction everywhere. Here they are those of the instruction that was
/// meant: two updates in place that change places, or an operand that becomes
/// another buffer, are found although every read finds something.
///
//===----------------------------------------------------------------------===//

#include "base/Format.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/InstructionOperands.h"
#include "runtime/program/ValueWriters.h"

using namespace hocket;

/// "instruction 3", counted through all sequences from 0 as lifetimes are.
static std::string writerText(uint32_t writer) {
  return writer
             ? formatText("what instruction %u of the role wrote", writer - 1)
             : "what no instruction before it wrote";
}

void hocket::checkWriters(const program::Program &program, int role,
                          FaultList &faults) {
  ValueWriters writers(program, program.roles(role));
  forEachInstruction(
      program, role, faults,
      [&](const ProgramPlace &place, const program::Instruction &instruction) {
        std::vector<uint32_t> found = writers.next(instruction);
        if (size_t(instruction.writers_size()) != found.size())
          return faults.add(
              ProgramRule::Writers, place.text(),
              formatText("says which value it finds in %d operands, it has %zu",
                         instruction.writers_size(), found.size()));
        for (size_t i = 0; i < found.size(); ++i)
          if (uint32_t stated = instruction.writers(int(i));
              stated != found[i]) {
            uint32_t buffer = operandsOf(instruction, program)[i].buffer;
            return faults.add(
                ProgramRule::Writers, place.text(),
                formatText(
                    "wants in buffer %u '%s' ", buffer,
                    program.roles(role).buffers(int(buffer)).name().c_str()) +
                    writerText(stated) + ", which holds " +
                    writerText(found[i]));
          }
      });
}
