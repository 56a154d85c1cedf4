//===- IssueOrder.h - May a GPU do one message after the other? -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What streams of a device communicate is many operations of several
/// communicators, each of which holds some of the device until its peers have
/// come to it. Two ranks whose devices have no room for all that may be under
/// way, and which begin with different ones, wait for each other for ever. Two
/// things keep them from it, each by itself:
///
///   - every device does its operations one after the other in an order of
///   which
///     it is known that all ranks end (endsInIssueOrder()), or
///   - every device has room for all that may be under way at once
///     (streamsThatCommunicate()): then nothing waits but for what the program
///     says, of which V54 shows that it ends.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_CERTIFICATE_ISSUEORDER_H
#define HOCKET_RUNTIME_PROGRAM_CERTIFICATE_ISSUEORDER_H

#include "runtime/program/program.pb.h"

namespace hocket {

/// Whether every entry ends even if each rank does all that it communicates one
/// after the other, in the order in which it issues it, whatever the streams.
/// Then that order fits all who meet, and a library may hold its operations to
/// it. Where it does not, doing so would make ranks wait for each other for
/// ever. Wants a program that passed checkProgram().
bool endsInIssueOrder(const program::Program &program);

/// The most operations that are under way on a device at once: one of each
/// stream of a role that communicates.
unsigned streamsThatCommunicate(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_CERTIFICATE_ISSUEORDER_H
