//===- PhaseDumper.cpp - A numbered file after every phase ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/PhaseDumper.h"

#include "base/File.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace hocket;

namespace {
struct DumpAfterPass : mlir::PassInstrumentation {
  explicit DumpAfterPass(PhaseDumper &dumper) : dumper(dumper) {}

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    if (auto module = llvm::dyn_cast<mlir::ModuleOp>(op))
      dumper.write(pass->getArgument().str() + ".mlir", module);
  }

  PhaseDumper &dumper;
};
} // namespace

StatusOr<PhaseDumper> PhaseDumper::open(const std::string &folder) {
  PhaseDumper dumper;
  dumper.folder = folder;
  if (!folder.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(folder))
      return invalidArgument("--dump-phases " + folder +
                             ": cannot create the folder: " + error.message());
  return dumper;
}

void PhaseDumper::write(const std::string &name, llvm::StringRef text) {
  if (!enabled() || !failure.ok())
    return;
  std::string path =
      llvm::formatv("{0}/{1,0+2}-{2}", folder, next++, name).str();
  failure = writeFileAtomically(path, text.str());
}

void PhaseDumper::write(const std::string &name, mlir::ModuleOp module) {
  if (!enabled())
    return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Not prettily: the parser does not read locations in that form.
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo(true, false));
  write(name, text);
}

std::unique_ptr<mlir::PassInstrumentation> PhaseDumper::instrumentation() {
  return std::make_unique<DumpAfterPass>(*this);
}
