//===- IssueOrder.h - May all be one after the other? -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_CERTIFICATE_ISSUEORDER_H
#define HOCKET_RUNTIME_PROGRAM_CERTIFICATE_ISSUEORDER_H

#include "runtime/program/program.pb.h"

namespace hocket {

/// Whether every entry ends even if each rank does one instruction after the
/// other, in the order in which it issues them, whatever their streams. Then
/// that order is the same for all who meet, and a library may hold its
/// operations to it. Where it is not, doing so would make ranks wait for each
/// other for ever. Wants a program that passed checkProgram().
bool endsInIssueOrder(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_CERTIFICATE_ISSUEORDER_H
