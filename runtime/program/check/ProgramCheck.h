//===- ProgramCheck.h - Is this program sound? ------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds everything that is wrong with an executable, from the file alone; it
/// shares no code with the compiler. A program without a fault can be run
/// without any further check of an index, an offset or a size:
///
///  1. every index names something that exists;
///  2. every buffer is aligned, non-empty, large enough for its shape and
///     inside the arena; `arena_bytes` holds them all;
///  3. two buffers share bytes only if they live at different times, counted
///     in instructions through all sequences; a persistent buffer always
///     lives. Every use lies within the lifetime;
///  4. no instruction reads a buffer that nothing has written, or that another
///     buffer has overwritten since, in any entry, followed run by run; a
///     persistent buffer counts as written;
///  5. operands are as large as the instruction needs (kernels by their buffer
///     count, GEMMs by m, n, k, library ops by kernels/library/Library.h);
///  6. the slices of every parameter state cover its global shape exactly
///     once, and one rank of those that hold a slice saves it;
///  7. numbers of the step (batch sizes, schedule) are consistent, and peaks
///     are what the buffers need;
///  8. all ranks and streams together end every entry, with the same result
///     whatever their speeds: the certificate (certificate/Certificate.h).
///
/// Native code is trusted: a kernel's image can do what the process can.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_CHECK_PROGRAMCHECK_H
#define HOCKET_RUNTIME_PROGRAM_CHECK_PROGRAMCHECK_H

#include "base/Status.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/program.pb.h"

#include <string>
#include <vector>

namespace hocket {

/// The reasons why `program` is unsound, at most `limit`; none if it is sound.
std::vector<ProgramFault> findProgramFaults(const program::Program &program,
                                            size_t limit = 100);

/// DataLoss with the first reason, if there is one.
Status checkProgram(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_CHECK_PROGRAMCHECK_H
