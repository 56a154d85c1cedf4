//===- DiagnosticText.h - MLIR's diagnostics as a Status --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_DRIVER_DIAGNOSTICTEXT_H
#define HOCKET_COMPILER_DRIVER_DIAGNOSTICTEXT_H

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace hocket {

/// Collects the errors and notes of a context while it lives, a line each:
/// `file:line:column: text`, as far as the location knows them. Warnings go to
/// standard error.
class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext &context);

  /// All of it so far, without a last newline; "compilation failed" if empty.
  std::string text() const;

private:
  void take(mlir::Diagnostic &diagnostic);

  std::string lines;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace hocket

#endif // HOCKET_COMPILER_DRIVER_DIAGNOSTICTEXT_H
