//===- Damage.h - Sound programs, made unsound ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_CERTIFICATE_DAMAGE_H
#define HOCKET_TEST_CERTIFICATE_DAMAGE_H

#include "runtime/program/ProgramRules.h"
#include "runtime/program/program.pb.h"

#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>

namespace hocket::test {

using Random = std::mt19937_64;

/// A change, done to a program.
struct Damage {
  std::string what;            ///< For people.
  std::set<ProgramRule> rules; ///< One of them must be found.
  /// What the finding must name: "rank 3" or "role 2"; empty: nothing.
  std::string place;
};

/// Does one kind of damage somewhere in `program`, or nothing if there is no
/// place for it, or if it would do no harm.
using Damager = std::optional<Damage> (*)(program::Program &program,
                                          Random &random);

struct DamageKind {
  const char *name;
  Damager damage;
};

/// Transfers, collectives, events and streams.
std::span<const DamageKind> communicationDamages();
/// Buffers, slices, groups, entries and what the certificate states.
std::span<const DamageKind> tableDamages();

//===----------------------------------------------------------------------===//
// Tools of both
//===----------------------------------------------------------------------===//

/// An index below `size`, which is positive.
inline size_t draw(Random &random, size_t size) { return random() % size; }

/// How messages name a role.
inline std::string roleText(const program::Program &program, int role) {
  return "role " + std::to_string(role) + " '" + program.roles(role).name() +
         "'";
}

/// An instruction of a role.
struct Spot {
  int role = 0, sequence = 0, instruction = 0;
  program::Instruction &in(program::Program &program) const {
    return *program.mutable_roles(role)
                ->mutable_sequences(sequence)
                ->mutable_instructions(instruction);
  }
};

/// Some instruction of those that `wanted` accepts and that an entry runs.
std::optional<Spot> drawSpot(const program::Program &program, Random &random,
                             bool (*wanted)(const program::Program &,
                                            const program::Instruction &));

/// Gives one rank a role of its own, equal to the one it had; returns the role.
int splitRank(program::Program &program, uint32_t rank);

/// Makes an instruction one that does nothing that matters.
void neutralize(program::Program &program, const Spot &spot);

/// A new buffer of one dim, always live, which the program accounts for.
uint32_t addBuffer(program::Program &program, int role, program::DType dtype,
                   uint64_t elements);

} // namespace hocket::test

#endif // HOCKET_TEST_CERTIFICATE_DAMAGE_H
