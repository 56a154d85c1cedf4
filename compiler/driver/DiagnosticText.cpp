//===- DiagnosticText.cpp - MLIR's diagnostics as a Status ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/DiagnosticText.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace hocket;

/// `file:line:column: ` of the first place in `loc` that has one.
static std::string placeOf(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()) + ": ")
        .str();
  if (auto named = dyn_cast<NameLoc>(loc)) {
    std::string place = placeOf(named.getChildLoc());
    return place.empty() ? named.getName().str() + ": " : place;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return placeOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string place = placeOf(part); !place.empty())
        return place;
  return "";
}

DiagnosticText::DiagnosticText(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) { take(diagnostic); }) {}

void DiagnosticText::take(Diagnostic &diagnostic) {
  std::string place = placeOf(diagnostic.getLocation());
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
    // In one write: other ranks may be writing to the same terminal.
    llvm::errs() << "hocket: " + place + "warning: " + diagnostic.str() + "\n";
    return;
  }
  lines += (lines.empty() ? "" : "\n") + place + diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes())
    lines += "\n  " + placeOf(note.getLocation()) + note.str();
}

std::string DiagnosticText::text() const {
  return lines.empty() ? "compilation failed" : lines;
}
