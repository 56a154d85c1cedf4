//===- NcclMemory.h - What NCCL takes of a GPU's memory ---------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// An estimate, as NCCL's buffers are its own affair and depend on how GPUs are
/// linked. Counted are those of GPUs of one machine, for each channel (a block
/// of threads) and each peer: 10 MiB for what comes from it (a ring of 4 MiB,
/// NCCL_BUFFSIZE, and those of two protocols for short messages), 2 MiB for
/// what goes to it. These are the allocations of NCCL 2.2x on H100 that issue
/// 1685 of github.com/NVIDIA/nccl counts, with 32 channels between two GPUs.
///
/// Not counted: what a communicator takes whatever it does, trees and NVLink's
/// own sums, buffers of the network, CUDA's code.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_NCCLMEMORY_H
#define HOCKET_RUNTIME_PROGRAM_NCCLMEMORY_H

#include "runtime/program/program.pb.h"

namespace hocket {

/// NCCL's channels between two GPUs of a machine, unless it is told otherwise.
inline constexpr unsigned ncclChannels = 32;

/// Bytes on the GPU of a rank of `role`: a ring for each group and stream with
/// collectives, everybody where all send to all, and for each tag the ranks to
/// and from which there are messages. Wants a program that passed
/// checkProgram().
uint64_t estimateNcclBytes(const program::Program &program,
                           const program::Role &role,
                           unsigned channels = ncclChannels);

/// Of the role that takes most.
uint64_t estimateNcclBytes(const program::Program &program);

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_NCCLMEMORY_H
