//===- LinkRerun.h - Steps that have room for all rows ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where ranks share out experts that drop nothing, a program has room for a
/// bound of rows. What a step does beyond it may be the same model's other
/// program, which has room for all that tokens can choose. The two hold the
/// same state, and variables stand first in an arena, so that they share one:
/// linked, they are one program, each part with entries of its own.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_LINKRERUN_H
#define HOCKET_COMPILER_DRIVER_LINKRERUN_H

#include "base/Status.h"
#include "runtime/program/program.pb.h"

namespace hocket {

/// Adds to `program` what `other`, a program of the same model on the same
/// mesh, trains and evaluates by, as the entries rerunEntryName() of theirs:
/// their sequences, and the kernels, buffers, groups and reasons that these
/// name. Arena, streams, events and scratch become those of the greater.
/// Internal where the two do not hold the same state in the same places.
Status linkRerun(program::Program &program, const program::Program &other);

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_LINKRERUN_H
