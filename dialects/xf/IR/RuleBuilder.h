//===- RuleBuilder.h - A factor rule as it grows ----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the ops' factor rules are written with: factors first, then operands
/// and results in order.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_DIALECTS_XF_IR_RULEBUILDER_H
#define HOCKET_DIALECTS_XF_IR_RULEBUILDER_H

#include "dialects/xf/IR/XfConstraints.h"

#include <utility>

namespace hocket::xf {

struct RuleBuilder {
  FactorRule rule;

  /// One new factor a dim.
  TensorFactors fresh(Shape shape, FactorKind kind = FactorKind::Parallel) {
    TensorFactors dims;
    for (int64_t size : shape)
      dims.push_back({rule.add(size, kind)});
    return dims;
  }
  int64_t whole(int64_t size) { return rule.add(size, FactorKind::Whole); }
  int64_t reduced(int64_t size) { return rule.add(size, FactorKind::Reduced); }

  /// The factors of the next operand.
  RuleBuilder &operand(TensorFactors dims) {
    rule.operands.push_back(std::move(dims));
    return *this;
  }
  /// The factors of the next result.
  RuleBuilder &result(TensorFactors dims) {
    rule.results.push_back(std::move(dims));
    return *this;
  }
};

/// `dims`, then a dim of one factor.
inline TensorFactors with(TensorFactors dims, int64_t factor) {
  dims.push_back({factor});
  return dims;
}

} // namespace hocket::xf

#endif // HOCKET_DIALECTS_XF_IR_RULEBUILDER_H
