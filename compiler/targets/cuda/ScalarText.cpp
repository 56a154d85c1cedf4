//===- ScalarText.cpp - What a fused region is in CUDA C++ ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cuda/ScalarText.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace hocket::cuda {

StringRef typeText(Type type) {
  if (type.isF32())
    return "float";
  if (type.isBF16())
    return "bf16";
  if (type.isF16())
    return "f16";
  if (isa<Float8E4M3FNType>(type))
    return "e4m3";
  if (isa<Float8E5M2Type>(type))
    return "e5m2";
  if (type.isInteger(1))
    return "bool";
  return type.isInteger(64) ? "Integer" : "int";
}

StringRef typeText(loops::Element element) {
  switch (element) {
  case loops::Element::F32:
    return "float";
  case loops::Element::BF16:
    return "bf16";
  case loops::Element::F16:
    return "f16";
  case loops::Element::I32:
    return "int";
  case loops::Element::F8E4M3:
    return "e4m3";
  case loops::Element::F8E5M2:
    return "e5m2";
  }
  llvm_unreachable("an element type that the enumeration lacks");
}

/// The unsigned type of the width of `type`.
static StringRef unsignedText(Type type) {
  if (type.isInteger(1))
    return "bool";
  return type.isInteger(64) ? "unsigned long long" : "unsigned";
}

//===----------------------------------------------------------------------===//
// Literals and comparisons
//===----------------------------------------------------------------------===//

static std::string hexadecimal(uint64_t bits) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("0x%llxu", bits);
  return text;
}

/// So that a literal may stand behind a minus sign.
static std::string parenthesized(const std::string &literal) {
  return literal[0] == '-' ? "(" + literal + ")" : literal;
}

std::string literalOf(float value) {
  if (!std::isfinite(value))
    return "__uint_as_float(" + hexadecimal(llvm::bit_cast<uint32_t>(value)) +
           ")";
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%.9g", static_cast<double>(value));
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return parenthesized(text + "f");
}

static std::string literalOf(FloatType type, const APFloat &value) {
  if (type.isF32())
    return literalOf(value.convertToFloat());
  uint64_t bits = value.bitcastToAPInt().getZExtValue();
  return (typeText(type) + "{" + hexadecimal(bits) + "}").str();
}

static std::string literalOf(IntegerType type, const APInt &value) {
  if (type.isInteger(1))
    return value.isZero() ? "false" : "true";
  int64_t number = value.getSExtValue();
  // The least number has no literal of its own.
  if (number == (type.isInteger(64) ? INT64_MIN : INT32_MIN))
    return "(" + std::to_string(number + 1) + (type.isInteger(64) ? "ll" : "") +
           " - 1)";
  return parenthesized(std::to_string(number) +
                       (type.isInteger(64) ? "ll" : ""));
}

static std::string constantText(arith::ConstantOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return literalOf(cast<FloatType>(number.getType()), number.getValue());
  auto integer = cast<IntegerAttr>(op.getValue());
  return literalOf(cast<IntegerType>(integer.getType()), integer.getValue());
}

/// Ordered comparisons are false, unordered ones true, if an operand is NaN.
static StringRef patternOf(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return "false";
  case P::OEQ:
    return "$0 == $1";
  case P::OGT:
    return "$0 > $1";
  case P::OGE:
    return "$0 >= $1";
  case P::OLT:
    return "$0 < $1";
  case P::OLE:
    return "$0 <= $1";
  case P::ONE:
    return "$0 < $1 || $0 > $1";
  case P::ORD:
    return "$0 == $0 && $1 == $1";
  case P::UEQ:
    return "!($0 < $1 || $0 > $1)";
  case P::UGT:
    return "!($0 <= $1)";
  case P::UGE:
    return "!($0 < $1)";
  case P::ULT:
    return "!($0 >= $1)";
  case P::ULE:
    return "!($0 > $1)";
  case P::UNE:
    return "$0 != $1";
  case P::UNO:
    return "$0 != $0 || $1 != $1";
  case P::AlwaysTrue:
    return "true";
  }
  llvm_unreachable("a predicate that the enumeration lacks");
}

/// $U is the operands' unsigned type.
static StringRef patternOf(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return "$0 == $1";
  case P::ne:
    return "$0 != $1";
  case P::slt:
    return "$0 < $1";
  case P::sle:
    return "$0 <= $1";
  case P::sgt:
    return "$0 > $1";
  case P::sge:
    return "$0 >= $1";
  case P::ult:
    return "$U($0) < $U($1)";
  case P::ule:
    return "$U($0) <= $U($1)";
  case P::ugt:
    return "$U($0) > $U($1)";
  case P::uge:
    return "$U($0) >= $U($1)";
  }
  llvm_unreachable("a predicate that the enumeration lacks");
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// `$0`, `$1`, ... are the operands, `$T` the result's type, `$U` the unsigned
/// type of the first operand's width.
struct Row {
  llvm::StringLiteral name;
  llvm::StringLiteral pattern;
};
} // namespace

static constexpr Row table[] = {
    {"arith.addf", "$0 + $1"},
    {"arith.subf", "$0 - $1"},
    {"arith.mulf", "$0 * $1"},
    {"arith.divf", "$0 / $1"},
    {"arith.negf", "-$0"},
    {"arith.maximumf", "maximum($0, $1)"},
    {"arith.minimumf", "minimum($0, $1)"},
    {"arith.maxnumf", "fmaxf($0, $1)"},
    {"arith.minnumf", "fminf($0, $1)"},
    {"arith.select", "$0 ? $1 : $2"},
    {"arith.extf", "toFloat($0)"},
    {"arith.truncf", "fromFloat<$T>($0)"},
    {"arith.sitofp", "float($0)"},
    {"arith.uitofp", "float($U($0))"},
    {"arith.fptosi", "$T($0)"},
    {"arith.fptoui", "$T((unsigned long long)($0))"},
    {"arith.extui", "$T($U($0))"},
    {"arith.addi", "$T($U($0) + $U($1))"},
    {"arith.subi", "$T($U($0) - $U($1))"},
    {"arith.muli", "$T($U($0) * $U($1))"},
    {"arith.andi", "$T($0 & $1)"},
    {"arith.ori", "$T($0 | $1)"},
    {"arith.xori", "$T($0 ^ $1)"},
    {"arith.shli", "$T($U($0) << $1)"},
    {"arith.shrui", "$T($U($0) >> $1)"},
    {"arith.shrsi", "$0 >> $1"},
    {"math.absf", "fabsf($0)"},
    {"math.copysign", "copysignf($0, $1)"},
    {"math.floor", "floorf($0)"},
    {"math.ceil", "ceilf($0)"},
    {"math.roundeven", "rintf($0)"},
    {"math.trunc", "truncf($0)"},
    {"math.fma", "fmaf($0, $1, $2)"},
    {"math.sqrt", "sqrtf($0)"},
    {"math.rsqrt", "rsqrtf($0)"},
    {"math.exp", "expf($0)"},
    {"math.exp2", "exp2f($0)"},
    {"math.expm1", "expm1f($0)"},
    {"math.log", "logf($0)"},
    {"math.log2", "log2f($0)"},
    {"math.log1p", "log1pf($0)"},
    {"math.tanh", "tanhf($0)"},
    {"math.erf", "erff($0)"},
    {"math.sin", "sinf($0)"},
    {"math.cos", "cosf($0)"},
    {"math.powf", "powf($0, $1)"},
};

/// The pattern of an op whose text depends on more than its name, or of a row.
static StringRef patternOf(Operation &op) {
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return patternOf(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return patternOf(compare.getPredicate());
  if (isa<arith::BitcastOp>(op))
    return op.getResult(0).getType().isF32() ? "__int_as_float($0)"
                                             : "__float_as_int($0)";
  if (isa<arith::SIToFPOp>(op) && op.getOperand(0).getType().isInteger(1))
    return "-float($0)";
  if (isa<arith::ExtSIOp>(op))
    return op.getOperand(0).getType().isInteger(1) ? "-$T($0)" : "$T($0)";
  if (isa<arith::TruncIOp>(op))
    return op.getResult(0).getType().isInteger(1) ? "($0 & 1) != 0" : "$T($0)";
  StringRef name = op.getName().getStringRef();
  const auto *row = llvm::find_if(
      table, [&](const Row &entry) { return entry.name == name; });
  return row == std::end(table) ? StringRef() : StringRef(row->pattern);
}

/// `name(...)` for a type that is more than one word.
static std::string castText(StringRef type) {
  return type.contains(' ') ? ("(" + type + ")").str() : type.str();
}

std::string expressionOf(Operation &op, ArrayRef<std::string> operands) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return constantText(constant);
  StringRef pattern = patternOf(op);
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      text += pattern[i];
      continue;
    }
    char what = pattern[++i];
    if (what == 'T')
      text += castText(typeText(op.getResult(0).getType()));
    else if (what == 'U')
      text += castText(unsignedText(op.getOperand(0).getType()));
    else
      text += operands[what - '0'];
  }
  return text;
}

} // namespace hocket::cuda
