//===- KernelWriter.h - One fused kernel as CUDA C++ ------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes the function of one kernel from its plan (which passes over a row,
/// which values in which pass) and its geometry (which thread, which columns).
/// Names in the text: `in0`, `out0` are buffers, `a0` the element of input 0,
/// as in the region's textual form; a value is named for its operation.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_TARGETS_CUDA_KERNELWRITER_H
#define HOCKET_COMPILER_TARGETS_CUDA_KERNELWRITER_H

#include "compiler/targets/cuda/KernelGeometry.h"
#include "compiler/targets/cuda/TextWriter.h"

namespace hocket::cuda {

class KernelWriter {
public:
  KernelWriter(const KernelPlan &plan, const Geometry &geometry);

  std::string write();

private:
  using Nodes = llvm::ArrayRef<unsigned>;

  void nameNodes();
  void writeHead();
  void writeScalars();
  void writePlaces(unsigned node);
  void writeWords(unsigned node);
  void writeRowValues(unsigned stage);
  void writeRowResults();

  void writeFlat();
  void writeRows();
  void writePlaceOfRow();
  void writeHeldValues();
  void writeHeldLoads();
  void writeRow();
  void writePass(unsigned stage);

  // KernelSums.cpp
  void writeSummedRows();
  void writePlaceOfRows();
  void writeRowsOfPart();
  void writeSums();
  void writePartSums();
  void writeSumResults();
  void writeColumns();
  void writePlaceOfColumns();
  void writeRowsOfVector();
  void writeRowLoop(Nodes nodes, int atOnce);
  void writeParts();
  void writeColumnResult(unsigned result);

  void writeLoads(Nodes nodes, bool columnLevel, bool others);
  void writeElements(const loops::PlanPass &pass, bool stores);
  void writeNode(unsigned node);
  void writeResults();

  std::string rowOf(const loops::PlanBuffer &buffer, const std::string &base);
  std::string count();
  std::string loadOf(const loops::PlanBuffer &buffer, const std::string &base);
  std::string kept(unsigned node);
  bool isHeld(unsigned node) const;
  bool sumsRows() const;
  llvm::SmallVector<unsigned> summed() const;

  const KernelPlan &plan;
  const Geometry &geometry;
  TextWriter out;
  std::vector<std::string> names;
  /// In how many passes each node is loaded.
  std::vector<unsigned> uses;
  std::string width;
  /// Whether the addresses of vectors have been tested.
  bool areAligned = false;
};

} // namespace hocket::cuda

#endif // HOCKET_COMPILER_TARGETS_CUDA_KERNELWRITER_H
