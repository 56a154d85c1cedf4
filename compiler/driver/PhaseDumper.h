//===- PhaseDumper.h - A numbered file after every phase --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `--dump-phases DIR`: writes the module after each pass as `NN-NAME.mlir`,
/// so that any phase can be replayed from its file with hocket-opt. The number
/// counts through the whole compilation.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_PHASEDUMPER_H
#define HOCKET_COMPILER_DRIVER_PHASEDUMPER_H

#include "base/Status.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

#include <memory>
#include <string>

namespace hocket {

class PhaseDumper {
public:
  /// Creates the folder where needed. An empty path dumps nothing.
  static StatusOr<PhaseDumper> open(const std::string &folder);

  /// Writes `text` as the next file; `name` has its extension.
  void write(const std::string &name, llvm::StringRef text);
  void write(const std::string &name, mlir::ModuleOp module);

  /// Dumps after every pass of a pass manager. The dumper must outlive it.
  std::unique_ptr<mlir::PassInstrumentation> instrumentation();

  bool enabled() const { return !folder.empty(); }
  /// The first write that failed.
  const Status &status() const { return failure; }

private:
  std::string folder;
  int next = 0;
  Status failure;
};

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_PHASEDUMPER_H
