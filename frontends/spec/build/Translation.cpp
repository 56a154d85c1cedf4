//===- Translation.cpp - Specs as an input of hocket-translate ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "frontends/spec/build/BuildModel.h"

#include "dialects/xf/IR/Xf.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace hocket;

static OwningOpRef<Operation *> translate(llvm::SourceMgr &sources,
                                          MLIRContext *context) {
  const llvm::MemoryBuffer &buffer =
      *sources.getMemoryBuffer(sources.getMainFileID());
  StatusOr<spec::LoadedSpec> loaded = spec::parseSpec(
      buffer.getBuffer().str(), buffer.getBufferIdentifier().str(), {});
  if (!loaded.ok()) {
    // The message begins with its place already.
    emitError(UnknownLoc::get(context)) << loaded.status().message();
    return nullptr;
  }
  OwningOpRef<ModuleOp> module = spec::buildModel(*loaded, *context);
  return OwningOpRef<Operation *>(module.release().getOperation());
}

void spec::registerSpecTranslation() {
  static TranslateToMLIRRegistration registration(
      "spec-to-xf", "a specification, as textproto, to the xf dialect",
      translate, [](DialectRegistry &registry) {
        registry
            .insert<arith::ArithDialect, func::FuncDialect, xf::XfDialect>();
      });
}
