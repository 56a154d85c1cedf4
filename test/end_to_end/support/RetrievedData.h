//===- RetrievedData.h - Neighbours of the samples of a test ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_END_TO_END_SUPPORT_RETRIEVEDDATA_H
#define HOCKET_TEST_END_TO_END_SUPPORT_RETRIEVEDDATA_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"

#include <string>

namespace hocket::test {

/// Retrieves what `program` takes in for the samples of `prefix` that it trains
/// on, from their own token file: chunks are near if they count tokens alike.
Status retrieveFor(const program::Program &program, const std::string &prefix);

} // namespace hocket::test

#endif // HOCKET_TEST_END_TO_END_SUPPORT_RETRIEVEDDATA_H
