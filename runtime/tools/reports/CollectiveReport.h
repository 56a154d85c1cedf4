//===- CollectiveReport.h - What ranks exchange, and why --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_REPORTS_COLLECTIVEREPORT_H
#define HOCKET_RUNTIME_TOOLS_REPORTS_COLLECTIVEREPORT_H

#include "runtime/program/program.pb.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace hocket {

/// Where an instruction stands.
struct InstructionPosition {
  uint32_t role = 0, sequence = 0, instruction = 0;
};

/// Collectives that are alike: of one kind and group, as large, for one reason.
struct CollectiveUse {
  std::string op, group;               ///< "all_gather", "tp"
  uint32_t ranks = 0;                  ///< of the group
  uint32_t why = 0;                    ///< as Instruction.why
  uint64_t fromBytes = 0, toBytes = 0; ///< of one rank
  double sentBytes = 0;                ///< by one rank, by the ring algorithm
  uint32_t parts = 1;                  ///< more than one in a bucket
  /// Of a bucket: what its parts are called, of any layer, each once.
  std::vector<std::string> tensors;
  uint64_t perStep = 0; ///< times, on one rank of each role, in "train_step"
  std::vector<InstructionPosition> places;
};

/// `layers.17.x` as `layers.*.x`, as the compiler names what layers share.
std::string nameOfAnyLayer(const std::string &name);

/// All of a program, in its order. The program passed checkProgram().
std::vector<CollectiveUse> collectiveUses(const program::Program &program);

/// A text of Program.explanation; "" for 0, and for one that is not there.
std::string explanationText(const program::Program &program, uint32_t index);

/// "role0/forward_0:12".
std::string positionText(const program::Program &program,
                         InstructionPosition place);

/// Whether `name` is "forward_0:12" or "role0/forward_0:12" of `places`.
bool isPlaceOf(const program::Program &program,
               const std::vector<InstructionPosition> &places,
               const std::string &name);

/// positionText() of each.
nlohmann::ordered_json
placesJson(const program::Program &program,
           const std::vector<InstructionPosition> &places);

/// How often a step ("train_step") runs each sequence.
std::vector<uint64_t> runsInStep(const program::Role &role);

/// One object a use; exact numbers.
nlohmann::ordered_json collectivesJson(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_REPORTS_COLLECTIVEREPORT_H
