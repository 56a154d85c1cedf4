//===- ClusterCosts.h - Instructions on a described cluster -----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prices instructions by the formulas that price plans (OpTimes.h): a GEMM by
/// its sizes and the type of A, attention by its scores, a collective by the
/// ring or the tree over the links that its group spans, anything else by the
/// bytes it reads and writes. What a plan's price and this differ in is then
/// the program: which kernels it has, and what it runs beside what.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PREDICT_CLUSTERCOSTS_H
#define HOCKET_RUNTIME_PREDICT_CLUSTERCOSTS_H

#include "runtime/cluster/OpTimes.h"
#include "runtime/predict/InstructionCost.h"

#include <memory>

namespace hocket {

/// What an instruction takes on the device, by what it is spent on; seconds.
struct InstructionTime {
  double gemms = 0;
  double attention = 0;
  double memory = 0; ///< Kernels that only move data.
  double gap = 0;    ///< Until the next kernel starts.
  double message = 0;

  double seconds() const { return gemms + attention + memory + gap + message; }
};

class ClusterCosts : public InstructionCosts {
public:
  explicit ClusterCosts(cluster::System system);
  ClusterCosts(const ClusterCosts &) = delete;

  /// `program` passed checkProgram(); the instruction is `role`'s.
  virtual InstructionTime timeOf(const program::Instruction &instruction,
                                 const program::Role &role,
                                 const program::Program &program) const;

  double seconds(const program::Instruction &instruction,
                 const program::Role &role,
                 const program::Program &program) const override;
  double hostSeconds(const program::Instruction &instruction) const override;
  double outsideSeconds() const override;
  std::string description() const override;

  const cluster::System &described() const { return system; }

private:
  const cluster::OpTimes &timesOf(program::DType type) const;
  double gemm(const program::Gemm &gemm, const program::Role &role) const;
  InstructionTime library(const program::Library &call,
                          double memoryBytes) const;
  InstructionTime attention(const program::Library &call) const;
  double collective(const program::Collective &call, const program::Role &role,
                    const program::Program &program) const;
  double transfer(const program::Transfer &transfer, const program::Role &role,
                  const program::Program &program) const;

  cluster::System system;
  cluster::OpTimes wide, narrow, eight; ///< Operands of 32, 16 and 8 bits.
};

} // namespace hocket

#endif // HOCKET_RUNTIME_PREDICT_CLUSTERCOSTS_H
