//===- ProgramBuilder.h - Executables written by hand -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds small programs for the runtime's tests, without the compiler.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_RUNTIME_PROGRAM_PROGRAMBUILDER_H
#define HOCKET_TEST_RUNTIME_PROGRAM_PROGRAMBUILDER_H

#include "runtime/program/program.pb.h"

#include <string>
#include <vector>

namespace hocket::test {

/// Places buffers one behind the other and fills in lifetimes.
class ProgramBuilder {
public:
  /// A program of one role on one rank, with plausible training numbers.
  ProgramBuilder();

  /// A buffer of its own bytes; returns its index.
  uint32_t buffer(const std::string &name, program::DType dtype,
                  const std::vector<uint64_t> &shape, bool persistent = false,
                  const std::string &kind = "activations");

  /// Gives a buffer, of at most 64 bytes, several copies.
  void slots(uint32_t buffer, uint32_t count);

  /// A parameter whose one slice is a new buffer; returns the buffer.
  uint32_t parameter(const std::string &name,
                     const std::vector<uint64_t> &shape,
                     const std::string &initializer, double number = 0);

  /// Adds an optimizer slot to the last parameter; returns its buffer.
  uint32_t slot(const std::string &name);

  /// Starts a sequence; instructions go to it from now on.
  uint32_t sequence(const std::string &name);
  program::Instruction &instruction();

  void hostInput(const std::string &name, uint32_t buffer);
  void hostOutput(const std::string &name, uint32_t buffer);
  program::Library &library(const std::string &op,
                            const std::vector<uint32_t> &buffers,
                            const std::vector<int64_t> &integers);
  /// d[m, n] = a[m, k] b[k, n].
  program::Gemm &gemm(uint64_t m, uint64_t n, uint64_t k, uint32_t a,
                      uint32_t b, uint32_t d);
  program::Launch &launch(uint32_t kernel,
                          const std::vector<uint32_t> &buffers);

  /// A module with the ELF shared object at `path`; returns its index.
  uint32_t module(const std::string &path);
  /// A task is an element. Operands are what the kernel is launched with.
  uint32_t kernel(uint32_t module, const std::string &symbol, uint64_t tasks,
                  const std::vector<program::Access> &access);

  program::Entry &entry(const std::string &name);

  /// Makes the role that of ranks 0 .. count-1, with one group "dp" of all of
  /// them, index 0, along which parameters so far are the same.
  void ranks(unsigned count);

  /// Of a parameter [count * rows or less, ...] that was made with the shape
  /// of one part: gives it `shape`, and rank r the rows from r * rows on.
  void shard(const std::string &name, const std::vector<uint64_t> &shape);

  program::Collective &collective(const std::string &op, uint32_t from,
                                  uint32_t to);

  /// To the next rank of group 0 from `out`, from the previous one into `in`.
  program::Transfer &ring(uint32_t out, uint32_t in);

  /// Puts the last instruction on another stream.
  void onStream(uint32_t stream);
  void record(uint32_t stream, uint32_t event);
  void wait(uint32_t stream, uint32_t event);

  program::Program &program() { return result; }
  program::Role &role() { return *result.mutable_roles(0); }

  /// Sets lifetimes, writers, the memory plan and the certificate's peaks, and
  /// returns the program.
  program::Program finish();

private:
  program::Program result;
  uint64_t end = 0;
};

/// Sizes of tinyModel().
struct TinyModel {
  uint64_t vocabulary = 16, hidden = 8, sequence = 8, microBatch = 2;
  uint64_t microbatches = 2;
  uint64_t tokens() const { return sequence * microBatch; }
  /// Data-parallel ranks, each with `microBatch` rows of a microbatch. The
  /// output "loss" is the sum of theirs.
  unsigned ranks = 1;
};

/// A bigram model that trains: logits = embed[tokens] w^T, cross-entropy, and
/// SGD with momentum 0.9 in a kernel of TestKernels.cpp. Parameters "embed"
/// and "w" [vocabulary, hidden] with slots "momentum", normal with stddev 0.1,
/// and "state.dloss" [1]. Entries "train_step" and "eval_step".
program::Program tinyModel(const TinyModel &sizes = {});

} // namespace hocket::test

#endif // HOCKET_TEST_RUNTIME_PROGRAM_PROGRAMBUILDER_H
