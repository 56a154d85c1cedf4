//===- RuleFiles.h - The documents that hold the rules ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_TOOLS_REPORTS_RULEFILES_H
#define HOCKET_RUNTIME_TOOLS_REPORTS_RULEFILES_H

namespace hocket {

extern const char *const ruleDocument;   ///< docs/spec.md
extern const char *const adviceDocument; ///< docs/rules.md
/// test/dialects/*/errors*.mlir; ends with a null pointer.
extern const char *const dialectErrors[];

} // namespace hocket

#endif // HOCKET_RUNTIME_TOOLS_REPORTS_RULEFILES_H
