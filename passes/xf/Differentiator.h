//===- Differentiator.h - Reverse-mode differentiation of functions -*- C++
//-*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A function is differentiated in three moves.
///
/// 1. The gradient ops are appended to its body, in reverse order of the ops
/// they
///    belong to (the *joint* body, JointBody.h).
/// 2. What the appended ops read of the original ones is either kept as a
/// residual,
///    or computed again, by the recompute policy.
/// 3. The joint body is cut in two (CutJointBody.h): what was there becomes the
///    forward function, which also returns the residuals; what was appended
///    becomes the backward function.
///
/// A call is an op whose gradient is the call of the callee's backward
/// function.
///
/// A value is *active* where it comes of a parameter that is trained. Gradients
/// are of active values alone, so that a callee has a pair of halves for each
/// set of active arguments, and a call with none stays as it is.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_PASSES_XF_DIFFERENTIATOR_H
#define HOCKET_PASSES_XF_DIFFERENTIATOR_H

#include "passes/analysis/Activity.h"
#include "passes/xf/RecomputePolicy.h"
#include "passes/xf/TrainingModule.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace hocket::xf {

/// The two halves of a function.
struct FunctionHalves {
  mlir::func::FuncOp forward;  ///< Returns results, then residuals.
  mlir::func::FuncOp backward; ///< Arguments, residuals, result gradients.
  /// Arguments of the original that the backward function takes, by index.
  llvm::SmallVector<unsigned> arguments;
  /// Results of the forward function that the backward function takes; an
  /// index below the original's number of results is a result that also serves
  /// as a residual.
  llvm::SmallVector<unsigned> residuals;
  /// Which result of the backward function is an argument's gradient, or -1.
  llvm::SmallVector<int> gradients;
  /// Whose gradients the backward function takes, by the original's results.
  llvm::BitVector activeResults;
};

class Differentiator {
public:
  Differentiator(mlir::ModuleOp module, const RecomputePolicy &policy)
      : symbols(module), activity(symbols), policy(policy) {}

  /// Makes `@forward` return residuals and adds `@backward`. `seed` names the
  /// variable that holds the loss's gradient; empty, it is 1.
  mlir::LogicalResult differentiateStep(mlir::func::FuncOp forward,
                                        llvm::StringRef seed);

  /// The halves of a function that is called with `active` arguments, built at
  /// the first such call; null after a diagnostic.
  const FunctionHalves *halvesOf(mlir::func::CallOp call,
                                 const llvm::BitVector &active);

  /// The variable that the gradient of `read`'s value is added to. `read` is of
  /// a parameter that is trained.
  VariableOp gradientOf(ReadOp read);

  int64_t numFunctions = 0, numResiduals = 0, numRecomputed = 0;

private:
  /// "layer", and "layer_1" where those halves are there already.
  std::string nameOfHalves(mlir::func::FuncOp callee);

  mlir::SymbolTable symbols;

public:
  Activity activity;

private:
  RecomputePolicy policy;
  /// By the original function and its active arguments; null while it is being
  /// built.
  using Key = std::pair<mlir::Operation *, std::string>;
  llvm::MapVector<Key, std::unique_ptr<FunctionHalves>, std::map<Key, unsigned>>
      halves;
};

} // namespace hocket::xf

#endif // HOCKET_PASSES_XF_DIFFERENTIATOR_H
