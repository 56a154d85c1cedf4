//===- OwnTransfers.cpp - What a rank sends itself ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// Where a V turns, two stages of one rank follow each other. What the one sends
// and the other receives becomes one transfer, in the place of the receive:
// NCCL wants both ends of it in one call.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"

#include <deque>
#include <map>

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;
using Kind = FlatInstruction::Kind;

static bool isOwn(const FlatProgram &program,
                  const FlatInstruction &instruction, Kind kind) {
  return instruction.kind == kind &&
         instruction.links.front().rank == program.role.rank;
}

void hocket::kerntoexec::joinOwnTransfers(FlatProgram &program) {
  std::map<int64_t, std::deque<int>> sent; // By tag, in order.
  for (FlatSequence &sequence : program.sequences)
    llvm::erase_if(sequence.instructions, [&](FlatInstruction &instruction) {
      if (!isOwn(program, instruction, Kind::Send))
        return false;
      for (auto [buffer, link] :
           llvm::zip(instruction.inputs, instruction.links))
        sent[link.tag].push_back(buffer);
      return true;
    });
  for (FlatSequence &sequence : program.sequences)
    for (FlatInstruction &instruction : sequence.instructions)
      if (isOwn(program, instruction, Kind::Receive))
        for (const FlatLink &link : instruction.links)
          // Without a sender the certificate finds it.
          if (auto &line = sent[link.tag]; !line.empty()) {
            instruction.inputs.push_back(line.front());
            line.pop_front();
          }
}
