//===- StreamOracle.h - Races, found by brute force -------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_CERTIFICATE_STREAMORACLE_H
#define HOCKET_TEST_CERTIFICATE_STREAMORACLE_H

#include "runtime/program/program.pb.h"

namespace hocket::test {

/// What is wrong with the streams of a role.
struct StreamFaults {
  bool race = false;       ///< Two instructions meet in a byte, unordered.
  bool unrecorded = false; ///< A wait for an event that nothing recorded.
  bool any() const { return race || unrecorded; }
};

/// The transitive closure of all orders between instructions of each entry,
/// and every pair of instructions of different streams against it. Shares
/// nothing with the checker but what an instruction reads and writes.
StreamFaults streamFaults(const program::Program &program, int role);

} // namespace hocket::test

#endif // HOCKET_TEST_CERTIFICATE_STREAMORACLE_H
