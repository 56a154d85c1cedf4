//===- KernelHarness.h - Compiles and runs kernels in tests -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes `kern.kernel` text from a short description, compiles it, loads the
/// image of every instruction set that this machine has, runs it on random
/// data in one range and in several, and evaluates the same region in double
/// precision by walking its operations.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_COMPILER_TARGETS_CPU_KERNELHARNESS_H
#define HOCKET_TEST_COMPILER_TARGETS_CPU_KERNELHARNESS_H

#include "compiler/targets/cpu/KernelCompiler.h"
#include "runtime/hal/drivers/cpu/SharedObject.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace hocket::test {

/// Columns of tensors that vectors divide and do not.
inline constexpr int64_t columnCounts[] = {1, 7, 16, 63, 64, 257, 1000};

/// An operand or result: its access, with `tiled:3` for a tile of three rows,
/// and its element type ("f32", "bf16", "f16", "f8E4M3FN", "f8E5M2").
struct BufferText {
  std::string access;
  std::string element = "f32";
};

/// A kernel. In `body` the operands are %a0, %a1, ..., the instances %i0, ....
struct KernelText {
  int64_t rows = 1, cols = 1;
  std::vector<BufferText> inputs = {}, results = {};
  std::string body = {};
  int64_t instances = 0;
  bool byColumns = false;
  std::string name = "k";

  std::string str() const;
  /// Whether result `i` is a sum over rows.
  bool isSum(size_t i) const { return results[i].access == "col"; }
  /// Whether it sums its rows beside other results.
  bool isForGpus() const;
};

using Values = std::vector<double>;

/// What a launch passes beside the buffers.
struct LaunchScalars {
  int64_t seed = 0, step = 0, microbatch = 0, accumulate = 0;
  std::vector<int64_t> instances = {};

  /// In the order in which a kernel takes them.
  std::vector<int64_t> numbers() const;
};

/// Rounds to the element type, to nearest even; 8 bits saturate.
double rounded(double value, const std::string &element);
/// `values` as the bytes of a buffer, and back.
std::vector<char> encode(const Values &values, const std::string &element);
Values decode(const std::vector<char> &bytes, const std::string &element);
/// How many elements an operand or result has.
int64_t elementsOf(const KernelText &kernel, const BufferText &buffer);

/// One kernel, compiled and loaded.
class Kernel {
public:
  /// Compiles `text` unless it is for GPUs; fails the running test if that
  /// fails.
  explicit Kernel(const KernelText &text);
  Kernel(const Kernel &) = delete;

  const cpu::CompiledKernel &info() const { return compiled.kernels.at(0); }
  /// Instruction sets of this machine that the kernel was loaded for.
  std::vector<std::string> isas() const;

  /// Runs tasks [0, n) in ranges of `step` tasks (0: all at once), last range
  /// first, on buffers `buffers` (inputs, then results).
  void run(size_t isa, const std::vector<void *> &buffers,
           const LaunchScalars &scalars, int64_t step) const;

  mlir::ModuleOp getModule() { return *module; }

  /// The results of the region in double precision.
  std::vector<Values> evaluate(const std::vector<Values> &inputs,
                               const LaunchScalars &scalars);

private:
  using Function = void (*)(void *const *, const int64_t *, int64_t, int64_t);
  struct Loaded {
    std::string isa;
    hal::SharedObject library;
    Function function;
  };

  KernelText text;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  cpu::CompiledKernels compiled;
  std::vector<Loaded> loaded;
};

/// How far a result may be from the evaluation.
struct Tolerance {
  double relative = 2e-6, absolute = 2e-6;
};

/// Random inputs in [low, high), rounded to their element types.
std::vector<Values> randomInputs(const KernelText &text, unsigned seed,
                                 double low = -2, double high = 2);

/// Runs the kernel for every instruction set, whole and in ranges, compares
/// the ranges' bits with the whole's and the whole with `expected` (by default
/// the evaluation). `aliases` pairs a result with the input whose buffer it
/// shares. A kernel of rows with a `col` result runs on the emulated GPU alone.
struct Check {
  Tolerance tolerance = {};
  LaunchScalars scalars = {};
  std::vector<std::pair<size_t, size_t>> aliases = {};
  std::vector<Values> expected = {};
  std::vector<Values> previous = {}; ///< What results hold before.
  double low = -2, high = 2;
};
void expectKernel(const KernelText &text, const Check &check = {});

/// The bytes of all buffers of one launch, each with a guard behind it, and at
/// an address of the poorest alignment that is allowed, or of the best.
class LaunchMemory {
public:
  LaunchMemory(const KernelText &text, const std::vector<Values> &inputs,
               const Check &check, bool aligned = false);

  bool guardsHold() const;
  /// The bytes of each result.
  std::vector<std::vector<char>> results() const;

  std::vector<void *> pointers; ///< Inputs, then results.

private:
  void add(const std::vector<char> &bytes);

  const KernelText &text;
  size_t offset;
  std::vector<std::vector<char>> blocks;
};

/// Compares what a launch left in the results with `expected`. `where` says
/// what ran it.
void expectResults(const KernelText &text, const Check &check,
                   const std::vector<std::vector<char>> &results,
                   const std::vector<Values> &expected,
                   const std::string &where);

} // namespace hocket::test

#endif // HOCKET_TEST_COMPILER_TARGETS_CPU_KERNELHARNESS_H
