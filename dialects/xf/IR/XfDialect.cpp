//===- XfDialect.cpp - The transformer dialect ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::xf;

/// Reads a bare word, or a string in quotes.
namespace hocket::xf {
static FailureOr<std::string> parseKeyword(AsmParser &parser) {
  std::string word;
  if (parser.parseKeywordOrString(&word))
    return failure();
  return word;
}
} // namespace hocket::xf

#include "dialects/xf/IR/XfDialect.cpp.inc"
#include "dialects/xf/IR/XfEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/xf/IR/XfAttrs.cpp.inc"

void XfDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/xf/IR/XfAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/xf/IR/XfOps.cpp.inc"
      >();
}
