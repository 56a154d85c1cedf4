//===- OpStrategies.cpp - Every way to split an op ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/dist/OpStrategies.h"

#include "llvm/ADT/StringExtras.h"

using namespace hocket;
using namespace hocket::dist;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

/// Whether a dim's later factors are whole unless its earlier ones are split to
/// single elements.
static bool isInOrder(const xf::FactorRule &rule, const OpSharding &strategy,
                      const Mesh &mesh) {
  auto keepsOrder = [&](ArrayRef<xf::TensorFactors> tensors) {
    for (const xf::TensorFactors &tensor : tensors)
      for (const xf::DimFactors &dim : tensor)
        for (size_t i = 1; i < dim.size(); ++i)
          if (!strategy.factors[dim[i]].empty() &&
              mesh.product(strategy.factors[dim[i - 1]]) !=
                  rule.factors[dim[i - 1]].size)
            return false;
    return true;
  };
  return keepsOrder(rule.operands) && keepsOrder(rule.results);
}

SmallVector<OpSharding> hocket::dist::opStrategies(const xf::FactorRule &rule,
                                                   ArrayRef<StringRef> axes,
                                                   const Mesh &mesh) {
  OpSharding whole;
  whole.factors.resize(rule.factors.size());
  SmallVector<OpSharding> all{whole};
  for (StringRef axis : axes) {
    SmallVector<OpSharding> more;
    for (const OpSharding &before : all)
      for (auto [i, factor] : llvm::enumerate(rule.factors)) {
        int64_t shards = mesh.product(before.factors[i]) * mesh.size(axis);
        if (factor.kind == xf::FactorKind::Whole || factor.size % shards != 0)
          continue;
        more.push_back(before);
        more.back().factors[i].push_back(axis);
      }
    llvm::append_range(all, more);
  }
  llvm::erase_if(all, [&](const OpSharding &strategy) {
    return !isInOrder(rule, strategy, mesh);
  });
  return all;
}

SmallVector<OpSharding>
hocket::dist::possibleStrategies(const xf::FactorRule &rule,
                                 ArrayRef<StringRef> axes, const Mesh &mesh) {
  SmallVector<OpSharding> strategies = opStrategies(rule, axes, mesh);
  llvm::erase_if(strategies, [&](const OpSharding &strategy) {
    for (auto [combine, result] : llvm::zip(rule.combines, rule.results))
      if (combine != xf::Combine::Sum &&
          !strategy.partialOf(rule, result).empty())
        return true;
    return false;
  });
  return strategies;
}

xf::FactorRule hocket::dist::tensorRule(mlir::RankedTensorType type) {
  xf::FactorRule rule;
  xf::TensorFactors dims;
  for (int64_t size : type.getShape())
    dims.push_back({rule.add(size)});
  rule.results.push_back(std::move(dims));
  return rule;
}

xf::FactorRule hocket::dist::strategyRule(xf::ShardableOpInterface op) {
  xf::FactorRule rule = op.getFactorRule();
  if (llvm::isa<xf::CrossEntropyOp>(op)) {
    int64_t vocabulary = rule.operands[0].back()[0];
    rule.factors[vocabulary].kind = xf::FactorKind::Reduced;
  }
  return rule;
}

planning::MeshSizes hocket::dist::meshSizes(MeshOp mesh) {
  planning::MeshSizes sizes;
  for (auto [axis, size] : llvm::zip_equal(mesh.getAxes(), mesh.getSizes()))
    sizes.emplace_back(llvm::cast<mlir::StringAttr>(axis).str(), size);
  return sizes;
}

std::string hocket::dist::splitText(const Sharding &sharding) {
  std::string text = "[";
  for (const Axes &axes : sharding.dims) {
    text += text.size() > 1 ? "," : "";
    text += axes.empty() ? "-" : llvm::join(axes, "+");
  }
  return text + "]";
}

std::string hocket::dist::splitText(mlir::Operation *op,
                                    const xf::FactorRule &rule,
                                    const OpSharding &strategy) {
  std::string text;
  auto add = [&](mlir::ValueRange values, ArrayRef<xf::TensorFactors> tensors) {
    for (auto [value, factors] : llvm::zip(values, tensors))
      text += (llvm::isa<mlir::RankedTensorType>(value.getType())
                   ? splitText(strategy.of(factors))
                   : std::string(".")) +
              " ";
  };
  add(op->getOperands(), rule.operands);
  text += "-> ";
  add(op->getResults(), rule.results);
  text.pop_back();
  return text;
}
