//===- ReportFusion.cpp - What was fused and what stopped it --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lists what computes, and the values that still pass through memory from one
/// to the next, each with the reason.
///
//===----------------------------------------------------------------------===//

#include "passes/kern/Passes.h"
#include "passes/kern/RegionFusion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"

#include <vector>

namespace hocket {
#define GEN_PASS_DEF_KERNREPORTFUSION
#include "passes/kern/Passes.h.inc"
} // namespace hocket

using namespace mlir;
using namespace hocket;
using namespace hocket::kern;

namespace {

/// Something that computes: a region, a GEMM or a library call.
struct Computation {
  std::string label, shape;
  SmallVector<std::string> places; ///< in the model
};

/// A value that goes through memory.
struct Handover {
  std::string producer, consumer, type, reason;
};

struct FunctionReport {
  std::string name;
  std::vector<Computation> computations;
  std::vector<Handover> handovers;
};

//===----------------------------------------------------------------------===//
// Finding out
//===----------------------------------------------------------------------===//

/// The places that a location stands for, each once.
void addPlaces(Location loc, SmallVectorImpl<std::string> &places) {
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      addPlaces(part, places);
    return;
  }
  std::string place;
  llvm::raw_string_ostream os(place);
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    os << file.getFilename().getValue() << ':' << file.getLine() << ':'
       << file.getColumn();
  else if (auto name = dyn_cast<NameLoc>(loc))
    os << name.getName().getValue();
  if (!place.empty() && !llvm::is_contained(places, place))
    places.push_back(place);
}

bool computes(Operation *op) {
  return isa_and_present<RowsOp, ColumnsOp, GemmOp, LibraryOp>(op);
}

std::string labelOf(Operation *op) {
  if (auto gemm = dyn_cast<GemmOp>(op))
    return gemm.getLabel().str();
  if (auto library = dyn_cast<LibraryOp>(op))
    return library.getOp().str();
  return RegionView(op).label().str();
}

std::string shapeOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (RegionView region(op); region)
    os << '[' << region.space().rows << " x " << region.space().cols << ']';
  else if (auto gemm = dyn_cast<GemmOp>(op))
    os << '[' << gemm.getM() << " x " << gemm.getN() << " x " << gemm.getK()
       << ']';
  else
    os << "library";
  return text;
}

/// Why `producer` hands its value to `consumer` through memory.
std::string reasonFor(Operation *producer, Operation *consumer, bool sameView,
                      const FusionLimits &limits) {
  if (isa<LibraryOp>(producer) || isa<LibraryOp>(consumer))
    return "a hand-written kernel";
  if (isa<GemmOp>(consumer))
    return "a GEMM reads whole matrices";
  if (auto gemm = dyn_cast<GemmOp>(producer)) {
    if (!llvm::hasSingleElement(gemm.getResult().getUsers()))
      return "the GEMM has several uses";
    return "a GEMM is followed by a bias, an activation, a residual or a "
           "cast only";
  }
  if (!sameView)
    return "a view that leaves elements out";
  std::string reason =
      whyNotFuse(RegionView(producer), RegionView(consumer), limits);
  return reason.empty() ? "nothing: the fusion passes have not run" : reason;
}

void addHandovers(Operation *consumer, const FusionLimits &limits,
                  FunctionReport &report) {
  for (Value operand : consumer->getOperands()) {
    Value source = operand;
    while (auto view = source.getDefiningOp<ViewOp>())
      source = view.getInput();
    Operation *producer = source.getDefiningOp();
    if (!computes(producer))
      continue;
    std::string type;
    llvm::raw_string_ostream(type) << source.getType();
    report.handovers.push_back(
        {labelOf(producer), labelOf(consumer), type,
         reasonFor(producer, consumer, source == sourceOf(operand), limits)});
  }
}

FunctionReport reportOf(FunctionOpInterface function,
                        const FusionLimits &limits) {
  FunctionReport report{function.getName().str(), {}, {}};
  function.walk([&](Operation *op) {
    if (!computes(op))
      return;
    Computation computation{labelOf(op), shapeOf(op), {}};
    addPlaces(op->getLoc(), computation.places);
    report.computations.push_back(std::move(computation));
    addHandovers(op, limits, report);
  });
  return report;
}

//===----------------------------------------------------------------------===//
// Telling it
//===----------------------------------------------------------------------===//

void writeText(raw_ostream &os, ArrayRef<FunctionReport> reports) {
  for (const FunctionReport &report : reports) {
    os << '@' << report.name << '\n';
    for (const Computation &computation : report.computations) {
      os << "  " << computation.label << ' ' << computation.shape;
      if (!computation.places.empty())
        os << " from " << llvm::join(computation.places, ", ");
      os << '\n';
    }
    for (const Handover &handover : report.handovers)
      os << "  not fused: " << handover.producer << " -> " << handover.consumer
         << " (" << handover.type << "): " << handover.reason << '\n';
  }
}

void writeJson(raw_ostream &os, ArrayRef<FunctionReport> reports) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.array([&] {
    for (const FunctionReport &report : reports)
      json.object([&] {
        json.attribute("function", report.name);
        json.attributeArray("kernels", [&] {
          for (const Computation &computation : report.computations)
            json.object([&] {
              json.attribute("label", computation.label);
              json.attribute("shape", computation.shape);
              json.attribute("from", llvm::json::Array(computation.places));
            });
        });
        json.attributeArray("not_fused", [&] {
          for (const Handover &handover : report.handovers)
            json.object([&] {
              json.attribute("producer", handover.producer);
              json.attribute("consumer", handover.consumer);
              json.attribute("type", handover.type);
              json.attribute("reason", handover.reason);
            });
        });
      });
  });
  os << '\n';
}

struct KernReportFusion : hocket::impl::KernReportFusionBase<KernReportFusion> {
  using KernReportFusionBase::KernReportFusionBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    FusionLimits limits;
    limits.buffers = maxBuffers;
    std::vector<FunctionReport> reports;
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      reports.push_back(reportOf(function, limits));
    if (file.empty())
      return write(llvm::errs(), reports);
    std::string error;
    auto output = openOutputFile(file, &error);
    if (!output) {
      getOperation().emitError("cannot write the fusion report: ") << error;
      return signalPassFailure();
    }
    write(output->os(), reports);
    output->keep();
  }

private:
  void write(raw_ostream &os, ArrayRef<FunctionReport> reports) {
    json ? writeJson(os, reports) : writeText(os, reports);
  }
};

} // namespace
