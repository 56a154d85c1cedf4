//===- ProgramRules.h - What a sound executable obeys -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The constraints V1, V2, ... of docs/spec.md: what findProgramFaults()
/// checks, and what to do about a program that does not obey.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_PROGRAMRULES_H
#define HOCKET_RUNTIME_PROGRAM_PROGRAMRULES_H

#include <cstdint>
#include <span>
#include <string>

namespace hocket {

/// The value is the constraint's number.
enum class ProgramRule : unsigned {
  // Tables
  Ranks = 1,
  Training = 2,
  Parameters = 3,
  Kernels = 4,
  Groups = 5,
  GroupNames = 6,
  Explanation = 7,
  KernelSpaces = 8,
  NativeObjects = 9,
  // Memory
  Buffers = 10,
  Lifetimes = 11,
  Peak = 12,
  // Instructions
  Names = 20,
  Operands = 21,
  CollectiveSizes = 22,
  TransferParts = 23,
  Inputs = 24,
  Batch = 25,
  Vocabulary = 26,
  // Entries
  Entries = 30,
  ReadsWritten = 31,
  SumsSetOnce = 32,
  Writers = 33,
  AllRun = 34,
  // Parameters over ranks
  Slices = 40,
  Cover = 41,
  Replicas = 42,
  // The certificate: all ranks and streams together
  Matched = 50,
  MatchedSize = 51,
  MatchedOrder = 52,
  CollectiveOrder = 53,
  Progress = 54,
  EventRecorded = 55,
  Race = 56,
  MatchedMicrobatch = 57,
};

struct ProgramRuleText {
  ProgramRule rule;
  const char *text;   ///< The constraint, as in docs/spec.md.
  const char *advice; ///< What to do, as the rest of a message.
};

/// All of them, ascending.
std::span<const ProgramRuleText> programRules();

/// The row of one.
const ProgramRuleText &textOf(ProgramRule rule);

/// One reason why a program is unsound.
struct ProgramFault {
  ProgramRule rule;  ///< That it does not obey.
  std::string place; ///< Ranks, role, sequence, instruction; may be empty.
  std::string what;  ///< What was found, and what was expected.

  /// "V56: rank 3, role 1 'role1', ...: what; what to do".
  std::string text() const;
};

/// Of the format, and of every Program that is written.
inline constexpr uint32_t programVersion = 2;

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_PROGRAMRULES_H
