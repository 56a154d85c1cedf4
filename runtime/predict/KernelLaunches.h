//===- KernelLaunches.h - What an instruction starts on a GPU ---*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernels of an instruction, counted from the program alone: blocks and
/// threads as they will be launched, what they compute and move, and how much
/// of it a thread asks for before it waits.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_KERNELLAUNCHES_H
#define HOCKET_RUNTIME_PREDICT_KERNELLAUNCHES_H

#include "runtime/predict/AttentionSizes.h"
#include "runtime/program/program.pb.h"

#include <optional>
#include <string>
#include <vector>

namespace hocket {

/// The architecture that a GPU's code is for: "sm_90a" is 9 and 0.
struct GpuArchitecture {
  std::string name;
  int major = 0, minor = 0;

  explicit GpuArchitecture(const std::string &name);
};

/// A GEMM, of which only cuBLASLt knows the kernel.
struct GemmSizes {
  double m = 0, n = 0, k = 0;
  program::DType type = program::BF16; ///< Of its operands.
};

/// A kernel that does a share of attention's forward or backward pass.
struct AttentionPart {
  AttentionSizes sizes;
  double share = 1;
  /// Heads that blocks take whole, by turns; 0: a block has its own work.
  double wholeHeads = 0;
};

struct KernelLaunch {
  std::string name;   ///< For people: "adamw_1x768_f32", "attention_forward".
  std::string symbol; ///< Of its machine code, if it is Hocket's.
  double blocks = 0, threads = 0; ///< 0: chosen by others.
  double sharedBytes = 0;         ///< Dynamic, of a block.
  double flops = 0;
  bool tensorCores = false; ///< That compute them.
  double bytes = 0;         ///< Read and written.
  double readBytes = 0;
  /// Of a GEMM: those of `bytes` that its epilogue moves beside the result, and
  /// those of an operand that it sums for a bias gradient.
  double epilogueBytes = 0, summedBytes = 0;
  /// Bytes that a thread asks for before it waits for the first of them; 0: not
  /// told, as where copies run beside what is computed.
  double threadBytes = 0;
  std::optional<GemmSizes> gemm;
  std::optional<AttentionPart> attention;
};

/// Of an instruction that computes, copies or fills; none for any other. The
/// program passed checkProgram() and is for GPUs.
std::vector<KernelLaunch> launchesOf(const program::Instruction &instruction,
                                     const program::Role &role,
                                     const program::Program &program,
                                     const GpuArchitecture &architecture);

/// Bytes that a thread asks for of one input, of which it reads `bytes`.
/// Kernels hold up to four vectors of 16 bytes
/// (compiler/targets/cuda/KernelGeometry.cpp); one that reads more goes around
/// a loop and has two vectors of it under way.
double askedBytes(double bytes);

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_KERNELLAUNCHES_H
