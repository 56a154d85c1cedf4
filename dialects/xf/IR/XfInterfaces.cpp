//===- XfInterfaces.cpp - What every op can say ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "dialects/xf/IR/XfInterfaces.h"

#include "llvm/Support/raw_ostream.h"

#include "dialects/xf/IR/XfInterfaces.cpp.inc"

using namespace hocket::xf;

/// a, b, ..., z, a1, b1, ...
static std::string factorName(int64_t index) {
  std::string name(1, static_cast<char>('a' + index % 26));
  return index < 26 ? name : name + std::to_string(index / 26);
}

static void print(llvm::raw_ostream &os,
                  llvm::ArrayRef<TensorFactors> tensors) {
  os << "(";
  llvm::interleaveComma(tensors, os, [&](const TensorFactors &dims) {
    os << "[";
    llvm::interleaveComma(dims, os, [&](const DimFactors &factors) {
      for (int64_t factor : factors)
        os << factorName(factor);
    });
    os << "]";
  });
  os << ")";
}

std::string hocket::xf::toString(const FactorRule &rule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os, rule.operands);
  os << " -> ";
  print(os, rule.results);
  os << " {";
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    os << (index ? ", " : "") << factorName(index) << "=" << factor.size;
    if (factor.kind == FactorKind::Reduced)
      os << " reduced";
    if (factor.kind == FactorKind::Whole)
      os << " whole";
  }
  os << "}";
  return text;
}
