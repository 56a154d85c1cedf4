//===- ScalarOps.cpp - What a fused region may hold -----------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/loops/ScalarOps.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace hocket::loops {

static constexpr unsigned transcendental = 10;

static constexpr ScalarOp table[] = {
    {"arith.constant", 0, false},
    {"arith.addf", 1, false},
    {"arith.subf", 1, false},
    {"arith.mulf", 1, false},
    {"arith.divf", 1, false},
    {"arith.negf", 1, false},
    {"arith.maximumf", 1, false},
    {"arith.minimumf", 1, false},
    {"arith.maxnumf", 1, false},
    {"arith.minnumf", 1, false},
    {"arith.cmpf", 1, false},
    {"arith.cmpi", 1, false},
    {"arith.select", 1, false},
    {"arith.extf", 0, false},
    {"arith.truncf", 0, false},
    {"arith.sitofp", 1, false},
    {"arith.uitofp", 1, false},
    {"arith.fptosi", 1, false},
    {"arith.fptoui", 1, false},
    {"arith.bitcast", 0, false},
    {"arith.extui", 0, false},
    {"arith.extsi", 0, false},
    {"arith.trunci", 0, false},
    {"arith.addi", 1, false},
    {"arith.subi", 1, false},
    {"arith.muli", 1, false},
    {"arith.andi", 1, false},
    {"arith.ori", 1, false},
    {"arith.xori", 1, false},
    {"arith.shli", 1, false},
    {"arith.shrui", 1, false},
    {"arith.shrsi", 1, false},
    {"math.absf", 1, false},
    {"math.copysign", 1, false},
    {"math.floor", 1, false},
    {"math.ceil", 1, false},
    {"math.roundeven", 1, false},
    {"math.trunc", 1, false},
    {"math.fma", 2, false},
    {"math.sqrt", 1, false},
    {"math.rsqrt", 2, false},
    {"math.exp", transcendental, true},
    {"math.exp2", transcendental, true},
    {"math.expm1", transcendental, true},
    {"math.log", transcendental, true},
    {"math.log2", transcendental, true},
    {"math.log1p", transcendental, true},
    {"math.tanh", transcendental, true},
    {"math.erf", transcendental, true},
    {"math.sin", transcendental, true},
    {"math.cos", transcendental, true},
    {"math.powf", 2 * transcendental, true},
};

const ScalarOp *findScalarOp(Operation &op) {
  StringRef name = op.getName().getStringRef();
  const auto *row = llvm::find_if(
      table, [&](const ScalarOp &entry) { return entry.name == name; });
  return row == std::end(table) ? nullptr : row;
}

bool isScalarType(Type type) {
  return type.isF32() || type.isBF16() || type.isF16() ||
         isa<Float8E4M3FNType, Float8E5M2Type>(type) || type.isInteger(1) ||
         type.isInteger(32) || type.isInteger(64);
}

} // namespace hocket::loops
