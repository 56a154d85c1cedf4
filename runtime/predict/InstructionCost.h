//===- InstructionCost.h - How long an instruction takes --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an instruction does, counted from the program alone, and a simple model
/// of a device that turns the counts into seconds. Another model is another
/// InstructionCosts.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_INSTRUCTIONCOST_H
#define HOCKET_RUNTIME_PREDICT_INSTRUCTIONCOST_H

#include "runtime/program/InstructionOperands.h"
#include "runtime/program/program.pb.h"

namespace hocket {

/// What one rank does in one instruction.
struct InstructionWork {
  double flops = 0;         ///< Multiplications and additions.
  double memoryBytes = 0;   ///< Of its operands: touchedBytes() of each.
  double sentBytes = 0;     ///< To other ranks.
  double receivedBytes = 0; ///< From other ranks.
  double messages = 0;      ///< One after another: what latency is paid for.
  bool farAway = false;     ///< Whether they go to another machine.
};

/// `program` passed checkProgram(); the instruction is `role`'s. Ranks are
/// numbered machine by machine, `ranksPerNode` of them on each (0: all on one).
///
/// With n members and N bytes of the larger buffers, a collective sends as its
/// ring algorithm does: (n - 1)/n N in n - 1 messages to gather, to scatter or
/// to exchange, twice that to all-reduce (Thakur et al., IJHPCA 2005).
InstructionWork workOf(const program::Instruction &instruction,
                       const program::Role &role,
                       const program::Program &program,
                       uint32_t ranksPerNode = 0);

/// Bytes of a buffer that one use touches.
uint64_t bufferBytes(const program::Role &role, uint32_t buffer);

/// Bytes that an instruction reads and writes of one operand: each element
/// once, twice where it is added to. On average over a step's microbatches, of
/// which the first may overwrite what the others add to.
double touchedBytes(const InstructionOperand &operand,
                    const program::Role &role, const program::Program &program);

/// How long the instructions of a program take.
class InstructionCosts {
public:
  virtual ~InstructionCosts() = default;
  /// Seconds from when every rank that takes part is there; finite, at least 0.
  virtual double seconds(const program::Instruction &instruction,
                         const program::Role &role,
                         const program::Program &program) const = 0;
  /// Seconds of the host to issue it, one after another through a run of a
  /// sequence, beside what the device does.
  virtual double hostSeconds(const program::Instruction &) const { return 0; }
  /// Seconds of a step that no instruction takes.
  virtual double outsideSeconds() const { return 0; }
  /// For people: what was assumed.
  virtual std::string description() const = 0;
};

/// A device of four numbers: an instruction takes the longest of what its
/// arithmetic and its memory take (the roofline), or a latency a message and
/// what the link takes, and always the overhead of starting it.
struct DeviceModel : InstructionCosts {
  double flopsPerSecond = 100e9;
  double memoryBytesPerSecond = 20e9;
  double linkBytesPerSecond = 10e9;    ///< Each way, within a machine.
  double networkBytesPerSecond = 10e9; ///< Each way, between machines.
  double messageSeconds = 5e-6;
  double launchSeconds = 1e-6;
  uint32_t ranksPerNode = 0; ///< 0: one machine.

  double seconds(const program::Instruction &instruction,
                 const program::Role &role,
                 const program::Program &program) const override;
  std::string description() const override;
};

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_INSTRUCTIONCOST_H
